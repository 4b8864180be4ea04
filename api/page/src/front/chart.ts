/** The chart of a front: the first term across, the second up. Above the stairs plans are known, below the bounds there
 * are none, and between them nobody knows. */
import type { Theme } from "../draw/colours.ts";
import { plain } from "../draw/format.ts";
import type { Pen } from "../draw/pen.ts";
import { addressTicks } from "../draw/ticks.ts";
import type { Front, FrontPoint } from "../model/front.ts";
import { isBytes, least, onFront, ratio, short, valueText } from "./values.ts";

const LEFT = 84, RIGHT = 70, TOP = 34, BOTTOM = 48;
const RADIUS = 5;
/** From this ratio between the ends on, the costs are drawn in orders of magnitude. */
const FAR = 8;

export interface Chart {
  x: (value: number) => number;
  y: (value: number) => number;
  wide: number;
  tall: number;
  /** Where each point of the front is. */
  places: (readonly [number, number])[];
  log: boolean;
  range: { x: readonly [number, number]; y: readonly [number, number] };
}

export function chartOf(front: Front, wide: number, tall: number): Chart {
  const values = (axis: 0 | 1): number[] => front.points.map((point) => Number(point.values[axis]));
  const [xs, ys] = [values(0), values(1)];
  // Bounds far below would press the points together: their whiskers end at the frame.
  // One point has no range: it is drawn in the middle of what is below and above it.
  const one = front.points.length === 1;
  const [fromX, toX] = one ? around(xs[0] as number) : ends(xs, 0.08);
  const lowest = Math.min(...ys), highest = Math.max(...ys);
  const log = lowest > 0 && highest / lowest > FAR;
  const [fromY, toY] = log ? [lowest / 1.15, highest * 1.3] : one ? around(lowest) : ends(ys, 0.08);
  const share = log
    ? (value: number): number => Math.log(Math.max(value, 1e-9) / fromY) / Math.log(toY / fromY)
    : (value: number): number => (value - fromY) / (toY - fromY);
  const x = (value: number): number => LEFT + ((wide - LEFT - RIGHT) * (value - fromX)) / (toX - fromX);
  const y = (value: number): number => tall - BOTTOM - (tall - TOP - BOTTOM) * share(value);
  const places = front.points.map((_, place) => [x(xs[place] as number), y(ys[place] as number)] as const);
  return { x, y, wide, tall, places, log, range: { x: [fromX, toX], y: [fromY, toY] } };
}

function around(value: number): [number, number] {
  return [0, Math.max(1, 2 * value)];
}

function ends(values: number[], margin: number): [number, number] {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const room = (high - low) * margin || Math.max(1, low * margin);
  return [Math.max(0, low - room), high + room];
}

/** The point that is nearest to a place on the screen; -1: none is near. */
export function pointAt(chart: Chart, x: number, y: number, within = 22): number {
  let nearestPoint = -1;
  let nearest = within * within;
  chart.places.forEach(([px, py], place) => {
    const apart = (px - x) ** 2 + (py - y) ** 2;
    if (apart <= nearest) [nearestPoint, nearest] = [place, apart];
  });
  return nearestPoint;
}

export function drawChart(pen: Pen, front: Front, chart: Chart, theme: Theme, chosen: number): void {
  const { wide, tall } = chart;
  pen.rect(0, 0, wide, tall, theme.paper);
  if (front.points.length === 0) return;
  const frame = [LEFT, TOP, wide - LEFT - RIGHT, tall - TOP - BOTTOM] as const;
  drawAxes(pen, front, chart, theme);
  pen.clip(...frame, () => drawRegions(pen, front, chart, theme));
  drawLeast(pen, front, chart, theme);
  pen.outline(...frame, theme.frame, 1);
  const crossed = front.points.length === 1 ? 0 : chosen;
  if (front.points[crossed] !== undefined) drawCross(pen, front, chart, theme, crossed);
  front.points.forEach((_, place) => drawPoint(pen, front, place, chart, theme, place === chosen));
  drawLabels(pen, front, chart, theme, chosen);
}

export function accent(theme: Theme): string {
  return theme.dark ? "#5bb8dc" : "#0b6b94";
}

/** Grounds of what is known. */
export function grounds(theme: Theme): { plans: string; unknown: string } {
  return theme.dark ? { plans: "#12303a", unknown: "#33241a" } : { plans: "#dcedf2", unknown: "#fbeee3" };
}

