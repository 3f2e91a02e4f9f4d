// The answers of the sidecar that the page reads, field by field as they come. A test compares them with those of a real sidecar.
//
// Numbers of 64 bits are texts, as the protobuf JSON mapping has them; times are RFC 3339. Amounts of `cpu` are millicores.

/** The versions that an answer is made of. */
export interface Version {
  generation: string;
  policyGeneration: string;
  nodesResourceVersion?: string;
  podsResourceVersion?: string;
  /** Milliseconds since the source was last heard; absent where the cluster is in files. */
  stalenessMs?: string;
  stale?: boolean;
}

/** `GET /v1/access` */
export interface Access {
  listener: string;
  caller: string;
  classes: string[];
  replica: string;
  pendingList: boolean;
}

/** `GET /version` */
export interface About {
  version: string;
  revision: string | null;
  contract: string;
  policy: { generation: string; schedulerNames: string[]; predicates: string[] };
  kubernetes: Kubernetes;
}

export interface Kubernetes {
  version: string;
  origin: string;
  server?: string;
  changed: Record<string, boolean>;
  warning?: string;
  summary: string;
}

/** `GET /v1/pending` */
export interface Pending {
  list: PendingList;
  total: number;
  causes: Record<string, number>;
  matching: number;
  groups: PendingGroup[];
  unlistedGroups: number;
  pods: PendingPod[];
  next: string;
}

export interface PendingList {
  version: string;
  generation: string;
  policyGeneration: string;
  time: string;
  ageMs: number;
  tookMs: number;
  unlisted: number;
  stale: boolean;
}

export interface PendingGroup {
  key: string;
  count: number;
  cause?: string;
  headline: string;
  owner?: string;
  oldest: string;
  since: string;
  pods: string[];
}

export interface PendingPod {
  uid: string;
  namespace: string;
  name: string;
  cause: string;
  headline: string;
  subjects: string[];
  since: string;
  created: string;
  owner?: { kind: string; name: string };
  scheduler: string;
  priority: number;
  nominatedNode?: string;
  nodes?: number;
  feasibleCount?: number;
  message?: string;
  rejects?: { predicate: string; nodes: number }[];
}

/** `POST /v1/filter`, asked for scores alone. */
export interface FilterAnswer {
  version: Version;
  pods: { pod: string; scores?: PodScores }[];
}

/** A call of a predicate or a scorer that failed, and what became of its verdict. */
export interface Fault { predicate: string; fault: string; detail: string; effect: string }

export interface PodScores {
  best: ScoredNode[];
  /** Nodes with the total of the last one of `best` that are not among these. */
  ties: number;
  scorers: { scorer: string; weight: number; outcome: string }[];
  error: string;
  faults: Fault[];
}

export interface ScoredNode {
  node: string;
  total: string;
  /** One entry per scorer, empty for those that add nothing. */
  each: { raw?: string; normalized?: string; weighted: string }[];
}

/** `GET /v1/nodes` */
export interface NodeColumns {
  version: Version;
  epoch: string;
  nodes: number;
  first: number;
  rows: number;
  columns: Record<string, ColumnValues>;
}

export type ColumnValues = string[] | number[] | CodedValues;

export interface CodedValues { values: (string | null)[]; codes: number[] }

export type Amounts = Record<string, number>;

/** `GET /v1/nodes/NAME` */
export interface NodeState {
  version: Version;
  nodes: NodeDetail[];
  clusterDevices?: DevicePool[];
  /** Empty, as these are on no node. */
  pending: unknown[];
  nominated: unknown[];
  orphans: PodOnNode[];
  history: NodeEvent[];
}

export interface NodeDetail {
  name: string;
  labels: Record<string, string>;
  schedulable: boolean;
  capacity: Amounts | null;
  allocatable: Amounts;
  requested: Amounts;
  own: Amounts;
  foreign: Amounts;
  free: Amounts;
  sums?: Amounts;
  accountError?: string;
  devices?: DevicePool[];
  devicesError?: string;
  ownPods: PodOnNode[];
  foreignPods: PodOnNode[];
}

export interface DevicePool {
  driver: string;
  pool: string;
  state: string;
  devices: number;
  allocated: number;
  inFlight: number;
  free: number;
}

export interface PodOnNode {
  uid: string;
  namespace: string;
  name: string;
  node: string;
  ownership: string;
  usage: Amounts;
  sums?: Amounts;
  flags?: string[];
  accountError?: string;
  accountIs?: string;
  priority: number;
  assumed: boolean;
  terminating: boolean;
}

/** A change of an allocation, or of a watermark, on a node. The fields of the pod are those of the former, the last three of the latter. */
export interface NodeEvent extends Partial<PodOnNode> {
  type: string;
  generation: string;
  at: string;
  freeBefore?: Amounts;
  freeAfter?: Amounts;
  watermark?: { sum: string; of: string; above: number; below: number };
  amount?: number;
  whole?: number;
  pods?: { uid: string; namespace: string; name: string; amount: number }[];
}

