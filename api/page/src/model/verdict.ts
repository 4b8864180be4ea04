/** The first line of the page: how large the plan is, and whether a smaller one can exist.
 *
 * Nothing is called the least possible that this page has not counted, or the service has not judged.
 */
import { bytes, count, percentUp, plain, seconds } from "../draw/format.ts";
import type { Amount } from "./columns.ts";
import type { Bound } from "./bounds.ts";
import type { Shown } from "./shown.ts";
import { hasNoPlan, isPeak } from "./status.ts";

export type Tone = "proven" | "open" | "claimed" | "wrong" | "plain";

export interface Verdict {
  lead: string;
  rest: string;
  tone: Tone;
  /** One more sentence, where it is needed. */
  note: string;
}

/** Whose word counts: a file from anywhere, or the service, which has judged the plan. */
export type Source = "file" | "service";

/** Who says that a bound holds: this page has counted it, the judge has when `memstow view` made the page, the service
 * that has found it, or only the file. */
export type Whose = "counted" | "judged" | "service" | "claimed";

export function whose(bound: Bound, source: Source): Whose {
  if (bound.checked) return "counted";
  return bound.judged ? "judged" : source === "service" ? "service" : "claimed";
}

/** The same words wherever a bound is told; what was counted here needs none. */
export const ON_WHOSE_WORD: Record<Whose, string> = {
  counted: "", judged: ", as the judge says", service: ", as the service says", claimed: ", as the file claims",
};

export function verdictOf(shown: Shown, source: Source = "file"): Verdict {
  const { scene, validity } = shown;
  const claims = scene.claims;
  if (claims === null) return ofProblem(shown);
  if (shown.symbolic?.verdict) return onWord(shown.symbolic.verdict, source);
  if (claims.status === "infeasible") return ofInfeasible(shown, source);
  if (claims.status === "unknown") {
    return { lead: "No plan was found,", rest: "and no proof that none exists.", tone: "open", note: "" };
  }
  if (validity.faults.length > 0) {
    const more = validity.faults.length > 1 ? ` And ${validity.faults.length - 1} more.` : "";
    return { lead: "This is no valid plan.", rest: `${plain(validity.faults[0] ?? "", 160)}.`, tone: "wrong", note: more.trim() };
  }
  const verdict = ofPlan(shown, source);
  const unchecked = validity.unchecked.length > 0 ? `Not checked here: ${validity.unchecked.join("; ")}.` : "";
  return { ...verdict, note: [verdict.note, unchecked].filter((text) => text !== "").join(" ") };
}

function ofProblem(shown: Shown): Verdict {
  if (shown.scene.program?.anyOrder === true) {
    return { lead: "No plan yet.", rest: "", tone: "open", note: "Drawn in the order that is listed. Which order needs the least, the solver must say." };
  }
  const most = shown.pools.length === 1 ? shown.pools[0]?.bound : null;
  if (most === null || most === undefined) return { lead: "A problem without a plan.", rest: "", tone: "plain", note: "" };
  return { lead: "No plan yet.", rest: `${keepsOrder(shown) ? "This order" : "It"} takes at least ${bytes(most.value)}.`, tone: "open", note: "" };
}

/** What nobody has counted here stands on the word of the file, or of the service. */
function onWord(verdict: Verdict, source: Source): Verdict {
  if (verdict.tone !== "claimed") return verdict;
  const said = ON_WHOSE_WORD[source === "service" ? "service" : "claimed"];
  return { ...verdict, rest: `${verdict.rest}${said}.`.replace(/^, /, ""), tone: source === "service" ? "wrong" : "claimed" };
}

function ofInfeasible(shown: Shown, source: Source): Verdict {
  const explanation = shown.scene.claims?.explanation ?? null;
  const note = explanation === null ? "" : plain(explanation.message, 400);
  const lead = keepsOrder(shown) ? "No plan of this order fits" : "No plan fits";
  if (shown.explained) return { lead, rest: "into these memories.", tone: "wrong", note };
  return onWord({ lead, rest: "into these memories", tone: "claimed", note }, source);
}

function ofPlan(shown: Shown, source: Source): Verdict {
  const { scene } = shown;
  const objective = scene.objective[0];
  if (objective === undefined) return { lead: "It fits.", rest: "", tone: "proven", note: "" };
  const value = valueOf(shown, objective);
  if (value === null) return { lead: "It fits.", rest: "", tone: "plain", note: "" };
  const verdict = worded(objective, value, boundOf(shown, objective), source, shown);
  if (verdict.tone !== "proven" && verdict.tone !== "claimed") return verdict;
  const later = openLater(shown, source);
  return later === "" ? verdict : { ...verdict, rest: `${verdict.rest} ${later}`, tone: "open" };
}

