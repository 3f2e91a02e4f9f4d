// The menu "copy as": texts that go to the clipboard, and files that are saved. Start at CopyMenu.

import { useEffect, useRef, useState } from "preact/hooks";
import { announce } from "../app/live";

export interface CopyItem {
  label: string;
  /** The text that goes to the clipboard. */
  text?: () => string | Promise<string>;
  /** The file that is saved instead. */
  file?: () => { name: string; content: Blob } | Promise<{ name: string; content: Blob }>;
}

/** An item that saves a text as a file of CSV or JSON, by its name. */
export function fileItem(label: string, name: string, text: () => string | Promise<string>): CopyItem {
  const type = name.endsWith(".csv") ? "text/csv" : "application/json";
  return { label, file: async () => ({ name, content: new Blob([await text()], { type }) }) };
}

export function CopyMenu({ items, label = "Copy as" }: { items: CopyItem[]; label?: string }) {
  const box = useRef<HTMLDivElement>(null);
  const [isOpen, setIsOpen] = useState(false);
  const [done, setDone] = useState<string | undefined>();
  const [shown, setShown] = useState<string | undefined>();
  useEffect(() => {
    if (!isOpen) return;
    const close = (event: Event) => {
      if (event instanceof KeyboardEvent ? event.key === "Escape" : !box.current?.contains(event.target as Node)) {
        setIsOpen(false);
        if (event instanceof KeyboardEvent) box.current?.querySelector("button")?.focus();
      }
    };
    document.addEventListener("keydown", close);
    document.addEventListener("pointerdown", close);
    return () => {
      document.removeEventListener("keydown", close);
      document.removeEventListener("pointerdown", close);
    };
  }, [isOpen]);
  const run = async (item: CopyItem) => {
    setIsOpen(false);
    setShown(undefined);
    box.current?.querySelector("button")?.focus();
    try {
      if (item.file) {
        const { name, content } = await item.file();
        save(name, content);
        say(`${item.label}: saved as ${name}`);
        return;
      }
      const text = (await item.text?.()) ?? "";
      try {
        await navigator.clipboard.writeText(text);
        say(`${item.label}: copied`);
      } catch {
        // Over plain HTTP to another machine a page has no clipboard.
        setShown(text);
        say(`${item.label}: select and copy the text below`);
      }
    } catch (error) {
      say(`${item.label}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const say = (text: string) => {
    setDone(text);
    announce(text);
  };
  return (
    <div class="menu" ref={box}>
      <button type="button" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
        {label} <span aria-hidden="true">▾</span>
      </button>
      {isOpen && (
        <ul class="menu-items">
          {items.map((item) => (
            <li key={item.label}><button type="button" onClick={() => void run(item)}>{item.label}</button></li>
          ))}
        </ul>
      )}
      {done && <span class="muted menu-done">{done}</span>}
      {shown !== undefined && (
        <textarea class="menu-text" readOnly rows={4} aria-label="Text to copy" value={shown} onFocus={(event) => event.currentTarget.select()} />
      )}
    </div>
  );
}

/** Saves a file by a link of a moment. */
export function save(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has begun to read it by the next task.
  setTimeout(() => URL.revokeObjectURL(address), 0);
}
