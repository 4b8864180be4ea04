/** What would free bytes: the moments that are too full, what is live there, and the fewest buffers that must change; and
 * what the peak would be without the chosen buffer. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { bytes, count, exactTime, plain } from "../draw/format.ts";
import { type Change, type Shortfall, shortfallOf } from "../model/changes.ts";
import { type Amount, amount } from "../model/columns.ts";
import { named } from "../model/buffers.ts";
import { NameIndex, type PackedNames } from "../model/names.ts";
import { withoutBuffer } from "../model/peak_without.ts";
import { needsFor, spansIn } from "../model/reasons.ts";
import type { Scene } from "../model/scene.ts";
import type { PoolShown, Shown } from "../model/shown.ts";
import { compare } from "../model/steps.ts";
import { parts } from "./parts.ts";
import { BufferLine } from "./line.tsx";
import { shownPool, wantedLess } from "./side.tsx";
import * as state from "./state.ts";

const FEW = 5;
const MANY = 40;

/** What stands against a peak that is smaller by the bytes that are chosen. */
export function LessBytes(props: { shown: Shown }): JSX.Element | null {
  const { scene, pools } = props.shown;
  const place = shownPool(props.shown);
  const pool = pools[place] as PoolShown;
  if (!(pool.peak > 0)) return null;
  const wanted = wantedLess(pool);
  const target = pool.peak - amount(wanted, scene.wide);
  const step = (factor: number) => () => (state.less.value = Math.max(1, Math.min(2 ** Math.floor(Math.log2(Number(pool.peak))), wanted * factor)));
  return (
    <section class="less">
      <h2>
        What would free {bytes(wanted)} in {plain(scene.pools[place]?.id ?? "", 24)}
        <span class="stepper">
          <button type="button" class="round" aria-label="less" onClick={step(0.5)}>−</button>
          <button type="button" class="round" aria-label="more" onClick={step(2)}>+</button>
        </span>
      </h2>
      <Stands shown={props.shown} place={place} target={target} />
    </section>
  );
}

/** Why there is no plan, and what stands against one. */
export function NoPlan(props: { shown: Shown }): JSX.Element | null {
  const { scene, pools } = props.shown;
  const closest = scene.claims?.closest ?? [];
  const full = scene.pools.flatMap((pool, place) => (
    pool.capacity !== null && (pools[place] as PoolShown).profile.most > pool.capacity ? [{ place, capacity: pool.capacity }] : []
  ));
  if (closest.length === 0 && full.length === 0) return null;
  return (
    <section class="less">
      <h2>Why nothing fits</h2>
      {closest.map((one) => <p key={one.pool}>The closest attempt needs {bytes(one.peak)} of {plain(one.pool, 30)}, which has {bytes(one.capacity)}.</p>)}
      {full.map((one) => (
        <div key={one.place}>
          <h3>What would make it fit into {bytes(one.capacity)} of {plain(scene.pools[one.place]?.id ?? "", 24)}</h3>
          <Stands shown={props.shown} place={one.place} target={one.capacity} />
        </div>
      ))}
    </section>
  );
}

function Stands(props: { shown: Shown; place: number; target: Amount }): JSX.Element {
  const { shown, place, target } = props;
  const { scene } = shown;
  const pool = shown.pools[place] as PoolShown;
  const spans = spansIn(scene, pool, place);
  const { moments, inEach } = needsFor(scene, pool, spans, target);
  const known = shortfallOf(scene.shortfalls, scene.pools[place]?.id, target);
  if (moments.length === 0 && (known === null || known.count === 0)) {
    return <p>Live bytes alone do not forbid it: at no moment are more than {bytes(pool.profile.most)} live. Whether a plan exists, the solver must say.</p>;
  }
  return (
    <>
      {moments.length > 0 && <p>
        More than {bytes(target)} {moments.length === 1 ? "are live at 1 moment" : `are live at ${count(moments.length)} moments`}
        {scene.program?.anyOrder === true ? " of this order" : ""}{moments.length > 1 && inEach.length === 0 ? "; no one buffer is live in all of them" : ""}:
      </p>}
      <Moments scene={scene} pool={pool} spans={spans} moments={moments} target={target} />
      {known !== null && known.count > 0 && <Changes scene={scene} shortfall={known} />}
      {known !== null && known.count === 0 && (
        <p>Some of what is live there may be in another memory, or share bytes: counting does not forbid it. Whether a plan exists, the solver must say.</p>
      )}
      {known === null && inEach.length > 0 && (
        <>
          <h3>Live in each of them</h3>
          {inEach.slice(0, FEW).map((buffer) => <BufferLine key={buffer} scene={scene} buffer={buffer} />)}
          {inEach.length > FEW && <p class="quiet">and {count(inEach.length - FEW)} more</p>}
        </>
      )}
      {known === null && <Finder shown={shown} place={place} target={target} />}
    </>
  );
}

