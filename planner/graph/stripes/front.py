"""The front of one order: the ways to cut it into stripes that no other is better than in bytes and cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.graph.stripes.limits import require_countable
from memstow.planner.graph.stripes.program import stripe_program
from memstow.planner.graph.stripes.ways import KnownWay, ways_of
from memstow.planner.graph.units import unit_of
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Schedule, Stripe
from memstow.solvers.core import Budget
from memstow.solvers.stripes import MOST, Choice, stripe_front

# Longer orders have stripes of at most so many operators: all pairs of ends would take too long.
_ANY_LENGTH: Final = 160
_LONGEST: Final = 48


@dataclass(frozen=True, slots=True)
class StripedOrder:
    """An order cut into stripes, with alternatives in place of some of its operators."""

    bytes: int
    """What its fullest moment needs: no plan of it has a smaller peak."""
    cost: int
    schedule: Schedule


@dataclass(frozen=True, slots=True)
class OrderFront:
    """Ascending in bytes. `complete`: no other stripes and alternatives of this order are better in both."""

    points: tuple[StripedOrder, ...]
    complete: bool


def order_front(
    graph: Graph,
    order: Sequence[int],
    budget: Budget,
    most_cost: int = MOST,
    stripes: bool = True,
) -> OrderFront:
    """The front of a valid graph whose operators run in this order, up to a cost.

    Raises InputError where its numbers are too large to add up.
    """
    require_countable(graph, stripes)
    unit = unit_of(graph)
    known = tuple(ways_of(graph, order, budget, unit))
    program = stripe_program(graph, order, unit, [it.way for it in known])
    longest = 1 if not stripes else len(order) if len(order) <= _ANY_LENGTH else _LONGEST
    found = stripe_front(program, min(most_cost, MOST), longest, budget)
    names = tuple(graph.operators[it].id for it in order)
    points = tuple(
        StripedOrder(point.bytes, point.cost, _schedule(names, point.choices, known))
        for point in found.points
    )
    exact = len(known) == len(graph.alternatives) and all(it.exact for it in known)
    return OrderFront(points, exact and (found.complete or not stripes))


def _schedule(names: Sequence[str], choices: Sequence[Choice], known: Sequence[KnownWay]) -> Schedule:
    order: list[str] = []
    stripes: list[Stripe] = []
    chosen: list[str] = []
    for choice in choices:
        begin = len(order)
        if choice.other >= 0:
            alternative = known[choice.other].alternative
            chosen.append(alternative.id)
            order += [operator.id for operator in alternative.operators]
            continue
        order += names[choice.begin : choice.end]
        if choice.columns:
            stripes.append(Stripe(begin=begin, end=len(order), columns=choice.columns))
    return Schedule(order=tuple(order), alternatives=tuple(chosen), stripes=tuple(stripes))
