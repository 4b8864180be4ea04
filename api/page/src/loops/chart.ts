/** The rows of a stripe, step by step: those that are made, read and kept, each in its line of its ring. */
import { inkOn, type Theme } from "../draw/colours.ts";
import type { Pen } from "../draw/pen.ts";
import type { Segment } from "../model/loops.ts";

export const CELL = 18;
export const LINE = 14;
export const GAP = 6;

/** The colours of kept, read and made rows. */
export function stepColours(theme: Theme): readonly [string, string, string] {
  return theme.dark ? ["#3b4457", "#009ca8", "#ecc98a"] : ["#dbb35d", "#009d75", "#215389"];
}

/** The top of each operator, and below the last one the bottom. */
export function topsOf(segment: Segment): number[] {
  const tops = [0];
  for (const member of segment.members) tops.push((tops[tops.length - 1] as number) + member.lines * LINE + GAP);
  return tops;
}

export function drawSteps(pen: Pen, segment: Segment, theme: Theme, chosen: number): void {
  const tops = topsOf(segment);
  const colours = stepColours(theme);
  const wide = segment.steps.length * CELL;
  const tall = tops[tops.length - 1] as number;
  pen.rect(0, 0, wide, tall, theme.paper);
  segment.members.forEach((member, place) => pen.rect(0, tops[place] as number, wide, member.lines * LINE, theme.hole));
  segment.steps.forEach(({ cells }, step) => {
    for (let at = 0; at < cells.length; at += 4) {
      const [place, line, row, how] = cells.slice(at, at + 4) as [number, number, number, number];
      const colour = colours[how] as string;
      const y = (tops[place] as number) + line * LINE;
      pen.rect(step * CELL + 1, y + 1, CELL - 2, LINE - 2, colour);
      pen.text(step * CELL + CELL / 2, y + LINE - 4, String(row), { fill: inkOn(colour), anchor: "middle", size: row > 99 ? 8 : 9 });
    }
  });
  if (chosen >= 0) pen.outline(chosen * CELL, 0.75, CELL, tall - 1.5, theme.moment, 1.5);
}
