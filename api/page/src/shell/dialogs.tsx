/** What opens above the page: the keys, and the table of all buffers. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count } from "../draw/format.ts";
import { search } from "../model/names.ts";
import type { Operator } from "../model/program.ts";
import type { Scene } from "../model/scene.ts";
import type { Second, Shown } from "../model/shown.ts";
import { MoveTable } from "./compare.tsx";
import { KEYS } from "./keys.ts";
import { parts } from "./parts.ts";
import { OperatorTable, rankedOperators } from "./program.tsx";
import { BufferTable, rankedBuffers } from "./side.tsx";
import * as state from "./state.ts";

const PAGE = 100;

export function Dialogs(): JSX.Element | null {
  const open = state.dialog.value;
  if (open === "keys") return <Keys />;
  const { second } = state;
  if (open === "operators" && state.shown.value !== null) return <AllOperators shown={state.shown.value} />;
  if (open === "table" && state.shown.value !== null) return second.value === null ? <AllBuffers /> : <AllMoves second={second.value} />;
  return <parts.dialogs />;
}

/** A dialog above the page; `done` is called when it is closed. */
export function Box(props: { title: string; children: ComponentChildren; wide?: boolean; done?: () => void }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    box.current?.showModal();
    // Who opens a form means to write: not on the button that closes it, which is first.
    box.current?.querySelector<HTMLElement>("form input")?.focus();
  }, []);
  const close = props.done ?? (() => void (state.dialog.value = null));
  return (
    <dialog ref={box} class={props.wide ? "wide" : ""} aria-label={props.title} onClose={close} onClick={(event) => event.target === box.current && close()}>
      <h2>{props.title}<button type="button" class="round close" aria-label="close" onClick={close}>×</button></h2>
      {props.children}
    </dialog>
  );
}

function Keys(): JSX.Element {
  return (
    <Box title="Keys">
      <dl class="keys">
        {KEYS.map((key) => <div key={key.keys}><dt><kbd>{key.keys}</kbd></dt><dd>{key.does}</dd></div>)}
      </dl>
      <p class="quiet">The wheel zooms; with Shift only the time, with Alt only the addresses. Dragging moves, a double click shows everything. Drag on the live bytes to choose a part of the time, click there to choose a moment.</p>
    </Box>
  );
}

/** Everything that the map says, as text. */
function AllBuffers(): JSX.Element {
  const scene = (state.shown.value as Shown).scene;
  return (
    <Listed title="Buffers, most byte-moments first" find={named(scene, rankedBuffers())}>
      {(buffers) => <BufferTable full scene={scene} buffers={buffers} />}
    </Listed>
  );
}

function AllMoves(props: { second: Second }): JSX.Element {
  const scene = (state.shown.value as Shown).scene;
  const { second } = props;
  return (
    <Listed title="Buffers that moved, furthest first" find={named(scene, second.moves.order)}>
      {(buffers) => <MoveTable full first={scene} second={second} buffers={buffers} />}
    </Listed>
  );
}

function AllOperators(props: { shown: Shown }): JSX.Element | null {
  const { shown } = props;
  const { program } = shown.scene;
  if (program === null) return null;
  const find = (text: string): number[] => rankedOperators(shown).filter((place) => {
    const { id, type } = program.operators[place] as Operator;
    return id.toLowerCase().includes(text) || type.toLowerCase().includes(text);
  });
  return (
    <Listed title="Operators, most bytes live first" find={find}>
      {(operators) => <OperatorTable full shown={shown} program={program} operators={operators} />}
    </Listed>
  );
}

const MOST_FOUND = 5000;

/** All of them, or those with this in their names. */
function named(scene: Scene, all: Int32Array): (text: string) => ArrayLike<number> {
  return (text) => (text === "" ? all : search(scene.names, text, MOST_FOUND));
}

/** A page of a list. */
function Listed(props: { title: string; find: (text: string) => ArrayLike<number>; children: (found: number[]) => JSX.Element }): JSX.Element {
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
