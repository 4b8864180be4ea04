"""The strips of a stripe: which columns of each tensor are made in each of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from memstow.planner.graph.stripes.members import Members

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Strips:
    """By strip and place, the columns that are made there (half-open)."""

    spans: tuple[tuple[Span, ...], ...]
    widest: tuple[int, ...]
    """By place, the most columns in one strip."""
    total: tuple[int, ...]
    """By place, the columns made in all strips; more than there are where strips overlap."""


def strips_of(members: Members, columns: int) -> Strips:
    """The strips of so many columns of what the last operator makes."""
    reference = members.kinds[-1].columns
    spans = [
        _spans(members, begin, min(begin + columns, reference), reference)
        for begin in range(0, reference, columns)
    ]
    by_place = list(zip(*spans, strict=True))
    return Strips(
        tuple(tuple(them) for them in spans),
        tuple(max(_width(it) for it in them) for them in by_place),
        tuple(sum(_width(it) for it in them) for them in by_place),
    )


def _width(span: Span) -> int:
    return span[1] - span[0]


def _spans(members: Members, begin: int, end: int, reference: int) -> Sequence[Span]:
    """Of one strip: what is needed as a whole has a share in it; the rest is made as far as it is read."""
    spans: list[Span] = [(0, 0)] * members.count
    for place in reversed(range(members.count)):
        kind = members.kinds[place]
        found: list[Span] = []
        if members.leaves[place] or kind.reduces:
            found.append((begin * kind.columns // reference, end * kind.columns // reference))
        if not kind.reduces:
            for reader in members.readers[place]:
                low, high = spans[reader.place]
                if low < high:
                    axis = members.kinds[reader.place].uses[reader.use].columns
                    found.append((axis.first(low), axis.end(high - 1)))
        found = [span for span in found if span[0] < span[1]]
        if found:
            spans[place] = min(it[0] for it in found), max(it[1] for it in found)
    return spans
