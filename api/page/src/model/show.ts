/** Joins the documents of one view and computes what is drawn. */
import { bytes } from "../draw/format.ts";
import { allowedPools, top } from "./buffers.ts";
import { amount, type Amount, larger } from "./columns.ts";
import { type Documents, noDocuments, readDocuments } from "./documents.ts";
import { ReadError } from "./json.ts";
import type { Segment } from "./loops.ts";
import { beside } from "./moves.ts";
import { neededOf } from "./needed.ts";
import { byArea, positions } from "./order.ts";
import { criticalOf, needsOf } from "./program.ts";
import { type Scene, scenesOf } from "./scene.ts";
import type { Bound, File0, PoolShown, Progress, Shown } from "./shown.ts";
import { hasNoPlan } from "./status.ts";
import { type Profile, profileOf, skylineOf } from "./steps.ts";
import { stepAt } from "./times.ts";
import { tintsOf } from "./tints.ts";
import { MISSING_SECOND, unjudged, unplanned, type Verdict } from "./verdict.ts";

/** Reads the files of one view: a problem and a plan, or two, in one file or in several. */
export function readShown(files: File0[], both: boolean, progress: Progress): Shown {
  const documents = noDocuments();
  let name = "";
  for (const file of files) {
    const read = readDocuments(file.bytes, file.trusted, (part) => progress(`reading ${file.name}`, part));
    if (read.problem !== null) {
      documents.problem = read.problem;
      documents.graph = null;
      name = read.name || file.name;
    }
    if (read.graph !== null) {
      documents.graph = read.graph;
      if (read.problem === null) documents.problem = null;
      name = read.name || file.name;
    }
    for (const one of read.plans) documents.plans.push({ ...one, name: one.name || file.name });
    if (read.search.length > 0) documents.search = read.search;
    if (read.shortfalls.length > 0) documents.shortfalls = read.shortfalls;
    if (read.loops !== null) documents.loops = read.loops;
  }
  documents.plans = documents.plans.slice(-2);
  if (both && documents.plans.length < 2) throw new ReadError(MISSING_SECOND);
  return shownOf(documents, name, progress);
}

/** The plan, or two beside each other, of one problem. */
export function shownOf(documents: Documents, name: string, progress: Progress): Shown {
  checkSameProblem(documents);
  progress("joining", 0);
  const [first, second] = scenesOf(documents, name);
  const [one, other] = documents.plans;
  const shown = showScene(first, one?.name ?? "", one?.verdict ?? null, progress);
  if (second === undefined) return documents.loops === null ? shown : withLoops(shown, documents.loops);
  if (hasNoPlan(first) || hasNoPlan(second)) throw new ReadError("one of the two places nothing, so there is nothing to compare");
  return beside(shown, showScene(second, other?.name ?? "", other?.verdict ?? null, progress));
}

/** Operators are called as the segments that they are, which say what a number alone does not. */
function withLoops(shown: Shown, loops: Segment[]): Shown {
  const { program } = shown.scene;
  const operators = program?.operators.map((operator, place) => ({ ...operator, id: loops[place]?.name ?? operator.id })) ?? [];
  return { ...shown, scene: { ...shown.scene, program: program && { ...program, operators } }, loops, ofSchedule: true };
}

function checkSameProblem(documents: Documents): void {
  const digests = new Set(documents.plans.flatMap((one) => one.plan.digest ?? []));
  if (digests.size > 1) throw new ReadError("the two plans are for different problems, as their digests say");
}

function showScene(scene: Scene, plan: string, verdict: Verdict | null, progress: Progress): Shown {
  const byTime = positions(scene.axis.times, false);
  const byChange = positions(scene.axis.times, true);
  const spans = spansByPool(scene);
  const pools = scene.pools.map((_, place): PoolShown => {
    progress("measuring", place / scene.pools.length);
    const inside = spans[place] as Int32Array;
    const profile = scene.claims === null || inside.length === 0 && hasNoPlan(scene)
      ? neededOf(scene, (buffer) => mustBeIn(scene, buffer, place))
      : profileOf(scene, (buffer) => scene.pool[buffer] === place, inside);
    let peak = scene.zero;
    for (const span of inside) peak = larger(peak, top(scene, scene.owner[span] as number));
    const bound = boundOf(scene, place, verdict);
    return {
      byTime: byArea(scene, inside, byTime),
      byChange: byArea(scene, inside, byChange),
      profile,
      skyline: skylineOf(scene, inside),
      peak,
      room: roomOf(scene, place, peak, profile, bound),
      livest: Number(profile.most),
      bound,
    };
  });
  const { program } = scene;
  progress("colouring", 0);
  const tints = tintsOf(scene, spans, byTime);
  const needs = program === null ? [] : needsOf(program, pools.map((pool) => pool.profile.live), scene.zero);
  return {
    scene, pools, tints, verdict, plan, second: null, loops: null, ofSchedule: false,
    sentence: verdict ?? (scene.claims !== null
      ? unjudged(scene.claims.status, scene.claims.explanation, pools.map((pool) => pool.peak), scene.zero)
      : unplanned(pools.length === 1 ? pools[0]?.profile.most ?? null : null, program?.anyOrder === true)),
    needs, critical: program === null ? -1 : criticalOf(program, needs, verdict?.operator ?? null),
  };
}

export function mustBeIn(scene: Scene, buffer: number, place: number): boolean {
  const pools = allowedPools(scene, buffer);
  return pools.length === 1 && pools[0] === place;
}

/** What the judge says of a pool; where nobody has judged, what the plan claims. */
function boundOf(scene: Scene, place: number, verdict: Verdict | null): Bound | null {
  const said = verdict?.pools[place] ?? null;
  if (verdict !== null) {
    if (said === null || said.bound === null) return null;
    const moment = said.time === null ? -1 : stepAt(scene.axis.times, said.time);
    return { value: amount(said.bound, scene.wide), proven: said.proven, caption: said.caption, buffers: Int32Array.from(said.buffers), moment };
  }
  const claimed = scene.claims?.bounds.get(place) ?? scene.zero;
  const caption = `at least ${bytes(claimed)}, as the file claims`;
  return claimed > 0 ? { value: claimed, proven: false, caption, buffers: new Int32Array(), moment: -1 } : null;
}

/** Everything that is placed, and the capacity where that is not so large that nothing else would be seen. */
function roomOf(scene: Scene, place: number, peak: Amount, profile: Profile, bound: Bound | null): number {
  const used = Math.max(Number(peak), Number(profile.most), Number(bound?.value ?? 0));
  const capacity = Number(scene.pools[place]?.capacity ?? 0);
  return Math.max(used, capacity <= used * 1.5 ? capacity : 0, 1);
}

function spansByPool(scene: Scene): Int32Array[] {
  const counts = new Int32Array(scene.pools.length);
  const seen = (span: number): number => {
    const buffer = scene.owner[span] as number;
    return (scene.sizes[buffer] as Amount) > 0 ? (scene.pool[buffer] as number) : -1;
  };
  for (let span = 0; span < scene.owner.length; span++) {
    const pool = seen(span);
    if (pool >= 0) counts[pool] = (counts[pool] as number) + 1;
  }
  const lists = Array.from(counts, (count) => new Int32Array(count));
  counts.fill(0);
  for (let span = 0; span < scene.owner.length; span++) {
    const pool = seen(span);
    if (pool < 0) continue;
    const at = counts[pool] as number;
    (lists[pool] as Int32Array)[at] = span;
    counts[pool] = at + 1;
  }
  return lists;
}
