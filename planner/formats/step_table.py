"""The step table of a plan: what `libmemstow_replay` gives the allocations of a step that repeats.

A problem whose buffers are the recorded allocations of a step becomes the list of its events, each free
before the allocations at the same time. The library (`planner/replay/native`) follows a running step through
them. A step is on one stream: of a recording of several the table has the one that allocates the most, and
the library gives the others memory of their own.
"""

from dataclasses import replace
from math import gcd, lcm
from typing import Final

from memstow.planner.formats.format import Refusals, single_life
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.recorded.recording import is_of_stream

_FREE, _ALLOCATION = 0, 1
_STREAM: Final = "stream "


def write_plan(problem: Problem, plan: Plan) -> bytes:
    """The table as text (`planner/replay/native/step_table.hpp`); an InputError if the plan is not valid."""
    from memstow.planner.verify import require_valid_plan

    pool, lives = _lives(problem)
    require_valid_plan(problem, replace(plan, schedule=None))
    offsets = {place.buffer: place.offset for place in plan.placements}
    # Offsets are multiples of all alignments' common divisor. So sizes can be rounded up to it: the bytes
    # between belong to nobody else, and a program that rounds sizes finds them.
    unit = gcd(*(lcm(buffer.alignment, pool.alignment) for buffer, _ in lives)) or 1
    sizes = [-(-buffer.size // unit) * unit for buffer, _ in lives]
    arena = max(
        (offsets[buffer.id] + size for (buffer, _), size in zip(lives, sizes, strict=True)), default=0
    )
    events = [(begin, _ALLOCATION, number) for number, (_, (begin, _end)) in enumerate(lives)]
    events += [(end, _FREE, number) for number, (_, (_begin, end)) in enumerate(lives)]
    lines = [f"memstow-replay 1 {unit} {arena} {len(events)}"]
    for _, kind, number in sorted(events):
        is_free = kind == _FREE
        lines.append(f"- {number}" if is_free else f"+ {sizes[number]} {offsets[lives[number][0].id]}")
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _lives(problem: Problem) -> tuple[Pool, list[tuple[Buffer, tuple[int, int]]]]:
    """The pool of the step, and its buffers that have bytes in the order in which they are allocated."""
    refusals = Refusals("replay", problem)
    pool = _pool_of_step(problem, refusals)
    refusals.add_fields("$.pools[0]", pool, base=None)
    refusals.add_fields("$", problem, exclusive=(), in_place=())
    lives = [
        (buffer, single_life(buffer, f"$.buffers[{index}]", refusals))
        for index, buffer in enumerate(problem.buffers)
        if buffer.size and (len(problem.pools) == 1 or buffer.pool == pool.id)
    ]
    refusals.raise_any()
    return pool, sorted(lives, key=lambda entry: entry[1][0])


def _pool_of_step(problem: Problem, refusals: Refusals) -> Pool:
    """The only pool, or of those of streams the one that allocates the most bytes."""
    if len(problem.pools) == 1:
        return problem.pools[0]
    sizes = {pool.id: 0 for pool in problem.pools if is_of_stream(pool.id)}
    if not sizes or any(not pool.id.startswith(_STREAM) for pool in problem.pools):
        refusals.add("$.pools", "a step table is of one memory, and there are several pools")
        return problem.pools[0]
    for buffer in problem.buffers:
        if buffer.pool in sizes:
            sizes[buffer.pool] += buffer.size
    largest = max(sizes, key=sizes.__getitem__)
    return next(pool for pool in problem.pools if pool.id == largest)
