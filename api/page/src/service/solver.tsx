/** "Ask the solver": whether a plan exists that needs fewer bytes, by how many is given, and what would have to change for one. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bytes, plain } from "../draw/format.ts";
import { amount } from "../model/columns.ts";
import type { Whole } from "../model/json.ts";
import type { Pool, Scene } from "../model/scene.ts";
import type { PoolShown, Shown } from "../model/shown.ts";
import { hasNoPlan } from "../model/status.ts";
import { shownPool, wantedLess } from "../shell/side.tsx";
import * as state from "../shell/state.ts";
import { post, problemOfFiles } from "./bodies.ts";
import { exact, Refusal, words } from "./http.ts";
import { asking } from "./key.ts";

const SECONDS = 10;
const FEW = 6;

interface Needs {
  status: "fits" | "infeasible" | "unknown";
  explanation: string | null;
  pools: { pool: string; capacity: Whole; least: Whole | null; bound: Whole | null; enough: Whole | null }[];
  releases: { message: string; helps: boolean | null }[];
  untried: number;
}

/** What is asked: that this pool has this capacity; null: the problem as it is. */
interface Question {
  place: number;
  capacity: Whole | null;
  text: string;
}

function questionOf(shown: Shown): Question | null {
  const { scene, pools } = shown;
  // Of a graph another order might do: that would be another question.
  if (scene.program !== null) return null;
  const place = shownPool(shown);
  const id = plain(scene.pools[place]?.id ?? "", 30);
  if (hasNoPlan(scene)) {
    const limited = scene.pools.some((pool) => pool.capacity !== null);
    return limited ? { place, capacity: null, text: "What would it take for a plan to exist?" } : null;
  }
  const pool = pools[place] as PoolShown;
  if (!(pool.peak > 0)) return null;
  const less = wantedLess(pool);
  return { place, capacity: pool.peak - amount(less, scene.wide), text: `Is there a plan with ${bytes(less)} less in ${id}?` };
}

export function AskSolver(props: { shown: Shown }): JSX.Element | null {
  const { shown } = props;
  const question = questionOf(shown);
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
  if (question === null || state.files.value.length === 0) return null;
  const own = state.stage.value.kind === "shown" && state.stage.value.source === "service";
  const ask = async (): Promise<void> => {
    const stop = new AbortController();
    busy.value = stop;
    said.value = "";
    answer.value = null;
    try {
      answer.value = { to: question.text, needs: await asked(shown.scene, question, stop.signal) };
    } catch (error) {
      if (!stop.signal.aborted) said.value = error instanceof Refusal && error.issues.length > 0 ? error.issues[0]?.message ?? "" : words(error);
      if (error instanceof Refusal && error.needsKey) asking.value = { why: words(error) };
    }
    busy.value = null;
  };
  return (
    <section class="solver" aria-label="ask the solver">
      <h2>{question.text}</h2>
      <div role="status">
        {busy.value !== null && <p>The service tries it, for at most {SECONDS} s …</p>}
        {said.value !== "" && <p class="trouble">{plain(said.value, 300)}</p>}
        {answer.value?.to === question.text && <Answer needs={answer.value.needs} place={question.place} scene={shown.scene} />}
      </div>
      {busy.value === null
        ? <button type="button" class="link" onClick={() => void ask()}>{own ? "Ask the solver" : "Send the problem and ask the solver"}</button>
        : <button type="button" class="link" onClick={() => busy.value?.abort()}>stop waiting</button>}
    </section>
  );
}

async function asked(scene: Scene, question: Question, stop: AbortSignal): Promise<Needs> {
  const problem = await problemOfFiles(state.files.peek());
  if (problem === null) throw new Error("The problem is not at hand.");
  const pools = scene.pools.map((pool, place) => poolText(pool, place === question.place ? question.capacity : pool.capacity));
  const target = question.capacity === null ? "" : `, "target": {"version": 1, "pools": [${pools.join(", ")}]}`;
  const content = new Blob([`{"problem": `, problem, target, "}"]);
  const response = await post("/v1/inspect", { content, type: "application/json", query: { needs: "true", rows: "0", time_limit: String(SECONDS) } }, {}, stop);
  return (await exact<{ needs: Needs }>(response)).needs;
}

/** A pool as JSON, every digit of it. */
function poolText(pool: Pool, capacity: Whole | null): string {
  const reserved = pool.reserved.map((range) => `{"offset": ${range.offset}, "size": ${range.size}}`).join(", ");
  const base = pool.base > 0 ? `, "base": ${pool.base}` : "";
  return `{"id": ${JSON.stringify(pool.id)}, "capacity": ${capacity}, "alignment": ${pool.alignment}, "cost": ${pool.cost}, "reserved": [${reserved}]${base}}`;
}

function Answer(props: { needs: Needs; place: number; scene: Scene }): JSX.Element {
  const { needs, scene, place } = props;
  const helping = needs.releases.filter((one) => one.helps === true);
  const verdict = { fits: "Yes: the solver has found one.", infeasible: "No plan exists.", unknown: `Not decided in ${SECONDS} s.` }[needs.status];
  const asked = needs.pools.filter((one) => needs.status === "infeasible" || one.pool === scene.pools[place]?.id);
  return (
    <>
      <p><b>{verdict}</b> {needs.status === "infeasible" && plain(needs.explanation ?? "", 400)}</p>
      {asked.slice(0, FEW).map((one) => <p key={one.pool}>{leastWords(one)}</p>)}
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

function leastWords(one: Needs["pools"][number]): string {
  const pool = plain(one.pool, 30);
  if (one.least !== null) return `With the other memories as they are, ${pool} needs ${bytes(one.least)}, and no plan needs less.`;
  if (one.bound === null) return `No capacity of ${pool} alone would do.`;
  return `With the other memories as they are, ${pool} needs at least ${bytes(one.bound)}${one.enough === null ? "" : `; ${bytes(one.enough)} are enough`}.`;
}
