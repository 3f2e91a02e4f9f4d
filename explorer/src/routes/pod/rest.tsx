// The rest of an answer: faults, devices, parties, the account, and what is known of the pod's past. Parts that are empty are not there.
// Start at Faults, Rest and Past.

import { LIST_MS, usePolled } from "../../api/hooks";
import type { PodHistory, RequestedDevices, Why } from "../../api/why";
import { CauseBadge } from "../../ui/causes";
import { count, counted, duration } from "../../ui/format";
import { Shown } from "../../ui/shown";
import { Facts, Table } from "../../ui/table";
import { Ago, Moment } from "../../ui/time";
import { amount } from "./amount";
import { faultText } from "./texts";

export function Faults({ answer }: { answer: Why }) {
  if (answer.faults.length === 0) return null;
  return (
    <div class="trouble" role="group" aria-label="Faults">
      {answer.faults.map((fault) => (
        <p key={fault.predicate}>
          <strong>Fault: </strong>
          <Shown text={faultText(fault)} />
        </p>
      ))}
    </div>
  );
}

export function Rest({ answer }: { answer: Why }) {
  const { devices, parties, account, claimsToRelease } = answer;
  return (
    <>
      {devices.length > 0 && (
        <>
          <h2>Devices</h2>
          <Table
            caption="Devices for the pod's claims"
            rows={devices}
            rowKey={({ claim, request }) => `${claim} ${request}`}
            columns={[
              { title: "Claim and request", isHead: true, cell: (of) => <Shown text={`${of.claim} ${of.request}`.trim()} /> },
              { title: "State", cell: (of) => <Shown text={deviceText(of)} /> },
              { title: "Nodes", isNumber: true, cell: (of) => count(of.nodes) },
            ]}
          />
        </>
      )}
      {parties.length > 0 && (
        <>
          <h2>Parties</h2>
          <Table
            caption="What external parties say"
            rows={parties}
            rowKey={({ party, said }) => `${party} ${said}`}
            columns={[
              { title: "Party", isHead: true, cell: (of) => <Shown text={of.party} /> },
              { title: "Said", cell: (of) => <Shown text={of.said} /> },
              { title: "Nodes", isNumber: true, cell: (of) => count(of.nodes) },
              { title: "Why", cell: (of) => <Shown text={of.reason} /> },
              { title: "For", cell: (of) => (of.since ? <Ago time={of.since} /> : "–") },
            ]}
          />
        </>
      )}
      {account && (
        <>
          <h2>Account</h2>
          <Facts
            facts={[
              ["Needs free", <Shown text={amounts(account.requests)} />],
              ["Takes", <Shown text={amounts(account.usage)} />],
              ["Adds to sums", <Shown text={account.sums.map(({ name, amount }) => `${name} ${amount}`).join(", ") || "none"} />],
              ["Flags", <Shown text={account.flags.join(", ") || "none"} />],
              ...(account.error ? [["Not known", <Shown text={account.error} />] as [string, preact.JSX.Element]] : []),
            ]}
          />
        </>
      )}
      {claimsToRelease.length > 0 && (
        <p>The pod fits nothing while it holds claims; release <Shown text={claimsToRelease.join(", ")} />.</p>
      )}
    </>
  );
}

function deviceText(of: RequestedDevices): string {
  if (of.allocated) return "allocated";
  const wanted = of.wanted === "0" ? "all" : of.wanted;
  const held = of.holders.length > 0 ? `; held by ${of.holders.join(", ")}` : "";
  const tolerated = of.tolerated < of.matching ? `, ${of.tolerated} without a taint in the way` : "";
  return `wants ${wanted}: ${of.ofClass} of class ${of.deviceClass}, ${of.matching} selected${tolerated}, ${of.free} free${held}`;
}

function amounts(of: { name: string; amount: string }[]): string {
  return of.map(({ name, amount: number }) => amount(name, number)).join(", ") || "none";
}

/** The causes that the pod had, the newest first, and who asked about it. */
export function Past({ path }: { path: string | null }) {
  const history = usePolled<PodHistory>(path, LIST_MS).value;
  if (!history) return null;
  const causes = [...history.causes].reverse();
  const { asked } = history;
  return (
    <>
      <h2>Past causes</h2>
      <p>
        {asked ? (
          <>
            A core asked {duration(asked.secondsAgo * 1_000)} ago: <Shown text={asked.by} />, {counted(asked.count, "time")} so far; it was
            answered{" "}
            <strong><Shown text={asked.result} /></strong>
            .
          </>
        ) : (
          "No core that this sidecar knows of has asked about the pod."
        )}
      </p>
      <ol class="timeline">
        {causes.map(({ cause, since }, at) => (
          <li key={`${cause} ${since}`}>
            <CauseBadge name={cause} /> {at === 0 && history.pending ? "since " : "from "}
            <Moment time={since} />
          </li>
        ))}
      </ol>
    </>
  );
}
