// What-ifs: of a pod of the cluster, and of a manifest that is pasted. Nothing is written anywhere: edits are made on copies, in the
// page, and the sidecar answers about these. Start at TryPod and TryManifest.

import { useMemo, useState } from "preact/hooks";
import { ApiError, heading, isGone } from "../../api/errors";
import type { Why } from "../../api/why";
import { announce } from "../../app/live";
import { go, href, type Route } from "../../app/router";
import { useShortcut } from "../../app/shortcuts";
import { print, type Edit } from "../../edits/grammar";
import { fromQuery, toQuery } from "../../edits/link";
import { CopyMenu, type CopyItem } from "../../ui/copy_menu";
import { Choice, useSettled } from "../../ui/fields";
import { Link, Shown } from "../../ui/shown";
import { Refused } from "../../ui/status";
import { number } from "../pod/amount";
import { taint } from "../pod/details";
import { labelOf } from "../pod/labels";
import { Missing } from "../pod/missing";
import { command, curlPost, ticket } from "../pod/texts";
import { ComparisonView } from "./comparison";
import { EditForm } from "./form";
import { documents, refused } from "./manifest";
import { useWhatIf, type Outcome, type Question } from "./what_if";

/** The what-if of a pod: `#/pods/NAMESPACE/NAME/try?e=EDIT`. */
export function TryPod({ route }: { route: Route }) {
  const { ns: namespace = "", name = "" } = route.names;
  const link = useLinkedEdits(route);
  const by = labelOf(route.parameters.get("by"));
  const outcome = useWhatIf({ namespace, name, edits: link.edits }, by);
  const podAddress = href(["pods", namespace, name]);
  const { error } = outcome.failure ?? {};
  const gone = outcome.failure?.at === undefined && isGone(error) ? error : undefined;
  return (
    <>
      <div class="title-row">
        <h1>What if: <Link to={podAddress} text={`${namespace}/${name}`} /></h1>
        {outcome.result && <CopyMenu items={copies(outcome, (edits) => command(namespace, name, by, edits))} />}
      </div>
      {gone && <Missing namespace={namespace} name={name} error={gone} history={undefined} />}
      <WhatIf link={link} outcome={outcome} by={by} isPodEditable hrefOf={(node) => `${podAddress}?node=${encodeURIComponent(node)}`} />
    </>
  );
}

/** The what-if of a manifest: `#/try?e=EDIT`. The manifest itself is in no link: it may hold secrets. */
export function TryManifest({ route }: { route: Route }) {
  const link = useLinkedEdits(route);
  const by = labelOf(route.parameters.get("by"));
  const [text, setText] = useState("");
  const [taken, setTaken] = useState("");
  const [baseline, setBaseline] = useState<string>();
  const [chosen, setChosen] = useState(0);
  const settle = useSettled();
  const all = useMemo(() => documents(taken), [taken]);
  const manifest = all[Math.min(chosen, all.length - 1)]?.text ?? "";
  const tooLarge = refused(taken);
  const question: Question | undefined =
    manifest && !tooLarge ? { manifests: [baseline ?? manifest, manifest], edits: link.edits } : undefined;
  const outcome = useWhatIf(question, by);
  const change = (next: string): void => {
    setText(next);
    settle(() => setTaken(next));
  };
  const { failure } = outcome;
  // What the sidecar refuses and no edit is about, the manifest is about.
  const isOfManifest = failure?.at === undefined && failure?.error instanceof ApiError && failure.error.failure === "invalid";
  const error = tooLarge || (isOfManifest ? failure.error.message : "");
  return (
    <>
      <div class="title-row">
        <h1>Try a manifest</h1>
        {outcome.result && <CopyMenu items={copies(outcome)} />}
      </div>
      <p class="muted">
        A Pod, or a workload, whose pod template is evaluated. Nothing is created, and the manifest is kept in this page alone.
      </p>
      <div class="field manifest">
        <label for="manifest">Manifest in YAML or JSON</label>
        <textarea
          id="manifest"
          rows={14}
          spellcheck={false}
          value={text}
          aria-invalid={error ? "true" : undefined}
          aria-describedby={error ? "manifest-error" : undefined}
          onInput={(event) => change(event.currentTarget.value)}
        />
        {error && <Refused id="manifest-error" text={error} />}
      </div>
      <div class="form">
        {all.length > 1 && (
          <Choice
            label={`${all.length} documents`}
            value={String(Math.min(chosen, all.length - 1))}
            options={all.map(({ title }, at) => [String(at), `${at + 1}: ${title}`])}
            onChange={(value) => setChosen(Number(value))}
          />
        )}
        <button type="button" disabled={!outcome.result || baseline === manifest} onClick={() => setBaseline(manifest)}>
          Compare later versions with this one
        </button>
        {baseline !== undefined && <button type="button" onClick={() => setBaseline(undefined)}>Compare no more</button>}
      </div>
      <WhatIf
        link={link}
        outcome={error ? { ...outcome, failure: undefined } : outcome}
        isStale={error !== ""}
        by={by}
        isPodEditable={false}
        hrefOf={(node) => href(["nodes", node])}
      />
    </>
  );
}

