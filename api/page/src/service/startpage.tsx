/** `/`: what else is there besides the drop zone: examples, the newest jobs, and what programs ask. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { plain } from "../draw/format.ts";
import { close } from "../shell/open.ts";
import { get } from "./http.ts";
import { Strip } from "./jobpage.tsx";
import { type Job, long, nameOf, secondsBetween, stateOf, toneOf, valueOf } from "./jobs.ts";
import { key } from "./key.ts";

const NEWEST = 5;

export function Start(): JSX.Element {
  return (
    <>
      <p class="quiet">Models (<code>.tflite</code>, <code>.onnx</code>), memory snapshots of PyTorch (<code>.pickle</code>) and tables (<code>.csv</code>) are read by the service, once you have agreed.</p>
      <Newest />
      <Examples />
      <ForPrograms />
    </>
  );
}

/** The newest jobs, as they were when the page was opened; none are told to who may not see them. */
function Newest(): JSX.Element | null {
  const jobs = useSignal<Job[]>([]);
  const held = key.value;
  useEffect(() => {
    jobs.value = [];
    get<{ jobs: Job[] }>(`/v1/jobs?limit=${NEWEST}`).then((found) => (jobs.value = found.jobs), () => undefined);
  }, [held]);
  if (jobs.value.length === 0) return null;
  return (
    <>
      <h2>Newest jobs</h2>
      <ul class="newest">
        {jobs.value.map((job) => (
          <li key={job.id}>
            <a href={`/jobs/${job.id}`}>{plain(nameOf(job), 60)}</a>
            <span class={`state ${toneOf(job)}`}>{stateOf(job)}</span>
            <span>{valueOf(job)}</span>
            <span class="quiet">{long(secondsBetween(job.created, null))} ago</span>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Bodies that are ready to be sent. */
export function Examples(): JSX.Element | null {
  const names = useSignal<string[]>([]);
  const held = key.value;
  useEffect(() => {
    get<{ examples: { name: string }[] }>("/v1/examples").then((found) => (names.value = found.examples.map((one) => one.name)), () => undefined);
  }, [held]);
  if (names.value.length === 0) return null;
  return (
    <>
      <h2>Examples</h2>
      <p class="links">{names.value.map((name) => <a key={name} href={`/new?example=${encodeURIComponent(name)}`}>{plain(name, 40)}</a>)}</p>
    </>
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

/** Above a plan that was made here. */
export function NewStrip(): JSX.Element {
  return (
    <Strip>
      <span class="doing">What you have written, planned by the service</span>
      <span class="grow" />
      <button type="button" onClick={close}>Back to the editor</button>
    </Strip>
  );
}
