/** What the page shows and how: every part reads these signals, and nothing else is shared. */
import { computed, signal } from "@preact/signals";
import { DARK, LIGHT, type Theme } from "../draw/colours.ts";
import { axisPositions, fullHeight, fullWindow, heights, type Layout, type Picture } from "../draw/picture.ts";
import type { Window } from "../draw/scale.ts";
import { type Colouring, type Shades, shadesOf } from "../draw/shades.ts";
import { type Support, supportOf } from "../model/reasons.ts";
import type { PoolShown, Shown } from "../model/shown.ts";
import { type Source, verdictOf } from "../model/verdict.ts";

export type Stage =
  | { kind: "empty" }
  | { kind: "reading"; doing: string; part: number }
  | { kind: "failed"; message: string }
  | { kind: "shown"; shown: Shown; source: Source };

export const stage = signal<Stage>({ kind: "empty" });
export const colouring = signal<Colouring>("lifetime");
export const byChange = signal(false);
export const proofOnly = signal(false);
/** A buffer; -1: none. */
export const chosen = signal(-1);
/** A step of the axis that is looked at in all pools; null: in each pool the one that decides. */
export const moment = signal<number | null>(null);
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
export const dialog = signal<"keys" | "table" | null>(null);
/** The pool that keys act on. */
export const active = signal(0);

export const theme = computed<Theme>(() => (themeName.value === "dark" ? DARK : LIGHT));
export const shown = computed<Shown | null>(() => (stage.value.kind === "shown" ? stage.value.shown : null));
export const verdict = computed(() => (stage.value.kind === "shown" ? verdictOf(stage.value.shown, stage.value.source) : null));

const axes = computed(() => (shown.value === null ? null : axisPositions(shown.value.scene)));
const edges = computed(() => (shown.value === null ? null : heights(shown.value.scene)));

export const positions = computed<Float64Array>(() => {
  const both = axes.value;
  if (both === null) return new Float64Array(2);
  return byChange.value ? both.byChange : both.given;
});

/** The pinned or deciding step of a pool. */
export function stepFor(pool: PoolShown): number {
  return moment.value ?? pool.profile.moment;
}

const proofs = computed(() => shown.value?.pools.map((pool) => new Set(pool.bound?.checked ? pool.bound.buffers : [])) ?? []);

function isLive(now: Shown): (span: number) => boolean {
  const { scene } = now;
  const steps = now.pools.map(stepFor);
  return (span) => {
    const step = steps[scene.pool[scene.owner[span] as number] as number] ?? -1;
    return (scene.begin[span] as number) <= step && step < (scene.end[span] as number);
  };
}

export const shades = computed<Shades | null>(() => {
  const now = shown.value;
  const both = axes.value;
  if (now === null || both === null) return null;
  const live = isLive(now);
  const plain = shadesOf(now.scene, colouring.value, both.given, theme.value, live);
  if (!proofOnly.value) return plain;
  const faded = plain.colours.length;
  const sets = proofs.value;
  const of = plain.of.map((shade, span) => {
    const buffer = now.scene.owner[span] as number;
    const set = sets[now.scene.pool[buffer] as number];
    const shownIn = set !== undefined && set.size > 0 && moment.value === null ? set.has(buffer) && live(span) : live(span);
    return shownIn ? shade : faded;
  });
  return { ...plain, of, colours: [...plain.colours, theme.value.faded] };
});

/** The chain of what the chosen buffer rests on. */
export const support = computed<Support | null>(() => {
  const now = shown.value;
  const pool = now?.pools[now.scene.pool[chosen.value] ?? -1];
  return now === null || pool === undefined ? null : supportOf(now.scene, pool.given.spans, chosen.value);
});

export function windowOf(now: Shown, place: number): Window {
  const all = fullWindow(now, place, positions.value);
  const [left, right] = across.value ?? [all.left, all.right];
  const [low, high] = upward.value.get(place) ?? [all.low, all.high];
  return { left, right, low, high };
}

/** Everything that the picture of a pool is drawn from; null: nothing is shown. */
export function pictureOf(place: number, layout: Layout, withPassing: boolean): Picture | null {
  const now = shown.value;
  const pool = now?.pools[place];
  if (now === null || pool === undefined || shades.value === null || edges.value === null) return null;
  return {
    shown: now, scene: now.scene, pool, place, layout, theme: theme.value, byChange: byChange.value,
    positions: positions.value, shades: shades.value, ...edges.value, window: windowOf(now, place),
    moment: (withPassing ? passing.value : null) ?? stepFor(pool),
    chosen: chosen.value, support: support.value,
  };
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

export function lookAtAll(): void {
  across.value = null;
  upward.value = new Map();
}

/** Groups, where a problem has them: they say what a buffer is for. */
export function firstColouring(now: Shown): Colouring {
  return now.scene.groups === null ? "lifetime" : "group";
}

export function forget(): void {
  lookAtAll();
  chosen.value = -1;
  moment.value = null;
  passing.value = null;
  less.value = null;
  proofOnly.value = false;
  active.value = 0;
}
