/** A front among the files of one view: all of its points, or the plan of one of them. */
import { fieldsOf, noDocuments, readDocuments } from "./documents.ts";
import { type Base, baseOf, type Front, type FrontFile, type FrontPoint, readFront, readFrontFile } from "./front.ts";
import { JsonReader, ReadError, type Whole } from "./json.ts";
import type { RawPlan } from "./plan.ts";
import { shownOf } from "./show.ts";
import type { File0, Progress, Shown } from "./shown.ts";
import type { Verdict } from "./verdict.ts";

/** Null: none of the files is a front. Without a point, the front itself. */
export function readFronts(files: File0[], point: number | null, progress: Progress): { front: Front } | { shown: Shown } | null {
  let file: FrontFile | null = null;
  const dropped: Base = { problem: null, graph: null };
  const others: File0[] = [];
  for (const one of files) {
    const fields = fieldsOf(one.bytes);
    const isAlone = fields.has("terms") && fields.has("points");
    if (!isAlone && !(fields.has("front") && !fields.has("problem"))) {
      others.push(one);
      continue;
    }
    const json = new JsonReader(one.bytes, (part) => progress(`reading ${one.name}`, part));
    file = isAlone ? { front: readFront(json), name: one.name, bases: [], of: [], first: -1, verdict: null } : readFrontFile(json);
    json.end();
    // Nobody but `memstow view` and the service is believed that it was judged.
    if (!one.trusted) file.verdict = null;
  }
  if (file === null) return null;
  for (const one of others) {
    const read = readDocuments(one.bytes, false, () => undefined);
    if (read.problem !== null || read.graph !== null) Object.assign(dropped, { problem: read.problem, graph: read.graph });
  }
  const { bases, front } = file;
  const name = front.name || file.name;
  const show = (base: Base, plan: RawPlan, verdict: Verdict | null): Shown => {
    // Of a graph that the file holds, the listed order is that of the plan.
    const own = bases.includes(base) ? { ...plan, schedule: [], beyond: "" } : plan;
    const shown = shownOf({ ...noDocuments(), ...base, plans: [{ name: "", plan: own, verdict }] }, name, () => undefined);
    return { ...shown, ofSchedule: base.graph !== null };
  };
  if (point === null) return { front: frontOf(file, dropped) };
  const plan = front.points[point]?.plan ?? null;
  const base = baseOf(file, point, dropped);
  if (plan === null || base === null) throw new ReadError(`point ${point + 1} has no plan here`);
  return { shown: show(base, plan, file.verdict?.points[point]?.verdict ?? null) };
}

/** The front as it is drawn. Nothing is wrong with what nobody has judged, as far as is known here. */
function frontOf(file: FrontFile, dropped: Base): Front {
  const { front, verdict } = file;
  if (front.targets > 0 && front.points.length === 0) {
    throw new ReadError("it compares targets; a front of one of them can be drawn: `memstow front FILE --capacity N --output front.json`");
  }
  const points = front.points.map((point, place): FrontPoint => {
    const pair = (from: Map<string, Whole>): [Whole | null, Whole | null] => [from.get(front.terms[0]) ?? null, from.get(front.terms[1]) ?? null];
    const [one, other] = pair(point.values);
    if (one === null || other === null || one < 0 || other < 0) throw new ReadError(`point ${place + 1} of the front has no value of each term`);
    const said = verdict?.points[place] ?? { standing: point.proven ? "claimed" : "open", faults: [] };
    return { values: [one, other], bounds: pair(point.bounds), standing: said.standing, faults: said.faults, missing: whyNot(point.plan, baseOf(file, place, dropped), file) };
  });
  return { name: front.name || file.name, terms: front.terms, complete: front.complete, first: file.first < points.length ? file.first : -1, verdict, points };
}

/** Why the plan of a point cannot be drawn. */
function whyNot(plan: RawPlan | null, base: Base | null, file: FrontFile): string {
  if (plan === null) return "this file holds no plan of it";
  if (base === null) {
    return file.bases.length > 0 ? "this file holds the plans of some points only" : "its plan names buffers: drop the problem with the front";
  }
  return plan.beyond !== "" && base.graph !== null && file.bases.length === 0 ? plan.beyond : "";
}
