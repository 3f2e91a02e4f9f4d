// Edits → an edited pod, and the overlay of a request. Edits change copies of objects and nothing else, so that the answer about
// them is that about objects which were written so. Start at `whatIf`.

import type { Edit } from "./grammar";
import { COPIES, FETCHES, NODES } from "./limits";
import { isObject, listAt, objectAt, type Json, type JsonObject, type Objects } from "./objects";

/** The taint of a node that is cordoned. */
const CORDONED = "node.kubernetes.io/unschedulable";

/** Label whose value is the name of its node. */
const HOSTNAME = "kubernetes.io/hostname";

/** The pod of a what-if: one of the cluster by its name, or a whole one. */
export type Subject = { namespace: string; name: string } | { object: JsonObject };

/** A pod with edits, and the overlay that the others make; each absent where no edit is about it. */
export interface WhatIf {
  pod?: JsonObject;
  /** Names of the nodes of the overlay that the cluster has not. */
  added: string[];
  overlay?: {
    nodes: { object: JsonObject }[];
    removedPods: { name: { namespace: string; name: string } }[];
  };
}

/** An edit that cannot be made: it is about something that is not there, or whose object is not to be had. */
export class NotMade extends Error {
  /** Index of the edit among those that were to be made. */
  at = 0;
}

/** Makes all edits, in their order. Throws `NotMade` for the first that cannot be made, with the error of `objects` as its cause. */
export async function whatIf(edits: readonly Edit[], subject: Subject, objects: Objects): Promise<WhatIf> {
  const made = new Making(subject, objects);
  for (const [at, edit] of edits.entries()) {
    try {
      await made.make(edit);
    } catch (error) {
      const failed = error instanceof NotMade ? error : new NotMade(error instanceof Error ? error.message : String(error), { cause: error });
      failed.at = at;
      throw failed;
    }
  }
  return made.finish();
}

class Making {
  readonly #subject: Subject;
  readonly #objects: Objects;
  #pod: JsonObject | undefined;
  readonly #nodes = new Map<string, JsonObject>();
  readonly #removed: { namespace: string; name: string }[] = [];
  readonly #added: string[] = [];
  /** Nodes that edits of taints have fetched. */
  #fetched = 0;

  constructor(subject: Subject, objects: Objects) {
    this.#subject = subject;
    this.#objects = objects;
    if ("object" in subject) this.#pod = structuredClone(subject.object);
  }

  async make(edit: Edit): Promise<void> {
    switch (edit.kind) {
      case "request":
      case "tolerate":
      case "drop":
        return this.#editPod(edit);
      case "copies":
        return this.#copy(edit);
      case "uncordon":
        return this.#uncordon(edit);
      case "untaint":
        return this.#untaint(edit);
      case "without":
        this.#removed.push({ namespace: edit.namespace, name: edit.name });
    }
  }

