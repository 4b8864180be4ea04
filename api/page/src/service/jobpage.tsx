/** `/jobs/{id}`: what the job does, above its plan; or why there is nothing to see. */
import { signal, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";
import { bytes, count, plain } from "../draw/format.ts";
import type { Whole } from "../model/json.ts";
import { isPeak } from "../model/status.ts";
import { Box } from "../shell/box.tsx";
import { Reading } from "../shell/drop.tsx";
import * as state from "../shell/state.ts";
import { Refusal, send, words } from "./http.ts";
import { isOver, type Job, long, nameOf, secondsBetween, stateOf, toneOf } from "./jobs.ts";
import { KeyForm } from "./keydialog.tsx";
import { asking } from "./key.ts";
import { go, path } from "./route.ts";
import { best, bound, job, phase, trouble, unseen } from "./watch.ts";

/** Jobs that are to be removed, if who asked is sure. */
export const removing = signal<{ ids: string[]; name: string; then: () => void } | null>(null);

export function jobId(): string | null {
  const match = /^\/jobs\/([^/]+)$/.exec(path());
  return match === null ? null : (match[1] as string);
}

/** Where there is no plan to see. */
export function JobPlace(): JSX.Element {
  const refusal = trouble.value;
  if (refusal !== null) return <Refused refusal={refusal} />;
  const stage = state.stage.value;
  if (stage.kind === "failed") {
    return (
      <main class="start">
        <JobStrip />
        <h1>This plan cannot be drawn here.</h1>
        <p class="failed" role="alert">{plain(stage.message, 400)}.</p>
      </main>
    );
  }
  return stage.kind === "reading" ? <Reading doing={stage.doing} part={stage.part} /> : <Reading doing="asking for the job" part={0} />;
}

/** Why the service has not answered with what was asked for, and what helps. */
export function Refused(props: { refusal: Refusal }): JSX.Element {
  const { refusal } = props;
  if (refusal.needsKey) {
    return (
      <main class="start">
        <h1>A key is needed.</h1>
        <p class="said">{words(refusal)}</p>
        <KeyForm />
      </main>
    );
  }
  return (
    <main class="start">
      <h1>{titleOf(refusal)}</h1>
      <p class="said" role="alert">{plain(words(refusal), 400)}</p>
      {refusal.passes && <p class="quiet" role="status">It is asked again.</p>}
      {refusal.status === 404 && <p class="quiet">Jobs are removed some time after their end, and a job is seen only by who submitted it.</p>}
      <p class="buttons">
        {refusal.status === 403 && <button type="button" onClick={() => (asking.value = { why: "" })}>Use another key</button>}
        <a class="button" href="/jobs">All jobs</a>
      </p>
    </main>
  );
}

function titleOf(refusal: Refusal): string {
  if (refusal.status === 404) return "There is no such job.";
  if (refusal.status === 403) return "This is not allowed.";
  if (refusal.code === "store_unavailable") return "The store of the service is away.";
  if (refusal.status === 0) return "The service is away.";
  return refusal.passes ? "The service cannot answer now." : "This was refused.";
}

export function JobStrip(): JSX.Element | null {
  const now = job.value;
  const stopping = useSignal(false);
  const failure = useSignal("");
  if (now === null) return null;
  const stop = async (): Promise<void> => {
    stopping.value = true;
    failure.value = await end(now.id, false);
    stopping.value = false;
  };
  const remove = (): void => {
    removing.value = { ids: [now.id], name: plain(nameOf(now), 60), then: () => go("/jobs") };
  };
  return (
    <Strip>
      <span class={`state ${toneOf(now)}`} role="status">{stateOf(now)}</span>
      <Called job={now} />
      <Doing job={now} />
      <span class="grow" />
      {isOver(now)
        ? <><a class="button" href={`/new?job=${now.id}`}>Edit</a><button type="button" onClick={remove}>Delete</button></>
        : <button type="button" disabled={stopping.value} onClick={() => void stop()}>{now.state === "queued" ? "Cancel" : "Stop, keep the best"}</button>}
      <Troubles own={failure.value} />
    </Strip>
  );
}

/** What the job is called, where the title below is the name of its problem and says something else. */
function Called(props: { job: Job }): JSX.Element | null {
  const name = nameOf(props.job);
  const title = state.shown.value?.scene.name ?? state.front.value?.name ?? name;
  return title.startsWith(name) ? null : <b class="called">{plain(name, 60)}</b>;
}

export function Strip(props: { children: ComponentChildren }): JSX.Element {
  return <section class="strip" aria-label="about the job">{props.children}</section>;
}

function Troubles(props: { own: string }): JSX.Element | null {
  const refusal = trouble.value;
  const said = [props.own, unseen.value === "" ? "" : `The newest plan cannot be drawn: ${unseen.value}.`, refusal === null ? "" : `${words(refusal)}${refusal.passes ? " It is asked again; what you see is the last that is known." : ""}`].filter((text) => text !== "");
  if (said.length === 0) return null;
  return (
    <p class="trouble" role="alert">
      {plain(said.join(" "), 500)}
      {refusal?.needsKey === true && <> <button type="button" class="link" onClick={() => (asking.value = { why: words(refusal) })}>Enter a key</button></>}
    </p>
  );
}

/** What a job does or did, in one line. */
function Doing(props: { job: Job }): JSX.Element {
  const now = props.job;
  const say = isPeak(now.objective ?? "") ? bytes : count;
  const parts: string[] = [];
  if (now.state === "queued") parts.push("waits for its turn");
  if (now.state === "failed") parts.push(plain(now.error ?? "no reason is known", 400));
  if (now.state === "cancelled") parts.push(now.status === null ? "before there was a plan" : "its best plan is kept");
  if (now.state === "running") {
    if (phase.value !== "") parts.push(plain(phase.value, 80));
    const [value, least] = [best.value, bound.value];
    if (state.front.value !== null) parts.push(`${state.front.value.points.length} points so far`);
    else parts.push(value === null ? "no plan yet" : `best ${say(value)}`);
    if (state.front.value === null && least !== null && least > 0) parts.push(leastWords(value, least, say));
  }
  if (now.solver !== null && isOver(now) && now.status !== null) parts.push(plain(now.solver, 60));
  return (
    <>
      <span class="doing">{parts.join(" · ")}</span>
      <Clock job={now} />
    </>
  );
}

/** The bound, so that it does not look like the best value where both are nearly the same. */
function leastWords(value: Whole | null, least: Whole, say: (amount: Whole) => string): string {
  if (value === null || say(value) !== say(least)) return `at least ${say(least)}`;
  const apart = BigInt(value) - BigInt(least);
  return apart > 0n ? `at most ${say(apart)} above the least possible` : "the least possible";
}

function Clock(props: { job: Job }): JSX.Element | null {
  const now = props.job;
  const beat = useSignal(0);
  const over = isOver(now);
  useEffect(() => {
    if (over) return undefined;
    const timer = setInterval(() => (beat.value += 1), 1000);
    return () => clearInterval(timer);
  }, [over]);
  void beat.value;
  const from = now.started ?? now.created;
  const limit = now.options["time_limit"];
  const most = typeof limit === "number" && now.options["deterministic"] !== true && !over ? ` of ${long(limit)}` : "";
  return <span class="quiet">{long(secondsBetween(from, over ? now.finished : null))}{now.state === "running" ? most : ""}</span>;
}

/** Stops or removes a job; returns what was wrong. */
export async function end(id: string, discard: boolean): Promise<string> {
  return ended(`/v1/jobs/${id}${discard ? "?discard=true" : ""}`);
}

/** Stops or removes several jobs in one request; returns what was wrong. */
export async function endAll(ids: readonly string[], discard: boolean): Promise<string> {
  return ended(`/v1/jobs?ids=${ids.join(",")}${discard ? "&discard=true" : ""}`);
}

async function ended(path: string): Promise<string> {
  try {
    await send(path, { method: "DELETE" });
    return "";
  } catch (error) {
    if (error instanceof Refusal && error.needsKey) asking.value = { why: words(error) };
    return words(error);
  }
}

export function RemoveDialog(): JSX.Element | null {
  const now = removing.value;
  const failure = useSignal("");
  if (now === null) return null;
  const close = (): void => {
    failure.value = "";
    removing.value = null;
  };
  const remove = async (): Promise<void> => {
    const [only, ...others] = now.ids;
    failure.value = only !== undefined && others.length === 0 ? await end(only, true) : await endAll(now.ids, true);
    if (failure.value !== "") return;
    close();
    now.then();
  };
  return (
    <Box title={`Delete ${now.name}?`} done={close}>
      <p class="said">{now.ids.length === 1 ? "The job, its problem and its plan are" : "The jobs, their problems and their plans are"} removed from the service.</p>
      {failure.value !== "" && <p class="failed" role="alert">{plain(failure.value, 400)}</p>}
      <p class="buttons">
        <button type="button" class="main" onClick={() => void remove()}>Delete</button>
        <button type="button" onClick={close}>Keep</button>
      </p>
    </Box>
  );
}
