/** The operators of a graph as they stand along the axis of its plan: what each reads and makes, and what it needs. */
import type { Amount, Amounts } from "./columns.ts";
import type { RawGraph, RawOperator } from "./graph.ts";
import type { Whole } from "./json.ts";
import type { Run } from "./lowering.ts";
import type { NameIndex } from "./names.ts";

export interface Operator {
  id: string;
  type: string;
  /** Buffers; what is not planned, such as weights, is only counted. */
  inputs: number[];
  outputs: number[];
  temporaries: number[];
  aside: number;
}

export interface Program {
  /** As they run. */
  operators: Operator[];
  /** When each begins and when the last one ends, as ranks of the axis; between two of its times as fractions. */
  edges: Float64Array;
  /** Whether bounds must hold for every order that the graph allows, so that this one proves nothing about them. */
  anyOrder: boolean;
}

export function programOf(graph: RawGraph, run: Run, index: NameIndex, times: Float64Array | bigint[]): Program {
  const begins = run.order.map((operator) => (run.spans.get(operator.id) as readonly [bigint, bigint])[0]);
  return {
    operators: run.order.map((operator) => operatorOf(operator, index)),
    edges: Float64Array.from([...begins, run.end], (time) => rankAt(times, time)),
    anyOrder: graph.order !== "given" || !run.asListed,
  };
}

function operatorOf(operator: RawOperator, index: NameIndex): Operator {
  const buffersOf = (names: string[]): number[] => [...new Set(names)].map((name) => index.find(name)).filter((buffer) => buffer >= 0);
  const inputs = buffersOf(operator.inputs);
  const outputs = buffersOf(operator.outputs);
  return {
    id: operator.id, type: operator.type ?? "", inputs, outputs,
    temporaries: buffersOf(operator.temporaries.map((one) => one.id)),
    aside: new Set([...operator.inputs, ...operator.outputs]).size - new Set([...inputs, ...outputs]).size,
  };
}

/** Where a time is among those of the axis. */
function rankAt(times: Float64Array | bigint[], time: bigint): number {
  const last = times.length - 1;
  let [low, high] = [0, last];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (BigInt(times[middle] as Whole) <= time) low = middle;
    else high = middle - 1;
  }
  const from = BigInt((times[low] as Whole | undefined) ?? 0);
  if (low >= last || time <= from) return low;
  return low + Number(time - from) / Number(BigInt(times[low + 1] as Whole) - from);
}

/** The steps of the axis while an operator runs. */
export function stepsOf(program: Program, operator: number): readonly [number, number] {
  const begin = Math.floor(program.edges[operator] as number);
  return [begin, Math.max(begin + 1, Math.ceil(program.edges[operator + 1] as number))];
}

/** The operator that runs in a step; -1: none, as before the first. */
export function operatorAt(program: Program, rank: number): number {
  const { edges } = program;
  let [low, high] = [0, edges.length - 1];
  if (edges.length < 2 || rank < (edges[0] as number) || rank >= (edges[high] as number)) return -1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((edges[middle] as number) <= rank) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The most bytes live while each operator runs, in all pools together. */
export function needsOf(program: Program, live: Amounts[], zero: Amount): Amount[] {
  return program.operators.map((_, operator) => {
    const [begin, end] = stepsOf(program, operator);
    let most = zero;
    for (let step = begin; step < end; step++) {
      let sum = zero;
      for (const pool of live) sum += pool[step] ?? zero;
      if (sum > most) most = sum;
    }
    return most;
  });
}

/** The operator of this name, which a proof is about; otherwise the one that needs the most, the first of several. */
export function criticalOf(program: Program, needs: Amount[], proven: string | null): number {
  let best = proven === null ? -1 : program.operators.findIndex((operator) => operator.id === proven);
  if (best >= 0) return best;
  needs.forEach((need, operator) => {
    if (best < 0 || need > (needs[best] as Amount)) best = operator;
  });
  return best;
}
