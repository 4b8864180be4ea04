/** What the program does, below the maps: its segments in order, and of the one that is looked at where all lies that it
 * uses; of a stripe, step by step which rows it makes, reads and holds. */
import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bytes, count, plain } from "../draw/format.ts";
import { CanvasPen } from "../draw/pen.ts";
import type { Segment } from "../model/loops.ts";
import type { Shown } from "../model/shown.ts";
import { swatch } from "../shell/line.tsx";
import * as state from "../shell/state.ts";
import { CELL, drawSteps, GAP, LINE, stepColours, topsOf } from "./chart.ts";
import { chooseStep, segmentPlace, stepAt, stepPlace } from "./current.ts";

export function LoopsView(props: { shown: Shown }): JSX.Element | null {
  const { shown } = props;
  const segments = shown.loops ?? [];
  const place = segmentPlace(shown);
  const segment = segments[place];
  if (segment === undefined) return null;
  return (
    <section class="loops" aria-label="the program">
      <h2>The program: {segments.length === 1 ? "one segment" : `${count(segments.length)} segments, one after the other`}</h2>
      <div class="program">
        <ol class="segments">
          {segments.map((one, at) => (
            <li key={at} class={at === place ? "chosen" : ""}>
              <button type="button" class="line" aria-current={at === state.operator.value} onClick={() => state.chooseOperator(at)}>
                <span class="quiet">{at + 1}</span>
                <span class="name">{plain(one.name, 80)}</span>
                {state.chosen.value >= 0 && one.operands.some((operand) => operand.buffer === state.chosen.value) && <span class="uses">uses it</span>}
              </button>
            </li>
          ))}
        </ol>
        <div class="segment" aria-live="polite">
          <h3>{place + 1}. {plain(segment.name, 120)}{segment.what !== "" && <span class="quiet"> {plain(segment.what, 200)}</span>}</h3>
          <Operands shown={shown} segment={segment} />
          {segment.members.length > 0 && <Members segment={segment} />}
        </div>
      </div>
      {segment.steps.length > 0 && <Steps key={place} shown={shown} segment={segment} />}
    </section>
  );
}

