/** Places in a text of JSON, also where it is not complete, and in a table of CSV: where a path leads, and what can be written at the cursor. */

export type Step = string | number;

export interface Place {
  /** Whether a name or a value is written there; null: neither. */
  expects: "name" | "value" | null;
  path: Step[];
  /** Where what is being written begins. */
  from: number;
  /** Names that the object has already. */
  names: Set<string>;
}

interface Frame {
  list: boolean;
  name: string | null;
  index: number;
  names: Set<string>;
  expects: "name" | "colon" | "value" | "comma";
}

const WORD = /[\w.+-]+/y;

/** The steps of a path that the service wrote: `$.buffers[3]["a b"]`. */
function stepsOf(path: string): Step[] {
  const steps: Step[] = [];
  for (const [, name, index, quoted] of path.matchAll(/\.([A-Za-z_]\w*)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]/g)) {
    steps.push(index !== undefined ? Number(index) : name ?? quoted ?? "");
  }
  return steps;
}

/** The end of the string that begins here; of one that does not end, the end of the line. */
function endOfString(text: string, from: number): { end: number; closed: boolean } {
  for (let at = from + 1; at < text.length; at++) {
    const letter = text[at];
    if (letter === "\\") at++;
    else if (letter === '"') return { end: at + 1, closed: true };
    else if (letter === "\n") return { end: at, closed: false };
  }
  return { end: text.length, closed: false };
}

function frame(list: boolean): Frame {
  return { list, name: null, index: 0, names: new Set(), expects: list ? "value" : "name" };
}

/** Calls `visit` with each name and value, in order; it stops the walk with false. */
function walk(text: string, visit: (stack: readonly Frame[], from: number, end: number, kind: "name" | "value" | "open" | "close") => boolean): Frame[] {
  const stack: Frame[] = [];
  for (let at = 0; at < text.length;) {
    const letter = text[at] as string;
    const top = stack[stack.length - 1];
    if (letter === "{" || letter === "[") {
      if (!visit(stack, at, at + 1, "open")) return stack;
      stack.push(frame(letter === "["));
    } else if (letter === "}" || letter === "]") {
      stack.pop();
      const outer = stack[stack.length - 1];
      if (outer !== undefined) outer.expects = "comma";
      if (!visit(stack, at, at + 1, "close")) return stack;
    } else if (letter === ":" && top !== undefined) top.expects = "value";
    else if (letter === "," && top !== undefined) {
      top.expects = top.list ? "value" : "name";
      if (top.list) top.index++;
      else top.name = null;
    } else if (letter === '"' || /[\w.+-]/.test(letter)) {
      WORD.lastIndex = at;
      const end = letter === '"' ? endOfString(text, at).end : at + ((WORD.exec(text)?.[0].length ?? 1));
      const isName = top?.expects === "name" && letter === '"';
      if (!visit(stack, at, end, isName ? "name" : "value")) return stack;
      if (top !== undefined) {
        if (isName) top.names.add(top.name = unquoted(text.slice(at, end)));
        top.expects = isName ? "colon" : "comma";
      }
      at = end;
      continue;
    }
    at++;
  }
  return stack;
}

function unquoted(text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    return text.replace(/^"|"$/g, "");
  }
}

function pathOf(stack: readonly Frame[]): Step[] {
  return stack.map((one) => (one.list ? one.index : one.name ?? ""));
}

function startsWith(path: readonly Step[], begin: readonly Step[]): boolean {
  return begin.every((step, index) => path[index] === step);
}

/** Where a path leads: the value, or the nearest that is there around it. */
function rangeOf(text: string, path: readonly Step[]): { from: number; to: number } {
  let best = { from: 0, to: Math.min(1, text.length), depth: -1, kind: "value" };
  walk(text, (stack, from, end, kind) => {
    if (kind === "close") return true;
    const here = pathOf(stack);
    // A name stands for its value until that comes.
    const at = kind === "name" ? [...here.slice(0, -1), unquoted(text.slice(from, end))] : here;
    if (at.length > path.length || !startsWith(path, at) || at.length < best.depth) return true;
    // Of a list or an object its name is marked, where it has one: more than a bracket.
    const isNamed = kind === "open" && best.kind === "name" && best.depth === at.length;
    if (!isNamed) best = { from, to: end, depth: at.length, kind };
    return !(at.length === path.length && kind !== "name");
  });
  return best;
}

