// A pod about which there is no answer: unknown, deleted, or bound. What is still known of it is shown instead. Start at Missing.

import { useEffect } from "preact/hooks";
import { withQuery } from "../../api/client";
import type { ApiError } from "../../api/errors";
import { session, useAsked } from "../../api/hooks";
import type { Pending } from "../../api/types";
import type { PodHistory } from "../../api/why";
import { announce } from "../../app/live";
import { href } from "../../app/router";
import { CauseBadge } from "../../ui/causes";
import { Link, Shown, visible } from "../../ui/shown";
import { Moment } from "../../ui/time";
import { nearNames } from "./near_names";

export interface MissingProps {
  namespace: string;
  name: string;
  error: ApiError;
  history: PodHistory | undefined;
}

export function Missing({ namespace, name, error, history }: MissingProps) {
  const left = history && !history.pending ? history : undefined;
  const isBound = error.failure === "conflict";
  const near = useNearNames(namespace, name, !isBound && !left);
  const heading = isBound ? "Bound" : left ? "No longer pending" : "Not here";
  useEffect(() => announce(visible(`${namespace}/${name}: ${heading}`)), [heading]);
  return (
    <div class="trouble" role="group" aria-label={heading}>
      <p><strong>{heading}.</strong> {left ? <Left history={left} /> : <Shown text={error.message} />}</p>
      {left && left.causes.length > 0 && (
        <p>Its last cause was <CauseBadge name={left.causes.at(-1)!.cause} /> <Shown text={left.headline} /></p>
      )}
      {near.length > 0 && (
        <p>
          Pending pods with a name like it:{" "}
          {near.map((pod, at) => (
            <>
              {at > 0 && ", "}
              <Link to={href(["pods", ...pod.split("/")])} text={pod} />
            </>
          ))}
        </p>
      )}
      {!isBound && <p><a href={href(["pending"], { ns: namespace })}>Pending pods of this namespace</a></p>}
    </div>
  );
}

/** When the pod left the list of pending pods, and where it is. */
function Left({ history }: { history: PodHistory }) {
  return (
    <>
      {history.node ? (
        <>
          The pod is on node{" "}
          <Link to={href(["nodes", history.node])} text={history.node} />
        </>
      ) : (
        "The pod was deleted, or has ended"
      )}
      {history.left && (
        <>
          {" "}
          since <Moment time={history.left} />
        </>
      )}
      .
    </>
  );
}

function useNearNames(namespace: string, name: string, isWanted: boolean): string[] {
  const path = withQuery("v1/pending", { limit: 1_000 });
  // Without the list there is nothing to propose, and the reason stands above.
  const { answer } = useAsked(isWanted ? `${namespace}/${name}` : null, (signal) => session.client.read<Pending>(path, signal));
  return nearNames(namespace, name, (answer?.pods ?? []).map((pod) => `${pod.namespace}/${pod.name}`));
}
