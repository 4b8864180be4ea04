/** The page. */
import { effect } from "@preact/signals";
import { type JSX, render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { CanvasPen } from "../draw/pen.ts";
import { drawSearch, isWorthDrawing } from "../draw/search.ts";
import type { Second, Shown } from "../model/shown.ts";
import { isPeak } from "../model/status.ts";
import { Bar } from "./bar.tsx";
import { CompareSide } from "./compare.tsx";
import { Dialogs } from "./dialogs.tsx";
import { Drop, listenForFiles } from "./drop.tsx";
import { writeFragments } from "./fragment.ts";
import { Head, Tools } from "./head.tsx";
import { listen } from "./keys.ts";
import { followAddress } from "./open.ts";
import { parts } from "./parts.ts";
import { PoolView } from "./poolview.tsx";
import { Side } from "./side.tsx";
import * as state from "./state.ts";

export function start(root: HTMLElement): void {
  state.themeName.value = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  effect(() => {
    document.documentElement.dataset["theme"] = state.themeName.value;
  });
  effect(() => {
    const name = state.shown.value?.scene.name ?? state.front.value?.name ?? state.heading.value;
    document.title = name === "" ? "memstow" : `${name} – memstow`;
  });
  writeFragments();
  listen();
  listenForFiles();
  addEventListener("hashchange", followAddress);
  render(<App />, root);
}

function App(): JSX.Element {
  const shown = state.shown.value;
  return (
    <>
      <Bar />
      {shown !== null ? <Plan shown={shown} /> : state.stage.value.kind === "front" ? <parts.front /> : parts.place() ?? <Drop />}
      <Dialogs />
    </>
  );
}

/** Pools that hold nothing are left out, unless all are empty. */
function drawn(shown: Shown): number[] {
  const used = shown.pools.flatMap((pool, place) => (pool.peak > 0 || pool.profile.most > 0 ? [place] : []));
  return used.length > 0 ? used : [0];
}

function Plan(props: { shown: Shown }): JSX.Element {
  const { second } = props.shown;
  if (second !== null) return <Two shown={props.shown} second={second} />;
  return (
    <main class="plan">
      <parts.status />
      {state.front.value !== null && <parts.point />}
      <Head />
      <div class="below">
        <div class="maps">
          <Tools />
          {drawn(props.shown).map((place) => <PoolView key={place} place={place} />)}
          {props.shown.loops !== null && <parts.loops shown={props.shown} />}
          {isWorthDrawing(state.search.value) && <SearchView shown={props.shown} />}
        </div>
        <Side />
      </div>
    </main>
  );
}

/** Two plans: for each pool both maps on one scale. */
function Two(props: { shown: Shown; second: Second }): JSX.Element {
  const { shown, second } = props;
  const places = [...new Set([...drawn(shown), ...drawn(second.shown)])].sort((one, other) => one - other);
  return (
    <main class="plan">
      <parts.status />
      <Head />
      <div class="below">
        <div class="maps">
          <Tools />
          {places.map((place) => (
            <div class="pair" key={place}>
              <PoolView place={place} which={0} />
              <PoolView place={place} which={1} />
            </div>
          ))}
        </div>
        <CompareSide shown={shown} second={second} />
      </div>
    </main>
  );
}

function SearchView(props: { shown: Shown }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const on = canvas.current;
    const context = on?.getContext("2d") ?? null;
    if (on === null || context === null) return undefined;
    const pen = new CanvasPen(context);
    const draw = (): void => {
      const density = Math.min(2, devicePixelRatio || 1);
      on.width = Math.round(on.clientWidth * density);
      on.height = Math.round(on.clientHeight * density);
      context.setTransform(density, 0, 0, density, 0, 0);
      drawSearch(pen, state.search.value, on.clientWidth, on.clientHeight, state.theme.value, isPeak(props.shown.scene.objective[0] ?? ""),
        state.verdict.value?.tone === "proven");
    };
    const size = new ResizeObserver(draw);
    size.observe(on);
    const stop = effect(draw);
    return () => {
      size.disconnect();
      stop();
    };
  }, [props.shown]);
  return <canvas class="search" ref={canvas} role="img" aria-label="the best plan and the bound over the seconds of the search" />;
}