function Operands(props: { shown: Shown; segment: Segment }): JSX.Element | null {
  const { shown: { scene }, segment: { operands, aside } } = props;
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label="what it uses, and where that lies">
      <table>
        <thead><tr><th scope="col">tensor</th><th scope="col">use</th>{scene.pools.length > 1 && <th scope="col">pool</th>}<th scope="col">at</th><th scope="col">bytes</th><th scope="col" class="words">what it is</th></tr></thead>
        <tbody>
          {operands.map((operand, at) => (
            <tr key={at} class={operand.buffer === state.chosen.value ? "chosen" : ""}>
              <th scope="row">
                <button type="button" class="line" onClick={() => state.choose(operand.buffer)}>
                  <i class="swatch" style={{ background: swatch(scene, operand.buffer) }} />
                  <span class="name">{plain(operand.name, 60)}</span>
                </button>
              </th>
              <td>{operand.role}</td>
              {scene.pools.length > 1 && <td>{plain(operand.pool, 20)}</td>}
              <td>{count(operand.offset)}</td>
              <td title={bytes(operand.size)}>{count(operand.size)}</td>
              <td class="words">{plain(operand.what, 120)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {aside > 0 && <p class="quiet">and {count(aside)} that {aside === 1 ? "is" : "are"} not planned, such as weights</p>}
    </div>
  );
}

function Members(props: { segment: Segment }): JSX.Element {
  return (
    <div class="wide-table" tabIndex={0} role="region" aria-label="the operators of the stripe">
      <table>
        <thead><tr><th scope="col">operator</th><th scope="col">makes</th><th scope="col">rows × columns</th><th scope="col">kept</th></tr></thead>
        <tbody>
          {props.segment.members.map((member, at) => (
            <tr key={at} class={at === stepAt(props.segment)?.member ? "chosen" : ""}>
              <th scope="row">{plain(member.name, 60)}</th>
              <td>{plain(member.makes, 40)}</td>
              <td>{member.extent}</td>
              <td>{member.keeps}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The steps of a strip, to go through; what cannot be drawn is in the words below. */
function Steps(props: { shown: Shown; segment: Segment }): JSX.Element {
  const { shown, segment } = props;
  const at = stepPlace(segment);
  const drawn = segment.steps.length;
  const part = drawn < segment.all_steps ? ` (the first ${count(drawn)} are drawn)` : "";
  const [kept, read, made] = stepColours(state.theme.value);
  const text = stepAt(segment)?.text ?? "";
  return (
    <div class="steps">
      <h3>
        <span>Step {count(at + 1)} of {count(segment.all_steps)}<span class="quiet">{part}</span></span>
        <span class="stepper">
          <button type="button" class="round" aria-label="the step before" title="the step before ( R )" disabled={at === 0} onClick={() => chooseStep(shown, at - 1)}>‹</button>
          <button type="button" class="round" aria-label="the step after" title="the step after ( r )" disabled={at + 1 >= drawn} onClick={() => chooseStep(shown, at + 1)}>›</button>
        </span>
      </h3>
      <input
        type="range" min={1} max={drawn} value={at + 1} aria-label="step" aria-valuetext={`step ${at + 1}: ${text}`}
        onInput={(event) => chooseStep(shown, Number(event.currentTarget.value) - 1)}
      />
      <p>{plain(text, 2000)}</p>
      <div class="legend">
        <span class="entry"><i class="swatch" style={{ background: made }} />made</span>
        <span class="entry"><i class="swatch" style={{ background: read }} />read</span>
        <span class="entry"><i class="swatch" style={{ background: kept }} />held for later</span>
        <span>numbers are rows; each line is one row of memory</span>
      </div>
      <StepChart shown={shown} segment={segment} />
      <details>
        <summary>All steps in words</summary>
        <pre tabIndex={0}>{segment.words.join("\n")}</pre>
      </details>
    </div>
  );
}

function StepChart(props: { shown: Shown; segment: Segment }): JSX.Element {
  const { shown, segment } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const scroll = useRef<HTMLDivElement>(null);
  const tops = topsOf(segment);
  const [wide, tall] = [segment.steps.length * CELL, tops[tops.length - 1] as number];
  useEffect(() => {
    const on = canvas.current;
    const context = on?.getContext("2d") ?? null;
    if (on === null || context === null) return undefined;
    const pen = new CanvasPen(context);
    return effect(() => {
      const density = Math.min(2, devicePixelRatio || 1);
      on.width = Math.round(wide * density);
      on.height = Math.round(tall * density);
      context.setTransform(density, 0, 0, density, 0, 0);
      const at = stepPlace(segment);
      drawSteps(pen, segment, state.theme.value, at);
      const box = scroll.current;
      if (box !== null && (at * CELL < box.scrollLeft || (at + 1) * CELL > box.scrollLeft + box.clientWidth)) box.scrollLeft = at * CELL - box.clientWidth / 2;
    });
  }, [segment]);
  return (
    <div class="chart">
      <div class="lanes" aria-hidden="true">
        {segment.members.map((member, place) => (
          <span key={place} style={{ height: `${member.lines * LINE + GAP}px`, lineHeight: `${LINE}px` }} title={`${member.name} makes ${member.makes}: ${member.keeps}`}>
            {plain(member.makes, 40)} <span class="quiet">{member.keeps}</span>
          </span>
        ))}
      </div>
      <div class="across" ref={scroll} tabIndex={0} role="region" aria-label="rows by steps">
        <canvas
          ref={canvas} style={{ width: `${wide}px`, height: `${tall}px` }} role="img"
          aria-label={`The rows that are made, read and held in each of ${segment.steps.length} steps; the words below say the same.`}
          onClick={(event) => chooseStep(shown, Math.floor(event.offsetX / CELL))}
        />
      </div>
    </div>
  );
}
