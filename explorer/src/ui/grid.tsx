// A grid of rows that open something: one stop of the Tab key, arrows, Page Up and Down, Home, End, j and k within it, Enter on a row.
//
// With `virtual`, rows are of one height and only those that are seen are in the page, so that 100,000 rows scroll as 100 do; without, rows
// are as high as their texts. Start at Grid.

import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { go } from "../app/router";
import { useShortcut } from "../app/shortcuts";
import { moved, windowOf } from "./window";

export interface GridColumn {
  key: string;
  title: string;
  /** Its least width, in units of the root's font size. */
  rem: number;
  /** Its part of the room that is left; none without. */
  grow?: number;
  cell: (row: number) => ComponentChildren;
  isNumber?: boolean;
  isSortable?: boolean;
  /** Whether the first click sorts the largest first. */
  sortsDown?: boolean;
}

export interface Sort { key: string; isDescending: boolean }

export interface GridProps {
  label: string;
  rowCount: number;
  columns: GridColumn[];
  /** The address that Enter and a click open. */
  rowHref: (row: number) => string;
  virtual?: boolean;
  sort?: Sort | undefined;
  onSort?: (sort: Sort) => void;
}

/** The height of a row of a virtual grid, in units of the root's font size. */
const ROW_REM = 1.9;

export function Grid({ label, rowCount, columns, rowHref, virtual = false, sort, onSort }: GridProps) {
  const box = useRef<HTMLDivElement>(null);
  const [active, setActive] = useState({ row: 0, column: 0 });
  const [view, setView] = useState({ top: 0, height: 600 });
  const wantsFocus = useRef(false);
  const rowHeight = useRootFontSize() * ROW_REM;

  const clamped = { row: Math.min(active.row, Math.max(0, rowCount - 1)), column: Math.min(active.column, columns.length - 1) };
  const seen = virtual ? windowOf(rowCount, rowHeight, view.top, view.height) : { first: 0, end: rowCount };
  const rows = Array.from({ length: seen.end - seen.first }, (_, at) => seen.first + at);
  // The row with the focus stays, so that a reader who has scrolled away is not thrown out of the grid.
  if (rowCount > 0 && clamped.row < seen.first) rows.unshift(clamped.row);
  if (rowCount > 0 && clamped.row >= seen.end) rows.push(clamped.row);

  useEffect(() => {
    const element = box.current;
    if (!element || !virtual) return;
    const measure = () => {
      const [top, height] = [element.scrollTop, element.clientHeight];
      setView((known) => (known.top === top && known.height === height ? known : { top, height }));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    element.addEventListener("scroll", measure, { passive: true });
    measure();
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", measure);
    };
  }, [virtual]);

  useLayoutEffect(() => {
    if (!wantsFocus.current) return;
    wantsFocus.current = false;
    const element = box.current;
    const cell = element?.querySelector<HTMLElement>("[data-active]");
    if (!element || !cell) return;
    cell.focus({ preventScroll: virtual });
    if (!virtual) return;
    const top = clamped.row * rowHeight;
    const room = element.clientHeight - rowHeight * 2;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top > element.scrollTop + room) element.scrollTop = top - room;
    const columnCell = cell.getBoundingClientRect();
    const frame = element.getBoundingClientRect();
    if (columnCell.left < frame.left || columnCell.right > frame.right) element.scrollLeft += columnCell.left - frame.left;
  });

  const focusOn = (place: { row: number; column: number }) => {
    wantsFocus.current = true;
    setActive({ ...place });
  };
  useShortcut("j", "to the list, and its next row", () => focusOn(clamped));
  useShortcut("k", "to the list, and its row before", () => focusOn(clamped));

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.metaKey) return;
    if (!(event.target instanceof HTMLElement) || event.target.getAttribute("role") !== "gridcell") return;
    if (event.key === "Enter") {
      event.preventDefault();
      go(rowHref(clamped.row));
      return;
    }
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 2);
    const next = moved(event.key, clamped, { rows: rowCount, columns: columns.length, page }, event.ctrlKey);
    if (!next) return;
    event.preventDefault();
    focusOn(next);
  };

  const header = columns.map((column) => <Header key={column.key} column={column} sort={sort} onSort={onSort} />);
  return (
    <div ref={box} class={virtual ? "scroller grid-box virtual" : "scroller grid-box"}>
      <div
        role="grid"
        class="grid"
        aria-label={label}
        aria-rowcount={rowCount + 1}
        aria-colcount={columns.length}
        onKeyDown={onKeyDown}
        style={{ "--tracks": tracks(columns), "--row-height": `${rowHeight}px`, minWidth: `${columns.reduce((sum, column) => sum + column.rem, 0)}rem` }}
      >
        <div role="rowgroup" class="grid-head"><div role="row" class="grid-row" aria-rowindex={1}>{header}</div></div>
        <div role="rowgroup" class="grid-body" style={virtual ? { height: `${rowCount * rowHeight}px` } : {}}>
          {rows.map((row) => (
            <div
              role="row"
              key={row}
              class={row === clamped.row ? "grid-row active" : "grid-row"}
              aria-rowindex={row + 2}
              style={virtual ? { transform: `translateY(${row * rowHeight}px)` } : {}}
              onClick={(event) => {
                if (event.target instanceof Element && event.target.closest("a, button")) return;
                if (getSelection()?.isCollapsed !== false) go(rowHref(row));
              }}
            >
              {columns.map((column, at) => {
                const isActive = row === clamped.row && at === clamped.column;
                return (
                  <div
                    role="gridcell"
                    key={column.key}
                    aria-colindex={at + 1}
                    class={column.isNumber ? "number" : undefined}
                    tabIndex={isActive ? 0 : -1}
                    data-active={isActive ? "" : undefined}
                    onFocus={() => {
                      if (!isActive) setActive({ row, column: at });
                    }}
                  >
                    {column.cell(row)}
                  </div>
                );
              })}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

/** The tracks of a CSS grid: texts of any length leave them as wide as they are. */
function tracks(columns: GridColumn[]): string {
  return columns.map(({ rem, grow }) => (grow ? `minmax(${rem}rem, ${grow}fr)` : `${rem}rem`)).join(" ");
}

function Header({ column, sort, onSort }: { column: GridColumn; sort: Sort | undefined; onSort: GridProps["onSort"] }) {
  const isSorted = sort?.key === column.key;
  const order = isSorted ? (sort.isDescending ? "descending" : "ascending") : undefined;
  const change = () => onSort?.({ key: column.key, isDescending: isSorted ? !sort.isDescending : column.sortsDown === true });
  return (
    <div role="columnheader" class={column.isNumber ? "number" : undefined} aria-sort={order}>
      {column.isSortable && onSort ? (
        <button type="button" class="sort" onClick={change}>
          {column.title}
          <span aria-hidden="true">{order === "ascending" ? " ▲" : order === "descending" ? " ▼" : ""}</span>
        </button>
      ) : (
        column.title
      )}
    </div>
  );
}

function useRootFontSize(): number {
  const [size] = useState(() => Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16);
  return size;
}
