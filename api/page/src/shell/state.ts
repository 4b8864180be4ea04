/** What the page shows and how: every part reads these signals, and nothing else is shared. */
import { computed, signal } from "@preact/signals";
import { DARK, LIGHT, type Theme } from "../draw/colours.ts";
import { busiestStep } from "../draw/operators.ts";
import { axisPositions, fullHeight, fullWindow, heights, type Layout, layoutOf, type Picture } from "../draw/picture.ts";
import type { Window } from "../draw/scale.ts";
import { type Colouring, type Shades, shadesOf } from "../draw/shades.ts";
import type { SearchStep } from "../model/documents.ts";
import { type Support, supportOf } from "../model/reasons.ts";
import type { Amount } from "../model/columns.ts";
import type { Front } from "../model/front.ts";
import { differenceOf } from "../model/difference.ts";
import { SAME } from "../model/moves.ts";
import type { PoolShown, Second, Shown } from "../model/shown.ts";

export type Stage =
  | { kind: "empty" }
  | { kind: "reading"; doing: string; part: number }
  | { kind: "failed"; message: string }
  | { kind: "front" }
  | { kind: "shown"; shown: Shown; atService: boolean };

export const stage = signal<Stage>({ kind: "empty" });
/** The front that is shown, or that the plan is a point of. */
export const front = signal<Front | null>(null);
/** The point of the front that is looked at; -1: none. */
export const point = signal(-1);
/** The files that what is shown was read from, where they are at hand. */
export const files = signal<readonly Blob[]>([]);
/** What the title says where no plan is shown. */
export const heading = signal("");
/** The search of a job, as far as it is known; null: that of the file. */
export const liveSearch = signal<readonly SearchStep[] | null>(null);
export const colouring = signal<Colouring>("lifetime");
export const byChange = signal(false);
export const proofOnly = signal(false);
/** A buffer; -1: none. */
export const chosen = signal(-1);
/** A step of the axis that is looked at in all pools; null: in each pool the one that decides. */
export const moment = signal<number | null>(null);
/** The span under the pointer, which both of two plans mark; -1: none. */
export const under = signal(-1);
/** An operator of the graph; -1: none. */
export const operator = signal(-1);
/** Of the loops of the chosen operator, which step is looked at. */
export const loopStep = signal(0);
/** Of the proof that is walked through. */
export const proofStep = signal(0);
/** The step under the pointer. */
export const passing = signal<number | null>(null);
/** The part of the axis that is seen; null: all of it. */
export const across = signal<readonly [number, number] | null>(null);
/** The addresses that are seen, by pool; all where there is no entry. */
export const upward = signal<ReadonlyMap<number, readonly [number, number]>>(new Map());
/** Whether a gesture runs. */
export const moving = signal(false);
/** Bytes by which the peak should be smaller; null: a round amount. */
export const less = signal<number | null>(null);
export const themeName = signal<"light" | "dark">("light");
export const dialog = signal<"keys" | "table" | "live" | "operators" | "formats" | null>(null);
/** The pool that keys act on. */
export const active = signal(0);

export const theme = computed<Theme>(() => (themeName.value === "dark" ? DARK : LIGHT));
export const shown = computed<Shown | null>(() => (stage.value.kind === "shown" ? stage.value.shown : null));
export const search = computed<readonly SearchStep[]>(() => liveSearch.value ?? shown.value?.scene.search ?? []);
/** The plan that is compared with it; null: only one is shown. */
export const second = computed<Second | null>(() => shown.value?.second ?? null);
export const verdict = computed(() => {
  const now = stage.value;
  if (now.kind !== "shown") return null;
  const other = now.shown.second;
  return other === null ? now.shown.sentence : differenceOf(now.shown, other.shown, other.moves);
});

const axes = computed(() => (shown.value === null ? null : axisPositions(shown.value.scene)));
const edges = computed(() => (shown.value === null ? null : heights(shown.value.scene)));
const edgesOfSecond = computed(() => (second.value === null ? null : heights(second.value.shown.scene)));

