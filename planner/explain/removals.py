"""A problem without one of its constraints: what single removals there are that may let more fit.

Exclusive pairs, in-place pairs and several lifetimes allow more than their absence would, so removing one is
never of help; a capacity is not removed but raised, which `planner.explain.needs` looks at by itself.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.model.rigid_groups import with_groups

Kind = Literal["reserved", "pool_alignment", "offset", "pool", "pools", "alignment", "conflict", "relative"]


@dataclass(frozen=True, slots=True)
class Removal:
    """One constraint, and where it is."""

    kind: Kind
    path: str
    message: str
    without: Callable[[], Problem]
    """Makes the problem without it; there may be as many as there are buffers, too many to hold them all."""


def removals(problem: Problem, among: Collection[str] = ()) -> Iterator[Removal]:
    """Every single removal; those that touch none of these buffers are left out, where any are given.

    What proves that these buffers do not fit holds as long as nothing about them changes.
    """
    concerned = with_groups(problem, among) if among else {buffer.id for buffer in problem.buffers}
    yield from _of_pools(problem)
    for index, buffer in enumerate(problem.buffers):
        if buffer.id in concerned:
            yield from _of_buffer(problem, index, buffer)
    for index, pair in enumerate(problem.conflicts):
        if concerned.intersection(pair):
            message = f"{pair[0]!r} and {pair[1]!r} conflict"
            yield Removal(
                "conflict", f"$.conflicts[{index}]", message, partial(_without, problem, "conflicts", index)
            )
    for index, tie in enumerate(problem.relative):
        if tie.buffer in concerned or tie.base in concerned:
            message = f"{tie.buffer!r} is {tie.offset:,} from {tie.base!r}"
            yield Removal(
                "relative", f"$.relative[{index}]", message, partial(_without, problem, "relative", index)
            )


def _of_pools(problem: Problem) -> Iterator[Removal]:
    for index, pool in enumerate(problem.pools):
        path = f"$.pools[{index}]"
        for at, reserved in enumerate(pool.reserved):
            freed = replace(pool, reserved=pool.reserved[:at] + pool.reserved[at + 1 :])
            message = f"{reserved.size:,} bytes at {reserved.offset:,} of pool {pool.id!r} are reserved"
            change = partial(_with, problem, "pools", index, freed)
            yield Removal("reserved", f"{path}.reserved[{at}]", message, change)
        if pool.alignment > 1:
            message = f"everything in pool {pool.id!r} is aligned to {pool.alignment:,}"
            change = partial(_with, problem, "pools", index, replace(pool, alignment=1))
            yield Removal("pool_alignment", f"{path}.alignment", message, change)


def _of_buffer(problem: Problem, index: int, buffer: Buffer) -> Iterator[Removal]:
    path, name = f"$.buffers[{index}]", repr(buffer.id)

    def freed(kind: Kind, field: str, message: str, free: Buffer) -> Removal:
        return Removal(kind, f"{path}.{field}", message, partial(_with, problem, "buffers", index, free))

    if buffer.offset is not None:
        message = f"{name} is pinned to offset {buffer.offset:,}"
        yield freed("offset", "offset", message, replace(buffer, offset=None))
    if buffer.pool is not None and len(problem.pools) > 1:
        free = replace(buffer, pool=None, offset=None)
        yield freed("pool", "pool", f"{name} is pinned to pool {buffer.pool!r}", free)
    elif buffer.pools is not None and len(buffer.pools) < len(problem.pools):
        allowed = ", ".join(map(repr, buffer.pools))
        yield freed("pools", "pools", f"{name} may go to {allowed} only", replace(buffer, pools=None))
    if buffer.alignment > 1:
        message = f"{name} is aligned to {buffer.alignment:,}"
        yield freed("alignment", "alignment", message, replace(buffer, alignment=1))


def _with(problem: Problem, field: str, index: int, element: Pool | Buffer) -> Problem:
    """The problem with another element at that place of a list."""
    elements = getattr(problem, field)
    changed: dict[str, Any] = {field: (*elements[:index], element, *elements[index + 1 :])}
    return replace(problem, **changed)


def _without(problem: Problem, field: str, index: int) -> Problem:
    """The problem without the element at that place of a list."""
    elements = getattr(problem, field)
    changed: dict[str, Any] = {field: elements[:index] + elements[index + 1 :]}
    return replace(problem, **changed)
