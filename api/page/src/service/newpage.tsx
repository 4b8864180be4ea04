/** `/new`: a problem or a graph is written, sent, and its plan shown. */
import { computed, signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Editor, Fault } from "../editor/types.ts";
import { plain } from "../draw/format.ts";
import { again, open, setLooked } from "../shell/open.ts";
import * as state from "../shell/state.ts";
import { type Body, bodyOf, post, problemOf } from "./bodies.ts";
import { loadEditor, schemasOfBodies, solverNames } from "./editors.ts";
import { get, Refusal, send, words } from "./http.ts";
import { Examples } from "./startpage.tsx";
import { key, asking } from "./key.ts";
import type { Job } from "./jobs.ts";
import { asFront, type Choice, chooseAs, isFrontText, type Kind, KindChoice, kindOf, KindOptions, kindQuery, pathOf, STARTS } from "./kinds.tsx";
import { pretty } from "./pretty.ts";
import { follow, here, query } from "./route.ts";

const NAMES: Record<Choice, string> = { problem: "a problem", graph: "a graph", front: "a problem or a graph", symbols: "a problem with symbols" };
const MOST_TEXT = 4_000_000;
/** Seconds for which a plan is waited for here; what takes longer is followed as a job. */
const WAIT = 2;

/** What is written, kept while other pages are looked at. */
const draft = signal(STARTS.problem);
const kind = computed(() => kindOf(draft.value));
const limit = signal("10");
const solver = signal("auto");
const repeatable = signal(false);

export function NewPage(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor | null>(null);
  const said = useSignal("");
  const refusal = useSignal<Refusal | null>(null);
  const busy = useSignal(false);
  const stop = useRef(new AbortController());
  const address = here.value;
  useEffect(() => {
    stop.current = new AbortController();
    const gone = stop.current.signal;
    void mount(host, editor, gone, said);
    return () => {
      stop.current.abort();
      editor.current?.close();
      editor.current = null;
    };
  }, []);
  useEffect(() => {
    void fill(editor, said, stop.current.signal);
  }, [address, key.value]);
  const send = async (asJob: boolean): Promise<void> => {
    busy.value = true;
    said.value = "";
    refusal.value = null;
    editor.current?.mark([]);
    try {
      await plan(draft.value, asJob, stop.current.signal);
    } catch (error) {
      if (stop.current.signal.aborted) return;
      if (error instanceof Refusal) {
        refusal.value = error;
        editor.current?.mark(error.issues);
        if (error.needsKey) asking.value = { why: words(error) };
      } else said.value = words(error);
    }
    busy.value = false;
  };
  const change = (to: Choice): void => {
    said.value = "";
    const isOurs = Object.values(STARTS).includes(draft.value) || draft.value.trim() === "";
    // Of any graph there is a front, and of a problem with something to trade for memory, which the first one lacks.
    const fits = to === "front" ? kind.value === "graph" || kind.value === "problem" && !isOurs : to === kind.value;
    if (fits) return;
    if (isOurs) {
      draft.value = STARTS[to];
      editor.current?.replace(draft.value);
    } else said.value = `What is written is ${NAMES[kind.value ?? "problem"]}. Paste ${NAMES[to]} to plan it.`;
  };
  const reveal = (fault: Fault): void => editor.current?.reveal(fault);
  return (
    <main class="page wide new">
      <h1>New plan</h1>
      <div class="columns">
        <div class="written" ref={host} />
        <aside class="asked" aria-label="how it is solved">
          <KindChoice kind={kind.value} change={change} />
          <KindOptions kind={kind.value} />
          <Options kind={kind.value} />
          <p class="buttons">
            <button type="button" class="main" disabled={busy.value} onClick={() => void send(false)}>{busy.value ? "Planning …" : asFront.value && kind.value !== "symbols" ? "Find the front" : "Plan"}</button>
            <button type="button" disabled={busy.value} hidden={kind.value !== "problem" || asFront.value} onClick={() => void send(true)}>As a job</button>
          </p>
          <div role="status">
            {said.value !== "" && <p class="trouble">{plain(said.value, 400)}</p>}
            {refusal.value !== null && <Faults refusal={refusal.value} reveal={reveal} />}
          </div>
          <Examples />
          <p class="quiet">A problem, a graph, a problem with symbols or a request in JSON, or a problem in CSV. <kbd>Ctrl</kbd> <kbd>Space</kbd> completes names and values; <kbd>F8</kbd> goes to the next fault.</p>
        </aside>
      </div>
    </main>
  );
}

/** Another text: one that asks for a front is sent as one. */
function write(text: string): void {
  draft.value = text;
  if (isFrontText(text)) asFront.value = true;
}

async function mount(host: { current: HTMLDivElement | null }, editor: { current: Editor | null }, gone: AbortSignal, said: { value: string }): Promise<void> {
  const openEditor = await loadEditor();
  if (gone.aborted || host.current === null) return;
  editor.current = openEditor(host.current, { text: draft.peek(), label: "problem, graph or request", changed: write });
  try {
    const schemas = await schemasOfBodies();
    if (!gone.aborted) editor.current?.complete(schemas);
  } catch (error) {
    said.value = `Without completion: ${words(error)}`;
  }
}

