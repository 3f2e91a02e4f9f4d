// Nodes that come nearest, and edits that were evaluated and gain nodes. Edits are evaluated where somebody asks, since each takes the
// sidecar an evaluation. Start at Nearest and Help.

import { useEffect, useRef, useState } from "preact/hooks";
import { isAbort, withQuery } from "../../api/client";
import { ApiError } from "../../api/errors";
import { session } from "../../api/hooks";
import type { HelpfulEdit, Why } from "../../api/why";
import { announce } from "../../app/live";
import { href } from "../../app/router";
import { useShortcut } from "../../app/shortcuts";
import { toQuery } from "../../edits/link";
import { UNEVALUATED, type Mark } from "../../heatmap/marks";
import { Swatch } from "../../heatmap/swatch";
import { count, counted } from "../../ui/format";
import { Shown } from "../../ui/shown";
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
          {
            title: "Node",
            isHead: true,
            cell: ({ node }) => (
              <a href={hrefOf(node)}>
                <Shown text={node} />
              </a>
            ),
          },
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
  const [found, setFound] = useState<Why | undefined>();
  const [error, setError] = useState("");
  const [isAsking, setAsking] = useState(false);
  const call = useRef<AbortController>(undefined);
  useEffect(() => () => call.current?.abort(), []);
  const ask = async (): Promise<void> => {
    call.current?.abort();
    const own = new AbortController();
    call.current = own;
    setAsking(true);
    setError("");
    try {
      const path = withQuery("v1/why", { pod: `${namespace}/${name}`, nearest: "0", help: "true" });
      const answer = await session.client.get<Why>(path, { signal: own.signal });
      if (answer.same) return;
      setFound(answer.value);
      onFound(answer.value.help);
      announce(answer.value.help.length === 0 ? "No single edit helps" : `${counted(answer.value.help.length, "edit")} would help`);
    } catch (thrown) {
      if (isAbort(thrown)) return;
      setError(thrown instanceof ApiError ? thrown.message : String(thrown));
    }
    setAsking(false);
  };
  useShortcut("h", "find edits that would help", () => void ask());
  return (
    <>
      <p class="help">
        <button type="button" onClick={() => void ask()} disabled={isAsking} aria-busy={isAsking}>
          {found ? "Evaluate again" : "Evaluate single edits"}
        </button>{" "}
        <span class="muted">{fits ? "Nodes fit already; edits may gain more." : "Each is evaluated as the pod would be with it; none is made."}</span>
      </p>
      {error && <p class="field-error">{error}</p>}
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
        empty="No single edit of the pod gains a node."
        columns={[
          {
            title: "Edit",
            isHead: true,
            cell: ({ edit }) => (
              <a href={tryHref(edit)}>
                <code>
                  <Shown text={edit} />
                </code>
              </a>
            ),
          },
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
