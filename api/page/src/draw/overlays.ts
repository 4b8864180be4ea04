/** What is laid over the map: constraints of the problem, and the buffer that is chosen with what it rests on. */
import type { Amount } from "../model/columns.ts";
import { overlapping, rigidGroups } from "../model/buffers.ts";
import type { Pair } from "../model/scene.ts";
import { bytes, count } from "./format.ts";
import type { Pen } from "./pen.ts";
import { type Picture, scaleOf } from "./picture.ts";
import type { Frame, Scale } from "./scale.ts";

/** More of one kind are not drawn: they would hide the map. */
const MOST = 400;
/** In smaller boxes an arrow would hide more than it says. */
const ARROW = 12;

export function drawConstraints(pen: Pen, picture: Picture): void {
  const { layout: { map }, scene } = picture;
  const scale = scaleOf(picture);
  pen.clip(map.x, map.y, map.wide, map.tall, () => {
    drawGroups(pen, picture, scale);
    for (const pair of some(scene.inPlace, picture)) drawInPlace(pen, picture, scale, pair);
    for (const pair of some(scene.reuseCosts, picture)) drawReuse(pen, picture, scale, pair);
    let pins = 0;
    for (const [buffer, pin] of scene.pins) {
      if (pin.offset === null || scene.pool[buffer] !== picture.place) continue;
      const box = boxOf(picture, scale, buffer);
      drawPin(pen, picture, box);
      if (++pins === MOST) break;
    }
  });
}

function some(pairs: Pair[], picture: Picture): Pair[] {
  const { scene, place } = picture;
  return pairs.filter((pair) => scene.pool[pair.first] === place && scene.pool[pair.second] === place).slice(0, MOST);
}

/** One outline around the members of a rigid group. */
function drawGroups(pen: Pen, picture: Picture, scale: Scale): void {
  const { scene, theme } = picture;
  const members = new Map<number, number[]>();
  for (const [buffer, member] of rigidGroups(scene)) {
    if (scene.pool[buffer] === picture.place) members.set(member.root, [...(members.get(member.root) ?? []), buffer]);
  }
  for (const buffers of [...members.values()].slice(0, MOST)) {
    const boxes = buffers.map((buffer) => boxOf(picture, scale, buffer));
    const left = Math.min(...boxes.map((box) => box.x));
    const top = Math.min(...boxes.map((box) => box.y));
    const right = Math.max(...boxes.map((box) => box.x + box.wide));
    const bottom = Math.max(...boxes.map((box) => box.y + box.tall));
    dashedBox(pen, { x: left, y: top, wide: right - left, tall: bottom - top }, theme.ink);
  }
}

/** An output that has the bytes of its input: one line through both where they meet. */
function drawInPlace(pen: Pen, picture: Picture, scale: Scale, pair: Pair): void {
  if (!overlapping(picture.scene, pair.first, pair.second)) return;
  const input = boxOf(picture, scale, pair.first);
  const output = boxOf(picture, scale, pair.second);
  if (output.wide < ARROW || output.tall < ARROW) return;
  const y = Math.round(Math.min(input.y + input.tall, output.y + output.tall)) - 2.5;
  const end = output.x + Math.min(output.wide - 2, 26);
  const from = Math.max(input.x + 2, Math.min(output.x - 12, input.x + input.wide - 12));
  pen.line([from, y, end, y], picture.theme.paper, 5);
  pen.line([from, y, end, y, end - 5, y - 4, end, y, end - 5, y + 4], picture.theme.ink, 1.5);
}

/** Two buffers that cost something where they share bytes: a line from one to the other. */
function drawReuse(pen: Pen, picture: Picture, scale: Scale, pair: Pair): void {
  const paid = overlapping(picture.scene, pair.first, pair.second);
  const from = middle(boxOf(picture, scale, pair.first));
  const to = middle(boxOf(picture, scale, pair.second));
  pen.line([...from, ...to], picture.theme.paper, 3);
  pen.line([...from, ...to], paid ? picture.theme.open : picture.theme.quiet, 1.5, paid ? [] : [3, 3]);
  const at = [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2] as const;
  if (paid) pen.text(at[0] + 4, at[1] - 4, count(pair.value), { fill: picture.theme.open, bold: true, halo: picture.theme.paper });
}

function drawPin(pen: Pen, picture: Picture, box: Frame): void {
  const x = box.x + Math.min(9, box.wide / 2);
  const y = box.y + Math.min(9, box.tall / 2);
  const { ink, paper } = picture.theme;
  pen.area([x - 4, y - 5, x + 4, y - 5, x + 2, y, x + 4, y + 1, x + 0.8, y + 1, x, y + 7, x - 0.8, y + 1, x - 4, y + 1, x - 2, y], ink);
  pen.line([x - 4, y - 5, x + 4, y - 5, x + 2, y, x + 4, y + 1, x + 0.8, y + 1, x, y + 7, x - 0.8, y + 1, x - 4, y + 1, x - 2, y, x - 4, y - 5], paper, 0.8);
}

