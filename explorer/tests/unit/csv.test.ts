// CSV that a spreadsheet opens: nothing in it is taken for a formula, and everything comes back.

import assert from "node:assert/strict";
import { test } from "node:test";
import { cell, csv } from "../../src/ui/csv";

test("what would be a formula gets an apostrophe and quotes", () => {
  for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=HYPERLINK(\"x\")"]) {
    assert.equal(cell(text), `"'${text.replaceAll('"', '""')}"`, JSON.stringify(text));
  }
});

test("numbers are no formulas, also below zero", () => {
  assert.equal(cell(-1), "-1");
});

test("commas, quotes and line ends are quoted, and other texts are not", () => {
  assert.equal(cell('a,"b"\n'), '"a,""b""\n"');
  assert.equal(cell("web-0"), "web-0");
  assert.equal(cell(""), "");
  assert.equal(cell("a=b"), "a=b");
});

test("a table has its titles first, and lines that end with CR LF", () => {
  assert.equal(csv(["a", "b"], [["x", 1], ["=y", 2]]), "a,b\r\nx,1\r\n\"'=y\",2\r\n");
});
