/** Where times and addresses are on the screen. */

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
  const found = new Float64Array(wide);
  const perColumn = (scale.window.right - scale.window.left) / wide;
  let step = stepOf(positions, scale.window.left);
  const steps = positions.length - 1;
  for (let column = 0; column < wide; column++) {
    const from = scale.window.left + column * perColumn;
    const to = from + perColumn;
    while (step < steps - 1 && (positions[step + 1] as number) <= from) step++;
    let most = 0;
    for (let at = step; at < steps && (positions[at] as number) < to; at++) {
      if ((positions[at + 1] as number) <= from) continue;
      const value = Number(values[at]);
      if (value > most) most = value;
    }
    found[column] = most;
  }
  return found;
}
