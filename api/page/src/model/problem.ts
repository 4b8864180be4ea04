/** A problem as columns: what docs/problem.md describes, read from JSON. */
import { Column, IndexColumn } from "./columns.ts";
import type { JsonReader, Whole } from "./json.ts";
import { NameColumn, type PackedNames } from "./names.ts";

export interface RawPool {
  id: string;
  capacity: Whole | null;
  alignment: Whole;
  base: Whole;
  cost: Whole;
  reserved: { offset: Whole; size: Whole }[];
  banks: { offset: Whole; size: Whole; count: Whole }[];
}

/** In which banks a buffer may be: in one; in those of these numbers, or in any. */
export interface BankRule {
  within: boolean;
  banks: Whole[] | null;
}

/** Buffers of which no two may touch one bank, or each two that do cost something. */
export interface BankConflict {
  buffers: string[];
  cost: Whole | null;
}

export interface RawPair {
  first: string;
  second: string;
  /** A cost, or the distance of two buffers of a rigid group. */
  value: Whole;
}

/** How a span of a buffer lies in time. */
export const TIMED = 0, ALWAYS = 1, TIMELESS = 2;

export interface RawProblem {
  name: string | null;
  pools: RawPool[];
  names: PackedNames;
  sizes: Column;
  /** Filled with 1 for buffers that give none; empty if none gives one. */
  alignments: Column;
  /** -1 where a buffer gives none; empty if none gives one. */
  accesses: Column;
  /** Lists of pools that buffers may go to; `allowed` refers to them. */
  lists: string[][];
  /** -1: all pools. Empty if no buffer gives a list. */
  allowed: Int32Array;
  groupNames: string[];
  /** -1: no group. Empty if no buffer has one. */
  groups: Int32Array;
  pins: Map<number, { pool: string; offset: Whole | null }>;
  firstSpan: Int32Array;
  begins: Column;
  ends: Column;
  kinds: Int32Array;
  conflicts: RawPair[];
  exclusive: RawPair[];
  relative: RawPair[];
  inPlace: RawPair[];
  reuseCosts: RawPair[];
  bankRules: Map<number, BankRule>;
  bankConflicts: BankConflict[];
  objective: string[] | null;
}

class Buffers {
  readonly names = new NameColumn();
  readonly sizes = new Column();
  readonly alignments = new Column();
  readonly accesses = new Column();
  readonly allowed = new IndexColumn();
  readonly groups = new IndexColumn();
  readonly lists: string[][] = [];
  readonly groupNames: string[] = [];
  readonly pins = new Map<number, { pool: string; offset: Whole | null }>();
  readonly bankRules = new Map<number, BankRule>();
  readonly firstSpan = new IndexColumn();
  readonly begins = new Column();
  readonly ends = new Column();
  readonly kinds = new IndexColumn();
  readonly #listAt = new Map<string, number>();
  readonly #groupAt = new Map<string, number>();
  #count = 0;

  /** `formulas`: sizes that are formulas, by index of the buffer; null: none may be. */
  constructor(readonly formulas: Map<number, string> | null) {}

