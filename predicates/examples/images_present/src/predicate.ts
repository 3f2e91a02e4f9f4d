// ImagesPresent: a pod with the label runs only on nodes that have its images already, so that it starts without a pull. For pods
// that must start within seconds, on nodes that are prepared with their images.
//
// The kubelet reports only the largest images of a node, 50 by default: raise its `nodeStatusMaxImages` where that is too few.
import { args, predicate, unresolvable } from '@nodesift/predicate';

// `unresolvable`: preempting pods does not bring an image to a node.
const MISSING = unresolvable("node(s) didn't have the pod's images");

export default predicate({
  name: 'ImagesPresent',
  summary: 'rejects nodes that would have to pull an image of the pod',
  reads: ['pod-labels', 'pod-spec', 'node-images'],
  args: {
    label: args.string({ default: 'example.com/start', notEmpty: true }),
    value: args.string({ default: 'at-once' }),
  },

  // Over columns: one column per image and one rejection, and not one call per image and node.
  filter(pod, nodes, { label, value }) {
    if (pod.label(label) !== value) return;
    for (const image of pod.images) {
      const present = nodes.imageFlags(image);
      const missing: number[] = [];
      for (let row = present.indexOf(0); row !== -1; row = present.indexOf(0, row + 1)) missing.push(row);
      nodes.reject(missing, MISSING);
    }
  },
});
