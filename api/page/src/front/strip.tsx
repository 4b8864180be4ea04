/** Above the plan of a point: which point of the front it is, and the way back. */
import type { JSX } from "preact";
import { plain } from "../draw/format.ts";
import { toFront } from "../shell/open.ts";
import * as state from "../shell/state.ts";
import { neighbour, step } from "./keys.ts";
import { inOrder, least, ratio, standingText, valueText } from "./values.ts";

export function PointStrip(): JSX.Element | null {
  const front = state.front.value;
  const place = state.point.value;
  const point = front?.points[place];
  if (front === null || point === undefined) return null;
  const [first, second] = front.terms;
  const at = inOrder(front).indexOf(place) + 1;
  return (
    <nav class="point" aria-label="front">
      <button type="button" onClick={toFront}>← The front</button>
      <span>
        <b>{valueText(first, point.values[0])}</b> of {plain(first, 30).replaceAll("_", " ")} at <b>{ratio(point.values[1], least(front, 1)) || valueText(second, point.values[1])}</b> of the least {plain(second, 30).replaceAll("_", " ")}
      </span>
      <span class={point.standing === "wrong" ? "wrong" : "quiet"}>{standingText(front, point.standing)}</span>
      <span class="grow" />
      <button type="button" class="round" aria-label="the point before" disabled={neighbour(front, place, -1, true) === place} onClick={() => step(front, -1)}>‹</button>
      <span class="quiet">{at} of {front.points.length}</span>
      <button type="button" class="round" aria-label="the point after" disabled={neighbour(front, place, 1, true) === place} onClick={() => step(front, 1)}>›</button>
    </nav>
  );
}
