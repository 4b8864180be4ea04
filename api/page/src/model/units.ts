/** Units of an order: buffers at fixed distances from each other, and where such a unit may begin. docs/shapes.md says
 * what an order means; the solver, the judge and the C that is generated keep to the same. */
import { floored } from "./formula.ts";
import { ReadError } from "./json.ts";

/** Bytes that are reserved, from the first to the one after the last. */
export type Range = readonly [bigint, bigint];

/** What does not change from value to value, by index of buffer and pool. */
export interface Frame {
  names: string[];
  pools: { id: string; base: bigint; alignment: bigint; capacity: bigint; floor: bigint; reserved: Range[] }[];
  alignments: bigint[];
  pins: (bigint | null)[];
  relative: { first: number; second: number; value: bigint }[];
  inPlace: Set<string>;
}

export interface Ordered {
  pool: number;
  above: number[];
  /** -1: none. */
  shares: number;
  /** Whether it has no bytes at any value, and so is at no distance from others. */
  empty: boolean;
}

export interface Unit {
  pool: number;
  members: { buffer: number; distance: bigint; above: number[] }[];
  floor: bigint;
  /** The offsets of the first member at which all are aligned. */
  modulus: bigint;
  residue: bigint;
  pin: bigint | null;
}

export function pairKey(one: number, other: number): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

/** The units of an order, each after those below it. */
export function unitsOf(frame: Frame, placed: Ordered[]): Unit[] {
  const units: Unit[] = [];
  const unitOf = new Int32Array(placed.length).fill(-1);
  const distances = distancesOf(frame, placed);
  const members = new Map<number, number[]>();
  distances.forEach(({ root }, buffer) => {
    // What has no bytes is a unit alone. Others keep the distances that they have through it.
    const key = placed[buffer]?.empty === true ? -1 - buffer : root;
    const those = members.get(key);
    if (those === undefined) members.set(key, [buffer]);
    else those.push(buffer);
  });
  for (const those of members.values()) {
    for (const buffer of those) unitOf[buffer] = units.length;
    const origin = (distances[those[0] as number] as Distance).distance;
    units.push(unitFrom(frame, placed, those, those.map((buffer) => (distances[buffer] as Distance).distance - origin)));
  }
  return sorted(frame, units, unitOf);
}

interface Distance {
  root: number;
  distance: bigint;
}

/** By buffer the first one of its unit, and how far it is from that. */
function distancesOf(frame: Frame, placed: Ordered[]): Distance[] {
  const near = new Map<number, { other: number; by: bigint }[]>();
  const join = (one: number, other: number, by: bigint): void => {
    for (const [from, to, apart] of [[one, other, by], [other, one, -by]] as const) {
      const those = near.get(from);
      if (those === undefined) near.set(from, [{ other: to, by: apart }]);
      else those.push({ other: to, by: apart });
    }
  };
  for (const pair of frame.relative) join(pair.first, pair.second, pair.value);
  placed.forEach(({ shares }, buffer) => {
    if (shares < 0) return;
    if (!frame.inPlace.has(pairKey(buffer, shares))) throw new ReadError(`${frame.names[buffer]} and ${frame.names[shares]} are no pair in place`);
    join(shares, buffer, 0n);
  });
  const distances = new Array<Distance | undefined>(placed.length);
  for (let root = 0; root < placed.length; root++) {
    if (distances[root] !== undefined) continue;
    distances[root] = { root, distance: 0n };
    const open = [root];
    for (let from = open.pop(); from !== undefined; from = open.pop()) {
      const at = (distances[from] as Distance).distance;
      for (const { other, by } of near.get(from) ?? []) {
        const known = distances[other];
        if (known === undefined) {
          distances[other] = { root, distance: at + by };
          open.push(other);
        } else if (known.distance !== at + by) throw new ReadError(`${frame.names[other]} has two distances from ${frame.names[from]}`);
      }
    }
  }
  return distances as Distance[];
}

function unitFrom(frame: Frame, placed: Ordered[], buffers: number[], distances: bigint[]): Unit {
  const first = buffers[0] as number;
  const pool = (placed[first] as Ordered).pool;
  const room = frame.pools[pool];
  if (room === undefined) throw new ReadError(`${frame.names[first]} has no place`);
  const unit: Unit = { pool, members: [], floor: 0n, modulus: 1n, residue: 0n, pin: null };
  buffers.forEach((buffer, at) => {
    const distance = distances[at] as bigint;
    const { above } = placed[buffer] as Ordered;
    for (const other of [buffer, ...above]) {
      if (frame.pools[placed[other]?.pool ?? -1] === undefined) throw new ReadError(`${frame.names[other]} has no place`);
      if (placed[other]?.pool !== pool) throw new ReadError(`${frame.names[first]} and ${frame.names[other]} are not in the same pool`);
    }
    unit.members.push({ buffer, distance, above });
    unit.floor = most(unit.floor, room.floor - distance);
    meet(unit, lcm(frame.alignments[buffer] as bigint, room.alignment), -(distance + room.base), frame.names[first] ?? "");
    const pin = frame.pins[buffer] ?? null;
    if (pin !== null) {
      if (unit.pin !== null && unit.pin !== pin - distance) throw new ReadError(`${frame.names[buffer]} is not at its distance from another that is pinned`);
      unit.pin = pin - distance;
    }
  });
  return unit;
}

/** Keeps of the unit's offsets those that are also `residue` modulo `modulus`. */
function meet(unit: Unit, modulus: bigint, residue: bigint, name: string): void {
  const [common, factor] = euclid(unit.modulus, modulus);
  const apart = residue - unit.residue;
  if (apart % common !== 0n) throw new ReadError(`no offset aligns ${name} and those at fixed distances from it`);
  const times = modulo((apart / common) * factor, modulus / common);
  const both = (unit.modulus / common) * modulus;
  unit.residue = modulo(unit.residue + unit.modulus * times, both);
  unit.modulus = both;
}

/** Each after those below it. */
function sorted(frame: Frame, units: Unit[], unitOf: Int32Array): Unit[] {
  const over: Set<number>[] = units.map(() => new Set());
  const waits = new Int32Array(units.length);
  units.forEach((unit, number) => {
    for (const member of unit.members) {
      for (const other of member.above) {
        const below = over[unitOf[other] as number] as Set<number>;
        if (below.has(number)) continue;
        below.add(number);
        waits[number] = (waits[number] as number) + 1;
      }
    }
  });
  const free = units.flatMap((_, number) => (waits[number] === 0 ? [number] : []));
  for (let at = 0; at < free.length; at++) {
    for (const number of over[free[at] as number] as Set<number>) {
      waits[number] = (waits[number] as number) - 1;
      if (waits[number] === 0) free.push(number);
    }
  }
  if (free.length < units.length) {
    const stuck = units[waits.findIndex((count) => count > 0)]?.members[0]?.buffer ?? 0;
    throw new ReadError(`${frame.names[stuck]} is above buffers that are above each other in a circle`);
  }
  return free.map((number) => units[number] as Unit);
}

export function most(one: bigint, other: bigint): bigint {
  return one < other ? other : one;
}

export function modulo(value: bigint, by: bigint): bigint {
  return value - floored(value, by) * by;
}

export function lcm(one: bigint, other: bigint): bigint {
  return (one / euclid(one, other)[0]) * other;
}

/** The greatest common divisor, and a factor that makes it of the first, modulo the second. */
function euclid(one: bigint, other: bigint): [bigint, bigint] {
  let [a, b, x, y] = [one, other, 1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b, x, y] = [b, a - quotient * b, y, x - quotient * y];
  }
  return [a, x];
}
