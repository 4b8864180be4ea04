/** Loads the editor, and what it completes from. */
import type { Editor, EditorOptions, OpenEditor, Schema, Schemas } from "../editor/types.ts";
import { get } from "./http.ts";

/** The editor, a part of its own; where it cannot be loaded, a plain field. */
export async function loadEditor(): Promise<OpenEditor> {
  try {
    return (await import("../editor/main.ts")).open;
  } catch {
    return plainField;
  }
}

function plainField(host: HTMLElement, options: EditorOptions): Editor {
  const field = document.createElement("textarea");
  field.value = options.text;
  field.spellcheck = false;
  field.setAttribute("aria-label", options.label);
  field.addEventListener("input", () => options.changed(field.value));
  host.append(field);
  return {
    text: () => field.value, replace: (text) => (field.value = text), mark: () => undefined, reveal: () => field.focus(),
    complete: () => undefined, close: () => field.remove(),
  };
}

interface OpenApi {
  paths: Record<string, Record<string, { requestBody?: { content: Record<string, { schema: Schema }> } }>>;
  components: { schemas: Record<string, Schema> };
}

let document0: Promise<OpenApi> | null = null;

export function openApi<T = OpenApi>(): Promise<T> {
  document0 ??= get<OpenApi>("/openapi.json").catch((error: unknown) => {
    document0 = null;
    throw error;
  });
  return document0 as Promise<unknown> as Promise<T>;
}

/** What a request for a job may be: a problem, a graph, or an envelope of one. */
export async function schemasOfBodies(): Promise<Schemas> {
  const api = await openApi();
  const root = api.paths["/v1/jobs"]?.["post"]?.requestBody?.content["application/json"]?.schema;
  return { root: root ?? {}, named: api.components.schemas };
}

export async function solverNames(): Promise<string[]> {
  const api = await openApi();
  return (api.components.schemas["Options"]?.properties?.["solver"]?.enum ?? ["auto"]).map(String);
}
