"""The strips of a stripe: which columns each operator makes in each of them."""

from collections.abc import Iterator

from memstow.planner.model.ranges import measure, merged
from memstow.planner.verify.effort import Effort
from memstow.planner.verify.graphs.images import NOTHING, Part, joined
from memstow.planner.verify.graphs.refused import Refused
from memstow.planner.verify.graphs.stripe_parts import Parts

Strip = list[Part]
"""By place in the stripe, the columns that the operator makes; or takes in, where it is a reduction."""


def strips_of(parts: Parts, effort: Effort) -> Iterator[Strip]:
    """The strips from left to right, each checked: every column that is read is made in the same strip."""
    made: list[list[Part]] = [[] for _ in parts.rolling]
    whole = parts.reference.columns
    each = 1 + len(parts.rolling) + 2 * sum(map(len, parts.sources))
    for begin in range(0, whole, parts.width):
        effort.spend(each)
        strip = _strip(parts, begin, min(begin + parts.width, whole))
        _check_reads(parts, strip)
        for place, columns in enumerate(strip):
            made[place].append(columns)
        yield strip
    for place, it in enumerate(parts.rolling):
        wanted, found = it.made.columns, measure(merged(made[place]))
        if it.reduces is not None and sum(end - begin for begin, end in made[place]) != wanted:
            raise Refused(f"{it.operator.id!r} does not take in each column once")
        if parts.is_sink(place) and found != wanted:
            raise Refused(f"{it.operator.id!r} makes {found:,} of {wanted:,} columns")


def _strip(parts: Parts, begin: int, end: int) -> Strip:
    """From the readers back to what they read."""
    whole = parts.reference.columns
    needs: dict[str, Part] = {}
    strip: Strip = [NOTHING] * len(parts.rolling)
    for place in range(len(parts.rolling) - 1, -1, -1):
        it = parts.rolling[place]
        share = begin * it.made.columns // whole, end * it.made.columns // whole
        if it.reduces is not None:
            made = share
        else:
            made = needs.get(it.output, NOTHING)
            if parts.is_sink(place):
                made = joined(made, share)
        strip[place] = made if made[0] < made[1] else NOTHING
        for name, _ in parts.sources[place]:
            needs[name] = joined(needs.get(name, NOTHING), it.reads[name][1].of(*strip[place]))
    return strip


def _check_reads(parts: Parts, strip: Strip) -> None:
    for place, sources in enumerate(parts.sources):
        for name, maker in sources:
            begin, end = parts.rolling[place].reads[name][1].of(*strip[place])
            there = strip[maker]
            if begin < end and not there[0] <= begin < end <= there[1]:
                raise Refused(
                    f"{parts.rolling[place].operator.id!r} reads columns {begin:,} to {end:,} of {name!r}, "
                    f"and the strip has {there[0]:,} to {there[1]:,}"
                )
