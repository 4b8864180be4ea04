/** Beside the map: the chosen buffer and why it is there, what a smaller peak would take, the proof, the buffers. */
import { computed } from "@preact/signals";
import type { JSX } from "preact";
import { bytes, count, exactTime, plain } from "../draw/format.ts";
import { lifeText } from "../draw/shades.ts";
import type { Amount } from "../model/columns.ts";
import { bankRuleText, bankRuns, payers, touched } from "../model/banks.ts";
import { byUse, roundLess } from "../model/reasons.ts";
import { named, top } from "../model/buffers.ts";
import type { Scene } from "../model/scene.ts";
import type { PoolShown, Shown } from "../model/shown.ts";
import { NOT_JUDGED } from "../model/verdict.ts";
import { hasNoPlan } from "../model/status.ts";
import { compareNames } from "../model/names.ts";
import { compare } from "../model/steps.ts";
import { lookNear } from "./find.tsx";
import { parts } from "./parts.ts";
import { type Column, Heads, sorted, unsorted } from "./sorting.tsx";
import { BufferLine, swatch } from "./line.tsx";
import { ChosenOperator, Operators } from "./program.tsx";
import * as state from "./state.ts";

const FEW = 7;
const ROWS = 14;

export function Side(): JSX.Element | null {
  const shown = state.shown.value;
  if (shown === null) return null;
  const { program } = shown.scene;
  return (
    <aside class="side" aria-label="about the plan">
      <div aria-live="polite">
        {program !== null && state.operator.value >= 0 && <ChosenOperator shown={shown} program={program} />}
        {state.chosen.value >= 0 && <Chosen shown={shown} />}
        {state.moment.value !== null && <Moment shown={shown} moment={state.moment.value} />}
      </div>
      {hasNoPlan(shown.scene) ? <parts.noPlan shown={shown} /> : <parts.less shown={shown} />}
      <parts.side shown={shown} />
      <Proof shown={shown} />
      {program !== null && <Operators shown={shown} program={program} />}
      {state.chosen.value < 0 && state.operator.value < 0 && <Largest shown={shown} />}
    </aside>
  );
}

function Chosen(props: { shown: Shown }): JSX.Element {
  const { scene } = props.shown;
  const buffer = state.chosen.value;
  const place = scene.pool[buffer] as number;
  const size = scene.sizes[buffer] as Amount;
  const group = scene.groups === null ? -1 : (scene.groups[buffer] as number);
  const rows: [string, string][] = [["size", `${count(size)} (${bytes(size)})`]];
  if (place >= 0) {
    rows.push(["place", `${plain(scene.pools[place]?.id ?? "", 30)} @ ${count(scene.offsets[buffer] as Amount)}`]);
    rows.push(["ends at", count(top(scene, buffer))]);
  }
  rows.push(["lives", lifeText(scene, buffer, exactTime)]);
  if (scene.alignments !== null) rows.push(["alignment", count(scene.alignments[buffer] as Amount)]);
  if (group >= 0) rows.push(["group", plain(scene.groupNames[group] ?? "", 60)]);
  const banks = place < 0 ? null : touched(scene, bankRuns(scene, place), buffer);
  if (banks !== null) rows.push(["banks", banks[0] === banks[1] ? String(banks[0]) : `${count(banks[0])} to ${count(banks[1])}`]);
  const rule = bankRuleText(scene, buffer);
  if (rule !== null) rows.push(["must be", rule]);
  if (scene.pins.has(buffer)) rows.push(["pinned", scene.pins.get(buffer)?.offset === null ? "to its pool" : "to its place"]);
  return (
    <section>
      <h2>
        {plain(named(scene, buffer), 120)}
        {place >= 0 && <button type="button" class="link near" aria-label="zoom to this buffer" title="zoom to this buffer ( z )" onClick={() => lookNear(buffer)}>zoom</button>}
        <button type="button" class="round close" aria-label="choose no buffer" onClick={() => (state.chosen.value = -1)}>×</button>
      </h2>
      <dl class="rows">
        {rows.map(([label, value]) => <div key={label}><dt>{label}</dt><dd>{value}</dd></div>)}
      </dl>
      <parts.usesOf shown={props.shown} buffer={buffer} />
      <Why scene={scene} />
      <SharesBanks scene={scene} buffer={buffer} />
      {place >= 0 && <parts.withoutIt shown={props.shown} place={place} buffer={buffer} />}
    </section>
  );
}

