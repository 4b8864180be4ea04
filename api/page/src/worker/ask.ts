/** The page's side of the worker: one for each reading. */
import type { Contents, Report, Request } from "./reader.ts";

export interface Reading {
  contents: Promise<Contents>;
  stop: () => void;
}

let address = "";
let kind: WorkerType = "classic";

/** Where the script of the worker is. */
export function setWorker(url: string, type: WorkerType): void {
  address = url;
  kind = type;
}

export function ask(request: Request, progress: (doing: string, part: number) => void): Reading {
  const worker = new Worker(trusted(address), { name: "reader", type: kind });
  const contents = new Promise<Contents>((done, fail) => {
    worker.onmessage = (event: MessageEvent<Report>) => {
      const report = event.data;
      if (report.kind === "progress") {
        progress(report.doing, report.part);
        return;
      }
      worker.terminate();
      if (report.kind === "contents") done(report.contents);
      else fail(new Error(report.message));
    };
    worker.onerror = (event) => {
      worker.terminate();
      fail(new Error(event.message || "the reader could not be started"));
    };
    worker.postMessage(request, request.files.map((file) => file.bytes.buffer as ArrayBuffer));
  });
  return { contents, stop: () => worker.terminate() };
}

interface Policies {
  createPolicy(name: string, rules: { createScriptURL: (url: string) => string }): { createScriptURL: (url: string) => string };
}

/** Only the script of the worker passes the policy. */
const policy = (globalThis as { trustedTypes?: Policies }).trustedTypes?.createPolicy("memstow", {
  createScriptURL: (url) => {
    if (url !== address) throw new TypeError("not the script of the worker");
    return url;
  },
});

function trusted(url: string): string {
  return policy === undefined ? url : policy.createScriptURL(url);
}
