/** The axis: every time at which something changes, in order. Lifetimes refer to it by rank, so that times of
 * thousands of digits cost no more than others. */
import type { Column } from "./columns.ts";
import { ALWAYS, TIMED, TIMELESS } from "./problem.ts";

export interface Axis {
  /** `buffers`: nothing has a lifetime, and the buffers are drawn side by side. */
  kind: "time" | "buffers" | "always";
  /** Each time, ascending. Exact; a rank is an index into it. */
  times: Float64Array | bigint[];
}

export interface Ranked {
  axis: Axis;
  begin: Int32Array;
  end: Int32Array;
}

export function rankTimes(begins: Column, ends: Column, kinds: Int32Array): Ranked {
  const times = begins.isWide || ends.isWide ? distinctBigints(begins, ends, kinds) : distinct(begins, ends, kinds);
  const begin = ranks(begins, times, kinds);
  const end = ranks(ends, times, kinds);
  if (times.length > 0) {
    stretch(begin, end, kinds, times.length - 1);
    return { axis: { kind: "time", times }, begin, end };
  }
  return withoutTimes(begin, end, kinds);
}

/** The last step that has begun at this time; -1 before the first. */
export function stepAt(times: Float64Array | bigint[], time: number | bigint): number {
  const value = typeof times[0] === "bigint" ? BigInt(time) : Number(time);
  const rank = lowest(times, value);
  return times[rank] === value ? rank : rank - 1;
}

function distinct(begins: Column, ends: Column, kinds: Int32Array): Float64Array {
  const all = new Float64Array(2 * kinds.length);
  const from = begins.numbers();
  const to = ends.numbers();
  let count = 0;
  for (let span = 0; span < kinds.length; span++) {
    if (kinds[span] !== TIMED) continue;
    all[count++] = from[span] as number;
    all[count++] = to[span] as number;
  }
  const sorted = all.subarray(0, count).sort();
  let kept = 0;
  for (let index = 0; index < count; index++) {
    if (index === 0 || sorted[index] !== sorted[index - 1]) sorted[kept++] = sorted[index] as number;
  }
  return sorted.slice(0, kept);
}

function distinctBigints(begins: Column, ends: Column, kinds: Int32Array): bigint[] {
  const from = begins.bigints();
  const to = ends.bigints();
  const all = new Set<bigint>();
  for (let span = 0; span < kinds.length; span++) {
    if (kinds[span] !== TIMED) continue;
    all.add(from[span] as bigint);
    all.add(to[span] as bigint);
  }
  return [...all].sort((one, other) => (one < other ? -1 : one > other ? 1 : 0));
}

function ranks(column: Column, times: Float64Array | bigint[], kinds: Int32Array): Int32Array {
  const steps = new Int32Array(kinds.length);
  const values = Array.isArray(times) ? column.bigints() : column.numbers();
  for (let span = 0; span < steps.length; span++) {
    if (kinds[span] === TIMED) steps[span] = lowest(times, values[span] as number);
  }
  return steps;
}

/** The first rank whose time is not below this one. */
function lowest(times: Float64Array | bigint[], time: number | bigint): number {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function stretch(begin: Int32Array, end: Int32Array, kinds: Int32Array, last: number): void {
  for (let span = 0; span < kinds.length; span++) {
    if (kinds[span] !== TIMED) {
      begin[span] = 0;
      end[span] = last;
    }
  }
}

function withoutTimes(begin: Int32Array, end: Int32Array, kinds: Int32Array): Ranked {
  const slots = kinds.reduce((count, kind) => count + (kind === TIMELESS ? 1 : 0), 0);
  const last = Math.max(1, slots);
  let slot = 0;
  for (let span = 0; span < kinds.length; span++) {
    const aside = kinds[span] !== ALWAYS;
    begin[span] = aside ? slot++ : 0;
    end[span] = aside ? slot : last;
  }
  const times = Float64Array.from({ length: last + 1 }, (_, index) => index);
  return { axis: { kind: slots ? "buffers" : "always", times }, begin, end };
}
