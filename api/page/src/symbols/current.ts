/** The value that is looked at: each change lays out the plan again, here or, where it is large, in the worker. */
import { batch, signal } from "@preact/signals";
import { pointAt, shownAt } from "../model/symbolic_shown.ts";
import { nearest, spread } from "../model/symbol.ts";
import { symbolicAmong, type Symbolic } from "../model/symbolic.ts";
import type { PointShown, Shown, ValuesShown } from "../model/shown.ts";
import { lookedAt, open } from "../shell/open.ts";
import type { Opening } from "../shell/parts.ts";
import * as state from "../shell/state.ts";
import { reasonOf, unpacked } from "../worker/reader.ts";

/** Buffers of a plan that is laid out while a slider moves. */
const MOST_HERE = 2_000;
/** Milliseconds of work on the chart between two moments for what else happens. */
const SLICE = 10;

/** What was asked for; what is shown may be a little behind. */
export const wanted = signal<bigint[] | null>(null);
/** The symbol along which the chart is, by its index. */
export const along = signal(0);
/** Peak and least along a symbol, counted where the others have the values of `at`. */
export interface Counted {
  place: number;
  at: readonly bigint[];
  points: readonly PointShown[];
}

/** The curve that was counted last: while a slider moves, it may be about other values than what is shown. */
export const counted = signal<Counted | null>(null);
export const failure = signal("");

let file: Symbolic | null = null;
let first: bigint[] = [];
/** While the plan is laid out again. */
let isBusy = false;
let charted = "";
/** How many plans were opened. */
let count = 0;

export function valuesNow(): ValuesShown | null {
  return state.shown.value?.symbolic ?? null;
}

/** Looks at this value. */
export function go(at: bigint[]): void {
  wanted.value = at;
  if (isBusy) return;
  isBusy = true;
  requestAnimationFrame(() => void follow());
}

/** Looks at another value of one symbol. */
export function move(place: number, value: bigint): void {
  const now = valuesNow();
  if (now === null) return;
  const at = [...wanted.peek() ?? now.at];
  const symbol = now.symbols[place];
  if (symbol === undefined || at[place] === value) return;
  at[place] = nearest(symbol, value);
  go(at);
}

async function follow(): Promise<void> {
  const number = count;
  for (;;) {
    const at = wanted.peek();
    const now = valuesNow();
    if (at === null || now === null) break;
    if (file !== null) show(file, at, now.points);
    else {
      const content = lookedAt();
      const said = content === null ? "" : await open(await content(), { update: true, moved: true, at }) ?? "";
      if (number !== count) return;
      failure.value = said;
      state.upward.value = new Map();
    }
    if (wanted.peek() === at) break;
    await new Promise((done) => requestAnimationFrame(done));
    if (number !== count) return;
  }
  isBusy = false;
  chart();
}

function show(from: Symbolic, at: bigint[], points: PointShown[]): void {
  try {
    const shown = shownAt(from, at, points);
    batch(() => {
      failure.value = "";
      // The axis stays; addresses do not.
      state.upward.value = new Map();
      const stage = state.stage.peek();
      state.stage.value = { kind: "shown", shown, atService: stage.kind === "shown" && stage.atService };
    });
  } catch (error) {
    failure.value = reasonOf(error);
  }
}

/** A plan is shown: what the address says of the value, and what is needed to lay it out again. */
export function opened(shown: Shown, { restore, update }: Opening): void {
  const { symbolic } = shown;
  count++;
  file = null;
  isBusy = false;
  charted = "";
  batch(() => {
    wanted.value = null;
    failure.value = "";
    // Of a better plan the same is looked at, and the curve of before stays until the new one is counted.
    if (update === true) return;
    along.value = 0;
    counted.value = null;
  });
  if (symbolic === undefined) return;
  if (update !== true) {
    first = symbolic.at;
    const linked = restore === true ? linkedValue(symbolic) : null;
    if (linked !== null) go(linked);
    addEventListener("hashchange", followAddress);
  }
  if (symbolic.buffers <= MOST_HERE) void keep();
  else chart();
}

/** What the address says; null: nothing that could be a value. */
function linkedValue(now: ValuesShown): bigint[] | null {
  const values = new URLSearchParams(location.hash.slice(1)).get("value") ?? "";
  if (!/^-?\d+(_-?\d+)*$/.test(values) || values.split("_").length !== now.symbols.length) return null;
  return values.split("_").map((digits, place) => nearest(now.symbols[place] as ValuesShown["symbols"][number], BigInt(digits)));
}

/** Somebody has changed the address, or went back to an earlier one. */
function followAddress(): void {
  const now = valuesNow();
  if (now !== null) go(linkedValue(now) ?? first);
}

async function keep(): Promise<void> {
  const number = count;
  // Whoever opens files says where they are once they are shown.
  await new Promise((done) => setTimeout(done));
  const files = await lookedAt()?.() ?? [];
  const read = symbolicAmong(await Promise.all(files.map(unpacked)));
  if (number !== count) return;
  file = read;
  chart();
}

export function link(address: URLSearchParams): void {
  const at = valuesNow()?.at;
  if (at !== undefined && at.join("_") !== first.join("_")) address.set("value", at.join("_"));
}

export function chartAlong(place: number): void {
  along.value = place;
  chart();
}

/** Counts the chart anew where another symbol has moved, in slices. */
function chart(): void {
  const now = valuesNow();
  if (now === null) return;
  const place = along.peek();
  const symbol = now.symbols[place];
  const { at } = now;
  const key = at.map((value, other) => (other === place ? "along" : String(value))).join();
  if (symbol === undefined || key === charted) return;
  charted = key;
  const onLine = now.points.filter((point) => isOnLine(point.at, at, place));
  if (file === null) {
    // Too large to be counted while somebody waits: what is known.
    counted.value = { place, at, points: ordered(onLine, place) };
    if (now.buffers <= MOST_HERE) charted = "";
    return;
  }
  const known = new Set(onLine.map((point) => point.at[place]));
  const open = spread(symbol, now.buffers > 500 ? 25 : 65).filter((value) => !known.has(value));
  const from = file;
  const points = [...onLine];
  const work = (): void => {
    if (charted !== key) return;
    const until = performance.now() + SLICE;
    try {
      while (open.length > 0 && performance.now() < until) {
        points.push(pointAt(from, at.map((value, other) => (other === place ? open.shift() as bigint : value))));
      }
    } catch (error) {
      open.length = 0;
      failure.value = reasonOf(error);
    }
    if (open.length > 0) setTimeout(work);
    else counted.value = { place, at, points: ordered(points, place) };
  };
  work();
}

/** Whether both are the same but for the symbol along which the chart is. */
export function isOnLine(one: readonly bigint[], at: readonly bigint[], place: number): boolean {
  return one.every((value, other) => other === place || value === at[other]);
}

function ordered(points: PointShown[], place: number): PointShown[] {
  return [...points].sort((one, other) => ((one.at[place] as bigint) < (other.at[place] as bigint) ? -1 : 1));
}
