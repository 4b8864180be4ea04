/** The script of the page, which is also that of its worker: one file, and no module is loaded twice. */
import { start } from "./shell/app.tsx";
import { openHeld } from "./shell/open.ts";
import { setScript } from "./worker/ask.ts";
import { serve } from "./worker/reader.ts";

if (typeof document === "undefined") serve();
else begin();

function begin(): void {
  const own = document.currentScript as HTMLScriptElement | null;
  const root = document.getElementById("page");
  if (own === null || root === null) return;
  // A page of its own has no file from which a worker could be started.
  setScript(own.src || URL.createObjectURL(new Blob([own.text], { type: "text/javascript" })));
  start(root);
  const held = document.getElementById("held")?.textContent ?? "";
  if (held.trim() !== "") void openHeld(held);
}
