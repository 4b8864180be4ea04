/** The chart as a file. */
import { SvgPen } from "../draw/pen.ts";
import type { Front } from "../model/front.ts";
import * as state from "../shell/state.ts";
import { chartOf, drawChart } from "./chart.ts";

const WIDE = 960, TALL = 560;

export function saveFront(front: Front): void {
  const pen = new SvgPen();
  drawChart(pen, front, chartOf(front, WIDE, TALL), state.theme.value, state.point.value);
  const text = pen.document(WIDE, TALL, front.name || "front", state.theme.value.paper);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  link.download = "front.svg";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
