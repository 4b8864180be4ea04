/** The banks of a pool, which of them a buffer touches, and the buffers that pay for a bank in common. */
import { allowedPools, named, top } from "./buffers.ts";
import type { Amount } from "./columns.ts";
import type { Whole } from "./json.ts";
import type { BankConflict } from "./problem.ts";
import type { Scene } from "./scene.ts";

export interface BankRun {
  offset: number;
  size: number;
  count: number;
  /** The number of its first bank: they are counted by address. */
  first: number;
}

/** Neighbours of equal size, by address. */
export function bankRuns(scene: Scene, place: number): BankRun[] {
  let first = 0;
  return (scene.pools[place]?.banks ?? [])
    .map((run) => ({ offset: Number(run.offset), size: Number(run.size), count: Number(run.count) }))
    .sort((one, other) => one.offset - other.offset)
    .map((run) => {
      const numbered = { ...run, first };
      first += run.count;
      return numbered;
    });
}

/** The first and the last bank that a buffer touches; null: none, or it has no place. */
export function touched(scene: Scene, runs: readonly BankRun[], buffer: number): [number, number] | null {
  if ((scene.pool[buffer] as number) < 0 || !((scene.sizes[buffer] as Amount) > 0)) return null;
  const [begin, end] = [Number(scene.offsets[buffer] as Amount), Number(top(scene, buffer))];
  let banks: [number, number] | null = null;
  for (const run of runs) {
    const from = Math.max(Math.floor((begin - run.offset) / run.size), 0);
    const until = Math.min(Math.ceil((end - run.offset) / run.size), run.count);
    if (from < until) banks = [banks?.[0] ?? run.first + from, run.first + until - 1];
  }
  return banks;
}

export interface Payer {
  buffer: number;
  cost: Whole;
}

/** Those that touch a bank that the buffer touches, where that costs something; most first. */
export function payers(scene: Scene, buffer: number): Payer[] {
  const place = scene.pool[buffer] as number;
  const runs = bankRuns(scene, place);
  const own = touched(scene, runs, buffer);
  if (own === null || scene.bankConflicts.length === 0) return [];
  const name = named(scene, buffer);
  const costs = new Map<string, bigint>();
  for (const { buffers, cost } of scene.bankConflicts as readonly BankConflict[]) {
    if (cost === null || !buffers.includes(name)) continue;
    for (const other of buffers) if (other !== name) costs.set(other, (costs.get(other) ?? 0n) + BigInt(cost));
  }
  const found: Payer[] = [];
  for (let other = 0; costs.size > 0 && other < scene.sizes.length; other++) {
    if (scene.pool[other] !== place) continue;
    const cost = costs.get(named(scene, other));
    const banks = cost === undefined ? null : touched(scene, runs, other);
    if (cost !== undefined && banks !== null && banks[0] <= own[1] && own[0] <= banks[1]) found.push({ buffer: other, cost });
  }
  return found.sort((one, other) => Number(BigInt(other.cost) - BigInt(one.cost)) || one.buffer - other.buffer);
}

/** What the problem says of the banks of a buffer; null: nothing. */
export function bankRuleText(scene: Scene, buffer: number): string | null {
  const rule = scene.bankRules.get(buffer);
  if (rule === undefined || !Array.from(allowedPools(scene, buffer)).some((place) => (scene.pools[place]?.banks.length ?? 0) > 0)) return null;
  const words = [];
  if (rule.within) words.push("all of it in one");
  if (rule.banks !== null) words.push(`only in ${rule.banks.slice(0, 8).join(", ")}${rule.banks.length > 8 ? ", …" : ""}`);
  return words.join(", ");
}
