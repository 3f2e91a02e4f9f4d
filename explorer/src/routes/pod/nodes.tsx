// All nodes of an answer: the heat map, the counts by label, and the table of which the map is a picture. Start at Nodes.

import { useMemo } from "preact/hooks";
import { HeatMap } from "../../heatmap";
import { FITS, NOT_EVALUATED } from "../../heatmap/cells";
import type { Groups, Layout } from "../../heatmap/layout";
import type { Mark } from "../../heatmap/marks";
import { Swatch } from "../../heatmap/swatch";
import type { NodeGroup, Why } from "../../api/why";
import { count, counted } from "../../ui/format";
import { Grid } from "../../ui/grid";
import { Shown } from "../../ui/shown";
import { Table } from "../../ui/table";
import { FIT } from "./funnel";
import type { Names } from "./question";

export interface NodesProps {
  answer: Why;
  cells: Uint8Array;
  groups: Groups | undefined;
  /** Key of the label by which nodes are grouped; empty for none. */
  by: string;
  names: Names;
  markOf: (cell: number) => Mark;
  /** The predicate whose nodes are selected, or `FIT`; empty for all. */
  selected: string;
}

/** The heat map, and its numbers. */
export function NodeMap(
  props: NodesProps & { onPick: (node: string) => void; onDrawn: (canvas: HTMLCanvasElement, layout: Layout) => void },
) {
  const { answer, cells, groups, by, names, markOf, selected, onPick, onDrawn } = props;
  return (
    <>
      <HeatMap
        cells={cells}
        groups={groups}
        markOf={markOf}
        only={cellOf(answer, selected)}
        label={`${counted(cells.length, "node")} by first obstacle`}
        describe={(row) => `${names.get(row) ?? `node in row ${row}`}: ${obstacleOf(answer, cells[row])}`}
        onPick={(row) => {
          const name = names.get(row);
          if (name !== undefined) onPick(name);
        }}
        onDrawn={onDrawn}
      />
      {answer.groups && <Counts answer={answer} by={by} markOf={markOf} />}
    </>
  );
}

/** The table of the nodes that are selected. Its rows open the panel of a node. */
export function NodeTable({ answer, cells, groups, by, names, markOf, selected, hrefOf }: NodesProps & { hrefOf: (node: string) => string }) {
  const only = cellOf(answer, selected);
  const rows = useMemo(() => {
    const all = Array.from(cells, (_, row) => row);
    return only === undefined ? all : all.filter((row) => cells[row] === only);
  }, [cells, only]);
  const row = (at: number): number => rows[at] ?? 0;
  const which = selected === FIT ? selected : only === undefined ? "in all" : `lost at ${selected}`;
  const label = {
    key: "label",
    title: by.slice(by.lastIndexOf("/") + 1),
    rem: 7,
    grow: 2,
    cell: (at: number) => <Shown text={groups?.values[groups.codes[row(at)] ?? -1] ?? "(without)"} />,
  };
  return (
    <section class="node-table" aria-labelledby="nodes">
      <h2 id="nodes">{counted(rows.length, "node")} <Shown text={which} /></h2>
      <Grid
        label={`Nodes ${which}`}
        rowCount={rows.length}
        virtual
        rowHref={(at) => hrefOf(names.get(row(at)) ?? "")}
        columns={[
          { key: "node", title: "Node", rem: 12, grow: 3, cell: (at) => <Shown text={names.get(row(at)) ?? "…"} /> },
          ...(groups ? [label] : []),
          {
            key: "obstacle",
            title: "First obstacle",
            rem: 10,
            grow: 2,
            cell: (at) => (
              <>
                <Swatch mark={markOf(cells[row(at)] ?? NOT_EVALUATED)} /> <Shown text={obstacleOf(answer, cells[row(at)])} />
              </>
            ),
          },
        ]}
      />
    </section>
  );
}

/** The value of the cells of a selection; absent for all. */
function cellOf(answer: Why, selected: string): number | undefined {
  if (selected === FIT) return FITS;
  const index = answer.funnel.findIndex(({ predicate }) => predicate === selected);
  return index < 0 ? undefined : index;
}

/** The first obstacle of a node by its cell, in words. */
export function obstacleOf(answer: Why, cell: number | undefined): string {
  if (cell === FITS) return "fits";
  return cell === undefined || cell === NOT_EVALUATED ? "not evaluated" : (answer.funnel[cell]?.predicate ?? "not evaluated");
}

/** The nodes by the values of the label, with the numbers of the map. */
function Counts({ answer, by, markOf }: { answer: Why; by: string; markOf: (cell: number) => Mark }) {
  const { groups, rest, restGroups } = answer.groups ?? { groups: [], rest: null, restGroups: 0 };
  const named = groups.map((group) => ({ name: group.value ?? "(without)", group }));
  const all = rest ? [...named, { name: `${count(restGroups)} more values`, group: rest }] : named;
  return (
    <details class="counts" open={all.length <= 6}>
      <summary>Nodes by <code>{by}</code></summary>
      <Table
        caption={`Nodes by ${by}`}
        rows={all}
        rowKey={({ name }) => name}
        columns={[
          { title: "Value", isHead: true, cell: ({ name }) => <Shown text={name} /> },
          { title: "Nodes", isNumber: true, cell: ({ group }) => count(group.nodes) },
          { title: "Fit", isNumber: true, cell: ({ group }) => count(group.feasible) },
          { title: "First rejected by", cell: ({ group }) => <Rejected answer={answer} group={group} markOf={markOf} /> },
        ]}
      />
    </details>
  );
}

function Rejected({ answer, group, markOf }: { answer: Why; group: NodeGroup; markOf: (cell: number) => Mark }) {
  return (
    <ul class="inline">
      {group.rejected.map((nodes, cell) =>
        nodes === 0 ? null : (
          <li key={cell}><Swatch mark={markOf(cell)} /> <Shown text={answer.funnel[cell]?.predicate ?? ""} /> {count(nodes)}</li>
        ),
      )}
    </ul>
  );
}
