// The table of nodes: free amounts by resource, taints, cordons; selected by conditions, sorted by a column, summed up by a label.
//
// It scrolls over 100,000 rows, of which only those that are seen are in the page. Start at Nodes.

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { session, useAsked } from "../../api/hooks";
import type { NodeColumns, NodeObject } from "../../api/types";
import { announce } from "../../app/live";
import { href, setParameters, type Route } from "../../app/router";
import { useShortcut } from "../../app/shortcuts";
import { Meter } from "../../ui/bars";
import { CopyMenu, fileItem } from "../../ui/copy_menu";
import { csv } from "../../ui/csv";
import { TextField } from "../../ui/fields";
import { count, counted, moment, share } from "../../ui/format";
import { Grid, type GridColumn, type Sort } from "../../ui/grid";
import { Link, Shown } from "../../ui/shown";
import { Trouble } from "../../ui/status";
import { GroupTable } from "./group_table";
import { groupRows, MOST_COLUMNS, type NodeTable } from "./table";
import { useTable } from "./use_table";
import { columnsOf, parseWhere } from "./where";

/** Resources that have a column where the address names none. */
const RESOURCES = ["cpu", "memory", "pods"];

export function Nodes({ route }: { route: Route }) {
  const where = route.parameters.get("where") ?? "";
  const by = route.parameters.get("by") ?? "";
  const { conditions, error: whereError } = parseWhere(where);
  const named = (route.parameters.get("resources") ?? "").split(/[\s,]+/).filter(Boolean);
  const asked = conditions.flatMap(({ field }) => (field.kind === "amount" ? [field.resource] : []));
  const resources = [...new Set([...(named.length > 0 ? named : RESOURCES), ...asked])];
  const columns = [
    ...new Set([
      "name",
      "unschedulable",
      "taints",
      ...resources.flatMap((resource) => [`free:${resource}`, `allocatable:${resource}`]),
      ...columnsOf(conditions),
      ...(by ? [`label:${by}`] : []),
    ]),
  ].slice(0, MOST_COLUMNS);
  const state = useTable(columns);
  const [sort, setSort] = useState<Sort>({ key: "name", isDescending: false });
  const table = state.value;
  const rows = useMemo(() => (table ? table.select(conditions, sortKey(table, sort.key), sort.isDescending) : []), [table, where, sort]);
  const groups = useMemo(
    () => (table && by ? groupRows(table, rows, by, resources.map((resource) => `free:${resource}`)) : undefined),
    [table, rows, by],
  );
  const summary = table ? `${count(rows.length)} of ${counted(table.size, "node")} selected` : "";
  useEffect(() => {
    if (summary) announce(summary);
  }, [summary]);
  return (
    <>
      <div class="title-row">
        <h1>Nodes</h1>
        {table && <CopyMenu items={copyItems(table, rows, resources)} />}
      </div>
      <Form route={route} error={whereError} />
      {state.error && <Trouble error={state.error} nextAt={state.nextAt} keptAt={table ? state.at : undefined} />}
      {!table && !state.error && (
        <p class="muted">
          Reading nodes{state.progress ? `: ${count(state.progress.rows)} of ${count(state.progress.all)}` : ""} …
        </p>
      )}
      {table && (
        <>
          <p>
            {summary}.{" "}
            <span class="muted">Generation {table.version.generation}, read at {moment(state.at ?? 0, Date.now())}.</span>{" "}
            <button type="button" onClick={state.refresh}>Read again</button>
          </p>
          {groups && <GroupTable route={route} label={by} groups={groups} resources={resources} />}
          {rows.length > 0 ? (
            <Grid
              label="Nodes"
              virtual
              rowCount={rows.length}
              columns={nodeCells(table, rows, resources)}
              rowHref={(row) => href(["nodes", table.name(rows[row] ?? 0)])}
              sort={sort}
              onSort={setSort}
            />
          ) : <p>{table.size === 0 ? "The sidecar knows no node." : "No node meets all of this."}</p>}
        </>
      )}
    </>
  );
}

function Form({ route, error }: { route: Route; error: string | undefined }) {
  const first = useRef<HTMLInputElement>(null);
  const known = useSuggestions();
  useShortcut("/", "to the filter", () => first.current?.focus());
  const value = (name: string) => route.parameters.get(name) ?? "";
  const set = (name: string) => (next: string) => setParameters(route, { [name]: next.trim() }, { replace: true });
  return (
    <div class="form" role="search" aria-label="Filter">
      <TextField
        label="Where"
        value={value("where")}
        onChange={set("where")}
        placeholder="cpu.free>8 taint=gpu name~ip-10"
        error={error}
        inputRef={first}
      />
      <TextField label="Group by label" value={value("by")} onChange={set("by")} suggestions={known.labels} />
      <TextField
        label="Resources"
        value={value("resources")}
        onChange={set("resources")}
        placeholder={RESOURCES.join(" ")}
        suggestions={known.resources}
      />
    </div>
  );
}

