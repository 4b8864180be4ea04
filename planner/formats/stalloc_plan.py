"""The plan file of STAlloc: which address its allocator gives each allocation of a training.

The buffers are what a log of STAlloc has (`planner/recorded`), whose ids say in which iteration each was
allocated. Its allocator counts allocations of more than 512 bytes outside of dynamic layers: those before the
iteration 1 come once, those of iteration 1 again in each iteration that follows. So the file lists these, in
their order, as `OFFSET SIZE`, behind two lines: allocations by number that have no place, which are none, and
`ALLOCATED ARENA BEFORE REPEATED SMALL`. An offset of -1 leaves an allocation to the allocator of PyTorch.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstow.planner.formats.format import Refusals, single_life
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Problem, profile
from memstow.planner.recorded.recording import BEFORE_ITERATIONS, DYNAMIC_LAYERS

_BLOCK: Final = 512
"""Its allocator gives multiples, and smaller allocations a memory of their own."""
_NO_PLACE: Final = -1
_ID: Final = re.compile(r"(\w+)/a\d+")


@dataclass(slots=True)
class _Allocation:
    """One that its allocator counts, with the place that it gets."""

    buffer: Buffer
    begin: int
    end: int
    offset: int

    @property
    def top(self) -> int:
        return self.offset + blocks(self.buffer.size)


def blocks(size: int) -> int:
    """The size in whole blocks, in bytes."""
    return -(-size // _BLOCK) * _BLOCK


def write_plan(problem: Problem, plan: Plan) -> bytes:
    """The file as text; an InputError if the plan is not valid, or the problem is of no such log."""
    from memstow.planner.verify import require_valid_plan

    by_iteration, small = _allocations(problem)
    require_valid_plan(problem, replace(plan, schedule=None))
    _place(problem, plan, by_iteration.values())
    repeated = by_iteration.get("1", [])
    before = sorted(
        (*by_iteration.get(BEFORE_ITERATIONS, ()), *by_iteration.get("0", ())), key=lambda one: one.begin
    )
    _leave_out_what_would_stay(repeated, by_iteration.get("2", ()))
    rows = [*before, *repeated]
    arena = max((one.top for one in rows if one.offset != _NO_PLACE), default=0)
    allocated = profile([replace(one.buffer, size=blocks(one.buffer.size)) for one in rows]).peak
    held = profile([replace(buffer, size=_BLOCK) for buffer in small]).peak
    lines = ["", f"{allocated} {arena} {len(before)} {len(repeated)} {max(held, _BLOCK)}"]
    lines += [f"{one.offset} {one.buffer.size}" for one in rows]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _allocations(problem: Problem) -> tuple[dict[str, list[_Allocation]], list[Buffer]]:
    """What its allocator counts, by iteration and in order; and what is too small for that."""
    refusals = Refusals("stalloc", problem)
    for index, pool in enumerate(problem.pools):
        refusals.add_fields(f"$.pools[{index}]", pool, base=None)
    refusals.add_fields("$", problem, exclusive=(), in_place=())
    by_iteration: dict[str, list[_Allocation]] = {}
    small: list[Buffer] = []
    for index, buffer in enumerate(problem.buffers):
        named = _ID.fullmatch(buffer.id)
        if named is None:
            refusals.add(
                f"$.buffers[{index}].id",
                "only a log of STAlloc, from the begin of its process on, says in which iteration of a "
                "training each allocation is, and its ids such as 1/a17 do",
            )
            continue
        begin, end = single_life(buffer, f"$.buffers[{index}]", refusals)
        if buffer.pool is not None and buffer.pool.endswith(DYNAMIC_LAYERS):
            continue
        if buffer.size <= _BLOCK:
            small.append(buffer)
        else:
            by_iteration.setdefault(named[1], []).append(_Allocation(buffer, begin, end, _NO_PLACE))
    refusals.raise_any()
    for allocations in by_iteration.values():
        allocations.sort(key=lambda one: one.begin)
    return by_iteration, small


def _place(problem: Problem, plan: Plan, iterations: Iterable[Sequence[_Allocation]]) -> None:
    """Put the pools of all streams behind each other, without a byte in common."""
    places = {place.buffer: place for place in plan.placements}
    allocations = [one for iteration in iterations for one in iteration]
    tops = dict.fromkeys((pool.id for pool in problem.pools), 0)
    for one in allocations:
        place = places[one.buffer.id]
        if place.offset % _BLOCK:
            message = f"it is at {place.offset:,}, and STAlloc has multiples of 512 bytes alone"
            raise InputError.single("not_expressible", f"$.placements[{one.buffer.id!r}]", message)
        one.offset = place.offset
        tops[place.pool] = max(tops[place.pool], one.top)
    begin = 0
    begins = {}
    for pool, top in tops.items():
        begins[pool] = begin
        begin += top
    for one in allocations:
        one.offset += begins[places[one.buffer.id].pool]


def _leave_out_what_would_stay(repeated: Sequence[_Allocation], again: Sequence[_Allocation]) -> None:
    """Give no place to what is still in use when the next iteration has another allocation there.

    `again`: those of the next iteration, of which each gets the place of the one with its number.
    """
    last = max((one.begin for one in repeated), default=0)
    stay = sorted((one for one in repeated if one.end > last), key=lambda one: one.offset)
    if not again:
        # Nobody knows when these would be freed.
        for one in stay:
            one.offset = _NO_PLACE
        return
    offsets = [one.offset for one in stay]
    for place, now in zip(repeated, again, strict=False):
        if place.offset == _NO_PLACE:
            continue
        begin, top = place.offset, place.top
        index = bisect_right(offsets, begin) - 1
        for one in stay[max(index, 0) :]:
            if one.offset >= top:
                break
            if one.top > begin and one.end > now.begin:
                one.offset = _NO_PLACE
