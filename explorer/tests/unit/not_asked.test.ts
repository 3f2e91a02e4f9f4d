// The time for which no core has asked is that of the pod that has waited longest.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { PendingGroup } from "../../src/api/types";
import { longestUnasked } from "../../src/routes/overview/not_asked";

const group = (cause: string, since: string): PendingGroup => ({ key: since, count: 1, cause, headline: "", oldest: since, since, pods: [] });

test("the time without a question is that of the answer, and of the pod that has waited longest", () => {
  const now = Date.parse("2026-11-30T10:00:00Z");
  const groups = [
    group("Fits", "2026-11-29T00:00:00Z"),
    group("NotAsked", "2026-11-30T09:55:00Z"),
    group("NotAsked", "2026-11-30T09:22:00Z"),
  ];
  assert.equal(longestUnasked(groups, now), "38 min");
  assert.equal(longestUnasked(groups.slice(0, 2), now), "5 min");
  assert.equal(longestUnasked(groups.slice(0, 1), now), undefined);
  assert.equal(longestUnasked([group("NotAsked", "")], now), undefined);
});