export const positions = computed<Float64Array>(() => {
  const both = axes.value;
  if (both === null) return new Float64Array(2);
  return byChange.value ? both.byChange : both.byTime;
});

/** The pinned or deciding step of a pool. */
export function stepFor(pool: PoolShown): number {
  return moment.value ?? pool.profile.moment;
}

function isLive(now: Shown): (span: number) => boolean {
  const { scene } = now;
  const steps = now.pools.map(stepFor);
  return (span) => {
    const step = steps[scene.pool[scene.owner[span] as number] as number] ?? -1;
    return (scene.begin[span] as number) <= step && step < (scene.end[span] as number);
  };
}

export const shades = computed<Shades | null>(() => (shown.value === null ? null : shadesFor(shown.value)));
const shadesOfSecond = computed<Shades | null>(() => (second.value === null ? null : shadesFor(second.value.shown)));

function shadesFor(now: Shown): Shades | null {
  const both = axes.value;
  if (both === null) return null;
  const live = isLive(now);
  const plain = shadesOf(now.scene, colouring.value, both.byTime, theme.value, live, second.value?.moves ?? null);
  if (!proofOnly.value) return plain;
  const faded = plain.colours.length;
  const sets = now.pools.map((pool) => new Set(pool.bound?.buffers ?? []));
  const of = plain.of.map((shade, span) => {
    const buffer = now.scene.owner[span] as number;
    const set = sets[now.scene.pool[buffer] as number];
    const shownIn = set !== undefined && set.size > 0 && moment.value === null ? set.has(buffer) && live(span) : live(span);
    return shownIn ? shade : faded;
  });
  return { ...plain, of, colours: [...plain.colours, theme.value.faded] };
}

/** The chain of what the chosen buffer rests on. */
export const support = computed<Support | null>(() => {
  const now = shown.value;
  const pool = now?.pools[now.scene.pool[chosen.value] ?? -1];
  // Of two plans each has its own reasons; where the buffer is in both is what is drawn.
  if (second.value !== null) return chosen.value < 0 ? null : { chain: [], gap: second.value.shown.scene.zero, more: false };
  return now === null || pool === undefined ? null : supportOf(now.scene, pool.byTime.spans, chosen.value);
});

export function windowOf(now: Shown, place: number): Window {
  const all = fullWindow(now, place, positions.value);
  const [left, right] = across.value ?? [all.left, all.right];
  const [low, high] = upward.value.get(place) ?? [all.low, all.high];
  return { left, right, low, high };
}

/** Everything that the picture of a pool is drawn from, of the first plan or of the second; null: nothing is shown. */
export function pictureOf(place: number, layout: Layout, withPassing: boolean, which: Which = 0): Picture | null {
  const now = which === 0 ? shown.value : (second.value?.shown ?? null);
  const pool = now?.pools[place];
  const shade = which === 0 ? shades.value : shadesOfSecond.value;
  const edge = which === 0 ? edges.value : edgesOfSecond.value;
  if (now === null || pool === undefined || shade === null || edge === null) return null;
  return {
    shown: now, scene: now.scene, pool, place, layout, theme: theme.value, byChange: byChange.value,
    label: second.value === null ? "" : `${which === 0 ? "first" : "second"}: ${now.plan}`,
    positions: positions.value, shades: shade, ...edge, window: windowOf(now, place),
    moment: (withPassing ? passing.value : null) ?? stepFor(pool),
    chosen: chosen.value, support: support.value, operator: operator.value, elsewhere: elsewhere(place, which),
  };
}

/** The first plan or the second. */
export type Which = 0 | 1;

function elsewhere(place: number, which: Which): Amount | null {
  const other = which === 0 ? second.value?.shown.scene : shown.value?.scene;
  const moves = second.value?.moves;
  if (other === undefined || chosen.value < 0 || (moves?.kind[chosen.value] ?? SAME) === SAME) return null;
  return other.pool[chosen.value] === place ? (other.offsets[chosen.value] as Amount) : null;
}

