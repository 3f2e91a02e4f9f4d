// Whether one pod fits one node, and which predicates reject it. Start at Fit.

import { useEffect, useState } from "preact/hooks";
import { isAbort } from "../../api/client";
import { ApiError } from "../../api/errors";
import { session } from "../../api/hooks";
import { podHref } from "../pending/groups";
import { Shown } from "../../ui/shown";
import { Trouble } from "../../ui/status";

/** The part of `Why` that is shown here. */
interface Verdict {
  feasibleCount?: number;
  nodes?: number;
  alone?: { predicate: string; rejects?: number }[];
  funnel?: { predicate: string; rejected?: number; reasons?: { reason: string }[] }[];
}

export function Fit({ pod, node }: { pod: string; node: string }) {
  const [verdict, setVerdict] = useState<Verdict | undefined>();
  const [error, setError] = useState<ApiError | undefined>();
  useEffect(() => {
    const call = new AbortController();
    const [namespace = "", name = ""] = [pod.slice(0, pod.indexOf("/")), pod.slice(pod.indexOf("/") + 1)];
    const body = JSON.stringify({ pod: { name: { namespace, name } }, nodes: { names: [node] } });
    setVerdict(undefined);
    setError(undefined);
    session.client
      .post<Verdict>("v1/why", body, "application/json", call.signal)
      .then(setVerdict)
      .catch((thrown: unknown) => {
        if (!isAbort(thrown)) setError(thrown instanceof ApiError ? thrown : new ApiError("failed", 0, String(thrown)));
      });
    return () => call.abort();
  }, [pod, node]);
  const rejecting = (verdict?.alone ?? []).filter((alone) => (alone.rejects ?? 0) > 0);
  const reasons = (predicate: string) => verdict?.funnel?.find((step) => step.predicate === predicate)?.reasons ?? [];
  return (
    <section aria-labelledby="fit" class="notice-box">
      <h2 id="fit">
        Pod{" "}
        <a href={podHref(pod)}>
          <Shown text={pod} />
        </a>{" "}
        on this node
      </h2>
      {error && <Trouble error={error} nextAt={undefined} />}
      {!verdict && !error && <p class="muted">Asking …</p>}
      {verdict && rejecting.length === 0 && <p>{(verdict.feasibleCount ?? 0) > 0 ? "It fits." : "It does not fit; no predicate says why."}</p>}
      {rejecting.length > 0 && (
        <ul>
          {rejecting.map(({ predicate }) => (
            <li key={predicate}>
              <strong>
                <Shown text={predicate} />
              </strong>{" "}
              {reasons(predicate).length > 0 ? "rejects it: " : "would reject it too"}
              <Shown text={reasons(predicate).map(({ reason }) => reason).join(", ")} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
