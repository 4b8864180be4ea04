/** `/jobs`: the newest first, as they go on. */
import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { count, plain } from "../draw/format.ts";
import { get, Refusal, words } from "./http.ts";
import { end, Refused, removing } from "./jobpage.tsx";
import { gapOf, isOver, type Job, long, nameOf, secondsBetween, STATES, stateOf, toneOf, valueOf } from "./jobs.ts";
import { key } from "./key.ts";
import { go, here, query } from "./route.ts";

const PAGE = 50;
const PAUSE = 2000;

interface Page {
  jobs: Job[];
  next: string | null;
}

export function JobList(): JSX.Element {
  const page = useSignal<Page | null>(null);
  const refusal = useSignal<Refusal | null>(null);
  const again = useSignal(0);
  const failure = useSignal("");
  const asked = query();
  const address = here.value;
  const held = key.value;
  useEffect(() => {
    const stop = new AbortController();
    let timer: number | undefined;
    const look = async (): Promise<void> => {
      if (!document.hidden) await lookOnce(listPath(asked), stop.signal, page, refusal);
      if (!stop.signal.aborted) timer = setTimeout(() => void look(), PAUSE);
    };
    void look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [address, held, again.value]);
  const soon = (): void => void (again.value += 1);
  if (page.value === null && refusal.value !== null) return <Refused refusal={refusal.value} />;
  return (
    <main class="page wide">
      <h1>Jobs</h1>
      <Filters asked={asked} />
      {refusal.value !== null && <p class="trouble" role="alert">{plain(words(refusal.value), 400)} What you see is the last that is known.</p>}
      {failure.value !== "" && <p class="trouble" role="alert">{plain(failure.value, 400)}</p>}
      {page.value === null ? <p role="status" class="quiet">asking …</p> : <Table page={page.value} soon={soon} failed={(said) => (failure.value = said)} />}
      <p class="buttons">
        {asked.get("cursor") !== null && <button type="button" onClick={() => go(withQuery(asked, "cursor", null))}>Newest</button>}
        {page.value?.next != null && <button type="button" onClick={() => go(withQuery(asked, "cursor", page.value?.next ?? null))}>Older</button>}
      </p>
    </main>
  );
}

async function lookOnce(path: string, stop: AbortSignal, page: { value: Page | null }, refusal: { value: Refusal | null }): Promise<void> {
  try {
    const found = await get<Page>(path, stop);
    if (stop.aborted) return;
    page.value = found;
    refusal.value = null;
  } catch (error) {
    if (stop.aborted) return;
    refusal.value = error instanceof Refusal ? error : new Refusal(0, "defect", String(error));
    if (!refusal.value.passes) page.value = null;
  }
}

function listPath(asked: URLSearchParams): string {
  const parts = new URLSearchParams({ limit: String(PAGE) });
  for (const name of ["state", "batch", "digest", "cursor"]) {
    const value = asked.get(name);
    if (value !== null) parts.set(name, value);
  }
  return `/v1/jobs?${parts}`;
}

function withQuery(asked: URLSearchParams, name: string, value: string | null): string {
  const next = new URLSearchParams(asked);
  if (value === null) next.delete(name);
  else next.set(name, value);
  if (name !== "cursor") next.delete("cursor");
  const text = next.toString();
  return text === "" ? "/jobs" : `/jobs?${text}`;
}

function Filters(props: { asked: URLSearchParams }): JSX.Element {
  const { asked } = props;
  const now = asked.get("state");
  return (
    <div class="tools">
      <div class="choices" role="group" aria-label="state">
        {[null, ...STATES].map((one) => (
          <button type="button" key={one} aria-pressed={one === now} onClick={() => go(withQuery(asked, "state", one))}>{one ?? "all"}</button>
        ))}
      </div>
      {(["batch", "digest"] as const).map((name) => asked.get(name) !== null && (
        <button type="button" key={name} onClick={() => go(withQuery(asked, name, null))} aria-label={`show all, not only of this ${name === "digest" ? "problem" : name}`}>
          {name === "digest" ? "of one problem" : "of one batch"} ×
        </button>
      ))}
    </div>
  );
}

function Table(props: { page: Page; soon: () => void; failed: (said: string) => void }): JSX.Element {
  const { jobs } = props.page;
  if (jobs.length === 0) return <p class="said">There are none. <a href="/new">Make a plan</a></p>;
  return (
    <div class="over" tabIndex={0} role="region" aria-label="table of jobs">
      <table class="jobs">
        <thead>
          <tr>{["job", "state", "buffers", "best", "gap", "solver", "created", "took", "actions"].map((title) => <th key={title} scope="col">{title}</th>)}</tr>
        </thead>
        <tbody>
          {jobs.map((job) => <Row key={job.id} job={job} soon={props.soon} failed={props.failed} />)}
        </tbody>
      </table>
    </div>
  );
}

/** The first of two jobs that are to be compared. */
const first = signal<Job | null>(null);

/** Two plans of one problem can be compared. */
function Compare(props: { job: Job; name: string }): JSX.Element | null {
  const { job, name } = props;
  const other = first.value;
  if (job.value === null || (other !== null && other.digest !== job.digest)) return null;
  if (other === null) return <button type="button" class="link" aria-label={`compare ${name}`} onClick={() => (first.value = job)}>compare</button>;
  if (other.id === job.id) return <button type="button" class="link" aria-label={`do not compare ${name}`} onClick={() => (first.value = null)}>do not compare</button>;
  const both = (): void => {
    first.value = null;
    go(`/compare?a=${other.id}&b=${job.id}`);
  };
  return <button type="button" class="link" aria-label={`with this: compare ${nameOf(other)} with ${name}`} onClick={both}>with this</button>;
}

function Row(props: { job: Job; soon: () => void; failed: (said: string) => void }): JSX.Element {
  const { job, soon, failed } = props;
  const name = plain(nameOf(job), 60);
  const stop = async (): Promise<void> => {
    failed(await end(job.id, false));
    soon();
  };
  return (
    <tr>
      <th scope="row">
        <a href={`/jobs/${job.id}`}>{name}</a>
        {job.setting !== null && <span class="quiet"> {plain(job.setting, 30)}</span>}
      </th>
      <td><span class={`state ${toneOf(job)}`} title={job.error === null ? undefined : plain(job.error, 300)}>{stateOf(job)}</span></td>
      <td>{count(job.buffers)}</td>
      <td>{valueOf(job)}</td>
      <td>{gapOf(job)}</td>
      <td>{plain(job.solver ?? "", 30)}</td>
      <td title={job.created}>{long(secondsBetween(job.created, null))} ago</td>
      <td>{job.started === null ? "" : long(secondsBetween(job.started, job.finished))}</td>
      <td class="actions">
        <Compare job={job} name={name} />
        <button type="button" class="link" onClick={() => go(`/jobs?digest=${job.digest}`)} aria-label={`same problem as ${name}`}>same problem</button>
        {isOver(job)
          ? <button type="button" class="link" aria-label={`delete ${name}`} onClick={() => (removing.value = { id: job.id, name, then: soon })}>delete</button>
          : <button type="button" class="link" aria-label={`stop ${name}`} onClick={() => void stop()}>stop</button>}
      </td>
    </tr>
  );
}
