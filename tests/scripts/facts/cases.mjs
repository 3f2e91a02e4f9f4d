// Writes cases.yaml: what unit tests answer about cluster.json is what the built module must answer. Prints how many answers there are.
import { readFileSync, writeFileSync } from 'node:fs';

import { cluster } from '@nodesift/predicate/testing';

import facts, { REASONS } from './predicate.js';

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
for (let from = 0; ; from += REASONS) {
  const [failure] = of.evaluate(facts, { from }).failures;
  if (failure === undefined) break;
  count += failure.reasons.length;
  const rejects = Object.fromEntries(given.nodes.map(({ name }) => [name, failure.reasons]));
  cases.push({ name: `answers from ${from}`, args: { from }, pod: short(given.pod), rejects });
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
