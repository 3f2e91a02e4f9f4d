// The answers about one pod: `/v1/why` and `/v1/pods/NAMESPACE/NAME/history`, with the fields that the page reads. Amounts and
// generations are 64 bits wide, and therefore texts. Start at `Why`.

import type { Fault, Version } from "./types";

/** `GET` and `POST /v1/why` */
export interface Why {
  version: Version;
  pod: string;
  cause: { name: string; headline: string; subjects: string[]; since?: string | null };
  /** kube-scheduler's message; only where no node fits. */
  message?: string | null;
  nodes: number;
  feasibleCount: number;
  feasible: string[];
  cycle: string;
  funnel: FunnelStep[];
  alone: PredicateAlone[];
  groups?: NodeGroups | null;
  evidence: Evidence[];
  nearest: NearNode[];
  /** One byte per row, in base64. */
  cells?: string | null;
  devices: RequestedDevices[];
  account?: PodAccount | null;
  parties: PartyStance[];
  claimsToRelease: string[];
  faults: Fault[];
  help: HelpfulEdit[];
  helpUnevaluated: number;
  unknownNodes: string[];
}

export interface FunnelStep {
  predicate: string;
  before: number;
  rejected: number;
  after: number;
  unresolvable: number;
  reasons: { reason: string; nodes: number }[];
}

export interface PredicateAlone { predicate: string; rejects: number; onlyReason: number }

export interface NodeGroups { by: string; groups: NodeGroup[]; rest?: NodeGroup | null; restGroups: number }

export interface NodeGroup {
  value?: string | null;
  nodes: number;
  feasible: number;
  /** By index in the funnel; zeros at the end are left out. */
  rejected: number[];
}

export interface Evidence {
  interface: string;
  predicates: string[];
  rejected: number;
  explained?: number | null;
  resources: ResourceEvidence[];
  taints: { key: string; value: string; effect: string; nodes: number }[];
  expressions: { field: string; expression: string; nodes: number }[];
  topologies: TopologyEvidence[];
  facts: { name: string; value: string; nodes?: number | null }[];
  omitted: number;
}

export interface ResourceEvidence {
  resource: string;
  requested: string;
  largestFree: string;
  largestFreeNode: string;
  largestAllocatable: string;
  nodesEnough: number;
  nodesTooSmall: number;
  nearestFree?: string | null;
}

export interface TopologyEvidence {
  field: string;
  topologyKey: string;
  nodes: number;
  domains: number;
  matchingPods: string;
  maxSkew: string;
}

export interface NearNode {
  node: string;
  row: number;
  predicate: string;
  code: string;
  reasons: string[];
  missing: NamedAmount[];
  taints: string[];
}

export interface NamedAmount { name: string; amount: string }

export interface RequestedDevices {
  claim: string;
  allocated: boolean;
  request: string;
  deviceClass: string;
  wanted: string;
  ofClass: number;
  matching: number;
  tolerated: number;
  free: number;
  nodes: number;
  holders: string[];
}

export interface PodAccount {
  requests: NamedAmount[];
  usage: NamedAmount[];
  sums: NamedAmount[];
  flags: string[];
  error: string;
}

export interface PartyStance {
  party: string;
  said: string;
  reason: string;
  nodes: number;
  since?: string | null;
}

export interface HelpfulEdit { edit: string; gained: number; feasibleCount: number; caveat: string }

/** `GET /v1/pods/NAMESPACE/NAME/history` */
export interface PodHistory {
  pod: string;
  uid: string;
  pending: boolean;
  /** When it left the list. */
  left?: string;
  /** The node that it is on, where it has left the list. */
  node?: string;
  headline: string;
  causes: { cause: string; since: string }[];
  asked: { secondsAgo: number; by: string; result: string; count: number } | null;
}
