// The nodes of a call: columns, row sets and rejections for all of them (`Nodes`), and one of them (`Node`). A column has an
// entry per row, in the order of rows, and is read from the host once a call.
import { facts } from './host.js';
import { MOMENTS } from './moments.js';
import { effectText } from './pod.js';
import { RowSet } from './rows.js';
import { Codes } from './verdict.js';

/** The status of a condition by its code. */
const CONDITIONS = [undefined, 'True', 'False', 'Unknown'];

/** A column of labels or annotations: a code per row, and the texts behind the codes. Code 0 is an absent one. */
class Texts {
  constructor(functions, key) {
    this._functions = functions;
    this.key = key;
    this.codes = functions.column(key);
  }

  get dictionary() {
    return (this._dictionary ??= this._functions.dictionary(this.key));
  }

  get integers() {
    return (this._integers ??= this._functions.integers(this.key));
  }

  code(text) {
    return this._functions.code(this.key, text) ?? undefined;
  }

  text(row) {
    const code = this.codes[row];
    return code === 0 ? undefined : this.dictionary[code];
  }
}

/** All nodes of a call. */
export class Nodes {
  constructor(count) {
    this.count = count;
    this._read = new Map();
    this._codes = undefined;
    this._usesSets = false;
  }

  _once(key, read) {
    let value = this._read.get(key);
    if (value === undefined) this._read.set(key, (value = read()));
    return value;
  }

  get names() {
    return this._once('names', () => facts('node-identity', 'the name of a node').names());
  }

  row(name) {
    return facts('node-identity', 'nodes.row').row(name) ?? undefined;
  }

  labels(key) {
    return this._once(`l${key}`, () => new Texts(facts('node-labels', 'a label of a node'), key));
  }

  annotations(key) {
    return this._once(`a${key}`, () => new Texts(facts('node-annotations', 'an annotation of a node'), key));
  }

  get unschedulableFlags() {
    return this._once('unschedulable', () => facts('node-taints', 'unschedulable').unschedulable());
  }

  get taintSets() {
    return this._once('taintSets', () => {
      const functions = facts('node-taints', 'the taints of a node');
      const taint = ({ key, value, effect }) => ({ key, value, effect: effectText(effect) });
      return { sets: functions.sets().map((set) => set.map(taint)), column: functions.column() };
    });
  }

  _amounts(name, ...resource) {
    return this._once(`r${name} ${resource}`, () => facts('node-resources', name)[name](...resource));
  }

  allocatable(resource) {
    return this._amounts('allocatable', resource);
  }

  requested(resource) {
    return this._amounts('requested', resource);
  }

  free(resource) {
    return this._amounts('free', resource);
  }

  get pods() {
    return this._amounts('pods');
  }

  get podLimit() {
    return this._amounts('podLimit');
  }

  conditions(type) {
    return this._once(`c${type}`, () => facts('node-conditions', 'a condition of a node').column(type));
  }

  info(field) {
    return this._once(`i${field}`, () => new Texts(facts('node-info', 'the info of a node'), field));
  }

  imageFlags(image) {
    return this._once(`p${image}`, () => facts('node-images', 'the images of a node').present(image));
  }

  get feasible() {
    return this._once('feasible', () => facts('cluster-candidates', 'nodes.feasible').feasible());
  }

  // Row sets, which the host makes.

  _set(handle) {
    return new RowSet(handle);
  }

  all() {
    return this._set(facts('row-sets', 'nodes.all').all());
  }

  labelIn(key, values) {
    return this._set(facts('node-labels', 'nodes.labelIn').rowsIn(key, texts(values)));
  }

  labelExists(key) {
    return this._set(facts('node-labels', 'nodes.labelExists').rowsWith(key));
  }

  annotationIn(key, values) {
    return this._set(facts('node-annotations', 'nodes.annotationIn').rowsIn(key, texts(values)));
  }

  annotationExists(key) {
    return this._set(facts('node-annotations', 'nodes.annotationExists').rowsWith(key));
  }

  labelTexts(key) {
    return facts('node-labels', 'nodes.labelTexts').dictionary(key).slice(1);
  }

  annotationTexts(key) {
    return facts('node-annotations', 'nodes.annotationTexts').dictionary(key).slice(1);
  }

  freeAtLeast(resource, amount) {
    return this._set(facts('node-resources', 'nodes.freeAtLeast').rowsWithFree(resource, amount));
  }

  untolerated() {
    return this._set(facts('node-taints', 'nodes.untolerated').rowsUntolerated());
  }

  unschedulable() {
    return this._set(facts('node-taints', 'nodes.unschedulable').rowsUnschedulable());
  }

  /** Rejects rows: a row set, a row, or rows. A row that was rejected before keeps its failure. */
  reject(rows, failure) {
    if (rows instanceof RowSet) {
      rows.reject(failure);
      this._usesSets = true;
      return;
    }
    this._codes ??= new Codes(this.count);
    this._codes.rejectAll(typeof rows === 'number' ? [rows] : rows, failure);
  }

  /** The verdict of the rejections so far. */
  _verdict() {
    if (this._codes === undefined) return { tag: 'fits-all' };
    if (this._usesSets) throw new TypeError('reject row sets, or reject rows by number: not both in one call');
    return this._codes.verdict();
  }
}

function texts(values) {
  if (typeof values === 'string') throw new TypeError('the values are a list of texts, not one text');
  return [...values];
}

/** One node. In the form per node, one object stands for each node in turn: keep what it says, not the object. */
export class Node {
  constructor(nodes) {
    this._nodes = nodes;
    this._row = 0;
    this._key = undefined;
    this._texts = undefined;
  }

  get name() {
    return this._nodes.names[this._row];
  }

  label(key) {
    // Most predicates read one label of each node.
    if (key !== this._key) {
      this._texts = this._nodes.labels(key);
      this._key = key;
    }
    return this._texts.text(this._row);
  }

  annotation(key) {
    return this._nodes.annotations(key).text(this._row);
  }

  get unschedulable() {
    return this._nodes.unschedulableFlags[this._row] !== 0;
  }

  get taints() {
    const { sets, column } = this._nodes.taintSets;
    return sets[column[this._row]];
  }

  allocatable(resource) {
    return this._nodes.allocatable(resource)[this._row];
  }

  requested(resource) {
    return this._nodes.requested(resource)[this._row];
  }

  free(resource) {
    return this._nodes.free(resource)[this._row];
  }

  get pods() {
    return this._nodes.pods[this._row];
  }

  get podLimit() {
    return this._nodes.podLimit[this._row];
  }

  condition(type) {
    return CONDITIONS[this._nodes.conditions(type)[this._row]];
  }

  info(field) {
    return this._nodes.info(field).text(this._row);
  }

  hasImage(image) {
    return this._nodes.imageFlags(image)[this._row] !== 0;
  }
}

// Moments: a column of each, and its entry of a node.
for (const [name, of] of Object.entries(MOMENTS)) {
  Object.defineProperty(Nodes.prototype, name, {
    get() {
      return this._once(name, () => facts(of, `nodes.${name}`)[name]());
    },
  });
  Object.defineProperty(Node.prototype, name, {
    get() {
      return this._nodes[name][this._row];
    },
  });
}