/** What the address asks for: an example, or the problem of a job. */
async function fill(editor: { current: Editor | null }, said: { value: string }, gone: AbortSignal): Promise<void> {
  const [example, job] = [query().get("example"), query().get("job")];
  if (example === null && job === null) return;
  try {
    const path = job === null ? `/v1/examples/${encodeURIComponent(example ?? "")}` : `/v1/jobs/${encodeURIComponent(job)}/problem`;
    const text = await (await send(path, { signal: gone })).text();
    const options = job === null ? {} : (await get<Job>(`/v1/jobs/${encodeURIComponent(job)}`, gone)).options;
    if (gone.aborted) return;
    if (text.length > MOST_TEXT) throw new Error("It is too long to be edited here.");
    draft.value = pretty(text);
    chooseAs(options, query().get("order") ?? "");
    if (job !== null) setOptions(options);
    editor.current?.replace(draft.value);
    // From here on the text is that of who writes.
    history.replaceState(null, "", "/new");
    here.value = "/new";
  } catch (error) {
    if (gone.aborted) return;
    said.value = words(error);
    if (error instanceof Refusal && error.needsKey) asking.value = { why: words(error) };
  }
}

function setOptions(options: Record<string, unknown>): void {
  if (typeof options["time_limit"] === "number") limit.value = String(options["time_limit"]);
  if (typeof options["solver"] === "string") solver.value = options["solver"];
  repeatable.value = options["deterministic"] === true;
}

function optionsOf(now: Kind | null): Record<string, string> {
  const options: Record<string, string> = {};
  if (limit.value.trim() !== "") options["time_limit"] = limit.value.trim();
  if (solver.value !== "auto" && now !== "symbols") options["solver"] = solver.value;
  if (repeatable.value) options["deterministic"] = "true";
  return options;
}

/** Sends it, and shows its plan here, or goes to its job. */
async function plan(text: string, asJob: boolean, gone: AbortSignal): Promise<void> {
  const now = kindOf(text);
  const body = { ...bodyOf(text), query: { ...optionsOf(now), ...kindQuery(now) } };
  // The order of a graph is found with its plan, and plans of a front one after another: the job knows all.
  if (asJob || now !== "problem" || asFront.value) return follow(await post(pathOf(now), body, {}, gone), gone);
  const response = await post("/v1/plan", { ...body, query: { ...body.query, output_format: "page" } }, { Prefer: `wait=${WAIT}` }, gone);
  if (response.status === 202 || response.headers.get("memstow-final") === "false") return follow(response, gone);
  const plan = new Uint8Array(await response.arrayBuffer());
  await showPlan(bodyOf(text), plan, gone);
}

async function showPlan(body: Body, plan: Uint8Array, gone: AbortSignal): Promise<void> {
  const problem = await problemOf(body, gone);
  if (gone.aborted) return;
  const copy = new Blob([problem as Uint8Array<ArrayBuffer>]);
  const files = [{ name: "new plan", bytes: problem, trusted: true }, { name: "plan", bytes: plan, trusted: true }];
  const content = again(files);
  await open(files);
  setLooked(content);
  state.files.value = [copy];
}

function Options(props: { kind: Kind | null }): JSX.Element {
  const names = useSignal<string[]>(["auto"]);
  useEffect(() => {
    solverNames().then((all) => (names.value = all), () => undefined);
  }, []);
  return (
    <>
      <label>Seconds at most<input type="number" min="0" step="any" value={limit.value} onInput={(event) => (limit.value = event.currentTarget.value)} /></label>
      {/* Formulas have a search of their own. */}
      {props.kind !== "symbols" && (
        <label>
          Solver
          <select value={solver.value} onChange={(event) => (solver.value = event.currentTarget.value)}>
            {names.value.map((name) => <option key={name} value={name}>{name}</option>)}
          </select>
        </label>
      )}
      <label class="tick"><input type="checkbox" checked={repeatable.value} onChange={(event) => (repeatable.value = event.currentTarget.checked)} />the same plan each time</label>
      <p class="quiet">Options in a request take precedence.</p>
    </>
  );
}

function Faults(props: { refusal: Refusal; reveal: (fault: Fault) => void }): JSX.Element {
  const { issues } = props.refusal;
  return (
    <>
      {/* Of one thing, what is wrong with it stands below, with its place. */}
      {issues.length !== 1 && <p class="trouble">{issues.length === 0 ? plain(words(props.refusal), 400) : `${issues.length} things are wrong:`}</p>}
      <ul class="faults">
        {issues.map((issue, place) => (
          <li key={place}>
            {issue.path.startsWith("query.")
              ? <b>{plain(issue.path.slice(6), 80)}</b>
              : <button type="button" class="link" onClick={() => props.reveal(issue)}>{plain(issue.path, 80)}</button>}
            {" "}{plain(issue.message, 300)}
          </li>
        ))}
      </ul>
    </>
  );
}
