// The hooks of `register.js`: TypeScript is transformed by esbuild when it is loaded.
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

let esbuild;

export async function initialize({ project }) {
  esbuild = await import(pathToFileURL(createRequire(new URL('package.json', project)).resolve('esbuild')).href);
}

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const file = fileURLToPath(url);
  const source = await readFile(file, 'utf8');
  const { code } = await esbuild.transform(source, { loader: 'ts', format: 'esm', sourcefile: file, sourcemap: 'inline' });
  return { format: 'module', source: code, shortCircuit: true };
}
