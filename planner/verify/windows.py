"""Bounds from windows of time: a clipped problem, which the judge searches itself.

Every layout of the problem is one of the named buffers during the window. There, what lives through all of it
conflicts with every other buffer: taken out, and what was above it moved down, the rest still is a layout. So
the sizes of these add up, and the rest must fit into what they leave of the height. Offsets are multiples of
the greatest step that all alignments have in common; sizes are rounded up to it, and the topmost buffer may
lack as much as any of them loses by that.
"""

from array import array
from collections.abc import Sequence
from math import gcd

from memstow.planner.judge._judge import Room, room_for
from memstow.planner.model.objective import Kind, Term
from memstow.planner.model.plan import ExhaustedWindow
from memstow.planner.model.problem import LIMIT
from memstow.planner.model.ranges import Range
from memstow.planner.verify.effort import TooMuch
from memstow.planner.verify.live_bytes import against_names, pools_of
from memstow.planner.verify.pool_space import common_step
from memstow.planner.verify.problem_index import ALONE, ProblemIndex


def reason_against_window(
    index: ProblemIndex, term: Term, bound: int, certificate: ExhaustedWindow, steps: int
) -> str | None:
    """Why the window does not prove that the term is at least that; None when it does.

    Raises TooMuch where the search takes more steps.
    """
    reason = _against_frame(index, term, certificate)
    if reason is not None:
        return reason
    buffers = [index.buffer_index[name] for name in certificate.buffers]
    clipped: list[Range] = []
    for i in buffers:
        lives = [
            (max(begin, certificate.begin), min(end, certificate.end))
            for begin, end in index.lives(i)
            if begin < certificate.end and certificate.begin < end
        ]
        if len(lives) != 1:
            return f"{index.id_of(i)!r} does not live once in the window"
        clipped.append(lives[0])
    reason = _against_pairs(index, buffers, clipped)
    if reason is not None:
        return reason
    grids = [index.grid_of(i, index.pool_index[certificate.pool]) for i in buffers]
    known = [grid for grid in grids if grid is not None]
    if len(known) < len(grids):
        return None  # One of them has no place at all.
    step = gcd(common_step(known), known[0].first)
    sizes = [index.buffers[i].size for i in buffers]
    return _against_height(sizes, clipped, (certificate.begin, certificate.end), step, bound, steps)


def _against_frame(index: ProblemIndex, term: Term, certificate: ExhaustedWindow) -> str | None:
    """Why it is not about buffers that must be in the pool of the term."""
    if term.kind not in (Kind.PEAK, Kind.MAX_PEAK, Kind.POOL_PEAK):
        return f"a window says nothing about {term}"
    unnamed = against_names(index, certificate)
    if unnamed is not None:
        return unnamed
    if certificate.begin >= certificate.end:
        return "the window ends before it has begun"
    if term.pool not in (None, certificate.pool):
        return f"{certificate.pool!r} says nothing about {term}"
    buffers = [index.buffer_index[name] for name in certificate.buffers]
    pool = index.pool_index[certificate.pool]
    for i, may in zip(buffers, pools_of(index, buffers, cheapest_only=False), strict=True):
        if may - {pool}:
            return f"{index.id_of(i)!r} need not be in {certificate.pool!r}"
        if index.rigid.group[i] != ALONE:
            return f"{index.id_of(i)!r} is at a fixed distance to another"
    return None


def _against_pairs(index: ProblemIndex, buffers: Sequence[int], clipped: Sequence[Range]) -> str | None:
    """Why two of them that live together in the window may share bytes all the same."""
    life_of = dict(zip(buffers, clipped, strict=True))
    for pairs in (index.exclusive, index.in_place):
        for one, other in pairs:
            if one in life_of and other in life_of:
                (begin, end), (first, last) = life_of[one], life_of[other]
                if begin < last and first < end:
                    return f"{index.id_of(one)!r} and {index.id_of(other)!r} may share bytes"
    return None


def _against_height(
    sizes: Sequence[int], lives: Sequence[Range], window: Range, step: int, bound: int, steps: int
) -> str | None:
    """Why they might have a layout below the bound."""
    cells = [-(-size // step) for size in sizes]
    spare = max(count * step - size for count, size in zip(cells, sizes, strict=True))
    below = sum(count for count, life in zip(cells, lives, strict=True) if life == window)
    inner = [(count, life) for count, life in zip(cells, lives, strict=True) if life != window]
    height = (bound - 1 + spare) // step - below
    if height < 0 or any(count > height for count, _ in inner):
        return None
    if sum(count for count, _ in inner) >= LIMIT:
        raise TooMuch
    # Times may be larger than any machine word; only their order counts.
    rank = {time: k for k, time in enumerate(sorted({time for _, life in inner for time in life}))}
    room = room_for(
        array("q", [count for count, _ in inner]),
        array("q", [rank[begin] for _, (begin, _) in inner]),
        array("q", [rank[end] for _, (_, end) in inner]),
        min(height, LIMIT),
        steps,
    )
    if room is Room.TOO_MUCH:
        raise TooMuch
    return None if room is Room.NONE else "in the window these buffers have a lower layout"
