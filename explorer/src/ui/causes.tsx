// The causes for which pods are pending, in the order in which the sidecar ranks them. Start at CAUSES.

import { Shown, visible } from "./shown";

/** A cause of the closed list. */
export interface Cause {
  name: string;
  /** What it means, in a few words. */
  text: string;
  /** Whether somebody should look at it. */
  alarming: boolean;
}

export const CAUSES: Cause[] = [
  { name: "NotAnswered", text: "a predicate failed or is in quarantine", alarming: true },
  { name: "Aborted", text: "an object that it needs is missing", alarming: true },
  { name: "NeverFits", text: "every node is rejected for good", alarming: true },
  { name: "NoRoom", text: "a node would fit if pods left it", alarming: true },
  { name: "WaitsForDevices", text: "devices are in use", alarming: true },
  { name: "WaitsForParties", text: "external parties hold it back", alarming: true },
  { name: "NotAsked", text: "nodes fit, and no core has asked for a while", alarming: true },
  { name: "Fits", text: "nodes fit; not placed yet", alarming: false },
  { name: "Assumed", text: "a core has placed it; not bound yet", alarming: false },
  { name: "Nominated", text: "preemption makes room for it", alarming: false },
  { name: "Gated", text: "it has scheduling gates", alarming: false },
  { name: "OtherScheduler", text: "another scheduler's", alarming: false },
  { name: "Terminating", text: "it is being deleted", alarming: false },
];

const BY_NAME = new Map(CAUSES.map((cause) => [cause.name, cause]));

/** The cause by its name; one that a newer sidecar knows is shown by its name alone. */
export function causeOf(name: string): Cause {
  return BY_NAME.get(name) ?? { name, text: "", alarming: false };
}

/** A cause as a badge: its name, and a mark beside the colour where it is alarming. Its title is the sentence of the answer, else what it means. */
export function CauseBadge({ name, headline }: { name: string; headline?: string }) {
  const cause = causeOf(name);
  return <span class={cause.alarming ? "badge alarming" : "badge"} title={headline ? visible(headline) : cause.text}><Shown text={name} /></span>;
}
