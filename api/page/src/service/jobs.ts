/** Jobs as the service describes them, and what is said of them. */
import { bytes, count, percentUp } from "../draw/format.ts";
import type { Whole } from "../model/json.ts";
import { isPeak } from "../model/status.ts";

export const STATES = ["queued", "running", "done", "failed", "cancelled"] as const;
export type State = (typeof STATES)[number];

export interface Job {
  id: string;
  state: State;
  name: string | null;
  setting: string | null;
  batch: string | null;
  digest: string;
  buffers: number;
  options: Record<string, unknown>;
  created: string;
  started: string | null;
  improved: string | null;
  finished: string | null;
  expires: string | null;
  /** Of its plan. */
  status: "optimal" | "feasible" | "infeasible" | "unknown" | null;
  objective: string | null;
  value: Whole | null;
  bound: Whole | null;
  gap: number | null;
  solver: string | null;
  error: string | null;
}

export function isOver(job: Job): boolean {
  return job.state !== "queued" && job.state !== "running";
}

/** What a job is called; one without a name by its size, and the beginning of its id. */
export function nameOf(job: Job): string {
  if (job.name !== null && job.name !== "") return job.name;
  return `${count(job.buffers)} ${job.buffers === 1 ? "buffer" : "buffers"}, job ${job.id.slice(0, 8)}`;
}

/** How a plan was asked for: the solver, and each option that is not as it always is. */
export function optionWords(job: Job): string[] {
  const { solver, time_limit: limit, deterministic, ...others } = job.options;
  const said = [solver === undefined || solver === null ? "" : `solver ${String(solver)}`];
  if (typeof limit === "number" && deterministic !== true) said.push(`${long(limit)} at most`);
  if (deterministic === true) said.push("deterministic");
  for (const [name, value] of Object.entries(others)) {
    if (value === null || value === false || value === 0 || typeof value === "object") continue;
    said.push(value === true ? words(name) : `${words(name)} ${String(value)}`);
  }
  return said.filter((text) => text !== "");
}

function words(name: string): string {
  return name.replaceAll("_", " ");
}

/** What tells two jobs of one problem apart, for each of them. */
export function labelsOf(one: Job, other: Job): [string, string] {
  const parts = (job: Job): string[] => [
    job.setting ?? "", ...optionWords(job), job.options["solver"] === "auto" && job.solver !== null ? `found by ${job.solver}` : "", job.name ?? "",
  ];
  const own = (mine: string[], theirs: string[]): string => mine.filter((part) => part !== "" && !theirs.includes(part)).join(", ").replace(/^solver /, "");
  const labels: [string, string] = [own(parts(one), parts(other)), own(parts(other), parts(one))];
  return labels.map((label, place) => label || `job ${[one, other][place]?.id.slice(0, 8) ?? ""}`) as [string, string];
}

/** The state in a word, and for one that is over what came of it. */
export function stateOf(job: Job): string {
  if (job.state !== "done") return job.state;
  return { optimal: "proven", feasible: "done", infeasible: "nothing fits", unknown: "no plan found" }[job.status ?? "feasible"];
}

export function toneOf(job: Job): "proven" | "open" | "wrong" | "quiet" {
  if (job.state === "failed" || job.status === "infeasible") return "wrong";
  if (job.state === "done" && job.status === "optimal") return "proven";
  return job.state === "running" || job.state === "done" ? "open" : "quiet";
}

/** The first term of the objective of the best plan. */
export function valueOf(job: Job): string {
  if (job.value === null) return "";
  return isPeak(job.objective ?? "") ? bytes(job.value) : count(job.value);
}

/** Of the first term: where that is the least, and the plan is not proven, a later one is open. */
export function gapOf(job: Job): string {
  if (job.value === null || job.bound === null || job.gap === null) return "";
  // The first point of a front says nothing of the others.
  if (job.options["front"] !== undefined) return job.status === "optimal" ? percentUp(job.gap) : "";
  return `${percentUp(job.gap)}${job.gap === 0 && job.status === "feasible" && isOver(job) ? ", first term" : ""}`;
}

/** How long ago, or how long: two figures at most. */
export function long(seconds: number): string {
  if (seconds < 10) return `${Math.max(0, seconds).toFixed(1)} s`;
  if (seconds < 120) return `${Math.floor(seconds)} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86400)} days`;
}

export function secondsBetween(from: string, to: string | null): number {
  return ((to === null ? Date.now() : Date.parse(to)) - Date.parse(from)) / 1000;
}
