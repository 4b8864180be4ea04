/** One job as it goes on: its state, its plans, its search. What is shown of it is drawn by the viewer. */
import { effect, signal } from "@preact/signals";
import type { SearchStep } from "../model/documents.ts";
import type { Whole } from "../model/json.ts";
import { hasNoPlan } from "../model/status.ts";
import { again, close, open, setLooked } from "../shell/open.ts";
import * as state from "../shell/state.ts";
import { follow, type JobEvent, sleep } from "./events.ts";
import { get, Refusal, send } from "./http.ts";
import { isOver, type Job, nameOf } from "./jobs.ts";
import { key } from "./key.ts";

export const job = signal<Job | null>(null);
/** What the service refused, or that it is away. */
export const trouble = signal<Refusal | null>(null);
/** What the run does now, in its own words. */
export const phase = signal("");
/** The best value and bound that the events told. */
export const best = signal<Whole | null>(null);
export const bound = signal<Whole | null>(null);
/** Why the plan or the problem cannot be shown. */
export const unseen = signal("");

/** Between two looks at a job: at first, and when there was nothing new. */
const LEAST_PAUSE = 400;
const LONGEST_PAUSE = 3000;

/** Shows a job until it is stopped; begins again with each new key. */
export function watch(id: string): () => void {
  let running = new AbortController();
  const stop = effect(() => {
    void key.value;
    running.abort();
    running = new AbortController();
    void new Watch(id, running.signal).run();
  });
  return () => {
    running.abort();
    stop();
    job.value = null;
    trouble.value = null;
  };
}

class Watch {
  /** Whether the job is for a front: its points are drawn, and no plan. */
  #isFront = false;
  #problem: Uint8Array | null = null;
  #tag = "";
  #restored = false;
  #steps: SearchStep[] = [];
  #base = 0;
  #wanted = false;
  #refreshing: Promise<void> | null = null;

  constructor(readonly id: string, readonly stop: AbortSignal) {
    // What another key has opened is not to be seen by this one.
    close();
    job.value = null;
    trouble.value = null;
    phase.value = "";
    best.value = null;
    bound.value = null;
    unseen.value = "";
  }

  async run(): Promise<void> {
    const clock = setInterval(() => this.#tick(), 1000);
    // A run of a front or of formulas may go on for long before it has anything to tell.
    const turn = setInterval(() => {
      if (job.peek()?.state === "queued") this.#refresh();
    }, LONGEST_PAUSE);
    try {
      await this.#patiently(() => this.#look());
      await this.#patiently(() => this.#show());
      const follower = {
        event: (event: JobEvent) => this.#event(event),
        trouble: (refusal: Refusal | null) => {
          if (!this.stop.aborted) trouble.value = refusal;
        },
      };
      await follow(this.id, follower, this.stop);
      await this.#refreshing;
      await this.#patiently(() => this.#look());
      await this.#patiently(() => this.#show());
      this.#tick();
    } catch (error) {
      if (!this.stop.aborted) trouble.value = error instanceof Refusal ? error : new Refusal(0, "defect", String(error));
    } finally {
      clearInterval(clock);
      clearInterval(turn);
    }
  }

  /** Tries again as long as that may help. */
  async #patiently(call: () => Promise<void>): Promise<void> {
    for (let pause = 500; !this.stop.aborted; pause = Math.min(10_000, pause * 2)) {
      try {
        await call();
        if (!this.stop.aborted) trouble.value = null;
        return;
      } catch (error) {
        if (this.stop.aborted) return;
        if (!(error instanceof Refusal) || !error.passes) throw error;
        trouble.value = error;
        await sleep(error.after === null ? pause : error.after * 1000, this.stop);
      }
    }
  }

