/** One pool: its caption, and its picture under the pointer. */
import { effect, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bytes, count, plain } from "../draw/format.ts";
import type { Layout } from "../draw/picture.ts";
import { Overlay, Screen } from "../draw/screen.ts";
import { lifeText } from "../draw/shades.ts";
import { named } from "../model/buffers.ts";
import type { Shown } from "../model/shown.ts";
import { hasNoPlan, isPeak } from "../model/status.ts";
import { Gestures, type Hover } from "./gestures.ts";
import * as state from "./state.ts";

export function PoolView(props: { place: number; which?: state.Which }): JSX.Element | null {
  const { place, which = 0 } = props;
  const shown = which === 0 ? state.shown.value : (state.second.value?.shown ?? null);
  const stage = useRef<HTMLDivElement>(null);
  const below = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const hover = useSignal<Hover | null>(null);
  useEffect(() => {
    if (stage.current === null || below.current === null || above.current === null) return undefined;
    return attach(place, which, stage.current, new Screen(below.current), new Overlay(above.current), hover);
  }, [place, which]);
  if (shown === null) return null;
  const label = state.second.value === null ? "" : `${which === 0 ? "first" : "second"}: ${plain(shown.plan, 60)}, `;
  return (
    <section class="pool" aria-label={`${label}pool ${plain(shown.scene.pools[place]?.id ?? "")}`}>
      <Caption shown={shown} place={place} label={label} />
      <div class="stage" ref={stage}>
        <canvas ref={below} aria-hidden="true" />
        <canvas
          ref={above} tabIndex={0} role="application" data-pool={place} onFocus={() => (state.active.value = place)}
          aria-label={`Map of ${label}${plain(shown.scene.pools[place]?.id ?? "")}: addresses up, time across. Arrows move, plus and minus zoom, brackets choose buffers; the table of buffers says the same.`}
        />
        <Tip shown={shown} hover={hover.value} />
      </div>
    </section>
  );
}

/** Draws whenever something that it reads changes, at most once a frame. */
function attach(place: number, which: state.Which, stage: HTMLDivElement, screen: Screen, overlay: Overlay, hover: { value: Hover | null }): () => void {
  const measured = (): Layout => state.measured(stage.clientWidth, stage.clientHeight);
  let layout = measured();
  const frames = new Frames();
  const base = (): void => {
    const picture = state.pictureOf(place, layout, false, which);
    if (picture !== null && layout.wide > 40) screen.draw(picture, state.moving.value);
  };
  const top = (): void => {
    const picture = state.pictureOf(place, layout, true, which);
    if (picture !== null && layout.wide > 40) overlay.draw(picture, state.under.value);
  };
  const size = new ResizeObserver(() => {
    layout = measured();
    frames.ask(base);
    frames.ask(top);
  });
  size.observe(stage);
  const gestures = new Gestures(place, which, overlay.canvas, () => layout, (picture, x, y) => screen.pick(picture, x, y), hover);
  // Each reads the signals once, so that it runs again when one of them changes.
  const stopBase = effect(() => {
    state.pictureOf(place, layout, false, which);
    void state.moving.value;
    frames.ask(base);
  });
  const stopTop = effect(() => {
    state.pictureOf(place, layout, true, which);
    void state.under.value;
    frames.ask(top);
  });
  return () => {
    size.disconnect();
    gestures.stop();
    stopBase();
    stopTop();
    frames.stop();
  };
}

/** Runs what is asked for in the next frame, each once. */
class Frames {
  readonly #waiting = new Set<() => void>();
  #frame = 0;

  ask(draw: () => void): void {
    this.#waiting.add(draw);
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const all = [...this.#waiting];
      this.#waiting.clear();
      const begin = performance.now();
      for (const one of all) one();
      document.documentElement.dataset["frame"] = (performance.now() - begin).toFixed(2);
    });
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
  }
}

function Caption(props: { shown: Shown; place: number; label: string }): JSX.Element {
  const { scene, pools } = props.shown;
  const pool = scene.pools[props.place];
  const now = pools[props.place];
  if (pool === undefined || now === undefined) return <></>;
  // A peak below the bound is of what is no plan: bytes are shared that must not be.
  const met = now.bound !== null && now.bound.value >= now.peak && now.bound.value <= now.peak;
  const used = pool.capacity !== null && pool.capacity > 0 ? ` · ${Math.floor((Number(now.peak) / Number(pool.capacity)) * 100)} % used` : "";
  const needed = hasNoPlan(scene);
  // Of one pool the sentence above has said how large it is, and whether that is the least.
  const isSaid = scene.pools.length === 1 && props.label === "" && state.verdict.value?.tone === "proven" && isPeak(scene.objective[0] ?? "");
  return (
    <h2 class="caption">
      <b title={props.label === "" ? undefined : props.label.slice(0, -2)}>{props.label === "" || scene.pools.length > 1 ? `${props.label}${plain(pool.id, 40)}` : props.label.slice(0, -2)}</b>
      {!needed && !isSaid && <b>{bytes(now.peak)}</b>}
      <span class="quiet">{pool.capacity === null ? "no limit" : `of ${bytes(pool.capacity)}${needed ? "" : used}`}</span>
      {now.bound !== null && now.bound.value > 0 && !isSaid && (
        <span class={met && now.bound.proven && !needed ? "met" : "open"}>
          {now.bound.caption}
        </span>
      )}
    </h2>
  );
}

function Tip(props: { shown: Shown; hover: Hover | null }): JSX.Element | null {
  const { hover, shown } = props;
  if (hover === null) return null;
  const { scene } = shown;
  const operator = scene.program?.operators[hover.operator];
  const buffer = scene.owner[hover.span] as number;
  const side = hover.right ? { right: `${hover.wide - hover.x + 14}px` } : { left: `${hover.x + 14}px` };
  if (operator !== undefined) {
    return (
      <div class="tip" style={{ ...side, top: `${Math.max(0, hover.y - 90)}px` }} aria-hidden="true">
        <b>{plain(operator.id, 60)}</b>
        {operator.type !== "" && <span>{plain(operator.type, 60)}</span>}
        <span>{bytes(shown.needs[hover.operator] ?? 0)} live while it runs</span>
        <span>reads {count(operator.inputs.length)}, makes {count(operator.outputs.length)}</span>
      </div>
    );
  }
  return (
    <div class="tip" style={{ ...side, top: `${Math.max(0, hover.y - 30)}px` }} aria-hidden="true">
      <b>{plain(named(scene, buffer), 60)}</b>
      <span>{count(scene.sizes[buffer] ?? 0)} bytes ({bytes(scene.sizes[buffer] ?? 0)})</span>
      <span>at {count(scene.offsets[buffer] ?? 0)}</span>
      <span>lives {lifeText(scene, buffer)}</span>
    </div>
  );
}
