/** What is shown as a problem in JSON, every digit of it: of a graph in its order, and with changes that are asked about. */
import { allowedPools, named } from "../model/buffers.ts";
import type { Amount } from "../model/columns.ts";
import type { Pair, Pool, Scene } from "../model/scene.ts";

export interface Change {
  /** The pool whose capacity is another one; null: all are as they are. */
  capacity: { place: number; bytes: Amount } | null;
  /** The buffer that is left out; -1: none. */
  without: number;
}

const TIMED = 0, ALWAYS = 1;

export function problemText(scene: Scene, change: Change): string {
  const names = Array.from(scene.sizes, (_, buffer) => JSON.stringify(named(scene, buffer)));
  const pools = scene.pools.map((pool, place) => poolText(pool, change.capacity?.place === place ? change.capacity.bytes : pool.capacity));
  const buffers = names.flatMap((name, buffer) => (buffer === change.without ? [] : [bufferText(scene, buffer, name)]));
  const pairs = (list: Pair[], write: (first: string, second: string, pair: Pair) => string): string => list
    .filter((pair) => pair.first !== change.without && pair.second !== change.without)
    .map((pair) => write(names[pair.first] as string, names[pair.second] as string, pair)).join(",");
  return `{"version":1,"pools":[${pools.join(",")}],"buffers":[${buffers.join(",")}],`
    + `"conflicts":[${pairs(scene.conflicts, (one, other) => `[${one},${other}]`)}],`
    + `"exclusive":[${pairs(scene.exclusive, (one, other) => `[${one},${other}]`)}],`
    + `"relative":[${pairs(scene.relative, (one, other, { value }) => `{"buffer":${one},"base":${other},"offset":${value}}`)}],`
    + `"in_place":[${pairs(scene.inPlace, (one, other) => `{"input":${one},"output":${other}}`)}]`
    + `${bankConflictsText(scene, names[change.without])}}`;
}

function bankConflictsText(scene: Scene, without: string | undefined): string {
  const entries = scene.bankConflicts
    .map(({ buffers, cost }) => ({ named: buffers.map((buffer) => JSON.stringify(buffer)).filter((buffer) => buffer !== without), cost }))
    .filter(({ named: two }) => two.length > 1)
    .map(({ named: all, cost }) => `{"buffers":[${all.join(",")}]${cost === null ? "" : `,"cost":${cost}`}}`);
  return entries.length > 0 ? `,"bank_conflicts":[${entries.join(",")}]` : "";
}

function poolText(pool: Pool, capacity: Amount | null): string {
  const reserved = pool.reserved.map((range) => `{"offset":${range.offset},"size":${range.size}}`).join(",");
  const base = pool.base > 0 ? `,"base":${pool.base}` : "";
  const runs = pool.banks.map((run) => `{"offset":${run.offset},"size":${run.size},"count":${run.count}}`).join(",");
  const banks = runs === "" ? "" : `,"banks":[${runs}]`;
  return `{"id":${JSON.stringify(pool.id)},"capacity":${capacity},"alignment":${pool.alignment},"cost":${pool.cost},"reserved":[${reserved}]${base}${banks}}`;
}

function bufferText(scene: Scene, buffer: number, name: string): string {
  const parts = [`"id":${name}`, `"size":${scene.sizes[buffer]}`];
  const spans: string[] = [];
  let always = false;
  for (let span = scene.firstSpan[buffer] as number; span < (scene.firstSpan[buffer + 1] as number); span++) {
    if (scene.kinds[span] === TIMED) spans.push(`[${scene.axis.times[scene.begin[span] as number]},${scene.axis.times[scene.end[span] as number]}]`);
    always ||= scene.kinds[span] === ALWAYS;
  }
  if (always) parts.push(`"lifetime":"always"`);
  else if (spans.length > 0) parts.push(`"lifetimes":[${spans.join(",")}]`);
  if (scene.alignments !== null) parts.push(`"alignment":${scene.alignments[buffer]}`);
  const rule = scene.bankRules.get(buffer);
  if (rule?.within === true) parts.push(`"within_bank":true`);
  if (rule !== undefined && rule.banks !== null) parts.push(`"banks":[${rule.banks.join(",")}]`);
  const pin = scene.pins.get(buffer);
  if (pin !== undefined) {
    parts.push(`"pool":${JSON.stringify(scene.pools[pin.pool]?.id)}`);
    if (pin.offset !== null) parts.push(`"offset":${pin.offset}`);
  } else if ((scene.allowed?.[buffer] ?? -1) >= 0) {
    parts.push(`"pools":${JSON.stringify(Array.from(allowedPools(scene, buffer), (place) => scene.pools[place]?.id))}`);
  }
  return `{${parts.join(",")}}`;
}
