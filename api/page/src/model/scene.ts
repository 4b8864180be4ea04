/** A problem joined with a plan: everything that is drawn, checked or said about it, by index of buffer and pool. */
import { amount, type Amount, type Amounts, zeros } from "./columns.ts";
import type { Shortfall } from "./changes.ts";
import type { Documents, SearchStep } from "./documents.ts";
import { ReadError, type Whole } from "./json.ts";
import type { RawGraph } from "./graph.ts";
import { lowered, outOfOrder, type Run, runOf } from "./lowering.ts";
import { type Program, programOf } from "./program.ts";
import { nameAt, nameCount, NameIndex, type PackedNames, sameName } from "./names.ts";
import type { RawPlan } from "./plan.ts";
import type { BankConflict, BankRule, RawPair, RawPool, RawProblem } from "./problem.ts";
import { type Axis, rankTimes } from "./times.ts";
import { NO_PROBLEM } from "./verdict.ts";

export interface Pool {
  id: string;
  capacity: Amount | null;
  alignment: Whole;
  base: Whole;
  cost: Amount;
  reserved: { offset: Amount; size: Amount }[];
  banks: { offset: Whole; size: Whole; count: Whole }[];
}

/** A pair of buffers by index; `value` is a cost, or a distance. */
export interface Pair {
  first: number;
  second: number;
  value: Amount;
}

export interface Term {
  term: string;
  value: Amount;
  bound: Amount;
}

export interface Claims {
  status: string;
  terms: Term[];
  /** By pool: the bound on its peak that the plan claims. */
  bounds: Map<number, Amount>;
  explanation: string;
  closest: { pool: string; peak: Amount; capacity: Amount }[];
  solver: string | null;
  seconds: number;
}

export interface Scene {
  name: string;
  /** Whether amounts are bigints; see `columns.ts`. */
  wide: boolean;
  zero: Amount;
  axis: Axis;
  pools: Pool[];
  names: PackedNames;
  sizes: Amounts;
  offsets: Amounts;
  /** The pool of each buffer; -1: it has no place. */
  pool: Int32Array;
  alignments: Amounts | null;
  accesses: Amounts | null;
  lists: Int32Array[];
  allowed: Int32Array | null;
  groupNames: string[];
  groups: Int32Array | null;
  pins: Map<number, { pool: number; offset: Amount | null }>;
  /** The spans of buffer i are firstSpan[i] until firstSpan[i + 1]. */
  firstSpan: Int32Array;
  owner: Int32Array;
  begin: Int32Array;
  end: Int32Array;
  kinds: Int32Array;
  conflicts: Pair[];
  exclusive: Pair[];
  relative: Pair[];
  inPlace: Pair[];
  reuseCosts: Pair[];
  /** By buffer, for those that may not be in all banks. */
  bankRules: Map<number, BankRule>;
  bankConflicts: BankConflict[];
  objective: string[];
  /** Of a graph: its operators. */
  program: Program | null;
  /** Null: the problem has no plan. */
  claims: Claims | null;
  search: SearchStep[];
  /** The fewest buffers that must change for some peaks, as the file says. */
  shortfalls: Shortfall[];
}

const EXACT = 2 ** 53;

