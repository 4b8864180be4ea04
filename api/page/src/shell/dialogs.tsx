/** What opens above the page: the keys, and the table of all buffers. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { count } from "../draw/format.ts";
import { nameAt, search } from "../model/names.ts";
import type { Operator } from "../model/program.ts";
import type { Second, Shown } from "../model/shown.ts";
import { Box } from "./box.tsx";
import { moveOrder, MoveTable, sortedMoves } from "./compare.tsx";
import { Formats } from "./formats.tsx";
import { KEYS } from "./keys.ts";
import { parts } from "./parts.ts";
import { operatorOrder, OperatorTable, sortedOperators } from "./program.tsx";
import { allBuffers, bufferOrder, BufferTable, liveAt, momentText, shownPool, sortedBuffers } from "./side.tsx";
import * as state from "./state.ts";

const PAGE = 100;

export function Dialogs(): JSX.Element | null {
  const open = state.dialog.value;
  if (open === "keys") return <Keys />;
  const { second } = state;
  if (open === "operators" && state.shown.value !== null) return <AllOperators shown={state.shown.value} />;
  if (open === "live" && state.shown.value !== null && state.moment.value !== null) return <LiveBuffers shown={state.shown.value} moment={state.moment.value} />;
  if (open === "formats" && state.shown.value !== null) return <Formats shown={state.shown.value} />;
  if (open === "table" && state.shown.value !== null) return second.value === null ? <AllBuffers /> : <AllMoves second={second.value} />;
  return <parts.dialogs />;
}

function Keys(): JSX.Element {
  return (
    <Box title="Keys">
      <dl class="keys">
        {KEYS.map((key) => <div key={key.keys}><dt><kbd>{key.keys}</kbd></dt><dd>{key.does}</dd></div>)}
      </dl>
      <p class="quiet">The wheel zooms the time; with Shift, Ctrl or Alt the addresses, too. Dragging moves, a double click shows everything. Drag on the live bytes to choose a part of the time, click there to choose a moment.</p>
    </Box>
  );
}

/** Everything that the map says, as text. */
function AllBuffers(): JSX.Element {
  const scene = (state.shown.value as Shown).scene;
  return (
    <Listed title={`Buffers, ${bufferOrder()}`} find={(text) => (text === "" ? allBuffers() : sortedBuffers(scene, search(scene.names, text, MOST_FOUND)))}>
      {(buffers) => <BufferTable full scene={scene} buffers={buffers} />}
    </Listed>
  );
}

/** What is live at the moment that is looked at. */
function LiveBuffers(props: { shown: Shown; moment: number }): JSX.Element {
  const { shown, moment } = props;
  const { scene } = shown;
  const live = liveAt(shown, shownPool(shown), moment);
  const find = (text: string): readonly number[] => sortedBuffers(scene, live.filter((buffer) => nameAt(scene.names, buffer).toLowerCase().includes(text)));
  return (
    <Listed title={`Live at ${momentText(shown, moment)}`} find={find}>
      {(buffers) => <BufferTable full scene={scene} buffers={buffers} />}
    </Listed>
  );
}

function AllMoves(props: { second: Second }): JSX.Element {
  const scene = (state.shown.value as Shown).scene;
  const { second } = props;
  return (
    <Listed title={`Buffers that moved, ${moveOrder()}`} find={(text) => sortedMoves(scene, second, text === "" ? Array.from(second.moves.order) : search(scene.names, text, MOST_FOUND))}>
      {(buffers) => <MoveTable full first={scene} second={second} buffers={buffers} />}
    </Listed>
  );
}

function AllOperators(props: { shown: Shown }): JSX.Element | null {
  const { shown } = props;
  const { program } = shown.scene;
  if (program === null) return null;
  const find = (text: string): readonly number[] => sortedOperators(shown).filter((place) => {
    const { id, type } = program.operators[place] as Operator;
    return id.toLowerCase().includes(text) || type.toLowerCase().includes(text);
  });
  return (
    <Listed title={`Operators, ${operatorOrder()}`} find={find}>
      {(operators) => <OperatorTable full shown={shown} program={program} operators={operators} />}
    </Listed>
  );
}

const MOST_FOUND = 5000;

/** A page of a list. */
function Listed(props: { title: string; find: (text: string) => ArrayLike<number>; children: (buffers: number[]) => JSX.Element }): JSX.Element {
  const text = useSignal("");
  const page = useSignal(0);
  const all = props.find(text.value.toLowerCase());
  const pages = Math.max(1, Math.ceil(all.length / PAGE));
  const at = Math.min(page.value, pages - 1);
  return (
    <Box title={`${props.title}: ${count(all.length)}`} wide>
      <p>
        <input type="search" aria-label="part of a name" placeholder="part of a name" value={text.value} onInput={(event) => {
          text.value = event.currentTarget.value;
          page.value = 0;
        }} />
        <button type="button" disabled={at === 0} onClick={() => (page.value = at - 1)}>Back</button>
        <span class="quiet">page {count(at + 1)} of {count(pages)}</span>
        <button type="button" disabled={at + 1 >= pages} onClick={() => (page.value = at + 1)}>Next</button>
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="table">
        {props.children(Array.from({ length: Math.min(PAGE, all.length - at * PAGE) }, (_, place) => all[at * PAGE + place] as number))}
      </div>
    </Box>
  );
}
