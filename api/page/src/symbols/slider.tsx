/** The slider of a symbol: arrows go by one step, Page Up and Page Down to the values that matter. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count, plain } from "../draw/format.ts";
import { shortName } from "../model/symbol.ts";
import { last, nearest, shareOf, type Symbol0, valueAt } from "../model/symbol.ts";
import { move, valuesNow, wanted } from "./current.ts";

/** Places of the line. */
const FINE = 10_000;

export function Slider(props: { symbol: Symbol0; place: number }): JSX.Element | null {
  const { symbol, place } = props;
  const now = valuesNow();
  const value = (wanted.value ?? now?.at)?.[place];
  const field = useRef<HTMLInputElement>(null);
  /** What was said of a text that is no value, and the value that is shown since. */
  const said = useSignal<{ text: string; at: bigint } | null>(null);
  // Only when the value changes: what somebody is writing stays while the plan is laid out.
  useEffect(() => {
    if (field.current !== null) field.current.value = String(value);
  }, [value]);
  if (now === null || value === undefined) return null;
  const name = shortName(symbol.id);
  const onKey = (event: KeyboardEvent): void => {
    const next = nextBy(symbol, value, event.key);
    if (next === null) return;
    event.preventDefault();
    move(place, next);
  };
  const onFieldKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    said.value = null;
    (event.currentTarget as HTMLInputElement).value = String(value);
  };
  const onText = (event: Event): void => {
    const written = event.currentTarget as HTMLInputElement;
    const digits = written.value.replace(/[,_\s]/g, "");
    const typed = /^-?\d{1,20}$/.test(digits) ? BigInt(digits) : null;
    const shown = typed === null ? value : nearest(symbol, typed);
    move(place, shown);
    // What is no value is put back, and what is between two values is shown as the nearer one: both are told.
    said.value = typed === shown ? null : { text: refusal(written.value, symbol, typed === null ? null : shown), at: shown };
    written.value = String(shown);
  };
  return (
    <div class="slider">
      <label for={`value${place}`} title={symbol.id}>{shortName(symbol.id, 64)}</label>
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
      <input ref={field} id={`value${place}`} type="text" inputMode="numeric" onChange={onText} onKeyDown={onFieldKey} />
      <span class="quiet">{rangeText(symbol)}</span>
      <span class="refusal wrong" role="status">{said.value?.at === value ? said.value.text : ""}</span>
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

/** Why a text is no value; `shown`: the nearest value, null where it is no number. */
function refusal(text: string, symbol: Symbol0, shown: bigint | null): string {
  const written = text.trim() === "" ? "Nothing" : plain(text.trim(), 24);
  const instead = shown === null ? "" : ` The nearest is ${count(shown)}.`;
  return `${written} is no value of ${shortName(symbol.id)}, which takes ${rangeText(symbol)}.${instead}`;
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
