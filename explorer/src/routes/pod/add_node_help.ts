// Edits of nodes that help, asked of the sidecar. Start at addNodeHelp.

import { session } from "../../api/hooks";
import type { NodeColumns } from "../../api/types";
import type { Why } from "../../api/why";
import { SidecarObjects } from "../../edits/sidecar";
import { checkSize } from "../try/what_if";
import { nodeHelp, withNodeHelp, type Asking } from "./node_help";

/** The answer about a pod as it is, with the edits of nodes that help beside those of the pod. */
export async function addNodeHelp(answer: Why, namespace: string, name: string, signal: AbortSignal): Promise<Why> {
  return withNodeHelp(answer, await nodeHelp(answer, asking(namespace, name, signal)));
}

function asking(namespace: string, name: string, signal: AbortSignal): Asking {
  const { client } = session;
  return {
    namespace,
    name,
    objects: new SidecarObjects(client, signal),
    async cordoned() {
      const { columns } = await client.read<NodeColumns>("v1/nodes?columns=name,unschedulable", signal);
      const flags = columns["unschedulable"] as number[];
      return (columns["name"] as string[]).filter((_, row) => flags[row] === 1);
    },
    why(overlay) {
      const body = JSON.stringify({ pod: { name: { namespace, name } }, nearest: 0, ...(overlay ? { overlay } : {}) });
      checkSize(body);
      return client.post<Why>("v1/why", body, "application/json", signal);
    },
  };
}
