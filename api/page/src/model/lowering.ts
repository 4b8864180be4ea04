/** The problem that a graph becomes when its operators run in an order: docs/graph.md says what is live when. */
import type { RawGraph, RawOperator, RawTemporary, RawTensor } from "./graph.ts";
import { JsonReader, ReadError, type Whole } from "./json.ts";
import { type RawProblem, readProblem } from "./problem.ts";

type Span = readonly [bigint, bigint];

/** One run of a program: time 0 is before its first operator, each of which takes as many steps as it has phases. */
export interface Run {
  order: RawOperator[];
  spans: Map<string, Span>;
  end: bigint;
  /** Whether operators run as they are listed. */
  asListed: boolean;
}

export function runOf(graph: RawGraph, schedule: string[]): Run {
  const byId = new Map(graph.operators.map((operator) => [operator.id, operator]));
  const order = schedule.length === 0 ? graph.operators : schedule.flatMap((id) => byId.get(id) ?? []);
  if (new Set(order).size !== graph.operators.length || order.length !== graph.operators.length) {
    throw new ReadError("the plan is of another graph: its schedule does not have each operator once");
  }
  const spans = new Map<string, Span>();
  let clock = 1n;
  for (const operator of order) {
    const begin = clock;
    clock += phasesOf(operator);
    spans.set(operator.id, [begin, clock]);
  }
  return { order, spans, end: clock, asListed: order.every((operator, place) => operator === graph.operators[place]) };
}

function phasesOf(operator: RawOperator): bigint {
  return operator.temporaries.reduce((most, one) => (one.phases !== null && one.phases[1] > most ? one.phases[1] : most), 1n);
}

/** The problem as a document, which is read like any other. */
export function lowered(graph: RawGraph, run: Run): RawProblem {
  return readProblem(new JsonReader(new TextEncoder().encode(written(documentOf(graph, run)))));
}

type Value = string | Whole | null | readonly Value[] | { readonly [field: string]: Value };

