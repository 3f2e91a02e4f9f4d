// The selected nodes by the values of a label: how many, and how much of each resource is free. Start at GroupTable.

import { href, type Route } from "../../app/router";
import { amount, count } from "../../ui/format";
import { Link } from "../../ui/shown";
import { Table, type TableColumn } from "../../ui/table";
import type { NodeGroup } from "./table";

/** Groups that are shown: a label with a value per node makes as many as there are nodes. */
const MOST = 200;

export interface GroupTableProps { route: Route; label: string; groups: NodeGroup[]; resources: string[] }

export function GroupTable({ route, label, groups, resources }: GroupTableProps) {
  const columns: TableColumn<NodeGroup>[] = [
    { title: label, isHead: true, cell: (group) => <Value route={route} label={label} value={group.value} /> },
    { title: "Nodes", isNumber: true, cell: (group) => count(group.nodes) },
    { title: "Cordoned", isNumber: true, cell: (group) => count(group.cordoned) },
    ...resources.flatMap((resource) => [
      { title: `${resource} free`, isNumber: true, cell: (group: NodeGroup) => amount(resource, group.sums[`free:${resource}`] ?? 0) },
      { title: "most on one", isNumber: true, cell: (group: NodeGroup) => amount(resource, group.largest[`free:${resource}`] ?? 0) },
    ]),
  ];
  return (
    <>
      <Table
        caption={`Selected nodes by ${label}`}
        columns={columns}
        rows={groups.slice(0, MOST)}
        rowKey={(group) => group.value ?? "\u0000"}
      />
      {groups.length > MOST && <p class="muted">{count(groups.length - MOST)} smaller groups are not shown.</p>}
    </>
  );
}

/** A value that selects its nodes. The grammar of conditions has no spaces, and neither have values of labels. */
function Value({ route, label, value }: { route: Route; label: string; value: string | null }) {
  if (value === null) return <span class="muted">without the label</span>;
  const where = [...(route.parameters.get("where") ?? "").split(/\s+/).filter(Boolean), `label:${label}=${value}`];
  const parameters = { ...Object.fromEntries(route.parameters), where: [...new Set(where)].join(" ") };
  return <Link to={href(["nodes"], parameters)} text={value || "(empty)"} />;
}
