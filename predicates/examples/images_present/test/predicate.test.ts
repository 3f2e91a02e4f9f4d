import assert from 'node:assert/strict';
import test from 'node:test';

import { cluster } from '@nodesift/predicate/testing';

import predicate from '../src/predicate.ts';

const REASON = "node(s) didn't have the pod's images";
const nodes = [
  { name: 'both', images: ['app:v1', 'proxy:v2'] },
  { name: 'one', images: ['app:v1'] },
  { name: 'none' },
];
const pod = { labels: { 'example.com/start': 'at-once' }, images: ['app:v1', 'proxy:v2'] };

test('a pod runs where all its images are', () => {
  assert.deepEqual(cluster({ pod, nodes }).rejected(predicate), [`one: ${REASON}`, `none: ${REASON}`]);
});

test('a pod that may wait runs everywhere', () => {
  assert.deepEqual(cluster({ pod: { images: ['app:v1'] }, nodes }).rejected(predicate), []);
});

test('the label is an argument', () => {
  const soon = { labels: { start: 'now' }, images: ['app:v1'] };
  assert.deepEqual(cluster({ pod: soon, nodes }).rejected(predicate, { label: 'start', value: 'now' }), [`none: ${REASON}`]);
});
