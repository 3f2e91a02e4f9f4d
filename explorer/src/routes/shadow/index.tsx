// What shadow predicates and second policies would change, counted over the answers since they run. Start at Shadow.

import { SLOW_MS, usePolled } from "../../api/hooks";
import type { BestNodes, ComparedPolicy, Difference, DifferenceChange, Extent, Shadows } from "../../api/types";
import type { Route } from "../../app/router";
import { count, counted } from "../../ui/format";
import { Link, Shown } from "../../ui/shown";
import { Document } from "../../ui/status";
import { Facts, Table } from "../../ui/table";
import { Moment } from "../../ui/time";
import { podHref } from "../pending/groups";

export function Shadow(_: { route: Route }) {
  const shadows = usePolled<Shadows>("v1/policy/shadow", SLOW_MS);
  return (
    <>
      <h1>Shadows</h1>
      <Document polled={shadows} noun="the shadows">{(value) => <All shadows={value} />}</Document>
    </>
  );
}

function All({ shadows }: { shadows: Shadows }) {
  if (shadows.shadows.length === 0) {
    return <p>Nothing is compared: no predicate of the policy has <code>mode: Shadow</code>, and no second policy was given.</p>;
  }
  return (
    <>
      <p class="muted">
        Compared with policy {shadows.policyGeneration ?? "?"}
        {shadows.since && (
          <>
            {" "}
            since <Moment time={shadows.since} />
          </>
        )}
        {shadows.dropped > 0 && `; ${counted(shadows.dropped, "answer")} not compared, because too many waited`}.
      </p>
      {shadows.shadows.map((shadow) => <One key={shadow.source} shadow={shadow} />)}
    </>
  );
}

function One({ shadow }: { shadow: ComparedPolicy }) {
  return (
    <section>
      <h2><Shown text={shadow.source} /></h2>
      <p><Shown text={shadow.verdict} /></p>
      <Facts
        facts={[
          ["compared", counted(shadow.pods, "pod")],
          ["another verdict", counted(shadow.differing, "pod")],
          ["would fit nowhere", counted(shadow.rejectedEverywhere, "pod")],
          ["would fit at last", counted(shadow.newlyPlaceable, "pod")],
          ["lose some nodes", counted(shadow.losing, "pod")],
          ["gain some nodes", counted(shadow.gaining, "pod")],
          ["other best nodes", `${counted(shadow.scores.bestChanged, "pod")} of ${count(shadow.scores.pods)} that are scored`],
          ["faults", `${count(shadow.faults)}; ${counted(shadow.failed, "answer")} not comparable`],
        ]}
      />
      <h3>By predicate</h3>
      <Table
        caption="Changes by predicate"
        empty="No predicate changes a verdict."
        rows={shadow.predicates}
        rowKey={(row) => row.predicate}
        columns={[
          { title: "Predicate", isHead: true, cell: (row) => <Shown text={row.predicate} /> },
          { title: "Would reject", isNumber: true, cell: (row) => extent(row.wouldReject) },
          { title: "Would allow", isNumber: true, cell: (row) => extent(row.wouldAllow) },
        ]}
      />
      <h3>Last differences</h3>
      <Table
        caption="Last differences"
        empty="None."
        rows={shadow.differences}
        columns={[
          { title: "When", cell: (difference) => <Moment time={difference.time} /> },
          { title: "Pod", isHead: true, cell: (difference) => <Link to={podHref(difference.pod)} text={difference.pod} /> },
          { title: "Nodes fit", isNumber: true, cell: (difference) => `${count(difference.before)} → ${count(difference.after)}` },
          { title: "What", cell: (difference) => <Changes difference={difference} /> },
        ]}
      />
    </section>
  );
}

function extent({ pods, nodes }: Extent): string {
  return pods === 0 ? "–" : `${counted(nodes, "node")} of ${counted(pods, "pod")}`;
}

function best({ count: nodes, nodes: names }: BestNodes): string {
  const more = nodes - names.length;
  return `${names.join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
}

function Changes({ difference }: { difference: Difference }) {
  const line = (word: string) => (change: DifferenceChange) => {
    const more = change.count - change.nodes.length;
    const nodes = `${change.nodes.join(", ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
    return (
      <div key={word + change.predicate + change.reasons}>
        {word} {count(change.count)} by <Shown text={`${change.predicate}: ${change.reasons}`} /> <span class="muted"><Shown text={nodes} /></span>
      </div>
    );
  };
  return (
    <>
      {difference.lost.map(line("loses"))}
      {difference.gained.map(line("gains"))}
      {difference.best && (
        <div>best <Shown text={best(difference.best.before)} /> → <Shown text={best(difference.best.after)} /></div>
      )}
      {difference.scoreError !== null && <div>no scores: <Shown text={difference.scoreError} /></div>}
      {difference.unlisted > 0 && <div class="muted">{count(difference.unlisted)} more</div>}
    </>
  );
}
