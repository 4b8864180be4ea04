/** Everything that is computed once, in a worker, before a plan is drawn. */
import { type Amount, larger } from "./columns.ts";
import { type Documents, readDocuments } from "./documents.ts";
import { byArea, type Ordered, positions } from "./order.ts";
import { type Proof, Prover } from "./proofs.ts";
import { type Scene, sceneOf, top } from "./scene.ts";
import { type Profile, profileOf, skylineOf } from "./steps.ts";
import { checkPlan, type Validity } from "./validity.ts";

export interface PoolShown {
  /** Its spans, largest first, with time as given and by change. */
  given: Ordered;
  byChange: Ordered;
  profile: Profile;
  skyline: Float64Array;
  peak: Amount;
  /** The best bound on its peak that is known; null: none. */
  bound: Bound | null;
}

export interface Bound {
  value: Amount;
  /** Whether this page has counted it; otherwise the plan claims it, for this reason unchecked. */
  checked: boolean;
  reason: string;
  buffers: Int32Array;
  /** The step in which all of them are live; -1: there need not be one. */
  moment: number;
}

export interface Shown {
  scene: Scene;
  pools: PoolShown[];
  validity: Validity;
  /** For each term of the objective the best bound. */
  terms: Bound[];
  /** Whether what the explanation says of live bytes was counted here. */
  explained: boolean;
}

export type Progress = (doing: string, part: number) => void;

/** Reads the files of one view: a problem and a plan, in one or in two. */
export function readShown(files: { name: string; bytes: Uint8Array }[], progress: Progress): Shown {
  const documents: Documents = { problem: null, plan: null, search: [], name: "" };
  let name = "";
  for (const file of files) {
    const read = readDocuments(file.bytes, (part) => progress(`reading ${file.name}`, part));
    if (read.problem !== null) {
      documents.problem = read.problem;
      name = read.name || file.name;
    }
    if (read.plan !== null) documents.plan = read.plan;
    if (read.search.length > 0) documents.search = read.search;
  }
  progress("joining", 0);
  return showScene(sceneOf(documents, name), progress);
}

export function showScene(scene: Scene, progress: Progress): Shown {
  const prover = new Prover(scene);
  const given = positions(scene.axis.times, false);
  const byChange = positions(scene.axis.times, true);
  const spans = spansByPool(scene);
  const pools = scene.pools.map((_, place): PoolShown => {
    progress("measuring", place / scene.pools.length);
    const inside = spans[place] as Int32Array;
    const profile = scene.claims === null || inside.length === 0 && hasNoPlan(scene)
      ? problemProfile(scene, place)
      : profileOf(scene, (buffer) => scene.pool[buffer] === place, inside);
    let peak = scene.zero;
    for (const span of inside) peak = larger(peak, top(scene, scene.owner[span] as number));
    return {
      given: byArea(scene, inside, given),
      byChange: byArea(scene, inside, byChange),
      profile,
      skyline: skylineOf(scene, inside),
      peak,
      bound: poolBound(scene, prover, place),
    };
  });
  progress("checking", 0);
  const validity = hasNoPlan(scene) ? { faults: [], unchecked: [] } : checkPlan(scene);
  return { scene, pools, validity, terms: termBounds(scene, prover, pools), explained: isExplained(scene, prover) };
}

export function hasNoPlan(scene: Scene): boolean {
  return scene.claims === null || scene.claims.status === "infeasible" || scene.claims.status === "unknown";
}

function spansByPool(scene: Scene): Int32Array[] {
  const counts = new Int32Array(scene.pools.length);
  const seen = (span: number): number => {
    const buffer = scene.owner[span] as number;
    return (scene.sizes[buffer] as Amount) > 0 ? (scene.pool[buffer] as number) : -1;
  };
  for (let span = 0; span < scene.owner.length; span++) {
    const pool = seen(span);
    if (pool >= 0) counts[pool] = (counts[pool] as number) + 1;
  }
  const lists = Array.from(counts, (count) => new Int32Array(count));
  counts.fill(0);
  for (let span = 0; span < scene.owner.length; span++) {
    const pool = seen(span);
    if (pool < 0) continue;
    const at = counts[pool] as number;
    (lists[pool] as Int32Array)[at] = span;
    counts[pool] = at + 1;
  }
  return lists;
}

