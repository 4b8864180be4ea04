/** The worker of the page of the service. */
import { readFronts } from "../model/front_shown.ts";
import { serve, setOthers } from "./reader.ts";

setOthers((files, { point }, progress) => readFronts(files, point, progress));
serve();
