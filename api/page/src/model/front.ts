/** A front as its document says it, and what holds each of its points: a plan, and the problem that it is for. */
import type { Documents } from "./documents.ts";
import { type RawGraph, readGraph } from "./graph.ts";
import { JsonReader, type Whole } from "./json.ts";
import { readPlan, type RawPlan } from "./plan.ts";
import { readProblem, type RawProblem } from "./problem.ts";
import type { Source } from "./verdict.ts";

/** How a point stands: `wrong` are those that contradict themselves, another point, or their own plan. */
export type Standing = "counted" | "claimed" | "open" | "worse" | "wrong";

export interface FrontPoint {
  /** Of the two terms. */
  values: readonly [Whole, Whole];
  /** Null: no bound is given. */
  bounds: readonly [Whole | null, Whole | null];
  standing: Standing;
  /** What is wrong, in words. */
  faults: string[];
  /** Which of the two values were counted in this page. */
  counted: readonly [boolean, boolean];
  /** Why its plan cannot be drawn; empty: it can. */
  missing: string;
}

export interface Front {
  name: string;
  terms: readonly [string, string];
  points: FrontPoint[];
  /** Whose word counts for what was not counted here. */
  source: Source;
  /** Whether the file says that no point is missing. */
  complete: boolean;
  /** Why nothing fits, as the file says. */
  explanation: string;
  /** The point to begin with; -1: none. */
  first: number;
  /** Whether `memstow view` had the judge count every plan. */
  judged: boolean;
  /** Whether the operators of its graph run as they are listed, although others might need less. */
  keepsOrder: boolean;
  /** Of several targets, the one in whose memories it is; null: there are none. */
  target: Target | null;
}

export interface Target {
  name: string;
  /** Whether it is the smallest that will do. */
  smallest: boolean;
  /** How many there are, and of how many others not every point is known or proven. */
  all: number;
  open: number;
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
  explanation: string;
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
  /** What the judge says against each point; null: it was not asked. */
  told: (string | null)[] | null;
  keepsOrder: boolean;
  target: Target | null;
}

export type Base = Pick<Documents, "problem" | "graph">;

export function readFrontFile(json: JsonReader): FrontFile {
  const found: Omit<FrontFile, "front"> & { front: RawFront | null } = { front: null, name: "", bases: [], of: [], first: -1, told: null, keepsOrder: false, target: null };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "front") found.front = readFront(json);
    else if (field === "name") found.name = json.string();
    else if (field === "problems") json.list(() => found.bases.push({ problem: readProblem(json), graph: null }));
    else if (field === "graphs") json.list(() => found.bases.push({ problem: null, graph: readGraph(json) }));
    else if (field === "of") json.list(() => found.of.push(json.isNull() ? null : Number(json.whole())));
    else if (field === "first") found.first = Number(json.whole());
    else if (field === "keeps_order") found.keepsOrder = readBoolean(json);
    else if (field === "target") found.target = readTarget(json);
    else if (field === "told") {
      const told: (string | null)[] = [];
      json.list(() => told.push(json.isNull() ? null : json.string()));
      found.told = told;
    } else json.skip();
  });
  return found.front === null ? json.fail("no front is in it") : { ...found, front: found.front };
}

function readTarget(json: JsonReader): Target {
  const target: Target = { name: "", smallest: false, all: 0, open: 0 };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "name") target.name = json.string();
    else if (field === "smallest") target.smallest = readBoolean(json);
    else if (field === "all" || field === "open") target[field] = Number(json.whole());
    else json.skip();
  });
  return target;
}

export function readFront(json: JsonReader): RawFront {
  const found = { name: "", points: [] as RawPoint[], complete: false, explanation: "", targets: 0 };
  const terms: string[] = [];
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "name") found.name = json.string();
    else if (field === "terms") json.list(() => terms.push(json.string()));
    else if (field === "points") json.list(() => found.points.push(readPoint(json)));
    else if (field === "targets") json.list(() => {
      found.targets++;
      json.skip();
    });
    else if (field === "complete") found.complete = readBoolean(json);
    else if (field === "explanation") json.object((part) => {
      if (part === "message") found.explanation = json.string();
      else json.skip();
    });
    else json.skip();
  });
  const [first, second] = terms;
  if (first === undefined || second === undefined) return json.fail("a front has two `terms`");
  return { ...found, terms: [first, second] };
}

function readPoint(json: JsonReader): RawPoint {
  const point: RawPoint = { values: new Map(), bounds: new Map(), proven: false, plan: null };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "bounds") json.object((term) => point.bounds.set(term, json.whole()));
    else if (field === "proven") point.proven = readBoolean(json);
    else if (field === "plan") point.plan = readPlan(json);
    else point.values.set(field, json.whole());
  });
  return point;
}

function readBoolean(json: JsonReader): boolean {
  const is = json.peek() === 0x74;
  json.skip();
  return is;
}

/** What a point stands on among what was dropped with the front. */
export function baseOf(file: FrontFile, place: number, dropped: { problem: RawProblem | null; graph: RawGraph | null }): Base | null {
  const held = file.bases[file.of[place] ?? -1];
  if (held !== undefined) return held;
  return dropped.problem === null && dropped.graph === null ? null : dropped;
}
