/** The map of one pool: addresses up, time across, what is placed and what is free below its skyline. */
import { bankRuns } from "../model/banks.ts";
import type { Amount } from "../model/columns.ts";
import { countAbove, type Ordered } from "../model/order.ts";
import { named, overlapping } from "../model/buffers.ts";
import { inkOn, rim, type Theme, tint } from "./colours.ts";
import { bytes, count, plain } from "./format.ts";
import type { Pen } from "./pen.ts";
import type { Picture } from "./picture.ts";
import { scaleOf } from "./picture.ts";
import { type Layer, paletteOf } from "./raster.ts";
import { columnsOf, type Scale } from "./scale.ts";
import { addressTicks, changeTicks, timeTicks } from "./ticks.ts";

const MOST_NAMES = 240;

export function layerOf(picture: Picture): Layer {
  return {
    scene: picture.scene, low: picture.low, high: picture.high, spans: orderOf(picture).spans,
    positions: picture.positions, shades: picture.shades.of, tints: picture.shown.tints, palette: paletteOf(picture.shades.colours, rimOf(picture.theme)),
  };
}

/** What is faded needs no outline. */
function rimOf(theme: Theme): (colour: string) => string {
  const faded = [theme.faded, tint(theme.faded)];
  return (colour) => (faded.includes(colour) ? colour : rim(colour, theme.paper));
}

export function orderOf(picture: Picture): Ordered {
  return picture.byChange ? picture.pool.byChange : picture.pool.byTime;
}

/** How many spans, largest first, are at least this many square pixels. */
export function visible(picture: Picture, pixels: number): number {
  const scale = scaleOf(picture);
  return countAbove(orderOf(picture), pixels / (scale.across * scale.up));
}

export function drawGround(pen: Pen, picture: Picture): void {
  const { theme, layout: { map } } = picture;
  const scale = scaleOf(picture);
  pen.rect(map.x, map.y, map.wide, map.tall, theme.paper);
  pen.clip(map.x, map.y, map.wide, map.tall, () => {
    const free = skylinePath(picture.pool.skyline, picture, scale);
    if (free.length > 0) pen.hatch(free, theme.hole, theme.hatch);
  });
}

/** The outline of what is below the skyline. */
function skylinePath(skyline: ArrayLike<number>, picture: Picture, scale: Scale): number[] {
  const { map } = picture.layout;
  const columns = columnsOf(skyline, picture.positions, scale);
  const bottom = map.y + map.tall;
  const points = [map.x, bottom];
  let before = -1;
  columns.forEach((height, column) => {
    if (height === before) return;
    const x = map.x + column;
    points.push(x, points[points.length - 1] as number, x, Math.min(bottom, scale.y(height)));
    before = height;
  });
  points.push(map.x + map.wide, points[points.length - 1] as number, map.x + map.wide, bottom);
  return columns.some((height) => height > 0) ? points : [];
}

export function drawReserved(pen: Pen, picture: Picture): void {
  const { theme, layout: { map } } = picture;
  const scale = scaleOf(picture);
  pen.clip(map.x, map.y, map.wide, map.tall, () => {
    for (const range of picture.scene.pools[picture.place]?.reserved ?? []) {
      const top = scale.y(Number(range.offset + range.size));
      pen.rect(map.x, top, map.wide, Math.max(1, scale.y(Number(range.offset)) - top), theme.reserved);
    }
  });
}

const LEAST_BANK = 3;
const LEAST_NAMED_BANK = 16;

/** Where banks begin that are not too thin to be seen, with their numbers by address where there is room. */
export function drawBanks(pen: Pen, picture: Picture): void {
  const { theme, layout: { map } } = picture;
  const scale = scaleOf(picture);
  pen.clip(map.x, map.y, map.wide, map.tall, () => {
    for (const { offset, size, count, first } of bankRuns(picture.scene, picture.place)) {
      const tall = scale.y(offset) - scale.y(offset + size);
      if (tall < LEAST_BANK) continue;
      for (let bank = 0; bank < count; bank++) {
        const y = Math.round(scale.y(offset + size * bank)) + 0.5;
        if (y >= map.y && y < map.y + map.tall - 1) pen.line([map.x, y, map.x + map.wide, y], theme.quiet, 1, [1, 3]);
        if (tall < LEAST_NAMED_BANK || y < map.y || y > map.y + map.tall + 1) continue;
        const name = `bank ${String(first + bank)}`;
        pen.text(map.x + map.wide - 4, y - 4, name, { fill: theme.quiet, size: 10.5, anchor: "end", halo: theme.paper });
      }
    }
  });
}

