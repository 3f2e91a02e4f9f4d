// The states in which a document or a question has no answer: still waiting, failed with nothing to show, failed with an older answer.
// Start at Document and Answered.

import type { ComponentChildren } from "preact";
import { useNow, type Asked, type PolledView } from "../api/hooks";
import { heading, passes, type ApiError } from "../api/errors";
import { duration } from "./format";
import { Shown } from "./shown";

export interface DocumentProps<T> {
  polled: PolledView<T>;
  /** What is asked for, as a noun: `the list of pending pods`. */
  noun: string;
  children: (value: T) => ComponentChildren;
}

/** A document with its content, or with why there is none. An older answer stays, with its age. */
export function Document<T>({ polled, noun, children }: DocumentProps<T>) {
  const { value, error, isOther } = polled;
  return (
    <>
      {error && <Trouble error={error} nextAt={polled.nextAt} keptAt={value === undefined ? undefined : polled.at} />}
      {value === undefined && !error && <p class="muted">Asking for {noun} …</p>}
      {value !== undefined && (
        <div class={isOther || error ? "stale-answer" : undefined} aria-busy={isOther ? "true" : undefined}>
          {children(value)}
        </div>
      )}
    </>
  );
}

/** The answer to a question with what is made of it, or why there is none. An older answer stays. */
export function Answered<T>({ asked, noun, children }: { asked: Asked<T>; noun: string; children: (answer: T) => ComponentChildren }) {
  const { answer, error, isAsking } = asked;
  return (
    <>
      {error && <Refused text={error.message} />}
      {isAsking && answer === undefined && <p class="muted">Asking for {noun} …</p>}
      {answer !== undefined && children(answer)}
    </>
  );
}

/** Why what stands beside it is not taken. */
export function Refused({ text, id }: { text: string; id?: string | undefined }) {
  return <p id={id} class="field-error"><Shown text={text} /></p>;
}

/** Why a call has failed, when it is made again, and of when the answer is that still stands. */
export function Trouble({ error, nextAt, keptAt }: { error: ApiError; nextAt: number | undefined; keptAt?: number | undefined }) {
  const now = useNow();
  const again = nextAt === undefined ? "asking again" : `asks again in ${Math.max(0, Math.ceil((nextAt - now) / 1_000))} s`;
  return (
    <div class="trouble" role="group" aria-label="Trouble">
      <p><strong>{heading(error)}.</strong> <Shown text={error.message} /></p>
      <p class="muted">
        {keptAt !== undefined && `What is shown below is ${duration(now - keptAt)} old. `}
        {passes(error) ? `The page ${again}.` : "Nothing changes here by itself."}
      </p>
    </div>
  );
}
