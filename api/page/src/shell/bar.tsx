/** The bar at the top: find a buffer, export, share, theme. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { named } from "../model/buffers.ts";
import { search } from "../model/names.ts";
import { bytes, plain } from "../draw/format.ts";
import { parts } from "./parts.ts";
import { save } from "./save.ts";
import * as state from "./state.ts";

const MOST_FOUND = 12;

export function Bar(): JSX.Element {
  const shown = state.shown.value;
  return (
    <header class="bar">
      <a class="brand" href={SERVED ? "/" : "#"} aria-label="memstow">
        <Mark />
        memstow
      </a>
      <parts.navigation />
      <span class="grow" />
      {shown !== null && <Find />}
      {shown !== null && <Export />}
      {SERVED && (shown !== null || state.stage.value.kind === "front") && <Share />}
      <button type="button" onClick={flip} aria-label={`use ${other()} colours`}>{other() === "dark" ? "Dark" : "Light"}</button>
      <button type="button" class="round" onClick={() => (state.dialog.value = "keys")} aria-label="keys">?</button>
    </header>
  );
}

function other(): "dark" | "light" {
  return state.themeName.value === "dark" ? "light" : "dark";
}

export function flip(): void {
  state.themeName.value = other();
}

function Mark(): JSX.Element {
  return (
    <svg width="20" height="18" viewBox="0 0 20 18" aria-hidden="true">
      <rect x="0" y="10" width="13" height="8" rx="1.5" fill="#34447b" />
      <rect x="14" y="7" width="6" height="11" rx="1.5" fill="#009185" />
      <rect x="0" y="3" width="6" height="6" rx="1.5" fill="#9bae4a" />
      <rect x="7" y="0" width="6" height="9" rx="1.5" fill="#dbb35d" />
    </svg>
  );
}

function Find(): JSX.Element {
  const text = useSignal("");
  const at = useSignal(0);
  const now = state.shown.value;
  const found = now === null || text.value === "" ? [] : search(now.scene.names, text.value, MOST_FOUND);
  const choose = (buffer: number | undefined): void => {
    if (buffer === undefined) return;
    state.chosen.value = buffer;
    text.value = "";
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") at.value = Math.min(found.length - 1, at.value + 1);
    else if (event.key === "ArrowUp") at.value = Math.max(0, at.value - 1);
    else if (event.key === "Enter") choose(found[at.value]);
    else if (event.key === "Escape") {
      text.value = "";
      (event.target as HTMLElement).blur();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="find">
      <input
        id="find" type="search" placeholder="Find a buffer  ( / )" aria-label="find a buffer" autocomplete="off" spellcheck={false}
        role="combobox" aria-expanded={found.length > 0} aria-controls="found" aria-autocomplete="list"
        aria-activedescendant={found.length > 0 ? `found${at.value}` : undefined}
        value={text.value} onKeyDown={key}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
        }}
      />
      <ul id="found" role="listbox" aria-label="buffers" hidden={text.value === ""}>
        {found.map((buffer, place) => (
          <li
            key={buffer} id={`found${place}`} role="option" aria-selected={place === at.value}
            onPointerDown={(event) => {
              event.preventDefault();
              choose(buffer);
            }}
          >
            <span class="name">{plain(named((now as NonNullable<typeof now>).scene, buffer))}</span>
            <span class="quiet">{bytes(now?.scene.sizes[buffer] ?? 0)}</span>
          </li>
        ))}
        {text.value !== "" && found.length === 0 && <li role="option" aria-selected={false} class="quiet">no buffer has this in its name</li>}
      </ul>
    </div>
  );
}

function Export(): JSX.Element {
  const open = useSignal(false);
  const choose = (kind: "svg" | "png" | "csv") => () => {
    open.value = false;
    void save(kind);
  };
  return (
    <div class="menu" onFocusOut={(event) => {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) open.value = false;
    }}>
      <button type="button" id="export" aria-haspopup="true" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>Export</button>
      <div class="items" hidden={!open.value}>
        <button type="button" onClick={choose("svg")}>Picture, SVG</button>
        <button type="button" onClick={choose("png")}>Picture, PNG</button>
        <button type="button" onClick={choose("csv")}>Buffers, CSV</button>
      </div>
    </div>
  );
}

function Share(): JSX.Element {
  const done = useSignal(false);
  const copy = (): void => {
    void navigator.clipboard?.writeText(location.href).then(() => {
      done.value = true;
      setTimeout(() => (done.value = false), 2000);
    });
  };
  return <button type="button" onClick={copy} aria-live="polite">{done.value ? "Copied" : "Copy link"}</button>;
}