/** As JSON; bigints with all of their digits. */
function written(value: Value): string {
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(written).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([field, inner]) => `${JSON.stringify(field)}:${written(inner as Value)}`).join()}}`;
}

function documentOf(graph: RawGraph, run: Run): Value {
  const lives = livesOf(graph, run);
  const byId = new Map(graph.tensors.map((tensor) => [tensor.id, tensor]));
  const planned = new Set(graph.tensors.filter(isPlanned).map((tensor) => tensor.id));
  return {
    name: graph.name,
    ...(graph.pools.length > 0 ? { pools: graph.pools.map((pool) => ({ ...pool, reserved: pool.reserved.map((range) => ({ ...range })) })) } : {}),
    buffers: [
      ...graph.tensors.filter(isPlanned).map((tensor) => bufferOf(tensor, lives.life(tensor), lives.makers.get(tensor.id) ?? null)),
      ...graph.operators.flatMap((operator) => operator.temporaries.map((one) => bufferOf(one, partOf(run, operator, one), operator))),
    ],
    relative: graph.views
      .filter((view) => planned.has(view.tensor) && planned.has(view.of))
      .map((view) => ({ buffer: view.tensor, base: view.of, offset: view.offset })),
    in_place: graph.operators.flatMap((operator) => inPlaceOf(graph, run, operator, lives, byId)),
    objective: graph.objective,
  };
}

function isPlanned(tensor: RawTensor): boolean {
  return tensor.kind === "data" || tensor.kind === "state" || (tensor.kind === "constant" && tensor.pools !== null);
}

function bufferOf(one: RawTensor | RawTemporary, life: Span | null, maker: RawOperator | null): Value {
  return {
    id: one.id, size: one.size, lifetime: life ?? "always", alignment: one.alignment,
    ...(one.pools === null ? {} : { pools: one.pools }),
    ...(maker === null ? {} : { group: maker.type ?? maker.id }),
  };
}

function partOf(run: Run, operator: RawOperator, temporary: RawTemporary): Span {
  const [begin, end] = run.spans.get(operator.id) as Span;
  return temporary.phases === null ? [begin, end] : [begin + temporary.phases[0], begin + temporary.phases[1]];
}

interface Lives {
  makers: Map<string, RawOperator>;
  /** Null: always. */
  life: (tensor: RawTensor) => Span | null;
}

/** From the maker's begin, or from the start, to the end of the last reader, or of the program. */
function livesOf(graph: RawGraph, run: Run): Lives {
  const states = new Set(graph.tensors.filter((tensor) => tensor.kind === "state").map((tensor) => tensor.id));
  const makers = new Map<string, RawOperator>();
  const last = new Map<string, bigint>();
  for (const operator of graph.operators) {
    for (const name of operator.outputs) if (!states.has(name) && !makers.has(name)) makers.set(name, operator);
    const end = (run.spans.get(operator.id) as Span)[1];
    for (const name of operator.inputs) if (end > (last.get(name) ?? 0n)) last.set(name, end);
  }
  const there = new Set(graph.inputs);
  const kept = new Set(graph.outputs);
  return {
    makers,
    life: (tensor) => {
      if (tensor.kind === "state" || tensor.kind === "constant") return null;
      const maker = makers.get(tensor.id);
      const [begin, afterMaker] = there.has(tensor.id) || maker === undefined ? [0n, 1n] : (run.spans.get(maker.id) as Span);
      return [begin, kept.has(tensor.id) ? run.end : (last.get(tensor.id) ?? afterMaker)];
    },
  };
}

/** Pairs whose input nobody needs after the operator. */
function inPlaceOf(graph: RawGraph, run: Run, operator: RawOperator, lives: Lives, byId: Map<string, RawTensor>): Value[] {
  if (operator.inPlace.length === 0) return [];
  const end = (run.spans.get(operator.id) as Span)[1];
  const seen = new Set<string>();
  return operator.inPlace.flatMap((pair) => {
    const key = JSON.stringify([pair.first, pair.second]);
    const [source, target] = [byId.get(pair.first), byId.get(pair.second)];
    if (source === undefined || target === undefined || seen.has(key) || !isPlanned(source) || !isPlanned(target)) return [];
    seen.add(key);
    return lives.life(source)?.[1] === end && !graph.outputs.includes(pair.first) ? [{ input: pair.first, output: pair.second }] : [];
  });
}

/** What runs before what it needs, in words. */
export function outOfOrder(graph: RawGraph, run: Run): string[] {
  const place = new Map(run.order.map((operator, at) => [operator.id, at]));
  const at = (id: string): number => place.get(id) ?? -1;
  const violations: string[] = [];
  const { makers } = livesOf(graph, run);
  for (const operator of run.order) {
    for (const name of operator.inputs) {
      const maker = makers.get(name);
      if (maker !== undefined && at(maker.id) >= at(operator.id)) violations.push(`${operator.id} reads ${name} before ${maker.id} makes it`);
    }
  }
  for (const pair of graph.before) if (at(pair.first) >= at(pair.second)) violations.push(`${pair.second} must run after ${pair.first}`);
  for (const tensor of graph.tensors) if (tensor.kind === "state") violations.push(...atState(graph, tensor.id, at));
  return violations;
}

/** Operators that use one state keep their order in the document, unless both only read it. */
function atState(graph: RawGraph, state: string, at: (id: string) => number): string[] {
  const violations: string[] = [];
  let latest = -1;
  let latestWriter = -1;
  for (const operator of graph.operators) {
    const writes = operator.outputs.includes(state);
    if (!writes && !operator.inputs.includes(state)) continue;
    const place = at(operator.id);
    if (place < (writes ? latest : latestWriter)) violations.push(`${operator.id} uses ${state} before one that is listed earlier`);
    latest = Math.max(latest, place);
    if (writes) latestWriter = Math.max(latestWriter, place);
  }
  return violations;
}
