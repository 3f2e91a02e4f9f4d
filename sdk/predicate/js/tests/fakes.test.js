// The functions of tests are all of those of the contract, and say what objects say.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { facts, predicate } from '@nodesift/predicate';
import { cluster } from '@nodesift/predicate/testing';

import { RowSets } from '../src/testing/row_sets.js';

const LEAST_FUNCTIONS = 90;
const CONTRACT = readFileSync(new URL('../wit/predicate.wit', import.meta.url), 'utf8');
const SIMPLE = { string: 'a', bool: true, u32: 0, s64: 0, field: 'kernel-version' };

/** Interface, name and types of the parameters of every function that can be imported. */
function declared() {
  const world = CONTRACT.slice(CONTRACT.indexOf('world guest {'));
  const imports = new Set([...world.matchAll(/^ {4}import ([a-z-]+);/gm)].map(([, name]) => name));
  const functions = [];
  for (const [, name, body] of CONTRACT.matchAll(/^interface ([a-z-]+) \{\n([^]*?)^\}/gm)) {
    if (!imports.has(name) || name === 'log') continue;
    for (const [, call, params] of body.matchAll(/^ {4}%?([a-z-]+): func\((.*?)\)/gm)) {
      functions.push([name, call, [...params.matchAll(/%?[a-z-]+: ([^,]+)/g)].map(([, kind]) => kind)]);
    }
  }
  return functions;
}

const jsName = (name) => name.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());

test('every function of the contract answers', (t) => {
  const of = cluster({ nodes: [{ name: 'a' }, { name: 'b' }] });
  const functions = declared();
  assert.ok(functions.length >= LEAST_FUNCTIONS, `${functions.length} functions`);
  for (const [name, call, kinds] of functions) {
    const answers = of.functions(of.nodes, new RowSets(2))[name]?.[jsName(call)];
    assert.equal(typeof answers, 'function', `${name}.${call}`);
    if (name !== 'row-sets') answers(...kinds.map((kind) => (kind.startsWith('list') ? [] : (SIMPLE[kind] ?? {}))));
  }
  t.diagnostic(`${functions.length} functions answer`);
});

/** What the functions of an interface answer. */
function asked(of, name, ...calls) {
  let answers;
  const asks = predicate({
    name: 'Test', summary: 'tests', reads: [name, 'cluster-pods'],
    filter() {
      answers = calls.map(([call, ...given]) => facts(name)[call](...given));
    },
  });
  assert.deepEqual(cluster(of).rejected(asks), []);
  return answers;
}

const requirement = (operator, ...values) => ({ key: 'app', operator, values, operatorText: operator });
const selector = ({ namespaces = [], further = null, requirements = [] }) => [
  { namespaces, namespaceRequirements: further, requirements },
];
const web = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' };
const running = {
  pod: { labels: { app: 'web' }, controller: web, hostPorts: [80] },
  nodes: [{ name: 'a', allocatable: { cpu: 4000 }, requested: { cpu: 500 } }, { name: 'b', pods: 2 }, { name: 'c' }],
  pods: [
    { nodeName: 'a', labels: { app: 'web' }, requests: { cpu: 1000 }, controller: web, hostPorts: [80] },
    { nodeName: 'a', labels: { app: 'db' }, namespace: 'prod', namespaceLabels: { app: 'x' }, schedulerName: 'other' },
    { nodeName: 'c', labels: { app: 'web' }, requests: { cpu: 200 }, controller: web, terminating: true },
  ],
  deviceClassResources: ['example.com/gpu'],
};

test('pods on nodes are in the columns of their nodes', () => {
  assert.deepEqual(
    asked(
      running, 'node-resources', ['requested', 'cpu'], ['free', 'cpu'], ['foreign', 'cpu'], ['pods'], ['foreignPods'], ['podRoom'],
      ['deviceClassServes', 'example.com/gpu'], ['deviceClassServes', 'cpu'],
    ),
    [[1500, 0, 200], [2500, 0, -200], [0, 0, 0], [3, 2, 1], [1, 0, 0], [107, 108, 109], true, false],
  );
  assert.deepEqual(asked(running, 'node-ports', ['conflicts']), [Uint8Array.of(1, 0, 0)]);
  assert.deepEqual(asked({ nodes: running.nodes }, 'node-ports', ['conflicts']), [null]);
});

