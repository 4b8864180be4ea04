/** What a page that shows a program has more. */
import type { Parts } from "../shell/parts.ts";
import { stepKey } from "./current.ts";
import { LoopsView } from "./view.tsx";
import { UsesOf } from "./uses.tsx";

export const LOOPS_PARTS: Pick<Parts, "loops" | "usesOf" | "frontKey"> = { loops: LoopsView, usesOf: UsesOf, frontKey: stepKey };
