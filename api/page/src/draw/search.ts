/** The search: the best plan and the bound over the seconds of the run, in orders of magnitude. */
import type { SearchStep } from "../model/documents.ts";
import type { Theme } from "./colours.ts";
import { bytes, count } from "./format.ts";
import type { Pen } from "./pen.ts";

const LEFT = 72;
const RIGHT = 104;
const TOP = 20;
const BOTTOM = 22;
/** Between the texts of two marks. */
const APART = 8;
/** What happens before is drawn at the left edge. */
const FIRST = 0.001;

/** Whether there is a curve to see: more than one plan, or one above the bound. */
export function isWorthDrawing(steps: readonly SearchStep[]): boolean {
  const values = new Set(steps.flatMap((step) => step.value ?? []));
  const bound = Math.max(0, ...steps.flatMap((step) => step.bound ?? []));
  return values.size > 1 || (steps.length > 1 && [...values].some((value) => value > bound));
}

export function drawSearch(pen: Pen, steps: readonly SearchStep[], wide: number, tall: number, theme: Theme, isBytes: boolean, isProven: boolean): void {
  pen.rect(0, 0, wide, tall, theme.paper);
  const values = steps.filter((step) => step.value !== null);
  const bounds = steps.filter((step) => step.bound !== null);
  const last = values[values.length - 1]?.value ?? null;
  const bound = bounds[bounds.length - 1]?.bound ?? null;
  if (last === null) return;
  const lowest = bound ?? last;
  const highest = Math.max(...values.map((step) => step.value as number), lowest + 1);
  const from = Math.max(FIRST, Math.min(...steps.map((step) => step.seconds)) * 0.8);
  const to = Math.max(from * 2, ...steps.map((step) => step.seconds));
  const right = wide - RIGHT;
  const x = (seconds: number): number => LEFT + (right - LEFT) * Math.log(Math.max(seconds, from) / from) / Math.log(to / from);
  const y = (value: number): number => tall - BOTTOM - (tall - TOP - BOTTOM) * (value - lowest) / (highest - lowest);
  const say = isBytes ? bytes : count;
  pen.text(LEFT, 12, "Search", { fill: theme.ink, bold: true });
  pen.text(LEFT + 46, 12, "best plan above the bound, over seconds", { fill: theme.quiet });
  let free = 0;
  for (const mark of marks(from, to)) {
    pen.line([x(mark), TOP, x(mark), tall - BOTTOM], theme.frame, 1);
    const text = mark < 1 ? `${Math.round(mark * 1000)} ms` : `${mark} s`;
    const half = pen.measure(text, 11, false) / 2;
    // A mark whose text would lie on that of the one before has a line only.
    if (x(mark) - half < free) continue;
    pen.text(x(mark), tall - 6, text, { fill: theme.quiet, anchor: "middle" });
    free = x(mark) + half + APART;
  }
  const line = staircase(values.map((step) => [x(step.seconds), y(step.value as number)]), right);
  const floor = staircase(bounds.map((step) => [x(step.seconds), y(Math.max(lowest, step.bound as number))]), right);
  pen.area([...line, right, y(lowest), line[0] ?? LEFT, y(lowest)], theme.dark ? "#2a1d18" : "#faeeea");
  pen.line(line, theme.ink, 2);
  const met = bound !== null && last <= bound && isProven;
  if (floor.length > 0) pen.line(floor, met ? theme.met : theme.open, 2, [6, 4]);
  pen.text(LEFT - 8, y(highest) + 4, `+${say(highest - lowest)}`, { fill: theme.quiet, anchor: "end" });
  pen.text(LEFT - 8, y(lowest) + 4, bound === null ? "best" : "bound", { fill: theme.quiet, anchor: "end" });
  pen.text(right + 8, y(last) + (met ? -4 : 4), met ? "proven" : `+${say(last - lowest)}`, { fill: met ? theme.met : theme.ink, bold: true });
}

function staircase(points: (readonly [number, number])[], right: number): number[] {
  const line: number[] = [];
  for (const [x, y] of points) {
    if (line.length > 0) line.push(x, line[line.length - 1] as number);
    line.push(x, y);
  }
  if (line.length > 0) line.push(right, line[line.length - 1] as number);
  return line;
}

function marks(from: number, to: number): number[] {
  const marks: number[] = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
    for (const part of [1, 2, 5]) {
      const mark = Number((part * 10 ** power).toPrecision(1));
      if (mark >= from && mark <= to) marks.push(mark);
    }
  }
  const every = Math.ceil(marks.length / 10);
  return marks.filter((_, place) => place % every === 0);
}
