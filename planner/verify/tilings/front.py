"""The points of a front: counted by the judge itself, and walked through as far as that is not too much."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from memstow.planner.model.tiling import FrontTile, Tiling
from memstow.planner.verify.tilings.counts import (
    LOOPS,
    Ways,
    counted,
    keeps_output,
    needs_of,
    pieces_of,
    what_is_wrong_with_tile,
)
from memstow.planner.verify.tilings.memory import Memory
from memstow.planner.verify.tilings.walk import MOST_STEPS, walk


def check_front(ways: Ways, memory: Memory, tiling: Tiling) -> tuple[tuple[FrontTile, ...] | None, list[str]]:
    """The points with whether each was walked through, and what is wrong with them.

    All points together have as many steps as one tiling may have; those of few steps come first.
    """
    if tiling.front is None:
        return None, []
    wrong: list[str] = []
    left, judged = MOST_STEPS, list(tiling.front)
    for number in sorted(range(len(judged)), key=lambda it: judged[it].tiles):
        point = judged[number]
        mistakes = list(_mistakes(ways, memory, point))
        wrong += mistakes
        left -= point.tiles
        walked = not mistakes and left >= 0
        if walked and not _is_as_walked(ways, point):
            wrong.append(f"a point of the front of {point.l1:,} bytes does not move {point.bytes:,}")
        elif point.replayed and not walked and not mistakes:
            wrong.append("a point of the front is said to be walked through, which takes too long")
        judged[number] = replace(point, replayed=walked)
    figures = [(it.l1, it.bytes) for it in tiling.front]
    if any(a[0] >= b[0] or a[1] <= b[1] for a, b in pairwise(figures)):
        wrong.append("a point of the front is no better than another")
    return tuple(judged), wrong


def _mistakes(ways: Ways, memory: Memory, point: FrontTile) -> Iterator[str]:
    wrong = what_is_wrong_with_tile(ways.found, point.tile)
    if wrong is not None:
        yield f"a point of the front is no tile: {wrong}"
        return
    if sorted(point.loops) != sorted(LOOPS):
        yield "the loops of a point of the front are not each direction once"
        return
    cuts = ways.cuts(point.tile)
    needs = needs_of(ways.found, cuts, point.loops, ways.options)
    has = counted(needs, cuts, ways.options, memory)
    if not keeps_output(needs, cuts):
        yield "at a point of the front a tile of the output goes away before it is done"
    if (has.l1, has.bytes) != (point.l1, point.bytes):
        yield f"a point of the front does not need {point.l1:,} bytes and move {point.bytes:,}"
    if has.tiles != point.tiles:
        yield f"a point of the front has {has.tiles:,} tiles, not {point.tiles:,}"
    if has.l1 > memory.capacity:
        yield f"a point of the front needs {has.l1:,} bytes, more than the memory has"


def _is_as_walked(ways: Ways, point: FrontTile) -> bool:
    walked = walk(ways.found, pieces_of(ways.found, point.tile), point.loops)
    return walked.shows(needs_of(ways.found, ways.cuts(point.tile), point.loops, ways.options))
