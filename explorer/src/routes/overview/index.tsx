// The overview: how many pods are pending and why, whether the sidecar is well, and which policy is active. Every number is a link.
//
// Start at Overview.

import { useMay, useNow, usePolled, type PolledView } from "../../api/hooks";
import type { Access, Pending, PendingGroup } from "../../api/types";
import { href } from "../../app/router";
import { Bars } from "../../ui/bars";
import { CAUSES, causeOf } from "../../ui/causes";
import { count } from "../../ui/format";
import { Grid } from "../../ui/grid";
import { Document } from "../../ui/status";
import { groupCells, groupHref } from "../pending/groups";
import { useAboutList } from "../pending/list_facts";
import { ActivePolicy } from "./active_policy";
import { Health } from "./health";
import { longestUnasked } from "./not_asked";

/** Groups that the overview shows; all are on the page of pending pods. */
const GROUPS = 10;

export function Overview() {
  const pending = usePolled<Pending>("v1/pending?limit=0");
  const access = usePolled<Access>("v1/access", 10_000);
  const mayOperate = useMay("operate");
  return (
    <>
      <h1>Overview</h1>
      <Health />
      {access.value?.pendingList === false ? (
        <p>
          This sidecar keeps no list of pending pods: it was started with <code>--no-pending-list</code>. A pod is still explained by its
          address, such as <code>#/pods/NAMESPACE/NAME</code>.
        </p>
      ) : <Document polled={pending} noun="the list of pending pods">{() => <Backlog polled={pending} />}</Document>}
      {mayOperate && <ActivePolicy />}
    </>
  );
}

/** A number of the overview, with the causes that it counts. */
const NUMBERS: { text: string; cause?: string }[] = [
  { text: "pending" },
  { text: "never fit", cause: "NeverFits" },
  { text: "have no room", cause: "NoRoom" },
  { text: "not asked about", cause: "NotAsked" },
];

function Backlog({ polled }: { polled: PolledView<Pending> }) {
  const about = useAboutList(polled);
  const now = useNow();
  const pending = polled.value;
  if (!pending) return null;
  const asks = pending.causes["NotAsked"] ?? 0;
  const isAsked = (pending.causes["Fits"] ?? 0) > 0;
  const unasked = longestUnasked(pending.groups, now);
  const known = new Set(CAUSES.map((cause) => cause.name));
  const names = [...CAUSES.map((cause) => cause.name), ...Object.keys(pending.causes).filter((name) => !known.has(name))];
  const causes = names.filter((name) => (pending.causes[name] ?? 0) > 0);
  return (
    <>
      <ul class="numbers" aria-label="Pending pods">
        {NUMBERS.map(({ text, cause }) => {
          const value = cause ? (pending.causes[cause] ?? 0) : pending.total;
          return (
            <li key={text} class={cause && value > 0 ? "alarming" : undefined}>
              <a href={href(["pending"], { cause })}><strong>{count(value)}</strong> {text}</a>
            </li>
          );
        })}
      </ul>
      <p class="muted">
        {about}
        {asks > 0 && !isAsked && ` Nodes fit some pods, and no core has asked this replica about them${unasked ? `, the longest for ${unasked} or more` : ""}: another replica may be asked.`}
      </p>
      {pending.total === 0 ? <p>No pod is pending.</p> : (
        <div class="columns">
          <section aria-labelledby="causes">
            <h2 id="causes">Causes</h2>
            <Bars
              label="Pending pods by cause"
              bars={causes.map((name) => ({
                key: name,
                label: name,
                value: pending.causes[name] ?? 0,
                href: href(["pending"], { cause: name }),
                note: name === "NotAsked" && unasked ? `nodes fit, and no core has asked, the longest for ${unasked} or more` : causeOf(name).text,
                class: causeOf(name).alarming ? "alarming" : undefined,
              }))}
            />
          </section>
          <Largest groups={pending.groups} all={pending.groups.length + pending.unlistedGroups} />
        </div>
      )}
    </>
  );
}

function Largest({ groups, all }: { groups: PendingGroup[]; all: number }) {
  const largest = groups.slice(0, GROUPS);
  return (
    <section aria-labelledby="groups">
      <h2 id="groups">Largest groups with one answer</h2>
      <Grid
        label="Largest groups of pending pods"
        rowCount={largest.length}
        columns={groupCells(largest, "answer", true)}
        rowHref={(row) => groupHref(largest[row], "answer")}
      />
      {all > largest.length && <p><a href={href(["pending"])}>All {count(all)} groups</a></p>}
    </section>
  );
}

