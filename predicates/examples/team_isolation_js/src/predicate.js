// TeamIsolation, as a function of one node: the plainest form. `../team_isolation_ts` has the fastest one, row sets.
import { args, nodePredicate, unresolvable } from '@nodesift/predicate';

export const REASON = "node(s) didn't belong to the pod's team";

// `unresolvable`: preempting pods does not change the label of a node.
const OTHER_TEAM = unresolvable(REASON);

export default nodePredicate({
  name: 'TeamIsolation',
  summary: 'rejects nodes that belong to another team than the pod',
  reads: ['pod-labels', 'node-labels'],
  args: { label: args.string({ default: 'example.com/team', notEmpty: true }) },

  filter(pod, node, { label }) {
    const team = pod.label(label);
    if (team !== undefined && node.label(label) !== team) return OTHER_TEAM;
  },
});
