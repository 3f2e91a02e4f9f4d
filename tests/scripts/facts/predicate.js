// A predicate that calls functions of every interface about what cluster.json has, and rejects every node with the answers. `cases.mjs` makes
// cases of what unit tests answer; in the sandbox the same must come from the host.
//
// Codes and dictionaries are not among them: the contract leaves the host their order. Labels are in every other test.
import { args, facts, predicate, unschedulable } from '@nodesift/predicate';

/** Reasons of one verdict: the host reports no more than 16. */
export const REASONS = 15;

const selector = (namespaces, further, ...requirements) => [{ namespaces, namespaceRequirements: further, requirements }];
const requirement = (operator, ...values) => ({ key: 'app', operator, values, operatorText: operator });
const CALLS = {
  'pod-labels': [['namespace'], ['label', 'app'], ['label', 'none']],
  'pod-annotations': [['annotation', 'a']],
  'pod-placement': [['nodeName'], ['nodeSelector'], ['requiredTerms'], ['preferredTerms']],
  'pod-tolerations': [['tolerations']],
  'pod-resources': [['requests']],
  'pod-non-zero-requests': [['requests']],
  'pod-images': [['containers'], ['volumes']],
  'pod-spread': [['constraints'], ['defaultSelector']],
  'pod-affinity': [['affinity'], ['antiAffinity'], ['invalidPreferred']],
  'pod-preferred-affinity': [['affinity'], ['antiAffinity']],
  'pod-features': [['required']],
  'pod-volumes': [['volumes']],
  'namespace-labels': [['label', 'app']],
  'pod-spec': [['priority'], ['priorityClass'], ['serviceAccount'], ['runtimeClass'], ['hostNetwork'], ['images'], ['schedulerName']],
  'pod-owner': [['controller']],
  'pod-claims': [['claims'], ['extended']],
  'node-identity': [['names'], ['row', 'b'], ['row', 'x']],
  'node-taints': [['unschedulable']],
  'node-resources': [['allocatable', 'cpu'], ['requested', 'cpu'], ['foreign', 'cpu'], ['free', 'cpu'], ['pods'], ['foreignPods'], ['podLimit'], ['podRoom'], ['deviceClassServes', 'example.com/gpu']],
  'node-sums': [['column', 'watts']],
  'node-non-zero-requests': [['requested', 'cpu'], ['requested', 'memory'], ['requested', 'example.com/gpu']],
  'node-ports': [['conflicts']],
  'node-features': [['column']],
  'node-conditions': [['column', 'Ready']],
  'node-images': [['present', 'app:v1']],
  'node-age': [['created']],
  'node-devices': [['devices', { selectorLists: [], attributes: [], names: false }]],
  'node-parties': [['unsuitable']],
  'cluster-pods': [
    ['matching', selector(['default'], null, requirement('in', 'web')), true], ['matching', selector([], [], requirement('not-in', 'web')), true], ['matching', selector([], [requirement('exists')]), true],
    ['matching', selector(['default'], null, requirement('does-not-exist')), false], ['requested', selector([], []), 'cpu', true], ['matchesThisPod', selector(['default'], null, requirement('exists'))],
  ],
  'cluster-controllers': [['sameController', true]],
  'cluster-candidates': [['feasible']],
  'cluster-affinity': [['topologyKeys'], ['antiAffinityTerms', 'zone']],
  'cluster-preferences': [['topologyKeys'], ['preferredTerms', 'zone'], ['weights', 'zone'], ['requiredTerms', 'zone']],
  'cluster-volume-use': [['diskUsers', 'rbd', 'x'], ['claimUsers', 'x']],
  'cluster-attachments': [['wanted', true], ['registered'], ['limited'], ['limit', 'd'], ['used', 'd'], ['rowsWith', { driver: 'd', handle: 'h' }], ['uncounted']],
  'cluster-storage': [['claimNamed', 'x'], ['volumeNamed', 'x'], ['volumesFor', 'x'], ['exactSizesFor', 'x'], ['classNamed', 'x'], ['defaultClass'], ['driverReportsCapacity', 'x'], ['capacities', 'x'], ['migrated', 'x']],
  'cluster-images': [['size', 'app:v1'], ['size', 'none']],
  time: [['passed', 5], ['passed', 500]],
  'config-maps': [['entry', 'a/b', 'c']],
};

/** Numbers as JSON has them, and bytes as numbers. */
const plain = (_, value) => {
  if (typeof value === 'bigint') return Number(value);
  return ArrayBuffer.isView(value) ? [...value] : (value ?? null);
};

export default predicate({
  name: 'Facts',
  summary: 'rejects every node with what functions of the contract answer',
  reads: Object.keys(CALLS),
  // The first answer that is given.
  args: { first: args.integer({ min: 0 }) },
  filter(pod, nodes, { first }) {
    const answers = Object.entries(CALLS).flatMap(([name, calls]) =>
      calls.map(([call, ...given]) => {
        const about = given.map((value) => JSON.stringify(value)).join(', ');
        return `${name}.${call}(${about}) ${JSON.stringify(facts(name)[call](...given), plain)}`;
      }),
    );
    const shown = answers.slice(first, first + REASONS);
    return shown.length === 0 ? undefined : unschedulable(...shown);
  },
});
