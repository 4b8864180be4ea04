/** A buffer in a line: its colour, its name and its size. */
import type { JSX } from "preact";
import { bytes, plain } from "../draw/format.ts";
import { named } from "../model/buffers.ts";
import type { Amount } from "../model/columns.ts";
import type { Scene } from "../model/scene.ts";
import * as state from "./state.ts";

export function BufferLine(props: { scene: Scene; buffer: number }): JSX.Element {
  const { scene, buffer } = props;
  return (
    <button type="button" class="line" onClick={() => state.choose(buffer)}>
      <i class="swatch" style={{ background: swatch(scene, buffer) }} />
      <span class="name">{plain(named(scene, buffer), 60)}</span>
      <span class="quiet">{bytes(scene.sizes[buffer] as Amount)}</span>
    </button>
  );
}

export function swatch(scene: Scene, buffer: number): string {
  const shades = state.shades.value;
  return shades?.colours[shades.of[scene.firstSpan[buffer] as number] as number] ?? "transparent";
}
