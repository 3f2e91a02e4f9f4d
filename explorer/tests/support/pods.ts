// The site of the tests about one pod: the small cluster without the node of 10,000 taints, whose evidence takes a debug build seconds.
// Start at test.

import { openSite, test as base, type Site } from "./fixtures";
// @ts-expect-error: plain JavaScript, as it writes cluster files by itself
import { cluster } from "./cluster.mjs";
import { startSidecar } from "./sidecar";

export { ask, expect, picture } from "./fixtures";

interface Item {
  kind: string;
  metadata: { name: string };
}

/** The objects of that cluster. */
export function items(): Item[] {
  return (cluster() as { items: Item[] }).items.filter(({ metadata }) => metadata.name !== "tainted");
}

/** The nodes of that cluster. */
export const NODES = items().filter(({ kind }) => kind === "Node").length;

export const test = base.extend<object, { site: Site }>({
  site: [
    async ({}, use) => {
      const { site, close } = await openSite(await startSidecar({ cluster: { apiVersion: "v1", kind: "List", items: items() } }));
      await use(site);
      await close();
    },
    { scope: "worker" },
  ],
});
