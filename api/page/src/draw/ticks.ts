/** Round marks on the axes. */
import { bytes, count, time } from "./format.ts";

export interface Tick {
  at: number;
  text: string;
}

/** Round addresses: multiples of 1, 2 or 4 times a power of 4 or so, in binary units. */
export function addressTicks(from: number, to: number, most: number): Tick[] {
  const range = to - from;
  if (!(range > 0)) return [];
  let step = 1;
  while (range / step > most) step *= 2;
  const ticks: Tick[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to && ticks.length < 100; at += step) {
    // Deep in a large pool round units would all look alike.
    const text = at !== 0 && step < at / 4096 ? count(at) : bytes(at);
    ticks.push({ at, text });
  }
  return ticks;
}

/** Round times: 1, 2 or 5 times a power of ten. Positions are counted from the first time of the axis. */
export function timeTicks(times: Float64Array, from: number, to: number, most: number): Tick[] {
  const origin = times[0] ?? 0;
  const range = to - from;
  if (!(range > 0)) return [];
  const rough = range / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].map((part) => part * power).find((part) => part >= rough) ?? rough);
  const ticks: Tick[] = [];
  for (let at = Math.ceil((from + origin) / step) * step; at <= to + origin && ticks.length < 100; at += step) {
    ticks.push({ at: at - origin, text: time(Math.round(at)) });
  }
  return ticks;
}

/** Marks at changes: each says the time of its rank. */
export function changeTicks(times: Float64Array | bigint[], from: number, to: number, most: number): Tick[] {
  const step = Math.max(1, Math.ceil((to - from) / most));
  const ticks: Tick[] = [];
  for (let rank = Math.max(0, Math.ceil(from / step) * step); rank <= to && rank < times.length; rank += step) {
    ticks.push({ at: rank, text: time(times[rank] as number) });
  }
  return ticks;
}
