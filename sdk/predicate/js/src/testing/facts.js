// The functions of the contract over plain pods and nodes. Amounts are in the contract's units: `cpu` in thousandths of a core,
// `memory` in bytes.

import { MOMENTS } from '../moments.js';

/** Takes the fields of a plain object, and refuses those that are none. */
function fields(what, given, defaults) {
  const unknown = Object.keys(given).filter((key) => !(key in defaults));
  if (unknown.length > 0) {
    throw new TypeError(`${what} has no field ${unknown.join(', ')}; it has ${Object.keys(defaults).join(', ')}`);
  }
  return { ...defaults, ...given };
}

/** What stands for a text that is no integer, and for a time that is not there. */
const NO_INTEGER = -(2 ** 63);
const CONDITIONS = { True: 1, False: 2 };
/** Millicores and bytes of a container that names none, where pods are scored. */
const UNNAMED = { cpu: 100, memory: 200 * 2 ** 20 };
const EFFECTS = { NoSchedule: 'no-schedule', PreferNoSchedule: 'prefer-no-schedule', NoExecute: 'no-execute' };
const effectName = (effect) => EFFECTS[effect] ?? 'other';
const byName = ([one], [other]) => (one < other ? -1 : 1);
/** The name of an image with a tag. */
const tagged = (image) => (image.lastIndexOf(':') > image.lastIndexOf('/') ? image : `${image}:latest`);

export class PodFacts {
  constructor(given) {
    const defaults = {
      namespace: 'default', labels: {}, annotations: {}, nodeName: null, nodeSelector: {}, tolerations: [], requests: {},
      namespaceLabels: null, priority: 0, priorityClass: null, serviceAccount: null, runtimeClass: null, hostNetwork: false,
      images: [], schedulerName: 'default-scheduler', controller: null, hostPorts: [], name: 'pod', terminating: false,
      nonZeroRequests: null, containerImages: null,
    };
    Object.assign(this, fields('a pod', given, defaults));
    // Every pod has a container. Its image has this name where `cases.yaml` gives it none.
    if (this.images.length === 0) this.images = ['image'];
  }

  /** The UID of the controller: by default one for each namespace, kind and name; null where the pod has none. */
  controllerUid() {
    if (this.controller === null) return null;
    return this.controller.uid ?? `${this.namespace}/${this.controller.kind}/${this.controller.name}`;
  }

  /** The amount of a resource that counts where pods are scored: the first container has the requests, as in `cases.yaml`. */
  nonZeroRequest(resource) {
    if (this.nonZeroRequests !== null) return this.nonZeroRequests[resource] ?? 0;
    const unnamed = UNNAMED[resource] ?? 0;
    return (this.requests[resource] ?? unnamed) + (this.images.length - 1) * unnamed;
  }

  tolerates(taint) {
    return this.tolerations.some(
      ({ key = '', operator = 'Equal', value = '', effect }) =>
        (key === '' ? operator === 'Exists' : key === taint.key) &&
        (effect === undefined || effect === taint.effect) &&
        (operator === 'Exists' || (operator === 'Equal' && value === (taint.value ?? ''))),
    );
  }

  functions() {
    return {
      'pod-labels': { namespace: () => this.namespace, label: (key) => this.labels[key] ?? null },
      'pod-annotations': { annotation: (key) => this.annotations[key] ?? null },
      'pod-placement': {
        nodeName: () => this.nodeName,
        nodeSelector: () => Object.entries(this.nodeSelector).sort(byName),
        requiredTerms: () => null,
      },
      'pod-tolerations': {
        tolerations: () =>
          this.tolerations.map(({ key = '', operator = 'Equal', value = '', effect }) => ({
            key,
            operator: { Equal: 'equal', Exists: 'exists' }[operator] ?? 'other',
            value,
            effect: effect === undefined ? null : effectName(effect),
          })),
      },
      'pod-resources': {
        requests: () => Object.entries(this.requests).map(([resource, amount]) => ({ resource, amount })),
      },
      'pod-non-zero-requests': {
        requests: () =>
          Object.entries({ ...UNNAMED, ...(this.nonZeroRequests ?? this.requests) })
            .sort(byName)
            .map(([resource]) => ({ resource, amount: this.nonZeroRequest(resource) })),
      },
      'pod-images': { containers: () => this.containerImages ?? this.images.map(tagged) },
      'pod-spec': {
        priority: () => this.priority,
        priorityClass: () => this.priorityClass,
        serviceAccount: () => this.serviceAccount,
        runtimeClass: () => this.runtimeClass,
        hostNetwork: () => this.hostNetwork,
        images: () => [...new Set(this.images)].filter((image) => image !== '').sort(),
        schedulerName: () => this.schedulerName,
      },
      'pod-owner': {
        controller: () => {
          if (this.controller === null) return null;
          const { apiVersion, kind, name } = this.controller;
          return { apiVersion, kind, name };
        },
        controllerUid: () => this.controllerUid(),
      },
      'pod-volumes': { owner: () => [this.namespace, this.name, ''] },
    };
  }
}