/** Whether this is meant to be JSON, and not a table. */
export function isJson(text: string): boolean {
  return /^\s*[{[]/.test(text);
}

/** What the service names as `$.buffers[3].size`, `line 2, column 5`, `line 3`, or as the cell `line 2, column size` of a table. */
export function rangeOfPath(text: string, path: string): { from: number; to: number } {
  const place = /^line (\d+)(?:, (column|byte) (.+))?$/.exec(path);
  if (place === null) return rangeOf(text, stepsOf(path));
  const [, number, unit, column] = place;
  const lines = text.split("\n");
  const line = lines[Number(number) - 1] ?? "";
  const begin = lines.slice(0, Number(number) - 1).reduce((sum, one) => sum + one.length + 1, 0);
  if (column === undefined || (unit === "column" && !isJson(text))) {
    const head = cellsOf(lines.find((one) => one.trim() !== "") ?? "").map((cell) => cell.text);
    const cell = cellsOf(line)[head.includes(column ?? "") ? head.indexOf(column ?? "") : Number(column) - 1] ?? { from: 0, text: line };
    return inside(text, begin + cell.from, Math.max(1, cell.text.length));
  }
  return inside(text, begin + Number(column) - 1, 1);
}

function inside(text: string, from: number, length: number): { from: number; to: number } {
  const begin = Math.min(text.length, from);
  return { from: begin, to: Math.min(text.length, begin + length) };
}

/** The cells of a line of a table, without the blanks around them, and where they begin. */
function cellsOf(line: string): { from: number; text: string }[] {
  return [...line.matchAll(/(?<=^|,)(?:\s*"(?:[^"]|"")*"[^,]*|[^,]*)/g)].map((cell) => {
    const text = cell[0].trimStart();
    return { from: cell.index + cell[0].length - text.length, text: text.trimEnd() };
  });
}

/** What can be written here. */
export function placeAt(text: string, position: number): Place {
  let token: { from: number; kind: "name" | "value" } | null = null;
  const stack = walk(text.slice(0, position), (_stack, from, end, kind) => {
    if ((kind === "name" || kind === "value") && end === position) {
      const quoted = text[from] === '"';
      if (!quoted || !endOfString(text.slice(0, position), from).closed) {
        token = { from, kind };
        return false;
      }
    }
    return true;
  });
  const top = stack[stack.length - 1];
  const held = token as { from: number; kind: "name" | "value" } | null;
  if (top === undefined) return { expects: held === null && text.slice(0, position).trim() !== "" ? null : "value", path: [], from: held?.from ?? position, names: new Set() };
  const expects = held !== null ? (top.expects === "name" ? "name" : held.kind) : top.expects === "name" || top.expects === "value" ? top.expects : null;
  const path = pathOf(stack);
  if (expects === "name") path.pop();
  return { expects, path, from: held?.from ?? position, names: new Set([...top.names, ...namesAfter(text, position, top)]) };
}

/** Names of the same object behind the cursor. */
function namesAfter(text: string, position: number, top: Frame): string[] {
  if (top.list) return [];
  const names: string[] = [];
  let depth = 0;
  for (let at = position; at < text.length && depth >= 0; at++) {
    const letter = text[at];
    if (letter === "{" || letter === "[") depth++;
    else if (letter === "}" || letter === "]") depth--;
    else if (letter === '"') {
      const { end } = endOfString(text, at);
      if (depth === 0 && /^\s*:/.test(text.slice(end, end + 20))) names.push(unquoted(text.slice(at, end)));
      at = end - 1;
    }
  }
  return names;
}
