import assert from 'node:assert/strict';
import test from 'node:test';

import { cases, cluster } from '@nodesift/predicate/testing';

import predicate, { REASON } from './predicate.js';

const TEAM = 'example.com/team';
const nodes = [
  { name: 'red', labels: { [TEAM]: 'red' } },
  { name: 'blue', labels: { [TEAM]: 'blue', owner: 'red' } },
  { name: 'unlabelled' },
];

test('a pod fits the nodes of its team only', () => {
  const pod = { labels: { [TEAM]: 'red' } };
  assert.deepEqual(cluster({ pod, nodes }).rejected(predicate), [`blue: ${REASON}`, `unlabelled: ${REASON}`]);
});

test('a pod without a team fits everywhere', () => {
  assert.deepEqual(cluster({ nodes }).rejected(predicate), []);
});

test('the label key is an argument', () => {
  const pod = { labels: { owner: 'red' } };
  const rejected = cluster({ pod, nodes }).rejected(predicate, { label: 'owner' });
  assert.deepEqual(rejected, [`red: ${REASON}`, `unlabelled: ${REASON}`]);
});

test('a mistyped argument is refused', () => {
  assert.throws(() => cluster({ nodes }).rejected(predicate, { lable: 'owner' }), /^ArgumentError: lable: unknown field/);
});

// The cases of `nodesift-dev module test`, without the sandbox.
for (const each of cases('cases.yaml')) test(each.name, { skip: each.skip }, () => each.check(predicate));
