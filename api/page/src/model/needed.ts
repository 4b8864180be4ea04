/** What is live where nothing has a place yet: of buffers that may share bytes, the larger ones are drawn. */
import { rigidGroups } from "./buffers.ts";
import type { Amount } from "./columns.ts";
import type { Scene } from "./scene.ts";
import { compare, MOST_WORK, mostOf, type Profile, profileOf, sharers } from "./steps.ts";

export function neededOf(scene: Scene, chosen: (buffer: number) => boolean): Profile {
  const shared = sharers(scene);
  // Where those that share have places is of no account.
  const profile = profileOf(scene, (buffer) => chosen(buffer) && !shared.has(buffer));
  const sharing = [...shared].filter(chosen).sort((one, other) => compare(scene.sizes[other] as Amount, scene.sizes[one] as Amount) || one - other);
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
  const apart = apartIn(scene);
  const { live } = profile;
  for (const [step, there] of byStep) live[step] = (live[step] as Amount) + apart(there);
  return { ...profile, ...mostOf(live, Math.max(1, scene.axis.times.length - 1), scene.zero) };
}

/** The bytes of those buffers of which no two may share any, the largest first; at fixed distances what they cover together. */
function apartIn(scene: Scene): (largestFirst: number[]) => Amount {
  const rigid = rigidGroups(scene);
  const near = new Map<number, Set<number>>();
  for (const { first, second } of [...scene.inPlace, ...scene.exclusive]) {
    if (rigid.has(first) && rigid.get(first)?.root === rigid.get(second)?.root) continue;
    for (const [one, other] of [[first, second], [second, first]] as const) near.set(one, (near.get(one) ?? new Set()).add(other));
  }
  return (largestFirst) => {
    const kept = new Set<number>();
    let sum = scene.zero;
    const ends = new Map<number, [low: Amount, high: Amount][]>();
    for (const buffer of largestFirst) {
      if ([...near.get(buffer) ?? []].some((other) => kept.has(other))) continue;
      kept.add(buffer);
      const member = rigid.get(buffer);
      const size = scene.sizes[buffer] as Amount;
      if (member === undefined) sum += size;
      else ends.set(member.root, [...ends.get(member.root) ?? [], [member.delta, member.delta + size]]);
    }
    for (const parts of ends.values()) {
      parts.sort((one, other) => compare(one[0], other[0]));
      let high = (parts[0] as [Amount, Amount])[0];
      for (const [begin, end] of parts) {
        if (end > high) sum += end - (begin > high ? begin : high);
        if (end > high) high = end;
      }
    }
    return sum;
  };
}
