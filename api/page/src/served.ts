/** The script of the page that the service has: the same, and all that talks with the service. */
import { begin } from "./begin.ts";
import { startServed } from "./service/app.tsx";
import { setWorker } from "./worker/ask.ts";

setWorker(document.querySelector<HTMLScriptElement>("script[data-worker]")?.dataset["worker"] ?? "", "module");
begin(startServed);
