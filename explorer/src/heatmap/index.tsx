// The heat map on the page: a canvas with headings above its blocks, one cell that keys move, and a line about that cell.
//
// It is a picture of the table of nodes, which is always there. To a screen reader it is a slider over nodes, because a slider has the
// same keys and says its value as it moves. Start at HeatMap.

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { count, counted } from "../ui/format";
import { Shown, visible } from "../ui/shown";
import { cellAt, layout, placeOf, step, type Groups, type Layout } from "./layout";
import type { Mark } from "./marks";
import { paint } from "./paint";

export interface HeatMapProps {
  cells: Uint8Array;
  groups: Groups | undefined;
  markOf: (cell: number) => Mark;
  /** The value of the cells that are not dimmed; absent: all. */
  only: number | undefined;
  label: string;
  /** One line about the node of a row. */
  describe: (row: number) => string;
  /** Called where a cell is chosen; without it none can be. */
  onPick?: (row: number) => void;
  /** Called with the canvas and its layout once it is drawn. */
  onDrawn?: (canvas: HTMLCanvasElement, layout: Layout) => void;
}

export function HeatMap({ cells, groups, markOf, only, label, describe, onPick, onDrawn }: HeatMapProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width, scale } = useRoom(box);
  const map = useMemo(() => (width > 0 ? layout(cells, groups, width, scale) : undefined), [cells, groups, width, scale]);
  const [at, setAt] = useState(0);
  const [hovered, setHovered] = useState<number | undefined>();
  const here = Math.min(at, cells.length - 1);

  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !map) return;
    [element.width, element.height] = [map.width, map.height];
    const image = context.createImageData(map.width, map.height);
    paint(new Uint32Array(image.data.buffer), map, cells, markOf, only);
    context.putImageData(image, 0, 0);
    element.dataset["cells"] = String(cells.length);
    onDrawn?.(element, map);
  }, [map, cells, markOf, only]);

  if (cells.length === 0) return <p class="muted">There is no node.</p>;
  const shown = hovered ?? here;
  const find = (event: MouseEvent): number | undefined => {
    const frame = canvas.current?.getBoundingClientRect();
    if (!frame || !map) return undefined;
    const [x, y] = [(event.clientX - frame.left) * map.scale, (event.clientY - frame.top) * map.scale];
    return cellAt(map, x, y);
  };
  const pick = (index: number): void => {
    setAt(index);
    const row = map?.order[index];
    if (row !== undefined) onPick?.(row);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!map || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") pick(here);
    else {
      const next = step(map, here, event.key);
      if (next === undefined) return;
      setAt(next);
      setHovered(undefined);
    }
    event.preventDefault();
  };
  const text = map ? describe(map.order[shown] ?? 0) : "";
  return (
    <div class="heatmap">
      <div
        ref={box}
        class="heatmap-box"
        role="slider"
        tabIndex={0}
        aria-roledescription="heat map"
        aria-label={label}
        aria-valuemin={1}
        aria-valuemax={cells.length}
        aria-valuenow={here + 1}
        aria-valuetext={map ? describe(map.order[here] ?? 0) : undefined}
        onKeyDown={onKeyDown}
        onClick={(event) => {
          const index = find(event);
          if (index !== undefined) pick(index);
        }}
        onMouseMove={(event) => setHovered(find(event))}
        onMouseLeave={() => setHovered(undefined)}
      >
        <canvas
          ref={canvas}
          aria-hidden="true"
          style={map ? { width: `${map.width / scale}px`, height: `${map.height / scale}px` } : {}}
        />
        {map && <Headings map={map} />}
        {map && <Cursor map={map} at={shown} />}
      </div>
      <p class="heatmap-line" aria-hidden="true"><Shown text={text} /></p>
    </div>
  );
}

/** The value of the label above each block, with the number of its nodes. */
function Headings({ map }: { map: Layout }) {
  return (
    <>
      {map.blocks
        .filter((block) => block.value !== undefined)
        .map((block) => (
          <span
            key={block.start}
            class="heatmap-heading"
            aria-hidden="true"
            style={{
              left: `${block.x / map.scale}px`,
              top: `${block.y / map.scale}px`,
              maxWidth: `${Math.max((block.columns * map.edge) / map.scale, 120)}px`,
            }}
          >
            {headingOf(block)} <span class="muted">{count(block.count)}</span>
          </span>
        ))}
    </>
  );
}

function headingOf(block: { value?: string | null; rest: number }): string {
  if (block.rest > 0) return `${counted(block.rest, "more value")}`;
  return block.value === null || block.value === undefined ? "(without)" : visible(block.value);
}

function Cursor({ map, at }: { map: Layout; at: number }) {
  const { x, y } = placeOf(map, at);
  const length = (value: number): string => `${value / map.scale}px`;
  return (
    <span
      class="heatmap-cursor"
      aria-hidden="true"
      style={{ left: length(x), top: length(y), width: length(map.side), height: length(map.side) }}
    />
  );
}

/** The width of an element, and the device pixels of a CSS pixel. Both change with the zoom. */
function useRoom(box: { current: HTMLElement | null }): { width: number; scale: number } {
  const [room, setRoom] = useState({ width: 0, scale: 1 });
  // Before the first frame, so that the map is in it.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = (): void => {
      const next = { width: element.clientWidth, scale: Math.max(1, devicePixelRatio) };
      setRoom((known) => (known.width === next.width && known.scale === next.scale ? known : next));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);
  return room;
}
