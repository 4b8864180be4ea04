/** Two plans of one problem: which buffers moved, and how far. */
import { type Amount, type Amounts, zeros } from "./columns.ts";
import type { Scene } from "./scene.ts";
import type { Moves, Shown } from "./shown.ts";
import { compare } from "./steps.ts";

/** Where a buffer is in the second plan, seen from the first. */
export const SAME = 0, HIGHER = 1, LOWER = 2, ELSEWHERE = 3;

/** Buffers without bytes are nowhere, so they do not move. */
export function movesOf(first: Scene, second: Scene): Moves {
  const count = first.sizes.length;
  const kind = new Uint8Array(count);
  const by = zeros(count, first.zero);
  const moved: number[] = [];
  let bytes = first.zero;
  for (let buffer = 0; buffer < count; buffer++) {
    const size = first.sizes[buffer] as Amount;
    if (!(size > 0)) continue;
    const apart = (second.offsets[buffer] as Amount) - (first.offsets[buffer] as Amount);
    if (first.pool[buffer] !== second.pool[buffer]) kind[buffer] = ELSEWHERE;
    else if (apart > 0 || apart < 0) {
      kind[buffer] = apart > 0 ? HIGHER : LOWER;
      by[buffer] = apart;
    } else continue;
    bytes += size;
    moved.push(buffer);
  }
  return { kind, by, order: furthest(first, kind, by, moved), bytes };
}

function furthest(scene: Scene, kind: Uint8Array, by: Amounts, moved: number[]): Int32Array {
  const far = (buffer: number): Amount => distance(by[buffer] as Amount, scene.zero);
  return Int32Array.from(moved).sort((one, other) => (
    Number(kind[other] === ELSEWHERE) - Number(kind[one] === ELSEWHERE)
    || compare(far(other), far(one))
    || compare(scene.sizes[other] as Amount, scene.sizes[one] as Amount)
    || one - other
  ));
}

/** Without its sign. */
export function distance(by: Amount, zero: Amount): Amount {
  return by < zero ? zero - by : by;
}

/** Puts the second plan beside the first: both on one scale, and each with every bound that is proven, since those are about
 * the problem. */
export function beside(first: Shown, second: Shown): Shown {
  const rooms = first.pools.map((pool, place) => Math.max(pool.room, second.pools[place]?.room ?? 0));
  const livest = first.pools.map((pool, place) => Math.max(pool.livest, second.pools[place]?.livest ?? 0));
  const scaled = (shown: Shown, other: Shown): Shown => ({
    ...shown,
    second: null,
    pools: shown.pools.map((pool, place) => {
      const known = other.pools[place]?.bound ?? null;
      const better = known !== null && known.proven && (pool.bound === null || known.value > pool.bound.value
        || (known.value === pool.bound.value && !pool.bound.proven));
      return { ...pool, room: rooms[place] as number, livest: livest[place] as number, bound: better ? known : pool.bound };
    }),
  });
  const other = scaled(second, first);
  return { ...scaled(first, second), second: { shown: other, moves: movesOf(first.scene, second.scene) } };
}

/** The same two plans, the other first. */
export function swapped(shown: Shown): Shown {
  return shown.second === null ? shown : beside(shown.second.shown, shown);
}
