/**
 * Predicates for nodesift in JavaScript and TypeScript: which nodes can run a pod, and why the others cannot. Scorers: how good each
 * node is on which the pod fits. Start at `nodePredicate` or `nodeScorer`, or at `predicate` or `scorer` where speed matters.
 */

import type { Arguments, Fields } from './args.js';
import type { Contract } from './contract.js';

declare global {
  /** Writes lines in the log of the sidecar, as `log` does. What else the console of browsers and of Node has is not there. */
  interface Console {
    debug(...data: unknown[]): void;
    trace(...data: unknown[]): void;
    /** As `info`. */
    log(...data: unknown[]): void;
    info(...data: unknown[]): void;
    warn(...data: unknown[]): void;
    error(...data: unknown[]): void;
    /** Writes an error where the condition does not hold. */
    assert(condition?: unknown, ...data: unknown[]): void;
  }
  var console: Console;
}

export * as args from './args.js';
export type * from './contract.js';

/** The interfaces of the contract that a predicate can read. Each read one becomes an import of the component. */
export type Interface = keyof Contract;

/** Why a node cannot run the pod. */
export declare class Failure {
  private constructor();
  readonly status: 'unschedulable' | 'unschedulable-and-unresolvable' | 'error';
  readonly reasons: readonly string[];
}

/**
 * A rejection that preempting pods does not resolve. Nodes are grouped by reasons, so a reason must not contain the name of a
 * node.
 */
export declare function unresolvable(...reasons: [string, ...string[]]): Failure;

/** A rejection that preempting pods may resolve. */
export declare function unschedulable(...reasons: [string, ...string[]]): Failure;

/** The node cannot be evaluated because an object that is needed is missing or invalid. The reason names the object. */
export declare function error(...reasons: [string, ...string[]]): Failure;

/** Fields of both forms of a predicate, and of a scorer. */
export interface Definition<F extends Fields> {
  /** The predicate's name, as used in policies. */
  name: string;
  /** One line: which nodes the predicate rejects. */
  summary: string;
  /**
   * The interfaces that it reads. They are the imports of the component, so a policy allows no more than these. The read of
   * another one throws an error that names it, in tests as well.
   */
  reads: readonly Interface[];
  /** The arguments that a policy gives; those of another name are refused. None by default. */
  args?: F;
  /** Checks the arguments against each other. A returned text refuses the policy; begin it with the path of the argument. */
  check?: (args: Arguments<F>) => string | void;
}

/**
 * A predicate that is a function of the pod and one node. `filter` returns why the node cannot run the pod, or nothing where it
 * can. It runs once per node, which takes some 150 ns in the component.
 */
export declare function nodePredicate<F extends Fields = {}>(
  definition: Definition<F> & { filter: (pod: Pod, node: Node, args: Arguments<F>) => Failure | undefined | void },
): Predicate;

/**
 * A predicate that is a function of the pod and all nodes of a call. `filter` rejects nodes with `nodes.reject`, and returns
 * nothing; or `byRow(…)`; or a failure where the pod fits no node, whatever the nodes are.
 */
export declare function predicate<F extends Fields = {}>(
  definition: Definition<F> & { filter: (pod: Pod, nodes: Nodes, args: Arguments<F>) => Failure | Verdict | undefined | void },
): Predicate;

/** A predicate: the default export of its module. */
export declare class Predicate {
  protected constructor();
  readonly name: string;
  readonly summary: string;
  readonly reads: readonly Interface[];
}

/** A verdict with a code per row. */
export declare class Verdict {
  private constructor();
}

/** A verdict by row: `codes` has an entry per row, 0 where the node fits, k where it fails with `failures[k - 1]`. */
export declare function byRow(codes: Uint16Array | readonly number[], failures: readonly Failure[]): Verdict;

