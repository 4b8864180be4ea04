/** A graph as docs/graph.md describes it, as far as lifetimes and the order of its operators need it. */
import type { JsonReader, Whole } from "./json.ts";
import { type RawPool, readPair, readPools, type RawPair, strings } from "./problem.ts";

export interface RawTensor {
  id: string;
  size: Whole;
  kind: string;
  alignment: Whole;
  pools: string[] | null;
}

export interface RawTemporary {
  id: string;
  size: Whole;
  alignment: Whole;
  pools: string[] | null;
  phases: [bigint, bigint] | null;
}

export interface RawOperator {
  id: string;
  type: string | null;
  inputs: string[];
  outputs: string[];
  temporaries: RawTemporary[];
  inPlace: RawPair[];
}

export interface RawGraph {
  name: string | null;
  pools: RawPool[];
  tensors: RawTensor[];
  operators: RawOperator[];
  inputs: string[];
  outputs: string[];
  before: RawPair[];
  views: { tensor: string; of: string; offset: Whole }[];
  order: string;
  objective: string[] | null;
}

/** Bits of an element; those of less than a byte are packed. */
const BITS: Record<string, number> = {
  int2: 2, uint2: 2, int4: 4, uint4: 4, float4: 4, bool: 8, int8: 8, uint8: 8, float8: 8, int16: 16, uint16: 16, float16: 16,
  bfloat16: 16, int32: 32, uint32: 32, float32: 32, int64: 64, uint64: 64, float64: 64, complex64: 64, complex128: 128,
};

export function readGraph(json: JsonReader): RawGraph {
  const graph: RawGraph = {
    name: null, pools: [], tensors: [], operators: [], inputs: [], outputs: [], before: [], views: [], order: "given", objective: null,
  };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "name" || field === "order") graph[field] = json.string();
    else if (field === "pools") graph.pools = readPools(json);
    else if (field === "tensors") json.list(() => graph.tensors.push(readTensor(json)));
    else if (field === "operators") json.list(() => graph.operators.push(readOperator(json)));
    else if (field === "inputs" || field === "outputs" || field === "objective") graph[field] = strings(json);
    else if (field === "before") json.list(() => graph.before.push(readPair(json)));
    else if (field === "views") json.list(() => graph.views.push(readView(json)));
    else json.skip();
  });
  return graph;
}

function readTensor(json: JsonReader): RawTensor {
  const tensor: RawTensor = { id: "", size: 0, kind: "data", alignment: 1, pools: null };
  let size: Whole | null = null;
  let shape: Whole[] | null = null;
  let type: string | null = null;
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "id" || field === "kind") tensor[field] = json.string();
    else if (field === "size") size = json.whole();
    else if (field === "type") type = json.string();
    else if (field === "shape") {
      const sides: Whole[] = [];
      json.list(() => sides.push(json.whole()));
      shape = sides;
    } else if (field === "alignment") tensor.alignment = json.whole();
    else if (field === "pools") tensor.pools = strings(json);
    else json.skip();
  });
  return { ...tensor, size: size ?? sizeOf(shape, type) };
}

function sizeOf(shape: Whole[] | null, type: string | null): Whole {
  const bits = BITS[type ?? ""];
  if (shape === null || bits === undefined) return 0;
  let product = BigInt(bits);
  for (const extent of shape) product *= BigInt(extent);
  return (product + 7n) / 8n;
}

function readOperator(json: JsonReader): RawOperator {
  const operator: RawOperator = { id: "", type: null, inputs: [], outputs: [], temporaries: [], inPlace: [] };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "id" || field === "type") operator[field] = json.string();
    else if (field === "inputs" || field === "outputs") operator[field] = strings(json);
    else if (field === "temporaries") json.list(() => operator.temporaries.push(readTemporary(json)));
    else if (field === "in_place") json.list(() => operator.inPlace.push(readPair(json)));
    else json.skip();
  });
  return operator;
}

function readTemporary(json: JsonReader): RawTemporary {
  const temporary: RawTemporary = { id: "", size: 0, alignment: 1, pools: null, phases: null };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "id") temporary.id = json.string();
    else if (field === "size" || field === "alignment") temporary[field] = json.whole();
    else if (field === "pools") temporary.pools = strings(json);
    else if (field === "phases") {
      const phases: Whole[] = [];
      json.list(() => phases.push(json.whole()));
      temporary.phases = [BigInt(phases[0] ?? 0), BigInt(phases[1] ?? 1)];
    } else json.skip();
  });
  return temporary;
}

function readView(json: JsonReader): RawGraph["views"][number] {
  const view: RawGraph["views"][number] = { tensor: "", of: "", offset: 0 };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "tensor" || field === "of") view[field] = json.string();
    else if (field === "offset") view.offset = json.whole();
    else json.skip();
  });
  return view;
}
