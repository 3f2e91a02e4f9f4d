// The time that a unit test gives a predicate. The sandbox ends a loop that does not end as well, but cannot tell its line. Start at `begin`.
import { Worker } from 'node:worker_threads';

/** Milliseconds of processor time for one evaluation, which takes some: how busy a machine is does not matter. */
export const limit = { ms: 10_000 };

/** Whether an evaluation runs: it is odd then. */
let state;

function start() {
  state = new Int32Array(new SharedArrayBuffer(4));
  // It looks at this thread from outside, since a loop leaves it no turn.
  new Worker(new URL('./limit_worker.js', import.meta.url), { workerData: { state, ms: limit.ms, folder: process.cwd() } }).unref();
}

function change() {
  Atomics.add(state, 0, 1);
  Atomics.notify(state, 0);
}

/** Begins an evaluation. Returns what ends it; where that does not happen in time, the process ends, and its last line has the place. */
export function begin() {
  if (state === undefined) start();
  change();
  return change;
}
