import assert from 'node:assert/strict';
import test from 'node:test';

import { cases, cluster } from '@nodesift/predicate/testing';

import scorer from './predicate.js';

const TEAM = 'example.com/team';
const nodes = [
  { name: 'red', labels: { [TEAM]: 'red' } },
  { name: 'blue', labels: { [TEAM]: 'blue', owner: 'red' } },
  { name: 'unlabelled' },
];

test('a pod prefers the nodes of its team', () => {
  const { normalized } = cluster({ pod: { labels: { [TEAM]: 'red' } }, nodes }).scores(scorer);
  assert.deepEqual(normalized, { red: 100, blue: 0, unlabelled: 0 });
});

test('nothing is said about a pod without a team', () => {
  assert.equal(cluster({ nodes }).scores(scorer).outcome, 'Skipped');
});

test('the label key is an argument', () => {
  const { normalized } = cluster({ pod: { labels: { owner: 'red' } }, nodes }).scores(scorer, { label: 'owner' });
  assert.deepEqual(normalized, { red: 0, blue: 100, unlabelled: 0 });
});

test('no node is rejected', () => {
  assert.deepEqual(cluster({ pod: { labels: { [TEAM]: 'red' } }, nodes }).rejected(scorer), []);
});

test('a mistyped argument is refused', () => {
  assert.throws(() => cluster({ nodes }).scores(scorer, { lable: 'owner' }), /^ArgumentError: lable: unknown field/);
});

// The cases of `nodesift-dev module test`, without the sandbox.
for (const each of cases('cases.yaml')) test(each.name, { skip: each.skip }, () => each.check(scorer));
