/** What a plan is, in a word. Apart from what reads, so that the page need not load that. */
import type { Scene } from "./scene.ts";

export function hasNoPlan(scene: Scene): boolean {
  return scene.claims === null || scene.claims.status === "infeasible" || scene.claims.status === "unknown";
}

export function isPeak(term: string): boolean {
  return term === "peak" || term === "max_peak" || term.startsWith("peak:");
}
