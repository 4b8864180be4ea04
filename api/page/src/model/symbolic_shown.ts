/** A plan of formulas at a value of the symbols: an ordinary problem with an ordinary plan, checked like any other. */

import { count, plain } from "../draw/format.ts";
import { type Amount, Column } from "./columns.ts";
import { poolBound } from "./bounds.ts";
import { type Documents, noDocuments } from "./documents.ts";
import { LIMIT, type Values, withReason } from "./formula.ts";
import { ReadError, type Whole } from "./json.ts";
import { NameColumn, nameAt } from "./names.ts";
import type { RawPlan } from "./plan.ts";
import { Prover } from "./proofs.ts";
import { isOver, valuesText, verdictAt } from "./symbolic_verdict.ts";
import type { Verdict } from "./verdict.ts";
import type { RawProblem } from "./problem.ts";
import { type Scene, scenesOf } from "./scene.ts";
import { type Progress, type Shown, shownOf } from "./shown.ts";
import type { Placed } from "./stack.ts";
import type { Symbol0 } from "./symbol.ts";
import { symbolicAmong, type Symbolic } from "./symbolic.ts";
import type { Request } from "../worker/reader.ts";

/** What the page says besides the plan at the value. */
export interface ValuesShown {
  symbols: Symbol0[];
  at: bigint[];
  points: PointShown[];
  /** The point with the largest ratio; -1: there is none. */
  worst: number;
  shapes: string;
  /** How many orders there are, and which of them is used here. */
  orders: number;
  order: number;
  bound: number | null;
  judged: string | null;
  /** How the judge has checked that nothing fits; empty: it has not. */
  counted: string;
  status: string;
  /** Why the plan does not fit at this value; empty: it does. */
  misfit: string;
  /** What is said of the plan at this value where it has none; null: what is said of any plan. */
  verdict: Verdict | null;
  /** The capacity of the only pool; null: it has no limit, or there are several. */
  room: bigint | null;
  buffers: number;
  /** The files of all plans that were given, of which the last is shown; empty: the page holds one. */
  plans: string[];
}

/** What is needed at a value. */
export interface PointShown {
  at: bigint[];
  /** Null: the plan does not fit there. */
  peak: bigint | null;
  /** Null: nothing is known. */
  least: bigint | null;
  /** Whether the page has counted the least; otherwise the file claims it. */
  counted: boolean;
  /** Whether more must be live than a pool has: nothing fits there. */
  over: boolean;
  /** What the file says that cannot be so. */
  fault: string;
}

/** The plan at this value, and what is known of the points. */
export function shownAt(file: Symbolic, at: bigint[], points: PointShown[], progress: Progress = () => undefined): Shown {
  const laid = laidAt(file, at);
  const shown = shownOf(documentsOf(laid), file.name, progress);
  const scene = { ...shown.scene, name: `${plain(shown.scene.name, 80)} at ${valuesText(file.symbols, at)}` };
  const several = severalBound(scene, shown.pools.map((pool) => pool.bound?.checked === true ? pool.bound.value : scene.zero));
  const [term] = shown.terms;
  if (term !== undefined && several !== null && several > 0 && several >= (term?.value ?? 0)) {
    shown.terms[0] = { value: several, checked: true, judged: false, reason: "", buffers: new Int32Array(), moment: -1 };
  }
  const ratios = points.map(ratioOf);
  const worst = ratios.reduce<number>((best, ratio, place) => (ratio !== null && ratio > (ratios[best] ?? 0) ? place : best), -1);
  const symbolic: ValuesShown = {
    symbols: file.symbols, at, points, worst, shapes: file.shapes, orders: file.placers.length, order: laid.order,
    bound: file.bound, judged: file.judged, counted: file.counted, status: file.plan?.status ?? "",
    misfit: laid.misfit, verdict: verdictAt(file, shown, laid.misfit, points), buffers: file.sizes.length, room: roomOf(file),
    plans: file.plans,
  };
  return { ...shown, scene, symbolic };
}

function roomOf(file: Symbolic): bigint | null {
  const [pool, ...others] = file.problem.pools;
  return pool === undefined || pool.capacity === null || others.length > 0 ? null : BigInt(pool.capacity);
}

/** The peak and the least at a value, without the map. */
export function pointAt(file: Symbolic, at: bigint[]): PointShown {
  const laid = laidAt(file, at);
  const [scene] = scenesOf(documentsOf(laid), "");
  const { own, over } = ownBound(scene);
  const said = file.said.find((one) => one.at.every((value, place) => value === at[place]));
  const least = said === undefined ? null : BigInt(said.least);
  const peak = laid.objective;
  const fault = peak !== null && peak < own ? "so much cannot be together in so few bytes: buffers overlap"
    : said === undefined || peak === null ? ""
    : BigInt(said.peak) !== peak ? `the file says that ${count(said.peak)} bytes are needed; it is ${count(peak)}`
      : least !== null && least > peak ? "the file says that more is needed at the least" : "";
  const claimed = least === null || fault !== "" ? -1n : least;
  return claimed > own ? { at, peak, least: claimed, counted: false, over, fault } : { at, peak, over, least: own > 0n || claimed === 0n || peak === 0n ? own : null, counted: true, fault };
}

