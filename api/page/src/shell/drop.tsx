/** Without a plan: where to put one. Also what is said while one is read, and when it cannot be. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { plain } from "../draw/format.ts";
import { isComparing } from "./compare_jobs.ts";
import { openFiles } from "./open.ts";
import { parts } from "./parts.ts";
import * as state from "./state.ts";

export function Drop(): JSX.Element {
  const stage = state.stage.value;
  const over = useSignal(false);
  const both = isComparing();
  if (stage.kind === "reading") return <Reading doing={stage.doing} part={stage.part} />;
  return (
    <main class="start">
      <h1>{both ? "Compare two plans of one problem." : "See the plan. See why it cannot be smaller."}</h1>
      {stage.kind === "failed" && <p class="failed" role="alert">This cannot be shown: {plain(stage.message, 400)}.</p>}
      {stage.kind === "failed" && <parts.failed />}
      <label
        class={over.value ? "drop over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          over.value = true;
        }}
        onDragLeave={() => (over.value = false)}
      >
        <input type="file" multiple onChange={(event) => void openFiles([...(event.currentTarget.files ?? [])], both)} />
        <b>{both ? "Drop both plans and their problem here" : "Drop a plan and its problem here"}</b>
        <span>or choose files. They are read in this page and not uploaded.</span>
      </label>
      {both ? <p class="quiet"><code>memstow view one.json other.json --problem model.json</code> makes a page like this one that holds both.</p> : <p class="quiet">
        <code>memstow solve model.json --output plan.json</code> makes a plan. <code>memstow view plan.json --problem model.json</code> makes a page
        like this one that holds it.
      </p>}
      {!both && <parts.start />}
    </main>
  );
}

export function Reading(props: { doing: string; part: number }): JSX.Element {
  return (
    <main class="start">
      <p role="status">{plain(props.doing, 80)} …</p>
      <progress value={props.part} max={1} aria-label="progress" />
    </main>
  );
}

/** Files can be dropped anywhere. */
export function listenForFiles(): void {
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const files = [...(event.dataTransfer?.files ?? [])];
    if (files.length > 0) void openFiles(files, isComparing());
  });
}