/** Peak, bound and capacity. */
export function drawLevels(pen: Pen, picture: Picture): void {
  const { theme, pool, layout: { map, towers } } = picture;
  const scale = scaleOf(picture);
  const end = towers === null ? map.x + map.wide : towers.x + towers.wide;
  const line = (address: Amount, to: number, colour: string, dash: number[]): void => {
    const y = Math.round(scale.y(Number(address))) + 0.5;
    if (y >= map.y - 1 && y <= map.y + map.tall) pen.line([map.x, y, to, y], colour, 2, dash);
  };
  const capacity = picture.scene.pools[picture.place]?.capacity ?? null;
  if (capacity !== null) line(capacity, end, theme.capacity, []);
  if (pool.peak > 0) line(pool.peak, towers === null ? end : towers.x + 36, theme.ink, []);
  if (pool.bound !== null && pool.bound.value > 0) line(pool.bound.value, end, boundColour(picture), [6, 4]);
}

/** Green where the peak is proven to be the least possible. */
export function boundColour(picture: Picture): string {
  const { bound, peak } = picture.pool;
  return bound?.proven === true && bound.value >= peak && bound.value <= peak && peak > 0 ? picture.theme.met : picture.theme.open;
}

/** Names where they fit, among so many of the largest. */
export function drawNames(pen: Pen, picture: Picture, among = Infinity): void {
  const { scene, layout: { map } } = picture;
  const scale = scaleOf(picture);
  const { spans } = orderOf(picture);
  const alone = aloneOf(picture);
  const written = new Map<string, { span: number; left: number; right: number; top: number; bottom: number; names: string[] }>();
  pen.clip(map.x, map.y, map.wide, map.tall, () => {
    for (const span of spans.subarray(0, Math.min(among, visible(picture, 300)))) {
      const buffer = scene.owner[span] as number;
      const [begin, end] = alone.get(span) ?? [scene.begin[span] as number, scene.end[span] as number];
      const left = Math.max(map.x, scale.x(picture.positions[begin] as number));
      const right = Math.min(map.x + map.wide, scale.x(picture.positions[end] as number));
      const top = Math.max(map.y, scale.y(picture.high[buffer] as number));
      const bottom = Math.min(map.y + map.tall, scale.y(picture.low[buffer] as number));
      if (right - left < 24 || bottom - top < 13) continue;
      // Buffers that are one, in several programs, have one name for all of them.
      const key = [left, right, top, bottom].join(" ");
      const before = written.get(key);
      if (before !== undefined) before.names.push(named(scene, buffer));
      else if (written.size === MOST_NAMES) break;
      else written.set(key, { span, left, right, top, bottom, names: [named(scene, buffer)] });
    }
    for (const { span, left, right, top, bottom, names } of written.values()) {
      const buffer = scene.owner[span] as number;
      const name = fitted(pen, names.join(" = "), right - left - 6);
      if (name === "") continue;
      const ink = inkOn(colourOf(picture, span));
      const middle = (left + right) / 2;
      const withSize = bottom - top >= 28;
      const y = (top + bottom) / 2 + (withSize ? -2 : 4);
      pen.text(middle, y, name, { fill: ink, bold: true, anchor: "middle" });
      const size = bytes(scene.sizes[buffer] as Amount);
      if (withSize && pen.measure(size, 10.5, false) < right - left - 6) pen.text(middle, y + 14, size, { fill: ink, size: 10.5, anchor: "middle" });
    }
  });
}

