/** The chart along a symbol: what the plan needs above what is needed at the least. */
import type { Theme } from "../draw/colours.ts";
import { bytes, count } from "../draw/format.ts";
import type { Pen } from "../draw/pen.ts";
import { addressTicks } from "../draw/ticks.ts";
import { shareOf, type Symbol0, valueAt } from "../model/symbol.ts";
import type { PointShown } from "../model/shown.ts";
import { ratioOf } from "../model/symbolic_shown.ts";
import { shortName } from "../model/symbol.ts";
import { ratioText } from "./words.ts";

const LEFT = 66, RIGHT = 16, TOP = 20, BOTTOM = 22;
/** Below the bytes, how many times the least it is: where bytes grow a thousandfold, what is lost cannot be seen. */
const RATIOS = 34, BETWEEN = 10;
/** From this ratio of the ends on, bytes are drawn in orders of magnitude. */
const FAR = 16;

export interface Curve {
  symbol: Symbol0;
  place: number;
  samples: readonly PointShown[];
  marks: PointShown[];
  here: bigint;
  /** Where there is no plan, or it does not fit at each value: what the pool has. */
  room: bigint | null;
  hasPlan: boolean;
  /** The other symbols' values for which the samples were counted; empty: those that are shown. */
  isOf: string;
}

/** The value under a place on the screen. */
export function valueUnder(curve: Curve, x: number, wide: number): bigint {
  return valueAt(curve.symbol, (x - LEFT) / (wide - LEFT - RIGHT));
}

export function drawCurve(pen: Pen, curve: Curve, wide: number, tall: number, theme: Theme): void {
  pen.rect(0, 0, wide, tall, theme.paper);
  const { samples, symbol, place } = curve;
  const isOld = curve.isOf !== "";
  const heights = [...samples, ...curve.marks].flatMap((one) => [one.peak, one.least].flatMap((value) => (value === null ? [] : [Number(value)])));
  if (heights.length === 0) return;
  if (curve.room !== null) heights.push(Number(curve.room));
  const highest = Math.max(...heights, 1);
  const lowest = Math.min(...heights.filter((value) => value > 0), highest);
  const log = highest / lowest > FAR;
  const [from, to] = log ? [lowest / 1.3, highest * 1.3] : [0, highest * 1.08];
  const share = (value: number): number => (log ? Math.log(Math.max(value, from) / from) / Math.log(to / from) : value / to);
  const x = (value: bigint): number => LEFT + (wide - LEFT - RIGHT) * shareOf(symbol, value);
  // Without a plan there are no ratios, and no panel of them.
  const hasPeak = [...samples, ...curve.marks].some((one) => one.peak !== null);
  const floor = tall - BOTTOM - (hasPeak ? RATIOS + BETWEEN : 0);
  const y = (value: bigint): number => floor - (floor - TOP) * share(Number(value));
  for (const tick of log ? powers(from, to) : addressTicks(from, to, 4)) {
    const at = floor - (floor - TOP) * share(tick.at);
    pen.line([LEFT, at, wide - RIGHT, at], theme.frame, 1);
    pen.text(LEFT - 6, at + 4, tick.text, { fill: theme.quiet, anchor: "end" });
  }
  const line = (of: "peak" | "least"): number[][] => parts(samples, of).map((part) => part.flatMap((one) => [x(one.at[place] as bigint), y(one[of] as bigint)]));
  // A curve of other values is a help for the eye while one counts the new one, and nothing is told by it.
  const both = isOld ? [] : parts(samples, "peak", "least");
  for (const part of both) {
    const above = part.flatMap((one) => [x(one.at[place] as bigint), y(one.peak as bigint)]);
    const below = [...part].reverse().flatMap((one) => [x(one.at[place] as bigint), y(one.least as bigint)]);
    pen.area([...above, ...below], theme.dark ? "#5a3214" : "#fbd9c2");
  }
  for (const part of line("peak")) pen.line(part, isOld ? theme.other : theme.ink, 1.5);
  if (curve.room !== null) pen.line([LEFT, y(curve.room), wide - RIGHT, y(curve.room)], theme.capacity, 1.5);
  // Over the peak, so that both are seen where they meet.
  for (const part of line("least")) pen.line(part, isOld ? theme.other : theme.met, 1.5, [5, 3]);
  for (const one of curve.marks) if (one.peak !== null) dot(pen, x(one.at[place] as bigint), y(one.peak), 3, theme.ink, theme.paper);
  pen.line([x(curve.here), TOP, x(curve.here), tall - BOTTOM], theme.moment, 1);
  pen.outline(LEFT, TOP, wide - LEFT - RIGHT, floor - TOP, theme.frame, 1);
  if (hasPeak) drawRatios(pen, curve, x, wide, tall, theme);
  drawValues(pen, curve, x, wide, tall, theme);
  const entries: [string, string, number[]][] = [
    ...(hasPeak ? [["peak", theme.ink, []] as [string, string, number[]]] : []),
    ...(curve.room === null ? [] : [["room", theme.capacity, []] as [string, string, number[]]]),
    ["least that is known", theme.met, [5, 3]],
  ];
  entries.forEach(([text, colour, dash], place) => {
    const from = LEFT + 72 * place;
    pen.line([from, 9, from + 20, 9], colour, 1.5, dash);
    pen.text(from + 25, 13, text, { fill: colour, bold: true });
  });
}

