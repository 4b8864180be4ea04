/** The keys of a front: arrows choose a point, Enter opens its plan, Escape goes back. */
import type { Front } from "../model/front.ts";
import { openPoint, toFront } from "../shell/open.ts";
import * as state from "../shell/state.ts";
import { saveFront } from "./picture.ts";
import { inOrder } from "./values.ts";

export function frontKey(event: KeyboardEvent): boolean {
  const front = state.front.peek();
  if (front === null) return false;
  if (state.stage.peek().kind === "shown") return onPlan(event, front);
  return state.stage.peek().kind === "front" && onChart(event, front);
}

function onChart(event: KeyboardEvent, front: Front): boolean {
  const isButton = event.target instanceof HTMLButtonElement || event.target instanceof HTMLAnchorElement;
  switch (event.key) {
    case "ArrowRight": case "ArrowDown": case "n": choose(front, 1); break;
    case "ArrowLeft": case "ArrowUp": case "N": choose(front, -1); break;
    case "Home": state.point.value = inOrder(front)[0] ?? -1; break;
    case "End": state.point.value = inOrder(front)[front.points.length - 1] ?? -1; break;
    case "s": void saveFront(front, "svg"); break;
    case "Escape": state.point.value = -1; break;
    case "Enter":
      if (isButton || state.point.value < 0) return false;
      void openPoint(state.point.value);
      break;
    default: return false;
  }
  return true;
}

function onPlan(event: KeyboardEvent, front: Front): boolean {
  if (event.key === "n" || event.key === "N") step(front, event.key === "n" ? 1 : -1);
  else if (event.key === "Escape" && state.chosen.peek() < 0 && state.operator.peek() < 0) toFront();
  else return false;
  return true;
}

/** The next point, in the order of the first term. */
export function neighbour(front: Front, from: number, by: number, drawn: boolean): number {
  const order = inOrder(front).filter((place) => !drawn || front.points[place]?.missing === "");
  const at = order.indexOf(from);
  if (at < 0) return order[by > 0 ? 0 : order.length - 1] ?? -1;
  return order[at + by] ?? from;
}

function choose(front: Front, by: number): void {
  state.point.value = neighbour(front, state.point.peek(), by, false);
}

/** Opens the plan of the next point that has one. */
export function step(front: Front, by: number): void {
  const next = neighbour(front, state.point.peek(), by, true);
  if (next >= 0 && next !== state.point.peek()) void openPoint(next);
}