/** The first of the later terms that a plan with the same values of those before it may have less of. */
function openLater(shown: Shown, source: Source): string {
  const { claims } = shown.scene;
  for (const [place, { term }] of (claims?.terms ?? []).entries()) {
    const value = valueOf(shown, term);
    const bound = shown.terms[place] ?? null;
    if (place === 0 || value === null || bound === null || bound.value >= value) continue;
    const say = isPeak(term) || term.startsWith("peak:") ? bytes : count;
    return `Whether ${say(value)} is then the least ${label(term).replace(", bytes", "")} is open: at least ${say(bound.value)}${ON_WHOSE_WORD[whose(bound, source)]}.`;
  }
  return "";
}

/** Whether the operators of a graph run as they are listed, so that no bound is about other orders. */
export function keepsOrder(shown: Shown): boolean {
  return !shown.ofSchedule && shown.scene.program?.keepsOrder === true;
}

/** Whether this page counts the value of a term itself. */
export function isCounted(term: string): boolean {
  return isPeak(term) || term === "placement_cost";
}

/** The value of a term, counted here; for terms that need more than the plan, what the plan says. */
export function valueOf(shown: Shown, term: string): Amount | null {
  const { scene, pools } = shown;
  if (term === "peak" || term === "max_peak") {
    let value = scene.zero;
    for (const pool of pools) value = term === "peak" ? value + pool.peak : pool.peak > value ? pool.peak : value;
    return value;
  }
  if (term.startsWith("peak:")) {
    const place = scene.pools.findIndex((pool) => pool.id === term.slice(5));
    return pools[place]?.peak ?? null;
  }
  if (term === "placement_cost") return placementCost(shown);
  return scene.claims?.terms.find((one) => one.term === term)?.value ?? null;
}

function placementCost(shown: Shown): Amount {
  const { scene } = shown;
  let cost = scene.zero;
  for (let buffer = 0; buffer < scene.pool.length; buffer++) {
    const size = scene.sizes[buffer] as Amount;
    if (!(size > 0)) continue;
    const given = scene.accesses?.[buffer];
    const accesses = given === undefined || given < 0 ? size : given;
    cost += accesses * (scene.pools[scene.pool[buffer] as number]?.cost ?? scene.zero);
  }
  return cost;
}

/** The best bound on a term: that of the term itself, or of the only pool. */
export function boundOf(shown: Shown, objective: string): Bound | null {
  const ofTerm = shown.terms[shown.scene.claims?.terms.findIndex((term) => term.term === objective) ?? -1];
  const own = isPeak(objective) && shown.scene.pools.length === 1 ? shown.pools[0]?.bound ?? null : null;
  if (ofTerm === undefined || ofTerm === null) return own;
  if (own === null) return ofTerm;
  return own.value > ofTerm.value || (own.checked && own.value >= ofTerm.value) ? own : ofTerm;
}

function worded(term: string, value: Amount, bound: Bound | null, source: Source, shown: Shown): Verdict {
  const lead = isPeak(term) ? bytes(value) : "It fits.";
  const { least, nearly } = words(term, value, shown);
  if (bound === null) return { lead: isPeak(term) ? `${lead}.` : lead, rest: "", tone: "plain", note: "No bound is known." };
  const by = whose(bound, source);
  const word = `${ON_WHOSE_WORD[by]}.`;
  const note = by === "service" || by === "claimed" ? unchecked(bound, shown) : "";
  if (bound.value > value) {
    // A claim that the plan itself disproves.
    return { lead: `${lead}.`, rest: `The ${source} claims more than can be true.`, tone: "wrong", note: "" };
  }
  if (bound.value >= value) {
    const said = `${least}${word}`;
    return { lead: isPeak(term) ? `${lead}.` : lead, rest: said, tone: by === "claimed" ? "claimed" : "proven", note };
  }
  const part = Number(value - bound.value) / Number(value);
  // Of a plan that may be more than twice as large as it must be, a share says nothing.
  if (part > 0.5 && isPeak(term)) {
    return { lead: `${lead}.`, rest: `At least ${bytes(bound.value)} ${bound.value > 1 ? "are" : "is"} needed${word}`, tone: "open", note };
  }
  const rest = `${nearly.replace("%", percentUp(part))}${word}`;
  return { lead: isPeak(term) && !term.startsWith("peak:") ? `${lead},` : lead, rest, tone: "open", note };
}

