/** Everything that is computed once, in a worker, before a plan is drawn. */
import type { Amount, Amounts } from "./columns.ts";
import type { Segment } from "./loops.ts";
import type { Ordered } from "./order.ts";
import type { Scene } from "./scene.ts";
import type { Profile } from "./steps.ts";
import type { Symbol0 } from "./symbol.ts";
import type { Sentence, SymbolicVerdict, Verdict } from "./verdict.ts";

/** A file as it is read. `trusted`: `memstow view` or the service has made it, and its verdict is the judge's. */
export interface File0 {
  name: string;
  bytes: Uint8Array;
  trusted: boolean;
}

/** The least that any plan needs of a pool, as far as somebody knows. */
export interface Bound {
  value: Amount;
  /** Whether the judge or the service vouches for it. */
  proven: boolean;
  caption: string;
  /** The buffers that show it. */
  buffers: Int32Array;
  /** The step in which all of them are live; -1: there need not be one. */
  moment: number;
}

export interface PoolShown {
  /** Its spans, largest first, with time as given and by change. */
  byTime: Ordered;
  byChange: Ordered;
  profile: Profile;
  skyline: Float64Array;
  peak: Amount;
  /** The highest address to draw, and the most live bytes; of two plans beside each other the larger ones. */
  room: number;
  livest: number;
  /** The best bound on its peak that is known; null: none. */
  bound: Bound | null;
}

export interface Shown {
  scene: Scene;
  pools: PoolShown[];
  /** For each buffer one of two tints of its colour. */
  tints: Uint8Array;
  /** What is said of it all, and what the judge says; null: nobody has judged it here. */
  sentence: Sentence;
  verdict: Verdict | null;
  /** By operator, the most bytes live while it runs. */
  needs: Amount[];
  /** The operator that the proof about all orders names, or the one that needs the most; -1: there is none. */
  critical: number;
  /** Whether it is drawn for one schedule of a graph, of which there are others. */
  ofSchedule: boolean;
  /** Of a program: what each operator of its graph does, segment by segment; null: that is not known. */
  loops: Segment[] | null;
  /** What the plan is called, where there are two. */
  plan: string;
  /** Of a plan of formulas: at which value it is shown, and what is known of others. */
  symbolic?: ValuesShown;
  /** Another plan of the same problem, to compare. */
  second: Second | null;
}

/** Which buffers are elsewhere in the second of two plans. */
export interface Moves {
  kind: Uint8Array;
  /** Bytes up, negative for down; zero where it is in another pool. */
  by: Amounts;
  /** Those that moved: first those in other pools, then the furthest; of equal ones the largest. */
  order: Int32Array;
  /** The size of those that moved. */
  bytes: Amount;
}

export interface Second {
  shown: Shown;
  moves: Moves;
}

/** Of a plan of formulas: what the page says besides the plan at the value. */
export interface ValuesShown {
  symbols: Symbol0[];
  at: bigint[];
  points: PointShown[];
  /** The point with the largest ratio; -1: there is none. */
  worst: number;
  shapes: string;
  /** How many orders there are, and which of them is used here. */
  orders: number;
  order: number;
  /** What the judge says of every value; null: nobody has judged it here. */
  verdict: SymbolicVerdict | null;
  status: string;
  /** Why the plan does not fit at this value; empty: it does. */
  misfit: string;
  /** The capacity of the only pool; null: it has no limit, or there are several. */
  room: bigint | null;
  buffers: number;
  /** The files of all plans that were given, of which the last is shown; empty: the page holds one. */
  plans: string[];
}

/** What is needed at a value. */
export interface PointShown {
  at: bigint[];
  /** Null: the plan does not fit there. */
  peak: bigint | null;
  /** What is live at once there, or more where the judge or the plan says so; null: nothing is known. */
  least: bigint | null;
  /** Whether more is live than a pool has. */
  over: boolean;
  /** How the point stands, in a word, and what is wrong with it. */
  stands: string;
  fault: string;
}

export type Progress = (doing: string, part: number) => void;

/** What may be moved to another thread instead of being copied. */
export function movable(shown: Shown): ArrayBuffer[] {
  const memory = new Set<ArrayBuffer>();
  const look = (value: unknown, depth: number): void => {
    if (ArrayBuffer.isView(value)) memory.add(value.buffer as ArrayBuffer);
    else if (typeof value === "object" && value !== null && depth < 4 && !Array.isArray(value)) {
      for (const inner of Object.values(value)) look(inner, depth + 1);
    }
  };
  for (const one of [shown, ...(shown.second === null ? [] : [shown.second.shown])]) {
    look(one.scene, 0);
    memory.add(one.tints.buffer as ArrayBuffer);
    for (const part of one.pools) look(part, 0);
  }
  if (shown.second !== null) look(shown.second.moves, 0);
  return [...memory];
}
