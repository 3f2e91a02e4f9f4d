// Places of scored nodes: what shares a total shares its place.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PodScores } from "../../src/api/types";
import { place } from "../../src/routes/pod/scores";

test("nodes with one total share their place, also with nodes that are not listed", () => {
  const places = (totals: string[], ties: number): string[] => {
    const best = totals.map((total, at) => ({ node: `n${at}`, total, each: [] }));
    const scores: PodScores = { best, ties, scorers: [], error: "", faults: [] };
    return best.map((node) => place(scores, node));
  };
  assert.deepEqual(places(["9", "7", "7", "3"], 0), ["1", "2, tie", "2, tie", "4"]);
  assert.deepEqual(places(["9", "3"], 5), ["1", "2, tie"]);
  assert.deepEqual(places(["-1"], 0), ["1"]);
});
