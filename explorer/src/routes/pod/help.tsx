// Nodes that come nearest, and edits that were evaluated and gain nodes. Edits are evaluated where somebody asks, since each takes the
// sidecar an evaluation. Start at Nearest and Help.

import { useEffect, useState } from "preact/hooks";
import { withQuery } from "../../api/client";
import { session, useAsked } from "../../api/hooks";
import type { HelpfulEdit, Why } from "../../api/why";
import { announce } from "../../app/live";
import { href } from "../../app/router";
import { useShortcut } from "../../app/shortcuts";
import { toQuery } from "../../edits/link";
import { UNEVALUATED, type Mark } from "../../heatmap/marks";
import { Swatch } from "../../heatmap/swatch";
import { count, counted } from "../../ui/format";
import { Link, Shown } from "../../ui/shown";
import { Refused } from "../../ui/status";
import { Table } from "../../ui/table";
import { obstacle } from "./texts";

export interface NearestProps {
  answer: Why;
  marks: ReadonlyMap<string, Mark>;
  hrefOf: (node: string) => string;
}

export function Nearest({ answer, marks, hrefOf }: NearestProps) {
  const all = answer.alone.reduce((sum, { onlyReason }) => sum + onlyReason, 0);
  const more = all - answer.nearest.length;
  if (answer.nearest.length === 0) return <p class="muted">No node is rejected by one predicate alone.</p>;
  return (
    <div class="bounded">
      <Table
        caption="Nodes with one obstacle"
        rows={answer.nearest}
        rowKey={({ node }) => node}
        columns={[
          { title: "Node", isHead: true, cell: ({ node }) => <Link to={hrefOf(node)} text={node} /> },
          {
            title: "Its one obstacle",
            cell: (near) => (
              <>
                <Swatch mark={marks.get(near.predicate) ?? UNEVALUATED} /> <Shown text={obstacle(near)} />
              </>
            ),
          },
        ]}
      />
      {more > 0 && <p class="muted">{counted(more, "more node")} with one obstacle.</p>}
    </div>
  );
}

export interface HelpProps {
  namespace: string;
  name: string;
  /** Whether the pod fits some node, and nothing has to help. */
  fits: boolean;
  /** Called with what was found, for texts that are copied. */
  onFound: (help: HelpfulEdit[]) => void;
}

export function Help({ namespace, name, fits, onFound }: HelpProps) {
  const [times, setTimes] = useState(0);
  const path = withQuery("v1/why", { pod: `${namespace}/${name}`, help: "true" });
  const ask = async (signal: AbortSignal): Promise<Why> => {
    const answer = await session.client.read<Why>(path, signal);
    // Edits are made by the script of the what-if, which is not of the first load.
    const { addNodeHelp } = await import("../later");
    return addNodeHelp(answer, namespace, name, signal);
  };
  const { answer: found, error, isAsking } = useAsked(times > 0 ? path : null, ask, String(times));
  useEffect(() => {
    if (!found) return;
    onFound(found.help);
    announce(found.help.length === 0 ? "No single edit helps" : `${counted(found.help.length, "edit")} would help`);
  }, [found]);
  const evaluate = (): void => setTimes(times + 1);
  useShortcut("h", "find edits that would help", evaluate);
  return (
    <>
      <p class="help">
        <button type="button" onClick={evaluate} disabled={isAsking} aria-busy={isAsking}>
          {found ? "Evaluate again" : "Evaluate single edits"}
        </button>{" "}
        <span class="muted">{fits ? "Nodes fit already; edits may gain more." : "Each is evaluated as the pod, or a node, would be with it; none is made."}</span>
      </p>
      {error && <Refused text={error.message} />}
      {found && <Found answer={found} tryHref={(edit) => `${href(["pods", namespace, name, "try"])}?${toQuery([edit])}`} />}
    </>
  );
}

function Found({ answer, tryHref }: { answer: Why; tryHref: (edit: string) => string }) {
  return (
    <>
      <Table
        caption="Edits that would help"
        rows={answer.help}
        rowKey={({ edit }) => edit}
        empty="No single edit of the pod, of its nearest nodes or of cordoned ones gains a node."
        columns={[
          { title: "Edit", isHead: true, cell: ({ edit }) => <a href={tryHref(edit)}><code><Shown text={edit} /></code></a> },
          { title: "Gained", isNumber: true, cell: ({ gained }) => `+${count(gained)}` },
          { title: "Fit then", isNumber: true, cell: ({ feasibleCount }) => count(feasibleCount) },
          { title: "But", cell: ({ caveat }) => <Shown text={caveat} /> },
        ]}
      />
      {answer.helpUnevaluated > 0 && (
        <p class="muted">{counted(answer.helpUnevaluated, "edit")} more could not be evaluated; they may help.</p>
      )}
    </>
  );
}
