/** The worker of the page of the service. */
import { readFronts } from "../model/front_shown.ts";
import { readSymbolicShown } from "../model/symbolic_shown.ts";
import { serve, setOthers } from "./reader.ts";

setOthers((files, { point, at }, progress) => readSymbolicShown(files, at, progress) ?? readFronts(files, point, progress));
serve();
