/** The script of a page of its own, which works offline. It is its worker as well: there is no other file. */
import { begin } from "./begin.ts";
import { start } from "./shell/app.tsx";
import { setWorker } from "./worker/ask.ts";
import { serve } from "./worker/reader.ts";

if (typeof document === "undefined") serve();
else {
  const own = document.currentScript as HTMLScriptElement | null;
  if (own !== null) setWorker(URL.createObjectURL(new Blob([own.text], { type: "text/javascript" })), "classic");
  begin(start);
}
