/** What a plan is, in a word. Apart from what reads and proves, so that the page need not load that. */
import type { Scene } from "./scene.ts";

/** What is said of a plan whose problem is missing, and of a comparison with one plan: both may still come. */
export const NO_PROBLEM = "a plan names buffers, but not their sizes and lifetimes: open its problem with it";
export const MISSING_SECOND = "a comparison needs two plans and their problem: add the other plan";

export function hasNoPlan(scene: Scene): boolean {
  return scene.claims === null || scene.claims.status === "infeasible" || scene.claims.status === "unknown";
}

export function isPeak(term: string): boolean {
  return term === "peak" || term === "max_peak" || term.startsWith("peak:");
}
