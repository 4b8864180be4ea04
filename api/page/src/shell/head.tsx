/** The verdict with its facts, and the ways of looking. */
import type { JSX } from "preact";
import { count, plain } from "../draw/format.ts";
import type { Colouring } from "../draw/shades.ts";
import { differenceFacts, valueOf } from "../model/difference.ts";
import { hasNoPlan } from "../model/status.ts";
import type { Shown } from "../model/shown.ts";
import { swap } from "./compare.tsx";
import * as state from "./state.ts";

export function Head(): JSX.Element | null {
  const shown = state.shown.value;
  const verdict = state.verdict.value;
  if (shown === null || verdict === null) return null;
  const { second } = shown;
  const facts = second === null ? factsOf(shown) : differenceFacts(shown, second.shown, second.moves);
  return (
    <div class="head">
      <div>
        <p class="title">{plain(shown.scene.name, shown.symbolic === undefined ? 120 : 1000)}</p>
        <h1 class={verdict.tone}>
          {verdict.lead} <span>{verdict.rest}</span>
        </h1>
        {verdict.note !== "" && <p class="note">{verdict.note}</p>}
        {second === null && shown.verdict?.keeps_order === true && <KeptOrder ofFront={false} />}
      </div>
      <dl class="facts">
        {facts.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** The figures beside the sentence: those of the judge, and how full the map is. */
function factsOf(shown: Shown): [string, string][] {
  const { scene, pools } = shown;
  const buffers: [string, string] = ["buffers", count(scene.sizes.length)];
  if (hasNoPlan(scene)) return [buffers];
  let [used, all] = [0, 0];
  const { times } = scene.axis;
  const long = (from: number, to: number): number => Number(times[to]) - Number(times[from]);
  for (const pool of pools) {
    all += Number(pool.peak) * long(0, times.length - 1);
    for (let step = 0; step + 1 < times.length; step++) used += Number(pool.profile.live[step]) * long(step, step + 1);
  }
  const [term = "peak"] = scene.objective;
  const value = shown.verdict === null ? valueOf(shown, term) : null;
  const drawn: [string, string][] = value === null ? [] : [[term === "peak" ? "peak, bytes" : term.replaceAll("_", " ").replace("peak:", "peak of "), count(value)]];
  return [buffers, ...(shown.verdict?.facts ?? drawn), ["filled", all > 0 ? `${(Math.floor((used / all) * 1000) / 10).toFixed(1)} %` : "nothing"]];
}

/** That another order was not looked at, and how to look. */
export function KeptOrder(props: { ofFront: boolean }): JSX.Element {
  const { ofFront } = props;
  const job = /^\/jobs\/(\w+)$/.exec(location.pathname)?.[1];
  return (
    <p class="note">
      The operators run in the order in which they are listed, as the graph says; in another one less memory may do.{" "}
      {SERVED && job !== undefined
        ? <a class="again" href={`/new?job=${job}&order=free`}>{ofFront ? "Find the front with the best order" : "Plan it in the best order"}</a>
        : <>{ofFront ? "Make the front" : "Plan it"} with <code>--order free</code> to see.</>}
    </p>
  );
}

interface Choice<T> {
  value: T;
  text: string;
}

function Choices<T extends string | boolean>(props: { label: string; all: Choice<T>[]; now: T; set: (value: T) => void }): JSX.Element {
  return (
    <div class="choices" role="group" aria-label={props.label}>
      <span class="quiet">{props.label}</span>
      {props.all.map((choice) => (
        <button type="button" key={choice.text} aria-pressed={choice.value === props.now} onClick={() => props.set(choice.value)}>
          {choice.text}
        </button>
      ))}
    </div>
  );
}

export function colourings(): Colouring[] {
  const groups = state.shown.value?.scene.groups ?? null;
  const all: Colouring[] = groups === null ? ["lifetime", "size", "peak"] : ["lifetime", "size", "group", "peak"];
  return state.second.value === null ? all : ["moved", ...all];
}

/** Changes how time is counted; what is seen of it stays in view as a whole. */
export function setByChange(value: boolean): void {
  state.byChange.value = value;
  state.across.value = null;
}

export function Tools(): JSX.Element | null {
  const shown = state.shown.value;
  if (shown === null || hasNoPlan(shown.scene)) return null;
  const names = { moved: "what moved", lifetime: "lifetime", size: "size", group: "group", peak: "at the peak" };
  return (
    <div class="tools">
      <Choices label="Colour" all={colourings().map((value) => ({ value, text: names[value] }))} now={state.colouring.value} set={(value) => (state.colouring.value = value)} />
      {shown.scene.axis.kind === "time" && (
        <Choices label="Time" all={[{ value: false, text: "as given" }, { value: true, text: "by change" }]} now={state.byChange.value} set={setByChange} />
      )}
      <Choices label="Show" all={[{ value: false, text: "everything" }, { value: true, text: "the proof" }]} now={state.proofOnly.value} set={(value) => (state.proofOnly.value = value)} />
      {shown.second !== null && <button type="button" onClick={swap}>Swap</button>}
      {(state.across.value !== null || state.upward.value.size > 0) && <button type="button" title="show everything ( 0 )" onClick={state.lookAtAll}>Show all of it</button>}
      <span class="grow" />
      <Legend />
    </div>
  );
}

function Legend(): JSX.Element | null {
  const shades = state.shades.value;
  const shown = state.shown.value;
  if (shades === null || shown === null) return null;
  const { legend } = shades;
  return (
    <div class="legend">
      {legend.kind === "ramp" ? (
        <>
          <span>{legend.from}</span>
          <span class="ramp">{state.theme.value.ramp.map((colour) => <i key={colour} style={{ background: colour }} />)}</span>
          <span>{legend.to}</span>
        </>
      ) : legend.entries.map((entry) => (
        <span key={entry.text} class="entry"><i class="swatch" style={{ background: entry.colour }} />{entry.text}</span>
      ))}
      <span class="entry"><i class="swatch hole" />hole</span>
    </div>
  );
}
