// The component: what the host calls. `build.js` makes the module that uses this.
import { ArgumentError } from './args.js';
import { bind, write } from './host.js';
import { ERROR_LENGTH, PLACES } from './limits.js';
import { Predicate } from './predicate.js';
import { Scorer } from './scorer.js';

/** The entries of a stack that name a place: the function, the line and the column. */
const PLACE = /^\s*at (?:(.*?) )?\(?[^()\s]*?:(\d+)(?::\d+)?\)?$/;

/** One line about an exception: its text, then the places in the author's files, the innermost first. */
function described(thrown, lines) {
  if (!(thrown instanceof Error)) return `thrown: ${String(thrown)}`;
  const places = [];
  for (const entry of (thrown.stack ?? '').split('\n')) {
    const [, name, line] = PLACE.exec(entry) ?? [];
    const place = line === undefined ? undefined : lines[Number(line)];
    if (place === undefined) continue;
    const [at, source] = place;
    const where = name === undefined || name.startsWith('<') ? at : `${at} in ${name}`;
    places.push(places.length === 0 ? `${where}: ${source}` : where);
  }
  const text = `${thrown.name}: ${thrown.message}`;
  return [text, ...places.slice(0, PLACES)].join(', at ').slice(0, ERROR_LENGTH);
}

/**
 * The exported functions: those of `predicate`, and for a scorer those of `scorer`. `functions` are those of the host by interface;
 * `lines` says for a line of the bundle which place of the author's files it is, and its text.
 */
export function guest(definition, version, functions, lines) {
  if (!(definition instanceof Predicate)) {
    throw new TypeError('the module must have a predicate or a scorer as its default export: export default predicate({ … })');
  }
  bind(functions);
  let args;
  /** A call, with a line in the log where it throws. */
  const called = (call) => {
    try {
      return call();
    } catch (thrown) {
      write('error', described(thrown, lines()));
      // Ends the call: the runtime has no other answer to an exception.
      throw thrown;
    }
  };
  const exported = {
    describe: () => ({ name: definition.name, version, summary: definition.summary }),
    configure(text) {
      try {
        args = definition.configure(text);
      } catch (thrown) {
        // A thrown text is the error of the contract: the policy is refused with it.
        throw thrown instanceof ArgumentError ? thrown.message : described(thrown, lines());
      }
    },
    filter: (rows) => called(() => definition.run(args, rows)),
  };
  if (!(definition instanceof Scorer)) return exported;
  return {
    ...exported,
    normalizeBy: () => definition.normalization,
    score: (rows) => called(() => definition.scoreRows(args, rows)),
  };
}
