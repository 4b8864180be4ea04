/** Draws one pool on its canvas. While a gesture runs, at most so many rectangles are drawn over the picture that was
 * there before, moved along; when it ends, everything is drawn. */
import { hasNoPlan } from "../model/status.ts";
import { drawLive, drawMoment } from "./live.ts";
import { drawAxes, drawBanks, drawGround, drawLevels, drawNames, drawReserved, layerOf, visible } from "./map.ts";
import { drawNeededBytes } from "./needed.ts";
import { drawOperators, drawUses } from "./operators.ts";
import { drawChosen, drawConstraints, drawHovered } from "./overlays.ts";
import { CanvasPen } from "./pen.ts";
import type { Picture } from "./picture.ts";
import { fill, type Raster } from "./raster.ts";
import type { Window } from "./scale.ts";
import { drawTowers } from "./towers.ts";

const MOST_WHILE_MOVING = 20_000;
/** Of so many of the largest; far into a large map nearly all of them are elsewhere. */
const MOST_LOOKED_AT = 60_000;

export class Screen {
  readonly #pen: CanvasPen;
  readonly #on: CanvasRenderingContext2D;
  /** The rectangles, in pixels of the device. */
  readonly #layer = document.createElement("canvas");
  readonly #moved = document.createElement("canvas");
  #image: ImageData | null = null;
  #raster: Raster | null = null;
  /** What the layer shows when everything is drawn in it. */
  #settled: Window | null = null;
  #density = 1;

  constructor(readonly canvas: HTMLCanvasElement) {
    const on = canvas.getContext("2d");
    if (on === null) throw new Error("this browser has no canvas");
    this.#on = on;
    this.#pen = new CanvasPen(on);
  }

  /** The span at a point of the canvas, in CSS pixels; -1: none. */
  pick(picture: Picture, x: number, y: number): number {
    const { map } = picture.layout;
    const raster = this.#raster;
    if (raster === null || raster.picks === null || x < map.x || y < map.y || x >= map.x + map.wide || y >= map.y + map.tall) return -1;
    const column = Math.floor((x - map.x) * this.#density);
    const row = Math.floor((y - map.y) * this.#density);
    return (raster.picks[row * raster.wide + column] ?? 0) - 1;
  }

  draw(picture: Picture, moving: boolean): void {
    this.#resize(picture);
    const on = this.#on;
    on.setTransform(this.#density, 0, 0, this.#density, 0, 0);
    this.#pen.rect(0, 0, picture.layout.wide, picture.layout.tall, picture.theme.paper);
    drawGround(this.#pen, picture);
    drawReserved(this.#pen, picture);
    if (hasNoPlan(picture.scene)) drawNeededBytes(this.#pen, picture);
    else this.#rectangles(picture, moving);
    drawBanks(this.#pen, picture);
    drawConstraints(this.#pen, picture);
    drawNames(this.#pen, picture, moving ? MOST_LOOKED_AT : Infinity);
    drawAxes(this.#pen, picture);
    drawOperators(this.#pen, picture);
    drawLive(this.#pen, picture);
  }

  #resize(picture: Picture): void {
    const density = Math.min(2, globalThis.devicePixelRatio || 1);
    const { wide, tall, map } = picture.layout;
    const [across, up] = [Math.round(wide * density), Math.round(tall * density)];
    if (this.canvas.width !== across || this.canvas.height !== up || this.#density !== density) {
      this.canvas.width = across;
      this.canvas.height = up;
      this.#density = density;
      this.#settled = null;
    }
    const size = { wide: Math.max(1, Math.round(map.wide * density)), tall: Math.max(1, Math.round(map.tall * density)) };
    if (this.#image?.width === size.wide && this.#image.height === size.tall) return;
    this.#layer.width = this.#moved.width = size.wide;
    this.#layer.height = this.#moved.height = size.tall;
    this.#image = new ImageData(size.wide, size.tall);
    this.#raster = { ...size, pixels: new Int32Array(this.#image.data.buffer), picks: new Int32Array(size.wide * size.tall) };
    this.#settled = null;
  }

  #rectangles(picture: Picture, moving: boolean): void {
    const raster = this.#raster;
    const image = this.#image;
    const layer = this.#layer.getContext("2d", { willReadFrequently: true });
    if (raster === null || image === null || layer === null) return;
    const { map } = picture.layout;
    const all = picture.pool.byTime.spans.length;
    raster.pixels.fill(0);
    if (moving && all > MOST_WHILE_MOVING && this.#settled !== null) {
      const until = Math.min(visible(picture, 1), MOST_LOOKED_AT);
      fill({ ...raster, picks: null }, layerOf(picture), picture.window, until, MOST_WHILE_MOVING);
      this.#moved.getContext("2d", { willReadFrequently: true })?.putImageData(image, 0, 0);
      this.#drawSettled(picture, this.#settled);
      this.#on.drawImage(this.#moved, map.x, map.y, map.wide, map.tall);
      return;
    }
    raster.picks?.fill(0);
    fill(raster, layerOf(picture), picture.window, all, all);
    layer.putImageData(image, 0, 0);
    this.#settled = { ...picture.window };
    this.#on.drawImage(this.#layer, map.x, map.y, map.wide, map.tall);
  }

  /** The picture of before, where it is now. */
  #drawSettled(picture: Picture, was: Window): void {
    const { map } = picture.layout;
    const now = picture.window;
    const across = map.wide / (now.right - now.left);
    const up = map.tall / (now.high - now.low);
    this.#pen.clip(map.x, map.y, map.wide, map.tall, () => {
      // It is seen for a moment, and smooth edges would take longer than all of the rest; the clip restores it.
      this.#on.imageSmoothingEnabled = false;
      this.#on.drawImage(
        this.#layer, map.x + (was.left - now.left) * across, map.y + (now.high - was.high) * up,
        (was.right - was.left) * across, (was.high - was.low) * up,
      );
    });
  }
}

/** What changes while the pointer moves, on a canvas of its own above the picture. */
export class Overlay {
  readonly #pen: CanvasPen;

  constructor(readonly canvas: HTMLCanvasElement) {
    const on = canvas.getContext("2d");
    if (on === null) throw new Error("this browser has no canvas");
    this.#pen = new CanvasPen(on);
  }

  draw(picture: Picture, hovered: number): void {
    const density = Math.min(2, globalThis.devicePixelRatio || 1);
    const { wide, tall } = picture.layout;
    const [across, up] = [Math.round(wide * density), Math.round(tall * density)];
    if (this.canvas.width !== across || this.canvas.height !== up) {
      this.canvas.width = across;
      this.canvas.height = up;
    }
    const on = this.#pen.on;
    on.setTransform(density, 0, 0, density, 0, 0);
    on.clearRect(0, 0, wide, tall);
    drawTowers(this.#pen, picture);
    drawLevels(this.#pen, picture);
    drawMoment(this.#pen, picture);
    drawUses(this.#pen, picture);
    drawChosen(this.#pen, picture);
    if (hovered >= 0) drawHovered(this.#pen, picture, hovered);
  }
}
