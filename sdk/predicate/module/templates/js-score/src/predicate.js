// {{type}}: a pod with the label `example.com/team` prefers nodes that have the same label with the same value. About a pod without the
// label nothing is said. No node is rejected.
import { args, scorer, skip } from '@nodesift/predicate';

export default scorer({
  name: '{{type}}',
  summary: "prefers nodes that belong to the pod's team",
  // What it reads, and all that it can read: a policy allows no more than this.
  reads: ['pod-labels', 'node-labels'],
  // What a policy can set. Arguments of another name are refused.
  args: { label: args.string({ default: 'example.com/team', notEmpty: true }) },
  // Scores are from 0 to 100 as they are. Of counts and costs, another normalization makes such scores.
  normalization: 'none',

  score(pod, nodes, { label }) {
    const team = pod.label(label);
    if (team === undefined) return skip;
    // A column has a code per node, and equal texts have equal codes. `nodeScorer` looks at one node at a time, which takes longer.
    const labels = nodes.labels(label);
    const wanted = labels.code(team);
    return labels.codes.map((code) => (code === wanted ? 100 : 0));
  },
});
