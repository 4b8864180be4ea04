/** What is planned on `/new`: a problem, a graph, a front or sizes with symbols; recognised from what is written. */
import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { membersOf } from "../model/json.ts";

export type Kind = "problem" | "graph" | "symbols";
/** What is asked for: what is written decides, or a front is chosen. */
export type Choice = Kind | "front";

export const asFront = signal(false);
const order = signal("");
const inPlace = signal(false);
const shapes = signal("order");
const pieces = signal("2");
const terms = signal("");
const generators = signal("stripes");
const cost = signal("given");
const within = signal("");
const points = signal("");

const CHOICES: [Choice, string, string][] = [
  ["problem", "Problem", "One plan: buffers with sizes and lifetimes, and where each goes."],
  ["graph", "Graph", "One plan of operators and tensors, with the order in which they run."],
  ["front", "Front", "Several plans to choose from: less memory for more cost."],
  ["symbols", "Symbols", "One plan for sizes that are formulas of symbols, at all of their values."],
];

export const STARTS: Record<Choice, string> = {
  problem: `{
  "version": 1,
  "name": "first",
  "buffers": [
    {"id": "input", "size": 4096, "lifetime": [0, 2]},
    {"id": "conv1", "size": 8192, "lifetime": [1, 3]},
    {"id": "conv2", "size": 4096, "lifetime": [2, 5]},
    {"id": "relu", "size": 4096, "lifetime": [3, 5]},
    {"id": "output", "size": 1024, "lifetime": [4, 6]}
  ]
}
`,
  graph: `{
  "version": 1,
  "name": "branches",
  "order": "free",
  "tensors": [
    {"id": "input", "size": 4096},
    {"id": "left", "size": 16384},
    {"id": "small left", "size": 1024},
    {"id": "right", "size": 16384},
    {"id": "small right", "size": 1024},
    {"id": "output", "size": 2048}
  ],
  "operators": [
    {"id": "conv left", "inputs": ["input"], "outputs": ["left"]},
    {"id": "conv right", "inputs": ["input"], "outputs": ["right"]},
    {"id": "pool left", "inputs": ["left"], "outputs": ["small left"]},
    {"id": "pool right", "inputs": ["right"], "outputs": ["small right"]},
    {"id": "add", "inputs": ["small left", "small right"], "outputs": ["output"]}
  ],
  "inputs": ["input"],
  "outputs": ["output"]
}
`,
  front: `{
  "version": 1,
  "name": "two memories",
  "pools": [{"id": "fast", "capacity": 4096}, {"id": "slow", "cost": 4}],
  "buffers": [
    {"id": "a", "size": 1024, "lifetime": [0, 3], "accesses": 9000},
    {"id": "b", "size": 2048, "lifetime": [1, 4], "accesses": 3000},
    {"id": "c", "size": 1536, "lifetime": [2, 6], "accesses": 8000},
    {"id": "d", "size": 512, "lifetime": [3, 7], "accesses": 600},
    {"id": "e", "size": 1024, "lifetime": [5, 9], "accesses": 4000}
  ]
}
`,
  symbols: `{
  "version": 1,
  "name": "a sequence",
  "symbols": [{"id": "s", "min": 1, "max": 512}],
  "buffers": [
    {"id": "tokens", "size": "64*s", "lifetime": [0, 2]},
    {"id": "scores", "size": "4*s*s", "lifetime": [1, 3]},
    {"id": "output", "size": "64*s", "lifetime": [2, 4]}
  ]
}
`,
};

