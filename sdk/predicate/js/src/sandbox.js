// What the sandbox lacks, and what stands in its place: the same in a component, while it is built, and in unit tests. Names that would read
// a clock, a file or the network throw an error that says what to use, and `console` writes into the log of the sidecar.
import { write } from './host.js';

/** Why a predicate lacks something, and what it has instead. */
const REASONS = {
  clock: 'a predicate has no clock: its answer would go stale unnoticed; passed(at) says whether a moment has passed, and reads `time`',
  randomness: 'a predicate has no randomness: it must answer the same question in the same way',
  timers: 'a predicate cannot wait: it answers at once, from its facts',
  network: 'a predicate has no network: what it needs comes from facts, arguments and the ConfigMaps that a policy lists',
  process: 'a predicate has no process and no environment: a policy gives it arguments',
};

/** Names of the global object, by what they would need. */
const GLOBALS = {
  clock: ['performance'],
  randomness: ['crypto'],
  timers: ['setTimeout', 'setInterval', 'setImmediate'],
  network: ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'],
  process: ['process'],
};

/** What the sandbox lacks. */
export class NotInSandbox extends Error {
  constructor(name, lack) {
    super(`${name}: ${REASONS[lack]}`);
    this.name = 'NotInSandbox';
  }
}

const lacks = (name, lack) => () => {
  throw new NotInSandbox(name, lack);
};

/** `Date` without the present moment. */
const withoutNow = (original) =>
  new Proxy(original, {
    apply: lacks('Date()', 'clock'),
    construct: (target, given, made) =>
      given.length === 0 ? lacks('new Date()', 'clock')() : Reflect.construct(target, given, made),
    get: (target, key) => (key === 'now' ? lacks('Date.now', 'clock') : Reflect.get(target, key)),
  });

/** Levels of the log, by the methods of `console`. */
const LEVELS = { debug: 'debug', trace: 'debug', log: 'info', info: 'info', warn: 'warn', error: 'error' };

/** A value in a line. */
function shown(value) {
  if (typeof value === 'string') return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

const CONSOLE = Object.freeze({
  ...Object.fromEntries(
    Object.entries(LEVELS).map(([method, level]) => [method, (...data) => write(level, data.map(shown).join(' '))]),
  ),
  assert(condition, ...data) {
    if (!condition) write('error', ['assertion failed', ...data.map(shown)].join(' '));
  },
});

/** Object, name and value of everything that stands in the place of something else. */
function replacements() {
  const all = [
    [globalThis, 'console', { value: CONSOLE }],
    [globalThis, 'Date', { value: withoutNow(Date) }],
    [Math, 'random', { value: lacks('Math.random', 'randomness') }],
  ];
  for (const [lack, names] of Object.entries(GLOBALS)) {
    for (const name of names) all.push([globalThis, name, { get: lacks(name, lack) }]);
  }
  return all;
}

/** Takes away what the sandbox lacks. Returns a function that gives it back. */
export function enter() {
  const before = replacements().map(([object, name, now]) => {
    const was = Object.getOwnPropertyDescriptor(object, name);
    Object.defineProperty(object, name, { configurable: true, enumerable: was?.enumerable ?? false, ...now });
    return [object, name, was];
  });
  return () => {
    for (const [object, name, was] of before) {
      if (was === undefined) delete object[name];
      else Object.defineProperty(object, name, was);
    }
  };
}
