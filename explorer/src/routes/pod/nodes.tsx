// All nodes of an answer: the heat map, the counts by label, and the table of which the map is a picture. Start at Nodes.

import { useMemo } from "preact/hooks";
import { HeatMap } from "../../heatmap";
import { FITS, NOT_EVALUATED } from "../../heatmap/cells";
import type { Groups, Layout } from "../../heatmap/layout";
import type { Mark } from "../../heatmap/marks";
import { Swatch } from "../../heatmap/swatch";
import type { NodeNames } from "../../api/rows";
import type { NodeGroup, Why } from "../../api/why";
import { count, counted } from "../../ui/format";
import { Grid } from "../../ui/grid";
import { Shown } from "../../ui/shown";
import { Table } from "../../ui/table";
import { FIT } from "./funnel";

export interface NodesProps {
  answer: Why;
  cells: Uint8Array;
  groups: Groups | undefined;
  /** Key of the label by which nodes are grouped; empty for none. */
  by: string;
  names: NodeNames;
  markOf: (cell: number) => Mark;
  /** The predicate whose nodes are selected, or `FIT`; empty for all. */
  selected: string;
  /** The address that shows a node. */
  hrefOf: (node: string) => string;
  onPick: (node: string) => void;
  onDrawn: (canvas: HTMLCanvasElement, layout: Layout) => void;
}

export function Nodes({ answer, cells, groups, by, names, markOf, selected, hrefOf, onPick, onDrawn }: NodesProps) {
  const only = cellOf(answer, selected);
  const rows = useMemo(() => {
    const all = Array.from(cells, (_, row) => row);
    return only === undefined ? all : all.filter((row) => cells[row] === only);
  }, [cells, only]);
  const said = (row: number): string => obstacleOf(answer, cells[row]);
  const describe = (row: number): string => `${names.get(row) ?? `node in row ${row}`}: ${said(row)}`;
  const which = selected === FIT ? "that fit" : selected ? `lost at ${selected}` : "in all";
  return (
    <>
      <HeatMap
        cells={cells}
        groups={groups}
        markOf={markOf}
        only={only}
        label={`${counted(cells.length, "node")} by first obstacle`}
        describe={describe}
        onPick={(row) => {
          const name = names.get(row);
          if (name !== undefined) onPick(name);
        }}
        onDrawn={onDrawn}
      />
      {answer.groups && <Counts answer={answer} by={by} markOf={markOf} />}
      <h2 id="nodes">
        {counted(rows.length, "node")} {selected ? <Shown text={which} /> : which}
      </h2>
      <Grid
        label={`Nodes ${which}`}
        rowCount={rows.length}
        virtual
        rowHref={(at) => hrefOf(names.get(rows[at] ?? 0) ?? "")}
        columns={[
          {
            key: "node",
            title: "Node",
            width: "minmax(14rem, 3fr)",
            cell: (at) => <Shown text={names.get(rows[at] ?? 0) ?? "…"} />,
          },
          ...(groups
            ? [
                {
                  key: "label",
                  title: by,
                  width: "minmax(9rem, 2fr)",
                  cell: (at: number) => <Shown text={groups.values[groups.codes[rows[at] ?? 0] ?? -1] ?? "(without)"} />,
                },
              ]
            : []),
          {
            key: "obstacle",
            title: "First obstacle",
            width: "minmax(11rem, 3fr)",
            cell: (at) => (
              <>
                <Swatch mark={markOf(cells[rows[at] ?? 0] ?? NOT_EVALUATED)} /> <Shown text={said(rows[at] ?? 0)} />
              </>
            ),
          },
        ]}
      />
    </>
  );
}

/** The value of the cells of a selection; absent for all. */
function cellOf(answer: Why, selected: string): number | undefined {
  if (selected === FIT) return FITS;
  const index = answer.funnel.findIndex(({ predicate }) => predicate === selected);
  return index < 0 ? undefined : index;
}

function obstacleOf(answer: Why, cell: number | undefined): string {
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
      <summary>
        Nodes by <code>{by}</code>
      </summary>
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
          <li key={cell}>
            <Swatch mark={markOf(cell)} /> <Shown text={answer.funnel[cell]?.predicate ?? ""} /> {count(nodes)}
          </li>
        ),
      )}
    </ul>
  );
}
