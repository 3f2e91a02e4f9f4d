import assert from 'node:assert/strict';
import test from 'node:test';

import { args, failed, nodeScorer, noScore, predicate, skip, unresolvable } from '@nodesift/predicate';

import { guest } from '../src/guest.js';

const OTHER = unresolvable('other');

const definition = predicate({
  name: 'Test',
  summary: 'tests',
  reads: ['pod-labels'],
  args: { key: args.string({ default: 'a' }) },
  check: ({ key }) => (key === 'crash' ? key.no.such : undefined),
  filter(pod, nodes, { key }) {
    const value = pod.label(key);
    if (value === 'crash') throw new TypeError('odd\nvalue');
    return value === undefined ? undefined : OTHER;
  },
});

/** A component with a pod that has these labels, and the lines that it writes. */
function component(labels, places = {}) {
  const written = [];
  const functions = {
    'pod-labels': { label: (key) => labels[key] ?? null },
    log: { write: (level, text) => written.push([level, text]) },
  };
  return { written, ...guest(definition, '1.2.3', functions, () => places) };
}

test('it describes itself, takes arguments and filters', () => {
  const { describe, configure, filter } = component({ b: 'x' });
  assert.deepEqual(describe(), { name: 'Test', version: '1.2.3', summary: 'tests' });
  configure('{}');
  assert.deepEqual(filter(3), { tag: 'fits-all' });
  configure('{"key":"b"}');
  assert.deepEqual(filter(3), { tag: 'fits-none', val: OTHER });
});

test('a scorer has the exports of both, and a predicate not those of a scorer', () => {
  const { normalizeBy, score } = component({});
  assert.deepEqual([normalizeBy, score], [undefined, undefined]);
  const scorer = nodeScorer({
    name: 'Test', summary: 'tests', reads: ['pod-labels'], normalization: 'by-largest-reversed',
    score(pod) {
      const given = pod.label('score');
      return { none: noScore, skip, failed: failed('odd') }[given] ?? Number(given);
    },
  });
  const scores = (given) => {
    const functions = { 'pod-labels': { label: () => given } };
    const { configure, normalizeBy: by, score: of, filter } = guest(scorer, '1', functions, () => ({}));
    configure('{}');
    assert.equal(by(), 'by-largest-reversed');
    assert.deepEqual(filter(2), { tag: 'fits-all' });
    return { ...of(2) };
  };
  assert.deepEqual(scores('7'), { tag: 'by-row', val: [7, 7] });
  assert.deepEqual(scores('none'), { tag: 'by-row', val: [-(2 ** 63), -(2 ** 63)] });
  assert.deepEqual(scores('skip'), { tag: 'skip' });
  assert.deepEqual(scores('failed'), { tag: 'failed', val: 'odd' });
  assert.throws(() => scores('x'), /a score is a whole number or noScore, not NaN/);
});

test('refused arguments are a text, that of a crash as well', () => {
  const thrownBy = (text) => {
    try {
      component({}).configure(text);
    } catch (thrown) {
      return thrown;
    }
    return assert.fail('accepted');
  };
  assert.match(thrownBy('{"kye":"b"}'), /^kye: unknown field/);
  assert.match(thrownBy('{"key":"crash"}'), /^TypeError: Cannot read properties of undefined/);
});

test('an exception is written with its place, and then thrown', () => {
  const here = /guest\.test\.js:(\d+)/;
  const line = Number(here.exec(atThrow())[1]);
  const { written, configure, filter } = component({ a: 'crash' }, { [line]: ['predicate.ts:7', 'throw it'] });
  configure('{}');
  assert.throws(() => filter(3), TypeError);
  assert.equal(written.length, 1);
  const [[level, text]] = written;
  assert.equal(level, 'error');
  assert.match(text, /^TypeError: odd\nvalue, at predicate\.ts:7 in .*filter: throw it/);
});

/** The place of the exception in `definition`. */
function atThrow() {
  const { configure, filter } = component({ a: 'crash' });
  configure('{}');
  try {
    filter(1);
  } catch (thrown) {
    return thrown.stack;
  }
  return '';
}

test('what is no predicate is refused', () => {
  assert.throws(() => guest({ filter() {} }, '1', {}, () => ({})), /default export/);
});