/** The chosen buffer, and the chain of what it rests on. */
export function drawChosen(pen: Pen, picture: Picture): void {
  const { scene, chosen, support, theme, layout: { map } } = picture;
  if (support === null || scene.pool[chosen] !== picture.place) return;
  const scale = scaleOf(picture);
  pen.clip(map.x, map.y, map.wide, map.tall, () => {
    const { chain, gap } = support;
    let above = chosen;
    for (const buffer of chain) {
      const box = boxOf(picture, scale, buffer);
      pen.outline(box.x, box.y, box.wide, box.tall, theme.moment, 1.5);
      pen.line([...middle(boxOf(picture, scale, above)), ...middle(box)], theme.moment, 1.5);
      above = buffer;
    }
    if (gap > 0) drawGap(pen, picture, scale, above, gap);
    if (picture.elsewhere !== null) drawElsewhere(pen, picture, scale, picture.elsewhere);
    for (const box of boxesOf(picture, scale, chosen)) {
      pen.outline(box.x, box.y, box.wide, box.tall, theme.paper, 4);
      pen.outline(box.x, box.y, box.wide, box.tall, theme.chosen, 2);
    }
  });
}

/** Where the chosen buffer is in the other plan, and the way there. */
function drawElsewhere(pen: Pen, picture: Picture, scale: Scale, offset: Amount): void {
  const { theme, chosen } = picture;
  const shift = (Number(offset) - (picture.low[chosen] as number)) * scale.up;
  for (const box of boxesOf(picture, scale, chosen)) {
    const there = { ...box, y: box.y - shift };
    pen.outline(there.x, there.y, there.wide, there.tall, theme.paper, 3);
    dashedBox(pen, there, theme.moment);
    const x = box.x + box.wide / 2;
    pen.line([x, box.y + box.tall / 2, x, there.y + box.tall / 2], theme.paper, 4);
    pen.line([x, box.y + box.tall / 2, x, there.y + box.tall / 2], theme.moment, 2);
  }
}

/** Free bytes below the last support. */
function drawGap(pen: Pen, picture: Picture, scale: Scale, buffer: number, gap: Amount): void {
  const box = boxOf(picture, scale, buffer);
  const x = box.x + box.wide / 2;
  const bottom = scale.y((picture.low[buffer] as number) - Number(gap));
  pen.line([x, box.y + box.tall, x, bottom], picture.theme.moment, 1.5, [2, 2]);
  pen.text(x + 5, (box.y + box.tall + bottom) / 2 + 4, `${bytes(gap)} free`, { fill: picture.theme.moment, bold: true, halo: picture.theme.paper });
}

export function drawHovered(pen: Pen, picture: Picture, span: number): void {
  const { layout: { map }, theme } = picture;
  pen.clip(map.x, map.y, map.wide, map.tall, () => {
    const box = boxOfSpan(picture, scaleOf(picture), span);
    pen.outline(box.x - 0.5, box.y - 0.5, box.wide + 1, box.tall + 1, theme.paper, 3);
    pen.outline(box.x - 0.5, box.y - 0.5, box.wide + 1, box.tall + 1, theme.ink, 1.5);
  });
}

export function boxesOf(picture: Picture, scale: Scale, buffer: number): Frame[] {
  const { firstSpan } = picture.scene;
  const boxes: Frame[] = [];
  for (let span = firstSpan[buffer] as number; span < (firstSpan[buffer + 1] as number); span++) boxes.push(boxOfSpan(picture, scale, span));
  return boxes;
}

function boxOf(picture: Picture, scale: Scale, buffer: number): Frame {
  return boxOfSpan(picture, scale, picture.scene.firstSpan[buffer] as number);
}

function boxOfSpan(picture: Picture, scale: Scale, span: number): Frame {
  const { scene, positions } = picture;
  const buffer = scene.owner[span] as number;
  const x = scale.x(positions[scene.begin[span] as number] as number);
  const y = scale.y(picture.high[buffer] as number);
  return {
    x, y,
    wide: scale.x(positions[scene.end[span] as number] as number) - x,
    tall: scale.y(picture.low[buffer] as number) - y,
  };
}

function middle(box: Frame): [number, number] {
  return [box.x + box.wide / 2, box.y + box.tall / 2];
}

export function dashedBox(pen: Pen, box: Frame, colour: string): void {
  const [right, bottom] = [box.x + box.wide, box.y + box.tall];
  pen.line([box.x, box.y, right, box.y, right, bottom, box.x, bottom, box.x, box.y], colour, 1.5, [4, 3]);
}
