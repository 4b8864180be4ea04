/** A front in a sentence: what there is to choose, and how much of it is proven. */
import { plain } from "../draw/format.ts";
import type { Front, FrontPoint, Target } from "../model/front.ts";
import type { Fact, Verdict } from "../model/verdict.ts";
import { exact, least, onFront, onWord, ratio, valueText } from "./values.ts";

export function verdictOfFront(front: Front): Verdict {
  const sound = onFront(front);
  const wrong = front.points.length - sound.length;
  const word = onWord(front);
  const notes = [
    ...(front.target === null ? [] : [targetWords(front.target)]),
    ...(sound.length === 1 && front.points.length === 1 ? [oneWords(front, sound[0] as FrontPoint)] : []),
    ...(wrong > 0 ? [`${wrong === 1 ? "One point is" : `${wrong} points are`} crossed out: the list says why.`] : []),
    ...(front.points.some((point) => point.missing !== "") ? [missingText(front)] : []),
  ];
  const note = notes.join(" ");
  if (sound.length === 0) {
    const rest = front.points.length === 0 ? (front.complete ? `Nothing fits${word}.` : "Nothing was found.") : "All of them are wrong.";
    return { lead: "No point is left.", rest, tone: "wrong", note: [plain(front.explanation, 300), note].filter((text) => text !== "").join(" ") };
  }
  const lead = `${range(front, sound)}.`;
  const open = sound.filter((point) => point.standing === "open").length;
  const counted = sound.every((point) => point.standing === "counted");
  if (wrong > 0 && front.complete) return { lead, rest: `The ${front.source} calls it complete, but parts of it are wrong.`, tone: "wrong", note };
  if (open === 0) {
    const all = sound.length === 1 ? "It is proven" : "All are proven";
    const rest = front.complete ? `${all}, and none is missing${word}.` : `${all}${counted ? "" : word}; there may be others.`;
    const claimed = front.source === "file" && !counted ? "claimed" : "open";
    return { lead, rest, tone: !front.complete ? claimed : front.source === "service" ? "proven" : "claimed", note };
  }
  const proven = sound.length - open;
  const rest = sound.length === 1 ? "It is not proven; there may be better ones." : proven === 0 ? "None is proven; there may be better ones." : `${proven} of ${sound.length} proven${counted ? "" : word}; there may be better ones.`;
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
  const plan = front.keepsOrder ? "plan of this order" : "plan";
  if (front.complete) return `There is nothing to choose: no ${plan} has less ${first}, whatever its ${second}${onWord(front)}.`;
  if (point.standing !== "open") return `This plan has the least of both; no other is needed.`;
  return `No ${plan} with less ${first} was found, whatever its ${second}; there may be some.`;
}

/** In whose memories it is, where several targets are compared: their job is proven only if all of them are. */
function targetWords(target: Target): string {
  const name = plain(target.name, 60);
  const which = target.smallest ? `${name}, the smallest of ${target.all} targets that will do` : `${name}, one of ${target.all} targets`;
  return `This is in the memories of ${which}.${target.open === 0 ? "" : ` Of ${target.open === 1 ? "another" : `${target.open} others`} not all is known, so the job as a whole is not proven.`}`;
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