/**
 * How the host makes scores from 0 to 100 of raw scores, over the nodes on which the pod fits. A score outside of 0 to 100 after this is
 * a fault of the scorer.
 *
 * `none`: raw scores are scores already. `by-largest`: 100 × raw / the largest. `by-largest-reversed`: 100 minus that. `by-range`: 0
 * for the smallest raw score, 100 for the largest, and what is between in proportion. `by-distance`: 100 × (smallest + largest -
 * raw) / largest.
 */
export type Normalization = 'none' | 'by-largest' | 'by-largest-reversed' | 'by-range' | 'by-distance';

/** A raw score that stands for none: the node counts for no smallest or largest score, and its score is 0. */
export declare const noScore: number;

/** The answer of a scorer that says nothing about the pod: it adds nothing on any node. */
export declare const skip: Skip;
export interface Skip {
  readonly tag: 'skip';
}

/** The answer of a scorer that cannot score the pod, with the reason, a text. */
export declare function failed(reason: string): Failed;
export interface Failed {
  readonly tag: 'failed';
  readonly val: string;
}

/**
 * A scorer that is a function of the pod and one node. `score` returns a whole number, the higher the better unless the normalization
 * says otherwise, or `noScore`. `skip` and `failed(…)` are about the pod: it returns them for every node or for none. It runs once per
 * node. `filter` is that of a predicate; without it no node is rejected.
 */
export declare function nodeScorer<F extends Fields = {}>(
  definition: Definition<F> & {
    normalization: Normalization;
    score: (pod: Pod, node: Node, args: Arguments<F>) => number | Skip | Failed;
    filter?: (pod: Pod, node: Node, args: Arguments<F>) => Failure | undefined | void;
  },
): Scorer;

/**
 * A scorer that is a function of the pod and all nodes of a call. `score` returns a whole number for each row, of which some can be
 * `noScore`; or `skip`; or `failed(…)`. It makes no row sets. `filter` is that of a predicate; without it no node is rejected.
 */
export declare function scorer<F extends Fields = {}>(
  definition: Definition<F> & {
    normalization: Normalization;
    score: (pod: Pod, nodes: Nodes, args: Arguments<F>) => ArrayLike<number> | Skip | Failed;
    filter?: (pod: Pod, nodes: Nodes, args: Arguments<F>) => Failure | Verdict | undefined | void;
  },
): Scorer;

/** A scorer: the default export of its module. */
export declare class Scorer extends Predicate {
  protected constructor();
  readonly normalization: Normalization;
}

/** The effect of a taint. */
export type Effect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute' | 'Other';

/** One entry of `spec.taints`. */
export interface Taint {
  readonly key: string;
  readonly value: string;
  readonly effect: Effect;
}

/** One entry of `spec.tolerations`. An empty key is every key, no effect is every effect. */
export interface Toleration {
  readonly key: string;
  readonly operator: 'Equal' | 'Exists' | 'Other';
  readonly value: string;
  readonly effect: Effect | undefined;
}

/** The pod that is being filtered. */
export interface Pod {
  /** `metadata.namespace`. Reads `pod-labels`. */
  readonly namespace: string;
  /** The value of a label. Reads `pod-labels`. */
  label(key: string): string | undefined;
  /** The value of an annotation that the policy lists. Reads `pod-annotations`. */
  annotation(key: string): string | undefined;
  /** `spec.nodeName`. Reads `pod-placement`. */
  readonly nodeName: string | undefined;
  /** `spec.nodeSelector`. Reads `pod-placement`. */
  readonly nodeSelector: Readonly<Record<string, string>>;
  /** `spec.tolerations`. Reads `pod-tolerations`. */
  readonly tolerations: readonly Toleration[];
  /** The requested amounts: `cpu` in thousandths of a core, `memory` in bytes. Reads `pod-resources`. */
  readonly requests: Readonly<Record<string, number>>;
  /** The requested amount of a resource; 0 where the pod requests none. Reads `pod-resources`. */
  request(resource: string): number;
  /** The value of a label of the pod's Namespace. Reads `namespace-labels`. */
  namespaceLabel(key: string): string | undefined;
  /** `spec.priority`; 0 where the pod has none. Reads `pod-spec`, as do the following. */
  readonly priority: number;
  /** `spec.priorityClassName`. */
  readonly priorityClass: string | undefined;
  /** `spec.serviceAccountName`. */
  readonly serviceAccount: string | undefined;
  /** `spec.runtimeClassName`. */
  readonly runtimeClass: string | undefined;
  /** `spec.hostNetwork`. */
  readonly hostNetwork: boolean;
  /** The distinct images of its containers, sorted. */
  readonly images: readonly string[];
  /** `spec.schedulerName`. */
  readonly schedulerName: string;
  /** The object that manages the pod. Reads `pod-owner`. */
  readonly controller: Owner | undefined;
}

