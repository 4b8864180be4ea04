"""The step table of a plan: what `libmemstow_replay` gives the allocations of a step that repeats.

A problem whose buffers are the recorded allocations of a step becomes the list of its events, each free
before the allocations at the same time. The library (`planner/replay/native`) follows a running step through
them.
"""

from dataclasses import replace
from math import gcd, lcm

from memstow.planner.formats.format import Refusals, single_life
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Problem

_FREE, _ALLOCATION = 0, 1


def write_plan(problem: Problem, plan: Plan) -> bytes:
    """The table as text (`planner/replay/native/step_table.hpp`); an InputError if the plan is not valid."""
    from memstow.planner.verify import require_valid_plan

    lives = _lives(problem)
    require_valid_plan(problem, replace(plan, schedule=None))
    offsets = {place.buffer: place.offset for place in plan.placements}
    # Offsets are multiples of all alignments' common divisor. So sizes can be rounded up to it: the bytes
    # between belong to nobody else, and a program that rounds sizes finds them.
    unit = gcd(*(lcm(buffer.alignment, problem.pools[0].alignment) for buffer, _ in lives)) or 1
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


def _lives(problem: Problem) -> list[tuple[Buffer, tuple[int, int]]]:
    """Buffers that have bytes, each with its life, in the order in which they are allocated."""
    refusals = Refusals("replay", problem)
    if len(problem.pools) > 1:
        refusals.add("$.pools", "a step table is of one memory, and there are several pools")
    refusals.add_fields("$.pools[0]", problem.pools[0], base=None)
    refusals.add_fields("$", problem, exclusive=(), in_place=())
    lives = [
        (buffer, single_life(buffer, f"$.buffers[{index}]", refusals))
        for index, buffer in enumerate(problem.buffers)
        if buffer.size
    ]
    refusals.raise_any()
    return sorted(lives, key=lambda entry: entry[1][0])
