/** Two jobs of the service, compared: `/compare?a=JOB&b=JOB`. The service has judged both plans. */
import { effect, signal } from "@preact/signals";
import type { JSX } from "preact";
import { plain } from "../draw/format.ts";
import { again, open, setLooked } from "../shell/open.ts";
import * as state from "../shell/state.ts";
import { get as getJson, Refusal, send } from "./http.ts";
import { type Job, labelsOf, long, nameOf, optionWords, secondsBetween, valueOf } from "./jobs.ts";
import { key } from "./key.ts";

/** Why the jobs cannot be compared. */
export const refused = signal<Refusal | null>(null);

/** The jobs that are compared, and what their plans are called; empty: they are plans of files. */
const compared = signal<{ job: Job; label: string }[]>([]);

/** Opens what the address names; again with another key. */
export function compare(query: URLSearchParams): () => void {
  const [first, second] = [query.get("a"), query.get("b")];
  if (first === null || second === null) return () => undefined;
  let running = new AbortController();
  const stop = effect(() => {
    void key.value;
    running.abort();
    running = new AbortController();
    void openBoth(first, second, running.signal);
  });
  return () => {
    running.abort();
    stop();
    refused.value = null;
    compared.value = [];
  };
}

async function openBoth(first: string, second: string, stop: AbortSignal): Promise<void> {
  refused.value = null;
  compared.value = [];
  state.stage.value = { kind: "reading", doing: "asking the service", part: 0 };
  const pathOf = (job: string): string => `/v1/jobs/${encodeURIComponent(job)}`;
  const get = async (job: string, what: string): Promise<Uint8Array> => (
    new Uint8Array(await (await send(`${pathOf(job)}/${what}`, { signal: stop })).arrayBuffer())
  );
  try {
    const [problem, one, other, job, otherJob] = await Promise.all([
      get(first, "problem"), get(first, "plan?output_format=page"), get(second, "plan?output_format=page"), getJson<Job>(pathOf(first), stop), getJson<Job>(pathOf(second), stop),
    ]);
    if (stop.aborted) return;
    const labels = labelsOf(job, otherJob);
    const file = (name: string, bytes: Uint8Array): { name: string; bytes: Uint8Array; trusted: boolean } => ({ name, bytes, trusted: true });
    const files = [file(nameOf(job), problem), file(labels[0], one), file(labels[1], other)];
    const content = again(files);
    if (await open(files, { restore: true, both: true }) !== null || stop.aborted) return;
    setLooked(content);
    compared.value = [{ job, label: labels[0] }, { job: otherJob, label: labels[1] }];
  } catch (error) {
    if (stop.aborted) return;
    state.stage.value = { kind: "empty" };
    refused.value = error instanceof Refusal ? error : new Refusal(0, "defect", String(error));
  }
}

/** Above both plans: which jobs these are, and how they were asked for. */
export function ComparedStrip(): JSX.Element | null {
  const first = state.shown.value?.plan;
  if (compared.value.length === 0) return null;
  const ordered = compared.value[0]?.label === first ? compared.value : [...compared.value].reverse();
  return (
    <section class="strip compared" aria-label="the jobs that are compared">
      {ordered.map(({ job }, place) => (
        <p key={job.id}>
          <b>{place === 0 ? "first" : "second"}</b> <a href={`/jobs/${job.id}`}>{plain(nameOf(job), 60)}</a>
          {job.setting !== null && <span> {plain(job.setting, 40)}</span>}
          <span class="quiet"> {plain(madeWords(job), 300)}</span>
        </p>
      ))}
    </section>
  );
}

function madeWords(job: Job): string {
  const took = job.started === null ? "" : ` in ${long(secondsBetween(job.started, job.finished))}`;
  const result = job.solver === null ? "" : `${valueOf(job)} found by ${job.solver}${took}`;
  return [optionWords(job).join(", "), result].filter((text) => text !== "").join(" · ");
}
