/** Starts a page of its own, which works offline. Its script is its worker as well: there is no other file. */
import { begin } from "./begin.ts";
import { start } from "./shell/app.tsx";
import { LessBytes, NoPlan, WithoutIt } from "./shell/less.tsx";
import { parts } from "./shell/parts.ts";
import { setWorker } from "./worker/ask.ts";
import { serve } from "./worker/reader.ts";

export function run(): void {
  if (typeof document === "undefined") {
    serve();
    return;
  }
  Object.assign(parts, { less: LessBytes, noPlan: NoPlan, withoutIt: WithoutIt });
  const own = document.currentScript as HTMLScriptElement | null;
  if (own !== null) setWorker(URL.createObjectURL(new Blob([own.text], { type: "text/javascript" })), "classic");
  begin(start);
}