/** The ranks between which buffers in place are alone at their bytes: names there are not written over each other. */
function aloneOf({ scene, place }: Picture): Map<number, [number, number]> {
  const lives = new Map<number, [number, number]>();
  for (const pair of scene.inPlace.slice(0, MOST_NAMES)) {
    if (scene.pool[pair.first] !== place || !overlapping(scene, pair.first, pair.second)) continue;
    const [input, output] = [(scene.firstSpan[pair.first + 1] as number) - 1, scene.firstSpan[pair.second] as number];
    const [from, to] = [scene.begin[output] as number, scene.end[input] as number];
    if (from >= to) continue;
    lives.set(input, [lives.get(input)?.[0] ?? (scene.begin[input] as number), from]);
    lives.set(output, [to, lives.get(output)?.[1] ?? (scene.end[output] as number)]);
  }
  return lives;
}

/** As much of a name as there is room for; nothing where that says little. */
export function fitted(pen: Pen, name: string, room: number): string {
  const text = plain(name, 60);
  const wide = pen.measure(text, 11, true);
  if (wide <= room) return text;
  const most = Math.floor((text.length * room) / wide) - 1;
  return most >= 4 ? `${[...text].slice(0, most).join("")}…` : "";
}

export function colourOf(picture: Picture, span: number): string {
  const colour = picture.shades.colours[picture.shades.of[span] as number] ?? picture.theme.other;
  return picture.shown.tints[picture.scene.owner[span] as number] === 1 ? tint(colour) : colour;
}

export function drawAxes(pen: Pen, picture: Picture): void {
  const { theme, layout: { map, operators } } = picture;
  const bottom = operators === null ? map.y + map.tall : operators.y + operators.tall;
  const scale = scaleOf(picture);
  pen.outline(map.x - 0.5, map.y - 0.5, map.wide + 1, map.tall + 1, theme.frame, 1);
  const addresses = addressTicks(picture.window.low, picture.window.high, map.tall > 200 ? 8 : 4);
  // Beside the map there is room for short addresses: long ones are told from the lowest on, which is written in the map.
  const isLong = addresses.some((tick) => pen.measure(tick.text, 11, false) > map.x - 9);
  const base = addresses[0]?.at ?? 0;
  for (const tick of addresses) {
    const y = Math.round(scale.y(tick.at)) + 0.5;
    pen.line([map.x - 4, y, map.x, y], theme.frame, 1);
    if (isLong && tick.at === base) pen.text(map.x + 5, y - 4, count(base), { fill: theme.ink, halo: theme.paper });
    else pen.text(map.x - 8, y + 4, isLong ? `+${bytes(tick.at - base)}` : tick.text, { fill: theme.quiet, anchor: "end" });
  }
  const most = Math.max(2, Math.floor(map.wide / 90));
  const { axis } = picture.scene;
  if (axis.kind !== "time") {
    const words = axis.kind === "always" ? "always live" : "no lifetimes: the buffers side by side";
    pen.text(map.x + map.wide / 2, bottom + 17, words, { fill: theme.quiet, anchor: "middle" });
    return;
  }
  const ticks = picture.byChange || Array.isArray(axis.times)
    ? changeTicksAt(picture, most)
    : timeTicks(axis.times, picture.window.left, picture.window.right, most);
  for (const tick of ticks) {
    const x = scale.x(tick.at);
    pen.line([x, bottom, x, bottom + 4], theme.frame, 1);
    const half = pen.measure(tick.text, 11, false) / 2;
    pen.text(Math.min(Math.max(x, half + 2), map.x + map.wide - half), bottom + 17, tick.text, { fill: theme.quiet, anchor: "middle" });
  }
}

/** Marks at changes, where they are on this axis. */
function changeTicksAt(picture: Picture, most: number): { at: number; text: string }[] {
  const { times } = picture.scene.axis;
  if (picture.byChange) return changeTicks(times, picture.window.left, picture.window.right, most);
  const every = Math.max(1, Math.ceil(times.length / most));
  return changeTicks(times, 0, times.length - 1, Math.ceil(times.length / every)).map((tick) => ({
    at: picture.positions[tick.at] as number, text: tick.text,
  })).filter((tick) => tick.at >= picture.window.left && tick.at <= picture.window.right);
}
