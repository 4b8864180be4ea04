/** Files that only the service reads, and problems that it is to plan: nothing is sent before it is asked for. */
import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { plain } from "../draw/format.ts";
import { COMPARE } from "../shell/compare_jobs.ts";
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

/** Above a problem that has no plan: the service may make one. */
export function PlanStrip(): JSX.Element | null {
  const busy = useSignal(false);
  const said = useSignal("");
  const shown = state.shown.value;
  if (shown === null || shown.scene.claims !== null || state.files.value.length === 0) return null;
  const plan = async (): Promise<void> => {
    busy.value = true;
    said.value = "";
    try {
      const body = sent.value ?? { content: await problemOfFiles(state.files.value) ?? "", type: "application/json" };
      // The page calls a problem without a name as its file is called.
      if (sent.value === null) await nameBody(body, shown.scene.name);
      await planBody(body);
    } catch (error) {
      said.value = words(error);
      if (error instanceof Refusal && error.needsKey) asking.value = { why: words(error) };
    }
    busy.value = false;
  };
  return (
    <Strip>
      <span class="doing">{sent.value === null ? "This problem was read in this page, and was not sent." : "The problem, as the service has read it."}</span>
      <span class="grow" />
      <button type="button" disabled={busy.value} onClick={() => void plan()}>{sent.value === null ? "Send it to the service, and plan" : "Plan it"}</button>
      {said.value !== "" && <p class="trouble" role="alert">{plain(said.value, 400)}</p>}
    </Strip>
  );
}
