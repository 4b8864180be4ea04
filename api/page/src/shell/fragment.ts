/** What is seen is in the address, after the `#`: a link restores it. */
import { effect } from "@preact/signals";
import { nameAt, nameCount } from "../model/names.ts";
import { named } from "../model/buffers.ts";
import type { Colouring } from "../draw/shades.ts";
import { parts as others } from "./parts.ts";
import * as state from "./state.ts";

const COLOURINGS: readonly string[] = ["moved", "lifetime", "size", "group", "peak"];
const WAIT = 150;

export function writeFragments(): void {
  let timer: number | undefined;
  effect(() => {
    const text = fragment();
    const before = location.hash;
    clearTimeout(timer);
    timer = setTimeout(() => {
      // Somebody went to another address: that is followed, and must not be written over until it is.
      if (location.hash !== before) return;
      if (state.shown.peek() !== null || state.stage.peek().kind === "front") history.replaceState(null, "", text === "" ? location.pathname + location.search : `#${text}`);
    }, WAIT);
  });
}

/** The state as text; what is as it was at first is left out. */
function fragment(): string {
  const now = state.shown.value;
  const parts = new URLSearchParams();
  // `at` is chosen on the chart, the plan of `point` is open; counted from 1, as they are shown.
  if (state.front.value !== null && state.point.value >= 0) parts.set(now === null ? "at" : "point", String(state.point.value + 1));
  if (now !== null && state.colouring.value !== state.firstColouring(now)) parts.set("colour", state.colouring.value);
  if (state.byChange.value) parts.set("time", "change");
  if (state.proofOnly.value) parts.set("show", "proof");
  if (state.moment.value !== null) parts.set("moment", String(state.moment.value));
  if (state.less.value !== null) parts.set("less", String(state.less.value));
  if (state.across.value !== null) parts.set("across", state.across.value.join("_"));
  for (const [pool, range] of state.upward.value) parts.set(`up${pool}`, range.join("_"));
  if (now !== null && state.chosen.value >= 0) parts.set("buffer", named(now.scene, state.chosen.value));
  const operator = now?.scene.program?.operators[state.operator.value];
  if (operator !== undefined) parts.set("operator", operator.id);
  if (state.loopStep.value > 0) parts.set("step", String(state.loopStep.value + 1));
  others.link(parts);
  return parts.toString();
}

/** The point of a front that is named, from 0. */
export function readPoint(text: string): { at: number | null; point: number | null } {
  const parts = new URLSearchParams(text.replace(/^#/, ""));
  const place = (name: string): number | null => {
    const point = whole(parts.get(name), 1_000_000);
    return point === null || point < 1 ? null : point - 1;
  };
  return { at: place("at"), point: place("point") };
}

export function readFragment(text: string): void {
  const parts = new URLSearchParams(text.replace(/^#/, ""));
  const now = state.shown.peek();
  const colour = parts.get("colour");
  if (colour !== null && COLOURINGS.includes(colour)) state.colouring.value = colour as Colouring;
  else if (now !== null) state.colouring.value = state.firstColouring(now);
  state.byChange.value = parts.get("time") === "change";
  state.proofOnly.value = parts.get("show") === "proof";
  state.operator.value = now?.scene.program?.operators.findIndex((one) => one.id === parts.get("operator")) ?? -1;
  state.loopStep.value = Math.max(0, (whole(parts.get("step"), 1_000_000) ?? 1) - 1);
  state.moment.value = whole(parts.get("moment"), (now?.scene.axis.times.length ?? 1) - 2);
  state.less.value = whole(parts.get("less"), 2 ** 62);
  state.across.value = range(parts.get("across"));
  state.upward.value = new Map((now?.pools ?? []).flatMap((_, pool) => {
    const seen = range(parts.get(`up${pool}`));
    return seen === null ? [] : [[pool, seen] as const];
  }));
  const buffer = parts.get("buffer");
  if (now !== null) state.chosen.value = buffer === null ? -1 : find(buffer);
}

function find(name: string): number {
  const names = state.shown.peek()?.scene.names;
  if (names === undefined) return -1;
  for (let index = 0; index < nameCount(names); index++) if (nameAt(names, index) === name) return index;
  return -1;
}

function whole(text: string | null, most: number): number | null {
  return text !== null && /^\d+$/.test(text) && Number(text) <= most ? Number(text) : null;
}

function range(text: string | null): readonly [number, number] | null {
  const [from, to] = (text ?? "").split("_").map(Number);
  return from !== undefined && to !== undefined && Number.isFinite(from) && Number.isFinite(to) && from < to ? [from, to] : null;
}