interface LinkedEdits {
  edits: Edit[];
  refused: string | undefined;
  change: (edits: Edit[]) => void;
  undo: (() => void) | undefined;
}

/** The edits of the link, which hold whatever is tried; each change can be taken back. */
function useLinkedEdits(route: Route): LinkedEdits {
  const query = route.parameters.getAll("e").join("\n");
  const { edits, refused } = useMemo(() => fromQuery(route.parameters), [query]);
  const [past, setPast] = useState<Edit[][]>([]);
  const show = (next: Edit[]): void => {
    const by = route.parameters.get("by");
    const parts = [by ? `by=${encodeURIComponent(by)}` : "", toQuery(next)].filter(Boolean).join("&");
    go(`${href(route.path)}${parts ? `?${parts}` : ""}`, { replace: true });
  };
  const change = (next: Edit[]): void => {
    setPast([...past, edits]);
    show(next);
  };
  const last = past.at(-1);
  const undo = (): void => {
    if (!last) return;
    setPast(past.slice(0, -1));
    show(last);
    announce(`Undone: ${last.length} edits`);
  };
  useShortcut("u", "take back the last edit", undo);
  return { edits, refused, change, undo: last && undo };
}

interface WhatIfProps {
  link: LinkedEdits;
  outcome: Outcome;
  by: string;
  isPodEditable: boolean;
  /** Whether the result is of an earlier manifest. */
  isStale?: boolean;
  hrefOf: (node: string) => string;
}

function WhatIf({ link, outcome, by, isPodEditable, isStale = false, hrefOf }: WhatIfProps) {
  const { result, failure, isBusy, recomputedUnder } = outcome;
  const proposed = useMemo(() => proposals(result?.before), [result?.before]);
  const isOld = isStale || failure !== undefined;
  return (
    <>
      {link.refused && (
        <div class="trouble" role="group" aria-label="Link">
          <p><strong>No edit of this link is applied.</strong> <Shown text={link.refused} /></p>
        </div>
      )}
      <h2>Edits</h2>
      <EditForm
        edits={link.edits}
        proposed={proposed}
        isPodEditable={isPodEditable}
        failure={failure?.at === undefined ? undefined : { at: failure.at, text: failure.error.message }}
        onChange={link.change}
        onUndo={link.undo}
      />
      {failure && failure.at === undefined && (
        <div class="trouble" role="group" aria-label="Trouble">
          <p>
            <strong>{failure.error instanceof ApiError ? heading(failure.error) : "The edits cannot be made"}.</strong>{" "}
            <Shown text={failure.error.message} />
          </p>
        </div>
      )}
      {recomputedUnder && (
        <p class="banner notice" role="status">
          Recomputed under policy {recomputedUnder}: the policy has changed while this page was open.
        </p>
      )}
      {isBusy && !result && <p class="muted">Evaluating …</p>}
      {result && (
        <div class={isOld ? "stale-answer outdated" : undefined} aria-busy={isBusy}>
          {isOld && <p class="muted">The last good result, without the change that cannot be made:</p>}
          <ComparisonView result={result} by={by} hrefOf={hrefOf} />
          <p class="muted">Generation {result.after.version.generation}, policy {result.after.version.policyGeneration}</p>
        </div>
      )}
    </>
  );
}

/** Values that edits of this pod may have, by the beginning of the edit. */
function proposals(answer: Why | undefined): Map<string, string[]> {
  const evidence = answer?.evidence ?? [];
  const taints = evidence.flatMap((of) => of.taints);
  const nodes = (answer?.nearest ?? []).map(({ node }) => node);
  const spread = evidence.flatMap((of) => of.topologies).flatMap(({ field }) => /^topologySpreadConstraints(\[\d+\])/.exec(field)?.[1] ?? []);
  const amounts = (resource: string): string[] =>
    evidence
      .flatMap((of) => of.resources)
      .filter((of) => of.resource === resource)
      .flatMap((of) => [of.nearestFree, of.largestFree])
      .flatMap((free) => (free && Number(free) > 0 ? (resource === "cpu" ? `${free}m` : number(resource, free).includes(".") ? free : number(resource, free)) : []));
  return new Map([
    ["tolerate=", taints.map(taint)],
    ["untaint=", taints.map(({ key }) => key)],
    ["drop=", ["nodeSelector", "affinity", ...spread.map((index) => `spread${index}`)]],
    ["node+=", nodes.map((node) => `${node}*1`)],
    ["uncordon=", nodes],
    ["cpu=", amounts("cpu")],
    ["memory=", amounts("memory")],
  ].map(([start, values]) => [start as string, [...new Set(values as string[])]]));
}

function copies({ result }: Outcome, commandOf?: (edits: string[]) => string): CopyItem[] {
  if (!result) return [];
  const edits = result.edits.map(print);
  return [
    { label: "Link", text: () => location.href },
    ...(commandOf ? [{ label: "Command", text: () => commandOf(edits) }] : []),
    { label: "Markdown", text: () => ticket(result.after, location.href, edits) },
    { label: "curl", text: () => curlPost(new URL("v1/why", document.baseURI).href, result.body) },
    { label: "JSON", text: () => `${JSON.stringify({ before: result.before, after: result.after }, null, 2)}\n` },
  ];
}
