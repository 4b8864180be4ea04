/** Where times and addresses are on the screen. */
import { mostIn } from "./pyramid.ts";

/** What is seen of a map: positions on the axis, and addresses. */
export interface Window {
  left: number;
  right: number;
  low: number;
  high: number;
}

/** A rectangle of the screen. */
export interface Frame {
  x: number;
  y: number;
  wide: number;
  tall: number;
}

export class Scale {
  readonly across: number;
  readonly up: number;

  constructor(
    readonly frame: Frame,
    readonly window: Window,
  ) {
    this.across = frame.wide / (window.right - window.left);
    this.up = frame.tall / (window.high - window.low);
  }

  x(position: number): number {
    return this.frame.x + (position - this.window.left) * this.across;
  }

  y(address: number): number {
    return this.frame.y + this.frame.tall - (address - this.window.low) * this.up;
  }

  position(x: number): number {
    return this.window.left + (x - this.frame.x) / this.across;
  }

  address(y: number): number {
    return this.window.low + (this.frame.y + this.frame.tall - y) / this.up;
  }
}

/** The step of the axis at this position. */
export function stepOf(positions: Float64Array, position: number): number {
  let low = 0;
  let high = positions.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((positions[middle] as number) <= position) low = middle;
    else high = middle - 1;
  }
  return Math.min(low, Math.max(0, positions.length - 2));
}

/** The largest value in each pixel column of a function given by steps. */
export function columnsOf(values: ArrayLike<number>, positions: Float64Array, scale: Scale): Float64Array {
  const wide = Math.max(1, Math.round(scale.frame.wide));
  const columns = new Float64Array(wide);
  const perColumn = (scale.window.right - scale.window.left) / wide;
  const steps = positions.length - 1;
  for (let column = 0; column < wide; column++) {
    const from = scale.window.left + column * perColumn;
    const begin = stepOf(positions, from);
    if ((positions[begin + 1] as number) <= from) continue;
    columns[column] = mostIn(values, begin, firstFrom(positions, from + perColumn, begin, steps));
  }
  return columns;
}

/** The first step between `begin` and `end` that starts at this position or after it; `end` if none does. */
function firstFrom(positions: Float64Array, position: number, begin: number, end: number): number {
  let [low, high] = [begin, end];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((positions[middle] as number) >= position) high = middle;
    else low = middle + 1;
  }
  return low;
}
