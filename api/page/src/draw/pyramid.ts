/** The largest value of any range of steps in a few comparisons: the largest of each two, of each four, and so on,
 * summed up once for each series. A frame then costs the same, however many steps there are. */

const known = new WeakMap<ArrayLike<number>, Float64Array[]>();

/** The largest value of the steps from `begin` until `end`, at least 0. */
export function mostIn(values: ArrayLike<number>, begin: number, end: number): number {
  let most = 0;
  let [from, to] = [begin, end];
  for (const level of levelsOf(values)) {
    if (from >= to) break;
    if (from & 1) most = Math.max(most, level[from++] as number);
    if (to & 1) most = Math.max(most, level[--to] as number);
    from >>= 1;
    to >>= 1;
  }
  return most;
}

function levelsOf(values: ArrayLike<number>): Float64Array[] {
  const there = known.get(values);
  if (there !== undefined) return there;
  let level = values instanceof Float64Array ? values : Float64Array.from(values, Number);
  const levels = [level];
  while (level.length > 1) {
    const above = new Float64Array((level.length + 1) >> 1);
    for (let at = 0; at < above.length; at++) {
      above[at] = Math.max(level[2 * at] as number, level[2 * at + 1] ?? 0);
    }
    levels.push(above);
    level = above;
  }
  known.set(values, levels);
  return levels;
}
