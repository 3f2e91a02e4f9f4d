// One node: what it offers, who takes how much of it, the pods on it, its devices and its last changes; with `?pod=`, whether that pod fits.
//
// Start at Node.

import { SLOW_MS, usePolled } from "../../api/hooks";
import type { Amounts, DevicePool, NodeDetail, NodeEvent, NodeObject, NodeState, PodOnNode } from "../../api/types";
import { href, type Route } from "../../app/router";
import { CopyMenu } from "../../ui/copy_menu";
import { amount, count, counted } from "../../ui/format";
import { quoted } from "../../ui/quoted";
import { Link, Shown, visible } from "../../ui/shown";
import { Document } from "../../ui/status";
import { Facts, Table } from "../../ui/table";
import { Moment } from "../../ui/time";
import { option } from "../pod/texts";
import { Fit } from "./fit";
import { PendingPods } from "./pending_pods";
import { Taints } from "./taints";

/** How often the node is asked for, in milliseconds: its document has all pods on it. */
const NODE_MS = 5_000;

export function Node({ route }: { route: Route }) {
  const name = route.names["name"] ?? "";
  const pod = route.parameters.get("pod") ?? "";
  const path = `v1/nodes/${encodeURIComponent(name)}`;
  const state = usePolled<NodeState>(path, NODE_MS);
  const object = usePolled<NodeObject>(`${path}/object`, SLOW_MS);
  return (
    <>
      <div class="title-row">
        <h1>Node <Shown text={name} /></h1>
        <CopyMenu
          items={[
            { label: "Link", text: () => location.href },
            { label: "Name", text: () => visible(name) },
            ...(pod ? [{ label: "Command", text: () => ["nodesift", "why", ...option("--node", name), ...(pod.startsWith("-") ? ["--"] : []), pod].map(quoted).join(" ") }] : []),
            { label: "Object as JSON", text: () => JSON.stringify(object.value ?? null, null, 2) },
          ]}
        />
      </div>
      {pod && <Fit pod={pod} node={name} />}
      <Document polled={state} noun="the node">
        {(value) => {
          const node = value.nodes[0];
          return node ? <Detail route={route} state={value} node={node} object={object.value} /> : <p>The sidecar has sent no node.</p>;
        }}
      </Document>
    </>
  );
}

function Detail({ route, state, node, object }: { route: Route; state: NodeState; node: NodeDetail; object: NodeObject | undefined }) {
  const pods = [...node.ownPods, ...node.foreignPods];
  const taints = object?.spec?.taints ?? [];
  return (
    <>
      <Facts
        facts={[
          ["state", node.schedulable ? "schedulable" : <span class="badge alarming">cordoned</span>],
          ["taints", object ? <Taints taints={taints} /> : <span class="muted">asking</span>],
          ["pods", `${counted(node.ownPods.length, "own pod")}, ${counted(node.foreignPods.length, "pod")} of others`],
          ...(node.accountError ? ([["account", <Shown text={node.accountError} />]] as [string, preact.ComponentChildren][]) : []),
          ["of", `generation ${state.version.generation}, policy ${state.version.policyGeneration}`],
        ]}
      />
      <h2>Resources</h2>
      <Resources node={node} pods={pods} />
      <PendingPods route={route} node={node} />
      {node.sums && (
        <>
          <h2>Sums of the accounting component</h2>
          <Facts facts={Object.entries(node.sums).map(([name, value]) => [name, count(value)])} />
        </>
      )}
      <Devices node={node} wide={state.clusterDevices ?? []} />
      <Pods title="Own pods" text="of the schedulers of the policy" pods={node.ownPods} />
      <Pods title="Pods of others" text="of other schedulers, and static pods" pods={node.foreignPods} />
      <h2>Last changes</h2>
      <History events={state.history} />
      <h2>Labels</h2>
      <Facts isWide facts={Object.entries(node.labels).map(([key, value]) => [key, <Shown text={value} />])} />
    </>
  );
}

/** The first resources of a table, in this order; all others follow by name. */
const FIRST = ["cpu", "memory", "pods"];

function Resources({ node, pods }: { node: NodeDetail; pods: PodOnNode[] }) {
  const parts = [node.capacity ?? {}, node.allocatable, node.own, node.foreign, node.free];
  const known = new Set(parts.flatMap((part) => Object.keys(part)));
  const rest = [...known].filter((name) => !FIRST.includes(name)).sort();
  const names = [...FIRST.filter((name) => known.has(name)), ...rest];
  const assumed = sum(pods.filter((pod) => pod.assumed));
  const terminating = sum(pods.filter((pod) => pod.terminating));
  const column = (title: string, of: Amounts | null) => ({
    title,
    isNumber: true,
    cell: (name: string) => {
      if (of === null) return <span class="muted">–</span>;
      const value = of?.[name] ?? 0;
      return value < 0 ? <strong class="negative">{amount(name, value)}</strong> : amount(name, value);
    },
  });
  return (
    <>
      <Table
        caption="Resources of the node"
        rows={names}
        rowKey={(name) => name}
        columns={[
          { title: "Resource", isHead: true, cell: (name) => <Shown text={name} /> },
          column("Capacity", Object.keys(node.capacity ?? {}).length > 0 ? node.capacity : null),
          column("Allocatable", node.allocatable),
          column("Own", node.own),
          column("Of others", node.foreign),
          column("Assumed", assumed),
          column("Terminating", terminating),
          column("Free", node.free),
        ]}
      />
      <p class="muted">
        Free is allocatable less own and others. Assumed and terminating pods are among these: a core has reported the former, and no event
        has confirmed them; the latter still take their room.
      </p>
    </>
  );
}

