/** The chart on the screen: a click or a drag looks at the value there; the slider does the same for keys. */
import { effect, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bytes } from "../draw/format.ts";
import { CanvasPen } from "../draw/pen.ts";
import { ratioOf } from "../model/symbolic_shown.ts";
import { shortName } from "../model/symbol.ts";
import * as state from "../shell/state.ts";
import { type Curve, drawCurve, valueUnder } from "./chart.ts";
import { along, counted, isOnLine, move, valuesNow } from "./current.ts";
import { ratioText } from "./words.ts";

function curveNow(): Curve | null {
  const now = valuesNow();
  const place = along.value;
  const symbol = now?.symbols[place];
  if (now === null || symbol === undefined) return null;
  const marks = now.points.filter((point) => isOnLine(point.at, now.at, place));
  const last = counted.value?.place === place ? counted.value : null;
  const differ = last === null ? [] : now.symbols.flatMap((one, other) => (other === place || last.at[other] === now.at[other] ? [] : [`${shortName(one.id)}=${last.at[other]}`]));
  const samples = last?.points ?? [];
  // Where the plan fits, its room says nothing.
  const room = [...samples, ...marks].some((one) => one.peak === null) ? now.room : null;
  return { symbol, place, samples, marks, here: now.at[place] as bigint, room, isOf: differ.join(", "), hasPlan: now.orders > 0 };
}

export function ChartView(): JSX.Element | null {
  const canvas = useRef<HTMLCanvasElement>(null);
  const under = useSignal<bigint | null>(null);
  useEffect(() => {
    const on = canvas.current;
    const context = on?.getContext("2d") ?? null;
    if (on === null || context === null) return undefined;
    const pen = new CanvasPen(context);
    const draw = (): void => {
      const curve = curveNow();
      if (curve === null) return;
      const density = Math.min(2, devicePixelRatio || 1);
      on.width = Math.round(on.clientWidth * density);
      on.height = Math.round(on.clientHeight * density);
      context.setTransform(density, 0, 0, density, 0, 0);
      drawCurve(pen, curve, on.clientWidth, on.clientHeight, state.theme.value);
    };
    const size = new ResizeObserver(draw);
    size.observe(on);
    const stop = effect(draw);
    return () => {
      size.disconnect();
      stop();
    };
  }, []);
  const curve = curveNow();
  if (curve === null) return null;
  const at = (event: PointerEvent): bigint => valueUnder(curve, event.offsetX, (event.currentTarget as HTMLCanvasElement).clientWidth);
  const look = (event: PointerEvent): void => {
    under.value = at(event);
    if (event.buttons === 1) move(curve.place, under.value);
  };
  return (
    <>
      <canvas
        ref={canvas} class="curve-chart" role="img"
        aria-label={`Peak and least along ${shortName(curve.symbol.id)}; the table of points says the same.`}
        onPointerDown={look} onPointerMove={look} onPointerLeave={() => (under.value = null)}
      />
      <p class="quiet told">{sampleText(curve, under.value)}</p>
    </>
  );
}

/** From which value on more is needed than there is, as far as the chart has counted. */
function overText({ samples, symbol, place }: Curve): string {
  const fits = samples.findLastIndex((one) => !one.over);
  const first = samples[fits + 1];
  if (first === undefined) return "";
  const of = samples.length === 1 ? "the value" : `the ${samples.length} values`;
  return `From ${shortName(symbol.id)}=${first.at[place]} on more is needed than there is, at ${of} counted.`;
}

/** The sample that is nearest to the pointer, in words. */
function sampleText(curve: Curve, value: bigint | null): string {
  const { samples: all, place } = curve;
  if (curve.isOf !== "") return `The grey curve is that of ${curve.isOf}.`;
  const apart = (to: bigint): bigint => (value === null ? 0n : to > value ? to - value : value - to);
  const [first] = all;
  if (first === undefined) return "";
  if (value === null) return curve.room === null ? "" : overText(curve);
  const one = all.reduce((best, other) => (apart(other.at[place] as bigint) < apart(best.at[place] as bigint) ? other : best), first);
  const where = `${shortName(curve.symbol.id)}=${one.at[place]}`;
  if (one.peak === null && (curve.hasPlan || curve.room === null)) return `${where}: it does not fit`;
  if (one.peak === null) return one.least === null ? `${where}: nothing is known` : `${where}: at least ${bytes(one.least)}${one.over ? ", more than there is" : ""}`;
  if (one.least === null) return `${where}: ${bytes(one.peak)}`;
  return `${where}: ${bytes(one.peak)}, ${ratioText(ratioOf(one))} of at least ${bytes(one.least)}`;
}
