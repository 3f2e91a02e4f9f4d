// The world of a module: the contract, with the imports that the module reads and nothing else, and with what it exports.

/** What every predicate imports: neither gives facts. */
const ALWAYS_IMPORTED = ['row-sets', 'log'];

/** The interfaces that the contract's world imports. */
function interfacesOf(wit) {
  return [...worldOf(wit).matchAll(/^\s*import ([a-z-]+);/gm)].map(([, name]) => name);
}

function worldOf(wit) {
  const found = /^world guest \{\n[^]*?^\}/m.exec(wit);
  if (found === null) throw new Error('the contract has no world `guest`');
  return found[0];
}

/** The imports of a predicate that reads these interfaces, in the order of the contract. */
export function importsOf(wit, reads) {
  const known = interfacesOf(wit);
  const unknown = reads.filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new RangeError(`reads: the contract has no interface ${unknown.join(', ')}; it has ${known.join(', ')}`);
  return known.filter((name) => reads.includes(name) || ALWAYS_IMPORTED.includes(name));
}

/** The contract with a world that has these imports and exports. */
export function narrowed(wit, imports, exported) {
  const lines = [
    'world guest {', ...imports.map((name) => `    import ${name};`), ...exported.map((name) => `    export ${name};`), '}',
  ];
  return wit.replace(worldOf(wit), lines.join('\n'));
}
