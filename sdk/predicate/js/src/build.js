#!/usr/bin/env node
// Builds a predicate or a scorer into a component: `nodesift-predicate build [DIR] [-o FILE]`.
//
// package.json names the source (`main`) and the version. esbuild makes one module of it, from JavaScript or TypeScript;
// componentize-qjs puts it into QuickJS, in a world that imports what the predicate `reads` and nothing else, and exports `scorer`
// where it scores.
import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createRequire, SourceMap } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

import { enter } from './sandbox.js';
import { importsOf, narrowed } from './world.js';

const HERE = path.dirname(fileURLToPath(import.meta.url));
const USAGE = 'usage: nodesift-predicate build [DIR] [-o FILE]';
const INSTALL = 'npm install --save-dev esbuild componentize-qjs';

/** What the author has to mend; shown without a stack. */
class BuildError extends Error {}

/** A tool of the author's project. */
async function tool(project, name) {
  try {
    return await import(pathToFileURL(createRequire(path.join(project, 'package.json')).resolve(name)).href);
  } catch (cause) {
    throw new BuildError(`${name} is not installed here (${cause.code ?? cause.message}); in ${project}: ${INSTALL}`);
  }
}

async function manifestOf(project) {
  const file = path.join(project, 'package.json');
  const text = await readFile(file, 'utf8').catch(() => {
    throw new BuildError(`${file} is not here: the folder of a predicate has one`);
  });
  const { main, version, name } = JSON.parse(text);
  if (typeof main !== 'string') throw new BuildError(`${file}: "main" must name the source of the predicate`);
  return { source: path.resolve(project, main), version: version ?? '0.0.0', name };
}

/** The predicate that the source defines, evaluated here: what it reads makes the world. */
async function definitionOf(esbuild, source, scratch) {
  const outfile = path.join(scratch, 'definition.mjs');
  await esbuild.build({
    entryPoints: [source], outfile, bundle: true, format: 'esm', platform: 'neutral', logLevel: 'silent', sourcemap: 'inline',
  });
  process.setSourceMapsEnabled(true);
  const definition = await inSandbox(pathToFileURL(outfile).href, source);
  if (!Array.isArray(definition?.reads)) {
    throw new BuildError(`${source}: the default export must be a predicate or a scorer: export default predicate({ … })`);
  }
  return definition;
}

/** Loads the author's files as a component does: what they read of this machine would be in the component for ever. */
async function inSandbox(bundle, source) {
  const leave = enter();
  try {
    return (await import(bundle)).default;
  } catch (thrown) {
    if (!(thrown instanceof Error) || thrown.name !== 'NotInSandbox') throw thrown;
    const entry = thrown.stack.split('\n').find((line) => line.includes(path.basename(source))) ?? '';
    const [, line = ''] = /(:\d+):\d+\)?$/.exec(entry) ?? [];
    throw new BuildError(`${source}${line}: ${thrown.message}`);
  } finally {
    leave();
  }
}

/** The module that componentize-qjs gets. */
function entry(source, version, imports, exported) {
  return [
    `import ${JSON.stringify(path.join(HERE, 'enter.js'))};`,
    `import definition from ${JSON.stringify(source)};`,
    `import { guest } from ${JSON.stringify(path.join(HERE, 'guest.js'))};`,
    ...imports.map((name, index) => `import * as f${index} from "nodesift:predicate/${name}";`),
    `const functions = { ${imports.map((name, index) => `${JSON.stringify(name)}: f${index}`).join(', ')} };`,
    `const component = guest(definition, ${JSON.stringify(version)}, functions, () => globalThis.__places ?? {});`,
    `export { ${exported.map((name) => `component as ${name}`).join(', ')} };`,
  ].join('\n');
}

