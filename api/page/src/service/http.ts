/** Requests to the service: with the key, and with its refusals as errors that say what is wrong. */
import { exactJson } from "../model/json.ts";
import { key } from "./key.ts";

/** One thing that is wrong with what was sent. */
export interface Issue {
  code: string;
  path: string;
  message: string;
}

/** The service has refused, or cannot be reached (status 0). */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    detail: string,
    readonly issues: readonly Issue[] = [],
    /** Seconds after which it may be tried again, as the service says. */
    readonly after: number | null = null,
  ) {
    super(detail);
  }

  /** Whether a key is needed, or another one. */
  get needsKey(): boolean {
    return this.status === 401;
  }

  /** Whether the same request may succeed later. */
  get passes(): boolean {
    return this.status === 0 || this.status === 429 || this.status === 502 || this.status === 503 || this.status === 504 || this.code === "disk_full";
  }
}

/** The response of a request that succeeded or was not modified. */
export async function send(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const held = key.peek();
  if (held !== "") headers.set("Authorization", `Bearer ${held}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, redirect: "error", cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Refusal(0, "unreachable", "the service cannot be reached");
  }
  if (response.ok || response.status === 304) return response;
  throw await refusalOf(response);
}

async function refusalOf(response: Response): Promise<Refusal> {
  const after = Number(response.headers.get("retry-after") ?? "x");
  const seconds = Number.isFinite(after) ? after : null;
  try {
    const document = (await response.json()) as { code?: unknown; detail?: unknown; errors?: unknown };
    const issues = Array.isArray(document.errors) ? document.errors.map(issueOf) : [];
    return new Refusal(response.status, String(document.code), String(document.detail), issues, seconds);
  } catch {
    return new Refusal(response.status, "http_error", `the service answered ${response.status}`, [], seconds);
  }
}

function issueOf(raw: unknown): Issue {
  const { code, path, message } = raw as Partial<Record<keyof Issue, unknown>>;
  return { code: String(code ?? ""), path: String(path ?? "$"), message: String(message ?? "") };
}

/** The JSON of a response; whole numbers that a double cannot hold become bigints. */
export async function exact<T>(response: Response): Promise<T> {
  return exactJson<T>(await response.text());
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  return exact<T>(await send(path, signal === undefined ? {} : { signal }));
}

/** A sentence for people: what was refused, and what would help. */
export function words(error: unknown): string {
  if (!(error instanceof Refusal)) return error instanceof Error ? error.message : String(error);
  if (error.status === 401) return key.peek() === "" ? "The service needs a key." : "This key opens nothing: it may be mistyped, expired or revoked.";
  if (error.status === 403 && error.code === "missing_role") return `The key may not do this: ${error.message}.`;
  return `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`;
}
