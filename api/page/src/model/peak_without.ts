/** What the peak of a pool would be without one buffer, as far as counting tells. */
import { type Amount, larger } from "./columns.ts";
import { top } from "./buffers.ts";
import type { Scene } from "./scene.ts";
import type { PoolShown } from "./shown.ts";
import { sharers } from "./steps.ts";

export interface Without {
  /** In how many of the steps with the most live bytes the buffer lives, and how many there are. */
  busiest: { here: number; all: number };
  /** What is live at the most without it; null: it may share bytes, and that is not counted. */
  live: Amount | null;
  /** The peak of the others as they lie. */
  others: Amount;
}

export function withoutBuffer(scene: Scene, pool: PoolShown, buffer: number): Without {
  const { live, most } = pool.profile;
  const steps = Math.max(1, scene.axis.times.length - 1);
  const lives = new Uint8Array(steps);
  for (let span = scene.firstSpan[buffer] as number; span < (scene.firstSpan[buffer + 1] as number); span++) {
    lives.fill(1, scene.begin[span], scene.end[span]);
  }
  const size = scene.sizes[buffer] as Amount;
  const busiest = { here: 0, all: 0 };
  let left = scene.zero;
  for (let step = 0; step < steps; step++) {
    const there = live[step] as Amount;
    if (there === most) busiest.all++;
    if (there === most && lives[step] === 1) busiest.here++;
    left = larger(left, lives[step] === 1 ? there - size : there);
  }
  let others = scene.zero;
  for (const span of pool.byTime.spans) {
    const owner = scene.owner[span] as number;
    if (owner !== buffer) others = larger(others, top(scene, owner));
  }
  return { busiest, live: sharers(scene).has(buffer) || !pool.profile.exact ? null : left, others };
}
