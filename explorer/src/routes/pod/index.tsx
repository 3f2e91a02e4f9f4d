// The page of one pod: why it is pending, at a glance and then in detail. Start at Pod.

import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isGone } from "../../api/errors";
import { LIST_MS, useMay, usePolled } from "../../api/hooks";
import { PAGE_ROWS } from "../../api/rows";
import type { HelpfulEdit, PodHistory, Why } from "../../api/why";
import { announce } from "../../app/live";
import { go, href, setParameters, type Route } from "../../app/router";
import { useShortcut } from "../../app/shortcuts";
import { count as countCells, decode, FITS, NOT_EVALUATED } from "../../heatmap/cells";
import type { Layout } from "../../heatmap/layout";
import { assign, FITTING, UNEVALUATED, type Mark } from "../../heatmap/marks";
import { marksOfCells } from "../../heatmap/paint";
import { picture } from "../../heatmap/picture";
import { CauseBadge } from "../../ui/causes";
import { CopyMenu, fileItem, type CopyItem } from "../../ui/copy_menu";
import { TextField } from "../../ui/fields";
import { moment } from "../../ui/format";
import { Shown, visible } from "../../ui/shown";
import { Document } from "../../ui/status";
import { Ago } from "../../ui/time";
import { EvidenceList } from "./evidence";
import { Funnel } from "./funnel";
import { Help, Nearest } from "./help";
import { labelOf, PROPOSED } from "./labels";
import { Missing } from "./missing";
import { NodeMap, NodeTable } from "./nodes";
import { Panel } from "./panel";
import { useLabel, useNames, usePodAnswer, whyPath, type Names } from "./question";
import { Faults, Past, Rest } from "./rest";
import { Scores } from "./scores";
import { command, curl, ticket } from "./texts";

export function Pod({ route }: { route: Route }) {
  const { ns: namespace = "", name = "" } = route.names;
  const by = labelOf(route.parameters.get("by"));
  const path = whyPath(namespace, name, by);
  const mayOperate = useMay("operate");
  const historyPath = mayOperate ? `v1/pods/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}/history` : null;
  const past = usePolled<PodHistory>(historyPath, LIST_MS);
  const answer = usePodAnswer(path, JSON.stringify([past.value?.pending, past.value?.causes]));
  const encoded = answer.value?.cells ?? "";
  const cells = useMemo(() => decode(encoded), [encoded]);
  // Asked for beside the answer, since the map needs both.
  const label = useLabel(by, answer.value && cells.length, answer.value?.version.nodesResourceVersion);
  const names = useNames(answer.value ? answer.value.version.nodesResourceVersion : null);
  const gone = isGone(answer.error) ? answer.error : undefined;
  const tryAddress = href(["pods", namespace, name, "try"]);
  useShortcut("t", "try changes of the pod", () => go(tryAddress));
  // Labels of one page come with the answer, and then all is drawn once; those of many pages are not waited for, nor those of another label.
  const isDrawn = useRef(false);
  if (answer.value && (!label.isWaiting || answer.value.nodes > PAGE_ROWS)) isDrawn.current = true;
  // Made again only where something in it has changed: the pulse alone draws this component every two seconds.
  const content = useMemo(
    () =>
      answer.value && isDrawn.current && (
        <Answer
          route={route}
          namespace={namespace}
          name={name}
          by={by}
          answer={answer.value}
          cells={cells}
          label={label}
          names={names}
          at={answer.at}
          path={path}
          historyPath={historyPath}
        />
      ),
    [route, answer.value, answer.at, cells, label, names, path, historyPath],
  );
  return (
    <>
      {gone && !answer.value && <h1><Shown text={`${namespace}/${name}`} /></h1>}
      {gone && <Missing namespace={namespace} name={name} error={gone} history={past.value} />}
      {(!gone || answer.value) && (
        <Document polled={gone ? { ...answer, error: undefined, isOther: true } : answer} noun={`the answer about ${namespace}/${name}`}>
          {() => content}
        </Document>
      )}
    </>
  );
}

interface AnswerProps {
  route: Route;
  namespace: string;
  name: string;
  by: string;
  answer: Why;
  cells: Uint8Array;
  label: ReturnType<typeof useLabel>;
  names: Names;
  /** When the sidecar gave it, in milliseconds of the clock. */
  at: number | undefined;
  path: string;
  /** The path of its history; null for whoever may not read that. */
  historyPath: string | null;
}

