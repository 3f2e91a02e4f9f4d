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

/** The columns of the file. */
const COLUMNS: Record<string, (pod: PendingPod) => string | number> = {
  namespace: (pod) => pod.namespace,
  name: (pod) => pod.name,
  cause: (pod) => pod.cause,
  answer: (pod) => pod.headline,
  since: (pod) => pod.since,
  created: (pod) => pod.created,
  owner: ({ owner }) => (owner ? `${owner.kind}/${owner.name}` : ""),
  scheduler: (pod) => pod.scheduler,
  priority: (pod) => pod.priority,
  nodes: (pod) => pod.nodes ?? "",
  feasible: (pod) => pod.feasibleCount ?? "",
  about: (pod) => pod.subjects.join(" "),
  message: (pod) => pod.message ?? "",
};

export function podsAsCsv(pods: PendingPod[]): string {
  const cells = Object.values(COLUMNS);
  return csv(Object.keys(COLUMNS), pods.map((pod) => cells.map((cell) => cell(pod))));
}
