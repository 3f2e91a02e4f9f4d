// Texts of others: nothing in them hides, reorders or runs; and numbers as people read them.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { amount, duration, share } from "../../src/ui/format";
import { quoted } from "../../src/ui/quoted";
import { pieces, visible } from "../../src/ui/shown";

test("controls, directions, joiners and lone surrogates are marks", () => {
  for (const unseen of ["\u0000", "\u001b", "\u007f", "\u0085", "\u00ad", "\u200b", "\u200f", "\u202e", "\u2028", "\u2066", "\ufeff", "\u{e0041}", "\ud800"]) {
    const found = pieces(`a${unseen}b`);
    assert.deepEqual(found.map((piece) => piece.isMark), [false, true, false], JSON.stringify(unseen));
  }
  assert.equal(visible("odd\u202egnp"), "odd[U+202E]gnp");
});

test("letters of any language, line feeds and tabs stay as they are", () => {
  for (const text of ["", "web-0", "Größe", "名前", "שלום", "a\tb\nc", "😀", "<b>&amp;</b>"]) {
    assert.deepEqual(pieces(text), [{ text, isMark: false }]);
  }
});

test("amounts are in the units that people write", () => {
  assert.deepEqual([amount("cpu", 12_500), amount("cpu", -500), amount("pods", 1_234)], ["12.5", "-0.5", "1,234"]);
  assert.deepEqual([amount("memory", 0), amount("memory", 1_023), amount("memory", 64 * 2 ** 30)], ["0", "1,023", "64 Gi"]);
  assert.deepEqual([amount("memory", -(2 ** 30)), amount("example.com/gpu", 4_096)], ["-1 Gi", "4,096"]);
  assert.equal(share("memory", 2 ** 29, 2 ** 31), "0.5 of 2 Gi");
});

test("times are in the largest unit of which there are two", () => {
  assert.deepEqual([0, 119_000, 120_000, 7_199_000, 7_200_000, 172_800_000, -5].map(duration), ["0 s", "119 s", "2 min", "119 min", "2 h", "2 d", "0 s"]);
});

test("words of a command are one word to a shell, whatever is in them", () => {
  for (const word of ["web-0", "a b", "$(id)", "`id`", "a;b", "it's", 'a"b', "a\\b", "", "*", "~", "#x", "a\nb", "!x", "é"]) {
    const { stdout } = spawnSync("sh", ["-c", `printf %s ${quoted(word)}`], { encoding: "utf8" });
    assert.equal(stdout, word, JSON.stringify(word));
  }
});
