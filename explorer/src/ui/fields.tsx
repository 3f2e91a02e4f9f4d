// Fields of forms: a text that is taken up a moment after the last key, and a choice. Each has its label. Start at TextField.

import { useEffect, useId, useRef, useState } from "preact/hooks";
import { visible } from "./shown";

/** The time after the last key until a text is taken up, in milliseconds. */
const SETTLE_MS = 300;

export interface TextFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  placeholder?: string;
  /** Why the value is not taken. */
  error?: string | undefined;
  suggestions?: string[];
  /** For the shortcut that leads here. */
  inputRef?: { current: HTMLInputElement | null };
}

export function TextField({ label, value, onChange, placeholder, error, suggestions, inputRef }: TextFieldProps) {
  const id = useId();
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const take = (next: string) => {
    clearTimeout(timer.current);
    if (next !== value) onChange(next);
  };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        ref={inputRef ?? null}
        type="text"
        value={text}
        placeholder={placeholder}
        autocomplete="off"
        spellcheck={false}
        list={suggestions ? `${id}-list` : undefined}
        aria-invalid={error ? "true" : undefined}
        aria-describedby={error ? `${id}-error` : undefined}
        onInput={(event) => {
          const next = event.currentTarget.value;
          setText(next);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => take(next), SETTLE_MS);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") take(text);
        }}
      />
      {suggestions && (
        <datalist id={`${id}-list`}>
          {suggestions.map((suggestion) => (
            <option key={suggestion} value={suggestion} />
          ))}
        </datalist>
      )}
      {error && (
        <p id={`${id}-error`} class="field-error">
          {error}
        </p>
      )}
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
        {options.map(([option, text]) => (
          <option key={option} value={option}>
            {visible(text)}
          </option>
        ))}
      </select>
    </div>
  );
}
