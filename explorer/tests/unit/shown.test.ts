// Texts of others: nothing in them hides, reorders or runs; and numbers as people read them.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import type { Why } from "../../src/api/why";
import { command, curl, curlPost, ticket } from "../../src/routes/pod/texts";
import { amount, count, duration, microseconds, share } from "../../src/ui/format";
import { quoted } from "../../src/ui/quoted";
import { escaped, pieces, visible } from "../../src/ui/shown";

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

test("numbers have the separators of Intl, which the page does without", () => {
  const twin = new Intl.NumberFormat("en");
  for (let digits = 0; digits <= 15; digits += 1) {
    for (const value of [10 ** digits, 10 ** digits - 1, -(10 ** digits), -(10 ** digits) - 1]) assert.equal(count(value), twin.format(value));
  }
  assert.equal(count(12_345_678_901_234_567_890n), "12,345,678,901,234,567,890");
  assert.deepEqual([amount("cpu", 1_234_567), amount("cpu", 1_960), microseconds(1_500_000)], ["1,234.6", "2", "1.5 s"]);
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

test("a command that is pasted has no character that a terminal obeys, and JSON in it keeps its values", () => {
  const hostile = "a\u0003\r\u0015id\u001b[201~\u007f\u009b\u202e'";
  const body = JSON.stringify({ name: hostile });
  const commands = [command("shop", hostile, hostile, [hostile]), curl(`http://localhost/${hostile}`), curlPost("http://localhost/", body)];
  for (const text of commands) assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f\u202e]/, JSON.stringify(text));
  assert.equal(escaped(body) === body, false);
  assert.deepEqual(JSON.parse(escaped(body)), { name: hostile });
});

test("in a command nothing that begins with a dash is read as an option", () => {
  assert.equal(command("shop", "-x", "zone", ["cpu=2"]), "nodesift why -n shop --by zone --try cpu=2 -- -x");
  assert.equal(command("-n", "web-0", "-b", ["-e"]), "nodesift why web-0 -n=-n --by=-b --try=-e");
});

test("a ticket's cell is code to its end, whatever a reason has before a bar", () => {
  const step = { predicate: "P", before: 1, rejected: 1, after: 0, unresolvable: 0, reasons: [{ reason: "` ![x](http://evil.example) \\|", nodes: 1 }] };
  const answer = {
    pod: "shop/web-0", cause: { name: "NoRoom", headline: "" }, nodes: 1, funnel: [step], evidence: [], alone: [], nearest: [], help: [], faults: [],
    version: { generation: "1", policyGeneration: "1" },
  } as unknown as Why;
  // A backslash that stands for itself, and not for the bar, would have the bar end the cell and the code.
  assert.doesNotMatch(ticket(answer, "http://localhost/"), /\\\\\|/);
});