/** A scene for each plan; without one, that of the problem alone. All of them share everything but places and claims. */
export function scenesOf(documents: Documents, name: string): [Scene, ...Scene[]] {
  const plans = documents.plans.map((one) => one.plan);
  const beyond = documents.problem === null ? plans.find((plan) => plan.beyond !== "")?.beyond : undefined;
  if (beyond !== undefined) throw new ReadError(beyond);
  const run = documents.graph === null ? null : oneRun(documents.graph, plans);
  const problem = documents.problem ?? (documents.graph === null || run === null ? null : lowered(documents.graph, run));
  if (problem === null) throw new ReadError(NO_PROBLEM);
  const wide = isWide(problem, plans);
  const index = new NameIndex(problem.names);
  const twice = index.repeated();
  if (twice !== null) throw new ReadError(`two buffers have the id ${JSON.stringify(twice)}`);
  const poolAt = new Map(problem.pools.map((pool, place) => [pool.id, place]));
  const shared = withoutPlan(problem, name, index, poolAt, wide);
  const program = documents.graph === null || run === null ? null : programOf(documents.graph, run, index, shared.axis.times);
  const scene = (plan: RawPlan | null): Scene => ({
    ...shared,
    ...placed(problem, plan, index, poolAt, wide),
    claims: plan === null ? null : claimsOf(plan, poolAt, wide),
    search: documents.search,
    shortfalls: documents.shortfalls,
    program,
  });
  const [first = null, ...others] = plans;
  return [scene(first), ...others.map(scene)];
}

/** The order of the plans: two are compared on one axis. */
function oneRun(graph: RawGraph, plans: RawPlan[]): Run {
  const [first, second] = [plans[0]?.schedule ?? [], plans[1]?.schedule];
  const run = runOf(graph, first);
  const [fault] = outOfOrder(graph, run);
  if (fault !== undefined) throw new ReadError(`the graph does not allow this order: ${fault}`);
  if (second !== undefined && runOf(graph, second).order.some((operator, place) => operator !== run.order[place])) {
    throw new ReadError("the two plans run the operators in different orders: only maps of one order compare");
  }
  return run;
}

type Shared = Omit<Scene, "offsets" | "pool" | "claims" | "search" | "shortfalls" | "program">;

function withoutPlan(problem: RawProblem, name: string, index: NameIndex, poolAt: Map<string, number>, wide: boolean): Shared {
  const { axis, begin, end } = rankTimes(problem.begins, problem.ends, problem.kinds);
  const pairs = (raw: RawPair[]): Pair[] => raw.map((pair) => pairOf(pair, index, wide));
  return {
    name: problem.name ?? name,
    wide, zero: amount(0, wide), axis, begin, end,
    pools: problem.pools.map((pool) => poolOf(pool, wide)),
    names: problem.names,
    sizes: problem.sizes.amounts(wide),
    alignments: problem.alignments.length ? problem.alignments.amounts(wide) : null,
    accesses: problem.accesses.length ? problem.accesses.amounts(wide) : null,
    lists: problem.lists.map((list) => Int32Array.from(list, (id) => placeOf(poolAt, id))),
    allowed: problem.allowed.length ? problem.allowed : null,
    groupNames: problem.groupNames,
    groups: problem.groups.length ? problem.groups : null,
    pins: new Map([...problem.pins].map(([buffer, pin]) => [buffer, {
      pool: placeOf(poolAt, pin.pool), offset: pin.offset === null ? null : amount(pin.offset, wide),
    }])),
    firstSpan: problem.firstSpan,
    owner: ownersOf(problem.firstSpan, begin.length),
    kinds: problem.kinds,
    conflicts: pairs(problem.conflicts),
    exclusive: pairs(problem.exclusive),
    relative: pairs(problem.relative),
    inPlace: pairs(problem.inPlace),
    reuseCosts: pairs(problem.reuseCosts),
    bankRules: problem.bankRules,
    bankConflicts: problem.bankConflicts,
    objective: problem.objective ?? (problem.pools.length === 1 ? ["peak"] : ["placement_cost", "peak"]),
  };
}

