/** Which bounds follow from what this page has counted itself; docs/problem.md describes the certificates. */
import { Apart } from "./apart.ts";
import { type Amount, larger } from "./columns.ts";
import { nameCount, NameIndex } from "./names.ts";
import type { Certificate } from "./plan.ts";
import { allowedPools, liveTogether, type Member, named, rigidGroups } from "./buffers.ts";
import type { Pool, Scene, Term } from "./scene.ts";
import { compare, type Profile } from "./steps.ts";
import { stepAt } from "./times.ts";

/** A bound that follows, with the buffers that show it; or why none does. */
export type Proof = { bound: Amount; buffers: number[]; moment: number } | { reason: string };

export const NOTHING_THERE = "nothing must be there";
const MOST_PAIRS = 2000;

export class Prover {
  readonly #index: NameIndex;
  readonly #rigid: Map<number, Member>;
  readonly #apart: Apart;

  constructor(readonly scene: Scene) {
    this.#index = new NameIndex(scene.names);
    this.#rigid = rigidGroups(scene);
    this.#apart = new Apart(scene, this.#rigid);
  }

  /** The bound on a pool's peak, or on the sum of all, that live bytes alone show; without a certificate. */
  own(pool: number): Proof {
    const { scene } = this;
    if (scene.axis.kind === "buffers") return { reason: "no buffer has a lifetime" };
    const alone = scene.pools.length === 1;
    const timeless = new Set<number>();
    scene.kinds.forEach((kind, span) => kind === 2 && timeless.add(scene.owner[span] as number));
    const chosen = (buffer: number): boolean => !timeless.has(buffer) && (alone || this.#mustBeIn(buffer, pool));
    let best: Proof = { reason: timeless.size > 0 ? "some buffers have no lifetime" : NOTHING_THERE };
    for (const moment of this.#apart.moments(chosen)) {
      const buffers = this.#apart.kept(this.#liveAt(moment, chosen));
      if (buffers.length === 0) continue;
      const bound = this.#height(buffers, pool);
      if ("reason" in best || bound > best.bound) best = { bound, buffers, moment };
    }
    return best;
  }

  /** Without places: what must be live in this pool, since it may be in no other. */
  needed(pool: number): Profile {
    return this.#apart.needed((buffer) => this.scene.pools.length === 1 || this.#mustBeIn(buffer, pool));
  }

  #mustBeIn(buffer: number, pool: number): boolean {
    const pools = allowedPools(this.scene, buffer);
    return pools.length === 1 && pools[0] === pool;
  }

  /** What the certificate of a term shows. */
  ofTerm(term: Term): Proof {
    const certificate = term.certificate;
    if (certificate === null) return { reason: "the plan gives no certificate" };
    if (certificate.kind === "least") return this.#least(term);
    if (certificate.kind === "sum") return this.#sum(term, certificate);
    if (certificate.kind !== "live_bytes") return { reason: claimedBy(certificate) };
    const pool = certificate.pool === null ? null : this.scene.pools.findIndex((one) => one.id === certificate.pool);
    const of = term.term === "peak" || term.term === "max_peak" ? null : term.term.slice("peak:".length);
    if (of !== null && (!term.term.startsWith("peak:") || of !== certificate.pool)) {
      return { reason: `live bytes say nothing about ${term.term}` };
    }
    if (pool === null && term.term === "max_peak" && this.scene.pools.length > 1) {
      return { reason: "the certificate is about several pools" };
    }
    return this.ofPool(certificate, pool);
  }

