/** Opens files: dropped, chosen, or held in the page itself. */
import type { Front } from "../model/front.ts";
import type { File0, Shown } from "../model/shown.ts";
import { MISSING_SECOND, NO_PROBLEM } from "../model/verdict.ts";
import { ask, type Reading } from "../worker/ask.ts";
import { readFragment, readPoint } from "./fragment.ts";
import { type Opening, parts } from "./parts.ts";
import * as state from "./state.ts";

type Content = () => Promise<File0[]>;

let current: Reading | null = null;
/** Kept until the rest comes: a plan alone has no sizes. */
let waiting: File[] = [];
/** What is shown, to read it again beside another plan. */
let looked: Content | null = null;

/** The files that what is shown was read from; null: they are not at hand. */
export function lookedAt(): Content | null {
  return looked;
}

/** What is shown was read from these. */
export function setLooked(content: Content): void {
  looked = content;
}

/** The same files each time: reading takes their bytes along. */
export function again(files: readonly File0[]): Content {
  const kept = files.map((file) => ({ ...file, bytes: file.bytes.slice() }));
  return () => Promise.resolve(kept.map((file) => ({ ...file, bytes: file.bytes.slice() })));
}

/** Shows these files, with those that wait for them; a plan alone is compared with the one that is shown. */
export async function openFiles(files: File[], both = false): Promise<void> {
  const all = [...waiting, ...files].slice(-3);
  const before = looked;
  if (parts.takes(files)) return;
  const content: Content = async () => Promise.all(all.map(async (file) => ({
    name: file.name, bytes: new Uint8Array(await file.arrayBuffer()), trusted: false,
  })));
  const failure = await open(await content(), { both });
  state.files.value = all;
  if (failure === null) {
    looked = content;
    // Its problem may come yet.
    waiting = all.length === 1 && state.front.peek() !== null ? all : [];
  } else if (failure === NO_PROBLEM && before !== null) {
    const both: Content = async () => [...(await before()), ...(await content())];
    await open(await both(), { both: true });
    // Of formulas there is no comparison: it is the plan of the problem that was there.
    if (state.shown.peek()?.symbolic !== undefined) looked = both;
    waiting = [];
  } else {
    waiting = failure === NO_PROBLEM || failure === MISSING_SECOND ? all.slice(-2) : [];
  }
}

/** Reads and shows; returns what was wrong. */
export async function open(files: File0[], how: Opening = {}): Promise<string | null> {
  const update = how.update === true && (state.shown.peek() !== null || state.front.peek() !== null);
  current?.stop();
  if (how.point === undefined && !update) state.front.value = null;
  if (!update) state.stage.value = { kind: "reading", doing: "reading", part: 0 };
  const reading = ask({ files, both: how.both ?? false, point: how.point ?? null, at: how.at ?? null }, (doing, part) => {
    if (current === reading && !update) state.stage.value = { kind: "reading", doing, part };
  });
  current = reading;
  try {
    const contents = await reading.contents;
    if ("front" in contents) {
      const { front } = contents;
      if (update) updateFront(front);
      else showFront(front);
      if (how.restore === true) restorePoint(front);
      return null;
    }
    const { shown } = contents;
    if (!update) startLooking(shown);
    state.stage.value = { kind: "shown", shown, atService: SERVED && files.every((file) => file.trusted) };
    if (how.restore === true) readFragment(location.hash);
    if (how.moved !== true) parts.opened(shown, { ...how, update });
    return null;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (!update) state.stage.value = { kind: "failed", message };
    return message;
  }
}

function showFront(front: Front): void {
  state.forget();
  state.files.value = [];
  state.front.value = front;
  state.point.value = -1;
  state.stage.value = { kind: "front" };
}

/** A front that has more points by now: what is looked at stays. */
function updateFront(front: Front): void {
  const before = state.front.peek()?.points[state.point.peek()];
  state.front.value = front;
  if (before !== undefined) state.point.value = front.points.findIndex((point) => point.values.every((value, axis) => value === before.values[axis as 0 | 1]));
  // Before its first point, the problem was seen.
  if (before === undefined || state.stage.peek().kind !== "shown") {
    state.forget();
    state.stage.value = { kind: "front" };
  }
}

/** The point that the fragment names, and its plan if that was open; else the one that the file begins with. */
function restorePoint(front: Front): void {
  const { at, point } = readPoint(location.hash);
  const place = at ?? point ?? (front.first >= 0 ? front.first : null);
  if (place === null || place >= front.points.length) return;
  state.point.value = place;
  if (at === null) void openPoint(place, true);
}

/** Somebody has changed the address, or went back to an earlier one. */
export function followAddress(): void {
  const front = state.front.peek();
  const isShown = state.shown.peek() !== null;
  if (front !== null && (!isShown || readPoint(location.hash).point !== state.point.peek())) {
    toFront();
    state.point.value = -1;
    restorePoint(front);
  } else if (isShown) readFragment(location.hash);
}

/** Draws the plan of a point of the front. */
export async function openPoint(place: number, restore = false): Promise<void> {
  const front = state.front.peek();
  state.point.value = place;
  if (looked === null || front?.points[place] === undefined || front.points[place].missing !== "") return;
  await open(await looked(), { point: place, restore });
}

/** Back from the plan of a point. */
export function toFront(): void {
  if (state.front.peek() === null) return;
  current?.stop();
  state.forget();
  state.stage.value = { kind: "front" };
}

function startLooking(shown: Shown): void {
  state.forget();
  state.files.value = [];
  state.colouring.value = state.firstColouring(shown);
}

/** Shows nothing, and stops reading. */
export function close(): void {
  current?.stop();
  current = null;
  waiting = [];
  looked = null;
  state.front.value = null;
  state.point.value = -1;
  state.forget();
  state.files.value = [];
  state.liveSearch.value = null;
  state.stage.value = { kind: "empty" };
}

/** The data that a page of its own holds. */
export async function openHeld(text: string): Promise<void> {
  const content: Content = () => Promise.resolve([{ name: "this page", bytes: unpacked(text), trusted: true }]);
  // Before it is read: a point of a front is read from the same.
  looked = content;
  if (await open(await content(), { restore: true }) !== null) looked = null;
}

function unpacked(text: string): Uint8Array {
  const raw = atob(text.trim());
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return bytes;
}
