// Writes cases.yaml: what unit tests answer about cluster.json is what the built module must answer. Prints how many answers there are.
import { readFileSync, writeFileSync } from 'node:fs';

import { cluster } from '@nodesift/predicate/testing';

import facts, { REASONS } from './predicate.js';

/** Interfaces that give no facts, and those whose answers other tests compare. */
const NOT_ASKED = ['row-sets', 'log', 'node-labels', 'node-annotations', 'node-info'];

const contract = readFileSync('node_modules/@nodesift/predicate/wit/predicate.wit', 'utf8');
const [world] = /^world guest \{\n[^]*?^\}/m.exec(contract);
const missing = [...world.matchAll(/^ {4}import ([a-z-]+);/gm)].map(([, name]) => name)
  .filter((name) => !facts.reads.includes(name) && !NOT_ASKED.includes(name));
if (missing.length > 0) throw new Error(`no function is asked of ${missing.join(', ')}: add them to predicate.js`);

const given = JSON.parse(readFileSync('cluster.json', 'utf8'));
const units = (amounts) =>
  amounts && Object.fromEntries(Object.entries(amounts).map(([resource, amount]) => [resource, resource === 'cpu' ? `${amount}m` : amount]));
const short = ({ requests, requested, allocatable, ...fields }) => ({
  ...fields,
  ...(requests && { requests: units(requests) }),
  ...(requested && { requested: units(requested) }),
  ...(allocatable && { allocatable: units(allocatable) }),
});
const of = cluster(given);
const cases = [];
let count = 0;
for (let first = 0; ; first += REASONS) {
  const [failure] = of.evaluate(facts, { first }).failures;
  if (failure === undefined) break;
  count += failure.reasons.length;
  const rejects = Object.fromEntries(given.nodes.map(({ name }) => [name, failure.reasons]));
  cases.push({ name: `answers from ${first}`, args: { first }, pod: short(given.pod), rejects });
}
const objects = Object.entries(given.configMaps).map(([key, data]) => {
  const [namespace, name] = key.split('/');
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name }, data };
});
const file = {
  module: 'predicate.wasm', now: given.now, nodes: given.nodes.map(short), pods: given.pods.map(short), objects,
  configMaps: Object.keys(given.configMaps),
  namespaces: Object.entries(given.namespaces).map(([name, labels]) => ({ name, labels })),
  cases,
};
// JSON is YAML.
writeFileSync('cases.yaml', JSON.stringify(file, null, 1));
console.log(`${count} answers of unit tests`);
