/** A problem whose sizes are formulas, with its plan: read once, and laid out at any value of the symbols. */
import { fieldsOf } from "./documents.ts";
import { type Formula, LIMIT, readFormula, withReason } from "./formula.ts";
import { JsonReader, ReadError, valueIn } from "./json.ts";
import { nameAt, nameCount, NameIndex } from "./names.ts";
import { readPlan, type RawPlan } from "./plan.ts";
import { type RawPair, type RawPool, type RawProblem, readProblem, strings } from "./problem.ts";
import type { File0 } from "./shown.ts";
import { fixedAt, type Placer, stackedBy } from "./stack.ts";
import { type Frame, most, type Ordered, pairKey, type Range, unitsOf } from "./units.ts";
import { readSymbol, type Symbol0 } from "./symbol.ts";
import type { SymbolicVerdict } from "./verdict.ts";

export interface Symbolic {
  problem: RawProblem;
  /** Null: there is none yet. */
  plan: RawPlan | null;
  symbols: Symbol0[];
  /** Values that matter: of each symbol one, in the order of the symbols. */
  points: bigint[][];
  formulas: Map<number, Formula>;
  /** Sizes that are numbers; 0 where a formula is. */
  sizes: bigint[];
  placers: Placer[];
  shapes: string;
  name: string;
  /** What the judge says; null: nobody has judged it here. */
  verdict: SymbolicVerdict | null;
  /** Why the plan cannot be laid out at all; empty: it can. */
  broken: string;
  /** The files of the plans that were given; the last one counts. */
  plans: string[];
  /** Where to begin. */
  first: bigint[] | null;
}

/** Values that matter, of all symbols together. */
const MOST_POINTS = 64;

type At = Map<string, bigint>;

/** Among files: a problem with symbols, alone or with its plan, of which one or both may be in a view document; null: they are
 * something else. */
export function symbolicAmong(files: readonly File0[]): Symbolic | null {
  const has = (file: File0, field: string): boolean => fieldsOf(file.bytes).has(field);
  const source = files.findLast((file) => has(file, "symbols"));
  const document = files.findLast((file) => file.trusted && has(file, "formed"));
  const view = document === undefined ? null : readView(document.bytes);
  const problem = view?.problem ?? (source === undefined ? null : problemIn(source.bytes));
  if (problem === null) return null;
  const name = source?.name ?? view?.name ?? "";
  if (view !== null) return joined(problem, view.plan, name, view.verdict, view.first);
  const others = files.filter((file) => !has(file, "symbols"));
  const other = others.at(-1);
  if (other === undefined) return joined(problem, null, name, null, null);
  const json = new JsonReader(other.bytes);
  const plan = planFrom(json);
  json.end();
  if (plan.shapes === "") throw new ReadError("this is no plan of formulas, which says its `shapes`");
  return { ...joined(problem, plan, name, null, null), plans: others.map((file) => file.name) };
}

function problemIn(bytes: Uint8Array): Problem {
  const json = new JsonReader(bytes);
  if (fieldsOf(bytes).has("operators")) json.fail("a graph with symbols is drawn with its plan, as `memstow view GRAPH PLAN` does");
  const problem = problemFrom(json);
  json.end();
  return problem;
}

interface View {
  name: string;
  verdict: SymbolicVerdict | null;
  first: At | null;
  problem: Problem | null;
  plan: Plan | null;
}

function readView(bytes: Uint8Array): View {
  const json = new JsonReader(bytes);
  const view: View = { name: "", verdict: null, first: null, problem: null, plan: null };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "name") view.name = json.string();
    else if (field === "verdict") view.verdict = valueIn(json) as SymbolicVerdict;
    else if (field === "at") view.first = readAt(json);
    else if (field === "symbolic") view.problem = problemFrom(json);
    else if (field === "formed") view.plan = planFrom(json);
    else json.skip();
  });
  json.end();
  return view;
}

interface Problem {
  raw: RawProblem;
  symbols: Symbol0[];
  points: At[];
  formulas: Map<number, string>;
}

