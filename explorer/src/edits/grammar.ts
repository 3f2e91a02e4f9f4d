// Edits of a what-if as text: the grammar of `nodesift why --try`, so that a link and a command line have one language.
// Start at `parse`.

import { COPIES } from "./limits";

export const EFFECTS = ["NoSchedule", "PreferNoSchedule", "NoExecute"] as const;
export type Effect = (typeof EFFECTS)[number];

/** One change to a pod or a cluster. */
export type Edit =
  /** The pod requests so much as a whole. */
  | { kind: "request"; resource: string; quantity: string }
  /** The pod has one more toleration: of any value or effect where these are absent. */
  | { kind: "tolerate"; key: string; value?: string; effect?: Effect }
  /** The pod lacks that part of its spec. */
  | { kind: "drop"; part: "nodeSelector" | "affinity" | { spread: number } }
  /** There are so many more nodes like that one. */
  | { kind: "copies"; node: string; count: number }
  /** The node is not cordoned. */
  | { kind: "uncordon"; node: string }
  /** No node has a taint with this key. */
  | { kind: "untaint"; key: string }
  /** That pod is on no node. */
  | { kind: "without"; namespace: string; name: string };

/** Text that is no edit, with what is expected. */
export class EditError extends Error {}

const GRAMMAR =
  "expected RESOURCE=QUANTITY such as cpu=2, tolerate=KEY[=VALUE][:EFFECT], drop=nodeSelector|affinity|spread[INDEX], " +
  "node+=NAME*COUNT, uncordon=NODE, untaint=KEY or without=NAMESPACE/POD";

/** Reads an edit as it is typed. Throws an `EditError` for what is none. */
export function parse(text: string): Edit {
  if (text.startsWith("node+=")) return copies(text.slice("node+=".length));
  const [name, value] = split(text, text.indexOf("="));
  if (!name || !value) throw new EditError(`${JSON.stringify(text)} is no edit: ${GRAMMAR}`);
  switch (name) {
    case "tolerate":
      return toleration(value);
    case "drop":
      return { kind: "drop", part: part(value) };
    case "uncordon":
      return { kind: "uncordon", node: value };
    case "untaint":
      return { kind: "untaint", key: value };
    case "without":
      return without(value);
    default:
      if (!isResource(name)) throw new EditError(`${JSON.stringify(name)} is no edit and no resource: ${GRAMMAR}`);
      return request(name, value);
  }
}

/** Writes an edit as it is typed. */
export function print(edit: Edit): string {
  switch (edit.kind) {
    case "request":
      return `${edit.resource}=${edit.quantity}`;
    case "tolerate": {
      const value = edit.value === undefined ? "" : `=${edit.value}`;
      return `tolerate=${edit.key}${value}${edit.effect === undefined ? "" : `:${edit.effect}`}`;
    }
    case "drop":
      return `drop=${typeof edit.part === "string" ? edit.part : `spread[${edit.part.spread}]`}`;
    case "copies":
      return `node+=${edit.node}*${edit.count}`;
    case "uncordon":
      return `uncordon=${edit.node}`;
    case "untaint":
      return `untaint=${edit.key}`;
    case "without":
      return `without=${edit.namespace}/${edit.name}`;
  }
}

/** Whether it is cpu, memory or another name that a resource can have. */
export function isResource(name: string): boolean {
  const isKnown = ["cpu", "memory", "ephemeral-storage"].includes(name) || name.startsWith("hugepages-");
  return (isKnown || name.includes("/")) && /^[A-Za-z0-9\-_./]+$/.test(name);
}

/** The text before and after a position; both empty where there is none. */
function split(text: string, at: number): [string, string] {
  return at < 0 ? ["", ""] : [text.slice(0, at), text.slice(at + 1)];
}

function request(resource: string, quantity: string): Edit {
  if (!/^[0-9.]/.test(quantity)) {
    throw new EditError(`${resource}=${quantity}: a request is a quantity of at least 0, such as 2, 500m or 4Gi`);
  }
  return { kind: "request", resource, quantity };
}

function toleration(text: string): Edit {
  const colon = text.lastIndexOf(":");
  const effect = EFFECTS.find((known) => known === text.slice(colon + 1));
  if (colon >= 0 && !effect) {
    const found = JSON.stringify(text.slice(colon + 1));
    throw new EditError(`tolerate=${text}: ${found} is none of ${EFFECTS.join(", ")}`);
  }
  const rest = colon < 0 ? text : text.slice(0, colon);
  const sign = rest.indexOf("=");
  const key = sign < 0 ? rest : rest.slice(0, sign);
  if (!key) throw new EditError(`tolerate=${text}: expected KEY[=VALUE][:EFFECT]`);
  return {
    kind: "tolerate",
    key,
    ...(sign < 0 ? {} : { value: rest.slice(sign + 1) }),
    ...(colon < 0 || !effect ? {} : { effect }),
  };
}

function part(text: string): "nodeSelector" | "affinity" | { spread: number } {
  if (text === "nodeSelector" || text === "affinity") return text;
  const index = /^spread\[\+?([0-9]+)\]$/.exec(text)?.[1];
  if (index === undefined) throw new EditError(`drop=${text}: expected nodeSelector, affinity or spread[INDEX]`);
  return { spread: Number(index) };
}

function copies(text: string): Edit {
  const star = text.lastIndexOf("*");
  const [node, count] = star < 0 ? [text, "1"] : split(text, star);
  const number = /^\+?[0-9]+$/.test(count) ? Number(count) : 0;
  if (!node || number < 1 || number > COPIES) {
    throw new EditError(`node+=${text}: expected NAME*COUNT with a count from 1 to ${COPIES}`);
  }
  return { kind: "copies", node, count: number };
}

function without(text: string): Edit {
  const slash = text.indexOf("/");
  const [namespace, name] = slash < 0 ? ["default", text] : split(text, slash);
  if (!namespace || !name || name.includes("/")) throw new EditError(`without=${text}: expected NAMESPACE/NAME`);
  return { kind: "without", namespace, name };
}
