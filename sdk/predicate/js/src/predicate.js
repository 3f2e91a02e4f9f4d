// What an author defines (`predicate`, `nodePredicate`), and how it is configured and run. The component and the tests run it
// by the same functions. Scorers are in `scorer.js`.
import { ArgumentError, parse } from './args.js';
import { Node, Nodes } from './nodes.js';
import { Pod } from './pod.js';
import { Codes, Failure } from './verdict.js';

/** A predicate. `what` is what the author calls it, in errors. Only a scorer can be without `filter`. */
export class Predicate {
  constructor(form, definition, what = 'predicate') {
    const { name, summary, reads, args = {}, check, filter, ...unknown } = definition;
    for (const [field, value] of Object.entries({ name, summary })) {
      if (typeof value !== 'string' || value === '') throw new TypeError(`a ${what} needs a ${field}, a text`);
    }
    if (!Array.isArray(reads)) throw new TypeError(`a ${what} needs \`reads\`: the interfaces that it reads, a list of texts`);
    if (typeof filter !== 'function' && (filter !== undefined || what === 'predicate')) {
      throw new TypeError(`a ${what} needs a function \`filter\``);
    }
    if (Object.keys(unknown).length > 0) throw new TypeError(`a ${what} has no field ${Object.keys(unknown).join(', ')}`);
    Object.assign(this, { form, name, summary, reads, args, check, filter });
  }

  /** The arguments in a JSON text. Throws an `ArgumentError` where they are not valid. */
  configure(text) {
    const args = parse(this.args, text);
    const refused = this.check?.(args);
    if (refused !== undefined && refused !== true) throw new ArgumentError('', String(refused));
    return Object.freeze(args);
  }

  /** The verdict for a call of `rows` rows, as the contract has it. */
  run(args, rows) {
    if (this.filter === undefined) return { tag: 'fits-all' };
    return this.form === 'node' ? this._byNode(args, rows) : this._overNodes(args, rows);
  }

  _overNodes(args, rows) {
    const nodes = new Nodes(rows);
    const returned = this.filter(new Pod(), nodes, args);
    if (returned === undefined) return nodes._verdict();
    if (returned instanceof Failure) return { tag: 'fits-none', val: returned };
    if (returned instanceof ByRow) return { tag: 'by-row', val: returned };
    throw new TypeError('filter returns nothing, a failure for a pod that fits no node, or byRow(…)');
  }

  _byNode(args, rows) {
    const pod = new Pod();
    const node = new Node(new Nodes(rows));
    const verdict = new Codes(rows);
    const { filter } = this;
    for (let row = 0; row < rows; row += 1) {
      node._row = row;
      const failure = filter(pod, node, args);
      if (failure !== undefined) verdict.reject(row, failure);
    }
    return verdict.verdict();
  }
}

/** A verdict with a code per row. */
class ByRow {
  constructor(codes, failures) {
    this.codes = codes instanceof Uint16Array ? codes : Uint16Array.from(codes);
    this.failures = failures;
  }
}

/** A verdict by row: `codes` has an entry per row, 0 where the node fits, k where it fails with `failures[k - 1]`. */
export const byRow = (codes, failures) => new ByRow(codes, failures);

/** A predicate that is a function of the pod and all nodes of a call. */
export const predicate = (definition) => Object.freeze(new Predicate('nodes', definition));

/** A predicate that is a function of the pod and one node. */
export const nodePredicate = (definition) => Object.freeze(new Predicate('node', definition));
