/** Opens files: dropped, chosen, or held in the page itself. */
import { ask, type Reading } from "../worker/ask.ts";
import { readFragment } from "./fragment.ts";
import * as state from "./state.ts";

interface File0 {
  name: string;
  bytes: Uint8Array;
  compressed: boolean;
}

let current: Reading | null = null;
/** Kept until its other half comes: a plan alone has no sizes. */
let waiting: File[] = [];

export async function openFiles(files: File[]): Promise<void> {
  const all = [...waiting, ...files].slice(-2);
  const read = await Promise.all(all.map(async (file) => ({
    name: file.name, bytes: new Uint8Array(await file.arrayBuffer()), compressed: false,
  })));
  const failure = await open(read, false);
  waiting = failure !== null && failure.startsWith("a plan names buffers") ? files.slice(-1) : [];
}

/** Reads and shows; returns what was wrong. */
export async function open(files: File0[], restore: boolean): Promise<string | null> {
  current?.stop();
  state.stage.value = { kind: "reading", doing: "reading", part: 0 };
  const reading = ask({ files }, (doing, part) => {
    if (current === reading) state.stage.value = { kind: "reading", doing, part };
  });
  current = reading;
  try {
    const shown = await reading.shown;
    state.forget();
    state.colouring.value = state.firstColouring(shown);
    state.stage.value = { kind: "shown", shown, source: "file" };
    if (restore) readFragment(location.hash);
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    state.stage.value = { kind: "failed", message };
    return message;
  }
}

/** The data that a page of its own holds. */
export function openHeld(text: string): Promise<string | null> {
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return open([{ name: "this page", bytes, compressed: true }], true);
}