  read(json: JsonReader): void {
    json.list(() => this.#one(json));
    this.firstSpan.push(this.begins.length);
  }

  #one(json: JsonReader): void {
    const index = this.#count;
    let name: string | null = null;
    let size: Whole | null = null;
    let pool: string | null = null;
    let offset: Whole | null = null;
    this.firstSpan.push(this.begins.length);
    json.object((field) => {
      if (field === "id") name = json.string();
      else if (field === "size" && this.formulas !== null && json.isString()) {
        this.formulas.set(index, json.string());
        size = 0;
      } else if (field === "size") size = json.whole();
      else if (json.isNull()) return;
      else if (field === "lifetime") this.#lifetime(json);
      else if (field === "lifetimes") this.#lifetimes(json);
      else if (field === "alignment") fill(this.alignments, index, 1).push(json.whole());
      else if (field === "accesses") fill(this.accesses, index, -1).push(json.whole());
      else if (field === "pools") fillIndices(this.allowed, index).push(this.#list(json));
      else if (field === "group") fillIndices(this.groups, index).push(this.#group(json.string()));
      else if (field === "pool") pool = json.string();
      else if (field === "offset") offset = json.whole();
      else if (field === "within_bank") this.#bankRule(index).within = json.boolean();
      else if (field === "banks") this.#bankRule(index).banks = wholes(json);
      else json.skip();
    });
    if (name === null || size === null) json.fail(`buffer ${index} needs an id and a size`);
    this.names.push(name);
    this.sizes.push(size);
    if (pool !== null) this.pins.set(index, { pool, offset });
    if (this.begins.length === this.#spansBefore()) this.#span(0, 0, TIMELESS);
    this.#count++;
  }

  #bankRule(index: number): BankRule {
    const rule = this.bankRules.get(index) ?? { within: false, banks: null };
    this.bankRules.set(index, rule);
    return rule;
  }

  #spansBefore(): number {
    return this.firstSpan.last();
  }

  #lifetime(json: JsonReader): void {
    if (json.isString()) {
      if (json.string() !== "always") json.fail('expected a pair of times or "always"');
      this.#span(0, 0, ALWAYS);
    } else {
      const [begin, end] = timePair(json);
      this.#span(begin, end, TIMED);
    }
  }

  /** Several ranges, in order, those that touch or overlap as one. */
  #lifetimes(json: JsonReader): void {
    const ranges: [Whole, Whole][] = [];
    json.list(() => ranges.push(timePair(json)));
    ranges.sort((one, other) => (one[0] < other[0] ? -1 : one[0] > other[0] ? 1 : 0));
    let open: [Whole, Whole] | null = null;
    for (const range of ranges) {
      if (open !== null && range[0] <= open[1]) {
        if (range[1] > open[1]) open[1] = range[1];
        continue;
      }
      if (open !== null) this.#span(open[0], open[1], TIMED);
      open = range;
    }
    if (open !== null) this.#span(open[0], open[1], TIMED);
  }

  #span(begin: Whole, end: Whole, kind: number): void {
    this.begins.push(begin);
    this.ends.push(end);
    this.kinds.push(kind);
  }

  #list(json: JsonReader): number {
    const pools: string[] = [];
    json.list(() => pools.push(json.string()));
    return known(this.#listAt, this.lists, JSON.stringify(pools), pools);
  }

  #group(name: string): number {
    return known(this.#groupAt, this.groupNames, name, name);
  }
}

/** `other` reads fields that only problems with symbols have, and says whether it did. */
export function readProblem(json: JsonReader, formulas: Map<number, string> | null = null, other: (field: string) => boolean = () => false): RawProblem {
  const buffers = new Buffers(formulas);
  const pairs: Record<string, RawPair[]> = { conflicts: [], exclusive: [], relative: [], in_place: [], reuse_costs: [] };
  let name: string | null = null;
  let pools: RawPool[] | null = null;
  let objective: string[] | null = null;
  const bankConflicts: BankConflict[] = [];
  let seen = false;
  json.object((field) => {
    if (json.isNull()) return;
    const list = pairs[field];
    if (field === "name") name = json.string();
    else if (field === "pools") pools = readPools(json);
    else if (field === "objective") objective = strings(json);
    else if (list !== undefined) json.list(() => list.push(readPair(json)));
    else if (field === "bank_conflicts") json.list(() => bankConflicts.push(readBankConflict(json)));
    else if (field === "buffers") {
      if (seen) json.fail("the buffers are given twice");
      seen = true;
      buffers.read(json);
    } else if (!other(field)) json.skip();
  });
  if (!seen) json.fail("a problem needs `buffers`");
  return {
    name,
    pools: pools ?? [{ id: "memory", capacity: null, alignment: 1, base: 0, cost: 0, reserved: [], banks: [] }],
    names: buffers.names.packed(),
    sizes: buffers.sizes,
    alignments: fill(buffers.alignments, buffers.alignments.length && buffers.sizes.length, 1),
    accesses: fill(buffers.accesses, buffers.accesses.length && buffers.sizes.length, -1),
    lists: buffers.lists,
    allowed: fillIndices(buffers.allowed, buffers.allowed.length && buffers.sizes.length).values(),
    groupNames: buffers.groupNames,
    groups: fillIndices(buffers.groups, buffers.groups.length && buffers.sizes.length).values(),
    pins: buffers.pins,
    firstSpan: buffers.firstSpan.values(),
    begins: buffers.begins,
    ends: buffers.ends,
    kinds: buffers.kinds.values(),
    conflicts: pairs.conflicts ?? [],
    exclusive: pairs.exclusive ?? [],
    relative: pairs.relative ?? [],
    inPlace: pairs.in_place ?? [],
    reuseCosts: pairs.reuse_costs ?? [],
    bankRules: buffers.bankRules,
    bankConflicts,
    objective,
  };
}