interface RawPlacement {
  buffer: string;
  pool: string;
  above: string[];
  shares: string | null;
  empty: boolean;
}

interface Plan {
  raw: RawPlan;
  shapes: string;
  orders: RawPlacement[][];
}

function problemFrom(json: JsonReader): Problem {
  const problem: Omit<Problem, "raw"> = { symbols: [], points: [], formulas: new Map() };
  const raw = readProblem(json, problem.formulas, (field) => {
    if (field === "symbols") json.list(() => problem.symbols.push(readSymbol(json)));
    else if (field === "points") json.list(() => problem.points.push(readPoint(json)));
    else return false;
    return true;
  });
  return { ...problem, raw };
}

function planFrom(json: JsonReader): Plan {
  const plan: Omit<Plan, "raw"> = { shapes: "", orders: [] };
  const raw = readPlan(json, (field) => {
    if (field === "shapes") plan.shapes = json.string();
    else if (field === "orders") json.list(() => plan.orders.push(readOrder(json)));
    else return false;
    return true;
  });
  return { ...plan, raw };
}

/** The values of a point. */
function readPoint(json: JsonReader): At {
  let at: At = new Map();
  json.object((field) => {
    if (field === "at") at = readAt(json);
    else json.skip();
  });
  return at;
}

function readAt(json: JsonReader): At {
  const at: At = new Map();
  json.object((name) => at.set(name, BigInt(json.whole())));
  return at;
}

function readOrder(json: JsonReader): RawPlacement[] {
  const placements: RawPlacement[] = [];
  json.object((field) => {
    if (field === "placements") json.list(() => placements.push(readPlacement(json)));
    else json.skip();
  });
  return placements;
}

function readPlacement(json: JsonReader): RawPlacement {
  const placement: RawPlacement = { buffer: "", pool: "", above: [], shares: null, empty: false };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "buffer" || field === "pool" || field === "shares") placement[field] = json.string();
    else if (field === "above") placement.above = strings(json);
    else if (field === "empty") placement.empty = json.boolean();
    else json.skip();
  });
  return placement;
}

function joined(problem: Problem, plan: Plan | null, name: string, verdict: SymbolicVerdict | null, first: At | null): Symbolic {
  const { raw, symbols } = problem;
  const names = new Set(symbols.map((symbol) => symbol.id));
  const index = new NameIndex(raw.names);
  let placers: Placer[] = [];
  let broken = "";
  const frame = frameOf(raw, index);
  if (problem.points.length > MOST_POINTS) throw new ReadError(`there are more than ${MOST_POINTS} points`);
  try {
    if (plan !== null) placers = placersOf(frame, plan, raw, index);
  } catch (error) {
    // What the judge says of it is shown instead.
    if (!(error instanceof ReadError) || verdict === null || verdict.valid) throw error;
    broken = error.message;
  }
  const row = (at: At): bigint[] => symbols.map((symbol) => {
    const value = at.get(symbol.id);
    if (value === undefined) throw new ReadError(`${JSON.stringify(symbol.id)} has no value at a point`);
    return value;
  });
  return {
    problem: raw, plan: plan?.raw ?? null, symbols, name: raw.name ?? name, verdict,
    points: problem.points.length > 0 ? problem.points.map(row) : combinations(symbols),
    formulas: new Map([...problem.formulas].map(([buffer, text]) => [buffer, withReason(() => readFormula(text, names), (what) => {
      throw new ReadError(`the size of ${nameAt(raw.names, buffer)}: ${what}`);
    })])),
    sizes: raw.sizes.bigints(),
    placers, broken, plans: [],
    shapes: plan?.shapes ?? "",
    first: first === null ? null : row(first),
  };
}

/** All of the symbols' values with each other, where no points are given. */
function combinations(symbols: Symbol0[]): bigint[][] {
  const count = symbols.reduce((product, symbol) => product * symbol.values.length, 1);
  if (count > MOST_POINTS) throw new ReadError(`the values of the symbols have more than ${MOST_POINTS} combinations: give \`points\``);
  return symbols.reduce<bigint[][]>((rows, symbol) => rows.flatMap((row) => symbol.values.map((value) => [...row, value])), [[]]);
}