/** Keys of labels and names of resources of some nodes, as suggestions: all of them would take all objects. */
function useSuggestions(): { labels: string[]; resources: string[] } {
  const { answer } = useAsked("suggestions", async (signal) => {
    const { columns } = await session.client.read<NodeColumns>("v1/nodes?columns=name&rows=0-999", signal);
    const names = (columns["name"] ?? []) as string[];
    const some = [names[0], names[Math.floor(names.length / 2)], names[names.length - 1]].filter((name) => name !== undefined);
    return Promise.all(some.map((name) => session.client.read<NodeObject>(`v1/nodes/${encodeURIComponent(name)}/object`, signal)));
  });
  // Suggestions are a help in typing: without them the fields work all the same.
  const keys = (of: (node: NodeObject) => object | undefined) => [...new Set((answer ?? []).flatMap((node) => Object.keys(of(node) ?? {})))].sort();
  return { labels: keys((node) => node.metadata.labels), resources: keys((node) => node.status?.allocatable) };
}

/** What a column is sorted by; undefined for that of names. */
function sortKey(table: NodeTable, column: string): ((row: number) => number) | undefined {
  if (column === "name") return undefined;
  if (column === "taints") return (row) => table.taints(row).length;
  return (row) => table.amount(`free:${column}`, row);
}

function nodeCells(table: NodeTable, rows: number[], resources: string[]): GridColumn[] {
  const at = (row: number) => rows[row] ?? 0;
  return [
    {
      key: "name",
      title: "Node",
      rem: 14, grow: 2,
      isSortable: true,
      cell: (row) => <Link to={href(["nodes", table.name(at(row))])} text={table.name(at(row))} tabIndex={-1} />,
    },
    ...resources.map((resource) => ({
      key: resource,
      title: `${resource} free`,
      rem: 12.5, grow: 1,
      isSortable: true,
      sortsDown: true,
      cell: (row: number) => <Free table={table} row={at(row)} resource={resource} />,
    })),
    {
      key: "cordoned",
      title: "Cordoned",
      rem: 8.5,
      cell: (row) => (table.isCordoned(at(row)) ? <span class="badge alarming">cordoned</span> : ""),
    },
    {
      key: "taints",
      title: "Taints",
      rem: 12, grow: 2,
      isSortable: true,
      sortsDown: true,
      cell: (row) => <Taints text={table.taints(at(row))} />,
    },
  ];
}

function Free({ table, row, resource }: { table: NodeTable; row: number; resource: string }) {
  const free = table.amount(`free:${resource}`, row);
  const whole = table.amount(`allocatable:${resource}`, row);
  if (whole === 0 && free === 0) return <span class="muted">–</span>;
  return <Meter part={free} whole={whole} text={share(resource, free, whole)} />;
}

/** Taints of a row in its one line. All of them are on the page of the node: a cell of 10,000 would be what makes scrolling slow. */
const SHOWN_TAINTS = 3;

function Taints({ text }: { text: string }) {
  const taints = text.split(" ").filter(Boolean);
  const more = taints.length - SHOWN_TAINTS;
  return (
    <>
      <Shown text={taints.slice(0, SHOWN_TAINTS).join(" ")} />
      {more > 0 && ` and ${count(more)} more`}
    </>
  );
}

function copyItems(table: NodeTable, rows: number[], resources: string[]) {
  const titles = ["node", ...resources.flatMap((resource) => [`${resource} free`, `${resource} allocatable`]), "cordoned", "taints"];
  const record = (row: number) => [
    table.name(row),
    ...resources.flatMap((resource) => [table.amount(`free:${resource}`, row), table.amount(`allocatable:${resource}`, row)]),
    table.isCordoned(row) ? "yes" : "no",
    table.taints(row),
  ];
  return [
    { label: "Link", text: () => location.href },
    fileItem("CSV file", "nodes.csv", () => csv(titles, rows.map(record))),
    fileItem("JSON file", "nodes.json", () =>
      JSON.stringify(rows.map((row) => Object.fromEntries(record(row).map((value, at) => [titles[at] ?? "", value])))),
    ),
  ];
}
