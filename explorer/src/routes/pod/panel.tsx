// One node and the pod: every predicate that rejects it, with its reasons and the facts behind them, and what-ifs about this node.
// Start at Panel.

import { useEffect, useRef } from "preact/hooks";
import { SLOW_MS, usePolled, usePosted } from "../../api/hooks";
import type { NodeObject } from "../../api/types";
import type { Why } from "../../api/why";
import { href } from "../../app/router";
import { toQuery } from "../../edits/link";
import { useWhileSeen } from "../../ui/seen";
import { Link, Shown } from "../../ui/shown";
import { Answered } from "../../ui/status";
import { Facts } from "../../ui/table";
import { number } from "./amount";
import { details, listed, taint } from "./details";

/** Taints of the node that are shown. */
const MOST_TAINTS = 20;

export interface PanelProps {
  namespace: string;
  name: string;
  node: string;
  /** Changes with every new answer about the pod, so that the panel is asked for again. */
  generation: string;
  onClose: () => void;
}

export function Panel({ namespace, name, node, generation, onClose }: PanelProps) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => box.current?.focus({ preventScroll: true }), [node]);
  const question = { pod: { name: { namespace, name } }, nodes: { names: [node] }, nearest: 0 };
  const seen = useWhileSeen(box, generation);
  const asked = usePosted<Why>("v1/why", question, seen);
  const polled = usePolled<NodeObject>(`v1/nodes/${encodeURIComponent(node)}/object`, SLOW_MS);
  const object = polled.isOther ? undefined : polled.value;
  const isCordoned = object?.spec?.unschedulable === true;
  const edits = [`node+=${node}*1`, ...(isCordoned ? [`uncordon=${node}`] : [])];
  return (
    <section
      ref={box}
      class="panel"
      tabIndex={-1}
      aria-label={`Node ${node}`}
      onKeyDown={(event) => {
        if (event.key === "Escape") onClose();
      }}
    >
      <div class="title-row">
        <h2><Link to={href(["nodes", node], { pod: `${namespace}/${name}` })} text={node} /></h2>
        <button type="button" onClick={onClose}>Close</button>
      </div>
      <Answered asked={asked} noun="the node">{(why) => <Obstacles why={why} />}</Answered>
      {seen !== generation && asked.answer && <p class="muted">Of generation {asked.answer.version.generation}.</p>}
      {object && (
        <Facts facts={[["Taints", <Shown text={taintsOf(object)} />], ["Allocatable", <Shown text={amountsOf(object)} />]]} />
      )}
      <p>
        What if:{" "}
        {edits.map((edit) => (
          <a key={edit} class="what-if" href={`${href(["pods", namespace, name, "try"])}?${toQuery([edit])}`}>
            {edit.startsWith("node+=") ? "one more node like this" : "it were not cordoned"}
          </a>
        ))}
      </p>
    </section>
  );
}

/** Each predicate that rejects the node, not the first alone. */
export function Obstacles({ why }: { why: Why }) {
  const rejecting = why.alone.filter(({ rejects }) => rejects > 0);
  if (rejecting.length === 0) return <p class="good-text">The pod fits this node.</p>;
  return (
    <ol class="obstacles">
      {rejecting.map(({ predicate }) => {
        const step = why.funnel.find((step) => step.predicate === predicate);
        const facts = step ? details(why, step) : [];
        return (
          <li key={predicate}>
            <strong><Shown text={predicate} /></strong>
            {facts.length > 0 && ": "}
            <Shown text={facts.join("; ")} />
          </li>
        );
      })}
    </ol>
  );
}

function taintsOf(object: NodeObject): string {
  return listed((object.spec?.taints ?? []).map(taint), MOST_TAINTS, ", ") || "none";
}

function amountsOf(object: NodeObject): string {
  return Object.entries(object.status?.allocatable ?? {})
    // Cores are cores here, and thousandths in answers.
    .map(([name, quantity]) => `${name} ${name === "cpu" ? quantity : number(name, quantity)}`)
    .join(", ");
}
