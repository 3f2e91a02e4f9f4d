// A small API server with lists and watches of what it holds, for tests in which a cluster changes under an open page: objects are put and
// removed by the test, and every watch is told at once. Kinds that it holds nothing of are empty lists. Start at ApiServer.

import http from "node:http";

const PLURALS = { Pod: "pods", Node: "nodes", Namespace: "namespaces" };

export class ApiServer {
  #version = 100;
  #objects = new Map();
  #watches = new Set();
  #server;

  /** Starts with these objects, on a free port of loopback. */
  static async start(objects) {
    const server = new ApiServer();
    for (const object of objects) server.put(object);
    server.#server = http.createServer((request, response) => server.#answer(request, response));
    await new Promise((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}`;
  }

  /** A kubeconfig of it, as text. */
  get kubeconfig() {
    return JSON.stringify({
      apiVersion: "v1",
      kind: "Config",
      clusters: [{ name: "test", cluster: { server: this.url } }],
      users: [{ name: "test", user: {} }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
      "current-context": "test",
    });
  }

  /** Adds an object, or replaces the one of its name. */
  put(object) {
    const key = keyOf(object);
    const type = this.#objects.has(key) ? "MODIFIED" : "ADDED";
    const stored = structuredClone(object);
    stored.metadata.resourceVersion = this.#next();
    this.#objects.set(key, stored);
    this.#tell(stored, type);
  }

  /** The object of this kind and name, to change and put. */
  get(kind, name, namespace = "") {
    return structuredClone(this.#objects.get(`${PLURALS[kind]}/${namespace}/${name}`));
  }

  remove(kind, name, namespace = "") {
    const key = `${PLURALS[kind]}/${namespace}/${name}`;
    const object = this.#objects.get(key);
    this.#objects.delete(key);
    object.metadata.resourceVersion = this.#next();
    this.#tell(object, "DELETED");
  }

  async close() {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #next() {
    this.#version += 1;
    return String(this.#version);
  }

  #tell(object, type) {
    const plural = PLURALS[object.kind];
    for (const watch of this.#watches) {
      if (watch.plural === plural) watch.response.write(`${JSON.stringify({ type, object })}\n`);
    }
  }

  #answer(request, response) {
    const url = new URL(request.url, this.url);
    const plural = url.pathname.split("/").at(-1);
    const items = [...this.#objects.entries()].filter(([key]) => key.startsWith(`${plural}/`)).map(([, object]) => object);
    response.setHeader("content-type", "application/json");
    if (url.searchParams.get("watch") !== "true" && url.searchParams.get("watch") !== "1") {
      response.end(JSON.stringify({ metadata: { resourceVersion: String(this.#version) }, items }));
      return;
    }
    const watch = { plural, response };
    this.#watches.add(watch);
    const since = Number(url.searchParams.get("resourceVersion") ?? 0);
    response.flushHeaders();
    // What has changed between the list and the watch.
    for (const object of items) {
      if (Number(object.metadata.resourceVersion) > since) response.write(`${JSON.stringify({ type: "ADDED", object })}\n`);
    }
    const bookmark = setInterval(() => {
      const kind = Object.keys(PLURALS).find((kind) => PLURALS[kind] === plural) ?? "Object";
      response.write(`${JSON.stringify({ type: "BOOKMARK", object: { kind, metadata: { resourceVersion: String(this.#version) } } })}\n`);
    }, 2_000);
    response.on("close", () => {
      clearInterval(bookmark);
      this.#watches.delete(watch);
    });
  }
}

function keyOf(object) {
  return `${PLURALS[object.kind]}/${object.metadata.namespace ?? ""}/${object.metadata.name}`;
}