/** `GET /v1/nodes/NAME/object`: the node as predicates see it. */
export interface NodeObject {
  metadata: { name: string; labels?: Record<string, string> };
  spec?: { unschedulable?: boolean; taints?: { key: string; value?: string; effect: string }[] };
  status?: { allocatable?: Record<string, string> };
}

/** `GET /v1/policy` */
export interface Policy {
  generation: string;
  since: string;
  source: string;
  name: string;
  remembered: boolean;
  rollbackOnQuarantine: boolean;
  kubernetes: Kubernetes;
  schedulerNames: string[];
  annotationKeys: string[];
  configMaps: string[];
  warnings: string[];
  predicates: PolicyPredicate[];
  scorers: PolicyScorer[];
  accounting?: Accounting;
  document: string;
  lastReload: Reload | null;
  lastFailure: PolicyFailure | null;
  statusTrouble: string | null;
}

/** What predicates and scorers have in common. */
export interface PolicyComponent {
  name: string;
  digest: string;
  onError: string;
  instance: string;
  calls: number;
  rows: number;
  faults: Record<string, number>;
  latency: { p50Us: number; p99Us: number } | null;
  breaker: Breaker;
  log: { written: number; dropped: number } | null;
}

export interface PolicyPredicate extends PolicyComponent {
  phases: string[];
  mode: string;
  verdicts: { kept: number; patched: number; evaluated: number };
  unnamedReads: { field: string; name: string; calls: number }[];
}

export interface PolicyScorer extends PolicyComponent { weight: number }

export interface Breaker {
  state: string;
  opened: number;
  since?: string;
  lastFault?: string;
  retryInMs?: number;
  goodCalls?: number;
  setAside: { pod: string; lastFault: string; faults: number; since: string; retryInMs: number }[];
}

export interface Accounting {
  digest: string;
  contract: string;
  onError: string;
  imports: string[];
  annotations: string[];
  sums: string[];
  ignoredNamespaces: string[];
  gauges: string[];
  watermarks: { sum: string; of: string; above: number; below: number }[];
  calls: number;
  breaker: Breaker;
}

export interface Reload {
  generation: string;
  time: string;
  result: string;
  tookMs: number;
  swapUs: number | null;
  trialCut: boolean;
  remarks: { predicate: string; role: string; pod: string; fault: string }[];
}

export interface PolicyFailure extends FailedStep {
  time: string;
  source: string;
  failures: FailedStep[];
  unlisted: number;
}

export interface FailedStep { step: string; predicate: string | null; reason: string }

/** `GET /v1/policy/history` */
export interface PolicyHistory { reloads: PastReload[] }

export interface PastReload {
  time: string;
  result: string;
  repeats: number;
  generation: string;
  source: string;
  name: string;
  tookMs: number;
  steps: { step: string; tookMs: number }[];
  swapUs: number | null;
  added: string[];
  removed: string[];
  replaced: string[];
  scorers: ScorerChanges;
  failures: FailedStep[];
  unlisted: number;
}

export interface ScorerChanges {
  added: { scorer: string; weight: number }[];
  removed: { scorer: string; weight: number }[];
  replaced: string[];
  reconfigured: string[];
  weights: { scorer: string; before: number; after: number }[];
}

/** `GET /v1/policy/shadow` */
export interface Shadows {
  policyGeneration: string | null;
  since: string | null;
  dropped: number;
  shadows: ComparedPolicy[];
}

export interface ComparedPolicy {
  source: string;
  verdict: string;
  pods: number;
  differing: number;
  rejectedEverywhere: number;
  newlyPlaceable: number;
  losing: number;
  gaining: number;
  predicates: { predicate: string; wouldReject: Extent; wouldAllow: Extent }[];
  scores: { pods: number; bestChanged: number; unscored: number; meanPlaces: number | null };
  faults: number;
  failed: number;
  differences: Difference[];
}

export interface Extent { pods: number; nodes: number }

export interface Difference {
  time: string;
  pod: string;
  before: number;
  after: number;
  lost: DifferenceChange[];
  gained: DifferenceChange[];
  unlisted: number;
  best: { before: BestNodes; after: BestNodes } | null;
  scoreError: string | null;
}

export interface BestNodes { count: number; nodes: string[] }

export interface DifferenceChange { predicate: string; reasons: string; count: number; nodes: string[] }

/** `GET /v1/negotiations` */
export interface Negotiations {
  usage: Record<string, number>;
  parties: { party: string; attends: boolean; quarantined: boolean; restsMs?: number }[];
  negotiations: Negotiation[];
}

export interface Negotiation {
  number: number;
  pod: string;
  uid: string;
  round: number;
  phase: string;
  candidates: number;
  suitable: number;
  waitsFor?: string;
  endsMs: number;
  parties: NegotiationSeat[];
}

export interface NegotiationSeat {
  party: string;
  claims: number;
  unsuitable: number;
  unheard: number;
  silentMs?: number;
  allocated?: boolean;
}
