// Facts behind the rejections, by the interface through which predicates read them. Start at EvidenceList.

import type { Evidence } from "../../api/why";
import { count, counted } from "../../ui/format";
import { Shown } from "../../ui/shown";
import { Table } from "../../ui/table";
import { number } from "./amount";
import { taint, topology } from "./details";

export function EvidenceList({ evidence }: { evidence: Evidence[] }) {
  if (evidence.length === 0) return <p class="muted">Nothing is known beyond the reasons of the predicates.</p>;
  return (
    <>
      {evidence.map((of) => (
        <section key={of.interface} class="evidence">
          <h3>
            {of.interface}{" "}
            <span class="muted">read by <Shown text={of.predicates.join(", ")} /></span>
          </h3>
          <Explained evidence={of} />
          {tables(of)}
          {of.omitted > 0 && <p class="muted">{count(of.omitted)} more entries are left out.</p>}
        </section>
      ))}
    </>
  );
}

function Explained({ evidence }: { evidence: Evidence }) {
  const { rejected, explained } = evidence;
  if (explained === undefined || explained === null) return null;
  if (explained === rejected) return <p class="muted">This keeps the pod off {counted(rejected, "node")}.</p>;
  return (
    <p class="muted">
      This keeps the pod off {count(explained)} of the {counted(rejected, "node")} that these predicates reject; something else keeps it off the
      others, such as arguments of a predicate.
    </p>
  );
}

function tables(of: Evidence) {
  return (
    <>
      {of.resources.length > 0 && (
        <Table
          caption="Resources"
          rows={of.resources}
          columns={[
            { title: "Resource", isHead: true, cell: (row) => <Shown text={row.resource} /> },
            { title: "Requested", isNumber: true, cell: (row) => number(row.resource, row.requested) },
            {
              title: "Most free on one node",
              cell: (row) => <Shown text={`${number(row.resource, row.largestFree)} on ${row.largestFreeNode}`} />,
            },
            {
              title: "Free where nothing else is in the way",
              isNumber: true,
              cell: (row) => (row.nearestFree ? number(row.resource, row.nearestFree) : "–"),
            },
            { title: "Nodes with enough", isNumber: true, cell: (row) => count(row.nodesEnough) },
            { title: "Nodes that are too small", isNumber: true, cell: (row) => count(row.nodesTooSmall) },
          ]}
        />
      )}
      {of.taints.length > 0 && (
        <Table
          caption="Taints that nothing tolerates"
          rows={of.taints}
          columns={[
            { title: "Taint that nothing tolerates", isHead: true, cell: (row) => <Shown text={taint(row)} /> },
            { title: "Nodes", isNumber: true, cell: (row) => count(row.nodes) },
          ]}
        />
      )}
      {of.expressions.length > 0 && (
        <Table
          caption="Expressions about nodes"
          rows={of.expressions}
          columns={[
            { title: "Expression", isHead: true, cell: (row) => <Shown text={row.expression} /> },
            { title: "Field", cell: (row) => <Shown text={row.field} /> },
            { title: "Nodes that match", isNumber: true, cell: (row) => count(row.nodes) },
          ]}
        />
      )}
      {of.topologies.length > 0 && <ul>{of.topologies.map((row) => <li key={row.field}><Shown text={topology(row)} /></li>)}</ul>}
      {of.facts.length > 0 && (
        <Table
          caption="Facts"
          rows={of.facts}
          columns={[
            { title: "Fact", isHead: true, cell: (row) => <Shown text={row.name} /> },
            { title: "Value", cell: (row) => <Shown text={row.value} /> },
            { title: "Nodes on which it is an obstacle", isNumber: true, cell: (row) => (row.nodes == null ? "–" : count(row.nodes)) },
          ]}
        />
      )}
    </>
  );
}