  /** What a certificate of live bytes shows about a pool, or about the sum of all pools. */
  ofPool(certificate: Certificate, pool: number | null): Proof {
    const buffers = certificate.buffers.map((name) => this.#index.find(name));
    if (buffers.length === 0) return { reason: "the certificate names no buffer" };
    if (buffers.some((buffer) => buffer < 0)) return { reason: "the certificate names an unknown buffer" };
    if (new Set(buffers).size < buffers.length) return { reason: "the certificate names a buffer twice" };
    if (pool !== null && pool < 0) return { reason: "the certificate names an unknown pool" };
    const apart = this.#whyNotApart(buffers, certificate);
    if (apart !== null) return { reason: apart };
    const moment = certificate.time === null ? -1 : stepAt(this.scene.axis.times, certificate.time);
    if (certificate.pool === null && pool !== null && this.scene.pools.length > 1) return this.#besides(buffers, pool, moment);
    const elsewhere = pool === null ? undefined : buffers.find((buffer) => {
      return [...allowedPools(this.scene, buffer)].some((place) => place !== pool);
    });
    if (elsewhere !== undefined) return { reason: `${named(this.scene, elsewhere)} need not be in this pool` };
    const single = pool ?? (this.scene.pools.length === 1 ? 0 : null);
    return { bound: this.#height(buffers, single), buffers, moment };
  }

  /** What is left for one pool when the others that these may go to are full. */
  #besides(buffers: number[], pool: number, moment: number): Proof {
    const others = new Set(buffers.flatMap((buffer) => [...allowedPools(this.scene, buffer)]));
    if (!others.delete(pool)) return { reason: "none of these buffers may be in this pool" };
    let left = this.#height(buffers, null);
    for (const other of others) {
      const { capacity, reserved } = this.scene.pools[other] as Pool;
      if (capacity === null) return { reason: "the others may be in a pool without a limit" };
      left -= capacity - measure(reserved, capacity, this.scene.zero);
    }
    return { bound: larger(left, this.scene.zero), buffers, moment };
  }

  #sum(term: Term, certificate: Certificate): Proof {
    if (term.term !== "peak") return { reason: `a sum over pools says nothing about ${term.term}` };
    if (new Set(certificate.parts.map((part) => part.pool)).size < certificate.parts.length || certificate.parts.length === 0) {
      return { reason: "the parts of the certificate are not about pools of their own" };
    }
    let bound = this.scene.zero;
    const buffers: number[] = [];
    for (const part of certificate.parts) {
      if (part.pool === null) return { reason: "a part of the certificate names no pool" };
      const found = this.ofPool(part, this.scene.pools.findIndex((pool) => pool.id === part.pool));
      if ("reason" in found) return found;
      bound += found.bound;
      for (const buffer of found.buffers) buffers.push(buffer);
    }
    return { bound, buffers, moment: -1 };
  }

