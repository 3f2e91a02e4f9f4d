// Objects of a sidecar for what-ifs. Start at SidecarObjects.

import type { Client } from "../api/client";
import { withQuery } from "../api/client";
import type { CodedValues, NodeColumns } from "../api/types";
import type { JsonObject, Objects } from "./objects";

/** Rows of one page: the most that one call gives. */
const ROWS = 10_000;

/** Objects as the sidecar has them while one what-if is made. */
export class SidecarObjects implements Objects {
  #names: Promise<Set<string>> | undefined;

  constructor(
    private readonly client: Client,
    private readonly signal: AbortSignal,
  ) {}

  pod(namespace: string, name: string): Promise<JsonObject> {
    return this.#get(`v1/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`);
  }

  node(name: string): Promise<JsonObject> {
    return this.#get(`v1/nodes/${encodeURIComponent(name)}/object`);
  }

  async hasNode(name: string): Promise<boolean> {
    this.#names ??= this.#rows("name").then((pages) => new Set(pages.flatMap(({ columns }) => columns["name"] as string[])));
    return (await this.#names).has(name);
  }

  async taintedBy(key: string): Promise<string[]> {
    const pages = await this.#rows("name,taints");
    return pages.flatMap(({ columns }) => {
      const { values, codes } = columns["taints"] as CodedValues;
      const have = values.map((taints) => (taints ?? "").split(" ").some((taint) => keyOf(taint) === key));
      return (columns["name"] as string[]).filter((_, row) => have[codes[row] ?? -1]);
    });
  }

  async #rows(columns: string): Promise<NodeColumns[]> {
    const pages: NodeColumns[] = [];
    for (let first = 0, nodes = 1; first < nodes; first += ROWS) {
      const page = await this.#get<NodeColumns>(withQuery("v1/nodes", { columns, rows: `${first}-${first + ROWS - 1}` }));
      nodes = page.nodes;
      pages.push(page);
    }
    return pages;
  }

  async #get<T = JsonObject>(path: string): Promise<T> {
    const answer = await this.client.get<T>(path, { signal: this.signal });
    if (answer.same) throw new Error("the sidecar has answered 304 to a question without an ETag");
    return answer.value;
  }
}

/** The key of a taint as `KEY=VALUE:EFFECT` or `KEY:EFFECT`. */
export function keyOf(taint: string): string {
  return taint.split(/[=:]/, 1)[0] ?? "";
}