function drawAxes(pen: Pen, front: Front, chart: Chart, theme: Theme): void {
  const { wide, tall, range } = chart;
  const [first, second] = front.terms;
  const most = Math.max(2, Math.floor((wide - LEFT - RIGHT) / 90));
  const across = isBytes(first) ? addressTicks(range.x[0], range.x[1], most) : decimalTicks(range.x[0], range.x[1], most);
  for (const tick of across) {
    pen.line([chart.x(tick.at), TOP, chart.x(tick.at), tall - BOTTOM], theme.frame, 1);
    pen.text(chart.x(tick.at), tall - BOTTOM + 16, tick.text, { fill: theme.quiet, anchor: "middle" });
  }
  const many = Math.max(2, Math.floor((tall - TOP - BOTTOM) / 44));
  const up = chart.log ? powerTicks(range.y[0], range.y[1], many)
    : isBytes(second) ? addressTicks(range.y[0], range.y[1], many) : decimalTicks(range.y[0], range.y[1], many);
  const lowest = least(front, 1);
  for (const tick of up) {
    const y = chart.y(tick.at);
    pen.line([LEFT, y, wide - RIGHT, y], theme.frame, 1);
    pen.text(LEFT - 8, y + 4, tick.text, { fill: theme.quiet, anchor: "end" });
  }
  const isOne = front.points.length === 1;
  for (const tick of isOne ? [] : ratioTicks(range.y, Number(lowest ?? 0), many, chart.log)) {
    const y = chart.y(tick * Number(lowest));
    pen.line([wide - RIGHT, y, wide - RIGHT + 5, y], theme.quiet, 1);
    pen.text(wide - RIGHT + 9, y + 4, `×${Number(tick.toPrecision(6))}`, { fill: theme.quiet });
  }
  pen.text(wide - RIGHT, tall - 10, `${plain(first, 40)}${isBytes(first) ? ", bytes" : ""} →`, { fill: theme.ink, anchor: "end", bold: true });
  pen.text(LEFT, 20, `↑ ${plain(second, 40)}${isBytes(second) ? ", bytes" : ""}`, { fill: theme.ink, bold: true });
  if (!isOne && Number(lowest ?? 0) > 0) pen.text(wide - RIGHT + 9, 20, "of least", { fill: theme.quiet });
}

function decimalTicks(from: number, to: number, most: number): { at: number; text: string }[] {
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((part) => part * power).find((part) => part >= rough) ?? rough);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push({ at, text: short(Math.round(at)) });
  return ticks;
}

/** Round multiples of the least value. */
function ratioTicks(range: readonly [number, number], lowest: number, most: number, log: boolean): number[] {
  if (!(lowest > 0)) return [];
  const high = range[1] / lowest;
  if (log) return [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter((ratio) => ratio <= high);
  const power = 10 ** Math.floor(Math.log10((high - 1) / most));
  const step = [1, 2, 5, 10].map((part) => part * power).find((part) => part >= (high - 1) / most) ?? 1;
  return Array.from({ length: Math.min(50, Math.floor((high - 1) / step + 1e-9) + 1) }, (_, at) => 1 + at * step);
}

function powerTicks(from: number, to: number, most: number): { at: number; text: string }[] {
  const ticks = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.log10(to); power++) {
    for (const part of [1, 2, 5]) {
      const at = part * 10 ** power;
      if (at >= from && at <= to) ticks.push({ at, text: short(Math.round(at)) });
    }
  }
  const every = Math.ceil(ticks.length / most);
  return ticks.filter((_, place) => place % every === 0);
}

/** Along the least value of the second term. */
function drawLeast(pen: Pen, front: Front, chart: Chart, theme: Theme): void {
  const lowest = least(front, 1);
  if (lowest === null) return;
  const y = chart.y(Number(lowest));
  pen.line([LEFT, y, chart.wide - RIGHT, y], theme.quiet, 1, [2, 4]);
}

function drawRegions(pen: Pen, front: Front, chart: Chart, theme: Theme): void {
  const { wide, tall } = chart;
  const colours = grounds(theme);
  const sound = onFront(front).sort((one, other) => Number(one.values[0]) - Number(other.values[0]));
  const [begin] = sound;
  if (begin === undefined) return;
  const stairs: number[] = [chart.x(Number(begin.values[0])), TOP];
  for (const point of sound) {
    const [x, y] = [chart.x(Number(point.values[0])), chart.y(Number(point.values[1]))];
    stairs.push(x, stairs[stairs.length - 1] as number, x, y);
  }
  stairs.push(wide - RIGHT, stairs[stairs.length - 1] as number);
  // What is on the other side of the stairs: unknown, but for what the bounds forbid.
  const beyond = [LEFT, TOP, ...stairs, wide - RIGHT, tall - BOTTOM, LEFT, tall - BOTTOM];
  if (front.complete) pen.hatch(beyond, theme.hole, theme.hatch);
  else pen.area(beyond, colours.unknown);
  const bounds = floorOf(sound, chart);
  if (bounds.length > 0) pen.hatch([LEFT, tall - BOTTOM, LEFT, bounds[1] as number, ...bounds, bounds[bounds.length - 2] as number, tall - BOTTOM], theme.hole, theme.hatch);
  pen.area([...stairs, wide - RIGHT, TOP], colours.plans);
  pen.line(stairs, accent(theme), 2);
  if (bounds.length > 0 && !front.complete) pen.line([LEFT, bounds[1] as number, ...bounds], theme.open, 1.5, [6, 4]);
}

