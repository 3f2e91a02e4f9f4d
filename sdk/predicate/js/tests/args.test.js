import assert from 'node:assert/strict';
import test from 'node:test';

import { args } from '@nodesift/predicate';

import { parse } from '../src/args.js';

const fields = {
  label: args.string({ notEmpty: true }),
  limit: args.integer({ default: 4, min: 1, max: 9 }),
  mode: args.oneOf(['spread', 'pack'], { default: 'pack' }),
  pools: args.list(args.object({ name: args.string(), share: args.number({ default: 0.5 }) }), { default: [] }),
  owners: args.map(args.boolean(), { default: {} }),
};
const refused = (value) => {
  try {
    parse(fields, JSON.stringify(value));
  } catch (error) {
    return error.message;
  }
  return assert.fail('accepted');
};

test('what is given is checked, and the rest has its default', () => {
  const given = { label: 'a', limit: null, pools: [{ name: 'x' }], owners: { y: true } };
  const expected = { label: 'a', limit: 4, mode: 'pack', pools: [{ name: 'x', share: 0.5 }], owners: { y: true } };
  assert.deepEqual(parse(fields, JSON.stringify(given)), expected);
});

test('an argument of another name is refused with its path', () => {
  assert.equal(refused({ lable: 'a' }), 'lable: unknown field `lable`, expected `label`, `limit`, `mode`, `pools`, `owners`');
  assert.match(refused({ label: 'a', pools: [{ name: 'x', shear: 1 }] }), /^pools\[0\]\.shear: unknown field `shear`/);
  assert.throws(() => parse({}, '{"a":1}'), { message: 'a: unknown field `a`, there are no fields' });
  // A name that every object has.
  assert.match(refused({ label: 'a', toString: 1 }), /^toString: unknown field/);
});

test('a wrong value is refused with its path', () => {
  assert.equal(refused({ label: 1 }), 'label: expected a string, not 1');
  assert.equal(refused({ label: '' }), 'label: must not be empty');
  assert.equal(refused({}), 'label: missing');
  assert.equal(refused({ label: 'a', limit: 1.5 }), 'limit: expected an integer, not 1.5');
  assert.equal(refused({ label: 'a', limit: 0 }), 'limit: must be at least 1, not 0');
  assert.equal(refused({ label: 'a', limit: 10 }), 'limit: must be at most 9, not 10');
  assert.equal(refused({ label: 'a', mode: 'x' }), 'mode: expected one of "spread", "pack", not "x"');
  assert.equal(refused({ label: 'a', pools: {} }), 'pools: expected a list, not {}');
  assert.equal(refused({ label: 'a', owners: { y: 1 } }), 'owners.y: expected true or false, not 1');
  assert.equal(refused([]), 'expected an object, not []');
});

test('a text that is no JSON is refused', () => {
  assert.throws(() => parse(fields, '{'), /^ArgumentError: the arguments are not JSON/);
});
