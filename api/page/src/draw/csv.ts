/** The buffers as CSV, for spreadsheets. The same plan gives the same bytes. */
import type { Amount } from "../model/columns.ts";
import { ELSEWHERE, SAME } from "../model/moves.ts";
import type { Moves } from "../model/shown.ts";
import { named } from "../model/buffers.ts";
import type { Scene } from "../model/scene.ts";

/** Every buffer with its place, a line for each. */
export function csvOf(scene: Scene): string {
  const lines = ["id,size,pool,offset,lifetimes,group"];
  for (let buffer = 0; buffer < scene.sizes.length; buffer++) {
    const place = scene.pool[buffer] as number;
    const lives: string[] = [];
    for (let span = scene.firstSpan[buffer] as number; span < (scene.firstSpan[buffer + 1] as number); span++) {
      const [from, to] = [scene.axis.times[scene.begin[span] as number], scene.axis.times[scene.end[span] as number]];
      lives.push(scene.kinds[span] === 0 ? `${from}-${to}` : scene.kinds[span] === 1 ? "always" : "");
    }
    const group = scene.groups === null ? -1 : (scene.groups[buffer] as number);
    lines.push([
      cell(named(scene, buffer)), String(scene.sizes[buffer]), place < 0 ? "" : cell(scene.pools[place]?.id ?? ""),
      place < 0 ? "" : String(scene.offsets[buffer] as Amount), cell(lives.join(" ")), group < 0 ? "" : cell(scene.groupNames[group] ?? ""),
    ].join(","));
  }
  return `${lines.join("\n")}\n`;
}

/** Where each buffer is in two plans, those that moved furthest first. `moved` is empty where the pools differ. */
export function movesCsv(first: Scene, second: Scene, moves: Moves): string {
  const lines = ["id,size,first_pool,first_offset,second_pool,second_offset,moved"];
  const line = (buffer: number): void => {
    const place = (scene: Scene): string[] => {
      const pool = scene.pool[buffer] as number;
      return pool < 0 ? ["", ""] : [cell(scene.pools[pool]?.id ?? ""), String(scene.offsets[buffer] as Amount)];
    };
    const by = moves.kind[buffer] === ELSEWHERE ? "" : String(moves.by[buffer] as Amount);
    lines.push([cell(named(first, buffer)), String(first.sizes[buffer]), ...place(first), ...place(second), by].join(","));
  };
  moves.order.forEach(line);
  moves.kind.forEach((kind, buffer) => kind === SAME && line(buffer));
  return `${lines.join("\n")}\n`;
}

/** Quoted where needed; what a spreadsheet would take for a formula begins with an apostrophe. */
export function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
