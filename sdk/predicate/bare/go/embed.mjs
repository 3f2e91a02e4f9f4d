// Writes the type of the world into a core module, which Go's compiler cannot: embed.mjs IN OUT WORLD FILE...
// The first file is the package of the world, the others are packages that it names, each in braces then as WIT has it.
import { readFile, writeFile } from 'node:fs/promises';

import { componentEmbed } from '@bytecodealliance/jco';

const [input, output, worldName, own, ...others] = process.argv.slice(2);
const nested = async (file) => {
  const text = await readFile(file, 'utf8');
  const named = /^package ([^;]+);/m.exec(text);
  return `${text.slice(0, named.index)}package ${named[1]} {${text.slice(named.index + named[0].length)}}\n`;
};
const witSource = [await readFile(own, 'utf8'), ...(await Promise.all(others.map(nested)))].join('\n');
await writeFile(output, await componentEmbed({ binary: await readFile(input), witSource, worldName }));
