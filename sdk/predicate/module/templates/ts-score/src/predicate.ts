// {{type}}: a pod with the label `example.com/team` prefers nodes that have the same label with the same value. About a pod without the
// label nothing is said. No node is rejected.
import { args, nodeScorer, skip } from '@nodesift/predicate';

export default nodeScorer({
  name: '{{type}}',
  summary: "prefers nodes that belong to the pod's team",
  // What it reads, and all that it can read: a policy allows no more than this.
  reads: ['pod-labels', 'node-labels'],
  // What a policy can set. Arguments of another name are refused.
  args: { label: args.string({ default: 'example.com/team', notEmpty: true }) },
  // Scores are from 0 to 100 as they are. Of counts and costs, another normalization makes such scores.
  normalization: 'none',

  score(pod, node, { label }) {
    const team = pod.label(label);
    if (team === undefined) return skip;
    return node.label(label) === team ? 100 : 0;
  },
});
