/** What a pool holds in each step of time: live bytes, each byte counted once, and the height of what is placed. */
import { type Amount, type Amounts, zeros } from "./columns.ts";
import { top } from "./buffers.ts";
import type { Scene } from "./scene.ts";

/** More than that is not counted where buffers may share bytes. */
export const MOST_WORK = 20_000_000;

export interface Profile {
  /** Bytes live in the step from rank i to rank i + 1. */
  live: Amounts;
  most: Amount;
  /** The first step with the most. */
  moment: number;
  /** Whether bytes that buffers share are counted once, as they should be. */
  exact: boolean;
}

/** Live bytes of the chosen buffers. */
export function profileOf(scene: Scene, chosen: (buffer: number) => boolean, spans?: Int32Array): Profile {
  const steps = Math.max(1, scene.axis.times.length - 1);
  const live = zeros(steps + 1, scene.zero);
  const sharing = sharers(scene);
  const count = spans?.length ?? scene.begin.length;
  for (let place = 0; place < count; place++) {
    const span = spans === undefined ? place : (spans[place] as number);
    const buffer = scene.owner[span] as number;
    if (!chosen(buffer) || sharing.has(buffer)) continue;
    const size = scene.sizes[buffer] as Amount;
    live[scene.begin[span] as number] = (live[scene.begin[span] as number] as Amount) + size;
    live[scene.end[span] as number] = (live[scene.end[span] as number] as Amount) - size;
  }
  let running = scene.zero;
  for (let step = 0; step <= steps; step++) live[step] = running += live[step] as Amount;
  const exact = addShared(scene, [...sharing].filter(chosen), live);
  return { live, exact, ...mostOf(live, steps, scene.zero) };
}

export function mostOf(live: Amounts, steps: number, zero: Amount): { most: Amount; moment: number } {
  let most = zero;
  let moment = 0;
  for (let step = 0; step < steps; step++) {
    if ((live[step] as Amount) > most) {
      most = live[step] as Amount;
      moment = step;
    }
  }
  return { most, moment };
}

/** Buffers that may share bytes with others that are live: in place, exclusive, or of one rigid group. */
export function sharers(scene: Scene): Set<number> {
  const buffers = new Set<number>();
  for (const pair of [...scene.relative, ...scene.inPlace, ...scene.exclusive]) {
    buffers.add(pair.first);
    buffers.add(pair.second);
  }
  return buffers;
}

/** Adds what these cover together in each step; their places say which bytes are shared. */
function addShared(scene: Scene, buffers: number[], live: Amounts): boolean {
  const byStep = new Map<number, number[]>();
  let work = 0;
  for (const buffer of buffers) {
    if ((scene.pool[buffer] as number) < 0) continue;
    for (let span = scene.firstSpan[buffer] as number; span < (scene.firstSpan[buffer + 1] as number); span++) {
      work += (scene.end[span] as number) - (scene.begin[span] as number);
      if (work > MOST_WORK) return false;
      for (let step = scene.begin[span] as number; step < (scene.end[span] as number); step++) {
        const there = byStep.get(step);
        if (there === undefined) byStep.set(step, [buffer]);
        else there.push(buffer);
      }
    }
  }
  for (const [step, there] of byStep) live[step] = (live[step] as Amount) + covered(scene, there);
  return true;
}

/** Bytes that buffers of one pool cover together. */
export function covered(scene: Scene, buffers: number[]): Amount {
  const ordered = [...buffers].sort((one, other) => compare(scene.offsets[one] as Amount, scene.offsets[other] as Amount));
  let sum = scene.zero;
  let end = scene.zero;
  for (const buffer of ordered) {
    const offset = scene.offsets[buffer] as Amount;
    const above = top(scene, buffer);
    if (above > end) {
      sum += above - (offset > end ? offset : end);
      end = above;
    }
  }
  return sum;
}

/** The first address above everything in each step, of these spans. */
export function skylineOf(scene: Scene, spans: Int32Array): Float64Array {
  const steps = Math.max(1, scene.axis.times.length - 1);
  const heights = new Float64Array(steps);
  const tops = Float64Array.from(spans, (span) => Number(top(scene, scene.owner[span] as number)));
  const order = Uint32Array.from(spans, (_, place) => place).sort((one, other) => (tops[other] as number) - (tops[one] as number));
  // The highest first; steps that are set are passed over, each knowing where the next one may be.
  const next = Int32Array.from({ length: steps + 1 }, (_, step) => step);
  const find = (from: number): number => {
    let step = from;
    while (next[step] !== step) {
      next[step] = next[next[step] as number] as number;
      step = next[step] as number;
    }
    return step;
  };
  for (const place of order) {
    const span = spans[place] as number;
    const last = scene.end[span] as number;
    for (let step = find(scene.begin[span] as number); step < last; step = find(step)) {
      heights[step] = tops[place] as number;
      next[step] = step + 1;
    }
  }
  return heights;
}

export function compare<Value extends Amount | bigint | string>(one: Value, other: Value): number {
  return one < other ? -1 : one > other ? 1 : 0;
}
