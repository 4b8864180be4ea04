"""The step table of a plan: what `libmemstow_replay` gives the allocations of a step that repeats.

A problem whose buffers are the recorded allocations of a step becomes the list of its events, each free
before the allocations at the same time. The library (`planner/replay/native`) follows a running step through
them. A recording of several streams has a table for each, that of the stream which allocates the most first:
steps are on that one. What graphs of CUDA allocate, and layers of experts, the library gives other memory.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import gcd, lcm
from typing import Final, TypeAlias

from memstow.planner.formats.format import Refusals, single_life
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.recorded.recording import is_of_stream

_Life: TypeAlias = tuple[Buffer, tuple[int, int]]
_FREE, _ALLOCATION = 0, 1
_STREAM: Final = "stream "


def write_plan(problem: Problem, plan: Plan) -> bytes:
    """The tables as text (`planner/replay/native/step_table.hpp`); an InputError if the plan is not valid."""
    from memstow.planner.verify import require_valid_plan

    of_streams = _lives(problem)
    require_valid_plan(problem, replace(plan, schedule=None))
    offsets = {place.buffer: place.offset for place in plan.placements}
    lines = [line for pool, lives in of_streams for line in _table(pool, lives, offsets)]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _table(pool: Pool, lives: list[_Life], offsets: Mapping[str, int]) -> Iterator[str]:
    """The lines of one stream, whose allocations are in their order."""
    # Offsets are multiples of all alignments' common divisor. So sizes can be rounded up to it: the bytes
    # between belong to nobody else, and a program that rounds sizes finds them.
    unit = gcd(*(lcm(buffer.alignment, pool.alignment) for buffer, _ in lives)) or 1
    sizes = [-(-buffer.size // unit) * unit for buffer, _ in lives]
    arena = max(
        (offsets[buffer.id] + size for (buffer, _), size in zip(lives, sizes, strict=True)), default=0
    )
    events = [(begin, _ALLOCATION, number) for number, (_, (begin, _end)) in enumerate(lives)]
    events += [(end, _FREE, number) for number, (_, (_begin, end)) in enumerate(lives)]
    yield f"memstow-replay 1 {unit} {arena} {len(events)}"
    for _, kind, number in sorted(events):
        is_free = kind == _FREE
        yield f"- {number}" if is_free else f"+ {sizes[number]} {offsets[lives[number][0].id]}"


def _lives(problem: Problem) -> list[tuple[Pool, list[_Life]]]:
    """The pools of streams, with their buffers that have bytes in the order in which these are allocated."""
    refusals = Refusals("replay", problem)
    pools = _pools_of_streams(problem, refusals)
    for index, pool in enumerate(problem.pools):
        if pool in pools:
            refusals.add_fields(f"$.pools[{index}]", pool, base=None)
    refusals.add_fields("$", problem, exclusive=(), in_place=())
    lives_of: dict[str, list[_Life]] = {pool.id: [] for pool in pools}
    for index, buffer in enumerate(problem.buffers):
        lives = lives_of.get(problem.pools[0].id if buffer.pool is None else buffer.pool)
        if buffer.size and lives is not None:
            lives.append((buffer, single_life(buffer, f"$.buffers[{index}]", refusals)))
    refusals.raise_any()
    for lives in lives_of.values():
        lives.sort(key=lambda entry: entry[1][0])
    # Streams of one size in the order in which they come, so that the same recording has the same text.
    pools.sort(key=lambda pool: -sum(buffer.size for buffer, _ in lives_of[pool.id]))
    return [(pool, lives_of[pool.id]) for pool in pools]


def _pools_of_streams(problem: Problem, refusals: Refusals) -> list[Pool]:
    """The only pool, or those of streams."""
    if len(problem.pools) == 1:
        return [*problem.pools]
    pools = [pool for pool in problem.pools if is_of_stream(pool.id)]
    if not pools or any(not pool.id.startswith(_STREAM) for pool in problem.pools):
        refusals.add("$.pools", "a step table is of one memory, and there are several pools")
        return [problem.pools[0]]
    return pools
