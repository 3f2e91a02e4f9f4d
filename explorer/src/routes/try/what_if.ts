// The two answers of a what-if: as it is, and with edits. Asked for again after each change of the edits, and whenever the cluster or the
// policy has changed meanwhile. The last good pair stays while a newer one fails. Start at useWhatIf.

import { useEffect, useRef, useState } from "preact/hooks";
import { PULSE_PATH } from "../../app/pulse";
import { isAbort } from "../../api/client";
import { ApiError } from "../../api/errors";
import { LIST_MS, session, usePolled } from "../../api/hooks";
import type { NodeColumns } from "../../api/types";
import type { Why } from "../../api/why";
import { NotMade, whatIf, type WhatIf as MadeEdits } from "../../edits/apply";
import { print, type Edit } from "../../edits/grammar";
import { QUESTION_BYTES } from "../../edits/limits";
import { SidecarObjects } from "../../edits/sidecar";
import { count } from "../../ui/format";
import { isOlder } from "../pod/question";
import { blamed } from "./compare";

/** The least time between two questions about a cluster that changes, in milliseconds: each takes the sidecar two evaluations. */
const LEAST_MS = 4_000;

/** Pairs of answers that are asked for until both are of one snapshot. */
const ATTEMPTS = 3;

/** What a what-if is about: a pod of the cluster, or manifests, of which the first is as it is. */
export type Question =
  | { namespace: string; name: string; edits: readonly Edit[] }
  | { manifests: readonly [string, string]; edits: readonly Edit[] };

export interface Result {
  before: Why;
  after: Why;
  /** The body of the question about `after`. */
  body: string;
  /** The pod and the overlay in it, as questions about scores name them too; absent for a manifest, which those do not take. */
  scored: { pod: object; overlay?: object } | undefined;
  /** Names of the nodes that the edits add: no page is about one. */
  added: readonly string[];
  edits: readonly Edit[];
}

export interface Outcome {
  /** The last good pair. */
  result: Result | undefined;
  /** Why there is no newer one. */
  failure: { error: ApiError | Error; at: number | undefined } | undefined;
  isBusy: boolean;
  /** The policy under which the pair was made again, where it has changed since the page was opened. */
  recomputedUnder: string | undefined;
}

export function useWhatIf(question: Question | undefined, by: string): Outcome {
  const [result, setResult] = useState<Result>();
  const [failure, setFailure] = useState<Outcome["failure"]>();
  const [isBusy, setBusy] = useState(false);
  const [recomputedUnder, setRecomputedUnder] = useState<string>();
  const pulse = usePolled<NodeColumns>(PULSE_PATH, LIST_MS);
  const call = useRef<AbortController>(undefined);
  const run = async (): Promise<void> => {
    call.current?.abort();
    if (!question) return;
    const own = new AbortController();
    call.current = own;
    setBusy(true);
    try {
      const next = await asked(question, by, own.signal);
      setRecomputedUnder((known) => {
        const policy = next.after.version.policyGeneration;
        return result && result.after.version.policyGeneration !== policy ? policy : known;
      });
      setResult(next);
      setFailure(undefined);
    } catch (error) {
      if (isAbort(error) || own.signal.aborted) return;
      const failed = failureOf(error, question.edits);
      setFailure(failed);
      // Of edits that were wrong from the beginning there is no good result: the pod as it is stands in its place.
      if (!result && failed?.at !== undefined) {
        const asIs = await asked({ ...question, edits: [] }, by, own.signal).catch(() => undefined);
        if (own.signal.aborted) return;
        setResult(asIs);
      }
    }
    setBusy(false);
  };
  const newest = useRef(run);
  newest.current = run;
  const key = question && JSON.stringify([question, by]);
  useEffect(() => {
    void newest.current();
    return () => call.current?.abort();
  }, [key]);
  useEffect(() => session.onRestart(() => void newest.current()), []);
  const isOld = isOlder(result?.after, pulse.value);
  // A failure of the sidecar passes; one of the edits lasts until they change.
  const isRetried = failure?.error instanceof ApiError && failure.at === undefined;
  useEffect(() => {
    if (isBusy || (!isOld && !isRetried)) return;
    const timer = setTimeout(() => void newest.current(), LEAST_MS);
    return () => clearTimeout(timer);
  }, [isOld, isRetried, isBusy, result]);
  return { result, failure, isBusy, recomputedUnder };
}

async function asked(question: Question, by: string, signal: AbortSignal): Promise<Result> {
  const beside = { by, cells: true };
  const objects = new SidecarObjects(session.client, signal);
  const subject = "name" in question ? question : { object: {} };
  const made = await whatIf(question.edits, subject, objects);
  const overlay = made.overlay ? { overlay: made.overlay } : {};
  const [as, edited] = sides(question, made);
  const body = JSON.stringify({ ...edited, ...overlay, ...beside });
  const scored = "pod" in edited ? { pod: edited.pod, ...overlay } : undefined;
  checkSize(body);
  const post = (text: string): Promise<Why> => session.client.post<Why>("v1/why", text, "application/json", signal);
  for (let attempt = 1; ; attempt += 1) {
    const [before, after] = await Promise.all([post(JSON.stringify({ ...as, ...beside })), post(body)]);
    if (before.version.generation === after.version.generation || attempt === ATTEMPTS) return { before, after, body, scored, added: made.added, edits: question.edits };
  }
}

/** Throws an ApiError, as the sidecar would refuse it, for a question that is larger than it takes. */
export function checkSize(body: string): void {
  const bytes = new TextEncoder().encode(body).length;
  if (bytes <= QUESTION_BYTES) return;
  const text = `the question has ${count(bytes)} bytes with all nodes that the edits change, and the sidecar takes ${count(QUESTION_BYTES)}`;
  throw new ApiError("invalid", 413, text);
}

/** The pod of either question: as it is, and edited. */
function sides(question: Question, made: MadeEdits): [object, { pod: object } | { manifest: string }] {
  if ("manifests" in question) return [{ manifest: question.manifests[0] }, { manifest: question.manifests[1] }];
  const pod = { name: { namespace: question.namespace, name: question.name } };
  return [{ pod }, { pod: made.pod ? { object: made.pod } : pod }];
}

function failureOf(error: unknown, edits: readonly Edit[]): Outcome["failure"] {
  if (error instanceof NotMade) return { error, at: error.at };
  if (!(error instanceof ApiError)) return { error: error instanceof Error ? error : new Error(String(error)), at: undefined };
  const texts = edits.map(print);
  // A question that is too large is so by the nodes that it holds.
  const largest = texts.findLastIndex((edit) => /^(node\+|untaint)=/.test(edit));
  const at = blamed(error.message, texts) ?? (error.status === 413 && largest >= 0 ? largest : undefined);
  return { error, at };
}
