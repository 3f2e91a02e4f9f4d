// For how long no core has asked about pods that fit, as far as the list of pending pods tells. Start at longestUnasked.

import type { PendingGroup } from "../../api/types";
import { duration } from "../../ui/format";

/**
 * The time in words for which the pod that has waited longest has not been asked about, at least: since when it has the cause, which it has
 * only after some time without a question. None where no group has the cause.
 */
export function longestUnasked(groups: readonly PendingGroup[], now: number): string | undefined {
  const since = groups.filter(({ cause }) => cause === "NotAsked").map((group) => Date.parse(group.since));
  const known = since.filter((at) => !Number.isNaN(at));
  return known.length > 0 ? duration(now - Math.min(...known)) : undefined;
}