function sum(pods: PodOnNode[]): Amounts {
  const sums: Amounts = { pods: pods.length };
  for (const pod of pods) for (const [name, value] of Object.entries(pod.usage)) sums[name] = (sums[name] ?? 0) + value;
  return sums;
}

function Pods({ title, text, pods }: { title: string; text: string; pods: PodOnNode[] }) {
  return (
    <>
      <h2>{title} <span class="muted">({count(pods.length)}, {text})</span></h2>
      <Table
        caption={title}
        rows={pods}
        rowKey={(pod) => pod.uid}
        columns={[
          { title: "Pod", isHead: true, cell: (pod) => <Shown text={`${pod.namespace}/${pod.name}`} /> },
          { title: "cpu", isNumber: true, cell: (pod) => amount("cpu", pod.usage["cpu"] ?? 0) },
          { title: "memory", isNumber: true, cell: (pod) => amount("memory", pod.usage["memory"] ?? 0) },
          { title: "Others", cell: (pod) => <Shown text={others(pod.usage)} /> },
          { title: "Priority", isNumber: true, cell: (pod) => count(pod.priority) },
          { title: "State", cell: (pod) => <PodState pod={pod} /> },
        ]}
      />
    </>
  );
}

function others(usage: Amounts): string {
  const rest = Object.entries(usage).filter(([name]) => name !== "cpu" && name !== "memory");
  return rest.map(([name, value]) => `${name} ${amount(name, value)}`).join(", ");
}

function PodState({ pod }: { pod: PodOnNode }) {
  const words = [
    pod.assumed && "assumed",
    pod.terminating && "terminating",
    pod.ownership === "static" && "static",
    pod.accountError && `account: ${pod.accountError}`,
  ].filter((word) => typeof word === "string");
  if (words.length === 0) return <span class="muted">bound</span>;
  return (
    <>
      {words.map((word) => <span key={word} class="badge"><Shown text={word} /></span>)}
    </>
  );
}

function Devices({ node, wide }: { node: NodeDetail; wide: DevicePool[] }) {
  const pools = [...(node.devices ?? []), ...wide];
  if (node.devicesError) {
    return (
      <>
        <h2>Devices</h2>
        <p class="trouble"><Shown text={node.devicesError} /></p>
      </>
    );
  }
  if (pools.length === 0) return null;
  return (
    <>
      <h2>Devices</h2>
      <Table
        caption="Pools of devices"
        rows={pools}
        rowKey={(pool) => `${pool.driver} ${pool.pool}`}
        columns={[
          { title: "Pool", isHead: true, cell: (pool) => <Shown text={`${pool.driver} / ${pool.pool}`} /> },
          { title: "State", cell: (pool) => <span class={pool.state === "Ok" ? "badge" : "badge alarming"}>{pool.state}</span> },
          { title: "Devices", isNumber: true, cell: (pool) => count(pool.devices) },
          { title: "Allocated", isNumber: true, cell: (pool) => count(pool.allocated) },
          { title: "In flight", isNumber: true, cell: (pool) => count(pool.inFlight) },
          { title: "Free", isNumber: true, cell: (pool) => count(pool.free) },
        ]}
      />
    </>
  );
}

function History({ events }: { events: NodeEvent[] }) {
  return (
    <Table
      caption="Last changes of allocations on the node"
      empty="None since the sidecar knows the node."
      rows={[...events].reverse()}
      columns={[
        { title: "When", cell: (event) => <Moment time={event.at} /> },
        { title: "What", isHead: true, cell: (event) => event.type },
        { title: "Of", cell: (event) => <EventSubject event={event} /> },
        { title: "Free before → after", cell: (event) => changes(event) },
        { title: "Generation", isNumber: true, cell: (event) => event.generation },
      ]}
    />
  );
}

function EventSubject({ event }: { event: NodeEvent }) {
  if (event.watermark) {
    const { sum, of, above, below } = event.watermark;
    return <Shown text={`${sum} of ${of}: ${count(event.amount ?? 0)} of ${count(event.whole ?? 0)} (above ${above}, below ${below})`} />;
  }
  const pod = `${event.namespace ?? ""}/${event.name ?? ""}`;
  return (
    <>
      <Link to={href(["pods", event.namespace ?? "", event.name ?? ""])} text={pod} />
      {event.assumed && " assumed"}
      {event.terminating && " terminating"}
    </>
  );
}

function changes(event: NodeEvent): string {
  const after = event.freeAfter ?? {};
  return Object.entries(event.freeBefore ?? {})
    .map(([name, before]) => `${name} ${amount(name, before)} → ${amount(name, after[name] ?? 0)}`)
    .join(", ");
}