/** Looks at an operator, and at the moment at which most is live while it runs. */
export function chooseOperator(place: number): void {
  const now = shown.peek();
  const program = now?.scene.program ?? null;
  const pool = now?.pools[active.peek()];
  if (place !== operator.peek()) loopStep.value = 0;
  operator.value = place;
  if (place >= 0 && program !== null && pool !== undefined) moment.value = busiestStep(program, pool.profile.live, place);
}

/** How a picture is laid out on so many pixels. */
export function measured(wide: number, tall: number): Layout {
  const now = shown.peek();
  return layoutOf(wide, tall, now !== null && now.second !== null, now !== null && now.scene.program !== null);
}

/** Shows a part of the axis and of a pool's addresses; never less than a step, never more than all. */
export function look(now: Shown, place: number, window: Window): void {
  const all = fullWindow(now, place, positions.value);
  const [left, right] = kept(window.left, window.right, all.left, all.right, (all.right - all.left) / 1e7);
  across.value = left <= all.left && right >= all.right ? null : [left, right];
  const [low, high] = kept(window.low, window.high, 0, fullHeight(now, place), Math.min(8, all.high));
  const next = new Map(upward.value);
  if (low <= 0 && high >= all.high) next.delete(place);
  else next.set(place, [low, high]);
  upward.value = next;
}

function kept(from: number, to: number, least: number, most: number, smallest: number): [number, number] {
  const range = Math.min(most - least, Math.max(to - from, smallest));
  const start = Math.min(Math.max(from, least), most - range);
  return [start, start + range];
}

/** Chooses a buffer, and moves the map there if it is elsewhere. */
export function choose(buffer: number): void {
  chosen.value = buffer;
  bringIntoView(buffer, "there");
}

/** A part of the view below which a buffer is too small to be found by eye, and the part that it then gets. */
const SMALL = 1 / 60;
const NEAR = 1 / 12;

/** Moves the map so that all of a buffer is seen; `near`: and nearer where it would be too small; `fill`: so that it
 * fills the map. */
export function bringIntoView(buffer: number, how: "there" | "near" | "fill"): void {
  const now = shown.peek();
  const place = now?.scene.pool[buffer] ?? -1;
  const edge = edges.peek();
  if (now === null || edge === null || place < 0) return;
  const { scene } = now;
  const [from, to] = [scene.firstSpan[buffer] as number, (scene.firstSpan[buffer + 1] as number) - 1];
  const at = positions.peek();
  const window = windowOf(now, place);
  const [left, right] = within(at[scene.begin[from] as number] as number, at[scene.end[to] as number] as number, window.left, window.right, how);
  const [low, high] = within(edge.low[buffer] as number, edge.high[buffer] as number, window.low, window.high, how);
  active.value = place;
  look(now, place, { left, right, low, high });
}

function within(from: number, to: number, seenFrom: number, seenTo: number, how: "there" | "near" | "fill"): [number, number] {
  const [size, range] = [to - from, seenTo - seenFrom];
  const wanted = how === "fill" ? size * 1.5 : size > range ? size * 1.1 : how === "near" && size < range * SMALL ? size / NEAR : range;
  if (wanted === range && from >= seenFrom && to <= seenTo) return [seenFrom, seenTo];
  const middle = (from + to) / 2;
  return [middle - wanted / 2, middle + wanted / 2];
}

export function lookAtAll(): void {
  across.value = null;
  upward.value = new Map();
}

const MOST_GROUPS = 6;

/** Groups, where a problem has them and they bring buffers together: they say what a buffer is for. Of two plans, what
 * moved. */
export function firstColouring(now: Shown): Colouring {
  if (now.second !== null) return "moved";
  // What stripes make of a graph is one operator after another of one kind.
  if (now.ofSchedule) return "lifetime";
  const groups = now.scene.groupNames.length;
  if (groups > MOST_GROUPS && groups * 3 > now.scene.sizes.length) return "lifetime";
  return now.scene.groups === null ? "lifetime" : "group";
}

export function forget(): void {
  lookAtAll();
  chosen.value = -1;
  under.value = -1;
  operator.value = -1;
  loopStep.value = 0;
  proofStep.value = 0;
  moment.value = null;
  passing.value = null;
  less.value = null;
  proofOnly.value = false;
  active.value = 0;
}
