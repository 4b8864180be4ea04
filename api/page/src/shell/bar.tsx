/** The bar at the top: find a buffer, export, share, theme. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import type { Shown } from "../model/shown.ts";
import { Find } from "./find.tsx";
import { type AtHand, documentsAtHand, formatsOf, saveDocument } from "./formats.tsx";
import { parts } from "./parts.ts";
import { save } from "./save.ts";
import * as state from "./state.ts";

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
      {shown !== null && <Export shown={shown} />}
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

function Export(props: { shown: Shown }): JSX.Element {
  const { shown } = props;
  const open = useSignal(false);
  const documents = useSignal<AtHand["what"][]>([]);
  const choose = (run: () => unknown) => () => {
    open.value = false;
    void run();
  };
  const unfold = (): void => {
    open.value = !open.value;
    if (open.value) void documentsAtHand().then((all) => (documents.value = all.map((one) => one.what)));
  };
  return (
    <div class="menu" onFocusOut={(event) => {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) open.value = false;
    }} onKeyDown={(event) => {
      if (event.key !== "Escape" || !open.value) return;
      open.value = false;
      document.getElementById("export")?.focus();
      event.stopPropagation();
    }}>
      <button type="button" id="export" aria-haspopup="true" aria-expanded={open.value} onClick={unfold}>Export</button>
      <div class="items" hidden={!open.value}>
        <button type="button" onClick={choose(() => save("svg"))}>Picture, SVG</button>
        <button type="button" onClick={choose(() => save("png"))}>Picture, PNG</button>
        <button type="button" onClick={choose(() => save("csv"))}>Buffers, CSV</button>
        {state.front.value === null && documents.value.map((what) => (
          <button type="button" key={what} onClick={choose(() => saveDocument(what))}>{what.charAt(0).toUpperCase()}{what.slice(1)}, JSON</button>
        ))}
        {formatsOf(shown).length > 0 && <button type="button" onClick={choose(() => (state.dialog.value = "formats"))}>C header and other formats …</button>}
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
