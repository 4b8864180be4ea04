/** The buffers of one moment, as they are placed and packed without holes: where the packed ones reach the bound,
 * nothing lower can exist. */
import type { Amount } from "./columns.ts";
import type { Scene } from "./scene.ts";
import { compare, covered } from "./steps.ts";

export interface Tower {
  /** From the bottom up. */
  buffers: number[];
  /** Bytes that they cover. */
  filled: Amount;
}

export function towerAt(scene: Scene, spans: Int32Array, step: number): Tower {
  const buffers: number[] = [];
  for (const span of spans) {
    if ((scene.begin[span] as number) <= step && step < (scene.end[span] as number)) buffers.push(scene.owner[span] as number);
  }
  buffers.sort((one, other) => compare(scene.offsets[one] as Amount, scene.offsets[other] as Amount));
  return { buffers, filled: covered(scene, buffers) };
}

/** Where each is when all are packed: those that share bytes keep their overlap. */
export function packed(scene: Scene, buffers: number[]): Amount[] {
  let shift = scene.zero;
  let end = scene.zero;
  return buffers.map((buffer) => {
    const offset = scene.offsets[buffer] as Amount;
    if (offset > end) shift += offset - end;
    const above = offset + (scene.sizes[buffer] as Amount);
    if (above > end) end = above;
    return offset - shift;
  });
}

/** Without places: one above the other, the largest below. */
export function stacked(scene: Scene, buffers: Iterable<number>): { buffer: number; at: Amount }[] {
  let at = scene.zero;
  const ordered = [...buffers].sort((one, other) => compare(scene.sizes[other] as Amount, scene.sizes[one] as Amount));
  return ordered.map((buffer) => {
    const place = { buffer, at };
    at += scene.sizes[buffer] as Amount;
    return place;
  });
}
