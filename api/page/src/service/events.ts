/** The events of a job. `EventSource` cannot send a key, so the stream is read here; it is resumed where it broke. */
import type { Whole } from "../model/json.ts";
import { exactJson } from "../model/json.ts";
import { Refusal, send } from "./http.ts";

export interface JobEvent {
  number: number;
  kind: string;
  data: { name?: string; value?: Whole; solver?: string; seconds?: number };
}

/** Turns pieces of a stream into events. */
export class EventParser {
  #rest = "";
  #fields: Record<string, string> = {};

  feed(text: string): JobEvent[] {
    const all = this.#rest + text;
    // Of a line end of two characters the other may be still to come.
    const held = all.endsWith("\r") ? "\r" : "";
    const lines = all.slice(0, all.length - held.length).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + held;
    return lines.flatMap((line) => this.#line(line));
  }

  #line(line: string): JobEvent[] {
    if (line !== "") {
      const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name !== undefined && name !== "") this.#fields[name] = value ?? "";
      return [];
    }
    const { id, event, data } = this.#fields;
    this.#fields = {};
    if (id === undefined || event === undefined) return [];
    return [{ number: Number(id), kind: event, data: exactJson(data ?? "{}") }];
  }
}

/** A stream that says nothing for so long has lost its connection: the service sends a comment more often. */
const SILENT = 45_000;
const SHORTEST = 500;
const LONGEST = 10_000;

export interface Follower {
  event: (event: JobEvent) => void;
  /** The connection is lost, or there again (null). */
  trouble: (refusal: Refusal | null) => void;
}

/** Follows a job to its end; throws what waiting cannot mend. */
export async function follow(job: string, follower: Follower, stop: AbortSignal): Promise<void> {
  let last = 0;
  let pause = SHORTEST;
  while (!stop.aborted) {
    try {
      const over = await readOnce(job, last, stop, (event) => {
        last = event.number;
        pause = SHORTEST;
        follower.event(event);
      }, () => follower.trouble(null));
      if (over) return;
      await sleep(SHORTEST, stop);
    } catch (error) {
      if (stop.aborted) return;
      const refusal = error instanceof Refusal ? error : new Refusal(0, "unreachable", "the connection to the service was lost");
      if (!refusal.passes) throw refusal;
      follower.trouble(refusal);
      await sleep(refusal.after === null ? pause : refusal.after * 1000, stop);
      pause = Math.min(LONGEST, pause * 2);
    }
  }
}

/** One connection; whether it was the last. */
async function readOnce(job: string, last: number, stop: AbortSignal, take: (event: JobEvent) => void, connected: () => void): Promise<boolean> {
  const silent = new AbortController();
  stop.addEventListener("abort", () => silent.abort(), { signal: silent.signal });
  const headers = { "Last-Event-ID": String(last), Accept: "text/event-stream" };
  const response = await send(`/v1/jobs/${job}/events`, { headers, signal: silent.signal });
  connected();
  if (response.status === 204 || response.body === null) return true;
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  let timer = setTimeout(() => silent.abort(), SILENT);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return false;
      clearTimeout(timer);
      timer = setTimeout(() => silent.abort(), SILENT);
      for (const event of parser.feed(decoder.decode(value, { stream: true }))) {
        take(event);
        if (event.kind === "done") return true;
      }
    }
  } finally {
    clearTimeout(timer);
    void reader.cancel().catch(() => undefined);
    silent.abort();
  }
}

export function sleep(milliseconds: number, stop: AbortSignal): Promise<void> {
  return new Promise((done) => {
    const timer = setTimeout(done, milliseconds);
    stop.addEventListener("abort", () => {
      clearTimeout(timer);
      done();
    }, { once: true });
  });
}
