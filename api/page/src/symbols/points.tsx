/** Beside the map: what the plan needs at the points, against the least. */
import type { JSX } from "preact";
import { bytes, count } from "../draw/format.ts";
import { type PointShown, ratioOf } from "../model/symbolic_shown.ts";
import { shortName, valuesText } from "../model/symbolic_verdict.ts";
import { go, valuesNow } from "./current.ts";
import { ratioText, standsText } from "./words.ts";

export function PointsSide(): JSX.Element | null {
  const now = valuesNow();
  if (now === null || now.points.length === 0) return null;
  const isHere = (point: PointShown): boolean => point.at.every((value, place) => value === now.at[place]);
  return (
    <section>
      <h2>Points</h2>
      <div class="scroll">
        <table class="points values-table">
          <thead>
            <tr>
              {now.symbols.map((symbol) => <th key={symbol.id} scope="col" title={symbol.id}>{shortName(symbol.id, 12)}</th>)}
              <th scope="col">peak</th><th scope="col">of least</th><th scope="col">stands</th>
            </tr>
          </thead>
          <tbody>
            {now.points.map((point, place) => (
              <tr key={point.at.join()} class={isHere(point) ? "chosen" : ""} onClick={() => go(point.at)}>
                <th scope="row">
                  <button type="button" class="line" aria-current={isHere(point)} aria-label={valuesText(now.symbols, point.at)}>{String(point.at[0])}</button>
                </th>
                {point.at.slice(1).map((value, other) => <td key={now.symbols[other + 1]?.id}>{String(value)}</td>)}
                <td title={point.peak === null ? "" : count(point.peak)}>{point.peak !== null ? bytes(point.peak) : point.least === null ? "–" : `≥ ${bytes(point.least)}`}</td>
                <td class={place === now.worst && ratioOf(point) !== 1 ? "worst" : ""}>{ratioText(ratioOf(point))}</td>
                <td class={point.fault === "" ? "" : "wrong"}>{standsText(now, point)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {now.points.filter((point) => point.fault !== "").slice(0, 3).map((point) => <p key={point.at.join()} class="wrong">{valuesText(now.symbols, point.at)}: {point.fault}.</p>)}
    </section>
  );
}