  /** The cheapest pool of each buffer; other terms are at least 0. */
  #least(term: Term): Proof {
    const { scene } = this;
    let bound = scene.zero;
    if (term.term === "placement_cost") {
      for (let buffer = 0; buffer < nameCount(scene.names); buffer++) {
        const size = scene.sizes[buffer] as Amount;
        if (!(size > 0)) continue;
        const given = scene.accesses?.[buffer];
        const accesses = given === undefined || given < 0 ? size : given;
        let least: Amount | null = null;
        for (const pool of allowedPools(scene, buffer)) {
          const cost = scene.pools[pool]?.cost ?? scene.zero;
          if (least === null || cost < least) least = cost;
        }
        bound += accesses * (least ?? scene.zero);
      }
    }
    return { bound, buffers: [], moment: -1 };
  }

  #whyNotApart(buffers: number[], certificate: Certificate): string | null {
    const { scene } = this;
    const chosen = new Set(buffers);
    const both = (pair: { first: number; second: number }): boolean => chosen.has(pair.first) && chosen.has(pair.second);
    if (scene.inPlace.some((pair) => both(pair) && !this.#together(pair.first, pair.second))) {
      return "two of these buffers may share bytes in place";
    }
    const listed = new Set(scene.conflicts.flatMap((pair) => [`${pair.first} ${pair.second}`, `${pair.second} ${pair.first}`]));
    const exclusive = new Set(scene.exclusive.filter(both).flatMap((pair) => [`${pair.first} ${pair.second}`, `${pair.second} ${pair.first}`]));
    if (certificate.time !== null) {
      const step = stepAt(scene.axis.times, certificate.time);
      if (buffers.some((buffer) => !this.#lives(buffer, step))) return "one of these buffers is not live then";
      for (const pair of exclusive) if (!listed.has(pair)) return "two of these buffers are exclusive";
      return null;
    }
    if (buffers.length > MOST_PAIRS) return "too many buffers to compare";
    for (const [place, one] of buffers.entries()) {
      for (const other of buffers.slice(place + 1)) {
        const pair = `${one} ${other}`;
        if (listed.has(pair) || this.#together(one, other)) continue;
        if (exclusive.has(pair) || !liveTogether(scene, one, other)) return "two of these buffers do not conflict";
      }
    }
    return null;
  }

  #together(one: number, other: number): boolean {
    const root = this.#rigid.get(one)?.root;
    return root !== undefined && root === this.#rigid.get(other)?.root;
  }

  #lives(buffer: number, step: number): boolean {
    const { firstSpan, begin, end, kinds } = this.scene;
    for (let span = firstSpan[buffer] as number; span < (firstSpan[buffer + 1] as number); span++) {
      if (kinds[span] === 1) return true;
      if (kinds[span] === 0 && (begin[span] as number) <= step && step < (end[span] as number)) return true;
    }
    return false;
  }

  #liveAt(step: number, chosen: (buffer: number) => boolean): number[] {
    const { scene } = this;
    const found: number[] = [];
    for (let buffer = 0; buffer < nameCount(scene.names); buffer++) {
      if ((scene.sizes[buffer] as Amount) > 0 && chosen(buffer) && this.#lives(buffer, step)) found.push(buffer);
    }
    return found;
  }

  /** The least height of the pool that holds all of these apart; null: of all pools together. */
  #height(buffers: number[], pool: number | null): Amount {
    const blocks = this.#apart.blocks(buffers);
    let sum = this.scene.zero;
    for (const block of blocks) sum += block;
    if (pool === null) return sum;
    return larger(this.#aroundReserved(sum, pool), this.#aligned(buffers, blocks, pool));
  }

  #aroundReserved(sum: Amount, pool: number): Amount {
    let free = this.scene.zero;
    let from = this.scene.zero;
    const ranges = [...(this.scene.pools[pool]?.reserved ?? [])].sort((one, other) => compare(one.offset, other.offset));
    for (const range of ranges) {
      if (range.offset > from) {
        if (free + (range.offset - from) >= sum) break;
        free += range.offset - from;
      }
      from = larger(from, range.offset + range.size);
    }
    return from + (sum - free);
  }

  /** With starts on one grid, all but the topmost block take whole cells of it. */
  #aligned(buffers: number[], blocks: Amount[], pool: number): Amount {
    const of = this.scene.pools[pool];
    let cell = BigInt(of?.base ?? 0);
    for (const buffer of buffers) {
      cell = gcd(cell, lcm(BigInt(this.scene.alignments?.[buffer] ?? 1), BigInt(of?.alignment ?? 1)));
      if (cell === 1n) return this.scene.zero;
    }
    let sum = 0n;
    let waste = 0n;
    for (const block of blocks) {
      const spare = (cell - (BigInt(block) % cell)) % cell;
      sum += BigInt(block) + spare;
      if (spare > waste) waste = spare;
    }
    return this.scene.wide ? ((sum - waste) as unknown as Amount) : Number(sum - waste);
  }
}


/** How many bytes below a limit these ranges cover. */
function measure(ranges: Pool["reserved"], limit: Amount, zero: Amount): Amount {
  let covered = zero;
  let from = zero;
  for (const range of [...ranges].sort((one, other) => compare(one.offset, other.offset))) {
    const end = range.offset + range.size < limit ? range.offset + range.size : limit;
    const begin = larger(from, range.offset);
    if (end > begin) covered += end - begin;
    from = larger(from, end);
  }
  return covered;
}

function claimedBy(certificate: Certificate): string {
  return certificate.solver === null ? `a proof of kind ${certificate.kind} is not counted here` : `claimed by ${certificate.solver}`;
}

function gcd(one: bigint, other: bigint): bigint {
  let [a, b] = [one, other];
  while (b !== 0n) [a, b] = [b, a % b];
  return a;
}

function lcm(one: bigint, other: bigint): bigint {
  return (one / gcd(one, other)) * other;
}
