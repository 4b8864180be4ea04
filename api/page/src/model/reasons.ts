/** Why a buffer is where it is, and what would have to change for a smaller peak. */
import type { Amount } from "./columns.ts";
import { allowedPools, inTime, liveTogether, top } from "./buffers.ts";
import type { Scene } from "./scene.ts";
import type { PoolShown } from "./shown.ts";
import { hasNoPlan } from "./status.ts";
import { compare } from "./steps.ts";

export interface Support {
  /** From the buffer down, each resting on the next. */
  chain: number[];
  /** The bytes free below the last of them; zero: it rests on address 0 or on reserved bytes. */
  gap: Amount;
  /** Whether there are more than are listed. */
  more: boolean;
}

const MOST_SUPPORTS = 40;

/** The chain of nearest buffers below that live at the same time. */
export function supportOf(scene: Scene, spans: Int32Array, buffer: number): Support {
  const chain: number[] = [];
  let current = buffer;
  for (;;) {
    const floor = floorOf(scene, current);
    if (compare(scene.offsets[current] as Amount, floor) <= 0) return { chain, gap: scene.zero, more: false };
    const below = nearestBelow(scene, spans, current);
    const reaches = below === -1 ? floor : top(scene, below);
    const gap = (scene.offsets[current] as Amount) - reaches;
    if (below === -1 || gap > 0) return { chain, gap, more: false };
    if (chain.length === MOST_SUPPORTS) return { chain, gap: scene.zero, more: true };
    chain.push(below);
    current = below;
  }
}

/** The end of the reserved bytes right below a buffer, or 0. */
function floorOf(scene: Scene, buffer: number): Amount {
  let floor = scene.zero;
  for (const range of scene.pools[scene.pool[buffer] as number]?.reserved ?? []) {
    const end = range.offset + range.size;
    if (end <= (scene.offsets[buffer] as Amount) && end > floor) floor = end;
  }
  return floor;
}

function nearestBelow(scene: Scene, spans: Int32Array, buffer: number): number {
  let best = -1;
  const offset = scene.offsets[buffer] as Amount;
  for (const span of spans) {
    const other = scene.owner[span] as number;
    if (other === buffer) continue;
    const above = top(scene, other);
    if (above > offset || (best >= 0 && above <= top(scene, best))) continue;
    if (liveTogether(scene, buffer, other)) best = other;
  }
  return best;
}

export interface Needs {
  /** The steps in which more is live than the smaller peak allows and as much as in those beside them, hardest first. */
  moments: number[];
  /** Buffers that live in each of them, largest first: changing one of them is necessary. */
  inEach: number[];
}

/** The spans of what is in a pool; without a plan, of what can be in no other. */
export function spansIn(scene: Scene, pool: PoolShown, place: number): Int32Array {
  if (scene.claims !== null && !hasNoPlan(scene)) return pool.byTime.spans;
  return Int32Array.from(scene.owner.keys()).filter((span) => {
    const buffer = scene.owner[span] as number;
    const pools = allowedPools(scene, buffer);
    return (scene.sizes[buffer] as Amount) > 0 && inTime(scene, span) && pools.length === 1 && pools[0] === place;
  });
}

/** What follows from live bytes alone if a pool is to hold no more than so many; `spans`: of what is in it. */
export function needsFor(scene: Scene, pool: PoolShown, spans: Int32Array, target: Amount): Needs {
  const steps = Math.max(1, scene.axis.times.length - 1);
  const { live } = pool.profile;
  const before = new Int32Array(steps + 1);
  const [begins, ends] = [new Uint8Array(steps + 1), new Uint8Array(steps + 1)];
  begins[0] = ends[steps] = 1;
  for (let step = 0; step < steps; step++) {
    before[step + 1] = (before[step] as number) + ((live[step] as Amount) > target ? 1 : 0);
  }
  const tight = before[steps] as number;
  if (tight === 0) return { moments: [], inEach: [] };
  const hot = new Map<number, number>();
  for (const span of spans) {
    const [begin, end] = [scene.begin[span] as number, scene.end[span] as number];
    begins[begin] = ends[end] = 1;
    const inside = (before[end] as number) - (before[begin] as number);
    if (inside > 0) hot.set(scene.owner[span] as number, (hot.get(scene.owner[span] as number) ?? 0) + inside);
  }
  const inEach = [...hot].filter(([, inside]) => inside === tight).map(([buffer]) => buffer);
  inEach.sort((one, other) => compare(scene.sizes[other] as Amount, scene.sizes[one] as Amount) || one - other);
  const moments: number[] = [];
  let isRising = false;
  for (let step = 0; step < steps; step++) {
    isRising ||= begins[step] === 1;
    if (!isRising || ends[step + 1] === 0) continue;
    isRising = false;
    if ((live[step] as Amount) > target) moments.push(step);
  }
  moments.sort((one, other) => compare(live[other] as Amount, live[one] as Amount) || one - other);
  return { moments, inEach };
}

/** A round amount to ask for: about a fiftieth of the peak. */
export function roundLess(peak: Amount): number {
  return 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(1, Number(peak)) / 64)));
}

/** Buffers by how many bytes they hold for how long, whether they have a place or not. */
export function byUse(scene: Scene, times: Float64Array): Int32Array {
  const use = new Float64Array(scene.sizes.length);
  for (let span = 0; span < scene.owner.length; span++) {
    const owner = scene.owner[span] as number;
    const long = (times[scene.end[span] as number] as number) - (times[scene.begin[span] as number] as number);
    use[owner] = (use[owner] as number) + long * Number(scene.sizes[owner]);
  }
  return Int32Array.from(use, (_, index) => index).sort((one, other) => (use[other] as number) - (use[one] as number) || one - other);
}
