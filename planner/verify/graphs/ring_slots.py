"""Runs a strip in rings of given sizes: row r lies in slot r % rows, until another row takes the slot."""

from collections.abc import Mapping

from memstow.planner.verify.effort import Effort
from memstow.planner.verify.graphs.refused import Refused
from memstow.planner.verify.graphs.rolling_rows import Keeping, Rows
from memstow.planner.verify.graphs.stripe_parts import Parts

_EMPTY = -1


def check_slots(parts: Parts, rows: Rows, ring_rows: Mapping[int, int], effort: Effort) -> None:
    """Raises Refused where a row is not there when it is read, or is overwritten while it is needed."""
    effort.spend(sum(ring_rows.values()))
    slots = {place: [_EMPTY] * count for place, count in ring_rows.items()}
    keeping = Keeping(parts, rows, effort)
    for place in rows.steps:
        effort.spend(1 + len(parts.sources[place]))
        row, it = keeping.done[place], parts.rolling[place]
        for name, maker in parts.sources[place]:
            begin, end = it.reads[name][0].of(row, row + 1)
            effort.spend(max(end - begin, 0))
            held = slots.get(maker)
            for wanted in range(begin, end):
                there = wanted < keeping.done[maker] if held is None else _is_in(held, wanted)
                if not there:
                    raise Refused(f"row {wanted:,} of {name!r} is not there when {it.operator.id!r} reads it")
        held = slots.get(place)
        if held:
            old = held[row % len(held)]
            if old != _EMPTY and old >= keeping.first_needed(place):
                raise Refused(
                    f"row {row:,} of {it.output!r} is written over row {old:,}, which is still needed"
                )
            held[row % len(held)] = row
        keeping.done[place] += 1
    for place, it in enumerate(parts.rolling):
        if parts.is_sink(place) and keeping.done[place] != it.made.rows:
            raise Refused(f"{it.operator.id!r} makes {keeping.done[place]:,} of {it.made.rows:,} rows")


def _is_in(held: list[int], row: int) -> bool:
    return bool(held) and held[row % len(held)] == row
