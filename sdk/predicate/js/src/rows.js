// Sets of rows that the host holds: an operation costs one call, however many nodes there are.
import { facts } from './host.js';
import { Failure } from './verdict.js';

const sets = (what) => facts('row-sets', what);

/** A set of rows of the running call. It is of no use after the call. */
export class RowSet {
  constructor(handle) {
    this._handle = handle;
  }

  and(other) {
    return new RowSet(sets('and').and(this._handle, other._handle));
  }

  or(other) {
    return new RowSet(sets('or').or(this._handle, other._handle));
  }

  not() {
    return new RowSet(sets('not').not(this._handle));
  }

  get count() {
    return sets('count').count(this._handle);
  }

  /** Rejects these rows. A row that was rejected before keeps its failure. */
  reject(failure) {
    if (!(failure instanceof Failure)) {
      throw new TypeError('rows are rejected with unresolvable(…), unschedulable(…) or error(…)');
    }
    sets('reject').reject(this._handle, failure);
  }
}
