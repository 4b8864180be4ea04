/** The chart as a file. */
import { SvgPen } from "../draw/pen.ts";
import type { Front } from "../model/front.ts";
import { saveAs } from "../shell/save.ts";
import * as state from "../shell/state.ts";
import { chartOf, drawChart } from "./chart.ts";

const WIDE = 960, TALL = 560;

export function saveFront(front: Front): void {
  const pen = new SvgPen();
  drawChart(pen, front, chartOf(front, WIDE, TALL), state.theme.value, state.point.value);
  const text = pen.document(WIDE, TALL, front.name || "front", state.theme.value.paper);
  saveAs(new Blob([text], { type: "image/svg+xml" }), "front.svg");
}
