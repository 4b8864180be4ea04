/** The keyboard: everything that a pointer can do. */
import type { Shown } from "../model/shown.ts";
import { flip } from "./bar.tsx";
import { swap } from "./compare.tsx";
import { findNext, lookNear } from "./find.tsx";
import { colourings, setByChange } from "./head.tsx";
import { parts } from "./parts.ts";
import { save } from "./save.ts";
import * as state from "./state.ts";

export const KEYS = [
  { keys: "/", does: "find a buffer; Enter goes to it, and to the next" },
  { keys: "g G", does: "the next of those that were found, or the one before" },
  { keys: "[ ]", does: "choose the buffer before or after; of two plans, the one that moved further or less" },
  { keys: "← → ↑ ↓", does: "move the map" },
  { keys: "+ −", does: "zoom the time; with Alt the addresses, too" },
  { keys: "0", does: "show everything" },
  { keys: "z", does: "zoom to the buffer that is chosen" },
  { keys: ", .", does: "the moment before or after" },
  { keys: "m", does: "back to the moment that decides" },
  { keys: "c", does: "next colours" },
  { keys: "t", does: "time as given or by change" },
  { keys: "p", does: "everything or only the proof" },
  { keys: "b", does: "table of all buffers" },
  { keys: "o O", does: "of a graph: the operator after or before; at first the critical one" },
  { keys: "r R", does: "of a stripe: the step after or before" },
  { keys: "n N", does: "of a front or of symbols: the point after or before; Esc: back to the front" },
  { keys: "x", does: "swap the two plans" },
  { keys: "s", does: "save the picture as SVG" },
  { keys: "d", does: "dark or light" },
  { keys: "Esc", does: "choose nothing" },
  { keys: "?", does: "these keys" },
] as const;

const MOVE = 0.12;

export function listen(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || isDialogOpen() || isTyping(event)) return;
    const shown = state.shown.value;
    if (parts.frontKey(event) || general(event.key) || (shown !== null && onPlan(event, shown))) event.preventDefault();
  });
}

function isDialogOpen(): boolean {
  return state.dialog.value !== null || document.querySelector("dialog[open]") !== null;
}

function isTyping(event: KeyboardEvent): boolean {
  // The editor has a shadow tree of its own: from outside its target is what holds that.
  const target = event.composedPath()[0];
  if (target instanceof HTMLInputElement && target.type === "range") return false;
  return target instanceof HTMLElement && (target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName));
}

function general(key: string): boolean {
  if (key === "?") state.dialog.value = "keys";
  else if (key === "d") flip();
  else return false;
  return true;
}

function onPlan(event: KeyboardEvent, shown: Shown): boolean {
  switch (event.key) {
    case "/": document.getElementById("find")?.focus(); break;
    case "g": findNext(1); break;
    case "G": findNext(-1); break;
    case "z": lookNear(state.chosen.value); break;
    case "[": choose(shown, -1); break;
    case "]": choose(shown, 1); break;
    case ",": moveMoment(shown, -1); break;
    case ".": moveMoment(shown, 1); break;
    case "m": state.moment.value = null; break;
    case "c": nextColours(); break;
    case "t": setByChange(!state.byChange.value); break;
    case "p": state.proofOnly.value = !state.proofOnly.value; break;
    case "b": state.dialog.value = "table"; break;
    case "o": nextOperator(shown, 1); break;
    case "O": nextOperator(shown, -1); break;
    case "x": swap(); break;
    case "s": void save("svg"); break;
    case "Escape":
      state.chosen.value = -1;
      state.operator.value = -1;
      break;
    case "0": state.lookAtAll(); break;
    case "+": case "=": zoom(shown, 0.8, event.altKey); break;
    case "-": case "_": zoom(shown, 1.25, event.altKey); break;
    default: return arrow(event, shown);
  }
  return true;
}

/** Arrows move the map where it has the focus; elsewhere they scroll the page. */
function arrow(event: KeyboardEvent, shown: Shown): boolean {
  if (!(event.target instanceof HTMLCanvasElement)) return false;
  const [across, up] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key] ?? [0, 0];
  if (across === 0 && up === 0) return false;
  const place = state.active.value;
  const { left, right, low, high } = state.windowOf(shown, place);
  const [dx, dy] = [(across ?? 0) * MOVE * (right - left), (up ?? 0) * MOVE * (high - low)];
  state.look(shown, place, { left: left + dx, right: right + dx, low: low + dy, high: high + dy });
  return true;
}

function zoom(shown: Shown, factor: number, alsoAddresses: boolean): void {
  const place = state.active.value;
  const { left, right, low, high } = state.windowOf(shown, place);
  const [x, y] = [(left + right) / 2, (low + high) / 2];
  const [across, up] = [((right - left) / 2) * factor, ((high - low) / 2) * (alsoAddresses ? factor : 1)];
  state.look(shown, place, { left: x - across, right: x + across, low: y - up, high: y + up });
}

function nextColours(): void {
  const all = colourings();
  state.colouring.value = all[(all.indexOf(state.colouring.value) + 1) % all.length] ?? "lifetime";
}

function choose(shown: Shown, by: number): void {
  const order = shown.second?.moves.order ?? null;
  const count = order === null ? shown.scene.sizes.length : order.length;
  if (count === 0) return;
  const now = order === null ? state.chosen.value : order.indexOf(state.chosen.value);
  const from = now < 0 && by < 0 ? 0 : now;
  const next = (from + by + count) % count;
  state.choose(order === null ? next : (order[next] as number));
}

function nextOperator(shown: Shown, by: number): void {
  const count = shown.needs.length;
  if (count === 0) return;
  const now = state.operator.value;
  state.chooseOperator(now < 0 ? shown.critical : (now + by + count) % count);
}

function moveMoment(shown: Shown, by: number): void {
  const pool = shown.pools[state.active.value];
  if (pool === undefined) return;
  const last = Math.max(0, shown.scene.axis.times.length - 2);
  state.moment.value = Math.min(last, Math.max(0, state.stepFor(pool) + by));
}
