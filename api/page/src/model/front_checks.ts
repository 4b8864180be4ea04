/** How the points of a front stand: what the document says is held against itself and against the plans.
 *
 * A point is proven only as somebody says, unless both of its bounds follow from what is live in any plan.
 */
import { count, plain } from "../draw/format.ts";
import { type Base, baseOf, type Front, type FrontFile, type FrontPoint, type RawFront, type RawPoint, type Standing } from "./front.ts";
import { ReadError, type Whole } from "./json.ts";
import type { RawPlan } from "./plan.ts";
import { boundOf, isCounted, valueOf } from "./verdict.ts";
import { hasNoPlan } from "./status.ts";
import type { Shown } from "./shown.ts";

/** Plans of more buffers than this in all are not counted when the front is opened; each is when it is chosen. */
const MOST_BUFFERS = 400_000;
/** The objective of a plan speaks of the peak of a pool where the front speaks of its capacity. */
const CAPACITY = /^capacity(?=:|$)/;

type Show = (base: Base, plan: RawPlan) => Shown;

interface Draft {
  values: [Whole, Whole];
  bounds: [Whole | null, Whole | null];
  proven: boolean;
  faults: string[];
  counted: [boolean, boolean];
  /** Bounds that hold for every plan, counted here. */
  known: [boolean, boolean];
  missing: string;
}

export function checkedFront(file: FrontFile, dropped: Base, show: Show, progress: (part: number) => void): Front {
  const raw = file.front;
  if (raw.targets > 0 && raw.points.length === 0) {
    throw new ReadError("it compares targets; a front of one of them can be drawn: `memstow front FILE --capacity N --output front.json`");
  }
  let left = MOST_BUFFERS;
  const drafts = raw.points.map((point, place) => {
    progress(place / raw.points.length);
    const draft = draftOf(raw, point, place);
    const said = file.told?.[place] ?? null;
    if (said !== null) draft.faults.push(plain(said, 400));
    const base = baseOf(file, place, dropped);
    const { plan } = point;
    draft.missing = whyNot(plan, base, file);
    if (plan === null || base === null || draft.missing !== "") return draft;
    left -= plan.offsets.length;
    if (left >= 0) countPlan(raw, draft, base, plan, show);
    return draft;
  });
  // A point that is wrong by itself says nothing about the others.
  const sound = drafts.filter((draft) => draft.faults.length === 0);
  const worse = drafts.map((draft) => sound.some((other) => other !== draft && isNoWorse(other.values, draft.values, drafts.indexOf(other) < drafts.indexOf(draft))));
  for (const draft of drafts) againstOthers(raw, draft, sound);
  return {
    name: raw.name || file.name, terms: raw.terms, complete: raw.complete, explanation: raw.explanation,
    first: file.first < drafts.length ? file.first : -1, judged: file.told !== null, keepsOrder: file.keepsOrder, target: file.target, source: "file",
    points: drafts.map((draft, place) => pointOf(draft, worse[place] === true)),
  };
}

function pointOf(draft: Draft, isWorse: boolean): FrontPoint {
  const { values, bounds, faults, counted, missing, known } = draft;
  let standing: Standing = draft.proven ? (known[0] && known[1] ? "counted" : "claimed") : "open";
  if (isWorse) standing = "worse";
  if (faults.length > 0) standing = "wrong";
  return { values, bounds, faults, counted, missing, standing };
}

function draftOf(front: RawFront, point: RawPoint, place: number): Draft {
  const value = (term: string): Whole => {
    const found = point.values.get(term);
    if (found === undefined || found < 0) throw new ReadError(`point ${place + 1} of the front has no value of ${JSON.stringify(term)}`);
    return found;
  };
  const values: [Whole, Whole] = [value(front.terms[0]), value(front.terms[1])];
  const bounds: [Whole | null, Whole | null] = [point.bounds.get(front.terms[0]) ?? null, point.bounds.get(front.terms[1]) ?? null];
  const faults: string[] = [];
  front.terms.forEach((term, at) => {
    const bound = bounds[at as 0 | 1] ?? null;
    if (bound !== null && bound > values[at as 0 | 1]) faults.push(`the bound on ${plain(term, 40)} is above its value`);
    else if (point.proven && bound !== values[at as 0 | 1]) faults.push(`it is called proven, but its bound on ${plain(term, 40)} does not say so`);
  });
  return { values, bounds, faults, proven: point.proven, counted: [false, false], known: [false, false], missing: "" };
}

/** Why the plan of a point cannot be drawn. */
function whyNot(plan: RawPlan | null, base: Base | null, file: FrontFile): string {
  if (plan === null) return "this file holds no plan of it";
  if (base === null) {
    return file.bases.length > 0 ? "this file holds the plans of some points only" : "its plan names buffers: drop the problem with the front";
  }
  if (plan.beyond !== "" && base.graph !== null && file.bases.length === 0) return plan.beyond;
  return "";
}

function countPlan(front: RawFront, draft: Draft, base: Base, plan: RawPlan, show: Show): void {
  let shown: Shown;
  try {
    shown = show(base, plan);
  } catch (error) {
    if (!(error instanceof ReadError)) throw error;
    draft.faults.push(`its plan is not for this problem: ${error.message}`);
    return;
  }
  if (hasNoPlan(shown.scene)) {
    draft.faults.push("its plan places nothing");
    return;
  }
  const [fault] = shown.validity.faults;
  if (fault !== undefined) draft.faults.push(`its plan is not valid: ${plain(fault, 160)}`);
  front.terms.forEach((term, at) => {
    const inPlan = term.replace(CAPACITY, "peak");
    const value = valueOf(shown, inPlan);
    if (value === null) return;
    const said = draft.values[at as 0 | 1];
    if (BigInt(value) !== BigInt(said)) draft.faults.push(`${plain(term, 40)} is ${count(said)} in the front, but ${count(value)} in its plan`);
    else if (isCounted(inPlan)) draft.counted[at as 0 | 1] = shown.validity.unchecked.length === 0;
    // What is live in one order of a graph says nothing about others; a problem has one order only.
    const bound = shown.scene.program === null ? boundOf(shown, inPlan) : null;
    draft.known[at as 0 | 1] = (value == 0 && isCounted(inPlan)) || bound !== null && bound.checked && BigInt(bound.value) >= BigInt(said);
  });
}

/** A plan within what a bound speaks of, and better than it, disproves it. */
function againstOthers(front: RawFront, draft: Draft, sound: Draft[]): void {
  for (const at of [0, 1] as const) {
    const bound = draft.bounds[at];
    const other = 1 - at as 0 | 1;
    if (bound !== null && sound.some((one) => one.values[other] <= draft.values[other] && one.values[at] < bound)) {
      draft.faults.push(`another point disproves its bound on ${plain(front.terms[at], 40)}`);
    }
  }
}

/** Of two with the same values, the one that comes first counts. */
function isNoWorse(one: readonly [Whole, Whole], other: readonly [Whole, Whole], isFirst: boolean): boolean {
  return one[0] <= other[0] && one[1] <= other[1] && (isFirst || one[0] < other[0] || one[1] < other[1]);
}