/** For each line of the bundle that comes from the author's files: file and line, and the text there. */
async function placesOf(code, map, project, scratch) {
  const sources = new Map();
  const sourceMap = new SourceMap(map);
  const places = {};
  const lines = code.split('\n');
  for (let index = 0; index < lines.length; index += 1) {
    const column = lines[index].length - lines[index].trimStart().length;
    const { originalSource, originalLine } = sourceMap.findEntry(index, column);
    if (originalSource === undefined || lines[index].trim() === '') continue;
    const file = path.resolve(scratch, originalSource);
    if (file.startsWith(HERE + path.sep) || !file.startsWith(project + path.sep)) continue;
    // The entry is no file.
    if (!sources.has(file)) sources.set(file, (await readFile(file, 'utf8').catch(() => undefined))?.split('\n'));
    if (sources.get(file) === undefined) continue;
    const text = sources.get(file)[originalLine]?.trim().slice(0, 120) ?? '';
    places[index + 1] = [`${path.relative(project, file)}:${originalLine + 1}`, text];
  }
  return places;
}

/** Checks the types of a project in TypeScript, and prints what is wrong. The world of its tsconfig.json is that of the component. */
async function checkTypes(project, source) {
  if (!source.endsWith('.ts')) return;
  let compiler;
  try {
    compiler = createRequire(path.join(project, 'package.json')).resolve('typescript/bin/tsc');
  } catch {
    throw new BuildError(`typescript is not installed here; in ${project}: npm install --save-dev typescript`);
  }
  const checker = spawn(process.execPath, [compiler, '--noEmit', '-p', project], { stdio: ['ignore', 2, 2] });
  const code = await new Promise((resolve, reject) => checker.on('error', reject).on('exit', resolve));
  if (code !== 0) throw new BuildError('the types do not fit, as said above');
}

async function build(project, output) {
  const { source, version } = await manifestOf(project);
  // Beside the rest, which takes as long.
  const types = checkTypes(project, source);
  types.catch(() => {});
  const esbuild = await tool(project, 'esbuild');
  const { componentize } = await tool(project, 'componentize-qjs');
  const scratch = await mkdtemp(path.join(tmpdir(), 'nodesift-predicate-'));
  try {
    const definition = await definitionOf(esbuild, source, scratch).catch(async (thrown) => {
      // A mistake in a type says more about a source that does not load.
      await types;
      throw thrown;
    });
    const contract = await readFile(path.join(HERE, '..', 'wit', 'predicate.wit'), 'utf8');
    const imports = importsOf(contract, definition.reads);
    const exported = typeof definition.score === 'function' ? ['predicate', 'scorer'] : ['predicate'];
    const outfile = path.join(scratch, 'bundle.js');
    const bundled = await esbuild.build({
      stdin: { contents: entry(source, version, imports, exported), resolveDir: project, sourcefile: 'entry.js' },
      outfile, bundle: true, format: 'esm', platform: 'neutral', target: 'es2023', external: ['nodesift:*'], write: false,
      sourcemap: 'external', logLevel: 'silent', keepNames: false,
    });
    const code = bundled.outputFiles.find(({ path: file }) => file.endsWith('.js')).text;
    const map = JSON.parse(bundled.outputFiles.find(({ path: file }) => file.endsWith('.map')).text);
    const places = await placesOf(code, map, project, scratch);
    const witPath = path.join(scratch, 'predicate.wit');
    await writeFile(witPath, narrowed(contract, imports, exported));
    // After the bundle, so that its lines keep their numbers.
    const jsSource = `${code}\nglobalThis.__places = ${JSON.stringify(places)};\n`;
    const { component } = await componentize({ witPath, world: 'guest', jsSource, sync: true, stubWasi: true });
    await types;
    await writeFile(output, component);
    return { name: definition.name, version, bytes: component.length };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

async function main() {
  const { values, positionals } = parseArgs({ allowPositionals: true, options: { output: { type: 'string', short: 'o' } } });
  const [command, folder = '.', ...more] = positionals;
  if (command !== 'build' || more.length > 0) throw new BuildError(USAGE);
  const project = path.resolve(folder);
  const output = path.resolve(values.output ?? path.join(project, 'predicate.wasm'));
  const { name, version, bytes } = await build(project, output);
  console.log(`${name} ${version}: ${bytes} bytes`);
}

try {
  await main();
} catch (thrown) {
  if (thrown instanceof BuildError || thrown instanceof RangeError) console.error(`error: ${thrown.message}`);
  else if (Array.isArray(thrown?.errors)) for (const { text, location: at } of thrown.errors) {
    console.error(`error: ${at ? `${at.file}:${at.line}:${at.column}: ` : ''}${text}`);
  } else console.error(thrown);
  process.exitCode = 1;
}
