// Calls of the sidecar: addresses, failures by status, and answers that are none of the sidecar's.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Client, withQuery } from "../../src/api/client";
import { ApiError } from "../../src/api/errors";
import { Session } from "../../src/api/session";

function client(answer: () => Response | Promise<Response>) {
  const asked: { url: string; init: RequestInit }[] = [];
  const fetch = async (url: string, init: RequestInit) => {
    asked.push({ url, init });
    return answer();
  };
  return { asked, client: new Client(fetch, () => "http://page.example/below/it/#/pending?q=x") };
}

async function failure(answer: () => Response | Promise<Response>): Promise<ApiError> {
  try {
    await client(answer).client.get("v1/pending");
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error));
    return error;
  }
  return assert.fail("it has answered");
}

test("addresses are below the page, whatever prefix it has", async () => {
  const { client: made, asked } = client(() => new Response("{}"));
  await made.get("v1/access");
  assert.equal(asked[0]?.url, "http://page.example/below/it/v1/access");
});

test("parameters keep the letters of names, of which the sidecar unescapes none", () => {
  assert.equal(withQuery("v1/pending", { q: "shop/web-0", by: "", after: undefined }), "v1/pending?q=shop/web-0");
  assert.equal(withQuery("v1/nodes", { columns: "label:a.b/c,name" }), "v1/nodes?columns=label:a.b/c,name");
  assert.equal(withQuery("v1/pending", { q: "a&b=c#d" }), "v1/pending?q=a%26b%3Dc%23d");
  assert.equal(withQuery("v1/pending", { limit: 0 }), "v1/pending?limit=0");
});

test("the failure follows from the status, and the sentence is the sidecar's", async () => {
  const expected: [number, string][] = [
    [400, "invalid"], [401, "forbidden"], [403, "forbidden"], [404, "notFound"], [408, "timeout"], [409, "conflict"],
    [413, "invalid"], [429, "busy"], [500, "failed"], [502, "lost"], [503, "notReady"], [504, "timeout"],
  ];
  for (const [status, kind] of expected) {
    const body = JSON.stringify({ error: { code: "X", message: "why" } });
    const error = await failure(() => new Response(body, { status, headers: { "retry-after": "2" } }));
    assert.deepEqual([error.failure, error.status, error.message, error.retryAfterMs], [kind, status, "why", 2_000], String(status));
  }
});

test("a page of a proxy in the place of an answer is a failure, with its status or as no JSON", async () => {
  assert.equal((await failure(() => new Response("<html>", { status: 504 }))).message, "status 504");
  assert.equal((await failure(() => new Response("<html>"))).failure, "failed");
});

test("a connection that fails is lost, and a call that is given up is no failure", async () => {
  assert.equal((await failure(() => Promise.reject(new TypeError("refused")))).failure, "lost");
  const call = new AbortController();
  const { client: made } = client(async () => {
    call.abort();
    throw new DOMException("aborted", "AbortError");
  });
  await assert.rejects(made.get("v1/access", { signal: call.signal }), { name: "AbortError" });
});

test("an unchanged answer is told from a new one, with its age", async () => {
  const { client: made, asked } = client(() => new Response(null, { status: 304, headers: { age: "7" } }));
  assert.deepEqual(await made.get("v1/pending", { etag: '"x"' }), { same: true, ageMs: 7_000 });
  assert.equal((asked[0]?.init.headers as Record<string, string>)["if-none-match"], '"x"');
});

test("another epoch is a restart, once, and an answer without an epoch is none", () => {
  const session = new Session(client(() => new Response("{}")).client, { now: () => 0, after: () => () => {} });
  let restarts = 0;
  session.onRestart(() => (restarts += 1));
  for (const epoch of ["1", undefined, "1", "2", undefined, "2"]) session.saw(epoch);
  assert.equal(restarts, 1);
});
