/** The spans of each pool, largest area first: what is too small to be seen at some zoom is then the end of a list. */
import type { Scene } from "./scene.ts";

/** Areas are told apart to a sixteenth of an octave. */
const FINE = 16;
const BUCKETS = 2200 * FINE;

export interface Ordered {
  spans: Int32Array;
  /** Of each of them, in bytes times units of the axis; descending to within a sixteenth of an octave. */
  areas: Float64Array;
}

/** Bytes-and-time areas of spans; `across` gives the position of each rank. */
export function byArea(scene: Scene, spans: Int32Array, across: Float64Array): Ordered {
  const area = new Float64Array(spans.length);
  const bucket = new Int32Array(spans.length);
  const counts = new Int32Array(BUCKETS + 1);
  for (let place = 0; place < spans.length; place++) {
    const span = spans[place] as number;
    const wide = (across[scene.end[span] as number] as number) - (across[scene.begin[span] as number] as number);
    area[place] = wide * Number(scene.sizes[scene.owner[span] as number]);
    // From large to small; logarithms of doubles are between -1074 and 1024.
    const at = Math.max(0, Math.min(BUCKETS - 1, Math.floor((1050 - Math.log2(area[place] as number)) * FINE)));
    bucket[place] = at;
    counts[at + 1] = (counts[at + 1] as number) + 1;
  }
  for (let at = 0; at < BUCKETS; at++) counts[at + 1] = (counts[at + 1] as number) + (counts[at] as number);
  const ordered = new Int32Array(spans.length);
  const sorted = new Float64Array(spans.length);
  for (let place = 0; place < spans.length; place++) {
    const at = bucket[place] as number;
    const to = counts[at] as number;
    counts[at] = to + 1;
    ordered[to] = spans[place] as number;
    sorted[to] = area[place] as number;
  }
  return { spans: ordered, areas: sorted };
}

/** How many come before the first whose area is below `least`, to within a sixteenth of an octave. */
export function countAbove(ordered: Ordered, least: number): number {
  let low = 0;
  let high = ordered.areas.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ordered.areas[middle] as number) >= least) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The position of each rank: its time, or its place in the order of changes. */
export function positions(times: Float64Array | bigint[], byChange: boolean): Float64Array {
  if (byChange) return Float64Array.from({ length: times.length }, (_, rank) => rank);
  if (!Array.isArray(times)) {
    const first = times[0] ?? 0;
    return times.map((time) => time - first);
  }
  const [first, last] = [times[0] ?? 0n, times[times.length - 1] ?? 1n];
  // Differences of huge times are scaled as integers before they become doubles.
  const range = last - first;
  const shift = range > 1n << 60n ? BigInt(range.toString(2).length - 60) : 0n;
  return Float64Array.from(times, (time) => Number((time - first) >> shift));
}
