/** `/jobs`: the newest first, as they go on. */
import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count, plain } from "../draw/format.ts";
import { get, Refusal, words } from "./http.ts";
import { type Column, Heads, sorted, unsorted } from "../shell/sorting.tsx";
import { end, endAll, Refused, removing } from "./jobpage.tsx";
import { gapOf, isOver, type Job, long, nameOf, secondsBetween, STATES, stateOf, toneOf, valueOf } from "./jobs.ts";
import { key } from "./key.ts";
import { go, here, query, replace } from "./route.ts";

const PAGE = 50;
const PAUSE = 2000;
/** Milliseconds after the last letter, after which the service is asked. */
const TYPING = 300;
/** The longest name of a job. */
const LONGEST = 200;

interface Page {
  jobs: Job[];
  next: string | null;
}

/** The jobs that are ticked. */
const chosen = signal<ReadonlySet<string>>(new Set());

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
  useEffect(() => {
    chosen.value = new Set();
  }, [address, held]);
  const soon = (): void => void (again.value += 1);
  const failed = (said: string): void => void (failure.value = said);
  if (page.value === null && refusal.value !== null) return <Refused refusal={refusal.value} />;
  return (
    <main class="page wide">
      <h1>Jobs</h1>
      <Filters asked={asked} />
      {refusal.value !== null && <p class="trouble" role="alert">{plain(words(refusal.value), 400)} What you see is the last that is known.</p>}
      {failure.value !== "" && <p class="trouble" role="alert">{plain(failure.value, 400)}</p>}
      {page.value !== null && <Chosen jobs={page.value.jobs} soon={soon} failed={failed} />}
      {page.value === null ? <p role="status" class="quiet">asking …</p> : <Table page={page.value} asked={asked} soon={soon} failed={failed} />}
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

/** What can be done with all jobs that are ticked. */
function Chosen(props: { jobs: Job[]; soon: () => void; failed: (said: string) => void }): JSX.Element | null {
  const { soon, failed } = props;
  const busy = useSignal(false);
  const jobs = props.jobs.filter((job) => chosen.value.has(job.id));
  if (jobs.length === 0) return null;
  const going = jobs.filter((job) => !isOver(job));
  const over = jobs.filter(isOver);
  const each = async (some: Job[], discard: boolean): Promise<void> => {
    busy.value = true;
    const said = await endAll(some.map((job) => job.id), discard);
    busy.value = false;
    failed(said);
    if (said === "") chosen.value = new Set();
    soon();
  };
  return (
    <p class="chosen-jobs" role="group" aria-label="selected jobs">
      <span role="status">{count(jobs.length)} selected</span>
      <button type="button" disabled={busy.value || going.length === 0} onClick={() => void each(going, false)}>End {going.length === jobs.length ? "selected" : `${count(going.length)} that ${going.length === 1 ? "goes" : "go"} on`}</button>
      <button
        type="button" disabled={busy.value || over.length === 0}
        onClick={() => (removing.value = { ids: over.map((job) => job.id), name: over.length === 1 ? plain(nameOf(over[0] as Job), 60) : `${count(over.length)} jobs`, then: () => {
          chosen.value = new Set();
          soon();
        } })}
      >
        Delete {over.length === jobs.length ? "selected" : `${count(over.length)} that ${over.length === 1 ? "is" : "are"} over`}
      </button>
      <button type="button" class="link" onClick={() => (chosen.value = new Set())}>select none</button>
    </p>
  );
}

function listPath(asked: URLSearchParams): string {
  const parts = new URLSearchParams({ limit: String(PAGE) });
  for (const name of ["state", "batch", "digest", "search", "cursor"]) {
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
  const wanted = asked.get("search") ?? "";
  const text = useSignal(wanted);
  const typing = useRef<number | undefined>(undefined);
  useEffect(() => {
    text.value = wanted;
    return () => clearTimeout(typing.current);
  }, [wanted]);
  const search = (said: string): void => {
    text.value = said;
    clearTimeout(typing.current);
    typing.current = setTimeout(() => {
      // Letters of one word are one step of the way back.
      const to = withQuery(query(), "search", said === "" ? null : said);
      if (asked.has("search")) replace(to);
      else go(to);
    }, TYPING);
  };
  const now = asked.get("state");
  return (
    <div class="tools">
      <input
        type="search" class="wanted" placeholder="Find a job by its name or id" aria-label="find jobs by a part of their name, or by their id" maxLength={LONGEST}
        value={text.value} onInput={(event) => search(event.currentTarget.value)}
      />
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

const listSort = unsorted();

/** A value that is not known is the least. */
function by<Value extends number | bigint | string>(value: (job: Job) => Value | null): (one: Job, other: Job) => number {
  return (one, other) => {
    const [left, right] = [value(one), value(other)];
    if (left === null || right === null) return Number(left !== null) - Number(right !== null);
    return left < right ? -1 : left > right ? 1 : 0;
  };
}

const COLUMNS: Column<Job>[] = [
  { title: "job", by: by((job) => nameOf(job).toLowerCase()) },
  { title: "state", by: by(stateOf) },
  { title: "buffers", by: by((job) => job.buffers), down: true },
  { title: "best", by: by((job) => job.value), down: true },
  { title: "gap", by: by((job) => job.gap), down: true },
  { title: "solver", by: by((job) => job.solver) },
  { title: "created", by: by((job) => Date.parse(job.created)), down: true },
  { title: "took", by: by((job) => (job.started === null ? null : secondsBetween(job.started, job.finished))), down: true },
];

/** No jobs at all, or none that is looked for. */
function None(props: { asked: URLSearchParams }): JSX.Element {
  const search = props.asked.get("search");
  const narrowed = ["search", "state", "batch", "digest", "cursor"].some((name) => props.asked.get(name) !== null);
  if (!narrowed) return <p class="said">There are none. <a href="/new">Make a plan</a></p>;
  return <p class="said">{search === null ? "There are none of these." : `No job here is called “${plain(search, 60)}”.`} <a href="/jobs">All jobs</a></p>;
}

function Table(props: { page: Page; asked: URLSearchParams; soon: () => void; failed: (said: string) => void }): JSX.Element {
  const { jobs } = props.page;
  if (jobs.length === 0) return <None asked={props.asked} />;
  const all = jobs.every((job) => chosen.value.has(job.id));
  const chooseAll = (): void => void (chosen.value = new Set(all ? [] : jobs.map((job) => job.id)));
  return (
    <div class="over" tabIndex={0} role="region" aria-label="table of jobs">
      <table class="jobs" role="table">
        <Heads
          columns={COLUMNS} sort={listSort}
          before={<th role="columnheader" scope="col"><label class="all"><input type="checkbox" aria-label="select all that are shown" checked={all} onChange={chooseAll} /><span>all</span></label></th>}
          after={<th role="columnheader" scope="col">actions</th>}
        />
        <tbody role="rowgroup">
          {sorted(jobs, COLUMNS, listSort).map((job) => <Row key={job.id} job={job} soon={props.soon} failed={props.failed} />)}
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
  const tick = (): void => {
    const next = new Set(chosen.value);
    if (!next.delete(job.id)) next.add(job.id);
    chosen.value = next;
  };
  return (
    <tr role="row">
      <td role="cell" class="tick"><input type="checkbox" aria-label={`select ${name}`} checked={chosen.value.has(job.id)} onChange={tick} /></td>
      <th role="rowheader" scope="row">
        <a href={`/jobs/${job.id}`}>{name}</a>
        {job.setting !== null && <span class="quiet"> {plain(job.setting, 30)}</span>}
      </th>
      <td role="cell"><span class={`state ${toneOf(job)}`} title={job.error === null ? undefined : plain(job.error, 300)}>{stateOf(job)}</span></td>
      <td role="cell" data-of="buffers">{count(job.buffers)}</td>
      <td role="cell" data-of="best">{valueOf(job)}</td>
      <td role="cell" data-of="gap">{gapOf(job)}</td>
      <td role="cell" data-of="solver">{plain(job.solver ?? "", 30)}</td>
      <td role="cell" data-of="created" title={job.created}>{long(secondsBetween(job.created, null))} ago</td>
      <td role="cell" data-of="took">{job.started === null ? "" : long(secondsBetween(job.started, job.finished))}</td>
      <td role="cell" class="actions">
        <Compare job={job} name={name} />
        <button type="button" class="link" onClick={() => go(`/jobs?digest=${job.digest}`)} aria-label={`same problem as ${name}`}>same problem</button>
        {isOver(job)
          ? <button type="button" class="link" aria-label={`delete ${name}`} onClick={() => (removing.value = { ids: [job.id], name, then: soon })}>delete</button>
          : <button type="button" class="link" aria-label={`stop ${name}`} onClick={() => void stop()}>stop</button>}
      </td>
    </tr>
  );
}
