/** What a page that can show fronts has more. */
import type { Parts } from "../shell/parts.ts";
import { frontKey } from "./keys.ts";
import { PointStrip } from "./strip.tsx";
import { FrontView } from "./view.tsx";

export const FRONT_PARTS: Pick<Parts, "front" | "point" | "frontKey"> = { front: FrontView, point: PointStrip, frontKey };
