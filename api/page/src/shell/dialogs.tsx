/** What opens above the page: the keys, and the table of all buffers. */
import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count } from "../draw/format.ts";
import { search } from "../model/names.ts";
import { KEYS } from "./keys.ts";
import { BufferTable, rankedBuffers } from "./side.tsx";
import * as state from "./state.ts";

const PAGE = 100;

export function Dialogs(): JSX.Element | null {
  const open = state.dialog.value;
  if (open === "keys") return <Keys />;
  if (open === "table" && state.shown.value !== null) return <AllBuffers />;
  return null;
}

function Box(props: { title: string; children: ComponentChildren; wide?: boolean }): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current?.showModal(), []);
  const close = (): void => void (state.dialog.value = null);
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
  const text = useSignal("");
  const page = useSignal(0);
  const scene = (state.shown.value as NonNullable<typeof state.shown.value>).scene;
  const all = text.value === "" ? rankedBuffers() : search(scene.names, text.value, 5000);
  const pages = Math.max(1, Math.ceil(all.length / PAGE));
  const at = Math.min(page.value, pages - 1);
  return (
    <Box title={`Buffers, most byte-moments first: ${count(all.length)}`} wide>
      <p>
        <input type="search" aria-label="part of a name" placeholder="part of a name" value={text.value} onInput={(event) => {
          text.value = event.currentTarget.value;
          page.value = 0;
        }} />
        <button type="button" disabled={at === 0} onClick={() => (page.value = at - 1)}>Back</button>
        <span class="quiet">page {count(at + 1)} of {count(pages)}</span>
        <button type="button" disabled={at + 1 >= pages} onClick={() => (page.value = at + 1)}>Next</button>
      </p>
      <div class="scroll" tabIndex={0} role="region" aria-label="table of buffers">
        <BufferTable full scene={scene} buffers={Array.from(all.slice(at * PAGE, (at + 1) * PAGE))} />
      </div>
    </Box>
  );
}
