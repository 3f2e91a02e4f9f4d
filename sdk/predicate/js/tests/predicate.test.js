import assert from 'node:assert/strict';
import test from 'node:test';

import { args, byRow, configEntry, error, log, nodePredicate, passed, predicate, unresolvable, unschedulable } from '@nodesift/predicate';
import { cluster } from '@nodesift/predicate/testing';

import { FAILURES } from '../src/limits.js';
import { Codes } from '../src/verdict.js';

const about = { name: 'Test', summary: 'tests' };
const nodes = [
  { name: 'a', labels: { zone: 'x', disk: 'ssd' }, allocatable: { cpu: 4000 }, requested: { cpu: 1000 } },
  { name: 'b', labels: { zone: 'y' }, allocatable: { cpu: 4000 }, requested: { cpu: 3900 }, unschedulable: true },
  { name: 'c', taints: [{ key: 'gpu', effect: 'NoSchedule' }], annotations: { sets: 'p,q' } },
];

test('a function of one node rejects the nodes for which it returns a failure', () => {
  const small = unschedulable('small');
  const fits = nodePredicate({
    ...about,
    reads: ['pod-resources', 'node-resources'],
    filter: (pod, node) => (node.free('cpu') < pod.request('cpu') ? small : undefined),
  });
  const { rejected, failures, read } = cluster({ pod: { requests: { cpu: 500 } }, nodes }).evaluate(fits);
  assert.deepEqual(rejected, ['b: small', 'c: small']);
  assert.deepEqual(failures, [undefined, small, small]);
  assert.deepEqual(read, ['node-resources', 'pod-resources']);
});

test('row sets and columns say the same', () => {
  const reads = ['node-labels', 'node-annotations', 'node-resources', 'node-taints'];
  const bySets = predicate({
    ...about,
    reads,
    filter(pod, all) {
      all.reject(all.labelIn('zone', ['y', 'z']), unresolvable('zone'));
      all.reject(all.labelExists('disk').not().and(all.freeAtLeast('cpu', 1).not()), unschedulable('disk or cpu'));
      all.reject(all.untolerated().or(all.unschedulable()).and(all.all()), error('never: rejected before'));
      assert.equal(typeof all.annotationIn('sets', ['p,q']).or(all.annotationExists('sets')).count, 'number');
    },
  });
  const byColumns = predicate({
    ...about,
    reads,
    filter(pod, all) {
      const zone = all.labels('zone');
      const disk = all.labels('disk').codes;
      const free = all.free('cpu');
      const codes = new Uint16Array(all.count);
      for (let row = 0; row < all.count; row += 1) {
        if (['y', 'z'].includes(zone.text(row))) codes[row] = 1;
        else if (disk[row] === 0 && free[row] < 1) codes[row] = 2;
      }
      return byRow(codes, [unresolvable('zone'), unschedulable('disk or cpu')]);
    },
  });
  const expected = ['b: zone', 'c: disk or cpu'];
  assert.deepEqual(cluster({ nodes }).rejected(bySets), expected);
  assert.deepEqual(cluster({ nodes }).rejected(byColumns), expected);
});

test('rows are rejected by number, and the first failure stays', () => {
  const rows = (given) => predicate({ ...about, reads: ['node-identity'], filter: (pod, all) => given(all) });
  const first = rows((all) => {
    const row = all.row('b');
    if (row !== undefined) all.reject(row, unresolvable('first'));
    all.reject(new Set(Array.from({ length: all.count }, (_, each) => each)), unresolvable('second'));
  });
  assert.deepEqual(cluster({ nodes }).rejected(first), ['a: second', 'b: first', 'c: second']);
  assert.throws(() => cluster({ nodes }).rejected(rows((all) => all.reject(3, unresolvable('x')))), /there is no row 3/);
  const both = rows((all) => {
    all.reject(all.all(), unresolvable('x'));
    all.reject(0, unresolvable('x'));
  });
  assert.throws(() => cluster({ nodes }).rejected(both), /not both/);
});

test('a returned failure is for every node', () => {
  const none = predicate({ ...about, reads: ['pod-labels'], filter: (pod) => unresolvable(`in ${pod.namespace}`) });
  assert.deepEqual(cluster({ nodes }).rejected(none), ['a: in default', 'b: in default', 'c: in default']);
});

test('a read that is not listed is refused, and named', () => {
  const reads = (list, filter) => () => cluster({ nodes }).rejected(nodePredicate({ ...about, reads: list, filter }));
  assert.throws(reads([], (pod, node) => void node.taints), /^NotListed: the taints of a node reads the interface node-taints: add/);
  assert.throws(reads(['node-taints'], (pod) => void pod.label('a')), /^NotListed: pod.label reads the interface pod-labels/);
  assert.throws(reads(['no-such'], () => {}), /the contract has no interface no-such/);
});

test('a verdict that depends on other nodes is refused', () => {
  const first = predicate({ ...about, reads: ['node-labels'], filter: (pod, all) => all.reject(0, unresolvable('first')) });
  assert.throws(() => cluster({ nodes }).rejected(first), /the verdict for the node b depends on the other nodes/);
});

