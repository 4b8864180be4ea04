/** Reading and checking in a worker: the page stays alive, and all memory of the worker is given back at its end. */
import { inflated, isGzip } from "../model/gzip.ts";
import { ReadError } from "../model/json.ts";
import type { Front } from "../model/front.ts";
import { readShown } from "../model/show.ts";
import { type File0, movable, type Progress, type Shown } from "../model/shown.ts";

export interface Request {
  files: File0[];
  /** Whether only two plans are enough. */
  both: boolean;
  /** The point of a front whose plan is wanted; null: the front. */
  point: number | null;
  /** Values of the symbols, where the plan is one of formulas; null: where it begins. */
  at: bigint[] | null;
}

export type Contents = { front: Front } | { shown: Shown };

export type Report =
  | { kind: "progress"; doing: string; part: number }
  | { kind: "contents"; contents: Contents }
  | { kind: "failed"; message: string };

/** Reads files that only some pages know, such as fronts; null: they are none of these. */
export type Others = (files: File0[], request: Request, progress: Progress) => Contents | null;

let others: Others | null = null;

export function setOthers(read: Others): void {
  others = read;
}

export function serve(): void {
  const port = globalThis as unknown as { onmessage: (event: MessageEvent<Request>) => void; postMessage: (report: Report, move?: Transferable[]) => void };
  port.onmessage = (event) => {
    read(event.data, (report) => port.postMessage(report)).then(
      (contents) => port.postMessage({ kind: "contents", contents }, "shown" in contents ? movable(contents.shown) : []),
      (error: unknown) => port.postMessage({ kind: "failed", message: reasonOf(error) }),
    );
  };
}

async function read(request: Request, report: (report: Report) => void): Promise<Contents> {
  let last = 0;
  const files = [];
  for (const file of request.files) files.push(await unpacked(file));
  const progress = (doing: string, part: number): void => {
    const now = Date.now();
    if (now - last < 80) return;
    last = now;
    report({ kind: "progress", doing, part });
  };
  return others?.(files, request, progress) ?? { shown: readShown(files, request.both, progress) };
}

export async function unpacked(file: File0): Promise<File0> {
  return isGzip(file.bytes) ? { ...file, bytes: await inflated(file.bytes) } : file;
}

export function reasonOf(error: unknown): string {
  if (error instanceof ReadError) return error.message;
  if (error instanceof RangeError) return `it is too large for this browser (${error.message})`;
  return `a defect of this page: ${String(error)}`;
}
