/** The script of a page of its own that holds a plan of formulas: the same, and what symbols need. */
import { readSymbolicShown } from "./model/symbolic_shown.ts";
import { parts } from "./shell/parts.ts";
import { SYMBOL_PARTS } from "./symbols/parts.ts";
import { setOthers } from "./worker/reader.ts";
import { run } from "./alone.ts";

Object.assign(parts, SYMBOL_PARTS);
setOthers((files, { at }, progress) => readSymbolicShown(files, at, progress));
run();
