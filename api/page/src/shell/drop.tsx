/** Without a plan: where to put one. Also what is said while one is read, and when it cannot be. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { plain } from "../draw/format.ts";
import { openFiles } from "./open.ts";
import * as state from "./state.ts";

export function Drop(): JSX.Element {
  const stage = state.stage.value;
  const over = useSignal(false);
  if (stage.kind === "reading") return <Reading doing={stage.doing} part={stage.part} />;
  return (
    <main class="start">
      <h1>See the plan. See why it cannot be smaller.</h1>
      {stage.kind === "failed" && <p class="failed" role="alert">This cannot be shown: {plain(stage.message, 400)}.</p>}
      <label
        class={over.value ? "drop over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          over.value = true;
        }}
        onDragLeave={() => (over.value = false)}
      >
        <input type="file" multiple onChange={(event) => void openFiles([...(event.currentTarget.files ?? [])])} />
        <b>Drop a plan and its problem here</b>
        <span>or choose files. They are read in this page and not uploaded.</span>
      </label>
      <p class="quiet">
        <code>memstow solve model.json --output plan.json</code> makes a plan. <code>memstow view plan.json --problem model.json</code> makes a page
        like this one that holds it.
      </p>
      {location.protocol.startsWith("http") && <ForPrograms />}
    </main>
  );
}

/** What else is at this address. */
function ForPrograms(): JSX.Element {
  const links = [
    ["/openapi.json", "every operation"], ["/v1/examples", "examples"], ["/v1/schema", "schema of a problem"],
    ["/v1/solvers", "solvers"], ["/v1/jobs", "jobs"], ["/readyz", "ready?"], ["/metrics", "figures"],
  ] as const;
  return (
    <>
      <h2>For programs</h2>
      <pre>{`curl -s ${location.host}/v1/examples/first |\n  curl -s -H 'Content-Type: application/json' --data-binary @- ${location.host}/v1/plan`}</pre>
      <p class="links">{links.map(([path, text]) => <a key={path} href={path}>{text}</a>)}</p>
    </>
  );
}

function Reading(props: { doing: string; part: number }): JSX.Element {
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
    if (files.length > 0) void openFiles(files);
  });
}