function unchecked(bound: Bound, shown: Shown): string {
  const prover = shown.scene.claims?.prover ?? null;
  return `This page could not count it again: ${bound.reason}${prover === null || bound.reason.includes("claimed") ? "" : ` (${plain(prover, 40)})`}.`;
}

/** Of what a graph is run in a bound is about; "": of everything that it allows. */
function runIn(shown: Shown): string {
  if (shown.scene.program?.anyOrder === true) return "";
  return shown.ofSchedule ? "this schedule" : keepsOrder(shown) ? "this order" : "";
}

/** What a bound is about: "plan", or "plan of this order". */
export function planOf(shown: Shown): string {
  const run = runIn(shown);
  return run === "" ? "plan" : `plan of ${run}`;
}

/** What is said where no plan is better, and where one may be: % is the part that such a plan could save, as in a gap. */
function words(term: string, value: Amount, shown: Shown): { least: string; nearly: string } {
  const { scene, symbolic } = shown;
  const anyOrder = scene.program?.anyOrder === true;
  if (symbolic !== undefined && term === "peak") return { least: "No layout for this value can be smaller", nearly: "of which at most % could be saved at this value" };
  if (anyOrder && term === "peak") return { least: "No order and no plan can be smaller", nearly: "of which at most % could be saved in any order" };
  const run = runIn(shown);
  const one = planOf(shown);
  const saved = `at most % could be saved${run === "" ? "" : ` in ${run}`}`;
  if (term === "peak") return { least: `No ${one} can be smaller`, nearly: `of which ${saved}` };
  if (term === "max_peak") return { least: `No ${one} has a smaller largest pool`, nearly: `of which ${saved}` };
  if (term.startsWith("peak:")) {
    const pool = plain(term.slice(5), 30);
    return { least: `No ${one} needs less of ${pool}`, nearly: `of ${pool}, of which ${saved}` };
  }
  const what = { placement_cost: "cheaper accesses", reuse_cost: "lower costs of reuse", moves: "fewer moves", preference: "better pools" }[term] ?? plain(term, 30);
  return { least: `No ${one} has ${what}: ${count(value)}`, nearly: `Of its cost of ${count(value)} ${saved}` };
}

export interface Fact {
  label: string;
  value: string;
}

const BOUNDS: Record<Whose, string> = {
  counted: "proven bound", judged: "judged bound", service: "bound of the service", claimed: "claimed bound",
};

/** The figures beside the sentence. */
export function factsOf(shown: Shown, source: Source): Fact[] {
  const { scene } = shown;
  const facts: Fact[] = [{ label: "buffers", value: count(scene.sizes.length) }];
  const claims = scene.claims;
  if (claims === null || hasNoPlan(scene)) return facts;
  const objective = scene.objective[0] ?? "peak";
  const value = valueOf(shown, objective);
  const bound = boundOf(shown, objective);
  if (value !== null) facts.push({ label: label(objective), value: count(value) });
  if (bound !== null) facts.push({ label: BOUNDS[whose(bound, source)], value: count(bound.value) });
  if (value !== null && bound !== null && value > bound.value && isPeak(objective)) {
    facts.push({ label: "gap", value: bytes(value - bound.value) });
  }
  facts.push({ label: "filled", value: filled(shown) });
  if (claims.solver !== null) {
    const took = seconds(claims.seconds);
    facts.push({ label: "found by", value: `${plain(claims.solver, 36)}${took ? `, ${took}` : ""}` });
  }
  return facts;
}

function label(term: string): string {
  return term === "peak" ? "peak, bytes" : term.replaceAll("_", " ").replace("peak:", "peak of ");
}

/** How much of the rectangle of peak and time is in use. */
function filled(shown: Shown): string {
  const { scene } = shown;
  let used = 0;
  let all = 0;
  const { times } = scene.axis;
  const long = Array.isArray(times)
    ? (from: number, to: number) => Number((times[to] as bigint) - (times[from] as bigint))
    : (from: number, to: number) => (times[to] as number) - (times[from] as number);
  for (const pool of shown.pools) {
    all += Number(pool.peak) * long(0, times.length - 1);
    for (const span of pool.given.spans) {
      used += Number(scene.sizes[scene.owner[span] as number]) * long(scene.begin[span] as number, scene.end[span] as number);
    }
  }
  return all > 0 ? `${(Math.floor((used / all) * 1000) / 10).toFixed(1)} %` : "nothing";
}
