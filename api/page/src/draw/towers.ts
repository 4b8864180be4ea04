/** The towers: the buffers of one moment as they are placed, and packed without holes. */
import type { Amount } from "../model/columns.ts";
import { stacked, towerAt } from "../model/tower.ts";
import { bytes } from "./format.ts";
import { orderOf } from "./map.ts";
import type { Pen } from "./pen.ts";
import { type Picture, scaleOf } from "./picture.ts";
import { tint } from "./colours.ts";

const WIDE = 36;
const APART = 46;
/** Below this many pixels a buffer has no line of its own. */
const SEPARATED = 3;

export function drawTowers(pen: Pen, picture: Picture): void {
  const { towers } = picture.layout;
  if (towers === null) return;
  const { scene, theme } = picture;
  const spans = orderOf(picture).spans;
  if (spans.length === 0) {
    drawNeeded(pen, picture);
    return;
  }
  const tower = towerAt(scene, spans, picture.moment);
  const draw = (column: number, at: (place: number) => Amount, words: string): void => {
    pen.clip(towers.x, towers.y, towers.wide, towers.tall, () => {
      tower.buffers.forEach((buffer, place) => {
        const colour = shadeOf(picture, tower.spans[place] as number);
        block(pen, picture, column, buffer, at(place), picture.shown.tints[buffer] === 1 ? tint(colour) : colour);
      });
    });
    pen.text(towers.x + column * APART + WIDE / 2, towers.y + towers.tall + 16, words, { fill: theme.quiet, anchor: "middle", size: 10.5 });
  };
  draw(0, (place) => scene.offsets[tower.buffers[place] as number] as Amount, "placed");
  draw(1, (place) => tower.close[place] as Amount, "packed");
  const top = tower.buffers.reduce((most, buffer) => Math.max(most, picture.high[buffer] as number), 0);
  const holes = top - Number(tower.filled);
  pen.text(towers.x, towers.y - 30, bytes(tower.filled), { fill: theme.ink, bold: true });
  pen.text(towers.x, towers.y - 16, holes > 0 ? `${bytes(holes)} holes` : "no holes", { fill: theme.quiet, size: 10.5 });
}

/** Without a plan: the buffers that show how much is needed at least. */
function drawNeeded(pen: Pen, picture: Picture): void {
  const { scene, theme, layout: { towers } } = picture;
  const named = needed(picture);
  if (towers === null || named.length === 0) return;
  let total = 0;
  pen.clip(towers.x, towers.y, towers.wide, towers.tall, () => {
    stacked(scene, named).forEach(({ buffer, at }, place) => {
      total += Number(scene.sizes[buffer]);
      block(pen, picture, 0, buffer, at, place & 1 ? tint(theme.atPeak) : theme.atPeak);
    });
  });
  pen.text(towers.x, towers.y - 16, bytes(total), { fill: theme.ink, bold: true });
  pen.text(towers.x + WIDE / 2, towers.y + towers.tall + 16, "needed", { fill: theme.quiet, anchor: "middle", size: 10.5 });
}

function needed(picture: Picture): Iterable<number> & { length: number } {
  return picture.pool.bound?.buffers ?? [];
}

function block(pen: Pen, picture: Picture, column: number, buffer: number, at: Amount, colour: string): void {
  const { towers } = picture.layout;
  if (towers === null) return;
  const scale = scaleOf(picture);
  const top = scale.y(Number(at + (picture.scene.sizes[buffer] as Amount)));
  const bottom = scale.y(Number(at));
  const line = bottom - top >= SEPARATED ? 1 : 0;
  pen.rect(towers.x + column * APART, top + line, WIDE, Math.max(0.5, bottom - top - line), colour);
}

/** The colour of a buffer is that of the span which lives at the moment. */
function shadeOf(picture: Picture, span: number): string {
  return picture.shades.colours[picture.shades.of[span] as number] ?? picture.theme.other;
}
