import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';

import { args, predicate, unresolvable } from '@nodesift/predicate';
import { cases } from '@nodesift/predicate/testing';

const file = fileURLToPath(new URL('../../cases/cases.yaml', import.meta.url));
const failed = readFileSync(new URL('../../cases/failed.txt', import.meta.url), 'utf8').trimEnd();
const others = unresolvable("node(s) didn't belong to the pod's team");
const team = predicate({
  name: 'Team', summary: 'tests', reads: ['pod-labels', 'node-labels'], args: { label: args.string({}) },
  filter(pod, nodes, { label }) {
    const own = pod.label(label);
    if (own !== undefined) nodes.reject(nodes.labelIn(label, [own]).not(), others);
  },
});
const all = cases(file);

for (const each of all.filter(({ name }) => !name.startsWith('fails'))) {
  test(each.name, { skip: each.skip }, () => each.check(team));
}

test('a case that fails says where it is, and what was expected and found', () => {
  const [fails] = all.filter(({ name }) => name.startsWith('fails'));
  assert.throws(() => fails.check(team), (error) => error.message.replace(file, 'cases.yaml') === failed);
});

test('an exception is what a case has found', () => {
  const throws = predicate({ name: 'Throws', summary: 'tests', reads: [], args: { label: args.string({}) }, filter: () => undefined.x });
  const found = /- a verdict\n {2}\+ the fault Trap: TypeError: Cannot read properties of undefined/;
  assert.throws(() => all[0].check(throws), ({ message }) => message.startsWith('FAILED  a pod fits') && found.test(message));
});

test('what no unit test can evaluate says why', () => {
  const [skipped] = all.filter(({ skip }) => skip);
  assert.throws(() => skipped.check(team), /cases\.yaml:\d+: .*node affinity/);
});

test('a file that is not there is named', () => {
  assert.throws(() => cases('none.yaml'), /none\.yaml/);
});
