/** Which colour each span has, as an index into a short list. */
import { ELSEWHERE, HIGHER, LOWER, SAME } from "../model/moves.ts";
import type { Moves } from "../model/shown.ts";
import type { Scene } from "../model/scene.ts";
import type { Theme } from "./colours.ts";
import { bytes, count, plain, time } from "./format.ts";

/** `moved` is for two plans. */
export type Colouring = "moved" | "lifetime" | "size" | "group" | "peak";

export interface Entry {
  colour: string;
  text: string;
}

export interface Shades {
  /** For each span an index into `colours`. */
  of: Uint8Array;
  colours: string[];
  /** What the colours mean: single ones, or the ends of the ramp. */
  legend: { kind: "ramp"; from: string; to: string } | { kind: "entries"; entries: Entry[] };
}

/** What is less than a 512th of the most is the lowest grade: more orders of magnitude would leave all others alike. */
const RANGE = 512;

/** The place on the ramp by orders of magnitude, as `grade` in `planner/show/drawing.py`. */
export function grade(value: number, least: number, most: number, steps: number): number {
  if (least === most) return Math.floor(steps / 3);
  const low = Math.max(least, Math.floor(most / RANGE));
  const part = (Math.log(value) - Math.log(low)) / (Math.log(most) - Math.log(low));
  return Math.min(steps - 1, Math.max(0, Math.floor(part * steps + 1e-9)));
}

export function shadesOf(
  scene: Scene, colouring: Colouring, positions: Float64Array, theme: Theme, live: (span: number) => boolean, moves: Moves | null,
): Shades {
  if (colouring === "moved" && moves !== null) return byMove(scene, moves, theme);
  if (colouring === "group" && scene.groups !== null) return byGroup(scene, theme);
  if (colouring === "peak") return byPeak(scene, theme, live);
  return byMagnitude(scene, colouring === "size", positions, theme);
}

function byMagnitude(scene: Scene, bySize: boolean, positions: Float64Array, theme: Theme): Shades {
  const count = scene.owner.length;
  const value = new Float64Array(count);
  let least = Infinity;
  let most = 0;
  for (let span = 0; span < count; span++) {
    const size = Number(scene.sizes[scene.owner[span] as number]);
    const long = (positions[scene.end[span] as number] as number) - (positions[scene.begin[span] as number] as number);
    value[span] = bySize ? size : long;
    if (size > 0 && (value[span] as number) > 0) {
      least = Math.min(least, value[span] as number);
      most = Math.max(most, value[span] as number);
    }
  }
  const steps = theme.ramp.length;
  const of = Uint8Array.from(value, (one) => (one > 0 ? grade(one, least, most, steps) : 0));
  const words = bySize ? { from: bytes(least), to: bytes(most) } : { from: "short", to: "long" };
  return { of, colours: [...theme.ramp], legend: { kind: "ramp", ...(least <= most ? words : { from: "", to: "" }) } };
}

/** Groups of most bytes first; those that come after the last hue share a grey. */
function byGroup(scene: Scene, theme: Theme): Shades {
  const groups = scene.groups as Int32Array;
  const held = new Float64Array(scene.groupNames.length);
  groups.forEach((group, buffer) => {
    if (group >= 0) held[group] = (held[group] as number) + Number(scene.sizes[buffer]);
  });
  const order = Array.from(held.keys()).sort((one, other) => (held[other] as number) - (held[one] as number) || one - other);
  const hues = theme.groups.length;
  const hue = new Uint8Array(scene.groupNames.length).fill(hues);
  order.slice(0, hues).forEach((group, place) => (hue[group] = place));
  const of = Uint8Array.from(scene.owner, (buffer) => hue[groups[buffer] as number] ?? hues);
  const entries = order.slice(0, hues).map((group, place) => ({ colour: theme.groups[place] as string, text: plain(scene.groupNames[group] as string, 24) }));
  if (order.length > hues) entries.push({ colour: theme.other, text: `${count(order.length - hues)} more` });
  else if (groups.includes(-1)) entries.push({ colour: theme.other, text: "none" });
  return { of, colours: [...theme.groups, theme.other], legend: { kind: "entries", entries } };
}

function byMove(scene: Scene, moves: Moves, theme: Theme): Shades {
  const all = [
    { kind: SAME, colour: theme.same, text: "same place" }, { kind: HIGHER, colour: theme.higher, text: "higher in the second" },
    { kind: LOWER, colour: theme.lower, text: "lower in the second" }, { kind: ELSEWHERE, colour: theme.elsewhere, text: "in another pool" },
  ];
  const entries = all.filter((entry) => entry.kind !== ELSEWHERE || scene.pools.length > 1);
  return { of: Uint8Array.from(scene.owner, (buffer) => moves.kind[buffer] as number), colours: all.map((entry) => entry.colour), legend: { kind: "entries", entries } };
}

function byPeak(scene: Scene, theme: Theme, live: (span: number) => boolean): Shades {
  const of = Uint8Array.from(scene.owner, (_, span) => (live(span) ? 0 : 1));
  const entries = [{ colour: theme.atPeak, text: "live at the moment" }, { colour: theme.faded, text: "at other times" }];
  return { of, colours: [theme.atPeak, theme.faded], legend: { kind: "entries", entries } };
}

/** When a buffer lives, in one line; `written` writes a time. */
export function lifeText(scene: Scene, buffer: number, written: (value: number | bigint) => string = time): string {
  const said: string[] = [];
  const { times } = scene.axis;
  for (let span = scene.firstSpan[buffer] as number; span < (scene.firstSpan[buffer + 1] as number); span++) {
    if (scene.kinds[span] === 1) said.push("always");
    else if (scene.kinds[span] === 2) said.push("no lifetime");
    else said.push([scene.begin, scene.end].map((ends) => bare(times[ends[span] as number] as number, written)).join("–"));
    if (said.length === 4) break;
  }
  const more = (scene.firstSpan[buffer + 1] as number) - (scene.firstSpan[buffer] as number) - said.length;
  return said.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Times of a few digits need no groups. */
function bare(value: number | bigint, written: (value: number | bigint) => string): string {
  const text = String(value);
  return text.length <= 6 ? text : written(value);
}
