// A server for work on the page: dist/ with the headers that the sidecar sends, and the calls of a running sidecar.
//
// `npm run dev -- --sidecar http://127.0.0.1:10270 --port 10280`. With --watch, the default of `npm run dev`, it builds again after every
// save. It is for work on this machine and for the tests; in a cluster the sidecar serves the page itself.

import { watch } from "node:fs";
import { readFile } from "node:fs/promises";
import http from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { build, dist } from "./build.mjs";

/** The policy of the sidecar's own listener, word for word. */
export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; " +
  "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".txt": "text/plain" };
const CALLS = /^\/(v1\/|version$|readyz$|livez$|metrics$)/;

/** Starts the server on a port of loopback, 0 for a free one; `sidecar` is the address that calls go to. */
export function serve({ port, sidecar }) {
  const server = http.createServer((request, response) => {
    if (!isOwn(request.headers)) return void response.writeHead(403).end();
    const url = new URL(request.url ?? "/", "http://localhost");
    if (CALLS.test(url.pathname)) return forward(request, response, sidecar);
    return void file(url.pathname, response);
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

/** Whether no page of another site asks. The sidecar cannot see that: it is called by this server, whose calls name neither. */
function isOwn({ host = "", origin }) {
  return /^(localhost|127\.0\.0\.1)(:[0-9]+)?$/.test(host) && (origin === undefined || origin === `http://${host}`);
}

function forward(request, response, sidecar) {
  const target = new URL(sidecar);
  const { host, origin, referer, ...headers } = request.headers;
  for (const name of Object.keys(headers)) if (name.startsWith("sec-")) delete headers[name];
  const options = { host: target.hostname, port: target.port, path: request.url, method: request.method, headers };
  const asked = http.request(options, (answer) => {
    response.writeHead(answer.statusCode ?? 502, { ...answer.headers, "cache-control": "no-store" });
    answer.pipe(response);
  });
  // The page sees a connection that ends, as it does where the sidecar itself is gone, and says so.
  asked.on("error", () => response.destroy());
  request.pipe(asked);
}

async function file(path, response) {
  const name = normalize(path === "/" ? "/index.html" : path);
  const headers = {
    "content-type": TYPES[extname(name)] ?? "application/octet-stream",
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": name.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-store",
  };
  const content = await readFile(join(dist, name)).catch(() => undefined);
  if (content) response.writeHead(200, headers).end(content);
  else response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
}

async function rebuild() {
  const started = Date.now();
  try {
    await build();
    console.log(`built in ${Date.now() - started} ms`);
  } catch (error) {
    console.error(String(error));
  }
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({
    options: {
      port: { type: "string", default: "10280" },
      sidecar: { type: "string", default: "http://127.0.0.1:10270" },
      watch: { type: "boolean", default: true },
    },
    allowNegative: true,
  });
  if (values.watch) {
    await rebuild();
    let waiting;
    watch(join(fileURLToPath(new URL(".", import.meta.url)), "src"), { recursive: true }, () => {
      clearTimeout(waiting);
      waiting = setTimeout(rebuild, 100);
    });
  }
  const server = await serve({ port: Number(values.port), sidecar: values.sidecar });
  console.log(`http://127.0.0.1:${server.address().port}/ with the calls of ${values.sidecar}`);
}
