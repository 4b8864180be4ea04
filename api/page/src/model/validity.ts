/** Whether a plan keeps every rule of its problem, checked from the two alone. */
import { bytes } from "../draw/format.ts";
import { type Amount } from "./columns.ts";
import { OrderedSet } from "./ordered_set.ts";
import { allowedPools, inTime, liveTogether, named, overlapping, rigidGroups, top } from "./buffers.ts";
import type { Pair, Scene } from "./scene.ts";
import { compare, sharers } from "./steps.ts";

export interface Validity {
  /** What is wrong, in words; the first few. */
  faults: string[];
  /** What was not checked, because it would take too long. */
  unchecked: string[];
}

const MOST_FAULTS = 20;
/** Comparisons of buffers that may share bytes. */
const MOST_COMPARED = 30_000_000;

export function checkPlan(scene: Scene): Validity {
  const found: Validity = { faults: [], unchecked: [] };
  const unplaced = scene.pool.findIndex((pool) => pool < 0);
  if (unplaced >= 0) found.faults.push(`${named(scene, unplaced)} has no place`);
  for (let buffer = 0; buffer < scene.pool.length; buffer++) {
    if (found.faults.length >= MOST_FAULTS) return found;
    if ((scene.pool[buffer] as number) >= 0) checkPlace(scene, buffer, found.faults);
  }
  const sharing = sharers(scene);
  scene.pools.forEach((_, pool) => sweep(scene, pool, sharing, found.faults));
  compareSharers(scene, sharing, found);
  checkPairs(scene, found.faults);
  found.faults.length = Math.min(found.faults.length, MOST_FAULTS);
  return found;
}

function checkPlace(scene: Scene, buffer: number, faults: string[]): void {
  const place = scene.pool[buffer] as number;
  const pool = scene.pools[place];
  if (pool === undefined) return;
  const offset = scene.offsets[buffer] as Amount;
  const size = scene.sizes[buffer] as Amount;
  const say = (text: string): unknown => faults.push(`${named(scene, buffer)} ${text}`);
  if (![...allowedPools(scene, buffer)].includes(place)) say(`may not be in ${pool.id}`);
  const pinned = scene.pins.get(buffer)?.offset ?? null;
  if (pinned !== null && offset !== pinned) say(`is pinned to ${pinned}, and is at ${offset}`);
  if (pool.capacity !== null && offset + size > pool.capacity) say(`ends above the capacity of ${pool.id}`);
  for (const step of [scene.alignments?.[buffer] ?? 1, pool.alignment]) {
    if (step > 1 && (BigInt(pool.base) + BigInt(offset)) % BigInt(step) !== 0n) say(`is not aligned to ${bytes(Number(step))}`);
  }
  for (const range of pool.reserved) {
    if (size > 0 && offset < range.offset + range.size && range.offset < offset + size) say(`uses reserved bytes of ${pool.id}`);
  }
}

/** Buffers that share with none: while all are apart, a new one can only overlap the nearest below and above. */
function sweep(scene: Scene, pool: number, sharing: Set<number>, faults: string[]): void {
  const spans: number[] = [];
  for (let span = 0; span < scene.owner.length; span++) {
    const buffer = scene.owner[span] as number;
    if (scene.pool[buffer] === pool && (scene.sizes[buffer] as Amount) > 0 && !sharing.has(buffer) && inTime(scene, span)) {
      spans.push(span);
    }
  }
  const byOffset = Int32Array.from(spans).sort((one, other) => (
    compare(scene.offsets[scene.owner[one] as number] as Amount, scene.offsets[scene.owner[other] as number] as Amount)
  ));
  const place = new Int32Array(scene.owner.length);
  byOffset.forEach((span, at) => (place[span] = at));
  const live = new OrderedSet(byOffset.length);
  const starts = ordered(spans, scene.begin);
  const ends = ordered(spans, scene.end);
  let ended = 0;
  const overlap = (below: number, above: number): boolean => (
    below >= 0 && above >= 0
    && top(scene, scene.owner[byOffset[below] as number] as number) > (scene.offsets[scene.owner[byOffset[above] as number] as number] as Amount)
  );
  for (const span of starts) {
    while (ended < ends.length && (scene.end[ends[ended] as number] as number) <= (scene.begin[span] as number)) {
      live.remove(place[ends[ended++] as number] as number);
    }
    const at = place[span] as number;
    for (const other of [live.before(at), live.after(at)]) {
      if (other >= 0 && overlap(Math.min(at, other), Math.max(at, other))) {
        faults.push(clash(scene, scene.owner[span] as number, scene.owner[byOffset[other] as number] as number));
        if (faults.length >= MOST_FAULTS) return;
      }
    }
    live.add(at);
  }
}

