/** Saves what is seen as a file. */
import { pngOf, svgOf } from "../draw/export.ts";
import { csvOf, movesCsv } from "../draw/csv.ts";
import type { Picture } from "../draw/picture.ts";
import * as state from "./state.ts";

export async function save(kind: "svg" | "png" | "csv"): Promise<void> {
  const content = await contentOf(kind);
  if (content !== null) saveAs(content, `${fileName()}.${kind}`);
}

export function saveAs(content: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

export async function contentOf(kind: "svg" | "png" | "csv"): Promise<Blob | null> {
  const shown = state.shown.value;
  if (shown === null) return null;
  const second = shown.second;
  if (kind === "csv") {
    const table = second === null ? csvOf(shown.scene) : movesCsv(shown.scene, second.shown.scene, second.moves);
    return new Blob([table], { type: "text/csv" });
  }
  const plans: state.Which[] = second === null ? [0] : [0, 1];
  const pictures = plans
    .flatMap((which) => shown.pools.map((_, place) => state.pictureOf(place, state.measured(1104, 500), false, which)))
    .filter((picture): picture is Picture => picture !== null);
  if (pictures.length === 0) return null;
  const said = state.verdict.value;
  const theme = state.theme.value;
  const colour = { proven: theme.met, open: theme.open, claimed: theme.open, wrong: theme.capacity, plain: theme.quiet }[said?.tone ?? "plain"];
  const words = { title: shown.scene.name, lead: said?.lead ?? "", rest: said?.rest ?? "", colour };
  if (kind === "png") return pngOf(pictures, words);
  return new Blob([svgOf(pictures, words)], { type: "image/svg+xml" });
}

/** What the files of this plan are called, without their ends. */
export function fileName(): string {
  return fileNameOf(state.shown.value?.scene.name ?? "") || "plan";
}

/** This name as that of a file, without its end; empty: nothing of it can stand there. */
export function fileNameOf(name: string): string {
  return name.replace(/\.json(\.gz)?$/, "").replace(/[^\w.-]+/g, "-").replace(/^[-.]+|-+$/g, "").slice(0, 80);
}
