/** The script of a page of its own. */
import { run } from "./alone.ts";

run();
