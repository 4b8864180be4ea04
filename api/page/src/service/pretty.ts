/** JSON for people to edit: short objects on one line, and every digit as it was. */
import { exactJson } from "../model/json.ts";

const WIDE = 110;

export function pretty(text: string): string {
  return written(exactJson<unknown>(text), "");
}

function written(value: unknown, indent: string): string {
  const short = inline(value);
  if (short.length + indent.length <= WIDE) return short;
  const deeper = `${indent}  `;
  if (Array.isArray(value)) return `[\n${value.map((item) => deeper + written(item, deeper)).join(",\n")}\n${indent}]`;
  if (typeof value === "object" && value !== null) {
    return `{\n${Object.entries(value).map(([name, item]) => `${deeper}${JSON.stringify(name)}: ${written(item, deeper)}`).join(",\n")}\n${indent}}`;
  }
  return short;
}

function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(", ")}]`;
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value).map(([name, item]) => `${JSON.stringify(name)}: ${inline(item)}`).join(", ")}}`;
}
