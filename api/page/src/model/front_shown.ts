/** A front among the files of one view: all of its points, or the plan of one of them. */
import { fieldsOf, noDocuments, readDocuments } from "./documents.ts";
import { type Base, baseOf, type Front, type FrontFile, readFront, readFrontFile } from "./front.ts";
import { checkedFront } from "./front_checks.ts";
import { JsonReader, ReadError } from "./json.ts";
import type { RawPlan } from "./plan.ts";
import { type Progress, type Shown, shownOf } from "./shown.ts";

type Files = { name: string; bytes: Uint8Array; held: boolean }[];

/** Null: none of the files is a front. Without a point, the front itself. */
export function readFronts(files: Files, point: number | null, progress: Progress): { front: Front } | { shown: Shown } | null {
  let file: FrontFile | null = null;
  const dropped: Base = { problem: null, graph: null };
  const others: Files = [];
  for (const one of files) {
    const fields = fieldsOf(one.bytes);
    const isAlone = fields.has("terms") && fields.has("points");
    if (!isAlone && !(fields.has("front") && !fields.has("problem"))) {
      others.push(one);
      continue;
    }
    const json = new JsonReader(one.bytes, (part) => progress(`reading ${one.name}`, part));
    file = isAlone ? { front: readFront(json), name: one.name, bases: [], of: [], first: -1, told: null, keepsOrder: false, target: null } : readFrontFile(json);
    json.end();
    // Nobody but `memstow view` is believed that plans were judged.
    if (!one.held) file.told = null;
  }
  if (file === null) return null;
  for (const one of others) {
    const read = readDocuments(one.bytes, false, () => undefined);
    if (read.problem !== null || read.graph !== null) Object.assign(dropped, { problem: read.problem, graph: read.graph });
  }
  const { bases, front } = file;
  const name = front.name || file.name;
  const show = (base: Base, plan: RawPlan): Shown => {
    // Of a graph that the file holds, the listed order is that of the plan.
    const own = bases.includes(base) ? { ...plan, schedule: [], beyond: "" } : plan;
    const shown = shownOf({ ...noDocuments(), ...base, plans: [{ name: "", plan: own }] }, name, () => undefined);
    return { ...shown, ofSchedule: base.graph !== null };
  };
  if (point === null) return { front: checkedFront(file, dropped, show, (part) => progress("counting the plans", part)) };
  const plan = front.points[point]?.plan ?? null;
  const base = baseOf(file, point, dropped);
  if (plan === null || base === null) throw new ReadError(`point ${point + 1} has no plan here`);
  return { shown: show(base, plan) };
}