/** Who touches the same banks, and what that costs. */
function SharesBanks(props: { scene: Scene; buffer: number }): JSX.Element | null {
  const { scene, buffer } = props;
  const all = payers(scene, buffer);
  if (all.length === 0) return null;
  const total = all.reduce((sum, { cost }) => sum + BigInt(cost), 0n);
  return (
    <>
      <h3>Shares banks</h3>
      <p>It pays {count(total)} for banks in common with {all.length === 1 ? "1 buffer" : `${count(all.length)} buffers`}:</p>
      {all.slice(0, FEW).map((one) => <BufferLine key={one.buffer} scene={scene} buffer={one.buffer} />)}
      {all.length > FEW && <p class="quiet">and {count(all.length - FEW)} more</p>}
    </>
  );
}

function Why(props: { scene: Scene }): JSX.Element | null {
  const support = state.support.value;
  if (support === null) return null;
  const { chain, gap, more } = support;
  const pinned = props.scene.pins.get(state.chosen.value)?.offset ?? null;
  return (
    <>
      <h3>Why here</h3>
      {pinned !== null && <p>It is pinned to this offset.</p>}
      <p>{whyWords(chain.length, gap, more)}</p>
      {chain.slice(0, FEW).map((buffer) => <BufferLine key={buffer} scene={props.scene} buffer={buffer} />)}
      {chain.length > FEW && <p class="quiet">and {count(chain.length - FEW)} below</p>}
    </>
  );
}

function whyWords(supports: number, gap: Amount, more: boolean): string {
  const those = supports === 1 ? "1 buffer" : `${count(supports)} buffers`;
  if (supports === 0) return gap > 0 ? `Nothing holds it up: ${bytes(gap)} below it are free.` : "It lies on the ground: nothing can be below.";
  if (gap > 0) return `It rests on ${those}; below them ${bytes(gap)} are free:`;
  return more ? `It rests on more than ${those}; the nearest:` : `It rests on ${those}, down to the ground:`;
}

/** What is live in a pool at a step, largest first. */
export function liveAt(shown: Shown, place: number, moment: number): number[] {
  const { scene } = shown;
  const below = new Set<number>();
  for (let span = 0; span < scene.owner.length; span++) {
    const buffer = scene.owner[span] as number;
    const pool = scene.pool[buffer] as number;
    if ((scene.begin[span] as number) > moment || moment >= (scene.end[span] as number)) continue;
    if ((scene.sizes[buffer] as Amount) > 0 && (pool === place || (pool < 0 && scene.pools.length === 1))) below.add(buffer);
  }
  return [...below].sort((one, other) => compare(scene.sizes[other] as Amount, scene.sizes[one] as Amount) || one - other);
}

/** What a step of the axis is called. */
export function momentText(shown: Shown, moment: number): string {
  const { axis } = shown.scene;
  return axis.kind === "time" ? `t = ${exactTime(axis.times[moment] as number)}` : "this moment";
}

/** The moment that is looked at in place of the one that decides. */
function Moment(props: { shown: Shown; moment: number }): JSX.Element {
  const { shown, moment } = props;
  const { scene } = shown;
  const place = shownPool(shown);
  const pool = shown.pools[place] as PoolShown;
  const live = pool.profile.live[moment] as Amount;
  const buffers = liveAt(shown, place, moment);
  const where = scene.pools.length > 1 ? ` in ${plain(scene.pools[place]?.id ?? "", 24)}` : "";
  const less = pool.profile.most - live;
  return (
    <section>
      <h2>
        At {momentText(shown, moment)}
        <button type="button" class="round close" aria-label="back to the moment that decides" onClick={() => (state.moment.value = null)}>×</button>
      </h2>
      <p>
        {bytes(live)} are live{where}, {less > 0 ? `${bytes(less)} less than the most` : "the most there are"}
        {buffers.length === 0 ? "." : `: ${buffers.length === 1 ? "1 buffer" : `${count(buffers.length)} buffers`}, largest first.`}
      </p>
      {buffers.slice(0, FEW).map((buffer) => <BufferLine key={buffer} scene={scene} buffer={buffer} />)}
      {buffers.length > FEW && <button type="button" class="link" onClick={() => (state.dialog.value = "live")}>{count(buffers.length - FEW)} more</button>}
    </section>
  );
}

