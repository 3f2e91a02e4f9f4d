// What every page says of the sidecar: the replica, the versions that answers are of, and a banner where they are old or none come.
//
// One small call every two seconds carries it; unchanged, it is answered 304. Start at Pulse.

import { useEffect, useState } from "preact/hooks";
import { LIST_MS, session, useNow, usePolled } from "../api/hooks";
import { heading } from "../api/errors";
import type { NodeColumns } from "../api/types";
import { count, duration, moment } from "../ui/format";
import { Shown } from "../ui/shown";
import { announce } from "./live";

/** The page without rows: the cheapest answer that names epoch, versions and staleness. */
export const PULSE_PATH = "v1/nodes?columns=name&rows=0-0";

/** How long the notice of a restart stays, in milliseconds. */
const RESTART_NOTICE_MS = 30_000;

export function Pulse({ replica }: { replica: string | undefined }) {
  const pulse = usePolled<NodeColumns>(PULSE_PATH, LIST_MS);
  const now = useNow();
  const [restartedAt, setRestartedAt] = useState<number | undefined>();
  useEffect(() => session.onRestart(() => setRestartedAt(Date.now())), []);
  const { value, error, at } = pulse;
  const restarted = restartedAt !== undefined && now - restartedAt < RESTART_NOTICE_MS;
  const isStale = value?.version.stale === true;
  const state = error ? heading(error) : isStale ? "stale" : value ? "live" : "asking";
  useEffect(() => {
    if (state !== "asking") announce(state === "live" ? "The sidecar answers" : state);
  }, [state]);
  return (
    <>
      <p class="pulse">
        <span class={`state state-${error ? "lost" : state}`}>{error ? "no answer" : state}</span>
        {replica && <span title="replica"><Shown text={replica} /></span>}
        {value && (
          <span>
            {count(value.nodes)} nodes · generation {value.version.generation} · policy {value.version.policyGeneration}
          </span>
        )}
        {at !== undefined && <span>as of {moment(at, now)}</span>}
      </p>
      {error && at !== undefined && (
        <p class="banner">
          <strong>{heading(error)}</strong> for {duration(now - at)}: <Shown text={error.message} />. What is shown is of{" "}
          {moment(at, now)}
          {pulse.nextAt !== undefined && `; the page asks again in ${Math.max(0, Math.ceil((pulse.nextAt - now) / 1_000))} s`}.
        </p>
      )}
      {!error && isStale && (
        <p class="banner">
          <strong>Stale:</strong> the API server has confirmed nothing for a while
          {value.version.stalenessMs !== undefined && ` (${duration(Number(value.version.stalenessMs))} when this was said)`}. Answers are of
          the last known state of the cluster.
        </p>
      )}
      {restarted && (
        <p class="banner notice">
          <strong>The sidecar has restarted</strong> at {moment(restartedAt, now)}. Everything shown was asked for again.
        </p>
      )}
    </>
  );
}
