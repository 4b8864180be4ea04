/** What must be there at once where some buffers may share bytes: of those that may, the larger ones are counted.
 *
 * Buffers of which no two may share have bytes of their own, so what they have together is needed in any plan.
 */
import { type Amount, zeros } from "./columns.ts";
import type { Member } from "./buffers.ts";
import type { Scene } from "./scene.ts";
import { compare, mostOf, type Profile, profileOf, sharers } from "./steps.ts";

/** More than that is not counted in each step. */
const MOST_WORK = 20_000_000;
/** Moments that are compared where buffers may share; fewer where there are more buffers than that. */
const MOMENTS = 64, FEW_MOMENTS = 8, MANY = 20_000;

export class Apart {
  /** By buffer those with which it may share bytes: pairs in place, and those that are exclusive and no listed conflict. */
  readonly #near = new Map<number, Set<number>>();

  constructor(readonly scene: Scene, readonly rigid: Map<number, Member>) {
    const listed = new Set(scene.conflicts.map(({ first, second }) => keyOf(first, second)));
    const exclusive = scene.exclusive.filter(({ first, second }) => !listed.has(keyOf(first, second)));
    for (const { first, second } of [...scene.inPlace, ...exclusive]) {
      // What two at a fixed distance cover is known, whatever they may share.
      if (this.#areTogether(first, second)) continue;
      this.#join(first, second);
      this.#join(second, first);
    }
  }

  /** Of these those that may share bytes with none of the others; the largest stay. */
  kept(buffers: number[]): number[] {
    if (this.#near.size === 0) return buffers;
    const found = new Set<number>();
    for (const buffer of largestFirst(this.scene, buffers)) {
      const near = this.#near.get(buffer);
      if (near === undefined || ![...near].some((other) => found.has(other))) found.add(buffer);
    }
    return buffers.filter((buffer) => found.has(buffer));
  }

  /** Sizes; members of one rigid group count with the bytes that they cover together. */
  blocks(buffers: number[]): Amount[] {
    const blocks: Amount[] = [];
    const groups = new Map<number, { low: Amount; high: Amount }[]>();
    for (const buffer of buffers) {
      const size = this.scene.sizes[buffer] as Amount;
      const member = this.rigid.get(buffer);
      if (member === undefined) blocks.push(size);
      else groups.set(member.root, [...(groups.get(member.root) ?? []), { low: member.delta, high: member.delta + size }]);
    }
    for (const parts of groups.values()) {
      parts.sort((one, other) => compare(one.low, other.low));
      let open = parts[0] as { low: Amount; high: Amount };
      for (const part of parts.slice(1)) {
        if (part.low > open.high) {
          blocks.push(open.high - open.low);
          open = part;
        } else if (part.high > open.high) open = { low: open.low, high: part.high };
      }
      blocks.push(open.high - open.low);
    }
    return blocks;
  }

  /** Steps in which the chosen buffers may need the most; one where none of them may share bytes. */
  moments(chosen: (buffer: number) => boolean): number[] {
    const { scene } = this;
    if (sharers(scene).size === 0) return [profileOf(scene, chosen).moment];
    const steps = Math.max(1, scene.axis.times.length - 1);
    const live = zeros(steps + 1, scene.zero);
    const [begins, ends] = [new Uint8Array(steps + 1), new Uint8Array(steps + 1)];
    for (let span = 0; span < scene.owner.length; span++) {
      const buffer = scene.owner[span] as number;
      if (!chosen(buffer)) continue;
      const [size, begin, end] = [scene.sizes[buffer] as Amount, scene.begin[span] as number, scene.end[span] as number];
      live[begin] = (live[begin] as Amount) + size;
      live[end] = (live[end] as Amount) - size;
      begins[begin] = ends[end] = 1;
    }
    // After one has begun and before one ends the most is live.
    const tops: number[] = [];
    let running = scene.zero;
    let isRising = false;
    for (let step = 0; step < steps; step++) {
      live[step] = running += live[step] as Amount;
      isRising ||= begins[step] === 1;
      if (!isRising || ends[step + 1] === 0) continue;
      tops.push(step);
      isRising = false;
    }
    tops.sort((one, other) => compare(live[other] as Amount, live[one] as Amount) || one - other);
    return tops.slice(0, scene.sizes.length > MANY ? FEW_MOMENTS : MOMENTS);
  }

  /** What must be live in each step, where buffers that may share bytes have no places that say which. */
  needed(chosen: (buffer: number) => boolean): Profile {
    const { scene } = this;
    const sharing = largestFirst(scene, [...sharers(scene)].filter(chosen));
    const profile = profileOf(scene, chosen);
    const byStep = new Map<number, number[]>();
    let work = 0;
    for (const buffer of sharing) {
      for (let span = scene.firstSpan[buffer] as number; span < (scene.firstSpan[buffer + 1] as number); span++) {
        work += (scene.end[span] as number) - (scene.begin[span] as number);
        if (work > MOST_WORK) return profile;
        for (let step = scene.begin[span] as number; step < (scene.end[span] as number); step++) {
          const there = byStep.get(step);
          if (there === undefined) byStep.set(step, [buffer]);
          else if (there[there.length - 1] !== buffer) there.push(buffer);
        }
      }
    }
    const { live } = profile;
    for (const [step, there] of byStep) {
      for (const block of this.blocks(this.kept(there))) live[step] = (live[step] as Amount) + block;
    }
    return { ...profile, ...mostOf(live, Math.max(1, scene.axis.times.length - 1), scene.zero) };
  }

  #areTogether(one: number, other: number): boolean {
    const root = this.rigid.get(one)?.root;
    return root !== undefined && root === this.rigid.get(other)?.root;
  }

  #join(one: number, other: number): void {
    const near = this.#near.get(one);
    if (near === undefined) this.#near.set(one, new Set([other]));
    else near.add(other);
  }
}

function keyOf(one: number, other: number): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}

function largestFirst(scene: Scene, buffers: number[]): number[] {
  return [...buffers].sort((one, other) => compare(scene.sizes[other] as Amount, scene.sizes[one] as Amount) || one - other);
}
