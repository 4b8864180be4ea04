/** Fills the pixels of a map by hand: a million rectangles take less time than a hundred thousand calls of a canvas.
 *
 * What is at least a pixel large has whole pixels, so that neighbours meet without a seam. What is thinner adds to the
 * opacity of the pixels it touches, and is never so faint that it cannot be seen.
 */
import type { Scene } from "../model/scene.ts";
import { rgb, tint } from "./colours.ts";
import type { Window } from "./scale.ts";

/** The least opacity of something too thin for a pixel, of 255. */
const LEAST = 56;
/** From this many pixels on, rectangles have a line of the ground between them, a faint one at first. */
const SEPARATED = 4;
const APART = 10;
/** And from this many on an outline, where their colour is close to that of the ground. */
const OUTLINED = 6;

export interface Raster {
  wide: number;
  tall: number;
  /** Alpha, blue, green, red: as whole numbers with a sign, like picks, so that one loop writes both. */
  pixels: Int32Array;
  /** The span in each pixel, plus one; 0: none. Null while a gesture runs. */
  picks: Int32Array | null;
}

export interface Layer {
  scene: Scene;
  /** Bottom and top address of each buffer. */
  low: Float64Array;
  high: Float64Array;
  /** Spans, largest first. */
  spans: Int32Array;
  positions: Float64Array;
  shades: Uint8Array;
  /** Of each buffer, one of two tints. */
  tints: Uint8Array;
  /** For each shade two colours, so that neighbours are told apart, each with that of its outline. */
  palette: Int32Array;
}

export function paletteOf(colours: readonly string[], rimmed: (colour: string) => string): Int32Array {
  const packed = (colour: string): number => {
    const [red, green, blue] = rgb(colour);
    return 255 << 24 | blue << 16 | green << 8 | red;
  };
  return Int32Array.from(colours.flatMap((colour) => [colour, tint(colour)].flatMap((one) => [packed(one), packed(rimmed(one))])));
}

/** Draws until `most` are drawn or all spans before `until` are; returns how many were drawn. */
export function fill(raster: Raster, layer: Layer, window: Window, until: number, most: number): number {
  const { scene, low, high, spans, positions, shades, tints, palette } = layer;
  const { owner, begin, end } = scene;
  const { wide, tall, pixels, picks } = raster;
  const across = wide / (window.right - window.left);
  const up = tall / (window.high - window.low);
  const last = Math.min(until, spans.length);
  let drawn = 0;
  for (let place = 0; place < last && drawn < most; place++) {
    const span = spans[place] as number;
    const buffer = owner[span] as number;
    const x0 = ((positions[begin[span] as number] as number) - window.left) * across;
    const x1 = ((positions[end[span] as number] as number) - window.left) * across;
    if (x1 <= 0 || x0 >= wide) continue;
    const y0 = tall - ((high[buffer] as number) - window.low) * up;
    const y1 = tall - ((low[buffer] as number) - window.low) * up;
    if (y1 <= 0 || y0 >= tall) continue;
    drawn++;
    let left = Math.round(x0), right = Math.round(x1), above = Math.round(y0), below = Math.round(y1);
    const shade = 4 * (shades[span] as number) + 2 * (tints[buffer] as number);
    const colour = palette[shade] as number;
    if (right > left && below > above) {
      const faint = below - above >= SEPARATED && below - above < APART;
      if (right - left >= SEPARATED) right--;
      if (below - above >= APART) above++;
      const outlined = right - left >= OUTLINED && below - above >= OUTLINED && colour !== palette[shade + 1];
      const box = { left, right, above, below };
      left = left < 0 ? 0 : left;
      right = right > wide ? wide : right;
      above = above < 0 ? 0 : above;
      below = below > tall ? tall : below;
      solid(pixels, wide, left, right, above, below, colour);
      if (faint && above === box.above) solid(pixels, wide, left, right, above, above + 1, (colour & 0xffffff) | (150 << 24));
      if (outlined) outline(pixels, wide, tall, box, palette[shade + 1] as number);
      if (picks !== null) solid(picks, wide, left, right, above, below, span + 1);
      continue;
    }
    // The share of each pixel that it covers.
    const part = Math.min(1, x1 - x0) * Math.min(1, y1 - y0);
    if (right <= left) {
      left = Math.floor(x0);
      right = left + 1;
    }
    if (below <= above) {
      above = Math.floor(y0);
      below = above + 1;
    }
    left = left < 0 ? 0 : left;
    right = right > wide ? wide : right;
    above = above < 0 ? 0 : above;
    below = below > tall ? tall : below;
    const opacity = Math.max(LEAST, Math.round(part * 255));
    for (let row = above; row < below; row++) {
      for (let at = row * wide + left; at < row * wide + right; at++) {
        pixels[at] = blend(pixels[at] as number, colour, opacity);
        if (picks !== null) picks[at] = span + 1;
      }
    }
  }
  return drawn;
}

