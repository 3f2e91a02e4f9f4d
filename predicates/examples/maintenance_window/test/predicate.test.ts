import assert from 'node:assert/strict';
import test from 'node:test';

import { cluster } from '@nodesift/predicate/testing';

import predicate from '../src/predicate.ts';

const WINDOW = 'example.com/maintenance';
const TOO_LATE = 'node(s) have maintenance before the pod would be done';
const at = (time: string) => Date.parse(`2026-12-01T${time}Z`) / 1_000;
const nodes = [
  { name: 'utc', annotations: { [WINDOW]: '2026-12-01T02:00:00Z/2026-12-01T04:00:00Z' } },
  { name: 'zone', annotations: { [WINDOW]: '2026-12-01T04:00:00+01:00/2026-12-01T05:00:00+01:00' } },
  { name: 'none' },
];

function rejected(duration: string | undefined, now: number): string[] {
  return cluster({ pod: { annotations: { 'example.com/expected-duration': duration } }, nodes, now }).rejected(predicate);
}

test('a pod has to be done before the maintenance begins', () => {
  assert.deepEqual(rejected('90m', at('00:29:59')), []);
  assert.deepEqual(rejected('90m', at('00:30:00')), [`utc: ${TOO_LATE}`]);
  assert.deepEqual(rejected('2h', at('01:00:00')), [`utc: ${TOO_LATE}`, `zone: ${TOO_LATE}`]);
});

test('a node takes pods again after its maintenance', () => {
  assert.deepEqual(rejected('1s', at('03:59:59')), [`utc: ${TOO_LATE}`, `zone: ${TOO_LATE}`]);
  assert.deepEqual(rejected('2d', at('04:00:00')), []);
});

test('a pod without a duration runs everywhere', () => {
  assert.deepEqual(rejected(undefined, at('03:00:00')), []);
});

test('a duration that cannot be read is said', () => {
  for (const duration of ['', '5', '1.5h', 'h', '-1h', '1h30m']) assert.equal(rejected(duration, 0).length, nodes.length, duration);
});

test('a window that cannot be read rejects its node', () => {
  const reason = 'node(s) had a maintenance window that cannot be read';
  const begin = '2026-12-01T02:00:00Z';
  for (const window of ['', 'tomorrow', begin, `${begin}/`, `${begin}/2026-12-01T01:00:00Z`, `${begin}/2026-13-01T01:00:00Z`, `${begin}/${begin}/x`]) {
    const cases = cluster({
      pod: { annotations: { 'example.com/expected-duration': '1h' } },
      nodes: [{ name: 'a', annotations: { [WINDOW]: window } }],
    });
    assert.deepEqual(cases.rejected(predicate), [`a: ${reason}`], window);
  }
});
