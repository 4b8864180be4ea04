"""Constraints whose removal may make a problem fit, and the problem without each of them.

Exclusive pairs, in-place pairs and several lifetimes allow more plans, so removing one never helps.
Capacities are raised instead of removed, see `planner.explain.needs`.
"""

from collections.abc import Callable, Collection, Iterator, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Buffer, Pool, Problem, with_groups
from memstow.planner.reading.printable import printable

Kind = Literal["reserved", "pool_alignment", "offset", "pool", "pools", "alignment", "conflict", "relative"]


@dataclass(frozen=True, slots=True)
class Removal:
    """A constraint that can be removed, and its path in the problem."""

    kind: Kind
    path: str
    message: str
    without: Callable[[], Problem]
    """Makes the problem without it, when needed: there may be as many removals as buffers."""


def removals(problem: Problem, among: Collection[str] = ()) -> Iterator[Removal]:
    """The removals that concern some of these buffers, or all removals where none are given.

    A proof that these buffers do not fit holds as long as nothing about them changes.
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
                "conflict", f"$.conflicts[{index}]", message, partial(_without_conflict, problem, index)
            )
    for index, tie in enumerate(problem.relative):
        if tie.buffer in concerned or tie.base in concerned:
            message = f"{tie.buffer!r} is {tie.offset:,} from {tie.base!r}"
            yield Removal("relative", f"$.relative[{index}]", message, partial(_without_tie, problem, index))


def without_buffers(problem: Problem, gone: Set[str]) -> Problem:
    """The problem without these buffers and what it says of them; an InputError for unknown names."""
    missing = gone - {it.id for it in problem.buffers}
    if missing:
        message = f"there is no buffer {printable(min(missing), 80)!r}; name buffers of this problem"
        raise InputError.single("unknown_buffer", "without", message)
    return replace(
        problem,
        buffers=tuple(it for it in problem.buffers if it.id not in gone),
        conflicts=tuple(it for it in problem.conflicts if gone.isdisjoint(it)),
        exclusive=tuple(it for it in problem.exclusive if gone.isdisjoint(it)),
        relative=tuple(it for it in problem.relative if gone.isdisjoint((it.buffer, it.base))),
        in_place=tuple(it for it in problem.in_place if gone.isdisjoint((it.input, it.output))),
        reuse_costs=tuple(it for it in problem.reuse_costs if gone.isdisjoint(it.buffers)),
    )


def _of_pools(problem: Problem) -> Iterator[Removal]:
    for index, pool in enumerate(problem.pools):
        path = f"$.pools[{index}]"
        for at, reserved in enumerate(pool.reserved):
            freed = replace(pool, reserved=pool.reserved[:at] + pool.reserved[at + 1 :])
            message = f"{reserved.size:,} bytes at {reserved.offset:,} of pool {pool.id!r} are reserved"
            change = partial(_with_pool, problem, index, freed)
            yield Removal("reserved", f"{path}.reserved[{at}]", message, change)
        if pool.alignment > 1:
            message = f"everything in pool {pool.id!r} is aligned to {pool.alignment:,}"
            change = partial(_with_pool, problem, index, replace(pool, alignment=1))
            yield Removal("pool_alignment", f"{path}.alignment", message, change)


def _of_buffer(problem: Problem, index: int, buffer: Buffer) -> Iterator[Removal]:
    path, name = f"$.buffers[{index}]", repr(buffer.id)

    def removal(kind: Kind, field: str, message: str, free: Buffer) -> Removal:
        return Removal(kind, f"{path}.{field}", message, partial(_with_buffer, problem, index, free))

    if buffer.offset is not None:
        message = f"{name} is pinned to offset {buffer.offset:,}"
        yield removal("offset", "offset", message, replace(buffer, offset=None))
    if buffer.pool is not None and len(problem.pools) > 1:
        free = replace(buffer, pool=None, offset=None)
        yield removal("pool", "pool", f"{name} is pinned to pool {buffer.pool!r}", free)
    elif buffer.pools is not None and len(buffer.pools) < len(problem.pools):
        allowed = ", ".join(map(repr, buffer.pools))
        yield removal("pools", "pools", f"{name} may go to {allowed} only", replace(buffer, pools=None))
    if buffer.alignment > 1:
        message = f"{name} is aligned to {buffer.alignment:,}"
        yield removal("alignment", "alignment", message, replace(buffer, alignment=1))


def _with_pool(problem: Problem, index: int, pool: Pool) -> Problem:
    pools = problem.pools
    return replace(problem, pools=(*pools[:index], pool, *pools[index + 1 :]))


def _with_buffer(problem: Problem, index: int, buffer: Buffer) -> Problem:
    buffers = problem.buffers
    return replace(problem, buffers=(*buffers[:index], buffer, *buffers[index + 1 :]))


def _without_conflict(problem: Problem, index: int) -> Problem:
    return replace(problem, conflicts=problem.conflicts[:index] + problem.conflicts[index + 1 :])


def _without_tie(problem: Problem, index: int) -> Problem:
    return replace(problem, relative=problem.relative[:index] + problem.relative[index + 1 :])
