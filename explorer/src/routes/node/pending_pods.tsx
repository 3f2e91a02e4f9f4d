// Pending pods and one node: which of them fit it, which it is nearest for because one predicate alone rejects it, and the same with one
// edit. One question about the first pod of each of the largest groups of pods with one answer. Start at PendingPods.

import { useState } from "preact/hooks";
import { withQuery } from "../../api/client";
import { isGone } from "../../api/errors";
import { LIST_MS, session, useAsked, usePolled } from "../../api/hooks";
import type { NodeDetail, Pending, PendingGroup, Version } from "../../api/types";
import { setParameters, type Route } from "../../app/router";
import { whatIf } from "../../edits/apply";
import { fromQuery, toQuery } from "../../edits/link";
import { SidecarObjects } from "../../edits/sidecar";
import { Choice } from "../../ui/fields";
import { count, counted } from "../../ui/format";
import { Link, Shown } from "../../ui/shown";
import { Refused } from "../../ui/status";
import { Table } from "../../ui/table";
import { podHref, podNamed } from "../pending/groups";

/** Groups that are asked about: the sidecar evaluates a pod of each, and a reader looks at no more. */
const GROUPS = 20;

/** Causes that no node changes. */
const ELSEWHERE = ["Gated", "OtherScheduler", "Terminating"];

/** The part of `Explain` that is shown here. */
export interface Explanations {
  version: Version;
  pods: { pod: string; predicates: { predicate: string; failures: { reasons: string[] }[] }[] }[];
}

/**
 * The answer about some pods, and those that have gone or were bound since they were listed: one such pod has the sidecar refuse the whole
 * question, which then is asked again about each. Throws what `ask` throws where no pod has an answer.
 */
export async function explainThoseLeft(
  pods: string[],
  ask: (pods: string[]) => Promise<Explanations>,
): Promise<Explanations & { gone: string[] }> {
  try {
    return { ...(await ask(pods)), gone: [] };
  } catch (refusal) {
    if (!isGone(refusal)) throw refusal;
    const [answers, gone]: [Explanations[], string[]] = [[], []];
    for (const pod of pods) {
      try {
        answers.push(await ask([pod]));
      } catch (error) {
        if (!isGone(error)) throw error;
        gone.push(pod);
      }
    }
    const last = answers.at(-1);
    // The question is about something else that is not there, such as a pod that an edit removes.
    if (!last) throw refusal;
    return { version: last.version, pods: answers.flatMap(({ pods }) => pods), gone };
  }
}

interface Row {
  group: PendingGroup;
  pod: string;
  obstacles: { predicate: string; reasons: string }[];
}

export function PendingPods({ route, node }: { route: Route; node: NodeDetail }) {
  const [times, setTimes] = useState(0);
  const list = usePolled<Pending>(withQuery("v1/pending", { limit: 0 }), LIST_MS);
  const groups = (list.value?.groups ?? []).filter(({ cause, pods }) => pods.length > 0 && !ELSEWHERE.includes(cause ?? "")).slice(0, GROUPS);
  const names = groups.map(({ pods }) => pods[0] ?? "");
  const { edits, refused } = fromQuery(route.parameters);
  const query = toQuery(edits);
  const { answer, error } = useAsked(
    times > 0 && names.length > 0 && !refused ? JSON.stringify([node.name, query, names]) : null,
    async (signal) => {
      const { overlay } = await whatIf(edits, { object: {} }, new SidecarObjects(session.client, signal));
      return explainThoseLeft(names, (pods) => {
        const question = { pods: pods.map(podNamed), nodes: { names: [node.name] }, overlay };
        return session.client.post<Explanations>("v1/explain", JSON.stringify(question), "application/json", signal);
      });
    },
    String(times),
  );
  const rows = (answer?.pods ?? []).flatMap(({ pod, predicates }): Row[] => {
    const group = groups.find(({ pods }) => pods[0] === pod);
    const rejecting = predicates.filter(({ failures }) => failures.length > 0);
    const obstacles = rejecting.map(({ predicate, failures }) => ({ predicate, reasons: failures.flatMap(({ reasons }) => reasons).join(", ") }));
    return group ? [{ group, pod, obstacles }] : [];
  });
  rows.sort((a, b) => a.obstacles.length - b.obstacles.length);
  return (
    <section aria-labelledby="pending">
      <h2 id="pending">Pending pods</h2>
      {list.value && groups.length === 0 && <p class="muted">None waits for a node.</p>}
      {groups.length > 0 && (
        <div class="form">
          <Choice
            label="What if"
            value={edits.length > 0 ? query : ""}
            options={choices(node, query)}
            onChange={(e) => (setParameters(route, { e: e ? new URLSearchParams(e).get("e") ?? "" : undefined }, { replace: true }), setTimes(times + 1))}
          />
          <button type="button" onClick={() => setTimes(times + 1)}>{times > 0 ? "Ask again" : "Who would fit here?"}</button>
        </div>
      )}
      {(refused || error) && <Refused text={refused ?? error?.message ?? ""} />}
      {times > 0 && groups.length > 0 && !answer && !error && !refused && <p class="muted">Asking …</p>}
      {rows.length > 0 && (
        <>
          <Table
            caption="Pending pods by what keeps them off this node"
            rows={rows}
            rowKey={({ pod }) => pod}
            columns={[
              { title: "Pod", isHead: true, cell: ({ pod, group }) => <Pod pod={pod} more={group.count - 1} /> },
              { title: "Obstacles here", cell: ({ obstacles }) => <Obstacles obstacles={obstacles} /> },
              {
                title: "What if",
                cell: ({ pod }) => <a href={`${podHref(pod)}/try?${query || toQuery([`node+=${node.name}*1`])}`}>{query ? "with this edit" : "one more node like this"}</a>,
              },
            ]}
          />
          <p class="muted">
            The first pod of each of the {counted(groups.length, "largest group")} with one answer, at generation {answer?.version.generation}.
            Where one predicate alone rejects it, the node is among the nearest.
            {answer && answer.gone.length > 0 && (
              <>
                {" "}
                No longer pending: <Shown text={answer.gone.join(", ")} />.
              </>
            )}
          </p>
        </>
      )}
    </section>
  );
}

/** Edits of this node, with their words; that of the link is among them, whatever it is. */
function choices(node: NodeDetail, query: string): [string, string][] {
  const removable = [...node.ownPods].sort((a, b) => a.priority - b.priority);
  const known: [string, string][] = [
    ["", "as it is"],
    ...(node.schedulable ? [] : [[`uncordon=${node.name}`, "it were not cordoned"] as [string, string]]),
    ...removable.map(({ namespace, name }): [string, string] => [`without=${namespace}/${name}`, `${namespace}/${name} were gone`]),
  ];
  const options = known.map(([edit, words]): [string, string] => [edit && toQuery([edit]), words]);
  return !query || options.some(([edit]) => edit === query) ? options : [...options, [query, query]];
}

function Pod({ pod, more }: { pod: string; more: number }) {
  return (
    <>
      <Link to={podHref(pod)} text={pod} />
      {more > 0 && <span class="muted"> and {count(more)} like it</span>}
    </>
  );
}

function Obstacles({ obstacles }: { obstacles: Row["obstacles"] }) {
  if (obstacles.length === 0) return <span class="good-text">none: it fits</span>;
  return (
    <>
      {obstacles.length === 1 && <span class="badge">nearest</span>}
      {obstacles.map(({ predicate, reasons }) => (
        <div key={predicate}>
          <strong><Shown text={predicate} /></strong>
          : <Shown text={reasons} />
        </div>
      ))}
    </>
  );
}
