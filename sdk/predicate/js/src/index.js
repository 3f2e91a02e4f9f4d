// What authors import. `types/index.d.ts` documents it.
export { facts, log } from './host.js';
export { nodePredicate, byRow, predicate } from './predicate.js';
export { failed, nodeScorer, noScore, scorer, skip } from './scorer.js';
export { error, Failure, unresolvable, unschedulable } from './verdict.js';
export * as args from './args.js';
export { configEntry, passed } from './state.js';
