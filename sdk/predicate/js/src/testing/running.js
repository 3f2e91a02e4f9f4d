// Pods on nodes, and the functions of the contract about them. What the short form of a node says is requested on it is that of a first
// pod without labels, as in `cases.yaml`. Start at `Running`.

/** The schedulers whose pods are not foreign, where a test names none. */
export const SCHEDULER_NAMES = ['default-scheduler'];

/** Whether labels meet a requirement. */
function meets(labels, { key, operator, values }) {
  const value = labels[key];
  switch (operator) {
    case 'in':
      return value !== undefined && values.includes(value);
    case 'not-in':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case 'does-not-exist':
      return value === undefined;
    default:
      throw new TypeError(`a selector has the operator ${operator}: the host ends the call there`);
  }
}

const meetsAll = (labels, requirements) => requirements.every((requirement) => meets(labels, requirement));

/** The pods on a node: those that its short form counts, and those that name it. */
function onNode(node, pods, made) {
  const hasRequested = Object.values(node.requested).some((amount) => amount !== undefined);
  if (node.pods === 0 && hasRequested) {
    throw new TypeError(`the node ${node.name} has 0 pods, but pods on it have requested something`);
  }
  const counted = Array.from({ length: node.pods ?? Number(hasRequested) }, (_, index) =>
    made({ name: `on-${node.name}-${index}`, nodeName: node.name, requests: index === 0 ? node.requested : {} }),
  );
  return [...counted, ...pods.filter(({ nodeName }) => nodeName === node.name)];
}

/** The pods on the nodes of a call. `made` makes a pod of its fields. */
export class Running {
  constructor(pod, nodes, { pods, namespaces, schedulerNames, deviceClassResources }, made) {
    Object.assign(this, { pod, nodes, schedulerNames, deviceClassResources });
    this.rows = nodes.map((node) => onNode(node, pods, made));
    this.namespaces = { ...namespaces };
    for (const { namespace, namespaceLabels } of [...pods, pod]) {
      if (namespaceLabels !== null) this.namespaces[namespace] = namespaceLabels;
    }
  }

  functions(sets) {
    const { nodes, rows, pod, schedulerNames } = this;
    const amounts = (resource, counts) =>
      rows.map((row) => row.filter(counts).reduce((sum, { requests }) => sum + (requests[resource] ?? 0), 0));
    const number = (counts) => rows.map((row) => row.filter(counts).length);
    const every = () => true;
    const isForeign = ({ schedulerName }) => !schedulerNames.includes(schedulerName);
    const allocatable = (resource) => nodes.map((node) => node.allocatable[resource] ?? 0);
    const free = (resource) => {
      const taken = amounts(resource, every);
      return allocatable(resource).map((amount, row) => amount - taken[row]);
    };
    const chosen = (selectors, terminating) => (of) => (terminating || !of.terminating) && this.matches(of, selectors);
    const uid = pod.controllerUid();
    const isSibling = (terminating) => (of) =>
      (terminating || !of.terminating) && of.namespace === pod.namespace && of.controllerUid() === uid;
    return {
      'namespace-labels': { label: (key) => this.namespaces[pod.namespace]?.[key] ?? null },
      'node-resources': {
        allocatable,
        requested: (resource) => amounts(resource, every),
        foreign: (resource) => amounts(resource, isForeign),
        free,
        pods: () => number(every),
        foreignPods: () => number(isForeign),
        podLimit: () => nodes.map(({ podLimit }) => podLimit),
        podRoom: () => nodes.map(({ podLimit }, row) => podLimit - rows[row].length),
        deviceClassServes: (resource) => this.deviceClassResources.includes(resource),
        rowsWithFree: (resource, amount) => {
          const left = free(resource);
          return sets.of((row) => left[row] >= amount);
        },
      },
      'node-non-zero-requests': {
        requested: (resource) =>
          resource === 'cpu' || resource === 'memory'
            ? rows.map((row) => row.reduce((sum, of) => sum + of.nonZeroRequest(resource), 0))
            : rows.map(() => 0),
      },
      'node-ports': {
        conflicts: () =>
          pod.hostPorts.length === 0
            ? null
            : Uint8Array.from(rows, (row) =>
                Number(row.some(({ hostPorts }) => hostPorts.some((port) => pod.hostPorts.includes(port)))),
              ),
      },
      'cluster-pods': {
        matching: (selectors, terminating) => number(chosen(selectors, terminating)),
        matchesThisPod: (selectors) => this.matches(pod, selectors),
        requested: (selectors, resource, terminating) => amounts(resource, chosen(selectors, terminating)),
      },
      'cluster-controllers': {
        sameController: (terminating) => (uid === null ? null : number(isSibling(terminating))),
      },
    };
  }

  /** Whether a pod matches every selector. */
  matches(pod, selectors) {
    return selectors.every(({ namespaces, namespaceRequirements, requirements }) => {
      const further = namespaceRequirements ?? null;
      const labels = this.namespaces[pod.namespace];
      const isFurther = further !== null && (further.length === 0 || (labels !== undefined && meetsAll(labels, further)));
      return (namespaces.includes(pod.namespace) || isFurther) && meetsAll(pod.labels, requirements);
    });
  }
}
