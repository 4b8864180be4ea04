/** Finds buffers by their names, one after the other, and brings each into view. */
import { computed, signal } from "@preact/signals";
import type { JSX } from "preact";
import { bytes, count, plain } from "../draw/format.ts";
import { named } from "../model/buffers.ts";
import { search } from "../model/names.ts";
import * as state from "./state.ts";

const MOST_LISTED = 12;
const MOST_FOUND = 5000;

const text = signal("");
/** The match that is chosen, or would be. */
const at = signal(0);
const isListed = signal(false);

const matches = computed<readonly number[]>(() => {
  const now = state.shown.value;
  return now === null || text.value === "" ? [] : search(now.scene.names, text.value, MOST_FOUND);
});

/** Chooses a buffer, and moves the map and the page so that it is seen. */
export function lookNear(buffer: number, how: "near" | "fill" = "fill"): void {
  if (buffer < 0) return;
  state.chosen.value = buffer;
  state.bringIntoView(buffer, how);
  document.querySelector(`canvas[data-pool="${state.active.peek()}"]`)?.scrollIntoView({ block: "nearest" });
}

function go(place: number): void {
  const all = matches.peek();
  if (all.length === 0) return;
  at.value = (place + all.length) % all.length;
  isListed.value = false;
  lookNear(all[at.peek()] as number, "near");
}

/** The next match, or the one before. */
export function findNext(by: 1 | -1): void {
  const all = matches.peek();
  // Before the first of them is chosen, the next is the first.
  go(all[at.peek()] === state.chosen.peek() ? at.peek() + by : at.peek());
}

export function Find(): JSX.Element {
  const scene = state.shown.value?.scene;
  const all = matches.value;
  const isOpen = isListed.value && text.value !== "";
  const first = Math.max(0, Math.min(at.value - MOST_LISTED + 1, all.length - MOST_LISTED));
  const key = (event: KeyboardEvent): void => {
    if (event.key === "ArrowDown") at.value = Math.min(all.length - 1, at.value + 1);
    else if (event.key === "ArrowUp") at.value = Math.max(0, at.value - 1);
    else if (event.key === "Enter") {
      if (isOpen) go(at.value);
      else findNext(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      text.value = "";
      (event.target as HTMLElement).blur();
    } else return;
    if (event.key.startsWith("Arrow")) isListed.value = true;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="find" role="search">
      <input
        id="find" type="search" placeholder="Find a buffer  ( / )" aria-label="find a buffer" autocomplete="off" spellcheck={false}
        role="combobox" aria-expanded={isOpen && all.length > 0} aria-controls="found" aria-autocomplete="list"
        aria-activedescendant={isOpen && all.length > 0 ? `found${at.value}` : undefined}
        value={text.value} onKeyDown={key} onBlur={() => (isListed.value = false)}
        onInput={(event) => {
          text.value = event.currentTarget.value;
          at.value = 0;
          isListed.value = true;
        }}
      />
      {text.value !== "" && all.length > 0 && (
        <span class="matches">
          <span role="status">{count(at.value + 1)} of {all.length === MOST_FOUND ? `${count(MOST_FOUND)} or more` : count(all.length)}</span>
          <button type="button" class="round" aria-label="match before" title="match before ( G )" onClick={() => findNext(-1)}>‹</button>
          <button type="button" class="round" aria-label="next match" title="next match ( g )" onClick={() => findNext(1)}>›</button>
        </span>
      )}
      <ul id="found" role="listbox" aria-label="buffers" hidden={!isOpen}>
        {scene !== undefined && all.slice(first, first + MOST_LISTED).map((buffer, place) => (
          <li
            key={buffer} id={`found${first + place}`} role="option" aria-selected={first + place === at.value}
            onPointerDown={(event) => {
              event.preventDefault();
              go(first + place);
            }}
          >
            <span class="name">{plain(named(scene, buffer))}</span>
            <span class="quiet">{bytes(scene.sizes[buffer] ?? 0)}</span>
          </li>
        ))}
        {text.value !== "" && all.length === 0 && <li role="option" aria-selected={false} class="quiet">no buffer has this in its name</li>}
      </ul>
    </div>
  );
}
