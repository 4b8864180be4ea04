/** Everything that is computed once, in a worker, before a plan is drawn. */
import { type Bound, isExplained, poolBound, termBounds } from "./bounds.ts";
import { type Amount, larger } from "./columns.ts";
import { type Documents, noDocuments, readDocuments } from "./documents.ts";
import { byArea, type Ordered, positions } from "./order.ts";
import { Prover } from "./proofs.ts";
import { beside, type Moves } from "./moves.ts";
import { ReadError } from "./json.ts";
import { criticalOf, needsOf } from "./program.ts";
import { top } from "./buffers.ts";
import { type Scene, scenesOf } from "./scene.ts";
import { hasNoPlan, MISSING_SECOND } from "./status.ts";
import { type Profile, profileOf, skylineOf } from "./steps.ts";
import type { ValuesShown } from "./symbolic_shown.ts";
import { tintsOf } from "./tints.ts";
import { checkPlan, type Validity } from "./validity.ts";

export interface PoolShown {
  /** Its spans, largest first, with time as given and by change. */
  given: Ordered;
  byChange: Ordered;
  profile: Profile;
  skyline: Float64Array;
  peak: Amount;
  /** The highest address to draw, and the most live bytes; of two plans beside each other the larger ones. */
  room: number;
  livest: number;
  /** The best bound on its peak that is known; null: none. */
  bound: Bound | null;
}

export interface Shown {
  scene: Scene;
  pools: PoolShown[];
  /** For each buffer one of two tints of its colour. */
  tints: Uint8Array;
  validity: Validity;
  /** For each term of the objective the best bound; null: none is known. */
  terms: (Bound | null)[];
  /** By operator, the most bytes live while it runs. */
  needs: Amount[];
  /** The operator that the proof about all orders names, or the one that needs the most; -1: there is none. */
  critical: number;
  /** Whether what the explanation says of live bytes was counted here. */
  explained: boolean;
  /** Whether it is drawn for one schedule of a graph, of which there are others. */
  ofSchedule: boolean;
  /** What the plan is called, where there are two. */
  plan: string;
  /** Of a plan of formulas: at which value it is shown, and what is known of others. */
  symbolic?: ValuesShown;
  /** Another plan of the same problem, to compare. */
  second: Second | null;
}

export interface Second {
  shown: Shown;
  moves: Moves;
}

export type Progress = (doing: string, part: number) => void;

/** Reads the files of one view: a problem and a plan, or two, in one file or in several. */
export function readShown(files: { name: string; bytes: Uint8Array; held: boolean }[], both: boolean, progress: Progress): Shown {
  const documents = noDocuments();
  let name = "";
  for (const file of files) {
    const read = readDocuments(file.bytes, file.held, (part) => progress(`reading ${file.name}`, part));
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
    documents.judged.push(...read.judged);
    for (const one of read.plans) documents.plans.push({ name: one.name || file.name, plan: one.plan });
    if (read.search.length > 0) documents.search = read.search;
    if (read.shortfalls.length > 0) documents.shortfalls = read.shortfalls;
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
  const shown = showScene(first, documents.plans[0]?.name ?? "", second === undefined ? documents.judged : [], progress);
  if (second === undefined) return shown;
  if (hasNoPlan(first) || hasNoPlan(second)) throw new ReadError("one of the two places nothing, so there is nothing to compare");
  return beside(shown, showScene(second, documents.plans[1]?.name ?? "", [], progress));
}

function checkSameProblem(documents: Documents): void {
  const digests = new Set(documents.plans.flatMap((one) => one.plan.digest ?? []));
  if (digests.size > 1) throw new ReadError("the two plans are for different problems, as their digests say");
}

function showScene(scene: Scene, plan: string, judged: string[], progress: Progress): Shown {
  const prover = new Prover(scene);
  const given = positions(scene.axis.times, false);
  const byChange = positions(scene.axis.times, true);
  const spans = spansByPool(scene);
  const pools = scene.pools.map((_, place): PoolShown => {
    progress("measuring", place / scene.pools.length);
    const inside = spans[place] as Int32Array;
    const profile = scene.claims === null || inside.length === 0 && hasNoPlan(scene)
      ? prover.needed(place)
      : profileOf(scene, (buffer) => scene.pool[buffer] === place, inside);
    let peak = scene.zero;
    for (const span of inside) peak = larger(peak, top(scene, scene.owner[span] as number));
    const bound = poolBound(scene, prover, place, judged);
    return {
      given: byArea(scene, inside, given),
      byChange: byArea(scene, inside, byChange),
      profile,
      skyline: skylineOf(scene, inside),
      peak,
      room: roomOf(scene, place, peak, profile, bound),
      livest: Number(profile.most),
      bound,
    };
  });
  progress("checking", 0);
  const validity = hasNoPlan(scene) ? { faults: [], unchecked: [] } : checkPlan(scene);
  const { program } = scene;
  progress("colouring", 0);
  const tints = tintsOf(scene, spans, given);
  const needs = program === null ? [] : needsOf(program, pools.map((pool) => pool.profile.live), scene.zero);
  return {
    scene, pools, tints, validity, plan, second: null, ofSchedule: false,
    needs, critical: program === null ? -1 : criticalOf(program, needs, scene.claims?.terms[0]?.certificate?.order?.operator ?? null),
    terms: termBounds(scene, prover, pools, judged), explained: isExplained(scene, prover),
  };
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

/** What may be moved to another thread instead of being copied. */
export function movable(shown: Shown): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  const look = (value: unknown, depth: number): void => {
    if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
    else if (typeof value === "object" && value !== null && depth < 4 && !Array.isArray(value)) {
      for (const inner of Object.values(value)) look(inner, depth + 1);
    }
  };
  for (const one of [shown, ...(shown.second === null ? [] : [shown.second.shown])]) {
    look(one.scene, 0);
    found.add(one.tints.buffer as ArrayBuffer);
    for (const part of [...one.pools, ...one.terms]) look(part, 0);
  }
  if (shown.second !== null) look(shown.second.moves, 0);
  return [...found];
}
