// Negotiations with external parties: who attends, and which pods wait for whom. Start at Negotiations.

import { usePolled } from "../../api/hooks";
import type { Negotiation, NegotiationSeat, Negotiations as Answer } from "../../api/types";
import type { Route } from "../../app/router";
import { count, counted, duration } from "../../ui/format";
import { Link, Shown } from "../../ui/shown";
import { Document } from "../../ui/status";
import { Table } from "../../ui/table";
import { podHref } from "../pending/groups";

export function Negotiations(_: { route: Route }) {
  const overview = usePolled<Answer>("v1/negotiations");
  return (
    <>
      <h1>Negotiations</h1>
      <Document polled={overview} noun="the negotiations">
        {(value) => (value.parties.length === 0 ? <p>The policy has no external parties.</p> : <All overview={value} />)}
      </Document>
    </>
  );
}

function All({ overview }: { overview: Answer }) {
  const { usage } = overview;
  return (
    <>
      <p class="muted">
        {counted(usage["negotiations"] ?? 0, "negotiation")} under way, {counted(usage["held"] ?? 0, "pod")} held for,{" "}
        {counted(usage["deallocations"] ?? 0, "deallocation")}, {counted(usage["calls"] ?? 0, "call")} open.
      </p>
      <h2>Parties</h2>
      <Table
        caption="Parties of the policy"
        rows={overview.parties}
        rowKey={(party) => party.party}
        columns={[
          { title: "Party", isHead: true, cell: (party) => <Shown text={party.party} /> },
          {
            title: "State",
            cell: (party) => {
              if (party.quarantined) return <span class="badge alarming">silent; asked again in {duration(party.restsMs ?? 0)}</span>;
              return party.attends ? <span class="badge good">attends</span> : <span class="badge alarming">does not attend</span>;
            },
          },
        ]}
      />
      <h2>Under way</h2>
      <Table
        caption="Negotiations, the oldest first"
        empty="None."
        rows={overview.negotiations}
        rowKey={(negotiation) => negotiation.number}
        columns={[
          { title: "Pod", isHead: true, cell: (negotiation) => <Pod negotiation={negotiation} /> },
          { title: "Phase", cell: (negotiation) => negotiation.phase },
          { title: "Round", isNumber: true, cell: (negotiation) => count(negotiation.round) },
          { title: "Nodes suitable", isNumber: true, cell: ({ suitable, candidates }) => `${count(suitable)} of ${count(candidates)}` },
          { title: "Parties", cell: (negotiation) => negotiation.parties.map((seat) => <Seat key={seat.party} seat={seat} />) },
          { title: "Waits for claim", cell: ({ waitsFor }) => (waitsFor ? <code><Shown text={waitsFor} /></code> : "") },
          { title: "Ends in", isNumber: true, cell: ({ endsMs }) => duration(endsMs) },
        ]}
      />
    </>
  );
}

function Pod({ negotiation }: { negotiation: Negotiation }) {
  return <Link to={podHref(negotiation.pod)} text={negotiation.pod} />;
}

function Seat({ seat }: { seat: NegotiationSeat }) {
  const words = [
    seat.unsuitable > 0 && `refuses ${counted(seat.unsuitable, "node")}`,
    seat.unheard > 0 && `not heard about ${counted(seat.unheard, "node")}`,
    seat.silentMs !== undefined && `silent for ${duration(seat.silentMs)}`,
    seat.allocated === true && "has allocated",
    seat.allocated === false && "is to allocate",
  ].filter((word) => typeof word === "string");
  return <div><Shown text={seat.party} />: {words.join(", ") || "suits"}</div>;
}
