// Edits of nodes that may help a pod which no node fits, each evaluated: one more node like a near one, and a cordoned node that is
// uncordoned. The rules are those of `nodesift why`, whose edits of the pod come with the answer. Start at nodeHelp.

import { isAbort } from "../../api/client";
import type { HelpfulEdit, Why } from "../../api/why";
import { whatIf, type WhatIf } from "../../edits/apply";
import { print, type Edit } from "../../edits/grammar";
import { COPIED, CORDONED, HELP_NODES } from "../../edits/limits";
import type { Objects } from "../../edits/objects";

/** Code of a node that would fit if pods left it: what else keeps the pod away from a node would from a copy. */
const RESOLVABLE = "Unschedulable";

/** Name of the fact that nodes are cordoned. */
const UNSCHEDULABLE = "unschedulable";

/** What it takes to evaluate edits. */
export interface Asking {
  namespace: string;
  name: string;
  objects: Objects;
  /** Names of cordoned nodes, in the order of rows. */
  cordoned: () => Promise<string[]>;
  /** Asks why the pod is pending with these nodes. */
  why: (overlay: WhatIf["overlay"]) => Promise<Why>;
}

/** The edits of nodes that help, and how many were not tried. `answer` is about the pod as it is, with its nearest nodes and evidence. */
export async function nodeHelp(answer: Why, asking: Asking): Promise<{ help: HelpfulEdit[]; unevaluated: number }> {
  if (answer.feasibleCount > 0 || answer.faults.length > 0) return { help: [], unevaluated: 0 };
  const near = answer.nearest.filter(({ code }) => code === RESOLVABLE).slice(0, COPIED);
  const isCordoned = answer.evidence.some(({ facts }) => facts.some(({ name }) => name === UNSCHEDULABLE));
  if (answer.nodes > HELP_NODES) return { help: [], unevaluated: near.length + (isCordoned ? 1 : 0) };
  const tries: (() => Promise<HelpfulEdit | undefined>)[] = near.map(
    ({ node }) => () => helpful({ kind: "copies", node, count: 1 }, "a new node has no pods, and no limits of volumes", asking),
  );
  if (isCordoned) tries.push(() => uncordoned(asking));
  const help: HelpfulEdit[] = [];
  let unevaluated = 0;
  for (const attempt of tries) {
    try {
      const edit = await attempt();
      if (edit) help.push(edit);
    } catch (error) {
      if (isAbort(error)) throw error;
      // A node may have gone since, and its object need not be given to whoever may ask why.
      unevaluated += 1;
    }
  }
  return { help, unevaluated };
}

/** Edits of nodes stand behind the edit of the pod that gains most. */
export function withNodeHelp(answer: Why, { help, unevaluated }: { help: HelpfulEdit[]; unevaluated: number }): Why {
  return { ...answer, help: answer.help.toSpliced(1, 0, ...help), helpUnevaluated: answer.helpUnevaluated + unevaluated };
}

async function asked(edits: readonly Edit[], { namespace, name, objects, why }: Asking): Promise<{ after: Why; added: string[] }> {
  const made = await whatIf(edits, { namespace, name }, objects);
  return { after: await why(made.overlay), added: made.added };
}

/** The edit, where the node that it makes or changes fits with it: others may fit because the cluster has changed. */
async function helpful(edit: Edit & { kind: "copies" | "uncordon" }, caveat: string, asking: Asking): Promise<HelpfulEdit | undefined> {
  const { after, added } = await asked([edit], asking);
  const changed = new Set(edit.kind === "copies" ? added : [edit.node]);
  // A fault that is ignored lets nodes fit, and must not look like help.
  const gained = after.faults.length > 0 ? 0 : after.feasible.filter((node) => changed.has(node)).length;
  return gained > 0 ? { edit: print(edit), gained, feasibleCount: after.feasibleCount, caveat } : undefined;
}

/** An edit that uncordons one node, found by uncordoning several. */
async function uncordoned(asking: Asking): Promise<HelpfulEdit | undefined> {
  const nodes = (await asking.cordoned()).slice(0, CORDONED);
  const edits = nodes.map((node): Edit => ({ kind: "uncordon", node }));
  const node = (await asked(edits, asking)).after.feasible.find((fits) => nodes.includes(fits));
  return node === undefined ? undefined : helpful({ kind: "uncordon", node }, "it may be cordoned for a reason", asking);
}
