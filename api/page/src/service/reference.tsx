/** `/reference`: every operation, drawn from the document that the service has of them. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { plain } from "../draw/format.ts";
import { openApi } from "./editors.ts";
import { words } from "./http.ts";
import { pretty } from "./pretty.ts";

interface Content {
  schema?: Shape;
  example?: unknown;
}

interface Shape {
  $ref?: string;
  type?: string | string[];
  enum?: unknown[];
  anyOf?: Shape[];
  oneOf?: Shape[];
  items?: Shape | boolean;
  default?: unknown;
  description?: string;
  required?: string[];
  properties?: Record<string, Shape>;
}

interface Parameter {
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Shape;
}

interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Content> };
  responses: Record<string, { description: string; content?: Record<string, Content> }>;
  security?: unknown[];
}

interface Document {
  info: { version: string; description: string };
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Shape> };
}

interface Listed {
  method: string;
  path: string;
  operation: Operation;
}

export function Reference(): JSX.Element {
  const loaded = useSignal<Document | null>(null);
  const said = useSignal("");
  const wanted = useSignal("");
  useEffect(() => {
    openApi<Document>().then((document) => {
      loaded.value = document;
      // The place that the address names is there only now.
      setTimeout(() => reveal(location.hash));
    }, (error: unknown) => (said.value = words(error)));
  }, []);
  const now = loaded.value;
  if (now === null) return <main class="page"><h1>Reference</h1><p role="status" class={said.value === "" ? "quiet" : "trouble"}>{said.value || "asking …"}</p></main>;
  const all = Object.entries(now.paths).flatMap(([path, methods]) => Object.entries(methods).map(([method, operation]): Listed => ({ method, path, operation })));
  const text = wanted.value.toLowerCase();
  const shown = all.filter((one) => text === "" || `${one.method} ${one.path} ${one.operation.summary} ${one.operation.operationId}`.toLowerCase().includes(text));
  const tags = [...new Set(shown.map((one) => one.operation.tags?.[0] ?? ""))];
  return (
    <main class="page">
      <h1>Reference</h1>
      <p class="said">Version {plain(now.info.version)}. <Words text={now.info.description} /> The document itself is <a href="/openapi.json">/openapi.json</a>.</p>
      <input class="wanted" type="search" placeholder="part of a path or of a summary" aria-label="part of a path or of a summary" value={wanted.value} onInput={(event) => (wanted.value = event.currentTarget.value)} />
      {shown.length === 0 && <p class="said" role="status">No operation has this in its path or its summary.</p>}
      {tags.map((tag) => (
        <section key={tag}>
          <h2>{tag}</h2>
          {shown.filter((one) => (one.operation.tags?.[0] ?? "") === tag).map((one) => <Entry key={one.operation.operationId} listed={one} />)}
        </section>
      ))}
      <h2>Schemas</h2>
      {Object.entries(now.components.schemas).filter(([name]) => text === "" || name.toLowerCase().includes(text)).map(([name, shape]) => (
        <details key={name} id={`schema-${name}`} class="operation">
          <summary><b>{name}</b> <span class="quiet">{plain(shape.description ?? "", 120)}</span></summary>
          <Fields shape={shape} />
        </details>
      ))}
    </main>
  );
}

function reveal(hash: string): void {
  const place = hash === "" ? null : document.getElementById(hash.slice(1));
  if (place instanceof HTMLDetailsElement) place.open = true;
  place?.scrollIntoView();
}

function Entry(props: { listed: Listed }): JSX.Element {
  const { method, path, operation } = props.listed;
  return (
    <details class="operation" id={operation.operationId}>
      <summary>
        <span class={`method ${method}`}>{method.toUpperCase()}</span> <code>{path}</code> <span class="quiet">{operation.summary}</span>
      </summary>
      {operation.description !== undefined && <p class="said"><Words text={operation.description} /></p>}
      {operation.security?.length === 0 && <p class="quiet">It needs no key.</p>}
      {(operation.parameters?.length ?? 0) > 0 && <Parameters all={operation.parameters ?? []} />}
      {operation.requestBody !== undefined && <><h3>Body</h3><Contents all={operation.requestBody.content} /></>}
      <h3>Responses</h3>
      {Object.entries(operation.responses).map(([status, response]) => (
        <div key={status} class="response">
          <p><b>{status}</b> <Words text={response.description} /></p>
          {Number(status) < 300 && response.content !== undefined && <Contents all={response.content} />}
        </div>
      ))}
    </details>
  );
}

function Parameters(props: { all: Parameter[] }): JSX.Element {
  return (
    <>
      <h3>Parameters</h3>
      <dl class="fields">
        {props.all.map((one) => (
          <div key={one.name}>
            <dt><code>{one.name}</code> <span class="quiet">{one.in}{one.required === true ? ", required" : ""}, <Kind shape={one.schema ?? {}} /></span></dt>
            <dd><Words text={one.description ?? one.schema?.description ?? ""} /></dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function Contents(props: { all: Record<string, Content> }): JSX.Element {
  return (
    <>
      {Object.entries(props.all).map(([type, content]) => (
        <div key={type} class="content">
          <p><code>{type}</code> <Kind shape={content.schema ?? {}} /></p>
          {content.example !== undefined && (
            <pre tabIndex={0}>{typeof content.example === "string" ? content.example : pretty(JSON.stringify(content.example))}</pre>
          )}
        </div>
      ))}
    </>
  );
}

function Fields(props: { shape: Shape }): JSX.Element {
  const { shape } = props;
  return (
    <>
      {shape.properties === undefined && <p><Kind shape={shape} /></p>}
      <dl class="fields">
        {Object.entries(shape.properties ?? {}).map(([name, field]) => (
          <div key={name}>
            <dt><code>{name}</code> <span class="quiet">{shape.required?.includes(name) === true ? "required, " : ""}<Kind shape={field} /></span></dt>
            <dd><Words text={field.description ?? ""} /></dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** What a value is, in a few words; a schema that has a name is a link to it. */
function Kind(props: { shape: Shape; depth?: number }): JSX.Element {
  const { shape, depth = 0 } = props;
  if (shape.$ref !== undefined) {
    const name = shape.$ref.split("/").pop() ?? "";
    return <a href={`#schema-${name}`} onClick={() => setTimeout(() => reveal(`#schema-${name}`))}>{name}</a>;
  }
  const choices = shape.anyOf ?? shape.oneOf;
  if (choices !== undefined && depth < 3) {
    return <>{choices.map((one, place) => <span key={place}>{place > 0 ? " or " : ""}<Kind shape={one} depth={depth + 1} /></span>)}</>;
  }
  if (shape.enum !== undefined) return <>one of {shape.enum.map((value) => JSON.stringify(value)).join(", ")}</>;
  if (typeof shape.items === "object" && depth < 3) return <>list of <Kind shape={shape.items} depth={depth + 1} /></>;
  const kinds = Array.isArray(shape.type) ? shape.type.join(" or ") : shape.type ?? "any value";
  return <>{kinds}{shape.default === undefined ? "" : `, default ${JSON.stringify(shape.default)}`}</>;
}

/** Text in which `code` is marked. */
function Words(props: { text: string }): JSX.Element {
  return <>{props.text.split("`").map((part, place) => (place % 2 === 1 ? <code key={place}>{part}</code> : part))}</>;
}
