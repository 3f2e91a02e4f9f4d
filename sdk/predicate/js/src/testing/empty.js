// Made from the contract by `make contract`; not to be edited.
/** Every function of the contract that gives facts, for `rows` nodes and a pod that have nothing of what it is about. */
export const empty = (rows) => ({
  'pod-labels': {
    namespace: () => '',
    label: () => null,
  },
  'pod-annotations': {
    annotation: () => null,
  },
  'pod-placement': {
    nodeName: () => null,
    nodeSelector: () => [],
    requiredTerms: () => null,
    preferredTerms: () => null,
  },
  'pod-tolerations': {
    tolerations: () => [],
  },
  'pod-resources': {
    requests: () => [],
  },
  'pod-non-zero-requests': {
    requests: () => [],
  },
  'pod-images': {
    containers: () => [],
    volumes: () => [],
  },
  'pod-spread': {
    constraints: () => [],
    defaultSelector: () => null,
  },
  'pod-affinity': {
    affinity: () => [],
    antiAffinity: () => [],
    invalidPreferred: () => [[], []],
  },
  'pod-preferred-affinity': {
    affinity: () => [],
    antiAffinity: () => [],
  },
  'pod-features': {
    required: () => [],
  },
  'pod-volumes': {
    volumes: () => [],
    owner: () => ['', '', ''],
  },
  'namespace-labels': {
    label: () => null,
  },
  'pod-spec': {
    priority: () => 0,
    priorityClass: () => null,
    serviceAccount: () => null,
    runtimeClass: () => null,
    hostNetwork: () => false,
    images: () => [],
    schedulerName: () => '',
  },
  'pod-owner': {
    controller: () => null,
    controllerUid: () => null,
  },
  'pod-claims': {
    claims: () => [],
    extended: () => null,
    claimName: () => '',
    chosen: () => [],
    deriving: () => [],
  },
  'node-identity': {
    names: () => [],
    row: () => null,
  },
  'node-labels': {
    column: () => new Array(rows).fill(0),
    code: () => null,
    dictionary: () => [],
    integers: () => [],
  },
  'node-annotations': {
    column: () => new Array(rows).fill(0),
    code: () => null,
    dictionary: () => [],
    integers: () => [],
  },
  'node-taints': {
    unschedulable: () => new Uint8Array(rows),
    sets: () => [[]],
    column: () => new Array(rows).fill(0),
  },
  'node-resources': {
    allocatable: () => new Array(rows).fill(0),
    requested: () => new Array(rows).fill(0),
    foreign: () => new Array(rows).fill(0),
    free: () => new Array(rows).fill(0),
    pods: () => new Array(rows).fill(0),
    foreignPods: () => new Array(rows).fill(0),
    podLimit: () => new Array(rows).fill(0),
    podRoom: () => new Array(rows).fill(0),
    deviceClassServes: () => false,
  },
  'node-sums': {
    column: () => new Array(rows).fill(0),
  },
  'node-non-zero-requests': {
    requested: () => new Array(rows).fill(0),
  },
  'node-ports': {
    conflicts: () => null,
  },
  'node-features': {
    sets: () => [[]],
    column: () => new Array(rows).fill(0),
  },
  'node-conditions': {
    column: () => new Uint8Array(rows),
  },
  'node-info': {
    column: () => new Array(rows).fill(0),
    code: () => null,
    dictionary: () => [],
  },
  'node-images': {
    present: () => new Uint8Array(rows),
  },
  'node-age': {
    created: () => new Array(rows).fill(0),
  },
  'node-devices': {
    devices: () => ({ codes: new Array(rows).fill(0), situations: [{ tag: 'pools', val: 0 }], pools: [], counters: [], deviceKinds: [], inUse: new Uint8Array(0), held: [], values: [], poolNames: [], names: [], kinds: [], drivers: [], taints: [] }),
  },
  'node-parties': {
    unsuitable: () => [],
  },
  'cluster-pods': {
    matching: () => new Array(rows).fill(0),
    matchesThisPod: () => false,
    requested: () => new Array(rows).fill(0),
  },
  'cluster-controllers': {
    sameController: () => null,
  },
  'cluster-candidates': {
    feasible: () => new Uint8Array(rows),
  },
  'cluster-affinity': {
    topologyKeys: () => [],
    antiAffinityTerms: () => new Array(rows).fill(0),
  },
  'cluster-preferences': {
    topologyKeys: () => [],
    preferredTerms: () => new Array(rows).fill(0),
    weights: () => new Array(rows).fill(0),
    requiredTerms: () => new Array(rows).fill(0),
  },
  'cluster-volume-use': {
    diskUsers: () => [],
    claimUsers: () => 0,
  },
  'cluster-attachments': {
    wanted: () => [],
    registered: () => new Uint8Array(rows),
    limited: () => new Uint8Array(rows),
    driverMissing: () => new Uint8Array(rows),
    limit: () => new Array(rows).fill(2 ** 63 - 1),
    used: () => new Array(rows).fill(0),
    rowsWith: () => [],
    uncounted: () => [],
  },
  'cluster-storage': {
    claimNamed: () => null,
    volumeNamed: () => null,
    volumesFor: () => [],
    exactSizesFor: () => null,
    classNamed: () => null,
    defaultClass: () => null,
    driverReportsCapacity: () => false,
    capacities: () => [],
    migrated: () => new Uint8Array(rows),
  },
  'cluster-images': {
    size: () => 0,
  },
  'time': {
    passed: () => false,
  },
  'config-maps': {
    entry: () => null,
  },
});
