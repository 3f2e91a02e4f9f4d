// The edits as fields: one row each, a kind and its value. A change is taken up 300 ms after the last key; an edit that is none says so
// beside its field, and then nothing is applied. Start at EditForm.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { EditError, parse, print, type Edit } from "../../edits/grammar";
import { tooLong } from "../../edits/link";
import { TextInput, useSettled } from "../../ui/fields";
import { Refused } from "../../ui/status";

/** The beginnings of edits, with their words and an example of what follows. */
const KINDS: [start: string, words: string, example: string, isOfPod: boolean][] = [
  ["cpu=", "requests cpu", "2, 500m", true],
  ["memory=", "requests memory", "4Gi", true],
  ["", "requests other", "example.com/gpu=1", true],
  ["tolerate=", "tolerates", "KEY=VALUE:EFFECT", true],
  ["drop=", "lacks", "nodeSelector, affinity, spread[0]", true],
  ["node+=", "more nodes like", "NODE*3", false],
  ["uncordon=", "uncordoned is", "NODE", false],
  ["untaint=", "no node has taint", "KEY", false],
  ["without=", "gone is pod", "NAMESPACE/NAME", false],
];

export interface EditFormProps {
  edits: readonly Edit[];
  /** Values that are proposed, by the beginning of the edit. */
  proposed: ReadonlyMap<string, string[]>;
  /** Whether edits of the pod are offered; those of the cluster always are. */
  isPodEditable: boolean;
  /** Why an edit cannot be made, by its index. */
  failure: { at: number; text: string } | undefined;
  onChange: (edits: Edit[]) => void;
  /** Takes back the last change; absent where there is none. */
  onUndo: (() => void) | undefined;
}

export function EditForm({ edits, proposed, isPodEditable, failure, onChange, onUndo }: EditFormProps) {
  const texts = edits.map(print);
  const signature = texts.join("\n");
  const [drafts, setDrafts] = useState<Draft[]>(() => draftsOf(texts));
  const taken = useRef(signature);
  const settle = useSettled();
  useEffect(() => {
    // The edits of the link have changed by other means than these fields.
    if (taken.current !== signature) setDrafts(draftsOf(texts));
    taken.current = signature;
  }, [signature]);
  const read = drafts.map(({ start, value }) => readDraft(start, value));
  const change = (next: Draft[], waitMs?: number): void => {
    setDrafts(next);
    settle(() => {
      const all = next.map(({ start, value }) => readDraft(start, value));
      if (all.some(({ error }) => error)) return;
      const found = all.flatMap(({ edit }) => edit ?? []);
      const text = found.map(print).join("\n");
      if (text === taken.current || tooLong(found)) return;
      taken.current = text;
      onChange(found);
    }, waitMs);
  };
  const box = useRef<HTMLDivElement>(null);
  const add = (): void => {
    setDrafts([...drafts, { start: isPodEditable ? "cpu=" : "node+=", value: "", id: nextId() }]);
    requestAnimationFrame(() => [...(box.current?.querySelectorAll<HTMLElement>(".edit select") ?? [])].at(-1)?.focus());
  };
  const long = tooLong(read.flatMap(({ edit }) => edit ?? []));
  // Fields that are empty are no edits, so the index of an edit is that among the others.
  let number = -1;
  return (
    <div class="edits" role="group" aria-label="Edits" ref={box}>
      {drafts.length === 0 && <p class="muted">No edit yet. Edits are made on copies: neither the pod nor the cluster changes.</p>}
      {drafts.map((draft, at) => {
        if (read[at]?.edit) number += 1;
        const refused = read[at]?.error ?? (read[at]?.edit && failure?.at === number ? failure.text : undefined);
        return (
          <EditRow
            key={draft.id}
            draft={draft}
            kinds={KINDS.filter(([start, , , isOfPod]) => isPodEditable || !isOfPod || start === draft.start)}
            proposed={proposed.get(draft.start) ?? []}
            error={refused}
            onChange={(next, waitMs) => change(drafts.map((other, place) => (place === at ? next : other)), waitMs)}
            onRemove={() => change(drafts.filter((_, place) => place !== at), 0)}
          />
        );
      })}
      {long && <Refused text={long} />}
      <div class="tools">
        <button type="button" onClick={add}>Add an edit</button>
        <button type="button" disabled={!onUndo} onClick={onUndo}>Undo</button>
      </div>
    </div>
  );
}

interface Draft { start: string; value: string; id: number }

let ids = 0;

function nextId(): number {
  ids += 1;
  return ids;
}

function draftsOf(texts: string[]): Draft[] {
  return texts.map((text) => {
    const start = KINDS.find(([start]) => start !== "" && text.startsWith(start))?.[0] ?? "";
    return { start, value: text.slice(start.length), id: nextId() };
  });
}

/** The edit of a field; nothing where the field is empty. */
function readDraft(start: string, value: string): { edit?: Edit; error?: string } {
  if (value.trim() === "") return {};
  try {
    return { edit: parse(start + value.trim()) };
  } catch (error) {
    if (error instanceof EditError) return { error: error.message };
    throw error;
  }
}

interface EditRowProps {
  draft: Draft;
  kinds: typeof KINDS;
  proposed: string[];
  error: string | undefined;
  onChange: (draft: Draft, waitMs?: number) => void;
  onRemove: () => void;
}

function EditRow({ draft, kinds, proposed, error, onChange, onRemove }: EditRowProps) {
  const id = useId();
  const kind = KINDS.find(([start]) => start === draft.start);
  return (
    <div class="edit">
      <select aria-label="Kind of edit" value={draft.start} onChange={(event) => onChange({ ...draft, start: event.currentTarget.value })}>
        {kinds.map(([start, words]) => <option key={start} value={start}>{words}</option>)}
      </select>
      <TextInput
        id={id}
        name={`Value: ${kind?.[1] ?? "edit"}`}
        value={draft.value}
        placeholder={kind?.[2]}
        suggestions={proposed}
        error={error}
        onText={(value, isEnter) => onChange({ ...draft, value }, isEnter ? 0 : undefined)}
      >
        <button type="button" class="quiet" aria-label={`Remove the edit ${draft.start}${draft.value}`} onClick={onRemove}>
          ×
        </button>
      </TextInput>
    </div>
  );
}