export class NodeFacts {
  constructor(given) {
    const defaults = {
      name: undefined, labels: {}, annotations: {}, unschedulable: false, taints: [], allocatable: {}, requested: {}, pods: null,
      podLimit: 110, conditions: {}, info: {}, images: [], imageSizes: {}, sums: {}, infeasible: false,
      ...Object.fromEntries(Object.keys(MOMENTS).map((name) => [name, NO_INTEGER])),
    };
    Object.assign(this, fields('a node', given, defaults));
    if (typeof this.name !== 'string') throw new TypeError('a node needs a name');
  }

  /** The functions about these nodes. */
  static functions(nodes, pod, sets) {
    const blocks = (taint) => (taint.effect === 'NoSchedule' || taint.effect === 'NoExecute') && !pod.tolerates(taint);
    const functions = {
      'node-identity': {
        names: () => nodes.map(({ name }) => name),
        row: (name) => {
          const row = nodes.findIndex((node) => node.name === name);
          return row < 0 ? null : row;
        },
      },
      'node-labels': texts(nodes.map(({ labels }) => labels), sets),
      'node-annotations': texts(nodes.map(({ annotations }) => annotations), sets),
      'node-taints': {
        unschedulable: () => Uint8Array.from(nodes, ({ unschedulable }) => Number(unschedulable)),
        sets: () => [
          [],
          ...nodes.map(({ taints }) =>
            taints.map(({ key, value = '', effect }) => ({ key, value, effect: effectName(effect) })),
          ),
        ],
        column: () => nodes.map((_, row) => row + 1),
        rowsUnschedulable: () => sets.of((row) => nodes[row].unschedulable),
        rowsUntolerated: () => sets.of((row) => nodes[row].taints.some(blocks)),
      },
      'node-sums': { column: (name) => nodes.map(({ sums }) => sums[name] ?? 0) },
      'node-conditions': {
        column: (type) => Uint8Array.from(nodes, ({ conditions: { [type]: status } }) => (status ? (CONDITIONS[status] ?? 3) : 0)),
      },
      'node-info': texts(nodes.map(({ info }) => info), sets),
      'cluster-candidates': { feasible: () => new Uint8Array(nodes.length).fill(1) },
      'cluster-images': { size: (image) => nodes.find(({ images }) => images.includes(image))?.imageSizes[image] ?? 0 },
      'node-images': { present: (image) => Uint8Array.from(nodes, ({ images }) => Number(images.includes(image))) },
    };
    for (const [name, of] of Object.entries(MOMENTS)) {
      functions[of] = { ...functions[of], [name]: () => nodes.map((node) => node[name]) };
    }
    return functions;
  }
}

/** The functions that are about neither the pod nor a node: at this moment, with these ConfigMaps. */
export function stateFunctions(now, configMaps) {
  return {
    time: { passed: (at) => now >= at },
    'config-maps': { entry: (configMap, key) => configMaps[configMap]?.[key] ?? null },
  };
}

/** Labels or annotations by key: codes, and the texts behind them. */
function texts(rows, sets) {
  const dictionary = (key) => ['', ...new Set(rows.flatMap((row) => row[key] ?? []))];
  const code = (key, text) => {
    const found = dictionary(key).indexOf(text, 1);
    return found < 0 ? null : found;
  };
  return {
    column: (key) => rows.map((row) => (row[key] === undefined ? 0 : code(key, row[key]))),
    dictionary,
    code,
    integers: (key) => dictionary(key).map((text) => (/^[+-]?\d+$/.test(text) ? Number(text) : NO_INTEGER)),
    rowsIn: (key, values) => sets.of((row) => values.includes(rows[row][key])),
    rowsWith: (key) => sets.of((row) => rows[row][key] !== undefined),
  };
}