function highestPool(shown: Shown): number {
  const chosen = shown.scene.pool[state.chosen.value] ?? -1;
  if (chosen >= 0) return chosen;
  return shown.pools.reduce((best, pool, place) => (pool.peak > (shown.pools[best] as PoolShown).peak ? place : best), 0);
}

/** By how many bytes the peak should be smaller. */
export function wantedLess(pool: PoolShown): number {
  return Math.min(state.less.value ?? roundLess(pool.peak), Number(pool.peak));
}

/** The pool that the side is about. */
export function shownPool(shown: Shown): number {
  const active = state.active.value;
  return shown.pools.length > 1 && state.chosen.value < 0 && (shown.pools[active]?.peak ?? 0) > 0 ? active : highestPool(shown);
}

function Proof(props: { shown: Shown }): JSX.Element {
  const { scene } = props.shown;
  const first = scene.pools.findIndex((pool) => `peak:${pool.id}` === scene.objective[0]);
  const place = first < 0 ? shownPool(props.shown) : first;
  const bound = props.shown.pools[place]?.bound ?? null;
  // Beside a moment that somebody has chosen, it is said that this is about another one.
  const when = state.moment.value !== null && bound !== null && bound.moment >= 0 && scene.axis.kind === "time" ? `, at ${momentText(props.shown, bound.moment)}` : "";
  return (
    <section>
      <h2>The proof{when}</h2>
      <p>{proofWords(props.shown, place)}</p>
      <ProofSteps shown={props.shown} />
    </section>
  );
}

/** The proof in a file, step by step: which case, and which buffers do not fit. */
function ProofSteps(props: { shown: Shown }): JSX.Element | null {
  const walk = props.shown.verdict?.walk;
  if (walk === undefined) return null;
  const at = Math.min(state.proofStep.value, walk.steps.length - 1);
  const step = walk.steps[at];
  if (step === undefined) return <p>By a proof in a file, memstow-check says: {plain(walk.says, 400)}.</p>;
  const go = (to: number): void => void (state.proofStep.value = Math.min(walk.steps.length - 1, Math.max(0, to)));
  return (
    <div class="steps">
      <p>By a proof in a file, memstow-check says: {plain(walk.says, 400)}.</p>
      <h3>
        <span>Step {count(at + 1)} of {count(walk.steps.length + walk.more)}</span>
        <span class="stepper">
          <button type="button" class="round" aria-label="the step of the proof before" disabled={at === 0} onClick={() => go(at - 1)}>‹</button>
          <button type="button" class="round" aria-label="the step of the proof after" disabled={at + 1 >= walk.steps.length} onClick={() => go(at + 1)}>›</button>
        </span>
      </h3>
      <p aria-live="polite">{plain(step.text, 1000)}</p>
      {step.buffers.slice(0, FEW).map((buffer) => <BufferLine key={buffer} scene={props.shown.scene} buffer={buffer} />)}
      {step.buffers.length > FEW && <p>{count(step.buffers.length - FEW)} more</p>}
      {at + 1 === walk.steps.length && walk.more > 0 && <p class="quiet">The other {count(walk.more)} are not on this page: the checker prints all with <code>--text</code>.</p>}
    </div>
  );
}

