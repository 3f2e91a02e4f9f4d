// What the page asks about a pod: the answer, again whenever the cluster has changed, and the rows that its cells stand for.
// Start at `usePodAnswer`.

import { useEffect, useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { PULSE_PATH } from "../../app/pulse";
import { isAbort, withQuery } from "../../api/client";
import { LIST_MS, session, usePolled, type PolledView } from "../../api/hooks";
import { labelColumn, NodeNames } from "../../api/rows";
import type { NodeColumns } from "../../api/types";
import type { Why } from "../../api/why";
import type { Groups } from "../../heatmap/layout";

/** The time between two questions about an unchanged cluster, in milliseconds: causes change with time too. */
const ASK_MS = 20_000;

/** The least time between two questions about a cluster that changes, in milliseconds: each takes the sidecar an evaluation. */
export const LEAST_MS = 4_000;

/** The path of the question about a pod. */
export function whyPath(namespace: string, name: string, by: string): string {
  return withQuery("v1/why", { pod: `${namespace}/${name}`, by, cells: "true" });
}

/**
 * The answer at a path of `/v1/why`, asked for again once the cluster or the policy has changed; less often while each answer is as the one
 * before, and again as soon as may be where the policy changes or `ofList`, which says what the list of pending pods has of the pod.
 */
export function usePodAnswer(path: string, ofList: string): PolledView<Why> {
  const polled = usePolled<Why>(path, ASK_MS);
  const pulse = usePolled<NodeColumns>(PULSE_PATH, LIST_MS);
  const cause = `${pulse.value?.version.policyGeneration} ${ofList}`;
  const isOld = isOlder(polled.value, pulse.value);
  const pace = useRef<Pace & { of?: Why | undefined; cause: string }>({ text: "", waitMs: LEAST_MS, cause });
  if (polled.value !== pace.current.of) pace.current = { ...nextPace(pace.current, polled.value), of: polled.value, cause };
  if (cause !== pace.current.cause) pace.current = { ...pace.current, waitMs: LEAST_MS, cause };
  const { waitMs } = pace.current;
  useEffect(() => {
    if (!isOld || polled.error) return;
    const wait = Math.max(0, (polled.at ?? 0) + waitMs - Date.now());
    const timer = setTimeout(() => session.refresh(path), wait);
    return () => clearTimeout(timer);
  }, [isOld, polled.at, polled.error, path, waitMs]);
  return polled;
}

/** How often an answer is asked for: what the last one said but for its version, and the time to the next question in milliseconds. */
export interface Pace { text: string; waitMs: number }

/** The pace after one more answer: half of it where that says the same again, up to that of a cluster that does not change. */
export function nextPace(last: Pace, answer: Why | undefined): Pace {
  const text = JSON.stringify({ ...answer, version: undefined });
  return { text, waitMs: text === last.text ? Math.min(last.waitMs * 2, ASK_MS) : LEAST_MS };
}

/** Whether the sidecar has a newer snapshot, or another policy, than an answer is of. */
export function isOlder(answer: Why | undefined, pulse: NodeColumns | undefined): boolean {
  if (!answer || !pulse) return false;
  const [of, now] = [answer.version, pulse.version];
  return BigInt(now.generation) > BigInt(of.generation) || now.policyGeneration !== of.policyGeneration;
}

/** The values of a label by row. `rows` and `nodesVersion` are those of the answer, once there is one. */
export function useLabel(
  key: string,
  rows: number | undefined,
  nodesVersion: string | undefined,
): { groups: Groups | undefined; isWaiting: boolean; error: string } {
  const [state, setState] = useState<{ key: string; groups?: Groups & { nodesVersion: string }; error: string }>();
  const restarts = useRestarts();
  const of = state?.key === key ? state : undefined;
  const isOther = of?.groups !== undefined && rows !== undefined && of.groups.codes.length !== rows;
  // The version of the last answer that is about other nodes than the labels: they are asked for once for it.
  const other = useRef("");
  if (of?.groups !== undefined && nodesVersion !== undefined && of.groups.nodesVersion !== nodesVersion) other.current = nodesVersion;
  useLayoutEffect(() => {
    if (!key) return;
    const call = new AbortController();
    labelColumn(session.client, key, call.signal)
      .then((groups) => setState({ key, groups, error: "" }))
      .catch((error: unknown) => {
        if (!isAbort(error)) setState({ key, error: error instanceof Error ? error.message : String(error) });
      });
    return () => call.abort();
  }, [key, restarts, isOther ? rows : 0, other.current]);
  return useMemo(() => ({ groups: of?.groups, isWaiting: key !== "" && !of, error: of?.error ?? "" }), [key, of]);
}

/** Names of nodes by row; others where more have come. */
export type Names = Pick<NodeNames, "get">;

/**
 * Names of nodes by row, of an answer with this resource version of nodes; null before there is one, and then the first names are asked for
 * beside it. The component is drawn again when more have come.
 */
export function useNames(nodesVersion: string | undefined | null): Names {
  const [times, redraw] = useReducer((times: number) => times + 1, 0);
  const restarts = useRestarts();
  const names = useMemo(() => new NodeNames(session.client, () => redraw(undefined)), [restarts]);
  // While it is drawn: what is drawn then asks again.
  useMemo(() => (nodesVersion === null ? names.get(0) : names.renew(nodesVersion)), [names, nodesVersion]);
  return useMemo(() => ({ get: (row: number) => names.get(row) }), [names, times]);
}

function useRestarts(): number {
  const [restarts, count] = useReducer((times: number) => times + 1, 0);
  useEffect(() => session.onRestart(() => count(undefined)), []);
  return restarts;
}
