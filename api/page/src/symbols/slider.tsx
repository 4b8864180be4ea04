/** The slider of a symbol: arrows go by one step, Page Up and Page Down to the values that matter. */
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count, plain } from "../draw/format.ts";
import { last, nearest, shareOf, type Symbol0, valueAt } from "../model/symbol.ts";
import { move, valuesNow, wanted } from "./current.ts";

/** Places of the line. */
const FINE = 10_000;

export function Slider(props: { symbol: Symbol0; place: number }): JSX.Element | null {
  const { symbol, place } = props;
  const now = valuesNow();
  const value = (wanted.value ?? now?.at)?.[place];
  const field = useRef<HTMLInputElement>(null);
  // Only when the value changes: what somebody is writing stays while the plan is laid out.
  useEffect(() => {
    if (field.current !== null) field.current.value = String(value);
  }, [value]);
  if (now === null || value === undefined) return null;
  const name = plain(symbol.id, 24);
  const onKey = (event: KeyboardEvent): void => {
    const next = nextBy(symbol, value, event.key);
    if (next === null) return;
    event.preventDefault();
    move(place, next);
  };
  const onText = (event: Event): void => {
    const written = event.currentTarget as HTMLInputElement;
    const digits = written.value.replace(/[,_\s]/g, "");
    if (/^-?\d{1,20}$/.test(digits)) move(place, nearest(symbol, BigInt(digits)));
    // What is no value is put back, and what is between two values is shown as the nearer one.
    written.value = String(wanted.peek()?.[place] ?? value);
  };
  return (
    <div class="slider">
      <label for={`value${place}`}>{name}</label>
      <div class="track">
        <input
          type="range" min={0} max={FINE} step={1} value={Math.round(shareOf(symbol, value) * FINE)} aria-label={name}
          aria-valuetext={`${name} = ${value}`} onKeyDown={onKey}
          onInput={(event) => move(place, valueAt(symbol, Number(event.currentTarget.value) / FINE))}
        />
        <span class="marks" aria-hidden="true">
          {marksOf(symbol, now.points.map((point) => point.at[place] as bigint)).map((mark) => <i key={String(mark)} style={{ left: `${shareOf(symbol, mark) * 100}%` }} />)}
        </span>
      </div>
      <input ref={field} id={`value${place}`} type="text" inputMode="numeric" onChange={onText} />
      <span class="quiet">{rangeText(symbol)}</span>
    </div>
  );
}

/** The values that matter: those of the symbol and of the points. */
function marksOf(symbol: Symbol0, points: bigint[]): bigint[] {
  const all = points.length > 0 ? points : symbol.values;
  return [...new Set(all)].sort((one, other) => (one < other ? -1 : 1));
}

function rangeText(symbol: Symbol0): string {
  const range = `${count(symbol.min)} to ${count(last(symbol))}`;
  return symbol.step > 1n ? `${range} by ${count(symbol.step)}` : range;
}

function nextBy(symbol: Symbol0, value: bigint, key: string): bigint | null {
  const marks = marksOf(symbol, valuesNow()?.points.map((point) => point.at[valuesNow()?.symbols.indexOf(symbol) ?? 0] ?? symbol.min) ?? []);
  switch (key) {
    case "ArrowRight": case "ArrowUp": return nearest(symbol, value + symbol.step);
    case "ArrowLeft": case "ArrowDown": return nearest(symbol, value - symbol.step);
    case "PageUp": return marks.find((mark) => mark > value) ?? value;
    case "PageDown": return marks.findLast((mark) => mark < value) ?? value;
    case "Home": return symbol.min;
    case "End": return last(symbol);
    default: return null;
  }
}