function placersOf(frame: Frame, plan: Plan, problem: RawProblem, index: NameIndex): Placer[] {
  if (plan.raw.status === "infeasible" || plan.raw.status === "unknown") return [];
  const poolAt = new Map(problem.pools.map((pool, place) => [pool.id, place]));
  const known = (name: string): number => {
    const buffer = index.find(name);
    if (buffer < 0) throw new ReadError(`the plan names ${JSON.stringify(name)}, which is no buffer of the problem`);
    return buffer;
  };
  if (plan.shapes === "fixed") {
    const { raw } = plan;
    const offsets = new Array<bigint>(frame.names.length).fill(-1n);
    const pools = new Array<number>(frame.names.length).fill(0);
    raw.offsets.bigints().forEach((offset, place) => {
      const buffer = known(nameAt(raw.names, place));
      offsets[buffer] = offset;
      pools[buffer] = poolAt.get(raw.poolNames[raw.pools[place] as number] ?? "") ?? -1;
    });
    const missing = offsets.findIndex((offset, buffer) => offset < 0n || (pools[buffer] as number) < 0);
    if (missing >= 0) throw new ReadError(`${JSON.stringify(frame.names[missing])} has no place`);
    return [fixedAt(frame, offsets, pools)];
  }
  return plan.orders.map((order) => {
    const placed: Ordered[] = frame.names.map(() => ({ pool: -1, above: [], shares: -1, empty: false }));
    for (const one of order) {
      const buffer = known(one.buffer);
      if ((placed[buffer] as Ordered).pool >= 0) throw new ReadError(`${JSON.stringify(one.buffer)} has two places in one order`);
      const shares = one.shares === null ? -1 : known(one.shares);
      placed[buffer] = { pool: poolAt.get(one.pool) ?? -1, above: one.above.map(known), shares, empty: one.empty };
    }
    return stackedBy(frame, unitsOf(frame, placed));
  });
}

function frameOf(raw: RawProblem, index: NameIndex): Frame {
  const count = nameCount(raw.names);
  const pair = (one: RawPair): { first: number; second: number; value: bigint } => {
    const [first, second] = [index.find(one.first), index.find(one.second)];
    if (first < 0 || second < 0) throw new ReadError(`a constraint names ${JSON.stringify(first < 0 ? one.first : one.second)}, which is no buffer`);
    return { first, second, value: BigInt(one.value) };
  };
  const pin = (buffer: number): bigint | null => {
    const offset = raw.pins.get(buffer)?.offset ?? null;
    return offset === null ? null : BigInt(offset);
  };
  const alignments = raw.alignments.length > 0 ? raw.alignments.bigints() : new Array<bigint>(count).fill(1n);
  return {
    names: Array.from({ length: count }, (_, buffer) => nameAt(raw.names, buffer)),
    pools: raw.pools.map((pool) => ({ id: pool.id, base: BigInt(pool.base), alignment: BigInt(pool.alignment), ...roomOf(pool) })),
    alignments,
    pins: Array.from({ length: count }, (_, buffer) => pin(buffer)),
    relative: raw.relative.map(pair),
    inPlace: new Set(raw.inPlace.map((one) => pairKey(pair(one).first, pair(one).second))),
  };
}

/** What is reserved at the bottom, and above. */
function roomOf(pool: RawPool): { capacity: bigint; floor: bigint; reserved: Range[] } {
  const ranges = pool.reserved.map((range): Range => [BigInt(range.offset), BigInt(range.offset) + BigInt(range.size)]);
  ranges.sort((one, other) => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0));
  let floor = 0n;
  const reserved: Range[] = [];
  for (const range of ranges) {
    if (range[0] <= floor) floor = most(floor, range[1]);
    else reserved.push(range);
  }
  return { capacity: pool.capacity === null ? LIMIT : BigInt(pool.capacity), floor, reserved };
}
