// Scorers: what an author defines (`scorer`, `nodeScorer`), and how it is run. Start at `Scorer`.
import { Node, Nodes } from './nodes.js';
import { Pod } from './pod.js';
import { Predicate } from './predicate.js';

/** How the host makes scores from 0 to 100 of raw scores, by the names of the contract. */
const NORMALIZATIONS = ['none', 'by-largest', 'by-largest-reversed', 'by-range', 'by-distance'];

/** A raw score that stands for none: the minimum s64. */
export const noScore = -(2 ** 63);

/** The answer of a scorer that says nothing about a pod. */
export const skip = Object.freeze({ tag: 'skip' });

class Failed {
  constructor(val) {
    if (typeof val !== 'string' || val === '') throw new TypeError('failed(…) needs a text that says why the pod cannot be scored');
    this.tag = 'failed';
    this.val = val;
    Object.freeze(this);
  }
}

/** The pod cannot be scored, for this reason. */
export const failed = (reason) => new Failed(reason);

/** Whether a value is an answer about the pod, and not about a node. */
const isAboutPod = (value) => value === skip || value instanceof Failed;

/** A raw score, where it is one. Small numbers are by far the most. */
const raw = (value) => {
  if ((value | 0) === value || Number.isSafeInteger(value) || value === noScore) return value;
  throw new TypeError(`a score is a whole number or noScore, not ${String(value)}`);
};

/** A scorer. It is a predicate as well, which rejects nothing unless it has a `filter`. */
export class Scorer extends Predicate {
  constructor(form, { normalization, score, ...definition }) {
    super(form, { filter: undefined, ...definition }, 'scorer');
    if (!NORMALIZATIONS.includes(normalization)) {
      throw new TypeError(`a scorer needs a normalization, one of ${NORMALIZATIONS.join(', ')}`);
    }
    if (typeof score !== 'function') throw new TypeError('a scorer needs a function `score`');
    Object.assign(this, { normalization, score });
  }

  /** The scores for a call of `rows` rows, as the contract has them. */
  scoreRows(args, rows) {
    return this.form === 'node' ? this._scoreByNode(args, rows) : this._scoreOverNodes(args, rows);
  }

  _scoreOverNodes(args, rows) {
    const returned = this.score(new Pod(), new Nodes(rows), args);
    if (isAboutPod(returned)) return returned;
    if (typeof returned?.length !== 'number' || typeof returned === 'string') {
      throw new TypeError('score returns a score for each row, skip or failed(…)');
    }
    if (returned.length !== rows) throw new TypeError(`score returns ${returned.length} scores for ${rows} rows`);
    // By index: `Array.from` takes a step of an iterator for each row.
    const scores = new Array(rows);
    for (let row = 0; row < rows; row += 1) scores[row] = raw(returned[row]);
    return { tag: 'by-row', val: scores };
  }

  _scoreByNode(args, rows) {
    const pod = new Pod();
    const node = new Node(new Nodes(rows));
    const scores = new Array(rows);
    const { score } = this;
    for (let row = 0; row < rows; row += 1) {
      node._row = row;
      const returned = score(pod, node, args);
      if (isAboutPod(returned)) {
        if (row > 0) throw new TypeError('skip and failed(…) are about the pod: return them for every node or for none');
        return returned;
      }
      scores[row] = raw(returned);
    }
    return { tag: 'by-row', val: scores };
  }
}

/** A scorer that is a function of the pod and all nodes of a call. */
export const scorer = (definition) => Object.freeze(new Scorer('nodes', definition));

/** A scorer that is a function of the pod and one node. */
export const nodeScorer = (definition) => Object.freeze(new Scorer('node', definition));
