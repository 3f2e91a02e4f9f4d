// The heat map as a PNG for a ticket: its cells, its headings and its legend on white. Start at `picture`.

import { count } from "../ui/format";
import { visible } from "../ui/shown";
import type { Layout } from "./layout";
import { css, type Mark } from "./marks";

/** Height of a line of text, and the edge of the picture, in CSS pixels. */
const LINE = 18;
const EDGE = 12;

/** Draws the picture. Throws where the browser makes no file of it. */
export async function picture(
  map: HTMLCanvasElement,
  layout: Layout,
  title: string,
  legend: { mark: Mark; text: string; nodes: number }[],
): Promise<Blob> {
  const { scale } = layout;
  const canvas = document.createElement("canvas");
  const top = EDGE + LINE * 1.5;
  canvas.width = Math.ceil(layout.width + 2 * EDGE * scale);
  canvas.height = Math.ceil(layout.height + (top + LINE * (legend.length + 1) + EDGE) * scale);
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser draws no pictures");
  context.scale(scale, scale);
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  const write = (text: string, x: number, y: number, font: string, colour = "#111"): void => {
    context.font = font;
    context.fillStyle = colour;
    context.fillText(visible(text), x, y);
  };
  write(title, EDGE, EDGE + LINE * 0.7, "bold 14px sans-serif");
  context.drawImage(map, EDGE, top, layout.width / scale, layout.height / scale);
  for (const block of layout.blocks) {
    if (block.value === undefined) continue;
    const value = block.rest > 0 ? `${count(block.rest)} more values` : (block.value ?? "(without)");
    write(`${value}  ${count(block.count)}`, EDGE + block.x / scale, top + block.y / scale - 5, "12px sans-serif");
  }
  legend.forEach(({ mark, text, nodes }, at) => {
    const y = top + layout.height / scale + LINE * (at + 1);
    context.fillStyle = css(mark.colour);
    context.fillRect(EDGE, y - 12, 14, 14);
    write(mark.letter, EDGE + 3, y, "bold 11px sans-serif", css(mark.ink));
    write(`${text}  ${count(nodes)}`, EDGE + 22, y, "12px sans-serif");
  });
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("this browser makes no PNG"))), "image/png");
  });
}
