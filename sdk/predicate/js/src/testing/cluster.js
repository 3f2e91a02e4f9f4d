// Tests of a predicate or a scorer with plain pods and nodes, without wasm and without a sidecar. Start at `cluster`.
//
// The same code of this package runs as in a component, in a world that lacks what a component lacks; only the functions of the host are
// those of this file.
import { bind } from '../host.js';
import { Predicate } from '../predicate.js';
import { enter } from '../sandbox.js';
import { Scorer } from '../scorer.js';
import { empty } from './empty.js';
import { PodFacts, NodeFacts, stateFunctions } from './facts.js';
import { begin } from './limit.js';
import { RowSets } from './row_sets.js';
import { Running, SCHEDULER_NAMES } from './running.js';
import { scoring } from './scores.js';

/** What every predicate has besides what it `reads`. */
const ALWAYS = ['row-sets', 'log'];

/** The fields of a cluster, which are those of `cases.yaml`, and what they are by default. */
const FIELDS = {
  pod: {}, nodes: [], pods: [], namespaces: {}, schedulerNames: SCHEDULER_NAMES, deviceClassResources: [], now: 0, configMaps: {},
  facts: {},
};

/** A pod, nodes, and pods on them. `facts` takes the place of functions that are there: `{ 'cluster-pods': { matching } }`. */
export function cluster(given) {
  const unknown = Object.keys(given).filter((field) => !(field in FIELDS));
  if (unknown.length > 0) {
    throw new TypeError(`a cluster has ${Object.keys(FIELDS).join(', ')}, and no ${unknown.join(', ')}`);
  }
  return new Cluster({ ...FIELDS, ...given });
}

const madePod = (fields) => new PodFacts(fields);

class Cluster {
  constructor(fields) {
    Object.assign(this, fields);
    this.pod = madePod(fields.pod);
    this.pods = fields.pods.map(madePod);
    this.nodes = fields.nodes.map((node) => new NodeFacts(node));
    for (const { name, nodeName } of this.pods) {
      if (!this.nodes.some((node) => node.name === nodeName)) {
        throw new TypeError(`the pod ${name} of the cluster has the nodeName ${nodeName}: there is no such node`);
      }
    }
  }

  /** The functions of each interface about some of the nodes; `further` are those of the kind of call. */
  functions(nodes, sets, further = {}) {
    const sources = [
      empty(nodes.length),
      stateFunctions(this.now, this.configMaps),
      this.pod.functions(),
      NodeFacts.functions(nodes, this.pod, sets),
      new Running(this.pod, nodes, this, madePod).functions(sets),
      { 'row-sets': sets.functions() },
      further,
      this.facts,
    ];
    const all = {};
    for (const source of sources) {
      for (const [name, functions] of Object.entries(source)) all[name] = { ...all[name], ...functions };
    }
    return all;
  }

  /** The rejected nodes, each as `name: reason; reason`, in the order of nodes. */
  rejected(predicate, args) {
    return this.evaluate(predicate, args).rejected;
  }

  /** The rejected nodes, the failure of each node, the lines written, and the interfaces that were read. */
  evaluate(predicate, args = {}) {
    if (!(predicate instanceof Predicate)) throw new TypeError('expected what predicate(…) or nodePredicate(…) has returned');
    const configured = predicate.configure(JSON.stringify(args));
    const whole = this._run(predicate, configured, this.nodes);
    if (!predicate.reads.some((name) => name.startsWith('cluster-'))) {
      this.nodes.forEach((node, row) => this._compare(predicate, configured, node, whole.failures[row]));
    }
    const rejected = this.nodes.flatMap(({ name }, row) =>
      whole.failures[row] === undefined ? [] : [`${name}: ${whole.failures[row].reasons.join('; ')}`],
    );
    return { rejected, ...whole };
  }

