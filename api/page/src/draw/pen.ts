/** What pictures are drawn with: a canvas on the screen, or an SVG file. */

export interface TextStyle {
  fill: string;
  size?: number;
  bold?: boolean;
  anchor?: "start" | "middle" | "end";
  /** A line around the letters, so that they can be read on anything. */
  halo?: string;
}

export interface Pen {
  rect(x: number, y: number, wide: number, tall: number, fill: string): void;
  outline(x: number, y: number, wide: number, tall: number, stroke: string, width: number): void;
  /** A path through x, y, x, y... */
  line(points: number[], stroke: string, width: number, dash?: number[]): void;
  area(points: number[], fill: string): void;
  /** An area with thin slanted lines on a ground. */
  hatch(points: number[], ground: string, line: string): void;
  text(x: number, y: number, text: string, style: TextStyle): void;
  /** How wide such a text is, or a little less than it may be. */
  measure(text: string, size: number, bold: boolean): number;
  /** Everything that `draw` draws is cut off outside. */
  clip(x: number, y: number, wide: number, tall: number, draw: () => void): void;
}

export const FONT = 'Inter, "Segoe UI", system-ui, -apple-system, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif';

export class CanvasPen implements Pen {
  readonly #patterns = new Map<string, CanvasPattern>();

  constructor(readonly on: CanvasRenderingContext2D) {}

  rect(x: number, y: number, wide: number, tall: number, fill: string): void {
    this.on.fillStyle = fill;
    this.on.fillRect(x, y, wide, tall);
  }

  outline(x: number, y: number, wide: number, tall: number, stroke: string, width: number): void {
    this.on.setLineDash([]);
    this.on.strokeStyle = stroke;
    this.on.lineWidth = width;
    this.on.strokeRect(x, y, wide, tall);
  }

  line(points: number[], stroke: string, width: number, dash: number[] = []): void {
    this.#path(points);
    this.on.setLineDash(dash);
    this.on.strokeStyle = stroke;
    this.on.lineWidth = width;
    this.on.stroke();
  }

  area(points: number[], fill: string): void {
    this.#path(points);
    this.on.fillStyle = fill;
    this.on.fill();
  }

  hatch(points: number[], ground: string, line: string): void {
    this.#path(points);
    this.on.fillStyle = ground;
    this.on.fill();
    this.on.fillStyle = this.#pattern(line);
    this.on.fill();
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    this.on.font = `${style.bold ? "600 " : ""}${style.size ?? 11}px ${FONT}`;
    this.on.textAlign = style.anchor === "middle" ? "center" : (style.anchor ?? "start");
    this.on.textBaseline = "alphabetic";
    if (style.halo !== undefined) {
      this.on.setLineDash([]);
      this.on.lineJoin = "round";
      this.on.strokeStyle = style.halo;
      this.on.lineWidth = 3;
      this.on.strokeText(text, x, y);
    }
    this.on.fillStyle = style.fill;
    this.on.fillText(text, x, y);
  }

  measure(text: string, size: number, bold: boolean): number {
    this.on.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    return this.on.measureText(text).width;
  }

  clip(x: number, y: number, wide: number, tall: number, draw: () => void): void {
    this.on.save();
    this.on.beginPath();
    this.on.rect(x, y, wide, tall);
    this.on.clip();
    draw();
    this.on.restore();
  }

  #path(points: number[]): void {
    this.on.beginPath();
    for (let at = 0; at < points.length; at += 2) {
      if (at === 0) this.on.moveTo(points[0] as number, points[1] as number);
      else this.on.lineTo(points[at] as number, points[at + 1] as number);
    }
  }

  #pattern(line: string): CanvasPattern | string {
    const known = this.#patterns.get(line);
    if (known !== undefined) return known;
    const tile = document.createElement("canvas");
    tile.width = tile.height = 8;
    const on = tile.getContext("2d");
    if (on === null) return line;
    on.strokeStyle = line;
    on.lineWidth = 1;
    on.beginPath();
    for (const shift of [-8, 0, 8]) {
      on.moveTo(shift - 1, 9);
      on.lineTo(shift + 9, -1);
    }
    on.stroke();
    const pattern = this.on.createPattern(tile, "repeat");
    if (pattern === null) return line;
    this.#patterns.set(line, pattern);
    return pattern;
  }
}