  async #look(): Promise<void> {
    const answer = await get<Job>(`/v1/jobs/${this.id}`, this.stop);
    if (this.stop.aborted) return;
    job.value = answer;
    this.#isFront = answer.options["front"] !== undefined;
    state.heading.value = nameOf(answer);
    best.value ??= answer.value;
    bound.value ??= answer.bound;
  }

  /** Fetches what is new of the plan, and draws it with its problem. */
  async #show(): Promise<void> {
    const plan = await this.#plan();
    if (this.stop.aborted || (plan === null && this.#problem !== null)) return;
    this.#problem ??= await this.#fetchProblem();
    if (this.stop.aborted) return;
    const problem = this.#problem;
    const now = job.peek();
    const name = now === null ? "job" : nameOf(now);
    const files = [{ name, bytes: problem.slice() as Uint8Array, trusted: true }];
    if (plan !== null) files.push({ name: "plan", bytes: plan, trusted: true });
    // A plan that is dropped on this one needs them again.
    const content = again(files);
    // The address may name a point, which is read from the same.
    if (this.#isFront) setLooked(content);
    // Of formulas, at the value that is looked at.
    const at = this.#restored ? state.shown.peek()?.symbolic?.at : undefined;
    const failure = await open(files, { restore: !this.#restored, update: this.#restored, ...(at === undefined ? {} : { at }) });
    if (this.stop.aborted) return;
    if (failure === null) setLooked(content);
    if (failure === null && this.#restored && state.shown.peek()?.scene.program != null) {
      // Another plan may have another order, and so other moments.
      state.moment.value = null;
      state.across.value = null;
    }
    this.#restored = failure === null;
    unseen.value = failure ?? "";
    state.files.value = [new Blob([problem as Uint8Array<ArrayBuffer>])];
  }

  /** The plan, if it is another than before. */
  async #plan(): Promise<Uint8Array | null> {
    if (job.peek()?.status === null) return null;
    try {
      const headers = this.#tag === "" ? {} : { "If-None-Match": this.#tag };
      const response = await send(`/v1/jobs/${this.id}/${this.#isFront ? "front" : "plan"}?output_format=page`, { headers, signal: this.stop });
      if (response.status === 304) return null;
      this.#tag = response.headers.get("etag") ?? "";
      return new Uint8Array(await response.arrayBuffer());
    } catch (error) {
      if (error instanceof Refusal && error.status === 409) return null;
      throw error;
    }
  }

  async #fetchProblem(): Promise<Uint8Array> {
    const response = await send(`/v1/jobs/${this.id}/problem`, { signal: this.stop });
    return new Uint8Array(await response.arrayBuffer());
  }

  #event(event: JobEvent): void {
    if (this.stop.aborted) return;
    const { value = null, solver = "", seconds = 0, name = "" } = event.data;
    // A job that was put back begins to count anew.
    const last = this.#steps[this.#steps.length - 1];
    if (last !== undefined && this.#base + seconds < last.seconds) this.#base = last.seconds;
    const at = this.#base + seconds;
    if (event.kind === "phase") phase.value = name;
    if (event.kind === "point") this.#refresh();
    // What a front is made of has values of many problems.
    else if (this.#isFront) return;
    else if (event.kind === "incumbent" && value !== null) {
      best.value = value;
      this.#steps.push({ seconds: at, value: Number(value), bound: null, solver });
      this.#refresh();
    } else if (event.kind === "bound" && value !== null) {
      bound.value = value;
      this.#steps.push({ seconds: at, value: null, bound: Number(value), solver });
    } else if (event.kind === "phase" && job.peek()?.state === "queued") this.#refresh();
    this.#tick();
  }

  /** Looks at the job and its plan, never at two at a time and never without a pause. */
  #refresh(): void {
    this.#wanted = true;
    this.#refreshing ??= this.#refreshAll().finally(() => (this.#refreshing = null));
  }

  async #refreshAll(): Promise<void> {
    let pause = LEAST_PAUSE;
    while (this.#wanted && !this.stop.aborted) {
      this.#wanted = false;
      const tag = this.#tag;
      const begin = performance.now();
      try {
        await this.#look();
        await this.#show();
      } catch (error) {
        // The stream of events tells what is wrong, and tries again.
        if (this.stop.aborted || !(error instanceof Refusal)) return;
      }
      const took = performance.now() - begin;
      // A plan is written a moment after its event, the better the later.
      if (this.#isBehind()) this.#wanted = true;
      pause = this.#tag === tag ? Math.min(LONGEST_PAUSE, pause * 1.6) : LEAST_PAUSE;
      await sleep(Math.max(pause, 4 * took), this.stop);
    }
  }

  /** Whether the plan that is shown is worse than the best that the events told. */
  #isBehind(): boolean {
    const now = job.peek();
    const shown = state.shown.peek();
    const onPage = best.peek();
    if (this.#isFront || now === null || isOver(now) || onPage === null || shown === null || unseen.peek() !== "") return false;
    // What is told of formulas is about their first point, whichever is looked at.
    if (shown.symbolic !== undefined) return hasNoPlan(shown.scene);
    if (hasNoPlan(shown.scene)) return true;
    const value = shown.verdict?.terms.find((one) => one.term === now.objective)?.value ?? null;
    return value !== null && value > onPage;
  }

  /** The search until now: the curve goes on while the job runs. */
  #tick(): void {
    if (this.stop.aborted || this.#steps.length === 0) return;
    const now = job.peek();
    const steps = [...this.#steps];
    const last = steps[steps.length - 1] as SearchStep;
    if (now !== null && now.state === "running" && now.started !== null) {
      const at = Math.max(last.seconds, (Date.now() - Date.parse(now.started)) / 1000);
      const value = best.peek();
      steps.push({ seconds: at, value: value === null ? null : Number(value), bound: null, solver: "" });
    }
    state.liveSearch.value = steps;
  }
}
