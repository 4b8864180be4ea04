/** The operators of a graph along the time axis, below the map; the one that needs the most is marked. */
import { type Program, stepsOf } from "../model/program.ts";
import { inkOn } from "./colours.ts";
import { plain } from "./format.ts";
import { fitted } from "./map.ts";
import { boxesOf, dashedBox } from "./overlays.ts";
import type { Pen } from "./pen.ts";
import { type Picture, scaleOf } from "./picture.ts";
import { type Frame, stepOf } from "./scale.ts";

/** Below this many pixels each, operators are drawn as one bar. */
const APART = 3;
const MOST_USES = 200;

/** Where a rank is on the axis; between two times as fractions say. */
export function positionOf(positions: Float64Array, rank: number): number {
  const low = Math.min(Math.floor(rank), positions.length - 1);
  const from = positions[low] ?? 0;
  const to = positions[low + 1] ?? from;
  return from + (to - from) * (rank - low);
}

/** The rank at a position: the opposite. */
export function rankOf(positions: Float64Array, position: number): number {
  const step = stepOf(positions, position);
  const [from, to] = [positions[step] ?? 0, positions[step + 1] ?? 1];
  return step + Math.min(1, Math.max(0, (position - from) / (to - from)));
}

export function drawOperators(pen: Pen, picture: Picture): void {
  const { theme, scene: { program }, layout: { operators: frame, map } } = picture;
  if (program === null || frame === null || program.operators.length === 0) return;
  const { critical } = picture.shown;
  pen.text(frame.x - 8, frame.y + 13, map.x < 60 ? "ops" : "operators", { fill: theme.quiet, anchor: "end" });
  pen.clip(frame.x, frame.y, frame.wide, frame.tall, () => {
    const [from, to] = seen(picture, program);
    const left = boxOf(picture, program, frame, from).x;
    const last = boxOf(picture, program, frame, Math.max(from, to - 1));
    pen.rect(left, frame.y, last.x + last.wide - left, frame.tall, theme.live);
    if ((to - from) * APART <= frame.wide) {
      for (let operator = from; operator < to; operator++) if (operator !== critical) drawOne(pen, picture, program, frame, operator);
    }
    if (critical >= 0) drawCritical(pen, picture, program, frame, critical);
    if (picture.operator >= 0) {
      const box = boxOf(picture, program, frame, picture.operator);
      pen.outline(box.x, box.y + 1, Math.max(4, box.wide), box.tall - 2, theme.chosen, 2);
    }
  });
}

/** The operators that are at least partly in view: the first, and the end of the last. */
function seen(picture: Picture, program: Program): readonly [number, number] {
  const { edges, operators } = program;
  const { left, right } = picture.window;
  const firstFrom = (position: number): number => {
    let [low, high] = [0, edges.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (positionOf(picture.positions, edges[middle] as number) >= position) high = middle;
      else low = middle + 1;
    }
    return low;
  };
  const from = Math.max(0, firstFrom(left) - 1);
  return [Math.min(from, operators.length - 1), Math.min(operators.length, Math.max(from + 1, firstFrom(right)))];
}

export function boxOf(picture: Picture, program: Program, frame: Frame, operator: number): Frame {
  const scale = scaleOf(picture);
  const x = scale.x(positionOf(picture.positions, program.edges[operator] as number));
  const end = scale.x(positionOf(picture.positions, program.edges[operator + 1] as number));
  return { x, y: frame.y, wide: end - x, tall: frame.tall };
}

function drawOne(pen: Pen, picture: Picture, program: Program, frame: Frame, operator: number): void {
  const { theme } = picture;
  const box = boxOf(picture, program, frame, operator);
  pen.rect(box.x, box.y, 1, box.tall, theme.paper);
  name(pen, box, nameOf(program, operator), theme.ink);
}

function drawCritical(pen: Pen, picture: Picture, program: Program, frame: Frame, operator: number): void {
  const { theme } = picture;
  const box = boxOf(picture, program, frame, operator);
  const wide = Math.max(3, box.wide - 1);
  pen.rect(box.x + 1, box.y, wide, box.tall, theme.moment);
  name(pen, { ...box, wide }, nameOf(program, operator), inkOn(theme.moment));
}

function name(pen: Pen, box: Frame, text: string, ink: string): void {
  if (box.wide < 22) return;
  const shown = fitted(pen, text, box.wide - 3);
  if (shown !== "") pen.text(box.x + box.wide / 2, box.y + 13, shown, { fill: ink, anchor: "middle", size: 10.5 });
}

/** What it computes says more than its number. */
function nameOf(program: Program, operator: number): string {
  const { id, type } = program.operators[operator] ?? { id: "", type: "" };
  return plain(/^[\d/]+$/.test(id) && type !== "" ? type : id, 40);
}

/** What the chosen operator reads, dashed, and what it makes and needs while it runs. */
export function drawUses(pen: Pen, picture: Picture): void {
  const { scene, theme, layout: { map } } = picture;
  const chosen = scene.program?.operators[picture.operator];
  if (chosen === undefined) return;
  const scale = scaleOf(picture);
  const here = (buffers: number[]): Frame[] => buffers.slice(0, MOST_USES)
    .filter((buffer) => scene.pool[buffer] === picture.place).flatMap((buffer) => boxesOf(picture, scale, buffer));
  pen.clip(map.x, map.y, map.wide, map.tall, () => {
    for (const box of here(chosen.inputs)) {
      pen.outline(box.x, box.y, box.wide, box.tall, theme.paper, 3);
      dashedBox(pen, box, theme.chosen);
    }
    for (const box of here([...chosen.outputs, ...chosen.temporaries])) {
      pen.outline(box.x, box.y, box.wide, box.tall, theme.paper, 4);
      pen.outline(box.x, box.y, box.wide, box.tall, theme.moment, 2);
    }
  });
}

/** The step in which an operator needs the most, of one pool. */
export function busiestStep(program: Program, live: ArrayLike<number>, operator: number): number {
  const [begin, end] = stepsOf(program, operator);
  let best = begin;
  for (let step = begin; step < end; step++) if ((live[step] as number) > (live[best] as number)) best = step;
  return best;
}
