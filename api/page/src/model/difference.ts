/** The sentence above two plans: which one needs less, and how many buffers moved. What is proven, the judge has said. */
import { bytes, count, plain } from "../draw/format.ts";
import { amount, type Amount } from "./columns.ts";
import { distance } from "./moves.ts";
import { isPeak } from "./status.ts";
import type { Moves, Shown } from "./shown.ts";
import { NOT_JUDGED, type Sentence } from "./verdict.ts";

export function differenceOf(first: Shown, second: Shown, moves: Moves): Sentence {
  const broken = [first, second].flatMap((shown, place) => (shown.verdict?.fits === false ? [place] : []));
  if (broken.length > 0) return invalid(first, second, broken);
  const { lead, note } = needs(first, second);
  const judged = first.verdict !== null && second.verdict !== null ? "" : NOT_JUDGED;
  return { lead, rest: movedWords(first, moves), tone: "plain", note: `${note} ${judged}`.trim() };
}

function invalid(first: Shown, second: Shown, broken: number[]): Sentence {
  const which = broken.length === 2 ? "Neither is a valid plan." : `The ${broken[0] === 0 ? "first" : "second"} is no valid plan.`;
  return { lead: which, rest: (broken[0] === 0 ? first : second).sentence.rest, tone: "wrong", note: "" };
}

/** The value of a term: as the judge counts it, or a peak as it is drawn; null: it is not known. */
export function valueOf(shown: Shown, term: string): Amount | null {
  const { scene, pools, verdict } = shown;
  const said = verdict?.terms.find((one) => one.term === term)?.value ?? null;
  if (said !== null) return amount(said, scene.wide);
  if (term.startsWith("peak:")) return pools[scene.pools.findIndex((pool) => pool.id === term.slice(5))]?.peak ?? null;
  return isPeak(term) ? pools.reduce((value, { peak }) => (term === "peak" ? value + peak : peak > value ? peak : value), scene.zero) : null;
}

/** By the first term of the objective in which they differ. */
function needs(first: Shown, second: Shown): { lead: string; note: string } {
  const terms = first.scene.objective;
  const uncounted = terms.find((term) => valueOf(first, term) === null || valueOf(second, term) === null);
  for (const term of terms) {
    const [one, other] = [valueOf(first, term), valueOf(second, term)];
    if (one === null || other === null) break;
    if (one === other) continue;
    return { lead: `The second ${differs(term, one, other, first.scene.zero)}`, note: provenWords(first, second, term) };
  }
  const note = uncounted === undefined ? "" : `Costs of ${plain(uncounted, 30).replaceAll("_", " ")} are not compared here.`;
  const [term] = terms;
  const value = term === undefined ? null : valueOf(first, term);
  if (term === undefined || value === null) return { lead: "Both fit.", note };
  const both = isPeak(term) ? `Both need ${bytes(value)}${ofPool(term)}.` : `Both cost ${count(value)}.`;
  return { lead: both, note: [provenWords(first, second, term), note].filter((text) => text !== "").join(" ") };
}

function differs(term: string, one: Amount, other: Amount, zero: Amount): string {
  const by = distance(other - one, zero);
  const way = other < one ? "less" : "more";
  return isPeak(term) ? `needs ${bytes(by)} ${way}${ofPool(term)}.` : `costs ${count(by)} ${way}.`;
}

function ofPool(term: string): string {
  if (term === "max_peak") return " in its largest pool";
  return term.startsWith("peak:") ? ` of ${plain(term.slice(5), 30)}` : "";
}

/** Whether the better one is the best there can be; only of the first term, whose bound needs no other term. */
function provenWords(first: Shown, second: Shown, term: string): string {
  if (term !== first.scene.objective[0]) return "";
  const [one, other] = [valueOf(first, term), valueOf(second, term)];
  if (one === null || other === null) return "";
  const least = one < other ? one : other;
  const bounds = [first, second].flatMap(({ verdict }) => verdict?.terms.find((known) => known.term === term && known.proven)?.bound ?? []);
  if (!bounds.some((bound) => amount(bound, first.scene.wide) >= least)) return "";
  const which = one === other ? "either" : one < other ? "the first" : "the second";
  return `No plan${first.verdict?.keeps_order === true ? " of this order" : ""} can be ${isPeak(term) ? "smaller" : "cheaper"} than ${which}.`;
}

function movedWords(first: Shown, moves: Moves): string {
  const all = first.scene.sizes.length;
  if (moves.order.length === 0) return "Every buffer is at the same place.";
  return `${count(moves.order.length)} of ${count(all)} buffers moved.`;
}

/** The figures beside the sentence. */
export function differenceFacts(first: Shown, second: Shown, moves: Moves): [string, string][] {
  const facts: [string, string][] = [["buffers", count(first.scene.sizes.length)]];
  const term = first.scene.objective[0] ?? "peak";
  const what = isPeak(term) ? "peak" : "cost";
  for (const [shown, which] of [[first, "first"], [second, "second"]] as const) {
    const value = valueOf(shown, term);
    if (value !== null) facts.push([`${what}, ${which}`, count(value)]);
  }
  if (moves.order.length > 0) facts.push(["moved", bytes(moves.bytes)]);
  const far = furthestOf(moves, first.scene.zero);
  if (far > 0) facts.push(["furthest", bytes(far)]);
  return facts;
}

function furthestOf(moves: Moves, zero: Amount): Amount {
  let most = zero;
  for (const buffer of moves.order) {
    const far = distance(moves.by[buffer] as Amount, zero);
    if (far > most) most = far;
  }
  return most;
}
