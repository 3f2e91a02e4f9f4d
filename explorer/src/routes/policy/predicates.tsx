// The predicates and the scorers of a policy as tables, in the order in which they are called, with counts since each was loaded.
// Start at Predicates and Scorers.

import type { PolicyComponent, PolicyPredicate, PolicyScorer } from "../../api/types";
import { href } from "../../app/router";
import { count, duration, microseconds, percent } from "../../ui/format";
import { Link, Shown } from "../../ui/shown";
import { Table, type TableColumn } from "../../ui/table";

export function Predicates({ predicates }: { predicates: PolicyPredicate[] }) {
  const name = (predicate: PolicyPredicate) => <Link to={href(["pending"], { predicate: predicate.name })} text={predicate.name} title="Pending pods that it is the first to reject somewhere" />;
  const reused = ({ verdicts: { kept, patched, evaluated } }: PolicyPredicate) => percent(kept + patched, kept + patched + evaluated);
  return (
    <>
      <Table
        caption="Predicates in policy order"
        rows={predicates}
        rowKey={(predicate) => predicate.name}
        columns={[{ title: "Predicate", isHead: true, cell: name }, ...calls, { title: "Reused", isNumber: true, cell: reused }, ...rest]}
      />
      <p class="muted">
        Reused: verdicts that were kept or patched instead of evaluated. Counts begin when a predicate is loaded with its arguments and limits.
      </p>
      <Notes of={predicates} />
    </>
  );
}

export function Scorers({ scorers }: { scorers: PolicyScorer[] }) {
  return (
    <>
      <Table
        caption="Scorers in policy order"
        rows={scorers}
        rowKey={(scorer) => scorer.name}
        empty="None: no question has scores."
        columns={[
          { title: "Scorer", isHead: true, cell: ({ name }) => <Shown text={name} /> },
          { title: "Weight", isNumber: true, cell: ({ weight }) => count(weight) },
          ...calls,
          ...rest,
        ]}
      />
      <Notes of={scorers} />
    </>
  );
}

const calls: TableColumn<PolicyComponent>[] = [
  { title: "State", cell: (component) => <State component={component} /> },
  { title: "Calls", isNumber: true, cell: ({ calls }) => count(calls) },
  { title: "Nodes a call", isNumber: true, cell: ({ calls, rows }) => (calls > 0 ? count(Math.round(rows / calls)) : "–") },
  { title: "p50", isNumber: true, cell: ({ latency }) => (latency ? microseconds(latency.p50Us) : "–") },
  { title: "p99", isNumber: true, cell: ({ latency }) => (latency ? microseconds(latency.p99Us) : "–") },
];

const rest: TableColumn<PolicyComponent>[] = [
  { title: "Faults", cell: ({ faults }) => <Shown text={faultText(faults)} /> },
  { title: "On a fault", cell: ({ onError }) => onError },
  { title: "Digest", cell: ({ digest }) => <code title={digest}>{digest.replace("sha256:", "").slice(0, 12)}</code> },
];

function State({ component }: { component: PolicyComponent & { mode?: string } }) {
  if (component.breaker.state === "open") return <span class="badge alarming">quarantine</span>;
  if (component.mode === "Shadow") return <span class="badge">shadow</span>;
  return <span class="muted">called{component.instance === "Reuse" ? ", instance reused" : ""}</span>;
}

function faultText(faults: Record<string, number>): string {
  const some = Object.entries(faults).filter(([, times]) => times > 0);
  return some.length > 0 ? some.map(([kind, times]) => `${kind} ${count(times)}`).join(", ") : "none";
}

function Notes({ of }: { of: (PolicyComponent & Partial<PolicyPredicate>)[] }) {
  return (
    <>
      {of.flatMap((component) =>
        notes(component).map((note) => (
          <p key={component.name + note} class="trouble">
            <strong><Shown text={component.name} /></strong>{" "}
            <Shown text={note} />
          </p>
        )),
      )}
    </>
  );
}

/** What is to be known of a component beyond its row: quarantine, pods set aside, facts that it reads in vain, log lines that are lost. */
function notes({ breaker, unnamedReads = [], log }: PolicyComponent & Partial<PolicyPredicate>): string[] {
  const found: string[] = [];
  if (breaker.state === "open") {
    found.push(`is in quarantine since ${breaker.since ?? "?"}: ${breaker.lastFault ?? ""}; it is tried again in ${duration(breaker.retryInMs ?? 0)}.`);
  }
  for (const aside of breaker.setAside) {
    found.push(`is not called about pods like ${aside.pod}: ${aside.lastFault}, ${count(aside.faults)} in a row; again in ${duration(aside.retryInMs)}.`);
  }
  for (const read of unnamedReads) found.push(`has read ${read.name}, which ${read.field} does not name: it reads as absent.`);
  if (log && log.dropped > 0) found.push(`has written too many log lines: ${count(log.dropped)} are lost.`);
  return found;
}