function drawRatios(pen: Pen, curve: Curve, x: (value: bigint) => number, wide: number, tall: number, theme: Theme): void {
  const low = tall - BOTTOM;
  const samples = curve.isOf === "" ? curve.samples : [];
  const ratios = samples.flatMap((one) => ratioOf(one) ?? []);
  const most = Math.max(1, ...ratios);
  // A thousandth of a loss should not look like a loss.
  const top = Math.max(most, 1.05);
  // Below 1 is what is no plan, told in words: it stays inside of the frame.
  const y = (ratio: number): number => low - ((RATIOS - 4) * (Math.max(ratio, 1) - 1)) / (top - 1);
  for (const part of parts(samples, "peak", "least")) {
    const known = part.flatMap((one) => {
      const ratio = ratioOf(one);
      return ratio === null ? [] : [x(one.at[curve.place] as bigint), y(ratio)];
    });
    if (known.length < 4) continue;
    pen.area([known[0] as number, low, ...known, known[known.length - 2] as number, low], theme.dark ? "#5a3214" : "#fbd9c2");
    pen.line(known, theme.open, 1.5);
  }
  pen.outline(LEFT, low - RATIOS, wide - LEFT - RIGHT, RATIOS, theme.frame, 1);
  if (ratios.length > 0) pen.text(LEFT - 6, low - RATIOS + 10, ratioText(most), { fill: theme.quiet, anchor: "end" });
  pen.text(LEFT - 6, low, "of least", { fill: theme.quiet, anchor: "end" });
}

/** Values below the axis, those that matter, as many as have room; the one that is looked at always. */
function drawValues(pen: Pen, curve: Curve, x: (value: bigint) => number, wide: number, tall: number, theme: Theme): void {
  const { symbol, here } = curve;
  const name = `${shortName(symbol.id, 16)}=${count(here)}`;
  const half = pen.measure(name, 11, true) / 2 + 3;
  const middle = Math.min(wide - RIGHT - half, Math.max(LEFT + half, x(here)));
  const taken: [number, number][] = [[middle - half, middle + half]];
  pen.text(middle, tall - 7, name, { fill: theme.moment, anchor: "middle", bold: true });
  for (const value of [symbol.min, symbol.max, ...symbol.values]) {
    const text = count(value);
    const long = pen.measure(text, 11, false) / 2 + 5;
    const at = Math.min(wide - long, Math.max(LEFT + long - 5, x(value)));
    if (taken.some(([low, high]) => at - long < high && at + long > low)) continue;
    taken.push([at - long, at + long]);
    pen.text(at, tall - 7, text, { fill: theme.quiet, anchor: "middle" });
  }
}

/** Runs of samples that have these values. */
function parts(samples: readonly PointShown[], ...of: ("peak" | "least")[]): PointShown[][] {
  const parts: PointShown[][] = [[]];
  for (const one of samples) {
    if (of.every((field) => one[field] !== null)) parts[parts.length - 1]?.push(one);
    else parts.push([]);
  }
  return parts.filter((part) => part.length > 1);
}

function dot(pen: Pen, x: number, y: number, radius: number, fill: string, rim: string): void {
  const circle = (size: number): number[] => Array.from({ length: 24 }, (_, at) => (at % 2 === 0 ? x + size * Math.cos((at / 24) * 2 * Math.PI) : y + size * Math.sin(((at - 1) / 24) * 2 * Math.PI)));
  pen.area(circle(radius + 1.5), rim);
  pen.area(circle(radius), fill);
}

function powers(from: number, to: number): { at: number; text: string }[] {
  const ticks: { at: number; text: string }[] = [];
  const every = Math.max(1, Math.ceil(Math.log2(to / from) / 5));
  for (let power = Math.ceil(Math.log2(from)); power <= Math.log2(to); power++) {
    if (power % every === 0) ticks.push({ at: 2 ** power, text: bytes(2 ** power) });
  }
  return ticks;
}
