/** The worker of the page of the service. */
import { serve } from "./reader.ts";

serve();
