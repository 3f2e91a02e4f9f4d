// Objects of a sidecar for what-ifs. Start at SidecarObjects.

import type { Client } from "../api/client";
import { allRows } from "../api/rows";
import type { CodedValues } from "../api/types";
import type { JsonObject, Objects } from "./objects";

/** Objects as the sidecar has them while one what-if is made. */
export class SidecarObjects implements Objects {
  #names: Promise<Set<string>> | undefined;

  constructor(private readonly client: Client, private readonly signal: AbortSignal) {}

  pod(namespace: string, name: string): Promise<JsonObject> {
    return this.client.read(`v1/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`, this.signal);
  }

  node(name: string): Promise<JsonObject> {
    return this.client.read(`v1/nodes/${encodeURIComponent(name)}/object`, this.signal);
  }

  async hasNode(name: string): Promise<boolean> {
    this.#names ??= allRows(this.client, "name", this.signal).then((pages) => new Set(pages.flatMap(({ columns }) => columns["name"] as string[])));
    return (await this.#names).has(name);
  }

  async taintedBy(key: string): Promise<string[]> {
    const pages = await allRows(this.client, "name,taints", this.signal);
    return pages.flatMap(({ columns }) => {
      const { values, codes } = columns["taints"] as CodedValues;
      const have = values.map((taints) => (taints ?? "").split(" ").some((taint) => keyOf(taint) === key));
      return (columns["name"] as string[]).filter((_, row) => have[codes[row] ?? -1]);
    });
  }
}

/** The key of a taint as `KEY=VALUE:EFFECT` or `KEY:EFFECT`. */
export function keyOf(taint: string): string {
  return taint.split(/[=:]/, 1)[0] ?? "";
}