export function readPools(json: JsonReader): RawPool[] {
  const pools: RawPool[] = [];
  json.list(() => {
    const pool: RawPool = { id: "", capacity: null, alignment: 1, base: 0, cost: 0, reserved: [], banks: [] };
    json.object((field) => {
      if (field === "id") pool.id = json.string();
      else if (json.isNull()) return;
      else if (field === "capacity" || field === "alignment" || field === "base" || field === "cost") pool[field] = json.whole();
      else if (field === "reserved") {
        json.list(() => {
          const range: { offset: Whole; size: Whole } = { offset: 0, size: 0 };
          json.object((part) => {
            if (part === "offset" || part === "size") range[part] = json.whole();
            else json.skip();
          });
          pool.reserved.push(range);
        });
      } else if (field === "banks") {
        json.list(() => {
          const banks: { offset: Whole; size: Whole; count: Whole } = { offset: 0, size: 0, count: 1 };
          json.object((part) => {
            if (part === "offset" || part === "size" || part === "count") banks[part] = json.whole();
            else json.skip();
          });
          pool.banks.push(banks);
        });
      } else json.skip();
    });
    pools.push(pool);
  });
  return pools;
}

/** A pair as a list of two ids, or as an object that names them. */
export function readPair(json: JsonReader): RawPair {
  const pair: RawPair = { first: "", second: "", value: 0 };
  const both = (): void => {
    json.list((index) => {
      if (index === 0) pair.first = json.string();
      else pair.second = json.string();
    });
  };
  if (json.isList()) both();
  else {
    json.object((field) => {
      if (field === "buffers") both();
      else if (field === "base" || field === "input") pair.first = json.string();
      else if (field === "buffer" || field === "output") pair.second = json.string();
      else if (field === "cost" || field === "offset") pair.value = json.whole();
      else json.skip();
    });
  }
  return pair;
}

function readBankConflict(json: JsonReader): BankConflict {
  const conflict: BankConflict = { buffers: [], cost: null };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "buffers") conflict.buffers = strings(json);
    else if (field === "cost") conflict.cost = json.whole();
    else json.skip();
  });
  return conflict;
}

function timePair(json: JsonReader): [Whole, Whole] {
  const times: Whole[] = [];
  json.list(() => times.push(json.whole()));
  const [begin, end] = times;
  if (times.length !== 2 || begin === undefined || end === undefined || begin >= end) {
    json.fail("a lifetime is a pair of times, the first below the second");
  }
  return [begin, end];
}

export function strings(json: JsonReader): string[] {
  const texts: string[] = [];
  json.list(() => texts.push(json.string()));
  return texts;
}

function wholes(json: JsonReader): Whole[] {
  const numbers: Whole[] = [];
  json.list(() => numbers.push(json.whole()));
  return numbers;
}

function known<T>(places: Map<string, number>, all: T[], key: string, value: T): number {
  let place = places.get(key);
  if (place === undefined) {
    place = all.length;
    places.set(key, place);
    all.push(value);
  }
  return place;
}

function fill(column: Column, length: number, value: number): Column {
  while (column.length < length) column.push(value);
  return column;
}

function fillIndices(column: IndexColumn, length: number): IndexColumn {
  while (column.length < length) column.push(-1);
  return column;
}
