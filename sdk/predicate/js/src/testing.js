// What tests import. `types/testing.d.ts` documents it.
export { cases } from './testing/cases.js';
export { cluster } from './testing/cluster.js';
