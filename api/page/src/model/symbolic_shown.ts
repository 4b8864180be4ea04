/** A plan of formulas at a value of the symbols: laid out there, and drawn as an ordinary plan. */
import { bytes, plain } from "../draw/format.ts";
import { type Amount, Column } from "./columns.ts";
import { type Documents, noDocuments } from "./documents.ts";
import { LIMIT, type Values, withReason } from "./formula.ts";
import { ReadError, type Whole } from "./json.ts";
import { inTime } from "./buffers.ts";
import { NameColumn, nameAt } from "./names.ts";
import { neededOf } from "./needed.ts";
import type { RawPlan } from "./plan.ts";
import type { RawProblem } from "./problem.ts";
import { type Scene, scenesOf } from "./scene.ts";
import { mustBeIn, shownOf } from "./show.ts";
import type { Bound, File0, PointShown, PoolShown, Progress, Shown, ValuesShown } from "./shown.ts";
import type { Placed } from "./stack.ts";
import type { Profile } from "./steps.ts";
import { valuesText } from "./symbol.ts";
import { symbolicAmong, type Symbolic } from "./symbolic.ts";
import { NOT_JUDGED, type Sentence } from "./verdict.ts";

/** The plan at this value, and what is known of the points. */
export function shownAt(file: Symbolic, at: bigint[], points: PointShown[], progress: Progress = () => undefined): Shown {
  const laid = laidAt(file, at);
  const shown = shownOf(documentsOf(laid), file.name, progress);
  const scene = { ...shown.scene, name: `${plain(shown.scene.name, 80)} at ${valuesText(file.symbols, at)}` };
  const ratios = points.map(ratioOf);
  const worst = ratios.reduce<number>((best, ratio, place) => (ratio !== null && ratio > (ratios[best] ?? 0) ? place : best), -1);
  const symbolic: ValuesShown = {
    symbols: file.symbols, at, points, worst, shapes: file.shapes, orders: file.placers.length, order: laid.order,
    verdict: file.verdict, status: file.plan?.status ?? "", misfit: laid.misfit, buffers: file.sizes.length, room: roomOf(file), plans: file.plans,
  };
  const pools = shown.pools.map((pool, place) => ({ ...pool, bound: boundOf(shown.scene, pool, place, file.verdict?.valid === true) }));
  return { ...shown, scene, pools, symbolic, sentence: sentenceAt(file, laid, at) ?? shown.sentence };
}

/** What must be live at once in a pool at this value. */
function boundOf(scene: Scene, pool: PoolShown, place: number, proven: boolean): Bound | null {
  const { most, moment } = liveIn(scene, place);
  if (!(most > 0)) return null;
  const spans = Int32Array.from(scene.owner.keys()).filter((span) => {
    const buffer = scene.owner[span] as number;
    return (scene.begin[span] as number) <= moment && moment < (scene.end[span] as number) && (scene.sizes[buffer] as Amount) > 0 && inTime(scene, span)
      && (scene.pools.length === 1 || mustBeIn(scene, buffer, place));
  });
  const caption = proven && most === pool.peak ? "least possible" : `at least ${bytes(most)}`;
  return { value: most, proven, caption, buffers: spans.map((span) => scene.owner[span] as number), moment };
}

/** What is said at this value; null: there is no plan. */
function sentenceAt(file: Symbolic, laid: Laid, at: bigint[]): Sentence | null {
  const { verdict } = file;
  const said = verdict?.sentence ?? null;
  if (laid.misfit !== "") return { lead: "The plan does not fit", rest: "at this value.", tone: "wrong", note: `${plain(laid.misfit, 300)}.` };
  if (said !== null && verdict?.valid === true && file.plan?.status === "infeasible") return nothingFits(laid, said);
  if (said !== null) return said;
  if (laid.objective === null) return null;
  const lead = bytes(laid.objective);
  if (verdict === null) return { lead: `${lead}.`, rest: NOT_JUDGED, tone: "plain", note: "" };
  const point = pointSaid(file, at);
  const { least } = pointAt(file, at);
  if (point !== undefined && point.rest !== "") return { lead: `${lead}.`, rest: point.rest, tone: point.stands === "claimed" ? "claimed" : "proven", note: "" };
  // What is live at once needs as much in any layout, and the judge has said that this one holds.
  if (least !== null && least >= laid.objective) return { lead: `${lead}.`, rest: `No layout for this value can be smaller${verdict.here}.`, tone: "proven", note: "" };
  return { lead: `${lead}.`, rest: least === null ? "" : `At least ${bytes(least)} are needed at this value${point?.word ?? verdict.here}.`, tone: "open", note: "" };
}

