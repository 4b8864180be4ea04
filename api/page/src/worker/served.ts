/** The worker of the page of the service. */
import { readFronts } from "../model/front_shown.ts";
import { serve, setFronts } from "./reader.ts";

setFronts(readFronts);
serve();
