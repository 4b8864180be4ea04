/** What is asked of single buffers: how they are called, where they are, and which of them are together. */
import type { Amount } from "./columns.ts";
import { nameAt } from "./names.ts";
import type { Scene } from "./scene.ts";

/** Names a buffer. */
export function named(scene: Scene, buffer: number): string {
  return nameAt(scene.names, buffer);
}

export function top(scene: Scene, buffer: number): Amount {
  return (scene.offsets[buffer] as Amount) + (scene.sizes[buffer] as Amount);
}

/** The pools that a buffer may be in, in order of preference. */
export function allowedPools(scene: Scene, buffer: number): readonly number[] | Int32Array {
  const pin = scene.pins.get(buffer);
  if (pin !== undefined) return [pin.pool];
  const list = scene.allowed?.[buffer] ?? -1;
  return list >= 0 ? (scene.lists[list] as Int32Array) : scene.pools.map((_, place) => place);
}

/** Whether it lives in time; buffers without lifetimes have only the conflicts that are listed. */
export function inTime(scene: Scene, span: number): boolean {
  return scene.kinds[span] !== 2;
}

export interface Member {
  root: number;
  /** Its offset less that of the root. */
  delta: Amount;
}

/** The rigid group of each buffer that is in one. */
export function rigidGroups(scene: Scene): Map<number, Member> {
  const near = new Map<number, { other: number; delta: Amount }[]>();
  const join = (from: number, to: number, delta: Amount): void => {
    const list = near.get(from) ?? [];
    near.set(from, [...list, { other: to, delta }]);
  };
  for (const pair of scene.relative) {
    join(pair.first, pair.second, pair.value);
    join(pair.second, pair.first, scene.zero - pair.value);
  }
  const members = new Map<number, Member>();
  for (const root of near.keys()) {
    if (members.has(root)) continue;
    members.set(root, { root, delta: scene.zero });
    const open = [root];
    for (let from = open.pop(); from !== undefined; from = open.pop()) {
      const delta = members.get(from)?.delta ?? scene.zero;
      for (const edge of near.get(from) ?? []) {
        if (members.has(edge.other)) continue;
        members.set(edge.other, { root, delta: delta + edge.delta });
        open.push(edge.other);
      }
    }
  }
  return members;
}

export function overlapping(scene: Scene, one: number, other: number): boolean {
  return scene.pool[one] === scene.pool[other] && (scene.pool[one] as number) >= 0
    && (scene.sizes[one] as Amount) > 0 && (scene.sizes[other] as Amount) > 0
    && (scene.offsets[one] as Amount) < top(scene, other) && (scene.offsets[other] as Amount) < top(scene, one);
}

export function liveTogether(scene: Scene, one: number, other: number): boolean {
  for (let span = scene.firstSpan[one] as number; span < (scene.firstSpan[one + 1] as number); span++) {
    for (let against = scene.firstSpan[other] as number; against < (scene.firstSpan[other + 1] as number); against++) {
      if (inTime(scene, span) && inTime(scene, against)
        && (scene.begin[span] as number) < (scene.end[against] as number)
        && (scene.begin[against] as number) < (scene.end[span] as number)) return true;
    }
  }
  return false;
}
