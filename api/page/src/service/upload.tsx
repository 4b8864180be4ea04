/** Files that only the service reads, and problems that it is to plan: nothing is sent before it is asked for. */
import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { plain } from "../draw/format.ts";
import { COMPARE } from "../shell/compare_jobs.ts";
import type { File0 } from "../model/shown.ts";
import { documentsAtHand } from "../shell/formats.tsx";
import { again, open, setLooked } from "../shell/open.ts";
import * as state from "../shell/state.ts";
import { type Body, nameBody, post, problemOfFiles, typeOf } from "./bodies.ts";
import { Refusal, words } from "./http.ts";
import { Strip } from "./jobpage.tsx";
import { asking } from "./key.ts";
import { follow, go, path } from "./route.ts";

/** A file that waits for an answer. */
export const asked = signal<File | null>(null);
/** What was sent, and its problem is shown. */
export const sent = signal<Body | null>(null);

export function takes(files: File[]): boolean {
  sent.value = null;
  // What is dropped is not about the job that is looked at.
  if (path() !== "/" && path() !== COMPARE) go("/");
  const file = files.find((one) => typeOf(one.name) !== null);
  if (file === undefined) return false;
  asked.value = file;
  return true;
}

/** Below a message that a file cannot be shown. */
export function OrTheService(): JSX.Element | null {
  const file = state.files.value.find((one): one is File => one instanceof File);
  if (file === undefined || state.files.value.length > 1) return null;
  return <p class="buttons"><button type="button" onClick={() => (asked.value = file)}>Let the service read {plain(file.name, 60)}</button></p>;
}

export async function planBody(body: Body): Promise<void> {
  follow(await post("/v1/jobs", body));
}

/** Sends what was dropped to the service, and shows it with what the judge there says. */
async function letJudge(names: readonly string[]): Promise<void> {
  const documents = await documentsAtHand();
  const of = documents.find(({ what }) => what === "graph") ?? documents.find(({ what }) => what === "problem");
  if (of === undefined) return;
  const files: File0[] = [{ name: names[0] ?? "", bytes: of.bytes.slice(), trusted: false }];
  for (const { bytes } of documents.filter(({ what }) => what.endsWith("plan"))) {
    const content = new Blob([`{"${of.what}":`, of.bytes as Uint8Array<ArrayBuffer>, ',"plan":', bytes as Uint8Array<ArrayBuffer>, "}"]);
    const response = await post("/v1/verify", { content, type: "application/json", query: { output_format: "page" } });
    files.push({ name: names[files.length] ?? "", bytes: new Uint8Array(await response.arrayBuffer()), trusted: true });
  }
  const kept = state.files.peek();
  const content = again(files);
  await open(files, { both: files.length > 2, update: true });
  setLooked(content);
  state.files.value = kept;
}

/** Above files that were read in this page: the service may plan a problem, or judge a plan. */
export function PlanStrip(): JSX.Element | null {
  const busy = useSignal(false);
  const said = useSignal("");
  const shown = state.shown.value;
  if (shown === null || state.files.value.length === 0) return null;
  const isPlanned = shown.scene.claims !== null;
  if (isPlanned && (shown.symbolic ?? shown).verdict !== null) return null;
  const act = async (): Promise<void> => {
    busy.value = true;
    said.value = "";
    try {
      if (isPlanned) await letJudge([shown.scene.name, shown.plan, shown.second?.shown.plan ?? ""]);
      else {
        const body = sent.value ?? { content: await problemOfFiles(state.files.value) ?? "", type: "application/json" };
        // The page calls a problem without a name as its file is called.
        if (sent.value === null) await nameBody(body, shown.scene.name);
        await planBody(body);
      }
    } catch (error) {
      said.value = words(error);
      if (error instanceof Refusal && error.needsKey) asking.value = { why: words(error) };
    }
    busy.value = false;
  };
  return (
    <Strip>
      <span class="doing">{sent.value === null ? `${isPlanned ? "These files were" : "This problem was"} read in this page, and not sent.` : "The problem, as the service has read it."}</span>
      <span class="grow" />
      <button type="button" disabled={busy.value} onClick={() => void act()}>{isPlanned ? "Send them to the service, and judge" : sent.value === null ? "Send it to the service, and plan" : "Plan it"}</button>
      {said.value !== "" && <p class="trouble" role="alert">{plain(said.value, 400)}</p>}
    </Strip>
  );
}