/** The controller of a pod, for example a ReplicaSet of `apps/v1`. */
export interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** A field of `status.nodeInfo`, or `spec.providerID`. */
export type InfoField =
  | 'kubelet-version' | 'kernel-version' | 'container-runtime-version' | 'operating-system' | 'architecture' | 'os-image'
  | 'provider-id';

/** One node. One object stands for each node in turn: keep what it says, not the object. */
export interface Node {
  /** `metadata.name`. Reads `node-identity`. */
  readonly name: string;
  /** The value of a label. Reads `node-labels`. */
  label(key: string): string | undefined;
  /** The value of an annotation that the policy lists. Reads `node-annotations`. */
  annotation(key: string): string | undefined;
  /** `spec.unschedulable`. Reads `node-taints`. */
  readonly unschedulable: boolean;
  /** `spec.taints`. Reads `node-taints`. */
  readonly taints: readonly Taint[];
  /** `status.allocatable` of a resource; 0 where the node does not list it. Reads `node-resources`. */
  allocatable(resource: string): number;
  /** What all pods on the node request together. Reads `node-resources`. */
  requested(resource: string): number;
  /** `allocatable` minus `requested`. Reads `node-resources`. */
  free(resource: string): number;
  /** The number of pods on the node. Reads `node-resources`. */
  readonly pods: number;
  /** `status.allocatable.pods`. Reads `node-resources`. */
  readonly podLimit: number;
  /** The status of a condition, for example of `Ready`. Reads `node-conditions`. */
  condition(type: string): 'True' | 'False' | 'Unknown' | undefined;
  /** What the node says of itself. Reads `node-info`. */
  info(field: InfoField): string | undefined;
  /** Whether `status.images` names the image; it lists only the largest. Reads `node-images`. */
  hasImage(image: string): boolean;
  // contract: moments of a node, made by `make contract`
  /** `created` of nodes, in seconds since 1970. Reads `node-age`. */
  readonly created: number;
  // contract: end
}

/** A column of labels or annotations. */
export interface Texts {
  /** A code per row; 0 where it is absent. */
  readonly codes: readonly number[];
  /** The text behind each code. */
  readonly dictionary: readonly string[];
  /** The texts of the dictionary as integers; -(2 ** 63) where a text is none. */
  readonly integers: readonly number[];
  /** The code of a text; none where no node has it. */
  code(text: string): number | undefined;
  /** The text in a row. */
  text(row: number): string | undefined;
}

/** All nodes of a call: row sets, which the host makes, and columns. An amount beyond 2 ** 53 is rounded. */
export interface Nodes {
  /** The number of rows: they are numbered from 0. */
  readonly count: number;

  /** Every row. */
  all(): RowSet;
  /** The rows whose label has one of these values. Reads `node-labels`. */
  labelIn(key: string, values: Iterable<string>): RowSet;
  /** The rows that have the label. Reads `node-labels`. */
  labelExists(key: string): RowSet;
  /** The rows whose annotation has one of these values. Reads `node-annotations`. */
  annotationIn(key: string, values: Iterable<string>): RowSet;
  /** The rows that have the annotation. Reads `node-annotations`. */
  annotationExists(key: string): RowSet;
  /** The different values of a label, for `labelIn`: without a column, so once per value. Reads `node-labels`. */
  labelTexts(key: string): string[];
  /** The different values of an annotation, for `annotationIn`. Reads `node-annotations`. */
  annotationTexts(key: string): string[];
  /** The rows on which at least this amount of the resource is free. Reads `node-resources`. */
  freeAtLeast(resource: string, amount: number): RowSet;
  /** The rows with a taint NoSchedule or NoExecute that the pod does not tolerate. Reads `node-taints`. */
  untolerated(): RowSet;
  /** The rows with `spec.unschedulable`. Reads `node-taints`. */
  unschedulable(): RowSet;