/** What is written; null: it cannot be read yet. */
export function kindOf(text: string): Kind | null {
  if (!/^\s*\{/.test(text)) return "problem";
  const all = membersOf(new TextEncoder().encode(text));
  if (all === null) return null;
  const inner = all.get("graph") ?? all.get("problem");
  const members = inner !== undefined && inner[0] === 0x7b ? membersOf(inner) ?? all : all;
  if (members.has("symbols")) return "symbols";
  return members.has("operators") ? "graph" : "problem";
}

/** Whether the text asks for a front itself. */
export function isFrontText(text: string): boolean {
  return /^\s*\{/.test(text) && membersOf(new TextEncoder().encode(text))?.has("front") === true;
}

/** A segment for each; that of the text is pressed, or the front. */
export function KindChoice(props: { kind: Kind | null; change: (to: Choice) => void }): JSX.Element {
  const { kind, change } = props;
  const pressed: Choice | null = asFront.value && kind !== "symbols" ? "front" : kind;
  const told = CHOICES.find(([choice]) => choice === pressed)?.[2] ?? "What is written cannot be read yet.";
  return (
    <>
      <div class="segments" role="group" aria-label="what is planned">
        {CHOICES.map(([choice, name]) => (
          <button
            key={choice} type="button" aria-pressed={choice === pressed}
            onClick={() => {
              asFront.value = choice === "front";
              if (choice !== pressed) change(choice);
            }}
          >{name}</button>
        ))}
      </div>
      <p class="quiet">{told}</p>
    </>
  );
}

/** What only this kind can be asked. */
export function KindOptions(props: { kind: Kind | null }): JSX.Element | null {
  const { kind } = props;
  return (
    <>
      {kind === "graph" && (
        <>
          <Select name="Order" value={order} choices={[["", "as the graph says"], ["given", "as listed"], ["free", "the best there is"]]} />
          <label class="tick"><input type="checkbox" checked={inPlace.value} onChange={(event) => (inPlace.value = event.currentTarget.checked)} />operators may overwrite inputs</label>
        </>
      )}
      {kind === "symbols" && (
        <>
          <Select name="Orders" value={shapes} choices={[["order", "one for all values"], ["pieces", "several, by value"], ["fixed", "offsets, the same at all"]]} />
          {shapes.value === "pieces" && <Field name="Orders at most" value={pieces} />}
        </>
      )}
      {kind !== "symbols" && asFront.value && (
        <>
          <Field name="Two terms" value={terms} hint={kind === "graph" ? "peak,cost" : "as the problem has them"} />
          {kind === "graph" && (
            <>
              <Select name="Besides the order" value={generators} choices={[["stripes", "stripes"], ["stripes,recompute", "stripes, runs again"], ["stripes,recompute,spill", "stripes, runs again, copies out"], ["none", "nothing"], ...other(generators.value)]} />
              <Select name="Cost" value={cost} choices={[["given", "as operators give it"], ["bytes", "bytes that they move"]]} />
            </>
          )}
          <Field name="Times the least cost, at most" value={within} hint="any" />
          <Field name="Points at most" value={points} hint="1,000" />
        </>
      )}
    </>
  );
}

const GENERATORS = ["stripes", "stripes,recompute", "stripes,recompute,spill", "none"];

/** What a job was asked for, where the list does not have it. */
function other(value: string): [string, string][] {
  return GENERATORS.includes(value) ? [] : [[value, value.replaceAll(",", ", ")]];
}

function Select(props: { name: string; value: { value: string }; choices: [string, string][] }): JSX.Element {
  return (
    <label>
      {props.name}
      <select value={props.value.value} onChange={(event) => (props.value.value = event.currentTarget.value)}>
        {props.choices.map(([value, text]) => <option key={value} value={value}>{text}</option>)}
      </select>
    </label>
  );
}

function Field(props: { name: string; value: { value: string }; hint?: string }): JSX.Element {
  return <label>{props.name}<input type="text" placeholder={props.hint} value={props.value.value} onInput={(event) => (props.value.value = event.currentTarget.value)} /></label>;
}

/** What the query says of it. */
export function kindQuery(kind: Kind | null): Record<string, string> {
  const said: Record<string, string> = {};
  const put = (name: string, value: string): void => {
    if (value.trim() !== "") said[name] = value.trim();
  };
  if (kind === "graph") {
    put("order", order.value);
    if (inPlace.value) said["in_place"] = "true";
  }
  if (kind === "symbols") {
    said["shapes"] = shapes.value;
    if (shapes.value === "pieces") put("pieces", pieces.value);
  } else if (asFront.value) {
    put("terms", terms.value);
    put("within", within.value);
    put("points", points.value);
    if (kind === "graph") {
      said["generators"] = generators.value;
      if (cost.value !== "given") said["cost"] = cost.value;
    }
  }
  return said;
}

/** Where it goes. */
export function pathOf(kind: Kind | null): string {
  return asFront.value && kind !== "symbols" ? "/v1/fronts" : "/v1/jobs";
}

/** Everything as a job was asked, to be edited. */
export function chooseAs(options: Record<string, unknown>, inOrder: string): void {
  const front = options["front"] as Record<string, unknown> | undefined;
  const list = (value: unknown): string => (Array.isArray(value) ? value.join(",") : value === undefined || value === null ? "" : String(value));
  asFront.value = front !== undefined;
  terms.value = list(front?.["terms"]);
  generators.value = list(front?.["generators"] ?? "stripes") || "none";
  cost.value = list(front?.["cost"]) || "given";
  within.value = list(front?.["within"]);
  points.value = list(front?.["points"]);
  shapes.value = list(options["shapes"]) || "order";
  pieces.value = list(options["pieces"]) || "2";
  order.value = inOrder;
  inPlace.value = false;
}
