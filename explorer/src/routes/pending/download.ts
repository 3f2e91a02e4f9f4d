// All pending pods that a filter selects, page by page, and as a file. Start at allPods.

import { withQuery, type Client } from "../../api/client";
import type { Pending, PendingPod } from "../../api/types";
import { csv } from "../../ui/csv";

/** Pods of one page: the most that the sidecar gives at once. */
const PAGE = 1_000;

/** The parameters of the list, in the words of the API. */
export type Filter = { namespace: string; cause: string; predicate: string; q: string };

/** All selected pods, as they are while the pages are read. Throws ApiError. */
export async function allPods(client: Client, filter: Filter): Promise<PendingPod[]> {
  const pods: PendingPod[] = [];
  let after = "";
  do {
    const answer = await client.get<Pending>(withQuery("v1/pending", { ...filter, limit: PAGE, after }));
    if (answer.same) break;
    pods.push(...answer.value.pods);
    after = answer.value.next;
  } while (after !== "");
  return pods;
}

const TITLES = [
  "namespace",
  "name",
  "cause",
  "answer",
  "since",
  "created",
  "owner",
  "scheduler",
  "priority",
  "nodes",
  "feasible",
  "about",
  "message",
];

export function podsAsCsv(pods: PendingPod[]): string {
  const rows = pods.map((pod) => [
    pod.namespace,
    pod.name,
    pod.cause,
    pod.headline,
    pod.since,
    pod.created,
    pod.owner ? `${pod.owner.kind}/${pod.owner.name}` : "",
    pod.scheduler,
    pod.priority,
    pod.nodes ?? "",
    pod.feasibleCount ?? "",
    pod.subjects.join(" "),
    pod.message ?? "",
  ]);
  return csv(TITLES, rows);
}
