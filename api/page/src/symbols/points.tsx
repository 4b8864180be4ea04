/** Beside the map: what the plan needs at the points, against the least. */
import type { JSX } from "preact";
import { bytes, count, plain } from "../draw/format.ts";
import { type PointShown, ratioOf } from "../model/symbolic_shown.ts";
import { go, valuesNow } from "./current.ts";
import { ratioText, standsText } from "./words.ts";

export function PointsSide(): JSX.Element | null {
  const now = valuesNow();
  if (now === null || now.points.length === 0) return null;
  const names = now.symbols.map((symbol) => plain(symbol.id, 16));
  const isHere = (point: PointShown): boolean => point.at.every((value, place) => value === now.at[place]);
  return (
    <section>
      <h2>Points</h2>
      <div class="scroll">
        <table class="points">
          <thead><tr><th scope="col">{names.join(", ")}</th><th scope="col">peak</th><th scope="col">of least</th><th scope="col">stands</th></tr></thead>
          <tbody>
            {now.points.map((point, place) => (
              <tr key={point.at.join()} class={isHere(point) ? "chosen" : ""}>
                <th scope="row">
                  <button type="button" class="line" aria-current={isHere(point)} onClick={() => go(point.at)}>{point.at.map((value) => String(value)).join(", ")}</button>
                </th>
                <td title={point.peak === null ? "" : count(point.peak)}>{point.peak !== null ? bytes(point.peak) : point.least === null ? "–" : `≥ ${bytes(point.least)}`}</td>
                <td class={place === now.worst && ratioOf(point) !== 1 ? "worst" : ""}>{ratioText(ratioOf(point))}</td>
                <td class={point.fault === "" ? "" : "wrong"}>{standsText(now, point)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {now.points.filter((point) => point.fault !== "").slice(0, 3).map((point) => <p key={point.at.join()} class="wrong">{point.at.join(", ")}: {point.fault}.</p>)}
    </section>
  );
}