function Answer({ route, namespace, name, by, answer, cells, label, names, at, path, historyPath }: AnswerProps) {
  const { marks, markOf } = useMarks(answer);
  const selected = route.parameters.get("step") ?? "";
  const node = route.parameters.get("node") ?? "";
  const [help, setHelp] = useState<HelpfulEdit[]>([]);
  // What is below the map comes after the frame that has the map.
  const [isWhole, setWhole] = useState(false);
  useEffect(() => {
    if (!label.isWaiting) setWhole(true);
  }, [label.isWaiting]);
  const drawn = useRef<{ canvas: HTMLCanvasElement; layout: Layout } | undefined>(undefined);
  const onDrawn = useCallback((canvas: HTMLCanvasElement, layout: Layout) => {
    drawn.current = { canvas, layout };
  }, []);
  const hrefOf = (of: string): string => href(route.path, { ...Object.fromEntries(route.parameters), node: of });
  const { version, cause } = answer;
  useEffect(() => announce(visible(`${answer.pod}: ${cause.name}: ${cause.headline}`)), [cause.name, cause.headline]);
  const nodes = { answer, cells, groups: label.groups, by, names, markOf, selected };
  const asked = at === undefined ? "" : ` · asked at ${moment(at, Date.now())}`;
  return (
    <article class="pod">
      <div class="title-row">
        <h1><Shown text={answer.pod} /></h1>
        <div class="tools">
          <a class="button" href={href(["pods", namespace, name, "try"])}>Try changes</a>
          <CopyMenu items={copies()} />
          <button type="button" onClick={() => print()}>Print</button>
        </div>
      </div>
      <p class="headline">
        <CauseBadge name={cause.name} headline={cause.headline} /> <Shown text={cause.headline} />
        {cause.since && (
          <span class="muted">
            {" "}
            for <Ago time={cause.since} />
          </span>
        )}
      </p>
      <Faults answer={answer} />
      <div class="pod-columns">
        <section aria-labelledby="funnel">
          <h2 id="funnel">Where its nodes are lost</h2>
          <Funnel answer={answer} marks={marks} selected={selected} onSelect={(step) => setParameters(route, { step }, { replace: true })} />
        </section>
        <section aria-labelledby="map">
          <div class="title-row">
            <h2 id="map">Every node by its first obstacle</h2>
            <TextField
              label="Grouped by label"
              value={route.parameters.get("by") ?? "zone"}
              suggestions={PROPOSED}
              error={label.error || undefined}
              onChange={(next) => setParameters(route, { by: next.trim() }, { replace: true })}
            />
          </div>
          {label.isWaiting ? <p class="muted">Asking for the labels of nodes …</p> : (
            <NodeMap {...nodes} onPick={(of) => setParameters(route, { node: of }, { replace: true })} onDrawn={onDrawn} />
          )}
        </section>
      </div>
      {isWhole && below()}
      <p class="muted">
        Generation {version.generation}, policy {version.policyGeneration}
        {asked}
      </p>
    </article>
  );

  function below(): ComponentChildren {
    return (
      <>
        <div class={node ? "pod-columns" : undefined}>
          <NodeTable {...nodes} hrefOf={hrefOf} />
          {node && (
            <Panel
              namespace={namespace}
              name={name}
              node={node}
              generation={version.generation}
              onClose={() => setParameters(route, { node: undefined }, { replace: true })}
            />
          )}
        </div>
        <Scores pod={{ name: { namespace, name } }} fits={answer.feasibleCount} generation={version.generation} hrefOf={hrefOf} />
        <h2>Evidence</h2>
        <EvidenceList evidence={answer.evidence} />
        <div class="columns">
          <section>
            <h2>Nearest nodes</h2>
            <Nearest answer={answer} marks={marks} hrefOf={hrefOf} />
          </section>
          <section>
            <h2>What would help</h2>
            <Help namespace={namespace} name={name} fits={answer.feasibleCount > 0} onFound={setHelp} />
          </section>
        </div>
        <Rest answer={answer} />
        <Past path={historyPath} />
        {answer.message && (
          <>
            <h2>kube-scheduler's message</h2>
            <p class="message mono"><Shown text={answer.message} /></p>
          </>
        )}
      </>
    );
  }

  function copies(): CopyItem[] {
    const json = (): string => `${JSON.stringify({ ...answer, help: help.length > 0 ? help : answer.help }, null, 2)}\n`;
    const file = `${namespace}-${name}`;
    return [
      { label: "Link", text: () => location.href },
      { label: "Command", text: () => command(namespace, name, by) },
      { label: "Markdown", text: () => ticket({ ...answer, help }, location.href) },
      { label: "curl", text: () => curl(new URL(path, document.baseURI).href) },
      { label: "JSON", text: json },
      fileItem("JSON file", `${file}.json`, json),
      {
        label: "PNG of the map",
        file: async () => {
          if (!drawn.current) throw new Error("the map is not drawn yet");
          const { canvas, layout } = drawn.current;
          return { name: `${file}.png`, content: await picture(canvas, layout, `${answer.pod}  ${cause.name}`, legendOf(answer, cells, marks)) };
        },
      },
    ];
  }
}

/** Marks of the predicates that reject nodes; each keeps its own as long as the page is open. */
export function useMarks(answer: Why): { marks: ReadonlyMap<string, Mark>; markOf: (cell: number) => Mark } {
  const known = useRef<ReadonlyMap<string, Mark>>(new Map());
  const signature = JSON.stringify(answer.funnel.map(({ predicate, rejected }) => [predicate, rejected > 0]));
  return useMemo(() => {
    known.current = assign(known.current, answer.funnel);
    return { marks: known.current, markOf: marksOfCells(answer.funnel, known.current) };
  }, [signature]);
}

function legendOf(answer: Why, cells: Uint8Array, marks: ReadonlyMap<string, Mark>): { mark: Mark; text: string; nodes: number }[] {
  const counts = countCells(cells);
  const steps = answer.funnel.map(({ predicate }, at) => ({ mark: marks.get(predicate) ?? UNEVALUATED, text: predicate, nodes: counts[at] ?? 0 }));
  return [
    ...steps,
    { mark: FITTING, text: "fits", nodes: counts[FITS] ?? 0 },
    { mark: UNEVALUATED, text: "not evaluated", nodes: counts[NOT_EVALUATED] ?? 0 },
  ].filter(({ nodes }) => nodes > 0);
}
