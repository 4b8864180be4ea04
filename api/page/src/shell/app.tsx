/** The page. */
import { effect } from "@preact/signals";
import { type JSX, render } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { CanvasPen } from "../draw/pen.ts";
import { drawSearch } from "../draw/search.ts";
import { isPeak, type Shown } from "../model/shown.ts";
import { Bar } from "./bar.tsx";
import { Dialogs } from "./dialogs.tsx";
import { Drop, listenForFiles } from "./drop.tsx";
import { writeFragments } from "./fragment.ts";
import { Head, Tools } from "./head.tsx";
import { listen } from "./keys.ts";
import { PoolView } from "./poolview.tsx";
import { Side } from "./side.tsx";
import * as state from "./state.ts";

export function start(root: HTMLElement): void {
  state.themeName.value = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  effect(() => {
    document.documentElement.dataset["theme"] = state.themeName.value;
  });
  effect(() => {
    const name = state.shown.value?.scene.name;
    document.title = name === undefined || name === "" ? "memstow" : `${name} – memstow`;
  });
  writeFragments();
  listen();
  listenForFiles();
  render(<App />, root);
}

function App(): JSX.Element {
  const shown = state.shown.value;
  return (
    <>
      <Bar />
      {shown === null ? <Drop /> : <Plan shown={shown} />}
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
  return (
    <main class="plan">
      <Head />
      <div class="below">
        <div class="maps">
          <Tools />
          {drawn(props.shown).map((place) => <PoolView key={place} place={place} />)}
          {props.shown.scene.search.length > 1 && <SearchView shown={props.shown} />}
        </div>
        <Side />
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
      drawSearch(pen, props.shown.scene.search, on.clientWidth, on.clientHeight, state.theme.value, isPeak(props.shown.scene.objective[0] ?? ""));
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
