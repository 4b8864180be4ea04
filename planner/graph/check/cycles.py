"""Issues of order: operators that wait for each other, and a given order that the graph does not allow."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from memstow.planner.graph.links import NOBODY, links_of
from memstow.planner.model.errors import Issue
from memstow.planner.model.graph import GIVEN, Graph

_MOST_NAMED: Final = 10


def cycle_issues(graph: Graph) -> Iterator[Issue]:
    """A cycle of data, else one that `before` closes."""
    links = links_of(graph)
    cycle = find_cycle(links.after)
    if cycle:
        first = cycle[0]
        yield Issue(
            "cycle",
            f"$.operators[{first}]",
            f"operators wait for each other: {_chain(graph, cycle)}; one of them must not read a later one",
        )
        return
    cycle = find_cycle(links.successors())
    if cycle:
        steps = set(zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        index_of = links.operator_index
        at = next(
            i
            for i, (a, b) in enumerate(graph.before)
            if a in index_of and b in index_of and (index_of[a], index_of[b]) in steps
        )
        yield Issue(
            "before_cycle",
            f"$.before[{at}]",
            f"together with the data that operators read, it makes them wait for each other: "
            f"{_chain(graph, cycle)}; remove or turn one of the pairs",
        )


def given_order_issues(graph: Graph) -> Iterator[Issue]:
    """Operators that are listed before one that they need, where the order is the given one."""
    if graph.order != GIVEN:
        return
    links = links_of(graph)
    for i, operator in enumerate(graph.operators):
        for j, name in enumerate(operator.inputs):
            tensor = links.tensor_index.get(name, NOBODY)
            maker = NOBODY if tensor == NOBODY else links.producer[tensor]
            if maker > i:
                yield Issue(
                    "not_in_order",
                    f"$.operators[{i}].inputs[{j}]",
                    f"{operator.id!r} reads {name!r} before {graph.operators[maker].id!r} makes it; list "
                    'operators in an order that can run, or set `order` to "free"',
                )
    for i, pair in enumerate(graph.before):
        first, second = (links.operator_index.get(name, NOBODY) for name in pair)
        if first != NOBODY and second != NOBODY and first > second:
            yield Issue(
                "not_in_order",
                f"$.before[{i}]",
                f"{pair[1]!r} is listed before {pair[0]!r}; list operators in an order that can run, or set "
                '`order` to "free"',
            )


def find_cycle(
    successors: Sequence[Sequence[int]],
    rank: Callable[[int], tuple[int, int]] | None = None,
    gone: Collection[int] = (),
) -> list[int]:
    """Operators of which each must run before the next, and the last before the first; empty: none.

    The one with the least rank is first, by default the one with the least index. Those that are `gone` have
    no successors and do not count.
    """
    left = set(_in_or_after_cycles(successors)).difference(gone)
    if not left:
        return []
    # Each that is left waits for another that is left: going back from one to the next must close a circle.
    before: dict[int, int] = {}
    for operator in sorted(left, key=rank):
        for other in successors[operator]:
            if other in left:
                before.setdefault(other, operator)
    seen: dict[int, int] = {}
    walk: list[int] = []
    at = min(left, key=rank)
    while at not in seen:
        seen[at] = len(walk)
        walk.append(at)
        at = before[at]
    cycle = walk[seen[at] :][::-1]
    first = cycle.index(min(cycle, key=rank))
    return cycle[first:] + cycle[:first]


def _in_or_after_cycles(successors: Sequence[Sequence[int]]) -> list[int]:
    """The operators that never come to run."""
    waiting = [0] * len(successors)
    for them in successors:
        for other in them:
            waiting[other] += 1
    ready = [operator for operator, count in enumerate(waiting) if not count]
    while ready:
        for other in successors[ready.pop()]:
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return [operator for operator, count in enumerate(waiting) if count]


def _chain(graph: Graph, cycle: list[int]) -> str:
    names = [repr(graph.operators[i].id[:60]) for i in cycle]
    if len(names) > _MOST_NAMED:
        names = [*names[: _MOST_NAMED - 1], f"... ({len(cycle):,} in all)"]
    return " -> ".join([*names, repr(graph.operators[cycle[0]].id[:60])])
