/** The loops of a program, as Python has written them (`planner/loops/loops_view.py`): its segments, in the order of the
 * operators of the graph. */
import type { Whole } from "./json.ts";

/** A tensor, ring or scratch that a segment works on, by its buffer. */
export interface Operand {
  role: "reads" | "makes" | "ring" | "sums" | "needs";
  name: string;
  buffer: number;
  pool: string;
  offset: Whole;
  size: Whole;
  what: string;
}

/** A step of a stripe: which of its operators runs, in words, and by fours the rows that are drawn: operator, line, row,
 * and 0 for kept, 1 for read, 2 for made. */
export interface Step {
  member: number;
  text: string;
  cells: number[];
}

/** An operator of a stripe: the rows and columns of what it makes, how many rows are kept, and in how many lines they
 * are drawn. */
export interface Member {
  name: string;
  makes: string;
  extent: string;
  keeps: string;
  lines: number;
}

export interface Segment {
  kind: "operator" | "copy" | "stripe";
  name: string;
  what: string;
  operands: Operand[];
  /** How many tensors it uses that are not planned. */
  aside: number;
  members: Member[];
  /** Those that are drawn, of all. */
  steps: Step[];
  all_steps: number;
  words: string[];
}
