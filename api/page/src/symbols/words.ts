/** A plan of formulas in words: what holds at every value, and who says so. */
import { plain } from "../draw/format.ts";
import { type PointShown, ratioOf, type ValuesShown } from "../model/symbolic_shown.ts";
import { valuesText } from "../model/symbolic_verdict.ts";
import { ON_WHOSE_WORD } from "../model/verdict.ts";
import { source } from "../shell/state.ts";

/** On whose word stands what this page has not counted. */
function claimant(): "service" | "claimed" {
  return source() === "service" ? "service" : "claimed";
}

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

/** How close the plan is to the least, over the points. */
export function worstText(now: ValuesShown): string {
  const worst = now.points[now.worst];
  if (worst === undefined) return "";
  const ratio = ratioOf(worst);
  // Less than must be live needs only what overlaps.
  if (ratio !== null && ratio < 1) return "";
  const known = now.points.filter((point) => ratioOf(point) !== null);
  const which = known.length === now.points.length ? (known.length === 1 ? "the point" : `all ${known.length} points`) : `${known.length} of ${now.points.length} points`;
  const word = known.every((point) => point.counted) ? "" : `${ON_WHOSE_WORD[claimant()]} of the least`;
  if (ratio === 1) return `The least possible at ${which}${word}.`;
  return `At most ${ratioText(ratio)} of the least at ${which}${word}; the most at ${valuesText(now.symbols, worst.at)}.`;
}

/** At which points the plan does not fit. */
export function misfitText(now: ValuesShown): string {
  const [first, ...others] = now.orders === 0 ? [] : now.points.filter((point) => point.peak === null);
  if (first === undefined) return "";
  const more = others.length === 0 ? "" : `, nor at ${others.length === 1 ? "another point" : `${others.length} other points`}`;
  return `It does not fit at ${valuesText(now.symbols, first.at)}${more}.`;
}

/** What the file says that no plan of this kind can reach. */
export function boundText(now: ValuesShown): string {
  const worst = now.points[now.worst];
  const ratio = worst === undefined ? null : ratioOf(worst);
  if (now.bound === null || now.bound <= 1 || ratio === null || now.points.some((point) => point.fault !== "")) return "";
  if (now.bound > ratio) return "The file claims more than can be true.";
  const kind = now.shapes === "fixed" ? "offsets for all values" : now.shapes === "order" ? "one order" : "so many orders";
  // Rounded down: a claim is never told to be stronger than it is.
  const text = now.bound === ratio ? "less" : `less than ×${(Math.floor(now.bound * 1000) / 1000).toFixed(3)}`;
  return `No ${kind} can do with ${text}${ON_WHOSE_WORD[claimant()]}.`.replace("No offsets", "No other offsets");
}

export function judgedText(now: ValuesShown): string {
  if (now.judged !== null && now.judged !== "") return `The judge says: ${plain(now.judged, 300)}.`;
  if (now.status === "infeasible" && now.judged !== null) {
    return now.counted === "" ? "That nothing fits is claimed: the judge could not check it." : `That nothing fits is checked by ${plain(now.counted, 100)}, as the judge says.`;
  }
  if (now.orders === 0) return "";
  if (now.judged === null) return "Checked here at each value that you look at.";
  return "Valid at every value, as the judge says.";
}

export function standsText(now: ValuesShown, point: PointShown): string {
  if (point.fault !== "") return "wrong";
  // Where there is no plan, nothing says that a value alone does not fit but the live bytes.
  if (point.peak === null) return point.over || now.orders > 0 ? "no room" : "open";
  if (point.least === null) return "open";
  if (point.peak === point.least) return point.counted || claimant() === "service" ? "least" : "claimed";
  return "above";
}
