"""The front of one order: the ways to cut it into stripes that no other is better than in bytes and cost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstow.planner.graph.links import listed_order
from memstow.planner.graph.schedules import with_chosen
from memstow.planner.graph.stripes.kinds import kinds
from memstow.planner.graph.stripes.limits import is_countable, require_countable
from memstow.planner.graph.stripes.program import stripe_program
from memstow.planner.graph.stripes.ways import KnownWay, ways_of
from memstow.planner.graph.units import unit_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import Schedule, Stripe
from memstow.solvers.core import Budget
from memstow.solvers.stripes import MOST, Choice, stripe_front

# Longer orders have stripes of at most so many operators: all pairs of ends would take too long.
_ANY_LENGTH: Final = 160
_LONGEST: Final = 48
# Choices of alternatives in which stripes are looked for.
_MOST_CHOICES: Final = 64


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
    if graph.order == GIVEN and stripes and _cuts_alternatives(graph):
        return _front_of_choices(graph, order, budget, most_cost)
    return _front(graph, order, budget, most_cost, stripes)


def _front(graph: Graph, order: Sequence[int], budget: Budget, most_cost: int, stripes: bool) -> OrderFront:
    """The front in which alternatives run as they are, and stripes beside them."""
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


def _cuts_alternatives(graph: Graph) -> bool:
    """Whether an operator of an alternative may be in a stripe."""
    tensors = {tensor.id: tensor for tensor in graph.tensors}
    for alternative in graph.alternatives:
        own = {tensor.id: tensor for tensor in alternative.tensors}
        used = {name for it in alternative.operators for name in (*it.inputs, *it.outputs)}
        there = [it for name in used if (it := own.get(name) or tensors.get(name)) is not None]
        if any(kinds(Graph(tensors=there, operators=alternative.operators))):
            return True
    return False


def _front_of_choices(graph: Graph, order: Sequence[int], budget: Budget, most_cost: int) -> OrderFront:
    """The front with stripes in alternatives as well: of each choice of these, as long as there are few.

    The first operator of an alternative has the cost of all of them, as in a plan.
    """
    plain = _front(graph, order, budget, most_cost, stripes=True)
    points, complete = list(plain.points), True
    for number, names in enumerate(_choices(graph)):
        if number == _MOST_CHOICES or budget.spent:
            complete = False
            break
        try:
            chosen = with_chosen(graph, names)
        except InputError:
            # Whether the judge takes it is not known.
            complete = False
            continue
        if not is_countable(chosen, stripes=True):
            complete = False
            continue
        front = _front(chosen, listed_order(chosen), budget, most_cost, stripes=True)
        complete = complete and front.complete
        points += [replace(it, schedule=replace(it.schedule, alternatives=names)) for it in front.points]
    kept: list[StripedOrder] = []
    for it in sorted(points, key=lambda it: (it.bytes, it.cost)):
        if not kept or it.cost < kept[-1].cost:
            kept.append(it)
    return OrderFront(tuple(kept), complete)


def _choices(graph: Graph) -> Iterator[tuple[str, ...]]:
    """The alternatives that can be chosen together: no two replace one operator. The fewest come first."""
    found: list[tuple[int, tuple[str, ...], frozenset[str]]] = [(0, (), frozenset())]
    for begin, names, gone in found:
        yield names
        for at, it in enumerate(graph.alternatives[begin:], start=begin):
            if gone.isdisjoint(it.replaces) and len(found) <= _MOST_CHOICES:
                found.append((at + 1, (*names, it.id), gone.union(it.replaces)))


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