function solid(pixels: Int32Array, wide: number, left: number, right: number, above: number, below: number, value: number): void {
  const narrow = right - left < 12;
  for (let row = above; row < below; row++) {
    const from = row * wide + left;
    const to = row * wide + right;
    if (narrow) for (let at = from; at < to; at++) pixels[at] = value;
    else pixels.fill(value, from, to);
  }
}

interface Box {
  left: number;
  right: number;
  above: number;
  below: number;
}

/** The edges of a box that are within the picture. */
function outline(pixels: Int32Array, wide: number, tall: number, box: Box, value: number): void {
  const [left, right] = [Math.max(0, box.left), Math.min(wide, box.right)];
  const [above, below] = [Math.max(0, box.above), Math.min(tall, box.below)];
  if (box.above >= 0) solid(pixels, wide, left, right, above, above + 1, value);
  if (box.below <= tall) solid(pixels, wide, left, right, below - 1, below, value);
  if (box.left >= 0) solid(pixels, wide, left, left + 1, above, below, value);
  if (box.right <= wide) solid(pixels, wide, right - 1, right, above, below, value);
}

/** Opacities add up; the colour is the mean of what is there, by opacity. */
function blend(there: number, colour: number, opacity: number): number {
  const before = there >>> 24;
  const after = before + opacity > 255 ? 255 : before + opacity;
  const share = opacity / after > 1 ? 1 : opacity / after;
  const red = (there & 255) + ((colour & 255) - (there & 255)) * share;
  const green = ((there >> 8) & 255) + (((colour >> 8) & 255) - ((there >> 8) & 255)) * share;
  const blue = ((there >> 16) & 255) + (((colour >> 16) & 255) - ((there >> 16) & 255)) * share;
  return after << 24 | blue << 16 | green << 8 | red;
}

/** The pixels as paths of rows, by colour: what is too small for a rectangle of its own in a file. */
export function runsOf(raster: Raster, x: number, y: number, ground: string): Map<string, string> {
  const paths = new Map<string, string[]>();
  const [red, green, blue] = rgb(ground);
  for (let row = 0; row < raster.tall; row++) {
    let column = 0;
    while (column < raster.wide) {
      const value = raster.pixels[row * raster.wide + column] as number;
      const from = column;
      while (column < raster.wide && raster.pixels[row * raster.wide + column] === value) column++;
      if (value >>> 24 === 0) continue;
      const share = (value >>> 24) / 255;
      const mix = (part: number, under: number): number => Math.round((under + (part - under) * share) / 15) * 15;
      const colour = `#${[mix(value & 255, red), mix((value >> 8) & 255, green), mix((value >> 16) & 255, blue)].map((part) => Math.min(255, part).toString(16).padStart(2, "0")).join("")}`;
      const run = `M${x + from} ${y + row}h${column - from}v1h${from - column}z`;
      const list = paths.get(colour);
      if (list === undefined) paths.set(colour, [run]);
      else list.push(run);
    }
  }
  return new Map([...paths].map(([colour, list]) => [colour, list.join("")]));
}
