/** The fewest buffers that must change for a pool to do with fewer bytes: found by `memstow`, which a file or the service
 * brings along, and read here. Not counted twice: `planner/explain/shortfall.py` is where it is found. */
import { type Amount, amount } from "./columns.ts";
import type { Whole } from "./json.ts";

export interface Change {
  buffer: string;
  size: Whole;
  /** By so many bytes; its size: it must not be there at all. */
  shrink: Whole;
  /** Or it is not there then; null: that is all of its life. */
  away: { begin: Whole; end: Whole; lives_before: boolean; lives_after: boolean } | null;
  /** Or it is in one of these. */
  pools: string[];
  /** Or one of these changes. */
  instead: string[];
}

export interface Shortfall {
  pool: string;
  wanted: Whole;
  /** Of the buffers that change, all of which may not be listed; 0: live bytes do not forbid it. */
  count: number;
  /** No fewer will do. */
  least: number;
  changes: Change[];
}

/** What the file says of a pool with so many bytes; null: nothing. */
export function shortfallOf(all: readonly Shortfall[], pool: string | undefined, wanted: Amount): Shortfall | null {
  return all.find((one) => one.pool === pool && amount(one.wanted, typeof wanted === "bigint") === wanted) ?? null;
}
