// Whether one pod fits one node, and which predicates reject it. Start at Fit.

import { usePosted } from "../../api/hooks";
import type { Why } from "../../api/why";
import { Link } from "../../ui/shown";
import { Answered } from "../../ui/status";
import { podHref, podNamed } from "../pending/groups";
import { Obstacles } from "../pod/panel";

export function Fit({ pod, node }: { pod: string; node: string }) {
  const asked = usePosted<Why>("v1/why", { pod: podNamed(pod), nodes: { names: [node] } });
  return (
    <section aria-labelledby="fit" class="notice-box">
      <h2 id="fit">Pod <Link to={podHref(pod)} text={pod} /> on this node</h2>
      <Answered asked={asked} noun="the pod on this node">{(answer) => <Obstacles why={answer} />}</Answered>
    </section>
  );
}