/** Who finds the fewest buffers that must change, where the file does not say it. */
function Finder(props: { shown: Shown; place: number; target: Amount }): JSX.Element | null {
  const { scene } = props.shown;
  if (canAsk(props.shown)) return <p>Which buffers must change at least, the solver says, below.</p>;
  if (scene.program !== null || scene.pools.length > 1 || props.shown.symbolic !== undefined) return null;
  return <p>Which buffers must change at least, <code>memstow inspect PROBLEM --capacity {String(props.target)} --needs</code> says.</p>;
}

/** The fullest moments. One that is clicked is looked at, and its buffers are listed. */
function Moments(props: { scene: Scene; pool: PoolShown; spans: Int32Array; moments: number[]; target: Amount }): JSX.Element {
  const { scene, pool, moments, target } = props;
  const all = useSignal(false);
  const open = useSignal(-1);
  const seen = moments.slice(0, all.value ? MANY : FEW);
  const look = (step: number): void => {
    const isOpen = open.value === step && state.moment.value === step;
    open.value = isOpen ? -1 : step;
    state.moment.value = isOpen ? null : step;
  };
  return (
    <ul class="moments">
      {seen.map((step) => {
        const live = pool.profile.live[step] as Amount;
        const isOpen = open.value === step && state.moment.value === step;
        return (
          <li key={step}>
            <button type="button" class="line" aria-expanded={isOpen} onClick={() => look(step)}>
              <span class="name">{whenWords(scene, step)}</span>
              <span class="quiet">{bytes(live)}</span>
              <span class="over">+{bytes(live - target)}</span>
            </button>
            {isOpen && <LiveThere scene={scene} spans={props.spans} step={step} />}
          </li>
        );
      })}
      {moments.length > seen.length && (
        <li>{all.value
          ? <p class="quiet">and {count(moments.length - seen.length)} more</p>
          : <button type="button" class="link" onClick={() => (all.value = true)}>{count(moments.length - seen.length)} more</button>}</li>
      )}
    </ul>
  );
}

function whenWords(scene: Scene, step: number): string {
  if (scene.axis.kind !== "time") return "always";
  const [begin, end] = [scene.axis.times[step], scene.axis.times[step + 1]];
  return `t = ${exactTime(begin as number)} – ${exactTime(end as number)}`;
}

function LiveThere(props: { scene: Scene; spans: Int32Array; step: number }): JSX.Element {
  const { scene, spans, step } = props;
  const all = useSignal(false);
  const there = Array.from(spans.filter((span) => (scene.begin[span] as number) <= step && step < (scene.end[span] as number)), (span) => scene.owner[span] as number);
  there.sort((one, other) => compare(scene.sizes[other] as Amount, scene.sizes[one] as Amount) || one - other);
  const seen = there.slice(0, all.value ? 10 * MANY : 2 * FEW);
  return (
    <div class="there">
      {seen.map((buffer) => <BufferLine key={buffer} scene={scene} buffer={buffer} />)}
      {there.length > seen.length && (all.value
        ? <p class="quiet">and {count(there.length - seen.length)} more</p>
        : <button type="button" class="link" onClick={() => (all.value = true)}>{count(there.length - seen.length)} smaller</button>)}
    </div>
  );
}

/** The fewest buffers that must change, and what of each of them would do. */
export function Changes(props: { scene: Scene; shortfall: Shortfall; confirmed?: "shrunk" | "left_out" | null }): JSX.Element {
  const { scene, shortfall, confirmed } = props;
  const rest = shortfall.count - shortfall.changes.length;
  return (
    <>
      <h3>{titleOf(shortfall)}</h3>
      <ul class="changes">
        {shortfall.changes.map((change) => <ChangeItem key={change.buffer} scene={scene} change={change} />)}
      </ul>
      {rest > 0 && <p class="quiet">and {count(rest)} smaller ones</p>}
      <p class="quiet">{shortfall.count > 1 && "All of them; of each, one of these will do. "}{confirmedWords(confirmed ?? null)}</p>
    </>
  );
}

function titleOf(shortfall: Shortfall): string {
  if (shortfall.count === 1) return "One buffer must change";
  if (shortfall.least === shortfall.count) return `${count(shortfall.count)} buffers must change, no fewer will do`;
  return `${count(shortfall.count)} buffers, if they change; at least ${count(shortfall.least)} must`;
}

function confirmedWords(confirmed: "shrunk" | "left_out" | null): string {
  if (confirmed === "shrunk") return "Confirmed by a plan with these buffers smaller by so much.";
  if (confirmed === "left_out") return "Confirmed by a plan without these buffers; with them smaller, none was found.";
  return "By live bytes alone: necessary, and a plan may need more.";
}

