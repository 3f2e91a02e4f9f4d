// `node --import @nodesift/predicate/register --test`: lets Node run TypeScript, with the author's esbuild. Node 22.18 and later
// need it only for what they cannot strip (enums, namespaces).
import { register } from 'node:module';
import { pathToFileURL } from 'node:url';

process.setSourceMapsEnabled(true);
register('./load.js', { parentURL: import.meta.url, data: { project: pathToFileURL(`${process.cwd()}/`).href } });
