/** The buffers of one moment, as they are placed and packed without holes: where the packed ones reach the bound,
 * nothing lower can exist. */
import type { Amount } from "./columns.ts";
import type { Scene } from "./scene.ts";
import { compare, covered } from "./steps.ts";

export interface Tower {
  /** From the bottom up. */
  buffers: number[];
  /** The span of each that lives at the moment. */
  spans: number[];
  /** Where each is when all are packed. */
  close: Amount[];
  /** Bytes that they cover. */
  filled: Amount;
}

/** The last tower of each list of spans: pictures are drawn again far more often than another moment is looked at. */
const last = new WeakMap<Int32Array, { step: number; tower: Tower }>();

export function towerAt(scene: Scene, spans: Int32Array, step: number): Tower {
  const known = last.get(spans);
  if (known !== undefined && known.step === step) return known.tower;
  const live: number[] = [];
  for (const span of spans) {
    if ((scene.begin[span] as number) <= step && step < (scene.end[span] as number)) live.push(span);
  }
  const offset = (span: number): Amount => scene.offsets[scene.owner[span] as number] as Amount;
  live.sort((one, other) => compare(offset(one), offset(other)));
  const buffers = live.map((span) => scene.owner[span] as number);
  const tower = { buffers, spans: live, close: packed(scene, buffers), filled: covered(scene, buffers) };
  last.set(spans, { step, tower });
  return tower;
}

/** Where each is when all are packed: those that share bytes keep their overlap. */
function packed(scene: Scene, buffers: number[]): Amount[] {
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
