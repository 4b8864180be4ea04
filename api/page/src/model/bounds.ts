/** What is known of the least that any plan needs: what this page has counted, what the judge has, what the file claims. */
import { isPeak } from "./status.ts";
import type { Amount } from "./columns.ts";
import { NOTHING_THERE, type Proof, type Prover } from "./proofs.ts";
import type { Scene, Term } from "./scene.ts";
import type { PoolShown } from "./shown.ts";

export interface Bound {
  value: Amount;
  /** Whether this page has counted it; otherwise the plan claims it, for this reason unchecked. */
  checked: boolean;
  /** Whether the judge has checked it when the page was made. */
  judged: boolean;
  reason: string;
  buffers: Int32Array;
  /** The step in which all of them are live; -1: there need not be one. */
  moment: number;
}

/** The best bound on the peak of a pool; null: none is known. */
export function poolBound(scene: Scene, prover: Prover, place: number, judged: string[]): Bound | null {
  const claimed = scene.claims?.bounds.get(place);
  const known = (proof: Proof): Bound | null => (
    "reason" in proof ? null : { value: proof.bound, checked: true, judged: false, reason: "", buffers: Int32Array.from(proof.buffers), moment: proof.moment }
  );
  if (scene.program?.anyOrder === true) return overOrders(scene, place, judged);
  const counted = prover.own(place);
  // Of several pools it is known where nothing must be; of the only one it is not known what must.
  const own = "reason" in counted && counted.reason === NOTHING_THERE && scene.pools.length > 1 ? ofNothing(scene) : known(counted);
  if (claimed === undefined) return own;
  if (own !== null && own.value >= claimed.bound) return own;
  const first = scene.claims?.terms[0];
  const certificate = claimed.certificate ?? (scene.pools.length === 1 && first?.term === "peak" ? first.certificate : null);
  const proof = certificate === null || certificate.kind !== "live_bytes" ? null : prover.ofPool(certificate, place);
  const shown = proof === null ? null : known(proof);
  if (shown !== null && shown.value >= claimed.bound) return shown;
  const reason = proof !== null && "reason" in proof ? proof.reason : `claimed by ${scene.claims?.prover ?? "the plan"}`;
  return { value: claimed.bound, checked: false, judged: false, reason, buffers: new Int32Array(), moment: -1 };
}

function ofNothing(scene: Scene): Bound {
  return { value: scene.zero, checked: true, judged: false, reason: "", buffers: new Int32Array(), moment: -1 };
}

/** What is claimed of the only pool in every order of the graph: nothing that is live in this order says more. */
function overOrders(scene: Scene, place: number, judged: string[]): Bound | null {
  const first = scene.claims?.terms[0];
  const claimed = scene.claims?.bounds.get(place);
  if (first !== undefined && scene.pools.length === 1 && isPeak(first.term)) return boundOverOrders(first, judged);
  return claimed === undefined || !(claimed.bound > 0) ? null : {
    value: claimed.bound, checked: false, judged: false, reason: "it is about every order of the operators", buffers: new Int32Array(), moment: -1,
  };
}

function boundOverOrders(term: Term, judged: string[]): Bound {
  const kind = term.certificate?.kind ?? "";
  const reason = kind === "cut" || kind === "refuted"
    ? "a proof about every order of the operators is for the judge"
    : "it is about every order of the operators";
  const certain = !(term.bound > 0);
  return { value: term.bound, checked: certain, judged: judged.includes(term.term), reason, buffers: new Int32Array(), moment: -1 };
}

/** For each term of the objective the best bound; null: none is known. */
export function termBounds(scene: Scene, prover: Prover, pools: PoolShown[], judged: string[]): (Bound | null)[] {
  const only = pools[0]?.bound;
  return (scene.claims?.terms ?? []).map((term): Bound | null => {
    if (scene.program?.anyOrder === true && term.certificate?.kind !== "least") return boundOverOrders(term, judged);
    if (scene.pools.length === 1 && isPeak(term.term) && only?.checked === true && only.value >= term.bound) return only;
    const proof = prover.ofTerm(term);
    if (!("reason" in proof) && proof.bound >= term.bound) {
      return { value: proof.bound, checked: true, judged: false, reason: "", buffers: Int32Array.from(proof.buffers), moment: proof.moment };
    }
    // That a peak is at least 0 says nothing, unless it is 0.
    if (!(term.bound > 0)) return isPeak(term.term) && term.value > 0 ? null : ofNothing(scene);
    const reason = "reason" in proof ? proof.reason : "the certificate shows less than it claims";
    return { value: term.bound, checked: false, judged: false, reason, buffers: new Int32Array(), moment: -1 };
  });
}

/** Whether live bytes above the capacity, as the explanation says, were counted here. */
export function isExplained(scene: Scene, prover: Prover): boolean {
  const explanation = scene.claims?.explanation ?? null;
  if (scene.program?.anyOrder === true || explanation === null || explanation.code !== "over_capacity") return false;
  const pool = explanation.pool === null ? (scene.pools.length === 1 ? 0 : -1) : scene.pools.findIndex((one) => one.id === explanation.pool);
  const capacity = scene.pools[pool]?.capacity ?? null;
  if (capacity === null) return false;
  const certificate = {
    kind: "live_bytes", pool: explanation.pool, time: explanation.time, buffers: explanation.buffers, parts: [], solver: null, order: null,
  };
  const proof = prover.ofPool(certificate, pool);
  return !("reason" in proof) && proof.bound > capacity;
}