function ChangeItem(props: { scene: Scene; change: Change }): JSX.Element {
  const { scene, change } = props;
  const buffer = bufferNamed(scene, change.buffer);
  const others = change.instead.map((name) => bufferNamed(scene, name)).filter((one) => one >= 0);
  return (
    <li>
      {buffer < 0 ? <b>{plain(change.buffer, 60)}</b> : <BufferLine scene={scene} buffer={buffer} />}
      <p>{changeWords(change)}</p>
      {others.length > 0 && (
        <details>
          <summary>or {others.length === 1 ? "1 other" : `one of ${count(others.length)} others`} instead</summary>
          {others.slice(0, MANY).map((other) => <BufferLine key={other} scene={scene} buffer={other} />)}
        </details>
      )}
    </li>
  );
}

function changeWords(change: Change): string {
  const ways = change.shrink === change.size ? ["must not be there at all"] : [`${bytes(change.shrink)} smaller`];
  const { away } = change;
  if (away !== null) {
    const [begin, end] = [exactTime(away.begin), exactTime(away.end)];
    const when = !away.lives_after ? `ends by t\u00a0=\u00a0${begin}` : !away.lives_before ? `begins at t\u00a0=\u00a0${end}` : `not there from t\u00a0=\u00a0${begin} to\u00a0${end}`;
    if (change.shrink === change.size) ways[0] = when;
    else ways.push(when);
  }
  if (change.pools.length > 0) ways.push(`in ${change.pools.slice(0, 3).map((pool) => plain(pool, 24)).join(" or ")}, where there is room`);
  return ways.join(", or ");
}

const indexes = new WeakMap<PackedNames, NameIndex>();

function bufferNamed(scene: Scene, name: string): number {
  let index = indexes.get(scene.names);
  if (index === undefined) indexes.set(scene.names, index = new NameIndex(scene.names));
  return index.find(name);
}

/** Whether the chosen buffer is there when the most is, and what the peak would be without it. */
export function WithoutIt(props: { shown: Shown; place: number; buffer: number }): JSX.Element | null {
  const { shown, place, buffer } = props;
  const { scene } = shown;
  const pool = shown.pools[place] as PoolShown;
  if (!((scene.sizes[buffer] as Amount) > 0)) return null;
  const { busiest, live, others } = withoutBuffer(scene, pool, buffer);
  const isOne = scene.pools.length === 1;
  const isSame = isOne && live === pool.peak;
  const isKnown = isOne && live !== null && live === others;
  return (
    <>
      <h3>Without it</h3>
      <p>{busiestWords(busiest, pool)}</p>
      {isSame || isKnown
        ? <p>{isSame ? `The peak would stay at ${bytes(pool.peak)}: so much is live without it.` : `The peak would be ${bytes(others)}: the others need that where they lie, and no plan needs less.`}</p>
        : (
          <>
            <p>
              {live === null ? "" : `${bytes(live)} would be live at the most. `}The others need {bytes(others)} where they lie
              {others === pool.peak ? ", as now" : `, ${bytes(pool.peak - others)} less`}. How little another plan needs, counting does not tell.
            </p>
            {canAsk(shown) ? <parts.without shown={shown} place={place} buffer={buffer} most={others} /> : <WithoutCommand shown={shown} buffer={buffer} most={others} />}
          </>
        )}
    </>
  );
}

function busiestWords(busiest: { here: number; all: number }, pool: PoolShown): string {
  const most = bytes(pool.profile.most);
  if (busiest.here === 0) return `It is not live when the most is (${most}).`;
  if (busiest.all === 1) return `It is live when the most is (${most}).`;
  return busiest.here === busiest.all
    ? `It is live in each of the ${count(busiest.all)} steps with the most live bytes (${most}).`
    : `It is live in ${count(busiest.here)} of the ${count(busiest.all)} steps with the most live bytes (${most}).`;
}

/** The solvers of a service take problems, not formulas. */
function canAsk(shown: Shown): boolean {
  return parts.asks && shown.symbolic === undefined;
}

/** As a word of a shell. */
function quoted(name: string): string {
  return /^[\w.,:/@%+-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

function WithoutCommand(props: { shown: Shown; buffer: number; most: Amount }): JSX.Element | null {
  const { scene } = props.shown;
  if (scene.program !== null || scene.pools.length > 1 || props.shown.symbolic !== undefined) return null;
  return <p><code>memstow inspect PROBLEM --without {plain(quoted(named(scene, props.buffer)), 120)} --capacity {String(props.most)} --needs</code> does.</p>;
}