/** Whether some sum of this document could be above 2^53. */
function isWide(problem: RawProblem, plans: RawPlan[]): boolean {
  const columns = [problem.sizes, problem.alignments, problem.accesses, ...plans.map((plan) => plan.offsets)];
  if (columns.some((column) => column.isWide)) return true;
  const values: Whole[] = [
    ...problem.pools.flatMap((pool) => [pool.capacity ?? 0, pool.base, pool.alignment,
      ...pool.reserved.flatMap((range) => [range.offset, range.size])]),
    ...[...problem.reuseCosts, ...problem.relative].map((pair) => pair.value),
    ...[...problem.pins.values()].map((pin) => pin.offset ?? 0),
    ...plans.flatMap((plan) => plan.terms.flatMap((term) => [term.value, term.bound])),
    ...plans.flatMap((plan) => plan.uses.flatMap((use) => [use.peak, use.bound, use.live])),
  ];
  let sum = 0;
  for (const value of values) sum += Math.abs(Number(value));
  for (const column of columns) for (const value of column.numbers()) sum += Math.abs(value);
  const dearest = Math.max(1, ...problem.pools.map((pool) => Number(pool.cost)));
  // Twice: a sum of doubles is itself not exact.
  return sum * dearest * 2 > EXACT;
}

function poolOf(raw: RawPool, wide: boolean): Pool {
  return {
    ...raw,
    capacity: raw.capacity === null ? null : amount(raw.capacity, wide),
    cost: amount(raw.cost, wide),
    reserved: raw.reserved.map((range) => ({ offset: amount(range.offset, wide), size: amount(range.size, wide) })),
  };
}

function placed(
  problem: RawProblem, plan: RawPlan | null, index: NameIndex, poolAt: Map<string, number>, wide: boolean,
): { offsets: Amounts; pool: Int32Array } {
  const count = nameCount(problem.names);
  const offsets = zeros(count, amount(0, wide));
  const pool = new Int32Array(count).fill(-1);
  if (plan === null) return { offsets, pool };
  const offsetsOfPlan = plan.offsets.amounts(wide);
  const pools = plan.poolNames.map((id) => placeOf(poolAt, id));
  for (let place = 0; place < offsetsOfPlan.length; place++) {
    // Most plans list the buffers as their problem does.
    const buffer = sameName(plan.names, problem.names, place) ? place : index.find(nameAt(plan.names, place));
    if (buffer < 0) throw new ReadError(`the plan places ${JSON.stringify(nameAt(plan.names, place))}, which is no buffer of the problem`);
    if ((pool[buffer] as number) >= 0) throw new ReadError(`the plan places ${JSON.stringify(nameAt(plan.names, place))} twice`);
    pool[buffer] = pools[plan.pools[place] as number] as number;
    offsets[buffer] = offsetsOfPlan[place] as Amount;
  }
  return { offsets, pool };
}

function pairOf(raw: RawPair, index: NameIndex, wide: boolean): Pair {
  const [first, second] = [index.find(raw.first), index.find(raw.second)];
  if (first < 0 || second < 0) {
    throw new ReadError(`a constraint names ${JSON.stringify(first < 0 ? raw.first : raw.second)}, which is no buffer`);
  }
  return { first, second, value: amount(raw.value, wide) };
}

function placeOf(poolAt: Map<string, number>, id: string): number {
  const place = poolAt.get(id);
  if (place === undefined) throw new ReadError(`${JSON.stringify(id)} is no pool of the problem`);
  return place;
}

function ownersOf(firstSpan: Int32Array, count: number): Int32Array {
  const owner = new Int32Array(count);
  for (let buffer = 0; buffer + 1 < firstSpan.length; buffer++) {
    owner.fill(buffer, firstSpan[buffer], firstSpan[buffer + 1]);
  }
  return owner;
}

function claimsOf(plan: RawPlan, poolAt: Map<string, number>, wide: boolean): Claims {
  const exact = (value: Whole): Amount => amount(value, wide);
  return {
    status: plan.status,
    terms: plan.terms.map((term) => ({ ...term, value: exact(term.value), bound: exact(term.bound) })),
    bounds: new Map(plan.uses.map((use) => [placeOf(poolAt, use.pool), exact(use.bound)])),
    explanation: plan.explanation,
    closest: plan.closest.map((one) => ({ pool: one.pool, peak: exact(one.peak), capacity: exact(one.capacity) })),
    solver: plan.solver,
    seconds: plan.seconds,
  };
}
