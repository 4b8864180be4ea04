/** The pictures of all pools as one SVG or PNG file. The same plan gives the same bytes. */
import { hasNoPlan } from "../model/status.ts";
import { bytes, plain } from "./format.ts";
import { drawLive, drawMoment } from "./live.ts";
import { colourOf, drawAxes, drawBanks, drawGround, drawLevels, drawNames, drawReserved, layerOf, orderOf } from "./map.ts";
import { drawNeededBytes } from "./needed.ts";
import { drawOperators } from "./operators.ts";
import { drawConstraints } from "./overlays.ts";
import { CanvasPen, type Pen, SvgPen } from "./pen.ts";
import { layoutOf, type Picture, scaleOf } from "./picture.ts";
import { fill, runsOf } from "./raster.ts";
import { drawTowers } from "./towers.ts";

const WIDE = 1120;
const MOST_BOXES = 20_000;
const HEAD = 56;
const CAPTION = 20;

interface Words {
  title: string;
  lead: string;
  rest: string;
  colour: string;
}

export function svgOf(pictures: Picture[], words: Words): string {
  const pen = new SvgPen();
  const tall = compose(pen, pictures, words, (picture, at) => boxes(pen, picture, at));
  return pen.document(WIDE, tall, `${words.title}: ${words.lead} ${words.rest}`, (pictures[0] as Picture).theme.paper);
}

export async function pngOf(pictures: Picture[], words: Words): Promise<Blob | null> {
  const canvas = document.createElement("canvas");
  canvas.width = WIDE * 2;
  canvas.height = heightOf(pictures) * 2;
  const on = canvas.getContext("2d");
  if (on === null) return null;
  on.scale(2, 2);
  const pen = new CanvasPen(on);
  pen.rect(0, 0, WIDE, heightOf(pictures), (pictures[0] as Picture).theme.paper);
  compose(pen, pictures, words, (picture, top) => {
    const { map } = picture.layout;
    const image = new ImageData(Math.round(map.wide * 2), Math.round(map.tall * 2));
    const raster = { wide: image.width, tall: image.height, pixels: new Int32Array(image.data.buffer), picks: null };
    fill(raster, layerOf(picture), picture.window, Infinity, Infinity);
    const part = document.createElement("canvas");
    part.width = image.width;
    part.height = image.height;
    part.getContext("2d")?.putImageData(image, 0, 0);
    on.drawImage(part, map.x, map.y, map.wide, map.tall);
    return top;
  });
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

function tallOf(pictures: Picture[]): number {
  return pictures.length === 1 ? 560 : pictures.length <= 3 ? 340 : 240;
}

function heightOf(pictures: Picture[]): number {
  return HEAD + pictures.length * (tallOf(pictures) + CAPTION) + 8;
}

/** All pools, one below the other; returns the height. */
function compose(pen: Pen, pictures: Picture[], words: Words, rectangles: (picture: Picture, top: number) => unknown): number {
  const theme = (pictures[0] as Picture).theme;
  pen.text(16, 22, plain(words.title, 100), { fill: theme.quiet, size: 12 });
  pen.text(16, 46, words.lead, { fill: theme.ink, bold: true, size: 20 });
  pen.text(16 + 11.5 * words.lead.length, 46, words.rest, { fill: words.colour, bold: true, size: 20 });
  const tall = tallOf(pictures);
  pictures.forEach((onScreen, place) => {
    const top = HEAD + place * (tall + CAPTION) + CAPTION;
    const layout = layoutOf(WIDE - 16, tall - CAPTION, false, onScreen.scene.program !== null);
    for (const frame of [layout.live, layout.map, layout.operators, layout.towers]) if (frame !== null) frame.y += top;
    const picture = { ...onScreen, layout };
    pen.text(layout.map.x, top + 2, caption(picture), { fill: theme.ink, bold: true, size: 12 });
    drawGround(pen, picture);
    drawReserved(pen, picture);
    if (hasNoPlan(picture.scene)) drawNeededBytes(pen, picture);
    else rectangles(picture, top);
    drawBanks(pen, picture);
    drawConstraints(pen, picture);
    drawNames(pen, picture);
    drawLevels(pen, picture);
    drawTowers(pen, picture);
    drawAxes(pen, picture);
    drawOperators(pen, picture);
    drawLive(pen, picture);
    drawMoment(pen, picture);
  });
  return heightOf(pictures);
}

function caption(picture: Picture): string {
  const pool = picture.scene.pools[picture.place];
  const capacity = pool?.capacity ?? null;
  const label = picture.label === "" ? "" : `${plain(picture.label, 60)}   `;
  return `${label}${plain(pool?.id ?? "", 40)}   ${bytes(picture.pool.peak)}${capacity === null ? "" : ` of ${bytes(capacity)}`}`;
}

/** What is large enough as a rectangle of its own, the rest as runs of pixels behind them. */
function boxes(pen: SvgPen, picture: Picture, _top: number): void {
  const { map } = picture.layout;
  const { scene, positions, low, high } = picture;
  const scale = scaleOf(picture);
  const { spans } = orderOf(picture);
  const own = spans.subarray(0, MOST_BOXES).filter((span) => {
    const buffer = scene.owner[span] as number;
    const wide = ((positions[scene.end[span] as number] as number) - (positions[scene.begin[span] as number] as number)) * scale.across;
    return wide >= 1 && ((high[buffer] as number) - (low[buffer] as number)) * scale.up >= 1;
  });
  const drawn = new Set(own);
  pen.clip(map.x, map.y, map.wide, map.tall, () => {
    const rest = spans.filter((span) => !drawn.has(span));
    if (rest.length > 0) {
      const raster = { wide: Math.floor(map.wide), tall: Math.floor(map.tall), pixels: new Int32Array(Math.floor(map.wide) * Math.floor(map.tall)), picks: null };
      fill(raster, { ...layerOf(picture), spans: rest }, picture.window, Infinity, Infinity);
      for (const [colour, path] of runsOf(raster, map.x, map.y, picture.theme.hole)) pen.runs(path, colour);
    }
    for (const span of own) {
      const buffer = scene.owner[span] as number;
      const x = scale.x(positions[scene.begin[span] as number] as number);
      const wide = scale.x(positions[scene.end[span] as number] as number) - x;
      const y = scale.y(high[buffer] as number);
      const tall = scale.y(low[buffer] as number) - y;
      pen.rect(x, y + (tall > 4 ? 1 : 0), wide - (wide > 4 ? 1 : 0), tall - (tall > 4 ? 1 : 0), colourOf(picture, span));
    }
  });
}
