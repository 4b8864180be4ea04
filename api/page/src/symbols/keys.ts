/** The keys of symbols: from one value that matters to the next. */
import { go, valuesNow, wanted } from "./current.ts";

export function valueKey(event: KeyboardEvent): boolean {
  if (event.key !== "n" && event.key !== "N") return false;
  const now = valuesNow();
  if (now === null) return false;
  step(event.key === "n" ? 1 : -1);
  return true;
}

function step(by: number): void {
  const now = valuesNow();
  if (now === null || now.points.length === 0) return;
  const at = wanted.peek() ?? now.at;
  const place = now.points.findIndex((point) => point.at.every((value, symbol) => value === at[symbol]));
  const next = now.points[place < 0 && by < 0 ? now.points.length - 1 : (place + by + now.points.length) % now.points.length];
  if (next !== undefined) go(next.at);
}
