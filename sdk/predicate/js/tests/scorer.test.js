import assert from 'node:assert/strict';
import test from 'node:test';

import { args, failed, log, nodePredicate, nodeScorer, noScore, scorer, skip, unresolvable } from '@nodesift/predicate';
import { cluster } from '@nodesift/predicate/testing';

import { normalized } from '../src/testing/scores.js';

const about = { name: 'Test', summary: 'tests', normalization: 'none' };
const nodes = [
  { name: 'a', labels: { tier: '30' }, allocatable: { cpu: 4000 } },
  { name: 'b', labels: { tier: '60' }, allocatable: { cpu: 1000 }, infeasible: true },
  { name: 'c', allocatable: { cpu: 2000 } },
];
const byTier = nodeScorer({ ...about, reads: ['node-labels'], score: (pod, node) => Number(node.label('tier') ?? noScore) });

test('a function of one node scores each, and one over columns says the same', () => {
  const found = cluster({ nodes }).scores(byTier);
  assert.deepEqual(found, {
    outcome: 'Scored', error: undefined, raw: { a: 30, b: 60 }, normalized: { a: 30, c: 0 }, lines: [], read: ['node-labels'],
  });
  const byColumns = scorer({
    ...about,
    reads: ['node-labels'],
    score(pod, all) {
      const { codes, integers } = all.labels('tier');
      return codes.map((code) => (code === 0 ? noScore : integers[code]));
    },
  });
  assert.deepEqual(cluster({ nodes }).scores(byColumns), found);
  const typed = scorer({ ...about, reads: [], score: (pod, all) => new Float64Array(all.count).fill(5) });
  assert.deepEqual(cluster({ nodes }).scores(typed).raw, { a: 5, b: 5, c: 5 });
});

test('raw scores are normalized over the nodes on which the pod fits', () => {
  const cpu = (normalization) =>
    cluster({ nodes }).scores(
      nodeScorer({ ...about, normalization, reads: ['node-resources'], score: (pod, node) => node.allocatable('cpu') }),
    ).normalized;
  assert.deepEqual(cpu('by-largest'), { a: 100, c: 50 });
  assert.deepEqual(cpu('by-largest-reversed'), { a: 0, c: 50 });
  assert.deepEqual(cpu('by-range'), { a: 100, c: 0 });
  assert.deepEqual(cpu('by-distance'), { a: 50, c: 100 });
  assert.throws(() => cpu('none'), /the node a has the score 4000 by the normalization none: the host takes 0 to 100/);
});

test('normalizations compute as the host does', () => {
  for (const [normalization, raw, expected] of [
    ['none', [0, 100, 7, noScore], [0, 100, 7, 0]],
    ['by-largest', [0, 1, 3], [0, 33, 100]],
    ['by-largest', [0, 0], [0, 0]],
    ['by-largest', [-3, -1], [-3, -1]],
    ['by-largest-reversed', [0, 1, 3], [100, 67, 0]],
    ['by-largest-reversed', [0, 0, noScore], [100, 100, 0]],
    ['by-range', [0, 29, 57, 58, 100], [0, 28, 56, 57, 100]],
    ['by-range', [-50, 0, 50], [0, 50, 100]],
    ['by-range', [7, 7], [0, 0]],
    ['by-distance', [0, 1, 4], [100, 75, 0]],
    ['by-distance', [2, 4, 3], [100, 50, 75]],
    ['by-distance', [0, 0], [100, 100]],
  ]) {
    assert.deepEqual(normalized(normalization, raw), expected, `${normalization} of ${raw}`);
    assert.deepEqual(normalized(normalization, [noScore, noScore]), [0, 0]);
    assert.deepEqual(normalized(normalization, []), []);
  }
  // 100 × 2^53 is beyond 2^63 times one, and wraps.
  const large = Number.MAX_SAFE_INTEGER;
  assert.deepEqual(normalized('by-largest', [large]), [Number(BigInt.asIntN(64, 100n * BigInt(large)) / BigInt(large))]);
});

test('a scorer has nothing to say about a pod, or cannot score it', () => {
  const says = (returned) => [
    scorer({ ...about, reads: [], score: () => returned }), nodeScorer({ ...about, reads: [], score: () => returned }),
  ];
  for (const one of says(skip)) {
    const { outcome, error, raw } = cluster({ nodes }).scores(one);
    assert.deepEqual([outcome, error, raw], ['Skipped', undefined, {}]);
  }
  for (const one of says(failed('no tier'))) {
    const { outcome, error } = cluster({ nodes }).scores(one);
    assert.deepEqual([outcome, error], ['Failed', 'no tier']);
  }
  const some = nodeScorer({ ...about, reads: ['node-labels'], score: (pod, node) => (node.label('tier') ? 1 : skip) });
  assert.throws(() => cluster({ nodes }).scores(some), /skip and failed\(…\) are about the pod/);
});

