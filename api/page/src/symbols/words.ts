/** A plan of formulas in words, beside what the judge says. */
import type { ValuesShown } from "../model/shown.ts";
import { valuesText } from "../model/symbol.ts";

/** Rounded up: a plan is never told to be better than it is. */
export function ratioText(ratio: number | null): string {
  if (ratio === null) return "–";
  return `×${(Math.ceil(ratio * 1000 - 1e-9) / 1000).toFixed(3)}`;
}

export function kindText(now: ValuesShown): string {
  if (now.orders === 0) return "";
  if (now.shapes === "fixed") return "The same offsets at every value.";
  if (now.orders === 1) return now.shapes === "pieces" ? "Several orders were allowed; this plan has one, for every value." : "One order of the buffers for every value.";
  const which = ["first", "second", "third"][now.order] ?? `${now.order + 1}th`;
  return `${now.orders} orders, of which the best counts at each value; here it is the ${which}.`;
}

/** At which points the plan does not fit. */
export function misfitText(now: ValuesShown): string {
  const [first, ...others] = now.orders === 0 ? [] : now.points.filter((point) => point.peak === null);
  if (first === undefined) return "";
  const more = others.length === 0 ? "" : `, nor at ${others.length === 1 ? "another point" : `${others.length} other points`}`;
  return `It does not fit at ${valuesText(now.symbols, first.at)}${more}.`;
}
