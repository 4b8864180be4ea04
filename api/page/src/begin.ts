/** Begins the page in its document. */
import { openHeld } from "./shell/open.ts";

export function begin(start: (root: HTMLElement) => void): void {
  const root = document.getElementById("page");
  if (root === null) return;
  start(root);
  const held = document.getElementById("held")?.textContent ?? "";
  if (held.trim() !== "") void openHeld(held);
}
