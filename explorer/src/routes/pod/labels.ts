// Labels of nodes by which a page groups them, and short names of those that most clusters have. Start at `labelOf`.

/** Keys by the short names that links use. */
const SHORT: Record<string, string> = {
  zone: "topology.kubernetes.io/zone",
  region: "topology.kubernetes.io/region",
  type: "node.kubernetes.io/instance-type",
  arch: "kubernetes.io/arch",
  os: "kubernetes.io/os",
};

/** The word of a link for nodes that are not grouped. */
export const NONE = "none";

/** Keys that the field proposes. */
export const PROPOSED = [
  ...Object.keys(SHORT),
  "karpenter.sh/nodepool",
  "eks.amazonaws.com/nodegroup",
  "cloud.google.com/gke-nodepool",
  "kubernetes.azure.com/agentpool",
  NONE,
];

/** The key that `by` of a link stands for, by default the zone; empty where nodes are not grouped. */
export function labelOf(by: string | null): string {
  if (by === NONE) return "";
  const word = by || "zone";
  return Object.hasOwn(SHORT, word) ? SHORT[word]! : word;
}
