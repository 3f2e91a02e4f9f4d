// The predicates of a policy as a table: in the order in which they are evaluated, with counts since each was loaded. Start at Predicates.

import type { PolicyPredicate } from "../../api/types";
import { href } from "../../app/router";
import { count, duration, microseconds, percent } from "../../ui/format";
import { Shown } from "../../ui/shown";
import { Table } from "../../ui/table";

export function Predicates({ predicates }: { predicates: PolicyPredicate[] }) {
  return (
    <>
      <Table
        caption="Predicates in policy order"
        rows={predicates}
        rowKey={(predicate) => predicate.name}
        columns={[
          { title: "Predicate", isHead: true, cell: (predicate) => <Name predicate={predicate} /> },
          { title: "State", cell: (predicate) => <State predicate={predicate} /> },
          { title: "Calls", isNumber: true, cell: ({ calls }) => count(calls) },
          { title: "Nodes a call", isNumber: true, cell: ({ calls, rows }) => (calls > 0 ? count(Math.round(rows / calls)) : "–") },
          { title: "p50", isNumber: true, cell: ({ latency }) => (latency ? microseconds(latency.p50Us) : "–") },
          { title: "p99", isNumber: true, cell: ({ latency }) => (latency ? microseconds(latency.p99Us) : "–") },
          { title: "Reused", isNumber: true, cell: reused },
          { title: "Faults", cell: ({ faults }) => <Shown text={faultText(faults)} /> },
          { title: "On a fault", cell: ({ onError }) => onError },
          { title: "Digest", cell: ({ digest }) => <code title={digest}>{digest.replace("sha256:", "").slice(0, 12)}</code> },
        ]}
      />
      <p class="muted">
        Reused: verdicts that were kept or patched instead of evaluated. Counts begin when a predicate is loaded with its arguments and limits.
      </p>
      {predicates.flatMap((predicate) => notes(predicate).map((note) => (
        <p key={predicate.name + note} class="trouble">
          <strong>
            <Shown text={predicate.name} />
          </strong>{" "}
          <Shown text={note} />
        </p>
      )))}
    </>
  );
}

function Name({ predicate }: { predicate: PolicyPredicate }) {
  return (
    <a href={href(["pending"], { predicate: predicate.name })} title="Pending pods that it is the first to reject somewhere">
      <Shown text={predicate.name} />
    </a>
  );
}

function State({ predicate }: { predicate: PolicyPredicate }) {
  if (predicate.breaker.state === "open") return <span class="badge alarming">quarantine</span>;
  if (predicate.mode === "Shadow") return <span class="badge">shadow</span>;
  return <span class="muted">called{predicate.instance === "Reuse" ? ", instance reused" : ""}</span>;
}

function reused({ verdicts }: PolicyPredicate): string {
  const { kept, patched, evaluated } = verdicts;
  return percent(kept + patched, kept + patched + evaluated);
}

function faultText(faults: Record<string, number>): string {
  const some = Object.entries(faults).filter(([, times]) => times > 0);
  return some.length > 0 ? some.map(([kind, times]) => `${kind} ${count(times)}`).join(", ") : "none";
}

/** What is to be known of a predicate beyond its row: quarantine, pods set aside, facts that it reads in vain, log lines that are lost. */
function notes({ breaker, unnamedReads, log }: PolicyPredicate): string[] {
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
