// Rows of a long table: those in the page against a slow twin, and where keys lead.

import assert from "node:assert/strict";
import { test } from "node:test";
import { moved, windowOf } from "../../src/ui/window";

test("all rows that are seen are in the page, and few others", () => {
  const seed = Number(process.env["NODESIFT_SEED"] ?? Date.now() % 1_000_000);
  console.log(`NODESIFT_SEED=${seed}`);
  let state = seed;
  const random = (most: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state % most;
  };
  for (let turn = 0; turn < 2_000; turn += 1) {
    const [rows, rowHeight, height] = [random(120_000), 1 + random(60), random(2_000)];
    const top = random(rows * rowHeight + 4_000) - 1_000;
    const { first, end } = windowOf(rows, rowHeight, top, height);
    const context = JSON.stringify({ seed, rows, rowHeight, height, top, first, end });
    assert.ok(0 <= first && first <= end && end <= rows, context);
    assert.ok(end - first <= height / rowHeight + 22, context);
    // The slow twin: a row is seen where its box and the frame have a pixel in common.
    const from = Math.max(0, Math.floor(top / rowHeight) - 3);
    for (let row = from; row < Math.min(rows, from + Math.ceil(height / rowHeight) + 6); row += 1) {
      const isSeen = row * rowHeight < Math.max(0, top) + height && (row + 1) * rowHeight > Math.max(0, top);
      if (isSeen) assert.ok(first <= row && row < end, `${context} row ${row}`);
    }
  }
});

test("keys lead within the table and never out of it", () => {
  const size = { rows: 5, columns: 3, page: 10 };
  const at = { row: 1, column: 1 };
  const to = (key: string, ctrl = false) => moved(key, at, size, ctrl);
  assert.deepEqual(to("ArrowDown"), { row: 2, column: 1 });
  assert.deepEqual(to("j"), { row: 2, column: 1 });
  assert.deepEqual(to("k"), { row: 0, column: 1 });
  assert.deepEqual(to("PageDown"), { row: 4, column: 1 });
  assert.deepEqual(to("PageUp"), { row: 0, column: 1 });
  assert.deepEqual(to("Home"), { row: 1, column: 0 });
  assert.deepEqual(to("End", true), { row: 4, column: 2 });
  assert.deepEqual(moved("ArrowRight", { row: 4, column: 2 }, size, false), { row: 4, column: 2 });
  assert.equal(to("x"), null);
});
