/** The values of a front as people read them. */
import { bytes, count } from "../draw/format.ts";
import type { Front, FrontPoint, Standing } from "../model/front.ts";
import type { Whole } from "../model/json.ts";

export type Axis = 0 | 1;

/** Whether a term counts bytes of a memory. */
export function isBytes(term: string): boolean {
  return /^(max_)?peak(:|$)|^capacity(:|$)/.test(term);
}

export function valueText(term: string, value: Whole): string {
  return isBytes(term) ? bytes(value) : short(value);
}

/** To three digits: "1.48 M". */
export function short(value: Whole): string {
  let left = Number(value);
  if (left < 10_000) return count(value);
  let unit = 0;
  while (left >= 999.5 && unit < 6) {
    left /= 1000;
    unit++;
  }
  return `${left.toFixed(left < 9.995 ? 2 : left < 99.95 ? 1 : 0)} ${["", "k", "M", "G", "T", "P", "E"][unit]}`;
}

export function exact(term: string, value: Whole): string {
  return isBytes(term) ? `${count(value)} B` : count(value);
}

/** The points that the chart draws as plans that are worth choosing from. */
export function onFront(front: Front): FrontPoint[] {
  return front.points.filter((point) => point.standing !== "wrong" && point.standing !== "worse");
}

export function least(front: Front, axis: Axis): Whole | null {
  return onFront(front).reduce<Whole | null>((least, point) => (least === null || point.values[axis] < least ? point.values[axis] : least), null);
}

/** How many times the least value; nothing where that is 0. Rounded up: a plan is never said to be cheaper than it is. */
export function ratio(value: Whole, of: Whole | null): string {
  if (of === null || !(Number(of) > 0)) return "";
  const times = Number(value) / Number(of);
  const scale = times < 1.1 ? 1000 : 100;
  return times === 1 ? "×1" : `×${(Math.ceil(times * scale - 1e-6) / scale).toFixed(times < 1.1 ? 3 : 2)}`;
}

/** On whose word stands what the judge has not counted. */
export function onWord(front: Front): string {
  return front.verdict?.word ?? ", as the file claims";
}

export function standingText(front: Front, standing: Standing): string {
  return {
    proven: "proven", claimed: `proven${onWord(front)}`, open: "open", worse: "another point is no worse in both", wrong: "wrong",
  }[standing];
}

/** For each point, where the one after it in the order of the first term is. */
export function inOrder(front: Front): number[] {
  const places = front.points.map((_, place) => place);
  const by = (place: number, axis: Axis): Whole => front.points[place]?.values[axis] ?? 0;
  return places.sort((one, other) => compare(by(one, 0), by(other, 0)) || compare(by(one, 1), by(other, 1)) || one - other);
}

function compare(one: Whole, other: Whole): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
