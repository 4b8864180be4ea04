/** The script of a page of its own that holds a front: the same, and what fronts need. */
import { FRONT_PARTS } from "./front/parts.ts";
import { readFronts } from "./model/front_shown.ts";
import { parts } from "./shell/parts.ts";
import { setOthers } from "./worker/reader.ts";
import { run } from "./alone.ts";

Object.assign(parts, FRONT_PARTS);
setOthers((files, { point }, progress) => readFronts(files, point, progress));
run();