test('pods are counted by selectors and controllers', () => {
  const inDefault = (requirements) => selector({ namespaces: ['default'], requirements: [requirements] });
  assert.deepEqual(
    asked(
      running, 'cluster-pods',
      ['matching', inDefault(requirement('in', 'web')), false],
      ['matching', inDefault(requirement('in', 'web')), true],
      ['matching', selector({ further: [], requirements: [requirement('not-in', 'web')] }), true],
      ['matching', selector({ further: [requirement('exists')] }), true],
      ['matching', inDefault(requirement('does-not-exist')), true],
      ['requested', selector({ further: [] }), 'cpu', true],
      ['matchesThisPod', inDefault(requirement('exists'))],
      ['matchesThisPod', selector({ namespaces: ['prod'], requirements: [requirement('exists')] })],
    ),
    [[1, 0, 0], [1, 0, 1], [2, 2, 0], [1, 0, 0], [1, 2, 0], [1500, 0, 200], true, false],
  );
  assert.deepEqual(asked(running, 'cluster-controllers', ['sameController', false], ['sameController', true]), [[1, 0, 0], [1, 0, 1]]);
  assert.deepEqual(asked(running, 'pod-owner', ['controllerUid'], ['controller']), ['default/ReplicaSet/web', web]);
  assert.deepEqual(asked({}, 'cluster-controllers', ['sameController', false]), [null]);
});

test('what scores read is made of requests, images and pods', () => {
  const MIB = 2 ** 20;
  const pod = { requests: { cpu: 250, 'example.com/gpu': 1 }, images: ['b', 'a:1', 'r:5000/c', 'd@sha256:0'] };
  const of = {
    pod,
    nodes: [
      { name: 'a', requested: { cpu: 0 }, pods: 2, images: ['b'] },
      { name: 'b', images: ['b', 'a:1'], imageSizes: { b: 7, 'a:1': 9 } },
      { name: 'c' },
    ],
    pods: [{ nodeName: 'b', requests: { memory: 5 } }, { nodeName: 'b', nonZeroRequests: { cpu: 3 } }],
  };
  const requests = (given) =>
    asked(given, 'pod-non-zero-requests', ['requests'])[0].map(({ resource, amount }) => [resource, amount]);
  assert.deepEqual(requests(of), [['cpu', 550], ['example.com/gpu', 1], ['memory', 800 * MIB]]);
  assert.deepEqual(requests({}), [['cpu', 100], ['memory', 200 * MIB]]);
  assert.deepEqual(requests({ pod: { requests: { cpu: 0, memory: undefined } } }), [['cpu', 0], ['memory', 200 * MIB]]);
  assert.deepEqual(requests({ pod: { nonZeroRequests: { cpu: 1, memory: 2 }, images: ['a', 'b'] } }), [['cpu', 1], ['memory', 2]]);
  assert.deepEqual(
    asked(of, 'node-non-zero-requests', ['requested', 'cpu'], ['requested', 'memory'], ['requested', 'example.com/gpu']),
    [[100, 103, 0], [400 * MIB, 5, 0], [0, 0, 0]],
  );
  assert.deepEqual(asked(of, 'pod-images', ['containers'], ['volumes']), [['b:latest', 'a:1', 'r:5000/c:latest', 'd@sha256:0'], []]);
  assert.deepEqual(asked({ pod: { containerImages: ['x:2'] } }, 'pod-images', ['containers']), [['x:2']]);
  assert.deepEqual(asked({}, 'pod-images', ['containers']), [['image:latest']]);
  // The size is that of the first node that has the image.
  assert.deepEqual(asked(of, 'cluster-images', ['size', 'b'], ['size', 'a:1'], ['size', 'x']), [0, 9, 0]);
  assert.deepEqual(asked(of, 'cluster-candidates', ['feasible']), [Uint8Array.of(1, 1, 1)]);
});

test('what the host refuses is refused', () => {
  const unknown = selector({ namespaces: ['default'], requirements: [requirement('unknown')] });
  assert.throws(() => asked(running, 'cluster-pods', ['matching', unknown, true]), /the operator unknown/);
  assert.throws(() => asked({ pods: [{ nodeName: 'x' }] }, 'cluster-pods'), /no such node/);
  assert.throws(() => asked({ nodes: [{ name: 'a', pods: 0, requested: { cpu: 1 } }] }, 'cluster-pods'), /0 pods/);
  assert.throws(() => cluster({ node: [] }), /and no node/);
});

test('what a test gives takes the place of a function', () => {
  const given = { nodes: [{ name: 'a' }], facts: { 'cluster-pods': { matching: () => [7] } } };
  assert.deepEqual(asked(given, 'cluster-pods', ['matching', [], false], ['matchesThisPod', []]), [[7], true]);
});
