/** What a page that can show plans of formulas has more. */
import type { Parts } from "../shell/parts.ts";
import { link, opened } from "./current.ts";
import { valueKey } from "./keys.ts";
import { PointsSide } from "./points.tsx";
import { ValuesView } from "./view.tsx";

export const SYMBOL_PARTS: Pick<Parts, "status" | "side" | "frontKey" | "opened" | "link"> = {
  status: ValuesView, side: PointsSide, frontKey: valueKey, opened, link,
};
