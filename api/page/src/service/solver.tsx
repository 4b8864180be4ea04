/** "Ask the solver": whether a plan exists that needs fewer bytes, by how many is given, and what would have to change for one;
 * and what the peak would be without a buffer. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bytes, plain } from "../draw/format.ts";
import type { Shortfall } from "../model/changes.ts";
import { type Amount, amount } from "../model/columns.ts";
import { named } from "../model/buffers.ts";
import type { Whole } from "../model/json.ts";
import type { PoolShown, Shown } from "../model/shown.ts";
import { hasNoPlan } from "../model/status.ts";
import { Changes } from "../shell/less.tsx";
import { shownPool, wantedLess } from "../shell/side.tsx";
import * as state from "../shell/state.ts";
import { post } from "./bodies.ts";
import { exact, Refusal, words } from "./http.ts";
import { asking } from "./key.ts";
import { type Change, problemText } from "./scene_problem.ts";

const SECONDS = 10;
const FEW = 6;

interface Needs {
  status: "fits" | "infeasible" | "unknown";
  explanation: string | null;
  pools: { pool: string; capacity: Whole; least: Whole | null; bound: Whole | null; enough: Whole | null }[];
  releases: { message: string; helps: boolean | null }[];
  untried: number;
  shortfalls: Shortfall[] | null;
  confirmed: "shrunk" | "left_out" | null;
}

/** What is asked, and how; the same text is the same question. */
interface Question {
  place: number;
  change: Change;
  text: string;
}

function questionOf(shown: Shown): Question | null {
  const { scene, pools } = shown;
  const place = shownPool(shown);
  const id = plain(scene.pools[place]?.id ?? "", 30);
  if (hasNoPlan(scene)) {
    // Of a graph another order might do: that would be another question.
    const limited = scene.program === null && scene.pools.some((pool) => pool.capacity !== null);
    return limited ? { place, change: { capacity: null, without: -1 }, text: "What would it take for a plan to exist?" } : null;
  }
  const pool = pools[place] as PoolShown;
  if (!(pool.peak > 0)) return null;
  const less = wantedLess(pool);
  const order = scene.program === null ? "" : " in this order";
  return { place, change: { capacity: { place, bytes: pool.peak - amount(less, scene.wide) }, without: -1 }, text: `Is there a plan with ${bytes(less)} less in ${id}${order}?` };
}

export function AskSolver(props: { shown: Shown }): JSX.Element | null {
  const { shown } = props;
  const question = questionOf(shown);
  if (question === null) return null;
  return (
    <section class="solver" aria-label="ask the solver">
      <h2>{question.text}</h2>
      <Asking shown={shown} question={question} answer={(needs) => <Answer needs={needs} place={question.place} shown={shown} />} />
    </section>
  );
}

/** What the peak is without a buffer, below what counting tells of it. */
export function AskWithout(props: { shown: Shown; place: number; buffer: number; most: Amount }): JSX.Element {
  const { shown, place, buffer, most } = props;
  const question = { place, change: { capacity: { place, bytes: most }, without: buffer }, text: `without ${buffer} ${named(shown.scene, buffer)}` };
  return (
    <div class="without">
      <Asking shown={shown} question={question} answer={(needs) => {
        const pool = needs.pools.find((one) => one.pool === shown.scene.pools[place]?.id);
        return <p>{pool === undefined ? "" : withoutWords(pool, shown, place)}</p>;
      }} />
    </div>
  );
}

/** What the plan that is shown needs in a pool: no less is known to be enough than this. */
function peakShown(shown: Shown, place: number): Amount | null {
  return hasNoPlan(shown.scene) || shown.verdict?.fits === false ? null : shown.pools[place]?.peak ?? null;
}

function withoutWords(pool: Needs["pools"][number], shown: Shown, place: number): string {
  const { scene } = shown;
  const order = scene.program === null ? "" : " in this order";
  const others = scene.pools.length > 1 ? "With the other memories as they are, the" : "The";
  if (pool.least !== null) return `${others} peak would be ${bytes(pool.least)}: no plan without it needs less${order}.`;
  if (pool.bound === null || pool.enough === null) return `Not decided in ${SECONDS} s.`;
  const peak = peakShown(shown, place);
  return `${others} peak would be at most ${bytes(peak !== null && peak < pool.enough ? peak : pool.enough)}, and at least ${bytes(pool.bound)}${order}.`;
}

