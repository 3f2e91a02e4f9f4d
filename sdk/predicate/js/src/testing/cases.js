// The cases of `cases.yaml` as unit tests: evaluated here, without the sandbox. `nodesift-dev` reads the file, and compares what was found
// with what the case expects, so that a case means the same as in `nodesift-dev module test`. Start at `cases`.
import { spawnSync } from 'node:child_process';

import { ArgumentError } from '../args.js';
import { cluster } from './cluster.js';

/** Names of the status codes, as cases have them. */
const CODES = {
  'unschedulable-and-unresolvable': 'UnschedulableAndUnresolvable', unschedulable: 'Unschedulable', error: 'Error',
};
/** Bytes of the cases of a file as JSON: those of the largest file of cases, and what its defaults repeat. */
const OUTPUT_BYTES = 256 << 20;

/** What `nodesift-dev module cases` prints. */
function asked(file, given, input) {
  const program = process.env.NODESIFT_DEV ?? 'nodesift-dev';
  const { error, status, stdout, stderr } = spawnSync(program, ['module', 'cases', file, ...given], {
    encoding: 'utf8', input, maxBuffer: OUTPUT_BYTES,
  });
  if (error !== undefined) throw new Error(`${program} does not run, which reads ${file}: ${error.message}`);
  if (status !== 0) throw new Error(stderr.trim());
  return JSON.parse(stdout).cases;
}

/** The cases of a file, in its order. */
export function cases(file = 'cases.yaml') {
  return asked(file, []).map((given) => new Case(file, given));
}

class Case {
  constructor(file, { name, line, args, skip = false, cluster: fields }) {
    Object.assign(this, { file, name, line, args, skip });
    this._fields = fields;
  }

  /** Throws where the predicate answers otherwise than the case expects. */
  check(predicate) {
    if (this.skip) throw new Error(`${this.file}:${this.line}: ${this.skip}`);
    const found = JSON.stringify([{ name: this.name, ...this._found(predicate) }]);
    const [{ failure }] = asked(this.file, ['--answers', '-'], found);
    if (failure === null) return;
    const error = new Error(failure.trimEnd());
    // The place is that of the case.
    error.stack = error.message;
    throw error;
  }

  _found(predicate) {
    try {
      predicate.configure(JSON.stringify(this.args));
    } catch (thrown) {
      if (thrown instanceof ArgumentError) return { refused: thrown.message };
      return { fault: String(thrown) };
    }
    let done;
    try {
      done = cluster(this._fields).evaluate(predicate, this.args);
    } catch (thrown) {
      return { fault: String(thrown) };
    }
    const rejected = {};
    this._fields.nodes.forEach(({ name }, row) => {
      const failure = done.failures[row];
      if (failure !== undefined) rejected[name] = { code: CODES[failure.status], reasons: failure.reasons };
    });
    return { rejected, log: done.lines.map(({ level, text }) => ({ level, text: String(text) })) };
  }
}