  /** The scores of the nodes, the lines written, and the interfaces that were read. */
  scores(scorer, args = {}) {
    if (!(scorer instanceof Scorer)) throw new TypeError('expected what scorer(…) or nodeScorer(…) has returned');
    const configured = scorer.configure(JSON.stringify(args));
    const { value, ...seen } = this._scoreRows(scorer, configured, this.nodes);
    if (!scorer.reads.some((name) => name.startsWith('cluster-'))) {
      this.nodes.forEach((node, row) => this._compareScore(scorer, configured, node, row, value));
    }
    const names = this.nodes.map(({ name }) => name);
    return { ...scoring(scorer.normalization, value, names, this.nodes.map(({ infeasible }) => !infeasible)), ...seen };
  }

  /** The host may score any node again, alone: the raw score must be the same. */
  _compareScore(scorer, configured, node, row, whole) {
    const { value: alone } = this._scoreRows(scorer, configured, [node]);
    const text = ({ tag, val }, at) => (tag === 'by-row' ? String(val[at]) : `${tag} ${val ?? ''}`.trim());
    if (text(alone, 0) !== text(whole, row)) {
      throw new Error(
        `the score of the node ${node.name} depends on the other nodes: ${text(whole, row)}; without them, ${text(alone, 0)}`,
      );
    }
  }

  _scoreRows(scorer, configured, nodes) {
    const sets = new RowSets(nodes.length, { refused: 'score makes a row set: the host ends the call there' });
    const candidates = { feasible: () => Uint8Array.from(nodes, ({ infeasible }) => Number(!infeasible)) };
    const functions = this.functions(nodes, sets, { 'cluster-candidates': candidates });
    return this._call(scorer.reads, functions, () => scorer.scoreRows(configured, nodes.length));
  }

  /** The host may evaluate any node again, alone: the verdict must be the same. */
  _compare(predicate, configured, node, expected) {
    const [alone] = this._run(predicate, configured, [node]).failures;
    const text = (failure) => (failure === undefined ? 'it fits' : `${failure.status}: ${failure.reasons.join('; ')}`);
    if (text(alone) !== text(expected)) {
      throw new Error(
        `the verdict for the node ${node.name} depends on the other nodes: ${text(expected)}; without them, ${text(alone)}`,
      );
    }
  }

  _run(predicate, configured, nodes) {
    const sets = new RowSets(nodes.length);
    const call = () => sets.merge(failuresOf(predicate.run(configured, nodes.length), nodes.length));
    const { value: failures, ...seen } = this._call(predicate.reads, this.functions(nodes, sets), call);
    return { failures, ...seen };
  }

  /** What a call returns, the lines written, and the interfaces that were read. */
  _call(reads, answers, call) {
    const lines = [];
    const read = new Set();
    const available = { ...answers, log: { write: (level, text) => lines.push({ level, text }) } };
    const functions = {};
    for (const name of [...reads, ...ALWAYS]) {
      if (!(name in available)) {
        throw new TypeError(`the contract has no interface ${name}`);
      }
      functions[name] = noted(name, available[name], read);
    }
    const before = bind(functions);
    const end = begin();
    const leave = enter();
    try {
      const value = call();
      for (const name of ALWAYS) read.delete(name);
      return { value, lines, read: [...read].sort() };
    } finally {
      leave();
      end();
      bind(before);
    }
  }
}

/** The functions of an interface, with a note in `read` when one is called. */
function noted(name, functions, read) {
  const entries = Object.entries(functions).map(([key, call]) => [
    key,
    (...given) => {
      read.add(name);
      return call(...given);
    },
  ]);
  return Object.fromEntries(entries);
}

/** The failure of each row, checked as the host checks it. */
function failuresOf({ tag, val }, rows) {
  if (tag === 'fits-all') return new Array(rows).fill(undefined);
  if (tag === 'fits-none') return new Array(rows).fill(val);
  if (val.codes.length !== rows) throw new RangeError(`the verdict has ${val.codes.length} codes for ${rows} rows`);
  return Array.from(val.codes, (code) => {
    if (code > val.failures.length) throw new RangeError(`the verdict has no failure for the code ${code}`);
    return code === 0 ? undefined : val.failures[code - 1];
  });
}