  finish(): WhatIf {
    const names = [...this.#nodes.keys()].sort();
    const nodes = names.map((name) => ({ object: this.#nodes.get(name) ?? {} }));
    const removedPods = this.#removed.map((name) => ({ name }));
    const hasOverlay = nodes.length > 0 || removedPods.length > 0;
    return { ...(this.#pod ? { pod: this.#pod } : {}), added: this.#added, ...(hasOverlay ? { overlay: { nodes, removedPods } } : {}) };
  }

  async #editPod(edit: Edit): Promise<void> {
    if (!this.#pod && "name" in this.#subject) {
      this.#pod = structuredClone(await this.#objects.pod(this.#subject.namespace, this.#subject.name));
    }
    const spec = objectAt(this.#pod, "spec");
    if (!spec) throw new NotMade("the pod has no spec");
    const nothing = editSpec(edit, spec);
    if (nothing) throw new NotMade(nothing);
  }

  async #copy(edit: Edit & { kind: "copies" }): Promise<void> {
    const original = this.#nodes.get(edit.node) ?? (await this.#objects.node(edit.node));
    const all = this.#added.length + edit.count;
    if (all > COPIES) throw new NotMade(`all edits add ${all} nodes, and ${COPIES} is the most`);
    // A number that an edit before has taken, or that the cluster has, would replace that node.
    for (let number = 1, left = edit.count; left > 0; number += 1) {
      const name = `${edit.node}-copy-${number}`;
      if (this.#nodes.has(name) || (await this.#objects.hasNode(name))) continue;
      this.#nodes.set(name, copied(original, name));
      this.#added.push(name);
      left -= 1;
    }
  }

  async #uncordon(edit: Edit & { kind: "uncordon" }): Promise<void> {
    const node = await this.#node(edit.node);
    const spec = objectAt(node, "spec");
    if (spec) delete spec["unschedulable"];
    removeTaints(node, CORDONED);
  }

  async #untaint(edit: Edit & { kind: "untaint" }): Promise<void> {
    const names = (await this.#objects.taintedBy(edit.key)).filter((name) => !this.#nodes.has(name));
    this.#fetched += names.length;
    if (this.#fetched > NODES) {
      const why = `${names.length} nodes have such a taint, and all edits of a page may fetch ${NODES}`;
      throw new NotMade(`${why}: use tolerate=${edit.key}`);
    }
    const queue = [...names];
    const fetchAll = async (): Promise<void> => {
      for (let name = queue.pop(); name !== undefined; name = queue.pop()) await this.#node(name);
    };
    await Promise.all(Array.from({ length: FETCHES }, fetchAll));
    let removed = 0;
    for (const node of this.#nodes.values()) removed += removeTaints(node, edit.key);
    if (removed === 0) throw new NotMade("no node has such a taint");
  }

  /** A node as edits before have left it. */
  async #node(name: string): Promise<JsonObject> {
    const known = this.#nodes.get(name);
    if (known) return known;
    const node = structuredClone(await this.#objects.node(name));
    this.#nodes.set(name, node);
    return node;
  }
}

/** Makes an edit of a pod's spec. Returns the part that it is about and that is not there. */
function editSpec(edit: Edit, spec: JsonObject): string | undefined {
  if (edit.kind === "request") return editRequest(edit.resource, edit.quantity, spec);
  if (edit.kind === "tolerate") {
    const toleration: JsonObject =
      edit.value === undefined
        ? { key: edit.key, operator: "Exists" }
        : { key: edit.key, operator: "Equal", value: edit.value };
    if (edit.effect !== undefined) toleration["effect"] = edit.effect;
    spec["tolerations"] ??= [];
    const tolerations = listAt(spec, "tolerations");
    if (!tolerations) return "the tolerations of the pod are no list";
    tolerations.push(toleration);
  }
  if (edit.kind === "drop") {
    if (typeof edit.part !== "string") {
      const constraints = listAt(spec, "topologySpreadConstraints");
      if (!constraints || edit.part.spread >= constraints.length) return "the pod has no such spread constraint";
      constraints.splice(edit.part.spread, 1);
    } else {
      if (!(edit.part in spec)) return `the pod has no ${edit.part}`;
      delete spec[edit.part];
    }
  }
  return undefined;
}

/** Has the first container request all of it, and nothing else any of it. */
function editRequest(resource: string, quantity: string, spec: JsonObject): string | undefined {
  const containers = listAt(spec, "containers");
  for (const container of [...(containers ?? []), ...(listAt(spec, "initContainers") ?? [])]) {
    // The limit too, since a request that is missing equals the limit.
    forget(objectAt(container, "resources"), resource);
  }
  // The amounts of the pod as a whole, which would win over those of its containers, and those that are added to all.
  forget(objectAt(spec, "resources"), resource);
  delete objectAt(spec, "overhead")?.[resource];
  const first = containers?.[0];
  if (!isObject(first)) return "the pod has no container";
  first["resources"] ??= {};
  const resources = objectAt(first, "resources");
  if (!resources) return "the resources of its first container are no object";
  resources["requests"] ??= {};
  const requests = objectAt(resources, "requests");
  if (!requests) return "the requests of its first container are no object";
  requests[resource] = quantity;
  return undefined;
}

function forget(resources: JsonObject | undefined, resource: string): void {
  for (const amounts of ["requests", "limits"]) delete objectAt(resources, amounts)?.[resource];
}

/** Another node that is like this one. */
function copied(node: JsonObject, name: string): JsonObject {
  const copy = structuredClone(node);
  const metadata = objectAt(copy, "metadata");
  if (metadata) {
    metadata["name"] = name;
    delete metadata["uid"];
    delete metadata["resourceVersion"];
    const labels = objectAt(metadata, "labels");
    if (labels && HOSTNAME in labels) labels[HOSTNAME] = name;
  }
  return copy;
}

/** Removes the taints with a key; returns how many there were. */
function removeTaints(node: JsonObject, key: string): number {
  const spec = objectAt(node, "spec");
  const taints = listAt(spec, "taints");
  if (!spec || !taints) return 0;
  const hasKey = (taint: Json): boolean => isObject(taint) && taint["key"] === key;
  spec["taints"] = taints.filter((taint) => !hasKey(taint));
  return taints.filter(hasKey).length;
}
