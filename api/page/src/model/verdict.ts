/** What the judge says of what is drawn, in the words of `planner/show/view_document.py`. Nothing is judged here: of files that
 * come without it, that is said. */
import { bytes, plain } from "../draw/format.ts";
import type { Amount } from "./columns.ts";
import type { Whole } from "./json.ts";

export type Tone = "proven" | "open" | "claimed" | "wrong" | "plain";

/** The first line of the page, and one more sentence where it is needed. */
export interface Sentence {
  lead: string;
  rest: string;
  tone: Tone;
  note: string;
}

export interface Verdict extends Sentence {
  valid: boolean;
  /** Whether no rule of the problem is broken, whatever else the plan claims. */
  fits: boolean;
  violations: string[];
  /** The figures beside the sentence. */
  facts: [label: string, value: string][];
  /** Whether the operators of a graph run as they are listed, although it allows others. */
  keeps_order: boolean;
  /** The operator that the proof about all orders names. */
  operator: string | null;
  pools: (PoolVerdict | null)[];
  terms: { term: string; value: Whole | null; bound: Whole | null; proven: boolean }[];
  /** The steps of a proof that was checked, from its conclusion on; no steps where it is too long. */
  walk?: { says: string; steps: { text: string; buffers: number[] }[]; more: number };
}

export interface PoolVerdict {
  /** The best bound on the peak; null: none is known. */
  bound: Whole | null;
  /** Whether the judge or the service vouches for it. */
  proven: boolean;
  caption: string;
  /** Why it holds. */
  proof: string;
  /** The buffers that show it, and the moment at which all of them are live. */
  buffers: number[];
  time: Whole | null;
}

/** What is said of every value alike of a plan of formulas, and of each of its points. */
export interface SymbolicVerdict {
  valid: boolean;
  /** Null: at each value the size of its layout is told. */
  sentence: Sentence | null;
  says: string;
  worst: string;
  bound: string;
  /** What is said of a least peak where operators may run in another order. */
  here: string;
  points: { at: Record<string, Whole>; least: Whole; stands: string; fault: string; rest: string; word: string }[];
}

/** What is said of a plan whose problem is missing, and of a comparison with one plan: both may still come. */
export const NO_PROBLEM = "a plan names buffers, but not their sizes and lifetimes: open its problem with it";
export const MISSING_SECOND = "a comparison needs two plans and their problem: add the other plan";

export const NOT_JUDGED = "Not judged here.";

/** What is said of a problem, of whose pool so much is live at once; null: it has several. */
export function unplanned(live: Amount | null, anyOrder: boolean): Sentence {
  if (anyOrder) return { lead: "No plan yet.", rest: "", tone: "open", note: "Drawn in the order that is listed. Which order needs the least, the solver must say." };
  return { lead: "No plan yet.", rest: live === null ? "" : `${bytes(live)} are live at once.`, tone: "open", note: "" };
}

/** What is said of files that nobody has judged: what they say, and how much of a memory is in use. */
export function unjudged(status: string, explanation: string, peaks: readonly Amount[], zero: Amount): Sentence {
  const note = plain(explanation, 400);
  if (status === "infeasible") return { lead: "No plan fits, as the file says.", rest: NOT_JUDGED, tone: "plain", note };
  if (status === "unknown") return { lead: "No plan was found.", rest: "", tone: "open", note };
  return { lead: `${bytes(peaks.reduce((sum, peak) => sum + peak, zero))}.`, rest: NOT_JUDGED, tone: "plain", note };
}
