/** Which of two tints each buffer has, so that those that lie on each other are told apart where their colour is the
 * same: from the ground up, a buffer takes the tint that less of what is below it has. */
import type { Scene } from "./scene.ts";

/** Steps that are looked at of all spans together; of longer ones only some steps are. */
const MOST = 1 << 25;

/** `across` gives the position of each rank: what is long below a buffer counts more. */
export function tintsOf(scene: Scene, spans: Int32Array[], across: Float64Array): Uint8Array {
  const tints = new Uint8Array(scene.sizes.length);
  const steps = Math.max(1, scene.axis.times.length - 1);
  let all = 0;
  for (const list of spans) for (const span of list) all += (scene.end[span] as number) - (scene.begin[span] as number);
  const each = Math.max(1, Math.ceil(all / MOST));
  for (const list of spans) {
    // What is seen from above in each column: 0 nothing, 1 and 2 the tints.
    const top = new Uint8Array(Math.ceil(steps / each));
    for (const span of fromTheGround(scene, list)) {
      const from = Math.floor((scene.begin[span] as number) / each);
      const to = Math.max(from + 1, Math.floor((scene.end[span] as number) / each));
      const buffer = scene.owner[span] as number;
      if (span === scene.firstSpan[buffer]) {
        let lead = 0;
        for (let column = from; column < to; column++) {
          const long = (across[Math.min(steps, (column + 1) * each)] as number) - (across[column * each] as number);
          lead += top[column] === 1 ? long : top[column] === 2 ? -long : 0;
        }
        // Where nothing is below, or both alike, it differs from what was there just before.
        tints[buffer] = lead > 0 || (lead === 0 && top[from - 1] === 1) ? 1 : 0;
      }
      top.fill(1 + (tints[buffer] as number), from, to);
    }
  }
  return tints;
}

function fromTheGround(scene: Scene, spans: Int32Array): Int32Array {
  const low = Float64Array.from(spans, (span) => Number(scene.offsets[scene.owner[span] as number]));
  const order = Int32Array.from(spans.keys()).sort((one, other) => (low[one] as number) - (low[other] as number)
    || (scene.begin[spans[one] as number] as number) - (scene.begin[spans[other] as number] as number));
  return order.map((place) => spans[place] as number);
}
