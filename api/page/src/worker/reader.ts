/** Reading and checking in a worker: the page stays alive, and all memory of the worker is given back at its end. */
import { ReadError } from "../model/json.ts";
import { movable, readShown, type Shown } from "../model/shown.ts";

export interface Request {
  /** `held`: by the page itself, compressed. */
  files: { name: string; bytes: Uint8Array; held: boolean }[];
  /** Whether only two plans are enough. */
  both: boolean;
}

export type Report =
  | { kind: "progress"; doing: string; part: number }
  | { kind: "shown"; shown: Shown }
  | { kind: "failed"; message: string };

export function serve(): void {
  const port = globalThis as unknown as { onmessage: (event: MessageEvent<Request>) => void; postMessage: (report: Report, move?: Transferable[]) => void };
  port.onmessage = (event) => {
    read(event.data, (report) => port.postMessage(report)).then(
      (shown) => port.postMessage({ kind: "shown", shown }, movable(shown)),
      (error: unknown) => port.postMessage({ kind: "failed", message: reasonOf(error) }),
    );
  };
}

async function read(request: Request, report: (report: Report) => void): Promise<Shown> {
  let last = 0;
  const files = [];
  for (const file of request.files) {
    const bytes = file.held || isGzip(file.bytes) ? await inflated(file.bytes) : file.bytes;
    files.push({ name: file.name, bytes, held: file.held });
  }
  return readShown(files, request.both, (doing, part) => {
    const now = Date.now();
    if (now - last < 80) return;
    last = now;
    report({ kind: "progress", doing, part });
  });
}

function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

async function inflated(bytes: Uint8Array): Promise<Uint8Array> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function reasonOf(error: unknown): string {
  if (error instanceof ReadError) return error.message;
  if (error instanceof RangeError) return `it is too large for this browser (${error.message})`;
  return `a defect of this page: ${String(error)}`;
}
