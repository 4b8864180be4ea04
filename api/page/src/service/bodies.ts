/** What is sent to the service: as it is written, to the last digit. */
import { inflated, isGzip } from "../model/gzip.ts";
import { membersOf } from "../model/json.ts";
import { send } from "./http.ts";

type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();

export interface Body {
  content: BodyInit;
  type: string;
  /** Parameters of the query that say how it is to be read. */
  query?: Record<string, string>;
  /** What its job is called, where that is not in it. */
  name?: string;
  /** Values of open dimensions of an ONNX model. */
  dims?: string[];
}

/** The media types of files that only the service reads, by the end of their names. */
const TYPES: Record<string, string> = {
  tflite: "application/vnd.tflite", onnx: "application/onnx", csv: "text/csv", txt: "application/vnd.memstow.xla",
  pickle: "application/vnd.memstow.torch-snapshot", pkl: "application/vnd.memstow.torch-snapshot",
};

export function typeOf(name: string): string | null {
  return TYPES[name.toLowerCase().split(".").pop() ?? ""] ?? null;
}

/** What is written in the editor, as a body. */
export function bodyOf(text: string): Body {
  if (/^\s*[{[]/.test(text) || text.trim() === "") return { content: text, type: "application/json" };
  return { content: text, type: /^\s*BufferAssignment:/.test(text) ? "application/vnd.memstow.xla" : "text/csv" };
}

function first(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? "" : String.fromCharCode(bytes[0] ?? 0);
}

/** The problem of a body, as the page reads it: its own where it can, or as the service reads it. */
export async function problemOf(body: Body, stop?: AbortSignal): Promise<Uint8Array> {
  const bytes = new Uint8Array(await new Response(body.content).arrayBuffer());
  const members = body.type === "application/json" ? membersOf(bytes) : null;
  if (members?.has("buffers") === true) return bytes;
  const problem = members?.get("problem");
  if (problem !== undefined && first(problem) === "{" && !(members?.has("target") ?? false)) return problem.slice();
  return converted(members === null ? { ...body, content: bytes } : { ...body, content: only(members, ["problem", "graph", "target", "order", "in_place"], bytes) }, stop);
}

/** The same object with some of its members; itself, if it is no envelope. */
function only(members: Map<string, Uint8Array>, names: readonly string[], whole: Bytes): Bytes {
  if (!members.has("problem") && !members.has("graph")) return whole;
  const parts = names.flatMap((name) => {
    const value = members.get(name);
    return value === undefined ? [] : [[encoder.encode(`${JSON.stringify(name)}:`), value] as const];
  });
  const pieces: Uint8Array[] = [encoder.encode("{")];
  parts.forEach(([name, value], place) => {
    if (place > 0) pieces.push(encoder.encode(","));
    pieces.push(name, value);
  });
  pieces.push(encoder.encode("}"));
  return joined(pieces);
}

function joined(pieces: readonly Uint8Array[]): Bytes {
  const all = new Uint8Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** The problem or the graph that one of these files holds, as it is written; null: none of them does. */
export async function problemOfFiles(files: readonly Blob[]): Promise<Bytes | null> {
  for (const file of files) {
    const bytes = await bytesOf(file);
    const members = membersOf(bytes);
    if (members?.has("buffers") === true || members?.has("operators") === true) return bytes;
    const inside = [members?.get("graph"), members?.get("problem")].find((one) => first(one) === "{");
    if (inside !== undefined) return inside.slice();
  }
  return null;
}

async function bytesOf(file: Blob): Promise<Bytes> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  return isGzip(bytes) ? inflated(bytes) : bytes;
}

/** A file as a body: what it is, by its name and by its members. */
export async function bodyOfFile(file: File): Promise<Body> {
  const type = typeOf(file.name);
  if (type !== null) return { content: file, type };
  const bytes = await bytesOf(file);
  const members = membersOf(bytes);
  const format = members === null ? "executorch" : members.has("schema_version") ? "structured" : members.has("sizes") ? "usmp" : null;
  return { content: bytes, type: format === null ? "application/json" : `application/vnd.memstow.${format}+json` };
}

const LONGEST_NAME = 200;

/** Calls the job of this body as the file is called, unless the problem has a name of its own. */
export async function nameBody(body: Body, file: string): Promise<void> {
  const members = body.type.endsWith("json") ? membersOf(new Uint8Array(await new Response(body.content).arrayBuffer())) : null;
  const inside = [members?.get("graph"), members?.get("problem")].find((one) => first(one) === "{");
  const own = (inside === undefined ? members : membersOf(inside))?.get("name");
  const name = [...file].slice(0, LONGEST_NAME).join("");
  if (name !== "" && first(own) !== '"') body.name = name;
}

/** The problem, as the service reads it. */
export async function converted(body: Body, stop?: AbortSignal): Promise<Uint8Array> {
  const { name: _, ...unnamed } = body;
  const response = await post("/v1/convert", { ...unnamed, query: { ...body.query, to: "json" } }, {}, stop);
  return new Uint8Array(await response.arrayBuffer());
}

export function post(path: string, body: Body, headers: Record<string, string> = {}, stop?: AbortSignal): Promise<Response> {
  const query = new URLSearchParams(body.query);
  for (const dim of body.dims ?? []) query.append("dim", dim);
  if (body.name !== undefined) query.set("name", body.name);
  return send(query.toString() === "" ? path : `${path}?${query}`, {
    method: "POST", body: body.content, headers: { "Content-Type": body.type, ...headers }, ...(stop === undefined ? {} : { signal: stop }),
  });
}
