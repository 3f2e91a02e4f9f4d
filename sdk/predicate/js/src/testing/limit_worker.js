// Watches over the thread that evaluates. When it takes too long, this says where it is, and ends the process. Started by `limit.js`.
import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { SourceMap } from 'node:module';
import { fileURLToPath } from 'node:url';
import { workerData } from 'node:worker_threads';

const { state, ms, folder } = workerData;
const MAP = /\n\/\/# sourceMappingURL=data:application\/json;base64,([A-Za-z0-9+/=]+)\s*$/;
/** Milliseconds in which a thread says where it is. */
const ANSWER_MS = 5_000;

function end(text) {
  writeSync(2, `FAILED: no answer within ${ms / 1000} s${text}\n`);
  process.kill(process.pid, 'SIGTERM');
}

/** The place in the author's source: that of TypeScript, where the script was made of it. */
function place(file, { lineNumber, columnNumber }, source) {
  const map = MAP.exec(source)?.[1];
  const entry = map === undefined ? {} : new SourceMap(JSON.parse(Buffer.from(map, 'base64').toString())).findEntry(lineNumber, columnNumber);
  return `${file.startsWith(`${folder}/`) ? file.slice(folder.length + 1) : file}:${(entry.originalLine ?? lineNumber) + 1}`;
}

function tell() {
  setTimeout(() => end(''), ANSWER_MS);
  const session = new Session();
  session.connectToMainThread();
  const urls = new Map();
  session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url));
  session.on('Debugger.paused', ({ params: { callFrames } }) => {
    const isOthers = (url) => !url.startsWith('file:') || url.includes('/node_modules/') || url.startsWith(new URL('..', import.meta.url).href);
    const frame = callFrames.find(({ location }) => !isOthers(urls.get(location.scriptId) ?? ''));
    if (frame === undefined) return end('');
    const { location, functionName } = frame;
    const file = fileURLToPath(urls.get(location.scriptId));
    session.post('Debugger.getScriptSource', { scriptId: location.scriptId }, (error, found) => {
      end(`, at ${place(file, location, found?.scriptSource ?? '')}${functionName === '' ? '' : ` in ${functionName}`}`);
    });
  });
  session.post('Debugger.enable');
  session.post('Debugger.pause');
}

/** Milliseconds of processor time that the process has had. */
function used() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Waits until an evaluation has taken too long. */
function watch() {
  let seen = Atomics.load(state, 0);
  let begun = used();
  for (;;) {
    const left = seen % 2 === 1 ? Math.max(1, ms - (used() - begun)) : Infinity;
    if (Atomics.wait(state, 0, seen, left) !== 'timed-out') {
      seen = Atomics.load(state, 0);
      begun = used();
    } else if (used() - begun >= ms) {
      return;
    }
  }
}

watch();
tell();
