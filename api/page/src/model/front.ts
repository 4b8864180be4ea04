/** A front as its document says it, and what holds each of its points: a plan, and the problem that it is for. */
import type { Documents } from "./documents.ts";
import { type RawGraph, readGraph } from "./graph.ts";
import { type JsonReader, valueIn, type Whole } from "./json.ts";
import { readPlan, type RawPlan } from "./plan.ts";
import { readProblem, type RawProblem } from "./problem.ts";
import type { Sentence, Verdict } from "./verdict.ts";

/** How a point stands: `worse` are no better than another in both terms, `wrong` contradict themselves, another point, or their
 * own plan. */
export type Standing = "proven" | "claimed" | "open" | "worse" | "wrong";

export interface FrontPoint {
  /** Of the two terms. */
  values: readonly [Whole, Whole];
  /** Null: no bound is given. */
  bounds: readonly [Whole | null, Whole | null];
  standing: Standing;
  /** What is wrong, in words. */
  faults: string[];
  /** Why its plan cannot be drawn; empty: it can. */
  missing: string;
}

/** What the judge says of a front, and of each of its points. */
export interface FrontVerdict extends Sentence {
  facts: [label: string, value: string][];
  /** On whose word stands what the judge has not counted. */
  word: string;
  keeps_order: boolean;
  points: (Pick<FrontPoint, "standing" | "faults" | "missing"> & { verdict: Verdict | null })[];
}

export interface Front {
  name: string;
  terms: readonly [string, string];
  points: FrontPoint[];
  /** Whether the file says that no point is missing. */
  complete: boolean;
  /** The point to begin with; -1: none. */
  first: number;
  /** Null: nobody has judged it here. */
  verdict: FrontVerdict | null;
}

export interface RawPoint {
  values: Map<string, Whole>;
  bounds: Map<string, Whole>;
  proven: boolean;
  plan: RawPlan | null;
}

export interface RawFront {
  name: string;
  terms: readonly [string, string];
  points: RawPoint[];
  complete: boolean;
  targets: number;
}

/** What a file with a front holds beside it. */
export interface FrontFile {
  front: RawFront;
  name: string;
  /** The problems, or graphs whose listed order is that of the plan; for each point which of them it is for. */
  bases: Base[];
  of: (number | null)[];
  first: number;
  verdict: FrontVerdict | null;
}

export type Base = Pick<Documents, "problem" | "graph">;

export function readFrontFile(json: JsonReader): FrontFile {
  const file: Omit<FrontFile, "front"> & { front: RawFront | null } = { front: null, name: "", bases: [], of: [], first: -1, verdict: null };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "front") file.front = readFront(json);
    else if (field === "name") file.name = json.string();
    else if (field === "problems") json.list(() => file.bases.push({ problem: readProblem(json), graph: null }));
    else if (field === "graphs") json.list(() => file.bases.push({ problem: null, graph: readGraph(json) }));
    else if (field === "of") json.list(() => file.of.push(json.isNull() ? null : Number(json.whole())));
    else if (field === "first") file.first = Number(json.whole());
    else if (field === "verdict") file.verdict = valueIn(json) as FrontVerdict;
    else json.skip();
  });
  return file.front === null ? json.fail("no front is in it") : { ...file, front: file.front };
}

export function readFront(json: JsonReader): RawFront {
  const front = { name: "", points: [] as RawPoint[], complete: false, targets: 0 };
  const terms: string[] = [];
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "name") front.name = json.string();
    else if (field === "terms") json.list(() => terms.push(json.string()));
    else if (field === "points") json.list(() => front.points.push(readPoint(json)));
    else if (field === "targets") json.list(() => {
      front.targets++;
      json.skip();
    });
    else if (field === "complete") front.complete = json.boolean();
    else json.skip();
  });
  const [first, second] = terms;
  if (first === undefined || second === undefined) return json.fail("a front has two `terms`");
  return { ...front, terms: [first, second] };
}

function readPoint(json: JsonReader): RawPoint {
  const point: RawPoint = { values: new Map(), bounds: new Map(), proven: false, plan: null };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "bounds") json.object((term) => point.bounds.set(term, json.whole()));
    else if (field === "proven") point.proven = json.boolean();
    else if (field === "plan") point.plan = readPlan(json);
    else point.values.set(field, json.whole());
  });
  return point;
}

/** What a point stands on among what was dropped with the front. */
export function baseOf(file: FrontFile, place: number, dropped: { problem: RawProblem | null; graph: RawGraph | null }): Base | null {
  const held = file.bases[file.of[place] ?? -1];
  if (held !== undefined) return held;
  return dropped.problem === null && dropped.graph === null ? null : dropped;
}
