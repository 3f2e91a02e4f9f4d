// The functions of the contract that a predicate can call, by interface. In a component they are the host's, in tests those of
// `testing/cluster.js`. Nothing else in this package knows where facts come from.

/** The functions by interface name: `{ "pod-labels": { namespace, label }, … }`. Functions are named in lowerCamelCase. */
let bound = {};

/** Makes these the functions that facts come from, and returns those before. */
export function bind(functions) {
  const before = bound;
  bound = functions;
  return before;
}

/** A fact of an interface that the predicate does not list. */
export class NotListed extends Error {
  constructor(name, what) {
    super(`${what} reads the interface ${name}: add "${name}" to the predicate's \`reads\``);
    this.name = 'NotListed';
  }
}

/**
 * The functions of an interface. `what` is what the author has called, for the error where the predicate does not list the
 * interface.
 */
export function facts(name, what = `facts("${name}")`) {
  const functions = bound[name];
  if (functions === undefined) throw new NotListed(name, what);
  return functions;
}

/** Writes a line in the log of the sidecar. Nothing comes of it where there is no log. */
export function write(level, text) {
  bound.log?.write(level, text);
}

/** Lines for operators, in the log of the sidecar: at most 10 a second, of 1,024 bytes. */
export const log = {
  debug: (text) => write('debug', String(text)),
  info: (text) => write('info', String(text)),
  warn: (text) => write('warn', String(text)),
  error: (text) => write('error', String(text)),
};
