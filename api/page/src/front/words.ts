/** A front in a sentence: what there is to choose, and how much of it is proven. */
import { plain } from "../draw/format.ts";
import type { Front, FrontPoint } from "../model/front.ts";
import type { Fact, Verdict } from "../model/verdict.ts";
import { exact, least, onFront, ratio, valueText } from "./values.ts";

export function verdictOfFront(front: Front): Verdict {
  const sound = onFront(front);
  const wrong = front.points.length - sound.length;
  const notes = [
    ...(sound.length === 1 && front.points.length === 1 ? [oneWords(front, sound[0] as FrontPoint)] : []),
    ...(wrong > 0 ? [`${wrong === 1 ? "One point is" : `${wrong} points are`} crossed out: the list says why.`] : []),
    ...(front.points.some((point) => point.missing !== "") ? [missingText(front)] : []),
  ];
  const note = notes.join(" ");
  if (sound.length === 0) {
    const rest = front.points.length === 0 ? (front.complete ? "Nothing fits, as the file claims." : "Nothing was found.") : "All of them are wrong.";
    return { lead: "No point is left.", rest, tone: "wrong", note: [plain(front.explanation, 300), note].filter((text) => text !== "").join(" ") };
  }
  const lead = `${range(front, sound)}.`;
  const open = sound.filter((point) => point.standing === "open").length;
  const counted = sound.every((point) => point.standing === "counted");
  if (wrong > 0 && front.complete) return { lead, rest: "The file calls it complete, but parts of it are wrong.", tone: "wrong", note };
  if (open === 0) {
    const all = sound.length === 1 ? "It is proven" : "All are proven";
    const rest = front.complete ? `${all}, and none is missing, as the file claims.` : `${all}${counted ? "" : ", as the file claims"}; there may be others.`;
    return { lead, rest, tone: front.complete || !counted ? "claimed" : "open", note };
  }
  const proven = sound.length - open;
  const rest = sound.length === 1 ? "It is not proven; there may be better ones." : proven === 0 ? "None is proven; there may be better ones." : `${proven} of ${sound.length} proven${counted ? "" : ", as the file claims"}; there may be better ones.`;
  return { lead, rest, tone: "open", note };
}

/** "From 54 KiB down to 22 KiB for ×1.27": how far each term can be brought. */
function range(front: Front, sound: FrontPoint[]): string {
  const [first] = front.terms;
  const sorted = [...sound].sort((one, other) => Number(one.values[0]) - Number(other.values[0]));
  const [low, high] = [sorted[0] as FrontPoint, sorted[sorted.length - 1] as FrontPoint];
  if (sorted.length === 1) return `One point: ${valueText(first, low.values[0])}, ${plain(front.terms[1], 30).replaceAll("_", " ")} ${valueText(front.terms[1], low.values[1])}`;
  const times = ratio(low.values[1], least(front, 1));
  const price = times === "" ? `${valueText(front.terms[1], low.values[1])} of ${plain(front.terms[1], 30)}` : `${times} the ${plain(front.terms[1], 30).replaceAll("_", " ")}`;
  return `From ${valueText(first, high.values[0])} down to ${valueText(first, low.values[0])} for ${price}`;
}

/** Why there is nothing to choose. */
function oneWords(front: Front, point: FrontPoint): string {
  const [first, second] = front.terms.map((term) => plain(term, 30).replaceAll("_", " ")) as [string, string];
  if (front.complete) return `There is nothing to choose: no plan has less ${first}, whatever its ${second}, as the file claims.`;
  if (point.standing !== "open") return `This plan has the least of both; no other is needed.`;
  return `No plan with less ${first} was found, whatever its ${second}; there may be some.`;
}

function missingText(front: Front): string {
  const missing = front.points.filter((point) => point.missing !== "");
  const many = missing.length === front.points.length ? "No plan can be drawn" : `${missing.length} of the plans cannot be drawn`;
  return `${many}: ${plain(missing[0]?.missing ?? "", 300)}.`;
}

export function factsOfFront(front: Front): Fact[] {
  const sound = onFront(front);
  const proven = sound.filter((point) => point.standing !== "open").length;
  const facts = [{ label: "points", value: String(sound.length) }, { label: "proven", value: String(proven) }];
  front.terms.forEach((term, axis) => {
    const value = least(front, axis as 0 | 1);
    if (value !== null) facts.push({ label: `least ${plain(term, 30).replaceAll("_", " ")}`, value: exact(term, value) });
  });
  if (front.judged) facts.push({ label: "plans", value: "judged" });
  return facts;
}
