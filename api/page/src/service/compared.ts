/** Two jobs of the service, compared: `/compare?a=JOB&b=JOB`. The service has judged both plans. */
import { effect, signal } from "@preact/signals";
import { open } from "../shell/open.ts";
import * as state from "../shell/state.ts";
import { Refusal, send } from "./http.ts";
import { key } from "./key.ts";

/** Why the jobs cannot be compared. */
export const refused = signal<Refusal | null>(null);

/** Opens what the address names; again with another key. */
export function compare(query: URLSearchParams): () => void {
  const [first, second] = [query.get("a"), query.get("b")];
  if (first === null || second === null) return () => undefined;
  let running = new AbortController();
  const stop = effect(() => {
    void key.value;
    running.abort();
    running = new AbortController();
    void openBoth(first, second, running.signal);
  });
  return () => {
    running.abort();
    stop();
    refused.value = null;
  };
}

async function openBoth(first: string, second: string, stop: AbortSignal): Promise<void> {
  refused.value = null;
  state.stage.value = { kind: "reading", doing: "asking the service", part: 0 };
  const get = async (job: string, what: string): Promise<Uint8Array> => (
    new Uint8Array(await (await send(`/v1/jobs/${encodeURIComponent(job)}/${what}`, { signal: stop })).arrayBuffer())
  );
  try {
    const [problem, one, other] = await Promise.all([get(first, "problem"), get(first, "plan"), get(second, "plan")]);
    if (stop.aborted) return;
    const file = (name: string, bytes: Uint8Array): { name: string; bytes: Uint8Array; held: boolean } => ({ name, bytes, held: false });
    await open([file(`job ${first}`, problem), file(first, one), file(second, other)], { restore: true, both: true, source: "service" });
  } catch (error) {
    if (stop.aborted) return;
    state.stage.value = { kind: "empty" };
    refused.value = error instanceof Refusal ? error : new Refusal(0, "defect", String(error));
  }
}