/** Sorted by counting, since ranks are small: a million spans would take a second by comparison. */
function ordered(spans: number[], by: Int32Array): Int32Array {
  let most = 0;
  for (const span of spans) most = Math.max(most, by[span] as number);
  const starts = new Int32Array(most + 2);
  for (const span of spans) starts[(by[span] as number) + 1] = (starts[(by[span] as number) + 1] as number) + 1;
  for (let rank = 0; rank <= most; rank++) starts[rank + 1] = (starts[rank + 1] as number) + (starts[rank] as number);
  const found = new Int32Array(spans.length);
  for (const span of spans) {
    const at = starts[by[span] as number] as number;
    starts[by[span] as number] = at + 1;
    found[at] = span;
  }
  return found;
}

function compareSharers(scene: Scene, sharing: Set<number>, found: Validity): void {
  if (sharing.size * scene.sizes.length > MOST_COMPARED) {
    found.unchecked.push("whether buffers that may share bytes overlap others");
    return;
  }
  const may = freePairs(scene);
  for (const one of sharing) {
    for (let other = 0; other < scene.sizes.length; other++) {
      if (other === one || (sharing.has(other) && other < one)) continue;
      if (!overlapping(scene, one, other) || !liveTogether(scene, one, other)) continue;
      if (may(one, other)) continue;
      found.faults.push(clash(scene, one, other));
      if (found.faults.length >= MOST_FAULTS) return;
    }
  }
}

/** Whether two buffers that overlap may do so: exclusive, of one rigid group, or in place at one offset. */
function freePairs(scene: Scene): (one: number, other: number) => boolean {
  const keys = (pairs: Pair[]): Set<string> => new Set(pairs.flatMap((pair) => [key(pair.first, pair.second), key(pair.second, pair.first)]));
  const exclusive = keys(scene.exclusive);
  const inPlace = keys(scene.inPlace);
  const listed = keys(scene.conflicts);
  const groups = rigidGroups(scene);
  return (one, other) => {
    const both = key(one, other);
    if (groups.has(one) && groups.get(one)?.root === groups.get(other)?.root) return true;
    if (inPlace.has(both) && scene.offsets[one] === scene.offsets[other]) return true;
    return exclusive.has(both) && !listed.has(both);
  };
}

function checkPairs(scene: Scene, faults: string[]): void {
  const may = freePairs(scene);
  for (const pair of scene.conflicts) {
    if (overlapping(scene, pair.first, pair.second) && !may(pair.first, pair.second)) faults.push(clash(scene, pair.first, pair.second));
  }
  for (const pair of scene.relative) {
    // A buffer without bytes is only held to its distance from one of its own group; see docs/problem.md.
    if (!((scene.sizes[pair.first] as Amount) > 0) || !((scene.sizes[pair.second] as Amount) > 0)) continue;
    const apart = (scene.offsets[pair.second] as Amount) - (scene.offsets[pair.first] as Amount);
    if (scene.pool[pair.first] !== scene.pool[pair.second] || apart !== pair.value) {
      faults.push(`${named(scene, pair.second)} is not where ${named(scene, pair.first)} needs it`);
    }
  }
}

function key(one: number, other: number): string {
  return `${one} ${other}`;
}

function clash(scene: Scene, one: number, other: number): string {
  const [first, second] = one < other ? [one, other] : [other, one];
  return `${named(scene, first)} and ${named(scene, second)} are in use together and overlap`;
}
