import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';

import { importsOf, narrowed } from '../src/world.js';

const own = readFileSync(new URL('../wit/predicate.wit', import.meta.url), 'utf8');

test('a world imports what is read, and the interfaces that give no facts', () => {
  const imports = importsOf(own, ['node-labels', 'pod-labels']);
  assert.deepEqual(imports, ['pod-labels', 'node-labels', 'row-sets', 'log']);
  const world = (exported) => /^world guest \{[^]*?^\}/m.exec(narrowed(own, imports, exported))[0];
  assert.deepEqual([...world(['predicate']).matchAll(/import (.*);/g)].map(([, name]) => name), imports);
  for (const exported of [['predicate'], ['predicate', 'scorer']]) {
    assert.deepEqual([...world(exported).matchAll(/export (.*);/g)].map(([, name]) => name), exported);
  }
});

test('an interface that the contract does not have is refused', () => {
  assert.throws(() => importsOf(own, ['node-label']), /reads: the contract has no interface node-label; it has pod-labels/);
});