  /**
   * Rejects rows: a row set, a row, or several rows. A row that was rejected before keeps its failure. One call rejects row
   * sets, or rows by number, not both.
   */
  reject(rows: RowSet | number | Iterable<number>, failure: Failure): void;

  /** The names. Reads `node-identity`. */
  readonly names: readonly string[];
  /** The row of a node. Reads `node-identity`. */
  row(name: string): number | undefined;
  /** The column of a label. Reads `node-labels`. */
  labels(key: string): Texts;
  /** The column of an annotation that the policy lists. Reads `node-annotations`. */
  annotations(key: string): Texts;
  /** The distinct lists of taints, and per row the index of its list. Reads `node-taints`. */
  readonly taintSets: { readonly sets: readonly (readonly Taint[])[]; readonly column: readonly number[] };
  /** Flags: 1 with `spec.unschedulable`. Reads `node-taints`. */
  readonly unschedulableFlags: Uint8Array;
  /** Allocatable amounts. Reads `node-resources`. */
  allocatable(resource: string): readonly number[];
  /** Requested amounts. Reads `node-resources`. */
  requested(resource: string): readonly number[];
  /** Free amounts. Reads `node-resources`. */
  free(resource: string): readonly number[];
  /** Numbers of pods. Reads `node-resources`. */
  readonly pods: readonly number[];
  /** Limits of pods. Reads `node-resources`. */
  readonly podLimit: readonly number[];
  /** The status of a condition: 0 none, 1 True, 2 False, 3 Unknown. Reads `node-conditions`. */
  conditions(type: string): Uint8Array;
  /** The column of a field that nodes say of themselves. Reads `node-info`. */
  info(field: InfoField): Texts;
  /** Flags: 1 where `status.images` names the image. Reads `node-images`. */
  imageFlags(image: string): Uint8Array;
  /** Flags: 1 where the pod fits, in `score`. Its scores hold for one set of nodes alone. Reads `cluster-candidates`. */
  readonly feasible: Uint8Array;
  // contract: moments of nodes, made by `make contract`
  /** `created` of nodes, in seconds since 1970. Reads `node-age`. */
  readonly created: readonly number[];
  // contract: end
}

/** A set of rows that the host holds: an operation costs about a microsecond, however many nodes there are. */
export interface RowSet {
  /** The rows in both. */
  and(other: RowSet): RowSet;
  /** The rows in either. */
  or(other: RowSet): RowSet;
  /** The other rows. */
  not(): RowSet;
  /** The number of rows. The verdict for a row must not depend on it. */
  readonly count: number;
}

/**
 * Whether a moment, in seconds since 1970, has passed. No clock can be read: the answer is the same for the whole call, and a
 * cached verdict expires at the moment. Reads `time`.
 */
export declare function passed(at: number): boolean;

/**
 * The value of a key of a ConfigMap, `namespace/name`, that the policy lists in `spec.facts.configMaps`; none of any other. Reads
 * `config-maps`.
 */
export declare function configEntry(configMap: string, key: string): string | undefined;

/**
 * The functions of any interface of the contract, as it has them: lowerCamelCase names, records as objects, an option as the
 * value or null, an enum as its text.
 */
export declare function facts<Name extends keyof Contract>(name: Name): Contract[Name];
export declare function facts(name: string): Record<string, (...args: any[]) => any>;

/** Lines for operators, in the log of the sidecar: at most 10 a second, each of at most 1,024 bytes. */
export declare const log: Record<'debug' | 'info' | 'warn' | 'error', (text: string) => void>;
