// The result of a what-if: both causes, each predicate before and after, nodes gained and lost, faults, and the map with the edits.
// Start at ComparisonView.

import { useEffect, useMemo } from "preact/hooks";
import type { Why } from "../../api/why";
import { announce } from "../../app/live";
import { decode } from "../../heatmap/cells";
import { HeatMap } from "../../heatmap";
import type { Mark } from "../../heatmap/marks";
import { Swatch } from "../../heatmap/swatch";
import { CauseBadge } from "../../ui/causes";
import { count, counted } from "../../ui/format";
import { Link, Shown } from "../../ui/shown";
import { Table } from "../../ui/table";
import { obstacleOf } from "../pod/nodes";
import { useMarks } from "../pod";
import { useLabel, useNames } from "../pod/question";
import { Faults } from "../pod/rest";
import { Scores } from "../pod/scores";
import { compare } from "./compare";
import type { Result } from "./what_if";

/** The heading of nodes that edits add. No value of a label has parentheses. */
const ADDED = "(added)";

/** Names of nodes that are listed. */
const NAMED = 8;

export function ComparisonView({ result, by, hrefOf }: { result: Result; by: string; hrefOf: (node: string) => string }) {
  const { before, after } = result;
  const compared = useMemo(() => compare(before, after), [before, after]);
  const gained = after.feasibleCount - before.feasibleCount;
  const { marks, markOf } = useMarks(after);
  useEffect(
    () => announce(`${counted(after.feasibleCount, "node")} fit with the edits, ${counted(before.feasibleCount, "node")} without`),
    [before.feasibleCount, after.feasibleCount],
  );
  return (
    <>
      <dl class="sides">
        <Side title="As it is" answer={before} />
        <Side title="With the edits" answer={after} />
      </dl>
      <p class="headline">
        Nodes that fit: {count(before.feasibleCount)} → <strong>{count(after.feasibleCount)}</strong>{" "}
        <span class={gained > 0 ? "good-text" : "muted"}>({signed(gained)})</span>
        {before.nodes !== after.nodes && (
          <span class="muted">
            {" "}
            of {count(before.nodes)} → {count(after.nodes)} nodes
          </span>
        )}
      </p>
      {!compared.isSameState && <p class="muted">The cluster changed between the two answers; they are asked for again.</p>}
      <Faults answer={after} />
      <div class="pod-columns">
        <section>
          <h2>Predicates</h2>
          <Table
            caption="Nodes that each predicate rejects, before and after"
            rows={compared.changes}
            rowKey={({ predicate }) => predicate}
            empty="No predicate rejects a node."
            columns={[
              {
                title: "Predicate",
                isHead: true,
                cell: ({ predicate }) => (
                  <>
                    {marks.has(predicate) && <Swatch mark={marks.get(predicate)!} />} <Shown text={predicate} />
                  </>
                ),
              },
              { title: "Rejects", isNumber: true, cell: (of) => count(of.before) },
              { title: "With the edits", isNumber: true, cell: (of) => count(of.after) },
              { title: "Change", isNumber: true, cell: (of) => (of.after === of.before ? "·" : signed(of.after - of.before)) },
            ]}
          />
          <Rows title="Gained" rows={compared.gained} after={after} hrefOf={hrefOf} />
          {compared.added.nodes > 0 && (
            <p>
              {counted(compared.added.nodes, "added node")}, of which {count(compared.added.fit)} fit. A copy has no CSINode, so no limits of
              volumes.
            </p>
          )}
          <Rows title="Lost" rows={compared.lost} after={after} hrefOf={hrefOf} />
        </section>
        <section>
          <h2>Every node with the edits</h2>
          <Map answer={after} by={by} markOf={markOf} />
        </section>
      </div>
      {result.scored && (
        <Scores
          {...result.scored}
          fits={after.feasibleCount}
          generation={after.version.generation}
          hrefOf={(node) => (result.added.includes(node) ? undefined : hrefOf(node))}
        />
      )}
    </>
  );
}

function Side({ title, answer }: { title: string; answer: Why }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd><CauseBadge name={answer.cause.name} headline={answer.cause.headline} /> <Shown text={answer.cause.headline} /></dd>
    </div>
  );
}

function Rows({ title, rows, after, hrefOf }: { title: string; rows: number[]; after: Why; hrefOf: (node: string) => string }) {
  const names = useNames(after.version.nodesResourceVersion);
  if (rows.length === 0) return null;
  const more = rows.length - NAMED;
  return (
    <>
      <h3>{title}: {counted(rows.length, "node")}</h3>
      <ul class="inline">
        {rows.slice(0, NAMED).map((row) => {
          const name = names.get(row);
          return (
            <li key={row}>
              {name === undefined ? (
                "…"
              ) : <Link to={hrefOf(name)} text={name} />}
            </li>
          );
        })}
        {more > 0 && <li class="muted">{count(more)} more</li>}
      </ul>
    </>
  );
}

function Map({ answer, by, markOf }: { answer: Why; by: string; markOf: (cell: number) => Mark }) {
  const cells = useMemo(() => decode(answer.cells ?? ""), [answer.cells]);
  const { nodesResourceVersion } = answer.version;
  const { groups: known } = useLabel(by, undefined, nodesResourceVersion);
  const names = useNames(nodesResourceVersion);
  // Nodes that the edits add are behind those of the table, and are a group of their own.
  const groups = useMemo(() => known && { values: [...known.values, ADDED], codes: Array.from(cells, (_, row) => known.codes[row] ?? known.values.length) }, [known, cells]);
  const describe = (row: number): string => {
    const isAdded = known && row >= known.codes.length;
    return `${isAdded ? "an added node" : (names.get(row) ?? `node in row ${row}`)}: ${obstacleOf(answer, cells[row])}`;
  };
  return (
    <HeatMap
      cells={cells}
      groups={groups}
      markOf={markOf}
      only={undefined}
      label={`${counted(cells.length, "node")} with the edits, by first obstacle`}
      describe={describe}
    />
  );
}

function signed(number: number): string {
  return number > 0 ? `+${count(number)}` : number < 0 ? `−${count(-number)}` : "±0";
}
