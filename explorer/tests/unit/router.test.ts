// Addresses behind the `#`: what is written is what is read, whatever the names are.

import assert from "node:assert/strict";
import { test } from "node:test";
import { href, match, parseHash } from "../../src/app/router";

test("an address is split into its path and its parameters", () => {
  const route = parseHash("#/pods/shop/web-0?by=zone&e=cpu%3D2");
  assert.deepEqual(route.path, ["pods", "shop", "web-0"]);
  assert.deepEqual([...route.parameters], [["by", "zone"], ["e", "cpu=2"]]);
});

test("no address, a bare mark and a slash are the overview", () => {
  for (const hash of ["", "#", "#/"]) assert.deepEqual(parseHash(hash).path, [], hash);
});

test("names of any letters come back as they were", () => {
  for (const name of ["a/b", "a?b", "a#b", "a%b", "ü", "=cmd", "<img>", "a b", "\u202e", "a&b=c"]) {
    const route = parseHash(href(["pods", name, "x"], { q: name }));
    assert.deepEqual(route.path, ["pods", name, "x"], name);
    assert.equal(route.parameters.get("q"), name);
  }
});

test("an escape that is none stays as it is", () => {
  assert.deepEqual(parseHash("#/nodes/100%").path, ["nodes", "100%"]);
});

test("parameters without a value are left out", () => {
  assert.equal(href(["pending"], { ns: "", cause: undefined, q: "x" }), "#/pending?q=x");
  assert.equal(href([], {}), "#/");
});

test("a pattern names segments and refuses other lengths", () => {
  const route = parseHash("#/pods/shop/web-0");
  assert.deepEqual(match("/pods/:ns/:name", route)?.names, { ns: "shop", name: "web-0" });
  for (const pattern of ["/pods/:ns", "/pods/:ns/:name/try", "/nodes/:a/:b", "/"]) assert.equal(match(pattern, route), null, pattern);
});
