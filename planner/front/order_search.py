"""Looks for orders in which stripes gain: from one order, an operator is moved at a time.

An order with the least live bytes as a whole may keep apart what would share its rows.
"""

from collections.abc import Iterator, Sequence
from math import log
from random import Random
from typing import Final

from memstow.planner.front.request import FrontCallbacks
from memstow.planner.graph.links import links_of
from memstow.planner.graph.stripes.front import OrderFront, order_front
from memstow.planner.model.graph import Graph
from memstow.planner.solve.portfolio import Allowance, cancelling

# Costs, as multiples of the least, at which orders are compared.
_COMPARED: Final = (1.0, 1.1, 1.25, 1.5, 2.0)
_MOST_MOVES: Final = 5_000


def moved_orders(
    graph: Graph,
    start: Sequence[int],
    first: OrderFront,
    allowance: Allowance,
    share: float,
    callbacks: FrontCallbacks,
) -> Iterator[OrderFront]:
    """The fronts of orders that are better at one of the costs than all before, within this share."""
    if not first.points:
        return
    least = first.points[-1].cost
    after = [set(them) for them in links_of(graph).successors()]
    order, value = list(start), _values(first, least)
    best = list(value)
    random = Random(0)  # noqa: S311
    limit = allowance.mark(share)
    for _ in range(_MOST_MOVES):
        if callbacks.cancelled or allowance.is_past(limit):
            return
        tried = _moved(order, after, random)
        if tried is None:
            continue
        budget = allowance.budget(share)
        with cancelling(budget, callbacks.cancel):
            front = order_front(graph, tried, budget)
        allowance.spend(budget.work + len(order))
        if not front.points:
            continue
        values = _values(front, least)
        if any(new < old for new, old in zip(values, best, strict=True)):
            best = [min(pair) for pair in zip(values, best, strict=True)]
            yield front
        if sum(values) <= sum(value):
            order, value = tried, values


def _values(front: OrderFront, least: int) -> list[float]:
    """The least bytes at each of the costs, compared as ratios."""
    found = []
    for times in _COMPARED:
        fits = [it.bytes for it in front.points if it.cost <= times * least]
        found.append(log(1 + min(fits, default=front.points[-1].bytes)))
    return found


def _moved(order: Sequence[int], after: Sequence[set[int]], random: Random) -> list[int] | None:
    """The order with one operator elsewhere; None where it cannot move."""
    at = random.randrange(len(order))
    operator = order[at]
    first = at
    while first > 0 and operator not in after[order[first - 1]]:
        first -= 1
    last = at
    while last + 1 < len(order) and order[last + 1] not in after[operator]:
        last += 1
    if first == last:
        return None
    to = random.choice([it for it in range(first, last + 1) if it != at])
    rest = [it for it in order if it != operator]
    return [*rest[:to], operator, *rest[to:]]
