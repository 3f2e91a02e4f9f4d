// The list of pending pods: groups that have something in common, and the pods themselves, by filters that the address holds.
//
// Start at Pending.

import { useEffect, useRef } from "preact/hooks";
import { withQuery } from "../../api/client";
import { session, SLOW_MS, usePolled } from "../../api/hooks";
import type { About, Pending as PendingAnswer, PendingPod } from "../../api/types";
import { announce } from "../../app/live";
import { href, setParameters, type Route } from "../../app/router";
import { useShortcut } from "../../app/shortcuts";
import { CAUSES, CauseBadge } from "../../ui/causes";
import { CopyMenu, fileItem, type CopyItem } from "../../ui/copy_menu";
import { Choice, TextField } from "../../ui/fields";
import { count, counted } from "../../ui/format";
import { Grid, type GridColumn } from "../../ui/grid";
import { quoted } from "../../ui/quoted";
import { Link, Shown } from "../../ui/shown";
import { Document } from "../../ui/status";
import { Ago } from "../../ui/time";
import { allPods, podsAsCsv, type Filter } from "./download";
import { BY, groupCells, groupHref, podHref } from "./groups";
import { useAboutList } from "./list_facts";

/** Pods of a page. */
const PAGE = 100;

export function Pending({ route }: { route: Route }) {
  const parameter = (name: string) => route.parameters.get(name) ?? "";
  const filter: Filter = { namespace: parameter("ns"), cause: parameter("cause"), predicate: parameter("predicate"), q: parameter("q") };
  const by = parameter("by") || "answer";
  const path = withQuery("v1/pending", { ...filter, by, limit: PAGE, after: parameter("after") });
  const pending = usePolled<PendingAnswer>(path);
  const about = useAboutList(pending);
  return (
    <>
      <div class="title-row">
        <h1>Pending pods</h1>
        <CopyMenu items={copyItems(filter)} />
      </div>
      <Filters route={route} by={by} />
      <Document polled={pending} noun="the list of pending pods">
        {(value) => <List pending={value} by={by} route={route} about={about} />}
      </Document>
    </>
  );
}

function Filters({ route, by }: { route: Route; by: string }) {
  const about = usePolled<About>("version", SLOW_MS);
  const first = useRef<HTMLInputElement>(null);
  useShortcut("/", "to the filter", () => first.current?.focus());
  const parameter = (name: string) => route.parameters.get(name) ?? "";
  const set = (name: string) => (value: string) => setParameters(route, { [name]: value, after: undefined }, { replace: true });
  const isFiltered = ["ns", "cause", "predicate", "q"].some((name) => parameter(name) !== "");
  const causes: [string, string][] = [["", "any"], ...CAUSES.map((cause): [string, string] => [cause.name, cause.name])];
  return (
    <div class="form" role="search" aria-label="Filter">
      <TextField label="Name contains" value={parameter("q")} onChange={set("q")} placeholder="namespace/name" inputRef={first} />
      <TextField label="Namespace" value={parameter("ns")} onChange={set("ns")} />
      <Choice label="Cause" value={parameter("cause")} options={causes} onChange={set("cause")} />
      <TextField
        label="Rejected first by"
        value={parameter("predicate")}
        onChange={set("predicate")}
        placeholder="predicate"
        suggestions={about.value?.policy.predicates ?? []}
      />
      <Choice label="Group by" value={by} options={BY} onChange={(value) => set("by")(value === "answer" ? "" : value)} />
      {isFiltered && <a href={href(["pending"], { by: parameter("by") })}>Clear the filter</a>}
    </div>
  );
}

function List({ pending, by, route, about }: { pending: PendingAnswer; by: string; route: Route; about: string }) {
  const summary = `${count(pending.matching)} of ${counted(pending.total, "pending pod")} selected`;
  useEffect(() => announce(summary), [summary]);
  const after = route.parameters.get("after");
  return (
    <>
      <p>{summary}. <span class="muted">{about}</span></p>
      {pending.matching > 0 && (
        <>
          <h2>{pending.unlistedGroups > 0 ? `The ${pending.groups.length} largest groups of ${count(pending.groups.length + pending.unlistedGroups)}` : counted(pending.groups.length, "group")}</h2>
          {by === "predicate" && <p class="muted">A pod is in the group of each predicate that is the first to reject some node.</p>}
          <Grid
            label={`Groups by ${by}`}
            rowCount={pending.groups.length}
            columns={groupCells(pending.groups, by)}
            rowHref={(row) => groupHref(pending.groups[row], by)}
          />
          <h2>{after ? "Pods, further on" : "Pods"}</h2>
          <Grid
            label="Pods"
            rowCount={pending.pods.length}
            columns={podCells(pending.pods)}
            rowHref={(row) => podHref(nameOf(pending.pods[row]))}
          />
          <p class="chips">
            {after && <a href={href(["pending"], { ...Object.fromEntries(route.parameters), after: undefined })}>First page</a>}
            {pending.next && (
              <a href={href(["pending"], { ...Object.fromEntries(route.parameters), after: pending.next })}>Next {PAGE} pods</a>
            )}
          </p>
        </>
      )}
      {pending.matching === 0 && <p>{pending.total === 0 ? "No pod is pending." : "No pending pod has all of this."}</p>}
    </>
  );
}

function nameOf(pod: PendingPod | undefined): string {
  return pod ? `${pod.namespace}/${pod.name}` : "/";
}

function podCells(pods: PendingPod[]): GridColumn[] {
  const of = (row: number) => pods[row] as PendingPod;
  return [
    {
      key: "name",
      title: "Pod",
      rem: 12, grow: 2,
      cell: (row) => <Link to={podHref(nameOf(of(row)))} text={nameOf(of(row))} tabIndex={-1} />,
    },
    { key: "cause", title: "Cause", rem: 10, cell: (row) => <CauseBadge name={of(row).cause} headline={of(row).headline} /> },
    { key: "headline", title: "Answer", rem: 15, grow: 4, cell: (row) => <Shown text={of(row).headline} /> },
    {
      key: "fits",
      title: "Nodes fit",
      rem: 7,
      isNumber: true,
      cell: (row) => (of(row).nodes === undefined ? <span class="muted">not evaluated</span> : `${count(of(row).feasibleCount ?? 0)} of ${count(of(row).nodes ?? 0)}`),
    },
    { key: "priority", title: "Priority", rem: 6.5, isNumber: true, cell: (row) => count(of(row).priority) },
    { key: "created", title: "Age", rem: 5, isNumber: true, cell: (row) => <Ago time={of(row).created} /> },
    { key: "since", title: "Since", rem: 5, isNumber: true, cell: (row) => <Ago time={of(row).since} /> },
  ];
}

function copyItems(filter: Filter): CopyItem[] {
  const pods = () => allPods(session.client, filter);
  return [
    { label: "Link", text: () => location.href },
    { label: "Command", text: () => `nodesift top pending${filter.namespace ? ` -n ${quoted(filter.namespace)}` : ""}` },
    fileItem("CSV file", "pending-pods.csv", async () => podsAsCsv(await pods())),
    fileItem("JSON file", "pending-pods.json", async () => `${JSON.stringify(await pods(), null, 2)}\n`),
  ];
}
