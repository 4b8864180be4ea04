/** The page of the service: the viewer, and what is asked of the service beside it. */
import { effect } from "@preact/signals";
import type { JSX } from "preact";
import { start } from "../shell/app.tsx";
import { Reading } from "../shell/drop.tsx";
import { type Opening, parts } from "../shell/parts.ts";
import type { Shown } from "../model/shown.ts";
import { COMPARE } from "../shell/compare_jobs.ts";
import * as state from "../shell/state.ts";
import { compare, ComparedStrip, refused } from "./compared.tsx";
import { jobId, JobPlace, JobStrip, Refused, RemoveDialog } from "./jobpage.tsx";
import { send, words } from "./http.ts";
import { asking, key } from "./key.ts";
import { KeyDialog } from "./keydialog.tsx";
import { lazy } from "./lazy.tsx";
import { here, listenForLinks, path, query } from "./route.ts";
import { NewStrip, Start } from "./startpage.tsx";
import { asked, OrTheService, PlanStrip, takes } from "./upload.tsx";
import { watch } from "./watch.ts";

const loading = (): JSX.Element => <Reading doing="loading" part={0} />;
const JobList = lazy(async () => (await import("./joblist.tsx")).JobList, loading);
const NewPage = lazy(async () => (await import("./newpage.tsx")).NewPage, loading);
const Reference = lazy(async () => (await import("./reference.tsx")).Reference, loading);
const FrontView = lazy(async () => (await fronts()).FRONT_PARTS.front, loading);
const PointStrip = lazy(async () => (await fronts()).FRONT_PARTS.point, () => null);
const less = (): Promise<typeof import("../shell/less.tsx")> => import("../shell/less.tsx");
const LessBytes = lazy(async () => (await less()).LessBytes, () => null);
const NoPlan = lazy(async () => (await less()).NoPlan, () => null);
const WithoutIt = lazy(async () => (await less()).WithoutIt, () => null);
const AskSolver = lazy(async () => (await import("./solver.tsx")).AskSolver, () => null);
const AskWithout = lazy(async () => (await import("./solver.tsx")).AskWithout, () => null);
const UploadDialog = lazy(async () => (await import("./uploaddialog.tsx")).UploadDialog, () => null);

const ValuesView = lazy(async () => (await symbols()).SYMBOL_PARTS.status, () => null);
const PointsSide = lazy(async () => (await import("../symbols/points.tsx")).PointsSide, () => null);

let frontKey = parts.frontKey;
let formed: typeof import("../symbols/parts.ts").SYMBOL_PARTS | null = null;

/** The part for plans of formulas, which is loaded with the first of them. */
async function symbols(): Promise<typeof import("../symbols/parts.ts")> {
  const loaded = await import("../symbols/parts.ts");
  formed = loaded.SYMBOL_PARTS;
  return loaded;
}

async function opened(shown: Shown, how: Opening): Promise<void> {
  if (shown.symbolic !== undefined || formed !== null) (await symbols()).SYMBOL_PARTS.opened(shown, how);
}

const isFormed = (): boolean => state.shown.value?.symbolic !== undefined;

async function fronts(): Promise<typeof import("../front/parts.ts")> {
  const loaded = await import("../front/parts.ts");
  frontKey = loaded.FRONT_PARTS.frontKey;
  return loaded;
}

const TITLES: Record<string, string> = { "/jobs": "jobs", "/new": "new plan", "/reference": "reference" };

export function startServed(root: HTMLElement): void {
  Object.assign(parts, { navigation: Navigation, place, start: Start, status: Status, side: Beside, less: LessBytes, noPlan: NoPlan, withoutIt: WithoutIt, without: AskWithout, asks: true, dialogs: ServiceDialogs, takes, failed: OrTheService,
    front: FrontView, point: PointStrip, frontKey: (event: KeyboardEvent) => (isFormed() ? formed?.frontKey(event) ?? false : frontKey(event)),
    formats,
    opened: (shown: Shown, how: Opening) => void opened(shown, how), link: (address: URLSearchParams) => formed?.link(address) });
  listenForLinks();
  let stop = (): void => undefined;
  effect(() => {
    void here.value;
    const id = jobId();
    stop();
    state.heading.value = TITLES[path()] ?? "";
    stop = id !== null ? watch(id) : path() === COMPARE ? compare(query()) : () => undefined;
  });
  start(root);
}

/** The service writes the plans of its jobs in any format. */
function formats(): ((format: string, name: string) => Promise<Blob>) | null {
  const id = jobId();
  if (id === null) return null;
  return async (format, name) => {
    const query = new URLSearchParams({ output_format: format });
    if (format === "c-source" || format === "c-check") query.set("header", `${name}.h`);
    try {
      return await (await send(`/v1/jobs/${id}/plan?${query}`)).blob();
    } catch (error) {
      throw new Error(words(error));
    }
  };
}

function Navigation(): JSX.Element {
  const links = [["/new", "New plan"], ["/jobs", "Jobs"], ["/reference", "Reference"]] as const;
  return (
    <nav aria-label="pages">
      {links.map(([to, text]) => <a key={to} href={to} aria-current={path() === to ? "page" : undefined}>{text}</a>)}
      <button type="button" class="link" id="key" onClick={() => (asking.value = { why: "" })}>{key.value === "" ? "Key" : "Key: in use"}</button>
    </nav>
  );
}

function place(): JSX.Element | null {
  if (jobId() !== null) return <JobPlace />;
  // While a plan is read, its progress is shown in every place.
  if (state.stage.value.kind === "reading") return null;
  switch (path()) {
    case "/jobs": return <JobList />;
    case "/new": return <NewPage />;
    case "/reference": return <Reference />;
    case COMPARE: return refused.value === null ? null : <Refused refusal={refused.value} />;
    default: return null;
  }
}

/** The solver is asked about problems; one of formulas has its points there. */
function Beside(props: { shown: Shown }): JSX.Element | null {
  return isFormed() ? <PointsSide /> : <AskSolver shown={props.shown} />;
}

function Status(): JSX.Element {
  return (
    <>
      {jobId() !== null ? <JobStrip /> : path() === "/new" ? <NewStrip /> : path() === COMPARE ? <ComparedStrip /> : <PlanStrip />}
      {isFormed() && <ValuesView />}
    </>
  );
}

function ServiceDialogs(): JSX.Element {
  return (
    <>
      <RemoveDialog />
      {asked.value !== null && <UploadDialog />}
      <KeyDialog />
    </>
  );
}
