"""Parts of a problem that have nothing to do with each other: the peak of all is the highest of theirs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import ALWAYS, Buffer, Problem, terms_of


def independent_parts(problem: Problem) -> list[list[int]]:
    """The buffers of each part, by their numbers; one part where it cannot be told apart.

    A plan of a part is one of the whole where there is one pool and its peak is all that counts.
    """
    whole = [list(range(len(problem.buffers)))]
    if len(problem.pools) != 1 or not problem.buffers:
        return whole
    terms = terms_of(problem)
    if len(terms) != 1 or not terms[0].is_peak_of(problem.pools[0].id, 1):
        return whole
    if any(buffer.lifetime == ALWAYS for buffer in problem.buffers):
        return whole
    leaders = list(range(len(problem.buffers)))

    def leader(one: int) -> int:
        while leaders[one] != one:
            leaders[one] = leaders[leaders[one]]
            one = leaders[one]
        return one

    for one, other in _joined(problem):
        leaders[leader(one)] = leader(other)
    parts: dict[int, list[int]] = {}
    for number in range(len(leaders)):
        parts.setdefault(leader(number), []).append(number)
    return list(parts.values())


def part_of(problem: Problem, numbers: Sequence[int]) -> Problem:
    """The problem of these buffers alone, which are whole parts."""
    buffers = [problem.buffers[number] for number in numbers]
    ids = {buffer.id for buffer in buffers}
    return replace(
        problem,
        buffers=tuple(buffers),
        conflicts=tuple(pair for pair in problem.conflicts if pair[0] in ids),
        exclusive=tuple(pair for pair in problem.exclusive if pair[0] in ids),
        relative=tuple(it for it in problem.relative if it.buffer in ids),
        in_place=tuple(it for it in problem.in_place if it.input in ids),
        reuse_costs=tuple(it for it in problem.reuse_costs if it.buffers[0] in ids),
    )


def plan_of_part(plan: Plan, part: Problem) -> Plan:
    """The places that the plan has for the buffers of the part."""
    ids = {buffer.id for buffer in part.buffers}
    return replace(plan, placements=tuple(place for place in plan.placements if place.buffer in ids))


def _joined(problem: Problem) -> Iterator[tuple[int, int]]:
    """Pairs of buffers that are in one part, enough of them to connect each part."""
    number_of = {buffer.id: number for number, buffer in enumerate(problem.buffers)}
    by_time = sorted(
        (begin, end, number) for number, buffer in enumerate(problem.buffers) for begin, end in _lives(buffer)
    )
    latest = (0, -1)
    for begin, end, number in by_time:
        if latest[1] >= 0 and begin < latest[0]:
            yield number, latest[1]
        if latest[1] < 0 or end > latest[0]:
            latest = (end, number)
    groups: dict[str, list[int]] = {}
    for number, buffer in enumerate(problem.buffers):
        if buffer.group is not None:
            groups.setdefault(buffer.group, []).append(number)
    for members in groups.values():
        yield from pairwise(members)
    for one, other in _pairs(problem):
        yield number_of[one], number_of[other]


def _lives(buffer: Buffer) -> Iterable[tuple[int, int]]:
    if buffer.lifetimes is not None:
        return buffer.lifetimes
    return (buffer.lifetime,) if isinstance(buffer.lifetime, tuple) else ()


def _pairs(problem: Problem) -> Iterator[tuple[str, str]]:
    for pair in (*problem.conflicts, *problem.exclusive):
        yield pair[0], pair[1]
    for relative in problem.relative:
        yield relative.buffer, relative.base
    for share in problem.in_place:
        yield share.input, share.output
    for cost in problem.reuse_costs:
        yield cost.buffers[0], cost.buffers[1]
