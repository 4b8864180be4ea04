/** A front: the chart, and its points in words. */
import { effect, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { plain } from "../draw/format.ts";
import { CanvasPen } from "../draw/pen.ts";
import type { Front, FrontPoint } from "../model/front.ts";
import { NOT_JUDGED, type Sentence } from "../model/verdict.ts";
import { KeptOrder } from "../shell/head.tsx";
import { openPoint } from "../shell/open.ts";
import { parts } from "../shell/parts.ts";
import * as state from "../shell/state.ts";
import { accent, type Chart, chartOf, drawChart, grounds, pointAt } from "./chart.ts";
import { saveFront } from "./picture.ts";
import { exact, inOrder, least, onWord, ratio, standingText, valueText } from "./values.ts";

export function FrontView(): JSX.Element | null {
  const front = state.front.value;
  if (front === null) return null;
  const verdict = front.verdict ?? unjudgedFront(front);
  return (
    <main class="plan front">
      <parts.status />
      <div class="head">
        <div>
          <p class="title">{plain(front.name, 120)}</p>
          <h1 class={verdict.tone}>{verdict.lead} <span>{verdict.rest}</span></h1>
          {verdict.note !== "" && <p class="note">{verdict.note}</p>}
          {front.verdict?.keeps_order === true && <KeptOrder ofFront />}
        </div>
        <dl class="facts">
          {(front.verdict?.facts ?? [["points", String(front.points.length)]]).map(([label, value]) => <div key={label}><dt>{label}</dt><dd>{value}</dd></div>)}
        </dl>
      </div>
      {front.points.length > 0 && (
        <div class="below">
          <div class="maps">
            <Legend front={front} />
            <ChartView front={front} />
          </div>
          <aside class="side" aria-label="points">
            <div aria-live="polite"><Chosen front={front} /></div>
            <Points front={front} />
          </aside>
        </div>
      )}
    </main>
  );
}

/** What is said of a front that nobody has judged. */
function unjudgedFront(front: Front): Sentence {
  const { length } = front.points;
  return { lead: length === 0 ? "No point." : length === 1 ? "One point." : `${length} points.`, rest: NOT_JUDGED, tone: "plain", note: missingText(front) };
}

function missingText(front: Front): string {
  const missing = front.points.filter((point) => point.missing !== "");
  if (missing.length === 0) return "";
  const many = missing.length === front.points.length ? "No plan can be drawn" : `${missing.length} of the plans cannot be drawn`;
  return `${many}: ${missing[0]?.missing}.`;
}

function Legend(props: { front: Front }): JSX.Element {
  const { front } = props;
  const theme = state.theme.value;
  const has = (...standings: string[]): boolean => front.points.some((point) => standings.includes(point.standing));
  const blue = accent(theme);
  const paper = grounds(theme);
  return (
    <div class="tools">
      <div class="legend">
        {has("proven") && <span class="entry"><i class="dot" style={{ background: theme.met, borderColor: theme.met }} />proven</span>}
        {has("claimed") && <span class="entry"><i class="dot" style={{ background: blue, borderColor: blue }} />{standingText(front, "claimed")}</span>}
        {has("open") && <span class="entry"><i class="dot" style={{ borderColor: blue }} />open</span>}
        {has("worse", "wrong") && <span class="entry"><b class="wrong" aria-hidden="true">×</b>not on the front</span>}
        <span class="entry"><i class="swatch" style={{ background: paper.plans }} />plans are known</span>
        {!front.complete && <span class="entry"><i class="swatch" style={{ background: paper.unknown }} />unknown</span>}
        {(front.complete || has("proven", "claimed") || front.points.some((point) => point.bounds.some((bound) => bound !== null))) && <span class="entry"><i class="swatch hole" />no plan{onWord(front)}</span>}
      </div>
      <span class="grow" />
      <Exports front={front} />
    </div>
  );
}

function Exports(props: { front: Front }): JSX.Element {
  const kinds = [["svg", "SVG"], ["png", "PNG"], ["csv", "CSV"], ["json", "JSON"]] as const;
  return (
    <div class="choices" role="group" aria-label="save the front as">
      <span class="quiet">Save as</span>
      {kinds.map(([kind, name]) => <button key={kind} type="button" onClick={() => void saveFront(props.front, kind)}>{name}</button>)}
    </div>
  );
}

function ChartView(props: { front: Front }): JSX.Element {
  const { front } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const chart = useRef<Chart | null>(null);
  const under = useSignal(-1);
  useEffect(() => {
    const on = canvas.current;
    const context = on?.getContext("2d") ?? null;
    if (on === null || context === null) return undefined;
    const pen = new CanvasPen(context);
    const draw = (): void => {
      const density = Math.min(2, devicePixelRatio || 1);
      on.width = Math.round(on.clientWidth * density);
      on.height = Math.round(on.clientHeight * density);
      context.setTransform(density, 0, 0, density, 0, 0);
      chart.current = chartOf(front, on.clientWidth, on.clientHeight);
      drawChart(pen, front, chart.current, state.theme.value, under.value >= 0 ? under.value : state.point.value);
    };
    const size = new ResizeObserver(draw);
    size.observe(on);
    const stop = effect(draw);
    return () => {
      size.disconnect();
      stop();
    };
  }, [front]);
  const at = (event: MouseEvent): number => (chart.current === null ? -1 : pointAt(chart.current, event.offsetX, event.offsetY));
  const tip = front.points[under.value];
  const place = chart.current?.places[under.value];
  return (
    <section class="pool" aria-label="chart of the front">
      <div class="stage">
        <canvas
          ref={canvas} tabIndex={0} role="application" class={under.value >= 0 ? "front-chart over" : "front-chart"}
          aria-label={`Chart of ${front.points.length} points: ${plain(front.terms[0], 60)} across, ${plain(front.terms[1], 60)} up. Arrows choose a point, Enter opens its plan; the list of points says the same.`}
          onPointerMove={(event) => (under.value = at(event))}
          onPointerLeave={() => (under.value = -1)}
          onClick={(event) => {
            const found = at(event);
            if (found >= 0) void openPoint(found);
          }}
        />
        {tip !== undefined && place !== undefined && <Tip front={front} point={tip} x={place[0]} y={place[1]} wide={chart.current?.wide ?? 0} />}
      </div>
    </section>
  );
}

function Tip(props: { front: Front; point: FrontPoint; x: number; y: number; wide: number }): JSX.Element {
  const { front, point, x, y, wide } = props;
  const side = x > wide * 0.6 ? { right: `${wide - x + 16}px` } : { left: `${x + 16}px` };
  return (
    <div class="tip" style={{ top: `${y + 12}px`, ...side }}>
      <b>{exact(front.terms[0], point.values[0])}</b>
      <span>{plain(front.terms[1], 40)} {exact(front.terms[1], point.values[1])} {ratio(point.values[1], least(front, 1))}</span>
      <span>{standingText(front, point.standing)}{point.missing === "" ? "; click for the plan" : ""}</span>
    </div>
  );
}

/** The chosen point, with what is known of it. */
function Chosen(props: { front: Front }): JSX.Element | null {
  const { front } = props;
  // Where there is one, nobody has to choose it.
  const place = front.points.length === 1 ? 0 : state.point.value;
  const point = front.points[place];
  if (point === undefined) return <section><p>Choose a point to see its plan.</p></section>;
  return (
    <section>
      <h2>Point {place + 1} of {front.points.length}</h2>
      <dl class="rows">
        {front.terms.map((term, axis) => (
          <div key={term}>
            <dt>{plain(term, 40).replaceAll("_", " ")}</dt>
            <dd>{exact(term, point.values[axis as 0 | 1])}{axis === 1 && ` ${ratio(point.values[1], least(front, 1))}`}</dd>
          </div>
        ))}
        {front.terms.map((term, axis) => {
          const bound = point.bounds[axis as 0 | 1] ?? null;
          return bound === null ? null : <div key={term}><dt>at least</dt><dd>{exact(term, bound)} {axis === 0 ? `for no more ${plain(front.terms[1], 30).replaceAll("_", " ")}` : `in no more ${plain(front.terms[0], 30).replaceAll("_", " ")}`}{onWord(front)}</dd></div>;
        })}
        <div><dt>stands</dt><dd>{standingText(front, point.standing)}</dd></div>
      </dl>
      {point.faults.map((fault) => <p key={fault} class="wrong">{fault}.</p>)}
      {point.missing === "" ? <p><button type="button" class="see" onClick={() => void openPoint(place)}>See the plan</button></p> : <p>{plain(point.missing, 300)}.</p>}
    </section>
  );
}

function Points(props: { front: Front }): JSX.Element {
  const { front } = props;
  const lowest = least(front, 1);
  return (
    <section>
      <h2>Points</h2>
      <table class="points">
        <thead><tr><th scope="col">{plain(front.terms[0], 30)}</th><th scope="col">{plain(front.terms[1], 30)}</th>{ratio(1, lowest) !== "" && <th scope="col">of least</th>}<th scope="col">stands</th></tr></thead>
        <tbody>
          {inOrder(front).map((place) => {
            const point = front.points[place] as FrontPoint;
            return (
              <tr key={place} class={place === state.point.value ? "chosen" : ""}>
                <th scope="row">
                  <button type="button" class="line" aria-current={place === state.point.value} onClick={() => (state.point.value = place)}>
                    {valueText(front.terms[0], point.values[0])}
                  </button>
                </th>
                <td>{valueText(front.terms[1], point.values[1])}</td>
                {ratio(1, lowest) !== "" && <td>{ratio(point.values[1], lowest)}</td>}
                <td class={point.standing === "wrong" ? "wrong" : ""}>{point.standing}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