/** The edge of where no plan is, from left to right. A bound on one term holds for all plans with no more of the other. */
function floorOf(sound: FrontPoint[], chart: Chart): number[] {
  const parts = sound.flatMap((point) => {
    const [first, second] = point.bounds;
    return [
      ...(first === null ? [] : [{ until: Number(first), high: Number(point.values[1]) }]),
      ...(second === null ? [] : [{ until: Number(point.values[0]), high: Number(second) }]),
    ];
  }).sort((one, other) => other.until - one.until);
  const line: number[] = [];
  let high = -1;
  // From the right: each part reaches to the left edge, so only higher ones are seen.
  for (const part of parts) {
    if (part.high <= high) continue;
    const [x, y] = [chart.x(part.until), chart.y(part.high)];
    line.unshift(x, y, x, high < 0 ? chart.tall - BOTTOM : chart.y(high));
    high = part.high;
  }
  return line;
}

function drawWhiskers(pen: Pen, point: FrontPoint, chart: Chart, theme: Theme): void {
  if (point.standing !== "open") return;
  const [x, y] = [chart.x(Number(point.values[0])), chart.y(Number(point.values[1]))];
  const [first, second] = point.bounds;
  if (first !== null && first < point.values[0]) pen.line([x, y, Math.max(LEFT, chart.x(Number(first))), y], theme.open, 2, [3, 3]);
  if (second !== null && second < point.values[1]) pen.line([x, y, x, Math.min(chart.tall - BOTTOM, chart.y(Number(second)))], theme.open, 2, [3, 3]);
}

function drawCross(pen: Pen, front: Front, chart: Chart, theme: Theme, chosen: number): void {
  const point = front.points[chosen] as FrontPoint;
  const [x, y] = chart.places[chosen] as readonly [number, number];
  pen.line([x, y, x, chart.tall - BOTTOM], theme.ink, 1, [2, 3]);
  pen.line([x, y, LEFT, y], theme.ink, 1, [2, 3]);
  pen.clip(LEFT, TOP, chart.wide - LEFT - RIGHT, chart.tall - TOP - BOTTOM, () => drawWhiskers(pen, point, chart, theme));
  pen.text(x, chart.tall - BOTTOM + 31, valueText(front.terms[0], point.values[0]), { fill: theme.ink, bold: true, anchor: "middle" });
}

function drawPoint(pen: Pen, front: Front, place: number, chart: Chart, theme: Theme, chosen: boolean): void {
  const [x, y] = chart.places[place] as readonly [number, number];
  const { standing } = front.points[place] as FrontPoint;
  if (chosen) disc(pen, x, y, RADIUS + 5, theme.chosen, theme.paper, 2);
  if (standing === "wrong" || standing === "worse") {
    const colour = standing === "wrong" ? theme.capacity : theme.reserved;
    pen.line([x - 5, y - 5, x + 5, y + 5], colour, 2.5);
    pen.line([x - 5, y + 5, x + 5, y - 5], colour, 2.5);
    return;
  }
  const colour = standing === "proven" ? theme.met : accent(theme);
  disc(pen, x, y, RADIUS, colour, standing === "open" ? theme.paper : colour, 2);
}

function disc(pen: Pen, x: number, y: number, radius: number, stroke: string, fill: string, wide: number): void {
  const points: number[] = [];
  for (let part = 0; part <= 24; part++) {
    const turn = (part / 24) * 2 * Math.PI;
    points.push(x + radius * Math.cos(turn), y + radius * Math.sin(turn));
  }
  pen.area(points, fill);
  pen.line(points, stroke, wide);
}

/** The ends, the chosen point, and as many others as have room. */
function drawLabels(pen: Pen, front: Front, chart: Chart, theme: Theme, chosen: number): void {
  const boxes = chart.places.map(([x, y]) => [x - 7, y - 7, x + 7, y + 7] as const);
  const taken: (readonly [number, number, number, number])[] = [...boxes];
  const last = front.points.length - 1;
  const rest = front.points.map((_, place) => place);
  const lowest = least(front, 1);
  for (const place of new Set([chosen, 0, last, ...rest])) {
    const point = front.points[place];
    if (point === undefined || point.standing === "wrong" || point.standing === "worse") continue;
    const [x, y] = chart.places[place] as readonly [number, number];
    const text = front.points.length === 1
      ? front.terms.map((term, axis) => `${plain(term, 30).replaceAll("_", " ")} ${valueText(term, point.values[axis as 0 | 1])}`).join(", ")
      : [valueText(front.terms[0], point.values[0]), ratio(point.values[1], lowest) || valueText(front.terms[1], point.values[1])].join("  ");
    const wide = pen.measure(text, 11, place === chosen);
    const spots = [[x + 9, y - 9], [x - 9 - wide, y + 18], [x + 16, y - 22]] as const;
    for (const [left, base] of spots) {
      const box = [left - 2, base - 11, left + wide + 2, base + 3] as const;
      const inside = box[0] > LEFT && box[2] < chart.wide - RIGHT && box[1] > TOP && box[3] < chart.tall - BOTTOM;
      const own = boxes[place];
      if (!inside || taken.some((other) => other !== own && meet(box, other))) continue;
      pen.text(left, base, text, { fill: theme.ink, bold: place === chosen, halo: grounds(theme).plans });
      taken.push(box);
      break;
    }
  }
}

function meet(one: readonly [number, number, number, number], other: readonly [number, number, number, number]): boolean {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}
