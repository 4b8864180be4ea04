/** Above the plan: a slider for each symbol, what holds at every value, and the chart. */
import type { JSX } from "preact";
import { plain } from "../draw/format.ts";
import { shortName } from "../model/symbol.ts";
import { NOT_JUDGED } from "../model/verdict.ts";
import { ChartView } from "./chartview.tsx";
import { along, chartAlong, counted, failure, valuesNow } from "./current.ts";
import { Slider } from "./slider.tsx";
import { kindText, misfitText } from "./words.ts";

/** Whether there is something to draw, or may be soon. */
function hasCurve(): boolean {
  return counted.value === null || counted.value.points.some((one) => one.peak !== null || one.least !== null);
}

export function ValuesView(): JSX.Element | null {
  const now = valuesNow();
  if (now === null) return null;
  const { verdict } = now;
  return (
    <section class="values" aria-label="values of the symbols">
      <div class="sliders">
        {now.symbols.map((symbol, place) => <Slider key={symbol.id} symbol={symbol} place={place} />)}
        <p class="quiet">
          {[kindText(now), verdict?.worst ?? "", verdict?.bound ?? ""].filter((text) => text !== "").join(" ")}{" "}
          <span class="wrong">{misfitText(now)}</span>{" "}
          <span class={verdict?.valid === false ? "wrong" : ""}>{verdict?.says ?? NOT_JUDGED}</span>
        </p>
        {now.plans.length > 1 && <p class="wrong">Of {now.plans.length} plans the last is shown: {plain(now.plans.at(-1) ?? "", 80)}.</p>}
        {failure.value !== "" && <p class="wrong">{plain(failure.value, 300)}.</p>}
      </div>
      {hasCurve() && <div class="curve">
        {now.symbols.length > 1 && (
          <div class="choices" role="group" aria-label="the chart goes along">
            <span class="quiet">Along</span>
            {now.symbols.map((symbol, place) => (
              <button type="button" key={symbol.id} aria-pressed={place === along.value} title={symbol.id} onClick={() => chartAlong(place)}>{shortName(symbol.id)}</button>
            ))}
          </div>
        )}
        <ChartView />
      </div>}
    </section>
  );
}