/** Writes an SVG file: no script, nothing from elsewhere, the same bytes for the same picture. */
export class SvgPen implements Pen {
  readonly #parts: string[] = [];
  readonly #patterns = new Map<string, string>();
  #clips = 0;

  rect(x: number, y: number, wide: number, tall: number, fill: string): void {
    this.#parts.push(`<rect x="${px(x)}" y="${px(y)}" width="${px(wide)}" height="${px(tall)}" fill="${fill}"/>`);
  }

  outline(x: number, y: number, wide: number, tall: number, stroke: string, width: number): void {
    this.#parts.push(`<rect x="${px(x)}" y="${px(y)}" width="${px(wide)}" height="${px(tall)}" fill="none" stroke="${stroke}" stroke-width="${width}"/>`);
  }

  line(points: number[], stroke: string, width: number, dash: number[] = []): void {
    const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : "";
    this.#parts.push(`<path d="${path(points)}" fill="none" stroke="${stroke}" stroke-width="${width}"${dashes}/>`);
  }

  area(points: number[], fill: string): void {
    this.#parts.push(`<path d="${path(points)}z" fill="${fill}"/>`);
  }

  hatch(points: number[], ground: string, line: string): void {
    let id = this.#patterns.get(line);
    if (id === undefined) {
      id = `hatch${this.#patterns.size}`;
      this.#patterns.set(line, id);
    }
    this.area(points, ground);
    this.area(points, `url(#${id})`);
  }

  text(x: number, y: number, text: string, style: TextStyle): void {
    const more = [
      style.bold ? ' font-weight="600"' : "",
      style.anchor !== undefined && style.anchor !== "start" ? ` text-anchor="${style.anchor}"` : "",
      style.halo !== undefined ? ` stroke="${style.halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"` : "",
    ].join("");
    this.#parts.push(`<text x="${px(x)}" y="${px(y)}" font-size="${style.size ?? 11}" fill="${style.fill}"${more}>${escape(text)}</text>`);
  }

  /** Nobody knows the font of the reader. */
  measure(text: string, size: number, bold: boolean): number {
    return text.length * size * (bold ? 0.66 : 0.62);
  }

  clip(x: number, y: number, wide: number, tall: number, draw: () => void): void {
    const id = `clip${this.#clips++}`;
    this.#parts.push(`<clipPath id="${id}"><rect x="${px(x)}" y="${px(y)}" width="${px(wide)}" height="${px(tall)}"/></clipPath><g clip-path="url(#${id})">`);
    draw();
    this.#parts.push("</g>");
  }

  /** Pixels of one colour, as runs in rows. */
  runs(path: string, fill: string): void {
    this.#parts.push(`<path d="${path}" fill="${fill}" shape-rendering="crispEdges"/>`);
  }

  document(wide: number, tall: number, title: string, ground: string): string {
    const patterns = [...this.#patterns].map(([line, id]) => (
      `<pattern id="${id}" width="8" height="8" patternUnits="userSpaceOnUse"><path d="M-1 9L9 -1M-1 1L1 -1M7 9L9 7" stroke="${line}" stroke-width="1"/></pattern>`
    ));
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${wide} ${tall}" width="${wide}" height="${tall}" font-family="${escape(FONT)}" role="img">`,
      `<title>${escape(title)}</title>`,
      ...(patterns.length > 0 ? [`<defs>${patterns.join("")}</defs>`] : []),
      `<rect width="${wide}" height="${tall}" fill="${ground}"/>`,
      ...this.#parts,
      "</svg>",
      "",
    ].join("\n");
  }
}

export function px(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function path(points: number[]): string {
  let text = "";
  for (let at = 0; at < points.length; at += 2) text += `${at === 0 ? "M" : "L"}${px(points[at] as number)} ${px(points[at + 1] as number)}`;
  return text;
}

function escape(text: string): string {
  return text.replace(/[&<>"]/g, (letter) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[letter] ?? "");
}
