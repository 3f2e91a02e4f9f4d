// Clusters as `serve --cluster` reads them: a small one with a pod of most causes and with hostile names, one of a node with 10,000 taints,
// and large ones of plain nodes.
//
// Start at cluster().

/** Text that a browser must not run, reorder by, or hide. */
export const HOSTILE = '<img src=x onerror="document.title=1">\u202egnp.\u200b=1';

/** A name of 253 bytes, the longest that Kubernetes has. */
export const LONG_NAME = `${"long-".repeat(50)}end`;

/** Taints of one node, as no real one has: the page must stay quick. */
const TAINTS = 10_000;

const GI = 1024 ** 3;

function node(name, { zone = "a", cpu = "8", taints = [], labels = {}, unschedulable = false } = {}) {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, uid: `node-${name}`, labels: { "kubernetes.io/hostname": name.slice(0, 63), "topology.kubernetes.io/zone": zone, ...labels } },
    spec: { taints, unschedulable },
    status: { allocatable: { cpu, memory: String(32 * GI), pods: "110", "ephemeral-storage": String(100 * GI) } },
  };
}

function pod(name, spec = {}, { namespace = "shop", created = "2026-11-29T08:00:00Z", cpu = "1", ...metadata } = {}) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, uid: `pod-${namespace}-${name}`, creationTimestamp: created, ...metadata },
    spec: {
      schedulerName: "default-scheduler",
      containers: [{ name: "main", resources: { requests: { cpu, memory: "1Gi" } } }],
      ...spec,
    },
    status: { phase: spec.nodeName ? "Running" : "Pending" },
  };
}

const owner = (kind, name) => ({ ownerReferences: [{ apiVersion: "apps/v1", kind, name, uid: `owner-${name}`, controller: true }] });

/** The small cluster. */
export function cluster() {
  const nodes = Array.from({ length: 20 }, (_, at) =>
    node(`worker-${String(at).padStart(2, "0")}`, {
      zone: "abc"[at % 3],
      taints: at >= 16 ? [{ key: "gpu", value: "true", effect: "NoSchedule" }] : [],
      labels: at >= 16 ? { pool: "gpu" } : { pool: "general" },
      unschedulable: at === 15,
    }),
  );
  nodes.push(node(LONG_NAME, { labels: { note: "long" } }));
  nodes.push(node("hostile", { labels: { note: HOSTILE }, taints: [{ key: "dedicated", value: HOSTILE, effect: "NoSchedule" }] }));
  const bound = nodes.slice(0, 15).map((node, at) => pod(`busy-${at}`, { nodeName: node.metadata.name }, { cpu: "5", namespace: "load" }));
  bound.push(pod("other", { nodeName: "worker-00", schedulerName: "stock" }, { namespace: "load" }));
  bound.push(pod("ending", { nodeName: "worker-00" }, { namespace: "load", deletionTimestamp: "2026-11-30T08:00:00Z", finalizers: ["a/b"] }));
  const pending = [
    ...Array.from({ length: 12 }, (_, at) => pod(`web-${at}`, {}, { cpu: "12", ...owner("ReplicaSet", "web") })),
    ...Array.from({ length: 7 }, (_, at) => pod(`batch-${at}`, { nodeSelector: { pool: "none" } }, { namespace: "jobs", ...owner("Job", "batch") })),
    ...Array.from({ length: 5 }, (_, at) => pod(`tight-${at}`, { nodeSelector: { pool: "general" } }, { cpu: "7", namespace: "jobs" })),
    ...Array.from({ length: 3 }, (_, at) => pod(`small-${at}`, {}, { created: "2026-11-30T08:00:00Z" })),
    pod("gated", { schedulingGates: [{ name: "example.com/quota" }] }),
    pod("foreign", { schedulerName: "stock" }),
    pod("leaving", {}, { deletionTimestamp: "2026-11-30T08:00:00Z", finalizers: ["a/b"] }),
    pod("lost-volume", { volumes: [{ name: "data", persistentVolumeClaim: { claimName: "not-there" } }] }),
    pod(LONG_NAME, { nodeSelector: { pool: "none" } }),
    pod("=cmd", { nodeSelector: { pool: "none" } }, { namespace: "+sheet" }),
    pod("odd\u202egnp\u200b", { nodeSelector: { pool: HOSTILE } }, { namespace: "odd" }),
  ];
  return { apiVersion: "v1", kind: "List", items: [...nodes, ...bound, ...pending] };
}

/** A cluster of one node with 10,000 taints, and without pods: a debug build takes longer than a predicate may for one pod. */
export function taintedCluster() {
  const taints = Array.from({ length: TAINTS }, (_, at) => ({ key: `example.com/taint-${at}`, value: "x", effect: "NoSchedule" }));
  return { apiVersion: "v1", kind: "List", items: [node("tainted", { taints })] };
}

/** A cluster of so many plain nodes. */
export function largeCluster(nodes) {
  const items = Array.from({ length: nodes }, (_, at) =>
    node(`worker-${String(at).padStart(6, "0")}`, { zone: "abc"[at % 3], cpu: String(4 + (at % 60)), labels: { pool: `pool-${at % 40}` } }),
  );
  items.push(pod("web-0", {}, { cpu: "200" }));
  return { apiVersion: "v1", kind: "List", items };
}

if (import.meta.url === new URL(process.argv[1], "file:").href) {
  const size = Number(process.argv[2] ?? 0);
  process.stdout.write(JSON.stringify(size > 0 ? largeCluster(size) : cluster()));
}
