// The arguments that a policy gives, checked. A checker is a function of a value and its path that returns the value, or throws
// an `ArgumentError`. Start at `object`.

/** An argument that is refused. The text begins with its path. */
export class ArgumentError extends Error {
  constructor(path, reason) {
    super(path === '' ? reason : `${path}: ${reason}`);
    this.name = 'ArgumentError';
  }
}

const shown = (value) => {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
};

const wrong = (path, expected, value) => {
  throw new ArgumentError(path, `expected ${expected}, not ${shown(value)}`);
};

/** A checker with its default, which stands for an absent argument and for null. */
function checker(options, check) {
  const checks = (value, path) => check(value, path);
  if (options !== undefined && 'default' in options) checks.default = options.default;
  return checks;
}

export const string = (options = {}) =>
  checker(options, (value, path) => {
    if (typeof value !== 'string') wrong(path, 'a string', value);
    if (options.notEmpty && value === '') throw new ArgumentError(path, 'must not be empty');
    return value;
  });

const inRange = (value, path, { min, max }) => {
  if (min !== undefined && value < min) throw new ArgumentError(path, `must be at least ${min}, not ${value}`);
  if (max !== undefined && value > max) throw new ArgumentError(path, `must be at most ${max}, not ${value}`);
  return value;
};

export const integer = (options = {}) =>
  checker(options, (value, path) =>
    Number.isSafeInteger(value) ? inRange(value, path, options) : wrong(path, 'an integer', value),
  );

export const number = (options = {}) =>
  checker(options, (value, path) =>
    typeof value === 'number' ? inRange(value, path, options) : wrong(path, 'a number', value),
  );

export const boolean = (options = {}) =>
  checker(options, (value, path) => (typeof value === 'boolean' ? value : wrong(path, 'true or false', value)));

export const oneOf = (values, options = {}) =>
  checker(options, (value, path) =>
    values.includes(value) ? value : wrong(path, `one of ${values.map(shown).join(', ')}`, value),
  );

export const list = (of, options = {}) =>
  checker(options, (value, path) =>
    Array.isArray(value) ? value.map((item, index) => of(item, `${path}[${index}]`)) : wrong(path, 'a list', value),
  );

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

export const map = (of, options = {}) =>
  checker(options, (value, path) => {
    if (!isObject(value)) wrong(path, 'an object', value);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, of(item, path ? `${path}.${key}` : key)]));
  });

/** An object with these fields and no others. A field without a default is required. */
export const object = (fields, options = {}) =>
  checker(options, (value, path) => {
    if (!isObject(value)) wrong(path, 'an object', value);
    const at = (key) => (path ? `${path}.${key}` : key);
    for (const key of Object.keys(value)) {
      if (!Object.hasOwn(fields, key)) {
        const known = Object.keys(fields);
        const expected = known.length === 0 ? 'there are no fields' : `expected ${known.map((k) => `\`${k}\``).join(', ')}`;
        throw new ArgumentError(at(key), `unknown field \`${key}\`, ${expected}`);
      }
    }
    const checked = {};
    for (const [key, check] of Object.entries(fields)) {
      const given = Object.hasOwn(value, key) ? value[key] : undefined;
      if (given !== undefined && given !== null) checked[key] = check(given, at(key));
      else if ('default' in check) checked[key] = check.default;
      else throw new ArgumentError(at(key), 'missing');
    }
    return checked;
  });

/** Reads the arguments from the JSON text that a policy gives. */
export function parse(fields, text) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ArgumentError('', `the arguments are not JSON: ${cause.message}`);
  }
  return object(fields)(value, '');
}
