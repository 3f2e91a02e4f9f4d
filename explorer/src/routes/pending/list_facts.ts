// How old the list of pending pods is, in one sentence. Start at useAboutList.

import { useNow, type PolledView } from "../../api/hooks";
import type { Pending } from "../../api/types";
import { counted, duration } from "../../ui/format";

/** The versions that the list is made of, how long ago its oldest entry was looked at, and what is not in it. */
export function useAboutList(polled: PolledView<Pending>): string {
  const now = useNow();
  const list = polled.value?.list;
  if (!list) return "";
  const age = (polled.ageMs ?? list.ageMs) + (polled.at === undefined ? 0 : Math.max(0, now - polled.at));
  const unlisted = list.unlisted > 0 ? ` ${counted(list.unlisted, "pending pod")} not in the list.` : "";
  const stale = list.stale ? " The source of the cluster is silent: the list is stale." : "";
  const versions = `List of generation ${list.generation}, policy ${list.policyGeneration}`;
  return `${versions}; its oldest entry was looked at ${duration(age)} ago.${unlisted}${stale}`;
}
