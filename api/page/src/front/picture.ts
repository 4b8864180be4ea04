/** The front as a file: its chart, or its points. The same front gives the same bytes. */
import { cell } from "../draw/csv.ts";
import { CanvasPen, SvgPen } from "../draw/pen.ts";
import type { Front } from "../model/front.ts";
import { fileNameOf, saveAs } from "../shell/save.ts";
import * as state from "../shell/state.ts";
import { chartOf, drawChart } from "./chart.ts";

const WIDE = 960, TALL = 560;

export async function saveFront(front: Front, kind: "svg" | "png" | "csv" | "json"): Promise<void> {
  const content = await contentOf(front, kind);
  const name = fileNameOf(state.heading.value || front.name);
  if (content !== null) saveAs(content, `${name === "" ? "" : `${name}.`}front.${kind}`);
}

async function contentOf(front: Front, kind: "svg" | "png" | "csv" | "json"): Promise<Blob | null> {
  if (kind === "csv") return new Blob([csvOf(front)], { type: "text/csv" });
  if (kind === "json") return new Blob([jsonOf(front)], { type: "application/json" });
  const theme = state.theme.value;
  if (kind === "svg") {
    const pen = new SvgPen();
    drawChart(pen, front, chartOf(front, WIDE, TALL), theme, state.point.value);
    return new Blob([pen.document(WIDE, TALL, front.name || "front", theme.paper)], { type: "image/svg+xml" });
  }
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [WIDE * 2, TALL * 2];
  const on = canvas.getContext("2d");
  if (on === null) return null;
  on.scale(2, 2);
  drawChart(new CanvasPen(on), front, chartOf(front, WIDE, TALL), theme, state.point.value);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

/** A line for each point, as `memstow front --output front.csv` writes it, and how it stands. */
function csvOf(front: Front): string {
  const head = [...front.terms, ...front.terms.map((term) => `${term} bound`), "stands"].map(cell);
  const rows = front.points.map((point) => [...point.values, ...point.bounds.map((bound) => bound ?? ""), point.standing].map(String));
  return `${[head, ...rows].map((row) => row.join(",")).join("\n")}\n`;
}

/** The points without their plans, every digit of them. */
function jsonOf(front: Front): string {
  const points = front.points.map((point) => {
    const values = front.terms.map((term, axis) => `${JSON.stringify(term)}: ${point.values[axis as 0 | 1]}`);
    const bounds = front.terms.flatMap((term, axis) => {
      const bound = point.bounds[axis as 0 | 1] ?? null;
      return bound === null ? [] : [`${JSON.stringify(term)}: ${bound}`];
    });
    return `    {${values.join(", ")}, "bounds": {${bounds.join(", ")}}, "stands": "${point.standing}"}`;
  });
  return `{\n  "name": ${JSON.stringify(front.name)},\n  "terms": ${JSON.stringify(front.terms)},\n  "complete": ${front.complete},\n  "points": [\n${points.join(",\n")}\n  ]\n}\n`;
}
