/** The sentence above two plans: which one needs less, and how many buffers moved. Only figures that this page has
 * counted itself are compared. */
import { bytes, count, plain } from "../draw/format.ts";
import type { Amount } from "./columns.ts";
import { distance, type Moves } from "./moves.ts";
import { isPeak } from "./status.ts";
import type { Shown } from "./shown.ts";
import { boundOf, type Fact, isCounted, planOf, valueOf, type Verdict } from "./verdict.ts";

export function differenceOf(first: Shown, second: Shown, moves: Moves): Verdict {
  const broken = [first, second].flatMap((shown, place) => (shown.validity.faults.length > 0 ? [place] : []));
  if (broken.length > 0) return invalid(first, second, broken);
  const { lead, note } = needs(first, second);
  return { lead, rest: movedWords(first, moves), tone: "plain", note: [note, uncheckedWords(first, second)].filter((text) => text !== "").join(" ") };
}

function invalid(first: Shown, second: Shown, broken: number[]): Verdict {
  const which = broken.length === 2 ? "Neither is a valid plan." : `The ${broken[0] === 0 ? "first" : "second"} is no valid plan.`;
  const fault = (broken[0] === 0 ? first : second).validity.faults[0] ?? "";
  return { lead: which, rest: `${plain(fault, 160)}.`, tone: "wrong", note: "" };
}

/** By the first term of the objective in which they differ. */
function needs(first: Shown, second: Shown): { lead: string; note: string } {
  const terms = first.scene.objective;
  const uncounted = terms.find((term) => !isCounted(term));
  for (const term of terms) {
    if (!isCounted(term)) break;
    const [one, other] = [valueOf(first, term), valueOf(second, term)];
    if (one === null || other === null || one === other) continue;
    return { lead: `The second ${differs(term, one, other, first.scene.zero)}`, note: provenWords(first, second, term) };
  }
  const note = uncounted === undefined ? "" : `Costs of ${plain(uncounted, 30).replaceAll("_", " ")} are not compared here.`;
  const [term] = terms;
  const value = term !== undefined && isCounted(term) ? valueOf(first, term) : null;
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
  const proven = [first, second].some((shown) => {
    const bound = boundOf(shown, term);
    return bound !== null && bound.checked && bound.value >= least;
  });
  if (!proven) return "";
  const which = one === other ? "either" : one < other ? "the first" : "the second";
  return `No ${planOf(first)} can be ${isPeak(term) ? "smaller" : "cheaper"} than ${which}.`;
}

function movedWords(first: Shown, moves: Moves): string {
  const all = first.scene.sizes.length;
  if (moves.order.length === 0) return "Every buffer is at the same place.";
  return `${count(moves.order.length)} of ${count(all)} buffers moved.`;
}

function uncheckedWords(first: Shown, second: Shown): string {
  const unchecked = [...new Set([...first.validity.unchecked, ...second.validity.unchecked])];
  return unchecked.length > 0 ? `Not checked here: ${unchecked.join("; ")}.` : "";
}

/** The figures beside the sentence. */
export function differenceFacts(first: Shown, second: Shown, moves: Moves): Fact[] {
  const facts: Fact[] = [{ label: "buffers", value: count(first.scene.sizes.length) }];
  const term = first.scene.objective[0] ?? "peak";
  if (isCounted(term)) {
    const [one, other] = [valueOf(first, term), valueOf(second, term)];
    const what = isPeak(term) ? "peak" : "cost";
    if (one !== null) facts.push({ label: `${what}, first`, value: count(one) });
    if (other !== null) facts.push({ label: `${what}, second`, value: count(other) });
  }
  if (moves.order.length > 0) facts.push({ label: "moved", value: bytes(moves.bytes) });
  const far = furthestOf(moves, first.scene.zero);
  if (far > 0) facts.push({ label: "furthest", value: bytes(far) });
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
