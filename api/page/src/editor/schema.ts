/** What a JSON schema allows at a path: names of an object, and values that can be listed. */
import type { Schema, Schemas } from "./types.ts";
import type { Step } from "./text.ts";

const MOST_NESTED = 20;

export interface Option {
  text: string;
  kind: string;
  info: string;
  /** Of a name: how its value begins. */
  opens: string;
  /** Whether it has to be there. */
  required: boolean;
}

/** The schema without references and choices: every schema that may apply. */
function spread(schema: Schema, schemas: Schemas, depth = 0): Schema[] {
  if (depth > MOST_NESTED) return [];
  if (schema.$ref !== undefined) {
    const target = schemas.named[schema.$ref.split("/").pop() ?? ""];
    return target === undefined ? [] : spread(target, schemas, depth + 1).map((one) => ({ ...one, description: schema.description ?? one.description ?? "" }));
  }
  const choices = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? [])];
  if (choices.length === 0) return [schema];
  return choices.flatMap((one) => spread(one, schemas, depth + 1)).map((one) => ({ ...one, description: schema.description ?? one.description ?? "" }));
}

function inside(schema: Schema, step: Step): Schema | undefined {
  if (typeof step === "string") {
    const more = schema.additionalProperties;
    return schema.properties?.[step] ?? (typeof more === "object" ? more : undefined);
  }
  const items = schema.items;
  return schema.prefixItems?.[step] ?? (typeof items === "object" ? items : undefined);
}

function at(schemas: Schemas, path: readonly Step[]): Schema[] {
  let now = spread(schemas.root, schemas);
  for (const step of path) {
    now = now.flatMap((one) => {
      const next = inside(one, step);
      return next === undefined ? [] : spread(next, schemas);
    });
  }
  return now;
}

/** The names that an object may have there besides those that it has. */
export function namesAt(schemas: Schemas, path: readonly Step[], held: ReadonlySet<string>): Option[] {
  const all = at(schemas, path).filter((one) => one.properties !== undefined);
  // Of several kinds of objects, those that have the names which are there already.
  const fitting = all.filter((one) => [...held].every((name) => name in (one.properties ?? {})));
  const fields = new Map<string, Option>();
  for (const one of fitting.length > 0 ? fitting : all) {
    for (const [name, schema] of Object.entries(one.properties ?? {})) {
      if (held.has(name) || fields.has(name)) continue;
      const kinds = spread(schema, schemas);
      fields.set(name, { text: name, kind: kindOf(kinds), info: schema.description ?? kinds[0]?.description ?? "", opens: opening(kinds), required: one.required?.includes(name) ?? false });
    }
  }
  return [...fields.values()];
}

/** The values that can be named there. */
export function valuesAt(schemas: Schemas, path: readonly Step[]): Option[] {
  const choices = new Map<string, Option>();
  for (const one of at(schemas, path)) {
    const values = one.enum ?? ("const" in one ? [one.const] : []);
    const types = typesOf(one);
    const more = [...(types.includes("boolean") ? [true, false] : []), ...(types.includes("null") ? [null] : [])];
    for (const value of [...values, ...more]) {
      const text = JSON.stringify(value);
      if (!choices.has(text)) choices.set(text, { text, kind: one.default === value ? "default" : "", info: one.description ?? "", opens: "", required: false });
    }
  }
  return [...choices.values()];
}

function typesOf(schema: Schema): string[] {
  return Array.isArray(schema.type) ? schema.type : schema.type === undefined ? [] : [schema.type];
}

function kindOf(kinds: readonly Schema[]): string {
  const names = new Set(kinds.flatMap((one) => (one.enum !== undefined || "const" in one ? ["one of some"] : typesOf(one))));
  names.delete("null");
  return [...names].slice(0, 3).join(" or ");
}

function opening(kinds: readonly Schema[]): string {
  const types = new Set(kinds.flatMap(typesOf));
  types.delete("null");
  if (types.size !== 1) return "";
  return types.has("array") ? "[]" : types.has("object") ? "{}" : types.has("string") ? '""' : "";
}
