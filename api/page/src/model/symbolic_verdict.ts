/** What is said of a value of the symbols at which there is no plan to speak of. */
import { bytes, plain } from "../draw/format.ts";
import type { Amount } from "./columns.ts";
import type { Scene } from "./scene.ts";
import type { Shown } from "./shown.ts";
import type { Symbol0 } from "./symbol.ts";
import type { Symbolic } from "./symbolic.ts";
import type { PointShown } from "./symbolic_shown.ts";
import type { Verdict } from "./verdict.ts";

/** A long name without its middle: names that begin alike mostly end in different ways. */
export function shortName(name: string, most = 44): string {
  const text = plain(name, name.length);
  const half = most >> 1;
  return text.length > most ? `${text.slice(0, half)}…${text.slice(half + 1 - most)}` : text;
}

export function valuesText(symbols: Symbol0[], at: readonly bigint[]): string {
  return symbols.map((symbol, place) => `${shortName(symbol.id)}=${at[place]}`).join(", ");
}

/** Null: there is a plan, of which is said what is said of any. */
export function verdictAt(file: Symbolic, shown: Shown, misfit: string, points: PointShown[]): Verdict | null {
  const status = file.plan?.status ?? "";
  const isNone = status === "infeasible" || status === "unknown";
  if (file.judged !== null && file.judged !== "" && (isNone || file.broken !== "")) {
    return { lead: "This is no valid plan.", rest: `The judge says: ${plain(file.judged, 300)}.`, tone: "wrong", note: "" };
  }
  if (misfit !== "") return { lead: "The plan does not fit", rest: "at this value.", tone: "wrong", note: `${plain(misfit, 300)}.` };
  return status === "infeasible" ? nothingFits(file, shown, points) : null;
}

/** That no plan holds at every value says little of one value: what is known of that is told besides. */
function nothingFits(file: Symbolic, shown: Shown, points: PointShown[]): Verdict {
  const { scene, pools } = shown;
  const explanation = scene.claims?.explanation?.message ?? "";
  const note = explanation === "" ? "" : `The reason that is given: ${plain(explanation, 400)}.`;
  const checked = pools.map(({ bound }) => (bound?.checked === true ? bound.value : scene.zero));
  const full = checked.findIndex((value, place) => isOver(scene, place, value));
  if (full >= 0) {
    const rest = `At least ${bytes(checked[full] as Amount)} are needed here, and ${ofPool(scene, full)}.`;
    return { lead: "No plan fits.", rest, tone: "wrong", note };
  }
  const most = checked.reduce((best, value, place) => (value > (checked[best] as Amount) ? place : best), 0);
  const least = checked[most] as Amount;
  const here = least > 0 ? `At least ${bytes(least)} are needed here, and ${ofPool(scene, most)}: this value alone may fit. A plan has to fit at every value.` : "A plan has to fit at every value; of this one nothing is known.";
  const where = points.find((point) => point.over);
  const who = where !== undefined ? `as counted at ${valuesText(file.symbols, where.at)}` : file.counted !== "" ? `checked by ${plain(file.counted, 100)}, as the judge says` : null;
  const known = { lead: "No plan fits at every value,", note: `${here} ${note}`.trim() };
  return who === null ? { ...known, rest: "", tone: "claimed" } : { ...known, rest: `${who}.`, tone: "wrong" };
}

function ofPool(scene: Scene, place: number): string {
  const pool = scene.pools[place];
  const capacity = pool?.capacity ?? null;
  return `${plain(pool?.id ?? "", 40)} has ${capacity === null ? "no limit" : bytes(capacity)}`;
}

/** Whether a pool has less than that. */
export function isOver(scene: Scene, place: number, needed: Amount): boolean {
  const capacity = scene.pools[place]?.capacity ?? null;
  return capacity !== null && needed > capacity;
}