test('what only scores rejects nothing, and a scorer can have a filter', () => {
  assert.deepEqual(cluster({ nodes }).rejected(byTier), []);
  const both = nodeScorer({
    ...about, reads: ['node-labels'], score: () => 1, filter: (pod, node) => (node.label('tier') ? undefined : unresolvable('no tier')),
  });
  assert.deepEqual(cluster({ nodes }).rejected(both), ['c: no tier']);
  assert.deepEqual(cluster({ nodes }).scores(both).normalized, { a: 1, c: 1 });
});

test('a score that depends on other nodes is refused, unless it reads what is of the cluster', () => {
  const rank = { ...about, score: (pod, all) => Array.from({ length: all.count }, (_, row) => row) };
  assert.throws(() => cluster({ nodes }).scores(scorer({ ...rank, reads: [] })), /the score of the node b depends on the other nodes: 1; without them, 0/);
  assert.deepEqual(cluster({ nodes }).scores(scorer({ ...rank, reads: ['cluster-candidates'] })).raw, { a: 0, b: 1, c: 2 });
});

test('candidates are the nodes on which the pod fits', () => {
  const reads = ['cluster-candidates'];
  const fitting = scorer({ ...about, reads, score: (pod, all) => [...all.feasible] });
  assert.deepEqual(cluster({ nodes }).scores(fitting).raw, { a: 1, b: 0, c: 1 });
  const seen = [];
  const filters = scorer({ ...about, reads, score: () => skip, filter: (pod, all) => void seen.push(...all.feasible) });
  cluster({ nodes }).rejected(filters);
  assert.deepEqual(seen, [1, 1, 1]);
});

test('score makes no row sets', () => {
  const sets = scorer({ ...about, reads: ['node-labels'], score: (pod, all) => void all.labelExists('tier') });
  assert.throws(() => cluster({ nodes }).scores(sets), /score makes a row set: the host ends the call there/);
});

test('what is no score is refused', () => {
  const returns = (returned) => () => cluster({ nodes }).scores(scorer({ ...about, reads: [], score: () => returned }));
  assert.throws(returns(undefined), /score returns a score for each row, skip or failed/);
  assert.throws(returns([1, 2]), /score returns 2 scores for 3 rows/);
  assert.throws(returns([1, 2, 0.5]), /a score is a whole number or noScore, not 0.5/);
  assert.throws(returns([1, 2, NaN]), /not NaN/);
  assert.throws(returns([1, 2, undefined]), /not undefined/);
  const forgets = nodeScorer({ ...about, reads: [], score: () => {} });
  assert.throws(() => cluster({ nodes }).scores(forgets), /a score is a whole number or noScore, not undefined/);
});

test('a definition without what it needs is refused', () => {
  assert.throws(() => scorer({ ...about, reads: [] }), /a scorer needs a function `score`/);
  assert.throws(() => scorer({ ...about, reads: [], score() {}, normalization: 'ByRange' }), /a normalization, one of none, by-largest/);
  assert.throws(() => scorer({ ...about, score() {} }), /a scorer needs `reads`/);
  assert.throws(() => scorer({ ...about, reads: [], score() {}, filter: 1 }), /a scorer needs a function `filter`/);
  assert.throws(() => scorer({ ...about, reads: [], score() {}, weight: 1 }), /a scorer has no field weight/);
  assert.throws(() => nodePredicate({ ...about, reads: [], filter() {}, score() {} }), /a predicate has no field normalization, score/);
  assert.throws(() => failed(''), /needs a text/);
  const predicate = nodePredicate({ name: 'Test', summary: 'tests', reads: [], filter() {} });
  assert.throws(() => cluster({ nodes }).scores(predicate), /expected what scorer/);
});

test('arguments, lines and interfaces are those of a predicate', () => {
  const level = scorer({
    ...about, reads: ['pod-labels'], args: { score: args.integer({ max: 100 }) },
    score(pod, all, { score }) {
      log.info(pod.label('app') ?? 'none');
      return new Array(all.count).fill(score);
    },
  });
  const { raw, lines, read } = cluster({ nodes, pod: { labels: { app: 'web' } } }).scores(level, { score: 7 });
  assert.deepEqual([raw, lines, read], [{ a: 7, b: 7, c: 7 }, [{ level: 'info', text: 'web' }], ['pod-labels']]);
  assert.throws(() => cluster({ nodes }).scores(level, { score: 101 }), /^ArgumentError: score: must be at most 100/);
});
