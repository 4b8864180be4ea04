/** Offsets for given sizes: constant ones, or those that follow from an order. */
import { count } from "../draw/format.ts";
import { LIMIT } from "./formula.ts";
import { type Frame, lcm, modulo, most, type Unit } from "./units.ts";

export interface Placed {
  offsets: bigint[];
  /** By buffer. */
  pools: number[];
  /** By pool. */
  peaks: bigint[];
}

/** Places all buffers, whatever their sizes; a text says why they do not fit. */
export type Placer = (sizes: readonly bigint[]) => Placed | string;

/** Each unit at the least offset that is aligned and above what is below it. */
export function stackedBy(frame: Frame, units: Unit[]): Placer {
  const pools = new Array<number>(frame.names.length).fill(0);
  for (const unit of units) for (const member of unit.members) pools[member.buffer] = unit.pool;
  return (sizes) => {
    const offsets = new Array<bigint>(sizes.length).fill(0n);
    for (const unit of units) {
      let begin = unit.floor;
      for (const member of unit.members) {
        for (const other of member.above) begin = most(begin, (offsets[other] as bigint) + (sizes[other] as bigint) - member.distance);
      }
      if (unit.pin === null) begin += modulo(unit.residue - begin, unit.modulus);
      else if (begin > unit.pin) return `${frame.names[unit.members[0]?.buffer ?? 0]}, or a buffer at a fixed distance, is pinned below the end of another`;
      else begin = unit.pin;
      for (const member of unit.members) offsets[member.buffer] = begin + member.distance;
    }
    return measured(frame, { offsets, pools, peaks: [] }, sizes);
  };
}

export function fixedAt(frame: Frame, offsets: bigint[], pools: number[]): Placer {
  return (sizes) => measured(frame, { offsets: [...offsets], pools, peaks: [] }, sizes);
}

/** Counts the peaks. Buffers without bytes count nowhere: one behind the end of its pool is moved to the bottom, as
 * `memstow evaluate` does. */
function measured(frame: Frame, placed: Placed, sizes: readonly bigint[]): Placed | string {
  const { offsets, pools } = placed;
  placed.peaks = frame.pools.map(() => 0n);
  for (let buffer = 0; buffer < sizes.length; buffer++) {
    const place = pools[buffer] as number;
    const top = (offsets[buffer] as bigint) + (sizes[buffer] as bigint);
    if (top > LIMIT) return "An offset is above 2^62";
    const pool = frame.pools[place];
    if (pool !== undefined && sizes[buffer] === 0n && top > pool.capacity) offsets[buffer] = modulo(-pool.base, lcm(frame.alignments[buffer] as bigint, pool.alignment));
    if ((sizes[buffer] as bigint) > 0n) placed.peaks[place] = most(placed.peaks[place] as bigint, top);
  }
  for (const [place, pool] of frame.pools.entries()) {
    const peak = placed.peaks[place] as bigint;
    if (peak > pool.capacity) return `Pool ${pool.id} ends at ${count(pool.capacity)}, and ${count(peak)} bytes of it are needed`;
    if (pool.reserved.some(([begin, end]) => peak > begin && offsets.some((offset, buffer) => (
      pools[buffer] === place && (sizes[buffer] as bigint) > 0n && offset < end && begin < offset + (sizes[buffer] as bigint)
    )))) return `A buffer is on what is reserved of pool ${pool.id}`;
  }
  return placed;
}
