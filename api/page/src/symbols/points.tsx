/** Beside the map: what the plan needs at the points, against the least. */
import type { JSX } from "preact";
import { bytes, count } from "../draw/format.ts";
import { compare } from "../model/steps.ts";
import type { PointShown, ValuesShown } from "../model/shown.ts";
import { shortName, valuesText } from "../model/symbol.ts";
import { ratioOf } from "../model/symbolic_shown.ts";
import { type Column, Heads, sorted, unsorted } from "../shell/sorting.tsx";
import { go, valuesNow } from "./current.ts";
import { ratioText } from "./words.ts";

const pointSort = unsorted();

function columnsOf(now: ValuesShown): Column<PointShown>[] {
  const value = (place: number) => (one: PointShown, other: PointShown) => compare(one.at[place] ?? 0n, other.at[place] ?? 0n);
  const needs = (point: PointShown): bigint => point.peak ?? point.least ?? -1n;
  return [
    ...now.symbols.map((symbol, place) => ({ title: shortName(symbol.id, 12), about: symbol.id, by: value(place) })),
    { title: "peak", by: (one, other) => compare(needs(one), needs(other)), down: true },
    { title: "of least", by: (one, other) => (ratioOf(one) ?? 0) - (ratioOf(other) ?? 0), down: true },
    { title: "stands", by: (one, other) => compare(one.stands, other.stands) },
  ];
}

export function PointsSide(): JSX.Element | null {
  const now = valuesNow();
  if (now === null || now.points.length === 0) return null;
  const isHere = (point: PointShown): boolean => point.at.every((value, place) => value === now.at[place]);
  const columns = columnsOf(now);
  return (
    <section>
      <h2>Points</h2>
      <div class="scroll">
        <table class="points values-table">
          <Heads columns={columns} sort={pointSort} />
          <tbody>
            {sorted(now.points, columns, pointSort).map((point) => (
              <tr key={point.at.join()} class={isHere(point) ? "chosen" : ""} onClick={() => go(point.at)}>
                <th scope="row">
                  <button type="button" class="line" aria-current={isHere(point)} aria-label={valuesText(now.symbols, point.at)}>{String(point.at[0])}</button>
                </th>
                {point.at.slice(1).map((value, other) => <td key={now.symbols[other + 1]?.id}>{String(value)}</td>)}
                <td title={point.peak === null ? "" : count(point.peak)}>{point.peak !== null ? bytes(point.peak) : point.least === null ? "–" : `≥ ${bytes(point.least)}`}</td>
                <td class={point === now.points[now.worst] && ratioOf(point) !== 1 ? "worst" : ""}>{ratioText(ratioOf(point))}</td>
                <td class={point.fault === "" ? "" : "wrong"}>{point.stands}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {now.points.filter((point) => point.fault !== "").slice(0, 3).map((point) => <p key={point.at.join()} class="wrong">{valuesText(now.symbols, point.at)}: {point.fault}.</p>)}
    </section>
  );
}