/** That no plan holds at every value says little of one value: what is live there is told besides. */
function nothingFits(laid: Laid, said: Sentence): Sentence {
  const [scene] = scenesOf(documentsOf(laid), "");
  const live = scene.pools.map((_, place) => liveIn(scene, place).most);
  const full = live.findIndex((value, place) => isOver(scene, place, value));
  const most = full >= 0 ? full : live.reduce((best, value, place) => (value > (live[best] as Amount) ? place : best), 0);
  const { id = "", capacity = null } = scene.pools[most] ?? {};
  const here = `At least ${bytes(live[most] as Amount)} are needed here, and ${plain(id, 40)} has ${capacity === null ? "no limit" : bytes(capacity)}`;
  if (full >= 0) return { ...said, lead: "No plan fits.", rest: `${here}.`, tone: "wrong" };
  const known = (live[most] as Amount) > 0 ? `${here}: this value alone may fit.` : "Of this one nothing is known.";
  return { ...said, note: `${known} ${said.note}` };
}

/** What must be live in a pool, of what lives in time. */
function liveIn(scene: Scene, place: number): Profile {
  return neededOf(scene, (buffer) => inTime(scene, scene.firstSpan[buffer] as number) && (scene.pools.length === 1 || mustBeIn(scene, buffer, place)));
}

function isOver(scene: Scene, place: number, needed: Amount): boolean {
  const capacity = scene.pools[place]?.capacity ?? null;
  return capacity !== null && needed > capacity;
}

type PointSaid = NonNullable<Symbolic["verdict"]>["points"][number];

/** What the judge says of this value, where it is one of the points. */
function pointSaid(file: Symbolic, at: bigint[]): PointSaid | undefined {
  return file.verdict?.points.find((one) => file.symbols.every((symbol, place) => BigInt(one.at[symbol.id] ?? -1) === at[place]));
}

function roomOf(file: Symbolic): bigint | null {
  const [pool, ...others] = file.problem.pools;
  return pool === undefined || pool.capacity === null || others.length > 0 ? null : BigInt(pool.capacity);
}

/** The peak at a value, and what is live there at once, without the map. */
export function pointAt(file: Symbolic, at: bigint[]): PointShown {
  const laid = laidAt(file, at);
  const [scene] = scenesOf(documentsOf(laid), "");
  const live = scene.pools.map((_, place) => liveIn(scene, place).most);
  const over = live.some((value, place) => isOver(scene, place, value));
  const peak = laid.objective;
  const own = objectiveOf(file, live.map(BigInt));
  const said = pointSaid(file, at);
  const claimed = said === undefined || said.fault !== "" ? own : BigInt(said.least);
  const least = claimed > own ? claimed : own;
  const known = least > 0n || peak === 0n;
  const met = peak !== null && peak === least ? "least" : "above";
  const stands = said?.stands ?? (peak === null ? (over || file.placers.length > 0 ? "no room" : "open") : known ? met : "open");
  return { at, peak, least: known ? least : null, over, stands: file.verdict === null && stands === "least" ? "all live" : stands, fault: said?.fault ?? "" };
}

export function ratioOf(point: PointShown): number | null {
  if (point.peak === null || point.least === null) return null;
  if (point.least === 0n) return point.peak === 0n ? 1 : null;
  return Number(point.peak) / Number(point.least);
}

function documentsOf(laid: Laid): Documents {
  return { ...noDocuments(), problem: laid.problem, plans: laid.plan === null ? [] : [{ name: "", plan: laid.plan, verdict: null }] };
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
  const lowest = best as { placed: Placed; value: bigint; order: number } | null;
  if (file.plan === null) return { problem, plan: null, objective: null, order: 0, misfit };
  if (lowest === null) {
    const status = file.placers.length === 0 && file.broken === "" ? file.plan.status : "unknown";
    return { problem, plan: { ...file.plan, ...placements(file, null), status, terms: [], uses: [] }, objective: null, order: 0, misfit };
  }
  const term = { term: termOf(file), value: wholeOf(lowest.value), bound: 0 };
  const plan = { ...file.plan, ...placements(file, lowest.placed), status: "feasible", terms: [term], uses: [], explanation: "", digest: null };
  return { problem, plan, objective: lowest.value, order: lowest.order, misfit: "" };
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
export function readSymbolicShown(files: File0[], at: bigint[] | null, progress: Progress): { shown: Shown } | null {
  const file = symbolicAmong(files);
  return file === null ? null : { shown: shownAt(file, at ?? firstOf(file), pointsOf(file, progress), progress) };
}
