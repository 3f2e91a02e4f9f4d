// MaintenanceWindow: a pod that says how long it runs is kept off nodes whose maintenance begins before it is done, and off nodes in
// maintenance. An annotation of the node has the window, as `2026-12-01T02:00:00Z/2026-12-01T04:00:00Z`; one of the pod its duration,
// as `90m`. A pod without a duration runs on every node: drains move it.
import { args, passed, predicate, unresolvable } from '@nodesift/predicate';

// `unresolvable`: preempting pods does not move a window.
const TOO_LATE = unresolvable('node(s) have maintenance before the pod would be done');
const UNREADABLE = unresolvable('node(s) had a maintenance window that cannot be read');
const NO_DURATION = unresolvable("the pod's expected duration is not like 90s, 45m, 3h or 2d");

const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 };
// RFC 3339 with a zone, to the second: what `Date.parse` makes of other texts depends on who runs it.
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)$/;

/** A moment in seconds since 1970; none where the text is not one. */
function moment(text: string): number | undefined {
  const at = MOMENT.test(text) ? Date.parse(text) / 1_000 : NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** A duration in seconds; none where the text is not one. */
function duration(text: string): number | undefined {
  const [, count, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * SECONDS[unit as keyof typeof SECONDS];
}

export default predicate({
  name: 'MaintenanceWindow',
  summary: "rejects nodes whose maintenance begins before the pod's expected end",
  reads: ['pod-annotations', 'node-annotations', 'time'],
  // The keys must also be among `spec.facts.annotations` of the policy.
  args: {
    window: args.string({ default: 'example.com/maintenance', notEmpty: true }),
    duration: args.string({ default: 'example.com/expected-duration', notEmpty: true }),
  },

  filter(pod, nodes, keys) {
    const expected = pod.annotation(keys.duration);
    if (expected === undefined) return;
    const seconds = duration(expected);
    if (seconds === undefined) return NO_DURATION;
    const tooLate: string[] = [];
    const unreadable: string[] = [];
    // Once per different window, not once per node.
    for (const window of nodes.annotationTexts(keys.window)) {
      const [from, to, ...more] = window.split('/');
      const start = moment(from ?? '');
      const end = moment(to ?? '');
      if (start === undefined || end === undefined || end < start || more.length > 0) unreadable.push(window);
      // The verdict is kept until one of these moments passes.
      else if (passed(start - seconds) && !passed(end)) tooLate.push(window);
    }
    nodes.reject(nodes.annotationIn(keys.window, tooLate), TOO_LATE);
    nodes.reject(nodes.annotationIn(keys.window, unreadable), UNREADABLE);
  },
});
