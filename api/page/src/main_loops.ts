/** The script of a page of its own that shows a program: the same, and what its loops need. */
import { LOOPS_PARTS } from "./loops/parts.ts";
import { parts } from "./shell/parts.ts";
import { run } from "./alone.ts";

Object.assign(parts, LOOPS_PARTS);
run();
