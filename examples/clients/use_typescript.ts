// Uses the types that openapi-typescript has made, with openapi-fetch: `node use_typescript.js URL`. The tests run it.
import createClient from "openapi-fetch";

import type { components, paths } from "./planner.js";

type Schemas = components["schemas"];
const client = createClient<paths>({ baseUrl: process.argv[2]! });
const buffers: Schemas["Buffer"][] = [
  { id: "a", size: 64, lifetime: [0, 2] },
  { id: "b", size: 3_000_000_000, lifetime: [1, 3] },
];

function sure<T>(answer: { data?: T; error?: Schemas["ProblemDocument"] }): T {
  if (answer.data === undefined) throw new Error(answer.error?.detail);
  return answer.data;
}

async function wait(job: Schemas["Job"]): Promise<Schemas["Job"]> {
  while (job.state === "queued" || job.state === "running") {
    await new Promise((resolve) => setTimeout(resolve, 50));
    job = sure(await client.GET("/v1/jobs/{job}", { params: { path: { job: job.id } } }));
  }
  if (job.state !== "done") throw new Error(job.error ?? job.state);
  return job;
}

function ordinary(plan: Schemas["Plan"] | Schemas["SymbolicPlan"]): Schemas["Plan"] {
  if (!("placements" in plan)) throw new Error(`no plan of an ordinary problem: ${plan.status}`);
  return plan;
}

const problem: Schemas["Problem"] = { version: 1, buffers };
const planned = sure(await client.POST("/v1/plan", { params: { query: { seed: 3 } }, body: problem }));
const plan = ordinary(planned as Schemas["Plan"] | Schemas["SymbolicPlan"]);
console.log("plan", plan.status, plan.pools?.[0]?.peak);

const submitted = await client.POST("/v1/jobs", { params: { query: { name: "from typescript" } }, body: problem });
const job = await wait(sure(submitted) as Schemas["Job"]);
const result = sure(await client.GET("/v1/jobs/{job}/plan", { params: { path: { job: job.id } } }));
const ofJob = ordinary(result as Schemas["Plan"] | Schemas["SymbolicPlan"]);
console.log("job", job.name, ofJob.status, ofJob.pools?.[0]?.peak);

const pools: Schemas["Pool"][] = [{ id: "fast", capacity: 64 }, { id: "slow", cost: 4 }];
const envelope: Schemas["SubmitFrontEnvelope"] = {
  problem: { version: 1, buffers: buffers.slice(0, 1), pools },
  front: { terms: ["peak:fast", "placement_cost"] },
};
const of = await wait(sure(await client.POST("/v1/fronts", { body: envelope })) as Schemas["Job"]);
const front = sure(await client.GET("/v1/jobs/{job}/front", { params: { path: { job: of.id } } })) as Schemas["Front"];
console.log("front", ...(front.points ?? []).map((point) => point["peak:fast"]));