function Asking(props: { shown: Shown; question: Question; answer: (needs: Needs) => JSX.Element }): JSX.Element {
  const { shown, question } = props;
  const answer = useSignal<{ to: string; needs: Needs } | null>(null);
  const said = useSignal("");
  const busy = useSignal<AbortController | null>(null);
  const now = useRef(shown);
  useEffect(() => () => busy.peek()?.abort(), []);
  if (now.current.scene !== shown.scene) {
    // An answer about another plan would be wrong here.
    now.current = shown;
    answer.value = null;
  }
  const own = state.stage.value.kind === "shown" && state.stage.value.atService;
  const ask = async (): Promise<void> => {
    const stop = new AbortController();
    busy.value = stop;
    said.value = "";
    answer.value = null;
    try {
      const content = problemText(shown.scene, question.change);
      const query = { needs: "true", rows: "0", time_limit: String(SECONDS) };
      const response = await post("/v1/inspect", { content, type: "application/json", query }, {}, stop.signal);
      answer.value = { to: question.text, needs: (await exact<{ needs: Needs }>(response)).needs };
    } catch (error) {
      if (!stop.signal.aborted) said.value = error instanceof Refusal && error.issues.length > 0 ? error.issues[0]?.message ?? "" : words(error);
      if (error instanceof Refusal && error.needsKey) asking.value = { why: words(error) };
    }
    busy.value = null;
  };
  const isAnswered = answer.value?.to === question.text;
  return (
    <>
      <div role="status">
        {busy.value !== null && <p>The service tries it, for at most {SECONDS} s …</p>}
        {said.value !== "" && <p class="trouble">{plain(said.value, 300)}</p>}
        {isAnswered && answer.value !== null && props.answer(answer.value.needs)}
      </div>
      {busy.value !== null
        ? <button type="button" class="link" onClick={() => busy.value?.abort()}>stop waiting</button>
        : !isAnswered && <button type="button" class="ask" onClick={() => void ask()}>{own ? "Ask the solver" : "Send the problem and ask the solver"}</button>}
    </>
  );
}

function Answer(props: { needs: Needs; place: number; shown: Shown }): JSX.Element {
  const { needs, shown, place } = props;
  const { scene } = shown;
  const helping = needs.releases.filter((one) => one.helps === true);
  const verdict = { fits: "Yes: the solver has found one.", infeasible: "No plan exists.", unknown: `Not decided in ${SECONDS} s.` }[needs.status];
  const ofPool = needs.pools.filter((one) => needs.status === "infeasible" || one.pool === scene.pools[place]?.id);
  return (
    <>
      <p><b>{verdict}</b> {needs.status === "infeasible" && plain(needs.explanation ?? "", 400)}</p>
      {ofPool.slice(0, FEW).map((one) => <p key={one.pool}>{leastWords(one, one.pool === scene.pools[place]?.id ? peakShown(shown, place) : null)}</p>)}
      {(needs.shortfalls ?? []).slice(0, FEW).map((one) => (
        <Changes key={one.pool} scene={scene} shortfall={one} confirmed={needs.confirmed} />
      ))}
      {helping.length > 0 && (
        <>
          <p>It would fit without any one of these:</p>
          <ul class="faults">{helping.slice(0, FEW).map((one, at) => <li key={at}>{plain(one.message, 200)}</li>)}</ul>
          {helping.length > FEW && <p class="quiet">and {helping.length - FEW} more</p>}
        </>
      )}
      {needs.untried > 0 && <p class="quiet">{needs.untried} constraints were not tried in time.</p>}
    </>
  );
}

function leastWords(one: Needs["pools"][number], peak: Amount | null): string {
  const pool = plain(one.pool, 30);
  if (one.least !== null) return `With the other memories as they are, ${pool} needs ${bytes(one.least)}, and no plan needs less.`;
  if (one.bound === null) return `No capacity of ${pool} alone would do.`;
  const isBest = peak !== null && (one.enough === null || peak <= one.enough);
  const enough = isBest ? `; this plan does with ${bytes(peak)}` : one.enough === null ? "" : `; ${bytes(one.enough)} are enough`;
  return `With the other memories as they are, ${pool} needs at least ${bytes(one.bound)}${enough}.`;
}
