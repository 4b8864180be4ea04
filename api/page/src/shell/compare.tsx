/** Two plans beside each other: where the chosen buffer is in both, and which moved how far. */
import type { JSX } from "preact";
import { bytes, count, exactTime, plain } from "../draw/format.ts";
import { lifeText } from "../draw/shades.ts";
import type { Amount } from "../model/columns.ts";
import { distance, ELSEWHERE, HIGHER, SAME, swapped } from "../model/moves.ts";
import { named } from "../model/buffers.ts";
import { compareNames } from "../model/names.ts";
import type { Scene } from "../model/scene.ts";
import type { Moves, Second, Shown } from "../model/shown.ts";
import { compare } from "../model/steps.ts";
import { swatch } from "./line.tsx";
import { type Column, Heads, sorted, unsorted } from "./sorting.tsx";
import * as state from "./state.ts";

const ROWS = 18;

/** The other plan becomes the first. */
export function swap(): void {
  const now = state.stage.peek();
  if (now.kind === "shown" && now.shown.second !== null) state.stage.value = { ...now, shown: swapped(now.shown) };
}

export function CompareSide(props: { shown: Shown; second: Second }): JSX.Element {
  const { shown, second } = props;
  const { order } = second.moves;
  return (
    <aside class="side" aria-label="what moved">
      <div aria-live="polite">{state.chosen.value >= 0 && <Both shown={shown} second={second} />}</div>
      <section>
        <h2>Moved, {moveOrder()}</h2>
        {order.length === 0 ? <p>No buffer moved.</p> : <MoveTable first={shown.scene} second={second} buffers={sortedMoves(shown.scene, second, Array.from(order)).slice(0, ROWS)} />}
        {order.length > ROWS && <button type="button" class="link" onClick={() => (state.dialog.value = "table")}>{count(order.length - ROWS)} more</button>}
      </section>
    </aside>
  );
}

/** The chosen buffer. */
function Both(props: { shown: Shown; second: Second }): JSX.Element {
  const { scene } = props.shown;
  const other = props.second.shown.scene;
  const buffer = state.chosen.value;
  const size = scene.sizes[buffer] as Amount;
  const rows: [string, string][] = [
    ["size", `${count(size)} (${bytes(size)})`],
    ["first", placeText(scene, buffer)],
    ["second", placeText(other, buffer)],
    ["moved", movedText(scene, props.second.moves, buffer)],
    ["lives", lifeText(scene, buffer, exactTime)],
  ];
  return (
    <section>
      <h2>
        {plain(named(scene, buffer), 120)}
        <button type="button" class="round close" aria-label="choose no buffer" onClick={() => (state.chosen.value = -1)}>×</button>
      </h2>
      <dl class="rows">
        {rows.map(([label, value]) => <div key={label}><dt>{label}</dt><dd>{value}</dd></div>)}
      </dl>
    </section>
  );
}

export function placeText(scene: Scene, buffer: number): string {
  const pool = scene.pool[buffer] as number;
  return pool < 0 ? "nowhere" : `${plain(scene.pools[pool]?.id ?? "", 30)} @ ${count(scene.offsets[buffer] as Amount)}`;
}

export function movedText(scene: Scene, moves: Moves, buffer: number): string {
  const kind = moves.kind[buffer] as number;
  if (kind === SAME) return "not at all";
  if (kind === ELSEWHERE) return "to another pool";
  return `${count(distance(moves.by[buffer] as Amount, scene.zero))} ${kind === HIGHER ? "up" : "down"}`;
}

const moveSort = unsorted();

function moveColumns(first: Scene, second: Second, isFull = true): Column<number>[] {
  const { kind, by } = second.moves;
  const offset = (scene: Scene) => (one: number, other: number) => (
    (scene.pool[one] as number) - (scene.pool[other] as number) || compare(scene.offsets[one] as Amount, scene.offsets[other] as Amount)
  );
  const far = (buffer: number): Amount => distance(by[buffer] as Amount, first.zero);
  return [
    { title: "name", by: (one, other) => compareNames(first.names, one, other) },
    { title: "size", by: (one, other) => compare(first.sizes[one] as Amount, first.sizes[other] as Amount), down: true },
    ...(isFull ? [{ title: "first", by: offset(first) }, { title: "second", by: offset(second.shown.scene) }] : []),
    {
      title: "moved", down: true,
      by: (one, other) => Number(kind[one] === ELSEWHERE) - Number(kind[other] === ELSEWHERE) || compare(far(one), far(other)),
    },
  ];
}

/** These buffers as the heads of their table ask for. */
export function sortedMoves(first: Scene, second: Second, buffers: readonly number[]): readonly number[] {
  return sorted(buffers, moveColumns(first, second), moveSort);
}

export function moveOrder(): string {
  return moveSort.value === null ? "furthest first" : `by ${moveSort.value.title === "moved" ? "how far" : moveSort.value.title}`;
}

export function MoveTable(props: { first: Scene; second: Second; buffers: readonly number[]; full?: boolean }): JSX.Element {
  const { first, second, buffers, full = false } = props;
  return (
    <table>
      <Heads columns={moveColumns(first, second, full)} sort={moveSort} />
      <tbody>
        {buffers.map((buffer) => (
          <tr key={buffer} class={buffer === state.chosen.value ? "chosen" : ""}>
            <th scope="row">
              <button type="button" class="line" onClick={() => state.choose(buffer)}>
                <i class="swatch" style={{ background: swatch(first, buffer) }} />
                <span class="name">{plain(named(first, buffer), 60)}</span>
              </button>
            </th>
            <td>{bytes(first.sizes[buffer] as Amount)}</td>
            {full && <><td>{placeText(first, buffer)}</td><td>{placeText(second.shown.scene, buffer)}</td></>}
            <td>{full ? movedText(first, second.moves, buffer) : shortMove(first, second.moves, buffer)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function shortMove(scene: Scene, moves: Moves, buffer: number): string {
  const kind = moves.kind[buffer] as number;
  if (kind === SAME) return "0 B";
  if (kind === ELSEWHERE) return "other pool";
  return `${kind === HIGHER ? "↑" : "↓"} ${bytes(distance(moves.by[buffer] as Amount, scene.zero))}`;
}
