// Shortcuts of one key, for readers who want them: listed under `?`, and switched off there for good (WCAG 2.1.4).
//
// They do nothing while a field has the focus or a modifier is held. Start at useShortcut.

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

interface Shortcut { key: string; text: string; run: (event: KeyboardEvent) => void }

/** Not data of the cluster: the only thing that the page keeps in the browser. */
const OFF = "nodesift.shortcuts.off";

const active = new Set<Shortcut>();

/** Runs something on a key while the component is there. `text` says what, in the list under `?`. */
export function useShortcut(key: string, text: string, run: (event: KeyboardEvent) => void): void {
  const newest = useRef(run);
  newest.current = run;
  // Before the component is painted: a key that follows at once is not lost.
  useLayoutEffect(() => {
    const shortcut: Shortcut = { key, text, run: (event) => newest.current(event) };
    active.add(shortcut);
    return () => void active.delete(shortcut);
  }, [key, text]);
}

let on: boolean | undefined;

/** Whether they are on. Read at the first key: the page is drawn without waiting for the browser's storage. */
function isOn(): boolean {
  try {
    on ??= localStorage.getItem(OFF) === null;
  } catch {
    on = true;
  }
  return on;
}

function setOn(next: boolean): void {
  on = next;
  try {
    if (next) localStorage.removeItem(OFF);
    else localStorage.setItem(OFF, "1");
  } catch {
    // Without storage it holds until the page is left.
  }
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));
}

/** Listens to keys, and shows the list under `?`. */
export function Shortcuts() {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || isTyping(event.target)) return;
      if (dialog.current?.open || !isOn()) return;
      if (event.key === "?") {
        event.preventDefault();
        setIsOpen(true);
        return;
      }
      const shortcut = [...active].find((shortcut) => shortcut.key === event.key);
      if (!shortcut) return;
      event.preventDefault();
      shortcut.run(event);
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
  }, [isOpen]);
  const listed = [...new Map([...active].map((shortcut) => [shortcut.key, shortcut.text]))];
  return (
    <>
      <button type="button" class="quiet" onClick={() => setIsOpen(true)} aria-label="Keyboard shortcuts">?</button>
      {/* Its own Escape closes it. */}
      <dialog ref={dialog} onClose={() => setIsOpen(false)} aria-labelledby="shortcuts-title">
        <h2 id="shortcuts-title">Keyboard shortcuts</h2>
        <dl class="keys">
          {[["?", "this list"], ...listed].map(([key, text]) => (
            <div key={key}>
              <dt><kbd>{key}</kbd></dt>
              <dd>{text}</dd>
            </div>
          ))}
          <div>
            <dt><kbd>Tab</kbd> <kbd>↑</kbd> <kbd>↓</kbd> <kbd>Enter</kbd></dt>
            <dd>through the page, along a table, open a row; these always work</dd>
          </div>
        </dl>
        <label>
          <input type="checkbox" checked={isOpen && isOn()} onChange={(event) => setOn(event.currentTarget.checked)} /> Shortcuts of one key are on
        </label>
        <p><button type="button" onClick={() => dialog.current?.close()}>Close</button></p>
      </dialog>
    </>
  );
}
