/** Which segment and which of its steps are looked at. */
import type { Segment, Step } from "../model/loops.ts";
import type { Shown } from "../model/shown.ts";
import * as state from "../shell/state.ts";

/** The segment that is chosen, or the one that needs the most. */
export function segmentPlace(shown: Shown): number {
  return state.operator.value >= 0 ? state.operator.value : shown.critical;
}

/** The step that is looked at; a link may name one that is not drawn. */
export function stepPlace(segment: Segment): number {
  return Math.min(state.loopStep.value, segment.steps.length - 1);
}

export function stepAt(segment: Segment): Step | undefined {
  return segment.steps[stepPlace(segment)];
}

/** Looks at a step, and so chooses its segment. */
export function chooseStep(shown: Shown, step: number): void {
  const place = segmentPlace(shown);
  const last = (shown.loops?.[place]?.steps.length ?? 0) - 1;
  if (last < 0) return;
  if (state.operator.peek() !== place) state.chooseOperator(place);
  state.loopStep.value = Math.min(last, Math.max(0, step));
}

export function stepKey(event: KeyboardEvent): boolean {
  const shown = state.shown.peek();
  const segment = shown?.loops?.[segmentPlace(shown)];
  if (shown === null || segment === undefined || segment.steps.length === 0 || (event.key !== "r" && event.key !== "R")) return false;
  chooseStep(shown, stepPlace(segment) + (event.key === "r" ? 1 : -1));
  return true;
}
