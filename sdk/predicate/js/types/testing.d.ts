/** Tests of a predicate or a scorer with plain pods and nodes, without wasm and without a sidecar. */

import type { Effect, Failure, InfoField, Owner, Predicate, Scorer } from './index.js';

/** Amounts by resource: `cpu` in thousandths of a core, `memory` in bytes, others as a count. */
export type Amounts = Record<string, number | undefined>;

/** Labels or annotations. An undefined one is not there. */
export type TestTexts = Record<string, string | undefined>;

/** The pod that is filtered, or one on a node. What is left out is empty. */
export interface TestPod {
  /** `default` by default. */
  namespace?: string;
  labels?: TestTexts;
  annotations?: TestTexts;
  nodeName?: string;
  nodeSelector?: TestTexts;
  tolerations?: { key?: string; operator?: 'Equal' | 'Exists'; value?: string; effect?: Effect }[];
  requests?: Amounts;
  /** The labels of its Namespace; without them there is no such object, unless the cluster has it. */
  namespaceLabels?: TestTexts;
  priority?: number;
  priorityClass?: string;
  serviceAccount?: string;
  runtimeClass?: string;
  hostNetwork?: boolean;
  /** Images of its containers, one each. Without any it has one container, whose image is `image`. */
  images?: string[];
  /** `default-scheduler` by default. */
  schedulerName?: string;
  /** Without a UID, one for each namespace, kind and name. */
  controller?: Owner & { uid?: string };
  hostPorts?: number[];
  name?: string;
  /** Whether it has a deletion timestamp. */
  terminating?: boolean;
  /** What counts of it where pods are scored. By default that of a pod whose first container has the requests, one for each image. */
  nonZeroRequests?: Amounts;
  /** The images of its containers as scores compare them: with a tag. By default `images`. */
  containerImages?: string[];
}

/** A node. What is left out is empty. */
export interface TestNode {
  name: string;
  labels?: TestTexts;
  annotations?: TestTexts;
  unschedulable?: boolean;
  taints?: { key: string; value?: string; effect: Effect }[];
  allocatable?: Amounts;
  requested?: Amounts;
  /** The pods on it, besides those of the cluster that name it; 1 by default where something is requested, else 0. */
  pods?: number;
  /** 110 by default. */
  podLimit?: number;
  conditions?: Record<string, 'True' | 'False' | 'Unknown' | undefined>;
  info?: { [F in InfoField]?: string };
  images?: string[];
  /** Sizes of some of these images in bytes; 0 by default. */
  imageSizes?: Record<string, number>;
  /** Whether a predicate of the policy rejects the pod on it, where nodes are scored. */
  infeasible?: boolean;
  /** What accounting components say of it and of the pods on it, by the name of the sum. */
  sums?: Record<string, number>;
  // contract: moments, made by `make contract`
  /** `created` of nodes, in seconds since 1970. Reads `node-age`. */
  created?: number;
  // contract: end
}

/** What a predicate has done. */
export interface Evaluation {
  /** The rejected nodes in their order, each as `name: reason; reason`. */
  rejected: string[];
  /** The failure of each node. */
  failures: (Failure | undefined)[];
  /** What the predicate has written with `log`. */
  lines: { level: 'debug' | 'info' | 'warn' | 'error'; text: string }[];
  /** The interfaces that it has read. */
  read: string[];
}

/** What a scorer has done. */
export interface Scoring {
  /** `Skipped`: it has nothing to say about the pod. `Failed`: it cannot score the pod. */
  outcome: 'Scored' | 'Skipped' | 'Failed';
  /** Why it cannot score the pod. */
  error: string | undefined;
  /** What it has returned, by node; nothing of a node without a score. */
  raw: Record<string, number>;
  /** The scores from 0 to 100 that the host makes of it, of the nodes on which the pod fits. */
  normalized: Record<string, number>;
  /** What the scorer has written with `log`. */
  lines: { level: 'debug' | 'info' | 'warn' | 'error'; text: string }[];
  /** The interfaces that it has read. */
  read: string[];
}

/** A pod and nodes. */
export interface Cluster {
  /**
   * The rejected nodes in their order, each as `name: reason; reason`. Throws where the arguments are refused, where the
   * predicate reads an interface that it does not list, and where the verdict for a node depends on the other nodes.
   */
  rejected(predicate: Predicate, args?: Record<string, unknown>): string[];
  /** The same, with failures and lines. */
  evaluate(predicate: Predicate, args?: Record<string, unknown>): Evaluation;
  /**
   * The scores of the nodes. Throws where the arguments are refused, where the scorer reads an interface that it does not list, where
   * the score of a node depends on the other nodes, and where a score is not from 0 to 100 once it is normalized.
   */
  scores(scorer: Scorer, args?: Record<string, unknown>): Scoring;
}

/** A pod, nodes, and pods on them: the fields are those of `cases.yaml`. Every function of the contract is answered from them. */
export declare function cluster(of: {
  pod?: TestPod;
  nodes?: TestNode[];
  /** Pods on nodes: each has the `nodeName` of its node. */
  pods?: TestPod[];
  /** The labels of Namespaces by name, besides those that pods give with `namespaceLabels`. */
  namespaces?: Record<string, TestTexts>;
  /** The schedulers whose pods are not foreign: `['default-scheduler']` by default. */
  schedulerNames?: string[];
  /** Extended resources that DeviceClasses of the cluster provide. */
  deviceClassResources?: string[];
  /** The moment of the call, in seconds since 1970; 0 by default. */
  now?: number;
  /** The data of ConfigMaps by `namespace/name`. */
  configMaps?: Record<string, Record<string, string>>;
  /** Functions that take the place of those made from the fields: `{ 'cluster-pods': { matching: () => […] } }`. */
  facts?: Record<string, Record<string, (...args: any[]) => any>>;
}): Cluster;

/** A case of `cases.yaml`: what a predicate is to say of a pod and of nodes. */
export interface Case {
  name: string;
  /** Line of the file at which it begins. */
  line: number;
  /** Why no unit test can evaluate it: it needs the sandbox, or facts that a cluster of tests does not have. */
  skip: string | false;
  /** Throws where the predicate answers otherwise than the case expects, with the text of `nodesift-dev module test`. */
  check(predicate: Predicate): void;
}

/**
 * The cases of a file, `cases.yaml` by default, to be run as tests without the sandbox. `nodesift-dev` reads the file: the program on the
 * PATH, or the one that the variable `NODESIFT_DEV` names.
 */
export declare function cases(file?: string): Case[];
