/** Symbols: the values that they take, and where each is along a line. */
import { plain } from "../draw/format.ts";
import type { JsonReader } from "./json.ts";

export interface Symbol0 {
  id: string;
  min: bigint;
  max: bigint;
  step: bigint;
  /** Those that matter, ascending. */
  values: bigint[];
}

/** A range whose ends are so many times apart is gone through by factors; so do `memstow evaluate` and its pictures. */
const WIDE = 16n;

export function readSymbol(json: JsonReader): Symbol0 {
  const symbol: Symbol0 = { id: "", min: 0n, max: 0n, step: 1n, values: [] };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "id") symbol.id = json.string();
    else if (field === "min" || field === "max" || field === "step") symbol[field] = BigInt(json.whole());
    else if (field === "values") json.list(() => symbol.values.push(BigInt(json.whole())));
    else json.skip();
  });
  if (symbol.step < 1n || symbol.min > symbol.max) json.fail("a symbol goes from its least value to a larger one in steps of 1 or more");
  if (symbol.values.length === 0) symbol.values = [symbol.min, symbol.max, ...powers(symbol)];
  symbol.values = ascending(symbol.values);
  return symbol;
}

function* powers(symbol: Symbol0): Iterable<bigint> {
  for (let power = 1n; power <= symbol.max; power *= 2n) {
    if (power >= symbol.min && (power - symbol.min) % symbol.step === 0n) yield power;
  }
}

export function ascending(values: bigint[]): bigint[] {
  return [...new Set(values)].sort((one, other) => (one < other ? -1 : 1));
}

export function last(symbol: Symbol0): bigint {
  return symbol.max - (symbol.max - symbol.min) % symbol.step;
}

/** The value that it takes which is nearest to this one. */
export function nearest(symbol: Symbol0, value: bigint): bigint {
  if (value <= symbol.min) return symbol.min;
  const top = last(symbol);
  if (value >= top) return top;
  const over = (value - symbol.min) % symbol.step;
  return over * 2n < symbol.step ? value - over : value - over + symbol.step;
}

function isWide(symbol: Symbol0): boolean {
  return symbol.min >= 0n && symbol.max / (symbol.min || 1n) >= WIDE;
}

/** Where a value is along the line, from 0 to 1. */
export function shareOf(symbol: Symbol0, value: bigint): number {
  const [low, high] = [Number(symbol.min), Number(last(symbol))];
  if (high <= low) return 0;
  // So that the least of a range that begins at 0 has a place of its own.
  const shift = low === 0 ? 1 : 0;
  if (isWide(symbol)) return Math.log((Number(value) + shift) / (low + shift)) / Math.log((high + shift) / (low + shift));
  return Number(value - symbol.min) / (high - low);
}

/** The value at this place of the line. */
export function valueAt(symbol: Symbol0, share: number): bigint {
  if (share <= 0) return symbol.min;
  if (share >= 1) return last(symbol);
  const [low, high] = [Number(symbol.min), Number(last(symbol))];
  const shift = low === 0 ? 1 : 0;
  const at = isWide(symbol) ? (low + shift) * ((high + shift) / (low + shift)) ** share - shift : low + (high - low) * share;
  return nearest(symbol, BigInt(Math.round(at)));
}

/** At most so many values from the least to the largest. */
export function spread(symbol: Symbol0, count: number): bigint[] {
  const steps = (last(symbol) - symbol.min) / symbol.step;
  if (steps < BigInt(count)) return Array.from({ length: Number(steps) + 1 }, (_, at) => symbol.min + BigInt(at) * symbol.step);
  return ascending(Array.from({ length: count }, (_, at) => valueAt(symbol, at / (count - 1))));
}

/** A long name without its middle: names that begin alike mostly end in different ways. */
export function shortName(name: string, most = 44): string {
  const text = plain(name, name.length);
  const half = most >> 1;
  return text.length > most ? `${text.slice(0, half)}…${text.slice(half + 1 - most)}` : text;
}

export function valuesText(symbols: Symbol0[], at: readonly bigint[]): string {
  return symbols.map((symbol, place) => `${shortName(symbol.id)}=${at[place]}`).join(", ");
}
