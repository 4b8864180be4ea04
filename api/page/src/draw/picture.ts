/** Where the parts of one pool's picture are: live bytes above the map, towers beside it. */
import type { Amount } from "../model/columns.ts";
import type { Scene } from "../model/scene.ts";
import type { Support } from "../model/reasons.ts";
import type { PoolShown, Shown } from "../model/shown.ts";
import { positions } from "../model/order.ts";
import type { Theme } from "./colours.ts";
import { type Frame, Scale, type Window } from "./scale.ts";
import type { Shades } from "./shades.ts";

export interface Layout {
  wide: number;
  tall: number;
  live: Frame;
  map: Frame;
  /** Of a graph: its operators, below the map. */
  operators: Frame | null;
  /** Where the towers are; null: the page is too narrow for them. */
  towers: Frame | null;
}

const LIVE = 34;
const LIVE_TOP = 22;
const GAP = 14;
const AXIS = 24;
const TOWERS = 104;
/** Below this width there are no towers; two pictures beside each other are narrow in any case. */
const NARROW = 620;
const NARROW_BESIDE = 440;
/** Room for "1.25 GiB". */
const NARROW_LEFT = 62;

/** Room for the operators, and between them and the map. */
const OPERATORS = 18;
const BELOW_MAP = 3;

export function layoutOf(wide: number, tall: number, isBeside = false, hasOperators = false): Layout {
  const narrow = wide < (isBeside ? NARROW_BESIDE : NARROW);
  const left = narrow ? NARROW_LEFT : 72;
  const beside = narrow ? 8 : TOWERS;
  const live: Frame = { x: left, y: LIVE_TOP, wide: wide - left - beside, tall: LIVE };
  const top = LIVE_TOP + LIVE + GAP;
  const map: Frame = { x: left, y: top, wide: live.wide, tall: Math.max(40, tall - top - AXIS - (hasOperators ? OPERATORS + BELOW_MAP : 0)) };
  const operators = hasOperators ? { x: map.x, y: map.y + map.tall + BELOW_MAP, wide: map.wide, tall: OPERATORS } : null;
  return { wide, tall, live, map, operators, towers: narrow ? null : { x: wide - beside + 16, y: top, wide: 88, tall: map.tall } };
}

/** Everything that one pool's picture is drawn from. */
export interface Picture {
  shown: Shown;
  scene: Scene;
  pool: PoolShown;
  place: number;
  /** Of two plans, which one this is; otherwise empty. */
  label: string;
  layout: Layout;
  theme: Theme;
  byChange: boolean;
  positions: Float64Array;
  shades: Shades;
  low: Float64Array;
  high: Float64Array;
  window: Window;
  moment: number;
  /** The buffer that is chosen; -1: none. */
  chosen: number;
  /** What it rests on. */
  support: Support | null;
  /** The operator that is chosen; -1: none. */
  operator: number;
  /** Where the chosen buffer is in the other of two plans; null: not in this pool, or there is no other. */
  elsewhere: Amount | null;
}

export function scaleOf(picture: Picture): Scale {
  return new Scale(picture.layout.map, picture.window);
}

/** All of the axis, in both ways of counting it. */
export function axisPositions(scene: Scene): { byTime: Float64Array; byChange: Float64Array } {
  return { byTime: positions(scene.axis.times, false), byChange: positions(scene.axis.times, true) };
}

/** All addresses, with some room above the highest line. */
export function fullHeight(shown: Shown, place: number): number {
  return (shown.pools[place] as PoolShown).room * 1.05;
}

export function fullWindow(shown: Shown, place: number, at: Float64Array): Window {
  return { left: at[0] ?? 0, right: Math.max(at[at.length - 1] ?? 1, (at[0] ?? 0) + 1), low: 0, high: fullHeight(shown, place) };
}

/** The bottom and top of each buffer as doubles. */
export function heights(scene: Scene): { low: Float64Array; high: Float64Array } {
  const low = Float64Array.from(scene.offsets, Number);
  return { low, high: low.map((offset, buffer) => offset + Number(scene.sizes[buffer])) };
}
