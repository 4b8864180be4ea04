"""The front of one order: the ways to cut it into stripes that no other is better than in bytes and cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.graph.stripes.costs import CostUnit
from memstow.planner.graph.stripes.program import Way, stripe_program
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Schedule, Stripe
from memstow.solvers.core import Budget
from memstow.solvers.stripes import MOST, Choice, stripe_front

# Longer orders have stripes of at most so many operators: all pairs of ends would take too long.
_ANY_LENGTH: Final = 160
_LONGEST: Final = 48


@dataclass(frozen=True, slots=True)
class StripedOrder:
    """An order cut into stripes; `ways`: which of the other ways run, by number."""

    bytes: int
    cost: int
    schedule: Schedule
    ways: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class OrderFront:
    """Ascending in bytes. `complete`: within the rules, nothing is better in both."""

    points: tuple[StripedOrder, ...]
    complete: bool


def order_front(
    graph: Graph,
    order: Sequence[int],
    budget: Budget,
    unit: CostUnit = "given",
    most_cost: int = MOST,
    ways: Sequence[Way] = (),
) -> OrderFront:
    """The front of a valid graph whose operators run in this order, up to a cost."""
    program = stripe_program(graph, order, unit, ways)
    longest = len(order) if len(order) <= _ANY_LENGTH else _LONGEST
    found = stripe_front(program, min(most_cost, MOST), longest, budget)
    names = tuple(graph.operators[it].id for it in order)
    points = tuple(
        StripedOrder(
            point.bytes,
            point.cost,
            Schedule(order=names, stripes=tuple(_stripes(point.choices))),
            tuple(choice.other for choice in point.choices if choice.other >= 0),
        )
        for point in found.points
    )
    return OrderFront(points, found.complete)


def _stripes(choices: Sequence[Choice]) -> list[Stripe]:
    return [Stripe(begin=it.begin, end=it.end, columns=it.columns) for it in choices if it.columns]
