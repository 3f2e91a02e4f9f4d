// Failures and the verdict by row. Start at `Codes`.
import { FAILURES, REASON_LENGTH, REASON_UNITS } from './limits.js';

/** Why a node cannot run the pod: a status and reasons. Made by `unresolvable`, `unschedulable` and `error`. */
export class Failure {
  constructor(status, reasons) {
    if (reasons.length === 0) throw new TypeError('a failure needs a reason');
    for (const reason of reasons) {
      if (typeof reason !== 'string' || reason === '') throw new TypeError('a reason is a text that is not empty');
    }
    this.status = status;
    this.reasons = reasons.map((reason) => reason.slice(0, REASON_LENGTH));
    Object.freeze(this);
  }
}

/** Preempting pods does not make the node fit. */
export const unresolvable = (...reasons) => new Failure('unschedulable-and-unresolvable', reasons);

/** Preempting pods may make the node fit. */
export const unschedulable = (...reasons) => new Failure('unschedulable', reasons);

/** The node cannot be evaluated, because an object that is needed is missing or invalid. */
export const error = (...reasons) => new Failure('error', reasons);

const LEFT_OUT = 'reasons left out: the verdict has too many different ones';

/** One code per row: 0 fits, k is the k-th failure. Equal failures have one code. */
export class Codes {
  constructor(rows) {
    this.codes = new Uint16Array(rows);
    this.failures = [];
    // By object first: most predicates make their failures once.
    this._byObject = new Map();
    this._byText = new Map();
    this._units = 0;
  }

  /** Rejects a row that has not been rejected. */
  reject(row, failure) {
    if (this.codes[row] === 0) this.codes[row] = this._codeOf(failure);
  }

  /** Rejects those of the rows that have not been rejected. */
  rejectAll(rows, failure) {
    const { codes } = this;
    let code = 0;
    for (const row of rows) {
      const known = codes[row];
      if (known === 0) {
        if (code === 0) code = this._codeOf(failure);
        codes[row] = code;
      } else if (known === undefined) {
        throw new RangeError(`there is no row ${row}: the call has ${codes.length} rows`);
      }
    }
  }

  _codeOf(failure) {
    let code = this._byObject.get(failure);
    if (code === undefined) {
      code = this._intern(failure);
      this._byObject.set(failure, code);
    }
    return code;
  }

  _intern(failure) {
    if (!(failure instanceof Failure)) {
      throw new TypeError('a node is rejected with unresolvable(…), unschedulable(…) or error(…)');
    }
    const text = `${failure.status}\n${failure.reasons.join('\n')}`;
    const known = this._byText.get(text);
    if (known !== undefined) return known;
    const cost = text.length;
    if (failure.reasons[0] !== LEFT_OUT && (this.failures.length >= FAILURES || this._units + cost > REASON_UNITS)) {
      return this._intern(new Failure(failure.status, [LEFT_OUT]));
    }
    this._units += cost;
    this.failures.push(failure);
    this._byText.set(text, this.failures.length);
    return this.failures.length;
  }

  /** The verdict as the contract has it. */
  verdict() {
    const { codes, failures } = this;
    return failures.length === 0 ? { tag: 'fits-all' } : { tag: 'by-row', val: { codes, failures } };
  }
}