function proofWords(shown: Shown, place: number): string {
  const formed = shown.symbolic?.verdict ?? null;
  const bound = shown.pools[place]?.bound ?? null;
  if (formed !== null) {
    const when = bound !== null && shown.scene.axis.kind === "time" ? ` at ${momentText(shown, bound.moment)}` : "";
    const live = bound === null ? "" : `${count(new Set(bound.buffers).size)} buffers are live together${when} and need ${count(bound.value)} bytes.`;
    return `${formed.says} ${live}`.trim();
  }
  if (shown.verdict === null) return hasNoPlan(shown.scene) ? "No plan, and so no proof." : `${NOT_JUDGED} What the plan claims was not checked.`;
  return shown.verdict.pools[place]?.proof ?? "No bound is known: the plan gives none, and live bytes alone give none here.";
}

/** All buffers, most byte-moments first. */
const ranked = computed(() => {
  const now = state.shown.value;
  return now === null ? [] : Array.from(byUse(now.scene, state.positions.value));
});

const bufferSort = unsorted();

function bufferColumns(scene: Scene, isFull = false): Column<number>[] {
  const begin = (buffer: number): number => scene.begin[scene.firstSpan[buffer] as number] ?? 0;
  const offset = (buffer: number): Amount => ((scene.pool[buffer] as number) < 0 ? scene.zero : (scene.offsets[buffer] as Amount));
  return [
    { title: "name", by: (one, other) => compareNames(scene.names, one, other) },
    { title: "size", by: (one, other) => compare(scene.sizes[one] as Amount, scene.sizes[other] as Amount), down: true },
    ...(isFull && scene.pools.length > 1 ? [{ title: "pool", by: (one: number, other: number) => (scene.pool[one] as number) - (scene.pool[other] as number) }] : []),
    { title: "at", by: (one, other) => compare(offset(one), offset(other)) },
    { title: "lives", by: (one, other) => begin(one) - begin(other), about: "when a buffer is live; ordered by when it begins" },
  ];
}

/** These buffers in the order that the heads of their tables ask for. */
export function sortedBuffers(scene: Scene, buffers: readonly number[]): readonly number[] {
  return sorted(buffers, bufferColumns(scene, true), bufferSort);
}

/** Every buffer, in that order. */
const allSorted = computed(() => {
  const now = state.shown.value;
  return now === null ? [] : sortedBuffers(now.scene, ranked.value);
});

export function allBuffers(): readonly number[] {
  return allSorted.value;
}

export function bufferOrder(): string {
  return bufferSort.value === null ? "most byte-moments first" : `by ${bufferSort.value.title}`;
}

function Largest(props: { shown: Shown }): JSX.Element {
  const { scene } = props.shown;
  const order = allSorted.value;
  return (
    <section>
      <h2>Buffers, {bufferOrder()}</h2>
      <BufferTable scene={scene} buffers={order.slice(0, ROWS)} />
      {order.length > ROWS && <button type="button" class="link" onClick={() => (state.dialog.value = "table")}>{count(order.length - ROWS)} more</button>}
    </section>
  );
}

export function BufferTable(props: { scene: Scene; buffers: readonly number[]; full?: boolean }): JSX.Element {
  const { scene, buffers } = props;
  const severalPools = scene.pools.length > 1 && props.full === true;
  return (
    <table>
      <Heads columns={bufferColumns(scene, props.full)} sort={bufferSort} />
      <tbody>
        {buffers.map((buffer) => (
          <tr key={buffer} class={buffer === state.chosen.value ? "chosen" : ""}>
            <th scope="row">
              <button type="button" class="line" onClick={() => state.choose(buffer)}>
                <i class="swatch" style={{ background: swatch(scene, buffer) }} />
                <span class="name">{plain(named(scene, buffer), 60)}</span>
              </button>
            </th>
            <td>{bytes(scene.sizes[buffer] as Amount)}</td>
            {severalPools && <td>{(scene.pool[buffer] as number) < 0 ? "" : plain(scene.pools[scene.pool[buffer] as number]?.id ?? "", 16)}</td>}
            <td>{(scene.pool[buffer] as number) < 0 ? "nowhere" : bytes(scene.offsets[buffer] as Amount)}</td>
            <td>{lifeText(scene, buffer)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
