// TeamIsolation: a pod with the label `example.com/team` runs only on nodes that have the same label with the same value. A pod without
// the label runs on every node.
import { args, predicate, unresolvable } from '@nodesift/predicate';

export const REASON = "node(s) didn't belong to the pod's team";

// `unresolvable`: preempting pods does not change the label of a node.
const OTHER_TEAM = unresolvable(REASON);

export default predicate({
  name: 'TeamIsolation',
  summary: 'rejects nodes that belong to another team than the pod',
  // What it reads, and all that it can read: a policy allows no more than this.
  reads: ['pod-labels', 'node-labels'],
  // What a policy can set. Arguments of another name are refused.
  args: { label: args.string({ default: 'example.com/team', notEmpty: true }) },

  filter(pod, nodes, { label }) {
    const team = pod.label(label);
    if (team === undefined) return;
    nodes.reject(nodes.labelIn(label, [team]).not(), OTHER_TEAM);
  },
});
