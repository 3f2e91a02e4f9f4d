// How often the page of a pod asks: less often while each answer says the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Why } from "../../src/api/why";
import { LEAST_MS, nextPace, type Pace } from "../../src/routes/pod/question";

const answer = (generation: string, feasibleCount: number): Why =>
  ({ version: { generation, policyGeneration: "1" }, feasibleCount, funnel: [] }) as unknown as Why;

test("answers that differ by their version alone are asked for half as often each, and another one as often as at first", () => {
  let pace: Pace = { text: "", waitMs: LEAST_MS };
  const waits = [answer("1", 3), answer("2", 3), answer("3", 3), answer("9", 3), answer("10", 3), answer("11", 4), answer("12", 4)].map((next) => {
    pace = nextPace(pace, next);
    return pace.waitMs;
  });
  assert.deepEqual(waits, [4_000, 8_000, 16_000, 20_000, 20_000, 4_000, 8_000]);
});
