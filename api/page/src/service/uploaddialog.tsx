/** What is asked before a file is sent to the service. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { bytes, plain } from "../draw/format.ts";
import { Box } from "../shell/box.tsx";
import { again, open, setLooked } from "../shell/open.ts";
import * as state from "../shell/state.ts";
import { type Body, bodyOfFile, converted, nameBody, typeOf } from "./bodies.ts";
import { Refusal, words } from "./http.ts";
import { asking } from "./key.ts";
import { asked, planBody, sent } from "./upload.tsx";

const ORDERS = { given: "as it is given", free: "the best, found by the service", lpmf: "by the rule lpmf", dfs: "depth first" } as const;

export function UploadDialog(): JSX.Element | null {
  const file = asked.value;
  return file === null ? null : <Ask key={file.name} file={file} />;
}

function Ask(props: { file: File }): JSX.Element {
  const { file } = props;
  const order = useSignal<keyof typeof ORDERS>("given");
  const inPlace = useSignal(false);
  const dims = useSignal("");
  const said = useSignal("");
  const busy = useSignal(false);
  const type = typeOf(file.name);
  const isModel = type !== null && !["text/csv", "application/vnd.memstow.xla", "application/vnd.memstow.torch-snapshot"].includes(type);
  const close = (): void => void (asked.value = null);
  const run = async (plan: boolean): Promise<void> => {
    busy.value = true;
    said.value = "";
    try {
      const body = await bodyOfFile(file);
      await nameBody(body, file.name);
      if (isModel) body.query = { ...(order.value === "given" ? {} : { order: order.value }), ...(inPlace.value ? { in_place: "true" } : {}) };
      if (dims.value.trim() !== "") body.dims = dims.value.trim().split(/[\s,]+/);
      await (plan ? planBody(body) : lookAt(file.name, body));
      close();
    } catch (error) {
      said.value = error instanceof Refusal && error.issues.length > 0 ? error.issues.map((issue) => issue.message).join("; ") : words(error);
      if (error instanceof Refusal && error.needsKey) asking.value = { why: words(error) };
    }
    busy.value = false;
  };
  return (
    <Box title={`Send ${plain(file.name, 60)}?`} done={close}>
      <p class="said">This page does not read such files itself; the service at <b>{location.host}</b> does. Nothing of its {bytes(file.size)} has been sent yet.</p>
      {isModel && (
        <div class="asked">
          <label>
            Order of operators
            <select value={order.value} onChange={(event) => (order.value = event.currentTarget.value as keyof typeof ORDERS)}>
              {Object.entries(ORDERS).map(([name, text]) => <option key={name} value={name}>{text}</option>)}
            </select>
          </label>
          <label class="tick"><input type="checkbox" checked={inPlace.value} onChange={(event) => (inPlace.value = event.currentTarget.checked)} />operators may overwrite an input</label>
          {type === "application/onnx" && (
            <label>Open dimensions, such as <code>batch=1</code><input type="text" spellcheck={false} value={dims.value} onInput={(event) => (dims.value = event.currentTarget.value)} /></label>
          )}
        </div>
      )}
      <div role="status">{said.value !== "" && <p class="failed">{plain(said.value, 600)}</p>}</div>
      <p class="buttons">
        <button type="button" class="main" disabled={busy.value} onClick={() => void run(true)}>Send and plan</button>
        <button type="button" disabled={busy.value} onClick={() => void run(false)}>Send, and show what it needs</button>
        <button type="button" onClick={close}>Do not send</button>
      </p>
    </Box>
  );
}

/** Shows the problem that the service made of a file. */
async function lookAt(name: string, body: Body): Promise<void> {
  const problem = await converted(body);
  const copy = new Blob([problem as Uint8Array<ArrayBuffer>]);
  const files = [{ name, bytes: problem, trusted: true }];
  const content = again(files);
  if (await open(files) !== null) return;
  setLooked(content);
  state.files.value = [copy];
  sent.value = body;
}
