/** What the program does with the chosen buffer: the segments that use it. */
import type { JSX } from "preact";
import { plain } from "../draw/format.ts";
import type { Operand, Segment } from "../model/loops.ts";
import type { Shown } from "../model/shown.ts";
import * as state from "../shell/state.ts";

const MOST = 12;

const VERBS: Record<Operand["role"], string> = { reads: "reads it", makes: "makes it", ring: "makes and reads its rows", sums: "adds up in it", needs: "works in it" };

export function UsesOf(props: { shown: Shown; buffer: number }): JSX.Element | null {
  const { shown, buffer } = props;
  const uses = usesIn(shown.loops ?? [], buffer);
  if (uses.length === 0) return null;
  return (
    <>
      <h3>In the program</h3>
      {uses.slice(0, MOST).map(({ place, name, roles }) => (
        <button key={place} type="button" class="line" aria-current={state.operator.value === place} onClick={() => state.chooseOperator(place)}>
          <span class="name">{place + 1}. {plain(name, 60)}</span>
          <span class="quiet">{roles.map((role) => VERBS[role]).join(", ")}</span>
        </button>
      ))}
      {uses.length > MOST && <p class="quiet">and {uses.length - MOST} more</p>}
    </>
  );
}

export function usesIn(segments: readonly Segment[], buffer: number): { place: number; name: string; roles: Operand["role"][] }[] {
  return segments.flatMap((segment, place) => {
    const roles = segment.operands.filter((one) => one.buffer === buffer).map((one) => one.role);
    return roles.length === 0 ? [] : [{ place, name: segment.name, roles: [...new Set(roles)] }];
  });
}