/** Without a plan: what must be in this pool, since it may be in no other. */
function problemProfile(scene: Scene, place: number): Profile {
  const only = (buffer: number): boolean => {
    if (scene.pools.length === 1) return true;
    const pin = scene.pins.get(buffer)?.pool;
    const list = scene.lists[scene.allowed?.[buffer] ?? -1];
    return pin === place || (pin === undefined && list?.length === 1 && list[0] === place);
  };
  return profileOf(scene, only);
}

function poolBound(scene: Scene, prover: Prover, place: number): Bound | null {
  const claimed = scene.claims?.bounds.get(place);
  const known = (proof: Proof): Bound | null => (
    "reason" in proof ? null : { value: proof.bound, checked: true, reason: "", buffers: Int32Array.from(proof.buffers), moment: proof.moment }
  );
  const own = known(prover.own(place));
  if (claimed === undefined) return own;
  if (own !== null && own.value >= claimed.bound) return own;
  const first = scene.claims?.terms[0];
  const certificate = claimed.certificate ?? (scene.pools.length === 1 && first?.term === "peak" ? first.certificate : null);
  const proof = certificate === null || certificate.kind !== "live_bytes" ? null : prover.ofPool(certificate, place);
  const shown = proof === null ? null : known(proof);
  if (shown !== null && shown.value >= claimed.bound) return shown;
  const reason = proof !== null && "reason" in proof ? proof.reason : `claimed by ${scene.claims?.prover ?? "the plan"}`;
  return { value: claimed.bound, checked: false, reason, buffers: new Int32Array(), moment: -1 };
}

function termBounds(scene: Scene, prover: Prover, pools: PoolShown[]): Bound[] {
  const only = pools[0]?.bound;
  return (scene.claims?.terms ?? []).map((term): Bound => {
    if (scene.pools.length === 1 && isPeak(term.term) && only?.checked === true && only.value >= term.bound) return only;
    const proof = prover.ofTerm(term);
    if (!("reason" in proof) && proof.bound >= term.bound) {
      return { value: proof.bound, checked: true, reason: "", buffers: Int32Array.from(proof.buffers), moment: proof.moment };
    }
    if (!(term.bound > 0)) return { value: term.bound, checked: true, reason: "", buffers: new Int32Array(), moment: -1 };
    const reason = "reason" in proof ? proof.reason : "the certificate shows less than it claims";
    return { value: term.bound, checked: false, reason, buffers: new Int32Array(), moment: -1 };
  });
}

export function isPeak(term: string): boolean {
  return term === "peak" || term === "max_peak" || term.startsWith("peak:");
}

/** Whether live bytes above the capacity, as the explanation says, were counted here. */
function isExplained(scene: Scene, prover: Prover): boolean {
  const explanation = scene.claims?.explanation ?? null;
  if (explanation === null || explanation.code !== "over_capacity") return false;
  const pool = explanation.pool === null ? (scene.pools.length === 1 ? 0 : -1) : scene.pools.findIndex((one) => one.id === explanation.pool);
  const capacity = scene.pools[pool]?.capacity ?? null;
  if (capacity === null) return false;
  const certificate = {
    kind: "live_bytes", pool: explanation.pool, time: explanation.time, buffers: explanation.buffers, parts: [], solver: null,
  };
  const proof = prover.ofPool(certificate, pool);
  return !("reason" in proof) && proof.bound > capacity;
}

/** What may be moved to another thread instead of being copied. */
export function movable(shown: Shown): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  const look = (value: unknown, depth: number): void => {
    if (ArrayBuffer.isView(value)) found.add(value.buffer as ArrayBuffer);
    else if (typeof value === "object" && value !== null && depth < 4 && !Array.isArray(value)) {
      for (const inner of Object.values(value)) look(inner, depth + 1);
    }
  };
  look(shown, 0);
  for (const pool of shown.pools) look(pool, 0);
  for (const term of shown.terms) look(term, 0);
  return [...found];
}
