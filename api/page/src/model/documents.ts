/** What a file holds: a problem, a plan, or an object with both (a request, or what `memstow view` writes). */
import { JsonReader, ReadError } from "./json.ts";
import { readPlan, type RawPlan } from "./plan.ts";
import { readProblem, type RawProblem } from "./problem.ts";

/** A better plan or bound, at its second of a run. */
export interface SearchStep {
  seconds: number;
  value: number | null;
  bound: number | null;
  solver: string;
}

export interface Documents {
  problem: RawProblem | null;
  plan: RawPlan | null;
  search: SearchStep[];
  /** What the file calls itself. */
  name: string;
}

const FIELDS_OF_PLANS = new Set(["placements", "status", "explanation", "closest", "solver", "digest"]);

export function readDocuments(bytes: Uint8Array, progress: (part: number) => void): Documents {
  const found: Documents = { problem: null, plan: null, search: [], name: "" };
  const fields = fieldsOf(bytes);
  const json = new JsonReader(bytes, progress);
  if (fields.has("operators")) {
    throw new ReadError("this is a graph: make its problem with `memstow convert`, or a plan with `memstow solve`");
  }
  if (fields.has("buffers")) found.problem = readProblem(json);
  else if (fields.has("problem") || fields.has("plan")) readBoth(json, found);
  else if ([...fields].some((field) => FIELDS_OF_PLANS.has(field))) found.plan = readPlan(json);
  else json.fail("neither a problem (with `buffers`) nor a plan (with `placements`)");
  json.end();
  return found;
}

function readBoth(json: JsonReader, found: Documents): void {
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "problem") found.problem = readProblem(json);
    else if (field === "plan") found.plan = readPlan(json);
    else if (field === "name") found.name = json.string();
    else if (field === "search") json.list(() => found.search.push(readStep(json)));
    else json.skip();
  });
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
function fieldsOf(bytes: Uint8Array): Set<string> {
  const json = new JsonReader(bytes);
  if (!json.isObject()) json.fail("expected a JSON object");
  const fields = new Set<string>();
  const enough = new Error();
  try {
    json.object((field) => {
      fields.add(field);
      if (field === "buffers" || field === "operators" || FIELDS_OF_PLANS.has(field)) throw enough;
      if (field === "problem" || field === "plan") throw enough;
      json.skip();
    });
  } catch (error) {
    if (error !== enough) throw error;
  }
  return fields;
}
