// Fields of forms: a text that is taken up a moment after the last key, and a choice. Each has its label. Start at TextField.

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { visible } from "./shown";
import { Refused } from "./status";

/** The time after the last key until a text is taken up, in milliseconds. */
const SETTLE_MS = 300;

/** Runs the newest of some calls, a moment after it was asked for or after the time that is given, unless the component has gone by then. */
export function useSettled(): (run: () => void, waitMs?: number) => void {
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  return (run, waitMs = SETTLE_MS) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(run, waitMs);
  };
}

interface TextInputProps {
  id: string;
  value: string;
  placeholder?: string | undefined;
  /** Why the value is not taken. */
  error?: string | undefined;
  suggestions?: string[];
  /** For the shortcut that leads here. */
  inputRef?: { current: HTMLInputElement | null };
  /** What names it where no label does. */
  name?: string;
  /** Called with the text after each key, and whether that was Enter. */
  onText: (text: string, isEnter: boolean) => void;
  /** What stands between it and its error. */
  children?: ComponentChildren;
}

export function TextInput({ id, value, placeholder, error, suggestions = [], inputRef, name, onText, children }: TextInputProps) {
  return (
    <>
      <input
        id={id}
        ref={inputRef ?? null}
        type="text"
        aria-label={name}
        value={value}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        list={suggestions.length > 0 ? `${id}-list` : undefined}
        aria-invalid={error ? "true" : undefined}
        aria-describedby={error ? `${id}-error` : undefined}
        onInput={(event) => onText(event.currentTarget.value, false)}
        onKeyDown={(event) => event.key === "Enter" && onText(event.currentTarget.value, true)}
      />
      {suggestions.length > 0 && (
        <datalist id={`${id}-list`}>{suggestions.map((suggestion) => <option key={suggestion} value={suggestion} />)}</datalist>
      )}
      {children}
      {error && <Refused id={`${id}-error`} text={error} />}
    </>
  );
}

export interface TextFieldProps extends Omit<TextInputProps, "id" | "name" | "onText" | "children"> {
  label: string;
  onChange: (value: string) => void;
}

export function TextField({ label, value, onChange, ...rest }: TextFieldProps) {
  const id = useId();
  const [text, setText] = useState(value);
  const settle = useSettled();
  useEffect(() => setText(value), [value]);
  const take = (next: string, isEnter: boolean): void => {
    setText(next);
    settle(() => next !== value && onChange(next), isEnter ? 0 : SETTLE_MS);
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <TextInput {...rest} id={id} value={text} onText={take} />
    </div>
  );
}

export interface ChoiceProps {
  label: string;
  value: string;
  /** Values with their words. */
  options: [string, string][];
  onChange: (value: string) => void;
}

export function Choice({ label, value, options, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {options.map(([option, text]) => <option key={option} value={option}>{visible(text)}</option>)}
      </select>
    </div>
  );
}