/** What the live bytes show of the objective, and whether they are above what a pool has. */
function ownBound(scene: Scene): { own: bigint; over: boolean } {
  const prover = new Prover(scene);
  const bounds = scene.pools.map((_, place) => {
    const bound = poolBound(scene, prover, place, []);
    return bound?.checked === true ? bound.value : scene.zero;
  });
  return { own: BigInt(severalBound(scene, bounds) ?? bounds[0] ?? 0), over: bounds.some((bound, place) => isOver(scene, place, bound)) };
}

/** The objective of several pools, of which each needs so much; null: there is one pool. */
function severalBound(scene: Scene, bounds: Amount[]): Amount | null {
  if (bounds.length < 2) return null;
  const [term = "peak"] = scene.objective;
  if (term.startsWith("peak:")) return bounds[scene.pools.findIndex((pool) => pool.id === term.slice(5))] ?? scene.zero;
  return bounds.reduce((sum, bound) => (term === "peak" ? sum + bound : bound > sum ? bound : sum), scene.zero);
}

export function ratioOf(point: PointShown): number | null {
  if (point.peak === null || point.least === null) return null;
  if (point.least === 0n) return point.peak === 0n ? 1 : null;
  return Number(point.peak) / Number(point.least);
}

function documentsOf(laid: Laid): Documents {
  return { ...noDocuments(), problem: laid.problem, plans: laid.plan === null ? [] : [{ name: "", plan: laid.plan }] };
}

interface Laid {
  problem: RawProblem;
  plan: RawPlan | null;
  objective: bigint | null;
  order: number;
  misfit: string;
}

/** The problem with the sizes of this value, and the plan that is best there, the first of equals. */
function laidAt(file: Symbolic, at: bigint[]): Laid {
  const sizes = sizesAt(file, at);
  let best: { placed: Placed; value: bigint; order: number } | null = null;
  let misfit = "";
  file.placers.forEach((place, order) => {
    const placed = place(sizes);
    if (typeof placed === "string") misfit ||= placed;
    else {
      const value = objectiveOf(file, placed.peaks);
      if (best === null || value < best.value) best = { placed, value, order };
    }
  });
  const column = new Column();
  for (const size of sizes) column.push(wholeOf(size));
  const problem = { ...file.problem, objective: [termOf(file)], sizes: column };
  // Assigned in a function, which the compiler does not follow.
  const found = best as { placed: Placed; value: bigint; order: number } | null;
  if (file.plan === null) return { problem, plan: null, objective: null, order: 0, misfit };
  if (found === null) {
    const status = file.placers.length === 0 && file.broken === "" ? file.plan.status : "unknown";
    return { problem, plan: { ...file.plan, ...placements(file, null), status, terms: [], uses: [] }, objective: null, order: 0, misfit };
  }
  const said = file.said.find((one) => one.at.every((value, place) => value === at[place]));
  const term = { term: termOf(file), value: wholeOf(found.value), bound: said?.least ?? 0, certificate: null };
  const plan = { ...file.plan, ...placements(file, found.placed), status: "feasible", terms: [term], uses: [], explanation: null, digest: null };
  return { problem, plan, objective: found.value, order: found.order, misfit: "" };
}

function sizesAt(file: Symbolic, at: bigint[]): bigint[] {
  const values: Values = new Map(file.symbols.map((symbol, place) => [symbol.id, at[place] ?? 0n]));
  const sizes = [...file.sizes];
  for (const [buffer, formula] of file.formulas) {
    const fail = (what: string): never => {
      throw new ReadError(`the size of ${nameAt(file.problem.names, buffer)} at ${valuesText(file.symbols, at)}: ${what}`);
    };
    const size = withReason(() => formula(values), fail);
    if (size < 0n || size > LIMIT) fail(`${size} is not within 0 and 2^62`);
    sizes[buffer] = size;
  }
  return sizes;
}

function termOf(file: Symbolic): string {
  return file.problem.objective?.[0] ?? "peak";
}

function objectiveOf(file: Symbolic, peaks: bigint[]): bigint {
  const term = termOf(file);
  if (term.startsWith("peak:")) return peaks[file.problem.pools.findIndex((pool) => pool.id === term.slice(5))] ?? 0n;
  return peaks.reduce((sum, peak) => (term === "peak" ? sum + peak : peak > sum ? peak : sum), 0n);
}

function placements(file: Symbolic, placed: Placed | null): Pick<RawPlan, "names" | "offsets" | "pools" | "poolNames"> {
  const offsets = new Column();
  for (const offset of placed?.offsets ?? []) offsets.push(wholeOf(offset));
  const poolNames = file.problem.pools.map((pool) => pool.id);
  const names = placed === null ? new NameColumn().packed() : file.problem.names;
  return { names, offsets, pools: Int32Array.from(placed?.pools ?? []), poolNames };
}

function wholeOf(value: bigint): Whole {
  const near = Number(value);
  return Number.isSafeInteger(near) ? near : value;
}

/** What is needed at the points. */
export function pointsOf(file: Symbolic, progress: Progress): PointShown[] {
  return file.points.map((at, place) => {
    progress("counting the points", place / file.points.length);
    return pointAt(file, at);
  });
}

/** Where nobody says where to begin. */
export function firstOf(file: Symbolic): bigint[] {
  return file.first ?? file.points[0] ?? file.symbols.map((symbol) => symbol.min);
}


/** Null: none of the files is a plan of formulas. */
export function readSymbolicShown(files: Request["files"], at: bigint[] | null, progress: Progress): { shown: Shown } | null {
  const file = symbolicAmong(files);
  return file === null ? null : { shown: shownAt(file, at ?? firstOf(file), pointsOf(file, progress), progress) };
}
