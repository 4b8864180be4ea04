"""Turns a problem into arrays, and a layout back into placements.

Takes a problem, returns a `Reduction`, or an explanation if some buffer has no place even alone. Rigid groups
become one item, times become 64-bit, and all sizes and offsets are divided by their common unit: a plan can
be pressed down until every offset is a sum of sizes and given offsets, so no optimum is lost. Buffers of size
0 are placed here, since nothing depends on where they are.
"""

from collections.abc import Iterable, Iterator
from math import gcd
from typing import Final

from memstow.planner.model._instances import BufferColumns
from memstow.planner.model.plan import Explanation, Placement, Plan
from memstow.planner.model.problem import LIMIT, Problem, buffer_columns, rigid_groups
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reduce.allowed_places import Body, PlaceFinder, align_up, no_place
from memstow.planner.reduce.arrays import Reduction, build, fits_64_bits

__all__ = ["Reduction", "reduce"]

_ALONE: Final = (0,)
"""The distances of a buffer that is no member of a group."""


def reduce(problem: Problem, hint: Plan | None = None, *, in_bytes: bool = False) -> Reduction | Explanation:
    """The arrays of a valid problem, or the explanation that some buffer has no place even alone.

    Every place of the hint can be used, whatever its offset: for objectives that count moves. With `in_bytes`
    the unit is one byte: for those who add other sizes.
    """
    with collector_at_rest():
        return _reduce(problem, hint, in_bytes)


def _reduce(problem: Problem, hint: Plan | None, in_bytes: bool) -> Reduction | Explanation:
    buffers, finder = problem.buffers, PlaceFinder(problem)
    bodies: list[Body] = []
    alone: list[tuple[int, Placement]] = []
    columns, kinds = _alike(problem, finder)
    if columns is not None:
        bodies = kinds
        unit = _common_unit(problem, columns.sizes, kinds)
    else:
        for body in finder.bodies(_groups_and_single_buffers(problem)):
            first = body.members[0]
            if not body.spots:
                return no_place(problem, body.members)
            if buffers[first].size:
                bodies.append(body)
            else:
                alone.append((first, _first_place(problem, body)))
        unit = _common_unit(problem, (buffers[i].size for body in bodies for i in body.members), bodies)
    unit = 1 if in_bytes else gcd(unit, *_hint_offsets(problem, hint))
    return build(problem, bodies, tuple(alone), max(unit, 1), columns)


def _alike(problem: Problem, finder: PlaceFinder) -> tuple[BufferColumns | None, list[Body]]:
    """The buffers as columns, and a body of each kind, where the places of a buffer depend on its kind alone.

    Most large problems are such. Of any other there are no columns.
    """
    columns = None if problem.relative else buffer_columns(problem)
    if columns is None or 0 in columns.sizes or not fits_64_bits(columns.begins, columns.ends):
        return None, []
    spots = [finder.roomy_spots(index) for index in columns.largest]
    kinds = [
        Body((index,), _ALONE, some, 0, LIMIT)
        for index, some in zip(columns.largest, spots, strict=True)
        if some
    ]
    return (columns, kinds) if len(kinds) == len(spots) else (None, [])


def _groups_and_single_buffers(
    problem: Problem,
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Buffers and groups as (members, deltas), in the order of their first buffers."""
    if not problem.relative:
        return [((index,), _ALONE) for index in range(len(problem.buffers))]
    index_of = {buffer.id: index for index, buffer in enumerate(problem.buffers)}
    group_at = {group.members[0]: group for group in rigid_groups(problem, index_of)}
    grouped = {i for group in group_at.values() for i in group.members}
    return [
        (group_at[index].members, group_at[index].deltas) if index in group_at else ((index,), _ALONE)
        for index in range(len(problem.buffers))
        if index in group_at or index not in grouped
    ]


def _first_place(problem: Problem, body: Body) -> Placement:
    """The first place in the preferred pool, for a buffer of size 0: its place costs nothing."""
    (index,), preferred = body.members, body.spots[0]
    start = align_up(preferred.where, body.low)
    return Placement(buffer=problem.buffers[index].id, pool=problem.pools[preferred.pool].id, offset=start)


def _hint_offsets(problem: Problem, hint: Plan | None) -> Iterator[int]:
    """The offsets that the hint gives to buffers that have bytes."""
    if hint is not None:
        not_empty = {buffer.id for buffer in problem.buffers if buffer.size}
        yield from (place.offset for place in hint.placements if place.buffer in not_empty)


def _common_unit(problem: Problem, sizes: Iterable[int], bodies: list[Body]) -> int:
    """The greatest common divisor of all sizes, distances, pinned offsets and alignments.

    An alignment that divides the unit always holds, so it does not count. One body of each kind is enough.
    """
    unit = gcd(*sizes)
    for pool in problem.pools:
        for reserved in pool.reserved:
            unit = gcd(unit, reserved.offset, reserved.size)
    for body in bodies:
        if len(body.deltas) > 1:
            unit = gcd(unit, *body.deltas)
        if body.low == body.high:
            unit = gcd(unit, body.low)
    # Most bodies share one list of spots.
    grids = {
        spot.where for spots in {id(body.spots): body.spots for body in bodies}.values() for spot in spots
    }
    before = 0
    while unit != before:
        before = unit
        for where in grids:
            unit = gcd(unit, where.residue)
            if unit % where.modulus:
                unit = gcd(unit, where.modulus)
    return unit
