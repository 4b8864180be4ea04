/** What a file holds: a problem, a graph, a plan, or an object with these (a request, or what `memstow view` writes),
 * which may hold a second plan. */
import { type RawGraph, readGraph } from "./graph.ts";
import type { Shortfall } from "./changes.ts";
import { JsonReader, valueIn } from "./json.ts";
import type { Segment } from "./loops.ts";
import { readPlan, type RawPlan } from "./plan.ts";
import { readProblem, type RawProblem, strings } from "./problem.ts";
import type { Verdict } from "./verdict.ts";

/** A better plan or bound, at its second of a run. */
export interface SearchStep {
  seconds: number;
  value: number | null;
  bound: number | null;
  solver: string;
}

export interface NamedPlan {
  name: string;
  plan: RawPlan;
  /** What the judge says of it; null: nobody has judged it here. */
  verdict: Verdict | null;
}

export interface Documents {
  problem: RawProblem | null;
  graph: RawGraph | null;
  /** One, or two to compare. */
  plans: NamedPlan[];
  search: SearchStep[];
  /** What the file calls itself. */
  name: string;
  /** The fewest buffers that must change, as `memstow view` has found them. */
  shortfalls: Shortfall[];
  /** What the program does, segment by segment, as `memstow view` has written it; null: that is not known. */
  loops: Segment[] | null;
}

const FIELDS_OF_PLANS = new Set(["placements", "status", "explanation", "closest", "solver", "digest"]);

export function noDocuments(): Documents {
  return { problem: null, graph: null, plans: [], search: [], name: "", shortfalls: [], loops: null };
}

/** `trusted`: `memstow view` or the service has made it; nobody else is believed what was judged. */
export function readDocuments(bytes: Uint8Array, trusted: boolean, progress: (part: number) => void): Documents {
  const documents = noDocuments();
  const fields = fieldsOf(bytes);
  const json = new JsonReader(bytes, progress);
  if (fields.has("symbols")) json.fail("sizes are formulas, which have a page of their own: `memstow view PROBLEM PLAN` makes it");
  if (fields.has("operators")) documents.graph = readGraph(json);
  else if (fields.has("buffers")) documents.problem = readProblem(json);
  else if (fields.has("problem") || fields.has("graph") || fields.has("plan")) readBoth(json, documents);
  else if ([...fields].some((field) => FIELDS_OF_PLANS.has(field))) documents.plans.push({ name: "", plan: readPlan(json), verdict: null });
  else if (fields.has("terms") && fields.has("points")) json.fail("a front has a page of its own: `memstow view FILE front.json` makes it");
  else if (fields.has("programs")) json.fail("several programs (`programs`): `memstow solve` plans them, and `memstow view PLAN --problem FILE` makes a page of that");
  else json.fail("neither a problem (with `buffers`), nor a graph (with `operators`), nor a plan (with `placements`)");
  json.end();
  return trusted ? documents : { ...documents, plans: documents.plans.map((one) => ({ ...one, verdict: null })), shortfalls: [], loops: null };
}

function readBoth(json: JsonReader, documents: Documents): void {
  let names: string[] = [];
  let order: string | null = null;
  const verdicts: Verdict[] = [];
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "problem") documents.problem = readProblem(json);
    else if (field === "graph") documents.graph = readGraph(json);
    else if (field === "order") order = json.string();
    else if (field === "verdict") verdicts[0] = valueIn(json) as Verdict;
    else if (field === "other_verdict") verdicts[1] = valueIn(json) as Verdict;
    else if (field === "shortfalls") documents.shortfalls = valueIn(json) as Shortfall[];
    else if (field === "loops") documents.loops = valueIn(json) as Segment[];
    else if (field === "plan" || field === "other") documents.plans.push({ name: "", plan: readPlan(json), verdict: null });
    else if (field === "names") names = strings(json);
    else if (field === "name") documents.name = json.string();
    else if (field === "search") json.list(() => documents.search.push(readStep(json)));
    else json.skip();
  });
  if (documents.graph !== null && order !== null) documents.graph.order = order;
  documents.plans.forEach((plan, place) => Object.assign(plan, { name: names[place] ?? "", verdict: verdicts[place] ?? null }));
}

function readStep(json: JsonReader): SearchStep {
  const step: SearchStep = { seconds: 0, value: null, bound: null, solver: "" };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "seconds" || field === "value" || field === "bound") step[field] = json.number();
    else if (field === "solver") step.solver = json.string();
    else json.skip();
  });
  return step;
}

/** The names of the outermost fields; large values are passed over byte by byte. */
export function fieldsOf(bytes: Uint8Array): Set<string> {
  const json = new JsonReader(bytes);
  if (!json.isObject()) json.fail("expected a JSON object");
  const fields = new Set<string>();
  const enough = new Error();
  try {
    json.object((field) => {
      fields.add(field);
      if (field === "buffers" || field === "operators" || field === "graph" || FIELDS_OF_PLANS.has(field)) throw enough;
      if (field === "problem" || field === "plan") throw enough;
      json.skip();
    });
  } catch (error) {
    if (error !== enough) throw error;
  }
  return fields;
}
