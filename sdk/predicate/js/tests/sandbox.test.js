// Unit tests run in the world of the component: what the sandbox lacks is not there.
import assert from 'node:assert/strict';
import test from 'node:test';

import { predicate } from '@nodesift/predicate';
import { cluster } from '@nodesift/predicate/testing';

const does = (filter) => predicate({ name: 'Test', summary: 'tests', reads: [], filter });
const run = (filter) => cluster({ nodes: [{ name: 'a' }] }).evaluate(does(filter));

const LACKING = {
  'Date.now: a predicate has no clock': () => Date.now(),
  'new Date(): a predicate has no clock': () => new Date(),
  'Date(): a predicate has no clock': () => Date(),
  'performance: a predicate has no clock': () => performance.now(),
  'Math.random: a predicate has no randomness': () => Math.random(),
  'crypto: a predicate has no randomness': () => crypto.randomUUID(),
  'setTimeout: a predicate cannot wait': () => setTimeout(() => {}, 1),
  'fetch: a predicate has no network': () => fetch('http://localhost'),
  'process: a predicate has no process': () => process.env.HOME,
};

for (const [text, use] of Object.entries(LACKING)) {
  test(text, () => {
    assert.throws(() => run(() => void use()), (thrown) => thrown.name === 'NotInSandbox' && thrown.message.startsWith(text));
  });
}

test('a moment that is given is no clock', () => {
  const { failures } = run(() => {
    assert.equal(new Date('2026-01-31T00:00:00Z').getTime(), Date.parse('2026-01-31T00:00:00Z'));
    assert.ok(new Date(0) instanceof Date);
  });
  assert.deepEqual(failures, [undefined]);
});

test('console writes into the log', () => {
  const { lines } = run(() => {
    console.log('a', 1, { b: [2] });
    console.warn(new TypeError('odd'));
    console.assert(1 < 2, 'never');
    console.assert(1 > 2, 'seen');
  });
  assert.deepEqual(lines, [
    { level: 'info', text: 'a 1 {"b":[2]}' },
    { level: 'warn', text: 'TypeError: odd' },
    { level: 'error', text: 'assertion failed seen' },
  ]);
});

test('what was taken away is there again', () => {
  assert.throws(() => run(() => Date.now()), /no clock/);
  assert.ok(Date.now() > 0 && new Date().getTime() > 0 && Math.random() < 1 && typeof process.pid === 'number');
  assert.equal(typeof console.table, 'function');
});
