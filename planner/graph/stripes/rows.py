"""The rows of a stripe by demand: who makes which row when, and how many rows must be kept for others.

The same in each strip of columns, since what a row needs does not depend on the columns.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from memstow.planner.graph.links import NOBODY
from memstow.planner.graph.stripes.members import Members


@dataclass(frozen=True, slots=True)
class Ring:
    """The rows of a tensor that are kept at a time, and while which operators."""

    rows: int
    first: int
    """The first place that runs while it holds a row, or makes or reads one."""
    last: int


@dataclass(frozen=True, slots=True)
class Rows:
    """What comes of a replay."""

    made: tuple[int, ...]
    """By place, the rows that it makes in a strip."""
    rings: tuple[Ring | None, ...]
    """By place, of what it makes; None where that is there as a whole."""


def made_rows(members: Members) -> tuple[int, ...]:
    """By place, how many rows it makes in a strip: all, if they are needed as a whole."""
    made = [0] * members.count
    for place in reversed(range(members.count)):
        kind = members.kinds[place]
        if members.leaves[place] or kind.reduces:
            made[place] = kind.rows
            continue
        for reader in members.readers[place]:
            if made[reader.place]:
                axis = members.kinds[reader.place].uses[reader.use].rows
                made[place] = max(made[place], axis.end(made[reader.place] - 1))
    return tuple(made)


def steps(members: Members) -> Iterator[tuple[int, int]]:
    """(place, row), in the order in which rows are made."""
    done = [0] * members.count
    last = members.count - 1
    sinks = [place for place in range(last) if members.leaves[place] or members.kinds[place].reduces]
    reference = members.kinds[last].rows
    for row in range(reference):
        for place in sinks:
            until = (row + 1) * members.kinds[place].rows // reference
            while done[place] < until:
                yield from _make(members, place, done)
        yield from _make(members, last, done)


def _make(members: Members, place: int, done: list[int]) -> Iterator[tuple[int, int]]:
    """The next row at a place, after what it needs."""
    waiting = [place]
    while waiting:
        here = waiting[-1]
        kind = members.kinds[here]
        for use, source in zip(kind.uses, members.sources[here], strict=True):
            if source != NOBODY and done[source] < use.rows.end(done[here]):
                waiting.append(source)
                break
        else:
            yield here, done[here]
            done[here] += 1
            waiting.pop()


def replay(members: Members) -> Rows:
    """Goes through all rows of a strip once, and counts."""
    made = made_rows(members)
    done = [0] * members.count
    most = [0] * members.count
    first = [members.count] * members.count
    last = [-1] * members.count
    inside = [place for place in range(members.count) if not members.leaves[place]]
    inside = [place for place in inside if not members.kinds[place].reduces]

    def needed_from(place: int) -> int:
        """The first row that is still needed of what is made at a place."""
        least = done[place]
        for reader in members.readers[place]:
            if done[reader.place] < made[reader.place]:
                axis = members.kinds[reader.place].uses[reader.use].rows
                least = min(least, axis.first(done[reader.place]))
        return least

    for here, _ in steps(members):
        touched = {here, *members.sources[here]}
        for place in inside:
            if place in touched or needed_from(place) < done[place]:
                first[place], last[place] = min(first[place], here), max(last[place], here)
        done[here] += 1
        if not members.leaves[here] and not members.kinds[here].reduces:
            # The row is there before it is known that nobody needs it.
            most[here] = max(most[here], done[here] - min(needed_from(here), done[here] - 1))
    rings = [
        Ring(most[place], first[place], last[place]) if place in inside and most[place] else None
        for place in range(members.count)
    ]
    return Rows(made, tuple(rings))