test('facts of the pod and of a node are as Kubernetes writes them', () => {
  let seen;
  const reads = ['pod-labels', 'pod-annotations', 'pod-placement', 'pod-tolerations', 'node-identity', 'node-taints', 'node-annotations'];
  const look = nodePredicate({
    ...about,
    reads,
    filter(pod, node) {
      const { namespace, nodeName, nodeSelector, tolerations } = pod;
      seen = { namespace, nodeName, nodeSelector, tolerations, of: pod.annotation('of'), none: pod.label('none') };
      seen.node = [node.name, node.taints, node.unschedulable, node.annotation('sets')];
    },
  });
  const pod = { nodeSelector: { disk: 'ssd' }, tolerations: [{ key: 'gpu', operator: 'Exists' }], annotations: { of: 'x' } };
  cluster({ pod, nodes: [nodes[2]] }).rejected(look);
  assert.deepEqual(seen, {
    namespace: 'default',
    nodeName: undefined,
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ key: 'gpu', operator: 'Exists', value: '', effect: undefined }],
    of: 'x',
    none: undefined,
    node: ['c', [{ key: 'gpu', value: '', effect: 'NoSchedule' }], false, 'p,q'],
  });
});

test('facts that came with later versions of the contract', () => {
  const seen = [];
  const reads = ['namespace-labels', 'pod-spec', 'pod-owner', 'node-conditions', 'node-info', 'node-images', 'node-age'];
  const look = nodePredicate({
    ...about,
    reads,
    filter(pod, node) {
      seen.push([pod.namespaceLabel('tier'), pod.priority, pod.runtimeClass, pod.images, pod.controller?.kind]);
      seen.push([node.condition('Ready'), node.condition('None'), node.info('architecture'), node.hasImage('app:v1'), node.created]);
    },
  });
  const controller = { apiVersion: 'batch/v1', kind: 'Job', name: 'nightly' };
  const pod = { namespaceLabels: { tier: 'gold' }, priority: 7, images: ['b', 'a', 'b'], controller };
  const node = { name: 'a', conditions: { Ready: 'Unknown' }, info: { architecture: 'arm64' }, images: ['app:v1'], created: 5 };
  assert.deepEqual(cluster({ pod, nodes: [node] }).evaluate(look).read, [...reads].sort());
  assert.deepEqual(seen.slice(0, 2), [['gold', 7, undefined, ['a', 'b'], 'Job'], ['Unknown', undefined, 'arm64', true, 5]]);
});

test('a fact is read once a call', () => {
  let calls = 0;
  const facts = { 'pod-labels': { label: () => ((calls += 1), null) } };
  const often = nodePredicate({ ...about, reads: ['pod-labels'], filter: (pod) => void pod.label('a') });
  cluster({ nodes, facts }).rejected(often);
  // Once for all nodes, and once for each alone.
  assert.equal(calls, 1 + nodes.length);
});

test('lines are kept', () => {
  const writes = predicate({ ...about, reads: [], filter: () => log.warn('odd') });
  assert.deepEqual(cluster({}).evaluate(writes).lines, [{ level: 'warn', text: 'odd' }]);
});

test('a definition without what it needs is refused', () => {
  const define = (definition) => () => predicate(definition);
  assert.throws(define({ ...about, filter() {} }), /needs `reads`/);
  assert.throws(define({ ...about, reads: [] }), /needs a function `filter`/);
  assert.throws(define({ summary: 'x', reads: [], filter() {} }), /needs a name/);
  assert.throws(define({ ...about, reads: [], filter() {}, arguments: {} }), /has no field arguments/);
  assert.throws(() => unresolvable(), /needs a reason/);
  const wrong = predicate({ ...about, reads: [], filter: () => true });
  assert.throws(() => cluster({ nodes }).rejected(wrong), /filter returns nothing/);
  const text = nodePredicate({ ...about, reads: [], filter: () => 'no' });
  assert.throws(() => cluster({ nodes }).rejected(text), /a node is rejected with unresolvable/);
});

test('arguments are checked against each other', () => {
  const range = predicate({
    ...about,
    reads: [],
    args: { least: args.integer({ default: 0 }), most: args.integer({ default: 9 }) },
    check: ({ least, most }) => (least > most ? 'least: must not be above most' : undefined),
    filter() {},
  });
  assert.throws(() => cluster({}).rejected(range, { least: 10 }), { message: 'least: must not be above most' });
  assert.deepEqual(cluster({}).rejected(range, { least: 9 }), []);
});

test('a verdict has no more failures than the host takes, and every rejected row stays rejected', () => {
  const rows = FAILURES + 10;
  const codes = new Codes(rows);
  for (let row = 0; row < rows; row += 1) codes.reject(row, unresolvable(`reason ${row}`));
  const { val } = codes.verdict();
  assert.equal(val.failures.length, FAILURES + 1);
  assert.ok(val.codes.every((code) => code > 0));
  assert.match(val.failures.at(-1).reasons[0], /left out/);
  const equal = new Codes(2);
  equal.reject(0, unresolvable('same'));
  equal.reject(1, unresolvable('same'));
  assert.deepEqual(equal.verdict().val.failures, [unresolvable('same')]);
});

test('moments and entries of ConfigMaps are those of the call', () => {
  const closed = predicate({
    ...about,
    reads: ['time', 'config-maps'],
    filter: () => (passed(100) ? unresolvable(`closed: ${configEntry('ops/hours', 'why') ?? 'no reason'}`) : undefined),
  });
  const of = (given) => cluster({ nodes: [{ name: 'a' }], ...given }).rejected(closed);
  assert.deepEqual(of({ now: 99 }), []);
  assert.deepEqual(of({ now: 100 }), ['a: closed: no reason']);
  assert.deepEqual(of({ now: 100, configMaps: { 'ops/hours': { why: 'night' } } }), ['a: closed: night']);
  const unlisted = predicate({ ...about, reads: [], filter: () => void passed(1) });
  assert.throws(() => cluster({ nodes }).rejected(unlisted), /^NotListed: passed\(…\) reads the interface time/);
});
