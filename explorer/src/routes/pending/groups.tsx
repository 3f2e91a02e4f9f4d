// Groups of pending pods as rows: what they have in common, how many they are, and where a row leads. Start at groupCells and groupHref.

import type { PendingGroup } from "../../api/types";
import { href } from "../../app/router";
import { CauseBadge } from "../../ui/causes";
import { count } from "../../ui/format";
import type { GridColumn } from "../../ui/grid";
import { Link, Shown } from "../../ui/shown";
import { Ago } from "../../ui/time";

/** By what pods are grouped, with the words of the choice. */
export const BY: [string, string][] = [
  ["answer", "answer"],
  ["cause", "cause"],
  ["predicate", "predicate"],
  ["namespace", "namespace"],
  ["owner", "owner"],
];

const KEY_TITLES: Record<string, string> = { cause: "Cause", predicate: "Predicate", namespace: "Namespace", owner: "Owner" };

/** The columns of groups; `isShort` leaves out what the overview has no room for. */
export function groupCells(groups: PendingGroup[], by: string, isShort = false): GridColumn[] {
  const of = (row: number) => groups[row] as PendingGroup;
  const columns: (GridColumn | false)[] = [
    { key: "count", title: "Pods", rem: 4.5, isNumber: true, cell: (row) => count(of(row).count) },
    by !== "answer" && by !== "cause" && {
      key: "key",
      title: KEY_TITLES[by] ?? "Key",
      rem: 9, grow: 1.2,
      cell: (row) => (of(row).key ? <Shown text={of(row).key} /> : <span class="muted">none</span>),
    },
    { key: "cause", title: "Cause", rem: 9.5, cell: (row) => causeCell(of(row)) },
    { key: "headline", title: "Answer", rem: isShort ? 9 : 15, grow: 4, cell: (row) => <Shown text={of(row).headline} /> },
    !isShort && { key: "pods", title: "First pods", rem: 10, grow: 2, cell: (row) => <FirstPods group={of(row)} /> },
    !isShort && by !== "owner" && {
      key: "owner",
      title: "Owner",
      rem: 11, grow: 1,
      cell: (row) => (of(row).owner ? <Shown text={of(row).owner ?? ""} /> : <span class="muted">{of(row).count > 1 ? "several or none" : "none"}</span>),
    },
    { key: "oldest", title: "Oldest", rem: 5, isNumber: true, cell: (row) => <Ago time={of(row).oldest} /> },
    !isShort && { key: "since", title: "Since", rem: 5, isNumber: true, cell: (row) => <Ago time={of(row).since} /> },
  ];
  return columns.filter((column) => column !== false);
}

function causeCell(group: PendingGroup) {
  return group.cause ? <CauseBadge name={group.cause} headline={group.headline} /> : <span class="muted">several</span>;
}

function FirstPods({ group }: { group: PendingGroup }) {
  const more = group.count - group.pods.length;
  return (
    <>
      {group.pods.map((pod, at) => (
        <span key={pod}>
          {at > 0 && ", "}
          <Link to={podHref(pod)} text={pod} tabIndex={-1} />
        </span>
      ))}
      {more > 0 && ` and ${count(more)} more`}
    </>
  );
}

/** A pod that is named `NAMESPACE/NAME`, as questions name it. */
export function podNamed(pod: string): { name: { namespace: string; name: string } } {
  const slash = Math.max(0, pod.indexOf("/"));
  return { name: { namespace: pod.slice(0, slash), name: pod.slice(slash).replace(/^\//, "") } };
}

/** The page of a pod that is named `NAMESPACE/NAME`. */
export function podHref(pod: string): string {
  const { namespace, name } = podNamed(pod).name;
  return href(["pods", namespace, name]);
}

/**
 * Where a group leads: pods with one answer to the first of them, since all have the same page; others to the list of the group.
 * The pods of an owner begin with its name.
 */
export function groupHref(group: PendingGroup | undefined, by: string): string {
  const parameter = { cause: "cause", predicate: "predicate", namespace: "ns" }[by];
  if (group && parameter) return href(["pending"], { [parameter]: group.key });
  const [, namespace = "", name = ""] = by === "owner" ? (group?.key.split("/") ?? []) : [];
  if (name) return href(["pending"], { ns: namespace, q: `${namespace}/${name}` });
  return group?.pods[0] ? podHref(group.pods[0]) : href(["pending"]);
}
