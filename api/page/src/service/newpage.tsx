/** `/new`: a problem or a graph is written, sent, and its plan shown. */
import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Editor, Fault } from "../editor/types.ts";
import { plain } from "../draw/format.ts";
import { membersOf } from "../model/json.ts";
import { again, open, setLooked } from "../shell/open.ts";
import * as state from "../shell/state.ts";
import { type Body, bodyOf, isGraph, post, problemOf } from "./bodies.ts";
import { loadEditor, schemasOfBodies, solverNames } from "./editors.ts";
import { Refusal, send, words } from "./http.ts";
import { Examples } from "./startpage.tsx";
import { key, asking } from "./key.ts";
import { pretty } from "./pretty.ts";
import { follow, here, query } from "./route.ts";

const FIRST = `{
  "version": 1,
  "name": "first",
  "buffers": [
    {"id": "input", "size": 4096, "lifetime": [0, 2]},
    {"id": "conv1", "size": 8192, "lifetime": [1, 3]},
    {"id": "conv2", "size": 4096, "lifetime": [2, 5]},
    {"id": "relu", "size": 4096, "lifetime": [3, 5]},
    {"id": "output", "size": 1024, "lifetime": [4, 6]}
  ]
}
`;
const MOST_TEXT = 4_000_000;
/** Seconds for which a plan is waited for here; what takes longer is followed as a job. */
const WAIT = 2;

/** What is written, kept while other pages are looked at. */
const draft = signal(FIRST);
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
  const reveal = (fault: Fault): void => editor.current?.reveal(fault);
  return (
    <main class="page wide new">
      <h1>New plan</h1>
      <div class="columns">
        <div class="written" ref={host} />
        <aside class="asked" aria-label="how it is solved">
          <Options />
          <p class="buttons">
            <button type="button" class="main" disabled={busy.value} onClick={() => void send(false)}>{busy.value ? "Planning …" : "Plan"}</button>
            <button type="button" disabled={busy.value} onClick={() => void send(true)}>As a job</button>
          </p>
          <div role="status">
            {said.value !== "" && <p class="trouble">{plain(said.value, 400)}</p>}
            {refusal.value !== null && <Faults refusal={refusal.value} reveal={reveal} />}
          </div>
          <Examples />
          <p class="quiet">A problem, a graph or a request in JSON, or a problem in CSV. <kbd>Ctrl</kbd> <kbd>Space</kbd> completes names and values; <kbd>F8</kbd> goes to the next fault.</p>
        </aside>
      </div>
    </main>
  );
}

async function mount(host: { current: HTMLDivElement | null }, editor: { current: Editor | null }, gone: AbortSignal, said: { value: string }): Promise<void> {
  const openEditor = await loadEditor();
  if (gone.aborted || host.current === null) return;
  editor.current = openEditor(host.current, { text: draft.peek(), label: "problem, graph or request", changed: (text) => (draft.value = text) });
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
    if (gone.aborted) return;
    if (text.length > MOST_TEXT) throw new Error("It is too long to be edited here.");
    draft.value = pretty(text);
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

function optionsOf(): Record<string, string> {
  const found: Record<string, string> = {};
  if (limit.value.trim() !== "") found["time_limit"] = limit.value.trim();
  if (solver.value !== "auto") found["solver"] = solver.value;
  if (repeatable.value) found["deterministic"] = "true";
  return found;
}

/** Sends it, and shows its plan here, or goes to its job. */
async function plan(text: string, asJob: boolean, gone: AbortSignal): Promise<void> {
  const body = { ...bodyOf(text), query: optionsOf() };
  const members = body.type === "application/json" ? membersOf(new TextEncoder().encode(text)) : null;
  // The order of a graph is found with its plan: its job knows both.
  if (asJob || isGraph(members)) return follow(await post("/v1/jobs", body, {}, gone), gone);
  const response = await post("/v1/plan", body, { Prefer: `wait=${WAIT}` }, gone);
  if (response.status === 202 || response.headers.get("memstow-final") === "false") return follow(response, gone);
  const found = new Uint8Array(await response.arrayBuffer());
  await showPlan(bodyOf(text), found, gone);
}

async function showPlan(body: Body, found: Uint8Array, gone: AbortSignal): Promise<void> {
  const problem = await problemOf(body, gone);
  if (gone.aborted) return;
  const copy = new Blob([problem as Uint8Array<ArrayBuffer>]);
  const files = [{ name: "new plan", bytes: problem, held: false }, { name: "plan", bytes: found, held: false }];
  const content = again(files);
  await open(files, { source: "service" });
  setLooked(content);
  state.files.value = [copy];
}

function Options(): JSX.Element {
  const names = useSignal<string[]>(["auto"]);
  useEffect(() => {
    solverNames().then((found) => (names.value = found), () => undefined);
  }, []);
  return (
    <>
      <label>Seconds at most<input type="number" min="0" step="any" value={limit.value} onInput={(event) => (limit.value = event.currentTarget.value)} /></label>
      <label>
        Solver
        <select value={solver.value} onChange={(event) => (solver.value = event.currentTarget.value)}>
          {names.value.map((name) => <option key={name} value={name}>{name}</option>)}
        </select>
      </label>
      <label class="tick"><input type="checkbox" checked={repeatable.value} onChange={(event) => (repeatable.value = event.currentTarget.checked)} />the same plan each time</label>
      <p class="quiet">Options in a request take precedence.</p>
    </>
  );
}

function Faults(props: { refusal: Refusal; reveal: (fault: Fault) => void }): JSX.Element {
  const { issues } = props.refusal;
  return (
    <>
      <p class="trouble">{plain(words(props.refusal), 400)}</p>
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
