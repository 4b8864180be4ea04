/** Pointer, wheel and touch on the picture of a pool. */
import type { Layout, Picture } from "../draw/picture.ts";
import { rankOf } from "../draw/operators.ts";
import { Scale, stepOf } from "../draw/scale.ts";
import { fullWindow } from "../draw/picture.ts";
import { operatorAt } from "../model/program.ts";
import * as state from "./state.ts";

export interface Hover {
  /** -1: none; then there is an operator. */
  span: number;
  operator: number;
  x: number;
  y: number;
  wide: number;
  /** Whether the tooltip is on the left of the pointer. */
  right: boolean;
}

const STILL = 140;
const DRAGGED = 4;

type Where = "map" | "live" | "operators";

export class Gestures {
  readonly #stop = new AbortController();
  readonly #down = new Map<number, { x: number; y: number }>();
  #start: { x: number; y: number; window: Picture["window"]; where: Where } | null = null;
  #dragged = false;
  #timer: number | undefined;

  constructor(
    readonly place: number,
    readonly which: state.Which,
    readonly canvas: HTMLCanvasElement,
    readonly layout: () => Layout,
    readonly pick: (picture: Picture, x: number, y: number) => number,
    readonly hover: { value: Hover | null },
  ) {
    const on = <K extends keyof HTMLElementEventMap>(name: K, run: (event: HTMLElementEventMap[K]) => void): void => {
      canvas.addEventListener(name, run, { signal: this.#stop.signal, passive: false });
    };
    on("pointerdown", (event) => this.#press(event));
    on("pointermove", (event) => this.#move(event));
    on("pointerup", (event) => this.#release(event));
    on("pointercancel", (event) => this.#release(event));
    on("pointerleave", () => this.#leave());
    on("wheel", (event) => this.#wheel(event));
    on("dblclick", () => state.lookAtAll());
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#stop.abort();
  }

  #picture(): Picture | null {
    return state.pictureOf(this.place, this.layout(), false, this.which);
  }

  #press(event: PointerEvent): void {
    const picture = this.#picture();
    if (picture === null || event.button > 0) return;
    this.#down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    this.canvas.setPointerCapture(event.pointerId);
    const where = whereIs(event.offsetY, picture);
    this.#start = { x: event.offsetX, y: event.offsetY, window: picture.window, where };
    this.#dragged = false;
  }

  #move(event: PointerEvent): void {
    const picture = this.#picture();
    if (picture === null) return;
    const before = this.#down.get(event.pointerId);
    if (before === undefined) {
      this.#hovered(event, picture);
      return;
    }
    if (this.#down.size === 2) this.#pinch(event, picture);
    else if (this.#start !== null) {
      const [dx, dy] = [event.offsetX - this.#start.x, event.offsetY - this.#start.y];
      if (!this.#dragged && Math.hypot(dx, dy) < DRAGGED) return;
      this.#dragged = true;
      if (this.#start.where === "live") this.#brush(event.offsetX, picture);
      else this.#pan(dx, dy, picture);
    }
    this.#down.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
  }

  #release(event: PointerEvent): void {
    const start = this.#start;
    const picture = this.#picture();
    this.#down.delete(event.pointerId);
    if (this.#down.size > 0 || picture === null || start === null) return;
    this.#start = null;
    if (!this.#dragged && event.type === "pointerup") this.#click(event.offsetX, event.offsetY, start.where, picture);
    this.#settle();
  }

  #click(x: number, y: number, where: Where, picture: Picture): void {
    if (where === "operators") {
      state.chooseOperator(this.#operatorAt(x, picture));
      return;
    }
    if (where === "live") {
      const step = this.#stepAt(x, where, picture);
      state.moment.value = step === picture.pool.profile.moment ? null : step;
      return;
    }
    const span = this.pick(picture, x, y);
    state.chosen.value = span < 0 ? -1 : (picture.scene.owner[span] as number);
  }

  #leave(): void {
    this.hover.value = null;
    state.under.value = -1;
    state.passing.value = null;
  }

  #hovered(event: PointerEvent, picture: Picture): void {
    const [x, y] = [event.offsetX, event.offsetY];
    const { map } = picture.layout;
    const where = whereIs(y, picture);
    const inside = x >= map.x && x <= map.x + map.wide && (y < map.y + map.tall || where === "operators");
    state.passing.value = inside ? this.#stepAt(x, where, picture) : null;
    const span = where === "map" ? this.pick(picture, x, y) : -1;
    state.under.value = span;
    const wide = picture.layout.wide;
    const operator = where === "operators" ? this.#operatorAt(x, picture) : -1;
    this.hover.value = span < 0 && operator < 0 ? null : { span, operator, x, y, wide, right: x > wide * 0.6 };
    this.canvas.style.cursor = span >= 0 || operator >= 0 ? "pointer" : where === "live" ? "crosshair" : "default";
  }

  #operatorAt(x: number, picture: Picture): number {
    const { program } = picture.scene;
    if (program === null) return -1;
    const position = new Scale(picture.layout.map, picture.window).position(x);
    return operatorAt(program, rankOf(picture.positions, position));
  }

  #stepAt(x: number, where: Where, picture: Picture): number {
    const { live, map } = picture.layout;
    const all = fullWindow(picture.shown, this.place, picture.positions);
    const scale = where === "live" ? new Scale(live, all) : new Scale(map, picture.window);
    return stepOf(picture.positions, scale.position(x));
  }

  /** Chooses a part of the time on the strip of live bytes. */
  #brush(x: number, picture: Picture): void {
    const start = this.#start;
    if (start === null) return;
    const scale = new Scale(picture.layout.live, fullWindow(picture.shown, this.place, picture.positions));
    const ends = [scale.position(start.x), scale.position(x)].sort((one, other) => one - other);
    this.#look({ ...picture.window, left: ends[0] ?? 0, right: ends[1] ?? 1 }, picture);
  }

  #pan(dx: number, dy: number, picture: Picture): void {
    const start = this.#start;
    if (start === null) return;
    const scale = new Scale(picture.layout.map, start.window);
    const [across, up] = [dx / scale.across, dy / scale.up];
    const { left, right, low, high } = start.window;
    this.#look({ left: left - across, right: right - across, low: low + up, high: high + up }, picture);
  }

  #pinch(event: PointerEvent, picture: Picture): void {
    const other = [...this.#down].find(([id]) => id !== event.pointerId)?.[1];
    const before = this.#down.get(event.pointerId);
    if (other === undefined || before === undefined) return;
    const was = Math.max(20, Math.hypot(before.x - other.x, before.y - other.y));
    const is = Math.max(20, Math.hypot(event.offsetX - other.x, event.offsetY - other.y));
    this.#dragged = true;
    this.#zoom((event.offsetX + other.x) / 2, (event.offsetY + other.y) / 2, was / is, was / is, picture);
  }

  #wheel(event: WheelEvent): void {
    const picture = this.#picture();
    const map = picture?.layout.map;
    if (picture === null || map === undefined || event.offsetX < map.x || event.offsetX > map.x + map.wide) return;
    event.preventDefault();
    const moved = event.deltaY !== 0 ? event.deltaY : event.deltaX;
    const factor = Math.exp(Math.max(-120, Math.min(120, moved)) * (event.deltaMode === 1 ? 0.04 : 0.0022));
    // Time alone, unless a key is held: whoever turns a wheel does not mean to lose the ground from sight.
    const up = event.shiftKey || event.ctrlKey || event.altKey ? factor : 1;
    this.#zoom(event.offsetX, event.offsetY, factor, up, picture);
  }

  #zoom(x: number, y: number, across: number, up: number, picture: Picture): void {
    const scale = new Scale(picture.layout.map, picture.window);
    const [time, address] = [scale.position(x), scale.address(Math.min(y, picture.layout.map.y + picture.layout.map.tall))];
    const { left, right, low, high } = picture.window;
    this.#look({
      left: time - (time - left) * across, right: time + (right - time) * across,
      low: address - (address - low) * up, high: address + (high - address) * up,
    }, picture);
  }

  #look(window: Picture["window"], picture: Picture): void {
    this.hover.value = null;
    state.under.value = -1;
    state.moving.value = true;
    state.look(picture.shown, this.place, window);
    this.#settle();
  }

  #settle(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      if (this.#down.size === 0) state.moving.value = false;
    }, STILL);
  }
}

function whereIs(y: number, picture: Picture): Where {
  const { live, operators } = picture.layout;
  if (y < live.y + live.tall + 8) return "live";
  return operators !== null && y >= operators.y && y < operators.y + operators.tall ? "operators" : "map";
}
