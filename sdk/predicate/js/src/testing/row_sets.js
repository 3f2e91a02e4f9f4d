// Row sets as the host has them: handles of sets, and the first failure of each rejected row.

export class RowSets {
  /** With the text `refused`, no set can be made: that is what is thrown. */
  constructor(rows, { refused } = {}) {
    this.rows = rows;
    this.refused = refused;
    this.sets = [];
    this.failures = new Array(rows).fill(undefined);
    this.used = false;
  }

  /** The handle of the rows for which `test` holds. */
  of(test) {
    if (this.refused !== undefined) throw new Error(this.refused);
    this.sets.push(Array.from({ length: this.rows }, (_, row) => Boolean(test(row))));
    return this.sets.length - 1;
  }

  get(handle) {
    const set = this.sets[handle];
    if (set === undefined) throw new RangeError(`there is no row set ${handle} in this call`);
    return set;
  }

  functions() {
    return {
      all: () => this.of(() => true),
      and: (a, b) => this.of((row) => this.get(a)[row] && this.get(b)[row]),
      or: (a, b) => this.of((row) => this.get(a)[row] || this.get(b)[row]),
      not: (a) => this.of((row) => !this.get(a)[row]),
      count: (a) => this.get(a).filter(Boolean).length,
      reject: (a, failure) => {
        this.get(a).forEach((has, row) => {
          if (has) this.failures[row] ??= failure;
        });
      },
    };
  }

  /** The failures of the rows that were rejected here, or else those of the verdict. */
  merge(failures) {
    return failures.map((failure, row) => this.failures[row] ?? failure);
  }
}
