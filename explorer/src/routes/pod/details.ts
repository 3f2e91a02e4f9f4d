// Facts that a predicate which rejects nodes could read of the pod and the nodes. They follow from the evidence of the answer, by
// imported interface: nothing here knows a predicate. Where there is no evidence, the predicate's own reasons stand. Start at `details`.

import type { Evidence, FunnelStep, ResourceEvidence, TopologyEvidence, Why } from "../../api/why";
import { count, counted } from "../../ui/format";
import { amount, number } from "./amount";

/** The facts that keep nodes from the pod, those of the most nodes first. */
export function details(answer: Why, step: FunnelStep): string[] {
  const of = answer.evidence.filter(({ predicates }) => predicates.includes(step.predicate));
  // Evidence of fewer predicates says more of this one.
  of.sort((a, b) => a.predicates.length - b.predicates.length);
  const facts = of.flatMap((evidence) => factsOf(answer, evidence));
  const most = answer.alone.find(({ predicate }) => predicate === step.predicate)?.rejects ?? Infinity;
  // A fact about more nodes than this predicate rejects is for another one that reads it too.
  const own = [...facts.filter(({ nodes }) => nodes <= most), ...facts.filter(({ nodes }) => nodes > most)];
  if (own.length > 0) return own.map(({ text }) => text);
  const [only, ...more] = step.reasons;
  return only && more.length === 0 ? [only.reason] : step.reasons.map(({ reason, nodes }) => `${reason} ${count(nodes)}`);
}

/** The first of some texts, and how many more there are. */
export function listed(texts: string[], limit: number, separator = "; "): string {
  const more = texts.length - limit;
  return [...texts.slice(0, limit), ...(more > 0 ? [`${more} more`] : [])].join(separator);
}

interface Fact { nodes: number; text: string }

function factsOf(answer: Why, evidence: Evidence): Fact[] {
  const lacking = (nodes: number): number => Math.max(0, answer.nodes - nodes);
  const facts: Fact[] = [
    ...evidence.resources
      .filter(({ nodesEnough }) => nodesEnough < answer.nodes)
      .map((of) => ({ nodes: lacking(of.nodesEnough), text: resource(of) })),
    ...evidence.taints.map((of) => ({ nodes: of.nodes, text: `${taint(of)} ${count(of.nodes)}` })),
    ...evidence.expressions
      .filter(({ nodes }) => nodes < answer.nodes)
      .map((of) => ({ nodes: lacking(of.nodes), text: `${of.expression}: matched by ${count(of.nodes)}` })),
    ...evidence.topologies.map((of) => ({ nodes: lacking(of.nodes), text: topology(of) })),
    ...evidence.facts.filter(({ nodes }) => nodes !== 0).map(fact),
  ];
  return facts.sort((a, b) => b.nodes - a.nodes);
}

export function resource(of: ResourceEvidence): string {
  const wants = `wants ${amount(of.resource, of.requested)}`;
  if (of.nodesEnough > 0) return `${wants}: free on ${count(of.nodesEnough)}`;
  const most = `${wants}; most free on one node: ${number(of.resource, of.largestFree)} (${of.largestFreeNode})`;
  const isTooSmall = BigInt(of.largestAllocatable) < BigInt(of.requested);
  return isTooSmall ? `${most}, and none is larger than ${number(of.resource, of.largestAllocatable)}` : most;
}

export function taint(of: { key: string; value?: string; effect: string }): string {
  return `${of.key}${of.value ? `=${of.value}` : ""}:${of.effect}`;
}

export function topology(of: TopologyEvidence): string {
  if (of.domains === 0) return `${of.field}: no node has ${of.topologyKey}`;
  const skew = Number(of.maxSkew) > 0 ? `, skew up to ${of.maxSkew}` : "";
  const domains = `${counted(of.domains, "domain")} of ${of.topologyKey} on ${counted(of.nodes, "node")}`;
  return `${of.field}: ${domains}, ${counted(Number(of.matchingPods), "matching pod")}${skew}`;
}

function fact(of: Evidence["facts"][number]): Fact {
  // Of a fact that holds or does not, the name says it.
  const text = of.value === "true" ? of.name : `${of.name} ${of.value}`;
  if (of.nodes === undefined || of.nodes === null) return { nodes: 0, text };
  // Of a node or a volume that is named, the nodes are those that it excludes; all others are about what is on them.
  const how = of.name === "persistentVolumeClaim" ? ", which excludes" : of.name === "nodeName" ? " excludes" : " on";
  return { nodes: of.nodes, text: `${text}${how} ${counted(of.nodes, "node")}` };
}
