/** What a plan can be saved as: by the page itself, by the service that has it, or by a command. */
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { plain } from "../draw/format.ts";
import { inflated, isGzip } from "../model/gzip.ts";
import { membersOf } from "../model/json.ts";
import type { Shown } from "../model/shown.ts";
import { hasNoPlan } from "../model/status.ts";
import { Box } from "./box.tsx";
import { lookedAt } from "./open.ts";
import { parts } from "./parts.ts";
import { fileName, saveAs } from "./save.ts";
import * as state from "./state.ts";

type Whose = "plan" | "graph";

interface Format {
  format: string;
  /** How the names of such files end. */
  end: string;
  does: string;
  /** `graph`: only of a graph. */
  of: Whose;
}

/** What the service and the command line write besides JSON. */
export const FORMATS: readonly Format[] = [
  { format: "c-header", end: ".h", does: "C and C++ header: offsets, sizes and checks", of: "plan" },
  { format: "c-source", end: ".c", does: "C source: the arenas", of: "plan" },
  { format: "c-check", end: ".check.c", does: "C program that checks the plan on a device", of: "plan" },
  { format: "ld", end: ".ld", does: "linker script", of: "plan" },
  { format: "rust", end: ".rs", does: "Rust module", of: "plan" },
  { format: "csv", end: ".plan.csv", does: "CSV with offsets, as MiniMalloc has it", of: "plan" },
  { format: "structured", end: ".structured.json", does: "JSON of kernel compilers", of: "plan" },
  { format: "executorch", end: ".executorch.json", does: "JSON of ExecuTorch", of: "plan" },
  { format: "usmp", end: ".usmp.json", does: "JSON of TVM's planner", of: "plan" },
  { format: "svg", end: ".drawing.svg", does: "drawing without script", of: "plan" },
  { format: "loops", end: ".loops.json", does: "loops of the operators, JSON", of: "graph" },
  { format: "loops-text", end: ".loops.txt", does: "loops as text", of: "graph" },
  { format: "loops-header", end: ".loops.h", does: "loops as a C header", of: "graph" },
  { format: "loops-picture", end: ".loops.svg", does: "loops as a picture, of a plan with stripes", of: "graph" },
  { format: "tflite", end: ".tflite", does: "TensorFlow Lite model with the plan, where the job was sent one", of: "graph" },
];

/** A document that what is shown was read from, as it is written. */
export interface AtHand {
  what: "problem" | "graph" | "plan" | "first plan" | "second plan";
  bytes: Uint8Array;
}

/** The documents that what is shown was read from. */
export async function documentsAtHand(): Promise<AtHand[]> {
  const files = (await lookedAt()?.()) ?? [];
  const documents: AtHand[] = [];
  const plans: Uint8Array[] = [];
  for (const file of files) {
    const bytes = isGzip(file.bytes) ? await inflated(file.bytes) : file.bytes;
    const members = membersOf(bytes);
    if (members === null) continue;
    if (members.has("operators")) documents.push({ what: "graph", bytes });
    else if (members.has("buffers")) documents.push({ what: "problem", bytes });
    else if (members.has("placements") || members.has("orders") || (members.has("status") && !members.has("plan"))) plans.push(bytes);
    for (const [name, what] of [["problem", "problem"], ["symbolic", "problem"], ["graph", "graph"]] as const) {
      const inside = members.get(name);
      if (inside !== undefined && inside[0] === 0x7b) documents.push({ what, bytes: inside });
    }
    for (const name of ["plan", "formed", "other"]) {
      const inside = members.get(name);
      if (inside !== undefined && inside[0] === 0x7b) plans.push(inside);
    }
  }
  // Of plans that were dropped one after the other the last is shown, or two beside each other.
  const shown = state.second.peek() === null ? plans.slice(-1) : plans.slice(-2);
  const names = shown.length === 2 ? (["first plan", "second plan"] as const) : (["plan"] as const);
  return [...documents, ...shown.map((bytes, place) => ({ what: names[place] ?? "plan", bytes }))];
}

/** The end of the name of such a file. */
export function endOf(what: AtHand["what"]): string {
  return what === "problem" ? ".json" : what === "graph" ? ".graph.json" : `.${what.replace(" ", "-")}.json`;
}

export async function saveDocument(what: AtHand["what"]): Promise<void> {
  const document = (await documentsAtHand()).find((one) => one.what === what);
  if (document !== undefined) saveAs(new Blob([document.bytes as Uint8Array<ArrayBuffer>], { type: "application/json" }), `${fileName()}${endOf(what)}`);
}

/** The formats that there are of what is shown. */
export function formatsOf(shown: Shown): Format[] {
  if (shown.second !== null || state.front.value !== null || hasNoPlan(shown.scene)) return [];
  if (shown.symbolic !== undefined) return FORMATS.filter((one) => one.format === "c-header");
  return FORMATS.filter((one) => one.of === "plan" || shown.scene.program !== null);
}

/** All other formats: from the service, or the commands that make them. */
export function Formats(props: { shown: Shown }): JSX.Element {
  const { shown } = props;
  const from = parts.formats();
  const failure = useSignal("");
  const busy = useSignal("");
  const all = formatsOf(shown);
  const save = async ({ format, end }: Format): Promise<void> => {
    if (from === null) return;
    failure.value = "";
    busy.value = format;
    try {
      saveAs(await from(format, fileName()), `${fileName()}${end}`);
    } catch (error) {
      failure.value = error instanceof Error ? error.message : String(error);
    }
    busy.value = "";
  };
  return (
    <Box title="Other formats of this plan" wide>
      {from === null
        ? <div class="said">Save the plan and the {shown.scene.program === null ? "problem" : "graph"} (Export) in one folder. There these commands make the other formats{shown.symbolic === undefined ? ", from a plan that begins with this one and is no worse" : ""}:</div>
        : <div class="said quiet">The service writes them.</div>}
      <div role="status">{failure.value !== "" && <p class="failed">{plain(failure.value, 400)}</p>}</div>
      <ul class="formats">
        {all.map((one) => (
          <li key={one.format}>
            {from === null ? <><span>{one.does}</span><pre tabIndex={0} aria-label={`the command that makes ${one.does}`}>{commandOf(shown, one)}</pre></>
              : <button type="button" disabled={busy.value !== ""} onClick={() => void save(one)}>{one.does}</button>}
          </li>
        ))}
      </ul>
    </Box>
  );
}

/** The command that makes this format of the files that the page saves. */
export function commandOf(shown: Shown, { format, end }: Format): string {
  const name = fileName();
  const { program } = shown.scene;
  const problem = `${name}${endOf(program === null ? "problem" : "graph")}`;
  const plan = `${name}${endOf("plan")}`;
  const out = `${name}${end}`;
  if (shown.symbolic !== undefined) return `memstow evaluate ${problem} ${plan} --output ${out}`;
  if (format === "tflite") return `memstow solve MODEL.tflite --hint ${plan} --output ${out}`;
  const order = program?.anyOrder === true ? " --order free" : "";
  const written = format === "svg" ? `--picture ${out}` : /\.(json|csv)$/.test(end) && format !== "loops" ? `--output-format ${format} --output ${out}` : `--output ${out}`;
  return `memstow solve ${problem}${order} --hint ${plan} --time-limit 0 ${written}`;
}
