/** A plan as it is written: placements by name, and what it claims. It is joined with its problem in `scene.ts`. */
import { Column, IndexColumn } from "./columns.ts";
import type { JsonReader, Whole } from "./json.ts";
import { NameColumn, type PackedNames } from "./names.ts";
import { strings } from "./problem.ts";

export interface RawUse {
  pool: string;
  capacity: Whole | null;
  peak: Whole;
  bound: Whole;
  live: Whole;
}

export interface RawTerm {
  term: string;
  value: Whole;
  bound: Whole;
}

export interface RawPlan {
  status: string;
  names: PackedNames;
  poolNames: string[];
  pools: Int32Array;
  offsets: Column;
  uses: RawUse[];
  terms: RawTerm[];
  /** Why nothing fits, as the plan says; empty: it says nothing. */
  explanation: string;
  closest: { pool: string; peak: Whole; capacity: Whole }[];
  solver: string | null;
  seconds: number;
  version: string | null;
  digest: string | null;
  schedule: string[];
  /** What the page cannot do with a graph to draw this plan, in words; empty: nothing. */
  beyond: string;
}

const BEYOND = "it runs operators in stripes, again or with copies, which this page cannot work out: `memstow view` makes a page that can draw it";

class Placements {
  readonly names = new NameColumn();
  readonly poolNames: string[] = [];
  readonly pools = new IndexColumn();
  readonly offsets = new Column();
  readonly #poolAt = new Map<string, number>();

  read(json: JsonReader): void {
    json.list((index) => {
      let buffer: string | null = null;
      let pool: string | null = null;
      let offset: Whole | null = null;
      json.object((field) => {
        if (field === "buffer") buffer = json.string();
        else if (field === "pool") pool = json.string();
        else if (field === "offset") offset = json.whole();
        else json.skip();
      });
      if (buffer === null || pool === null || offset === null) {
        json.fail(`placement ${index} needs a buffer, a pool and an offset`);
      }
      this.names.push(buffer);
      this.offsets.push(offset);
      this.pools.push(this.#place(pool));
    });
  }

  #place(pool: string): number {
    let place = this.#poolAt.get(pool);
    if (place === undefined) {
      place = this.poolNames.push(pool) - 1;
      this.#poolAt.set(pool, place);
    }
    return place;
  }
}

/** `other` reads fields that only plans of problems with symbols have, and says whether it did. */
export function readPlan(json: JsonReader, other: (field: string) => boolean = () => false): RawPlan {
  const placements = new Placements();
  const plan = {
    status: "feasible", uses: [] as RawUse[], terms: [] as RawTerm[], explanation: "",
    closest: [] as RawPlan["closest"], solver: null as string | null, seconds: 0,
    version: null as string | null, digest: null as string | null, schedule: [] as string[], beyond: "",
  };
  json.object((field) => {
    if (json.isNull() || other(field)) return;
    switch (field) {
      case "placements": placements.read(json); break;
      case "status": case "solver": case "version": case "digest": plan[field] = json.string(); break;
      case "seconds": plan.seconds = json.number(); break;
      case "pools": json.list(() => plan.uses.push(readUse(json))); break;
      case "objective": json.list(() => plan.terms.push(readTerm(json))); break;
      case "explanation": json.object((part) => {
        if (part === "message") plan.explanation = json.string();
        else json.skip();
      });
        break;
      case "closest": json.list(() => plan.closest.push(readOverflow(json))); break;
      case "schedule": json.object((part) => {
        if (part === "order") plan.schedule = strings(json);
        else if (["alternatives", "stripes", "spills"].includes(part)) json.list(() => {
          plan.beyond = BEYOND;
          json.skip();
        });
        else json.skip();
      });
        if (new Set(plan.schedule).size < plan.schedule.length) plan.beyond = BEYOND;
        break;
      default: json.skip();
    }
  });
  return {
    ...plan,
    names: placements.names.packed(), poolNames: placements.poolNames, pools: placements.pools.values(),
    offsets: placements.offsets,
  };
}

function readUse(json: JsonReader): RawUse {
  const use: RawUse = { pool: "", capacity: null, peak: 0, bound: 0, live: 0 };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "pool") use.pool = json.string();
    else if (field === "capacity" || field === "peak" || field === "bound") use[field] = json.whole();
    else if (field === "live") {
      json.object((part) => {
        if (part === "bytes") use.live = json.whole();
        else json.skip();
      });
    } else json.skip();
  });
  return use;
}

function readTerm(json: JsonReader): RawTerm {
  const term: RawTerm = { term: "", value: 0, bound: 0 };
  json.object((field) => {
    if (json.isNull()) return;
    if (field === "term") term.term = json.string();
    else if (field === "value" || field === "bound") term[field] = json.whole();
    else json.skip();
  });
  return term;
}

function readOverflow(json: JsonReader): { pool: string; peak: Whole; capacity: Whole } {
  const use: { pool: string; peak: Whole; capacity: Whole } = { pool: "", peak: 0, capacity: 0 };
  json.object((field) => {
    if (field === "pool") use.pool = json.string();
    else if (field === "peak" || field === "capacity") use[field] = json.whole();
    else json.skip();
  });
  return use;
}
