// A table of up to some hundred rows, all of them in the page, in a box that scrolls by itself on a narrow screen. Start at Table.

import type { ComponentChildren } from "preact";

export interface TableColumn<T> {
  title: ComponentChildren;
  cell: (row: T) => ComponentChildren;
  /** Numbers stand to the right. */
  isNumber?: boolean;
  /** The first column names the row. */
  isHead?: boolean;
  /** What the title means, for whoever points at it. */
  hint?: string;
}

export interface TableProps<T> {
  caption: string;
  columns: TableColumn<T>[];
  rows: T[];
  /** What a row is known by when others come before it; its place without. */
  rowKey?: (row: T) => string | number;
  /** What stands in the place of a table without rows. */
  empty?: string;
  class?: string;
  isSelected?: (row: T) => boolean;
}

export function Table<T>({ caption, columns, rows, rowKey, empty, isSelected, ...rest }: TableProps<T>) {
  if (rows.length === 0) return <p class="muted">{empty ?? "None."}</p>;
  return (
    <div class="scroller" tabIndex={0} role="region" aria-label={caption}>
      <table class={rest.class}>
        <caption class="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th scope="col" class={column.isNumber ? "number" : undefined} title={column.hint}>{column.title}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={rowKey?.(row) ?? at} class={isSelected?.(row) ? "selected" : undefined}>
              {columns.map((column) =>
                column.isHead ? <th scope="row">{column.cell(row)}</th> : (
                  <td class={column.isNumber ? "number" : undefined}>{column.cell(row)}</td>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Names with their values, as a list of definitions; `isWide` for names that are long, such as keys of labels. */
export function Facts({ facts, isWide = false }: { facts: [string, ComponentChildren][]; isWide?: boolean }) {
  return (
    <dl class={isWide ? "facts wide" : "facts"}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
