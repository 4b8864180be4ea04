"""Alternatives of a graph as other ways to run a part of an order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memstow.planner.graph.check.alternatives import with_alternative
from memstow.planner.graph.costs import operator_costs
from memstow.planner.graph.links import links_of
from memstow.planner.graph.steps import steps
from memstow.planner.graph.stripes.limits import fits
from memstow.planner.graph.stripes.program import Way
from memstow.planner.graph.stripes.surroundings import Surroundings
from memstow.planner.model.graph import Alternative, Graph
from memstow.solvers.core import Budget


@dataclass(frozen=True, slots=True)
class KnownWay:
    """An alternative, and the part of the order in whose place its operators run."""

    way: Way
    alternative: Alternative
    exact: bool
    """Whether it reads all that the others have read, so that nothing else lives shorter."""


def ways_of(graph: Graph, order: Sequence[int], budget: Budget, unit: int = 1) -> Iterator[KnownWay]:
    """The alternatives of operators next to each other that read nothing else than these have read.

    As many as the budget allows.
    """
    if not graph.alternatives:
        return
    place = {graph.operators[operator].id: at for at, operator in enumerate(order)}
    constants = {tensor.id for tensor in graph.tensors if tensor.kind == "constant"}
    around = Surroundings(graph, order)
    for alternative in graph.alternatives:
        if budget.spent:
            return
        places = sorted(place[name] for name in alternative.replaces)
        begin, end = places[0], places[-1] + 1
        if end - begin != len(places) or not _can_run(alternative):
            budget.count(len(alternative.operators))
            continue
        before = around.read(begin, end) - constants
        after = around.read_by(alternative.operators) - constants
        if not after <= before:
            budget.count(len(alternative.operators))
            continue
        if around.knows(begin, end, alternative):
            part = around.part(begin, end, alternative)
            budget.count(len(part.tensors))
            needs = [step.bytes for step in steps(part, range(len(part.operators)), unit)]
            way = Way(begin, end, max(needs, default=0), _cost(alternative, part))
        else:
            budget.count(len(graph.operators))
            way = whole_way(graph, order, alternative, begin, end, unit)
        if not fits(way.bytes, way.cost, len(graph.alternatives)):
            continue
        yield KnownWay(way, alternative, after == before)


def _can_run(alternative: Alternative) -> bool:
    """Whether its operators can run as they are listed."""
    later = {name for operator in alternative.operators for name in operator.outputs}
    for operator in alternative.operators:
        if not later.isdisjoint(operator.inputs):
            return False
        later.difference_update(operator.outputs)
    return True


def whole_way(
    graph: Graph, order: Sequence[int], alternative: Alternative, begin: int, end: int, unit: int
) -> Way:
    """The way as the graph with the alternative has it: all of its operators are gone through."""
    changed = with_alternative(graph, alternative)
    index = links_of(changed).operator_index
    names = [graph.operators[it].id for it in order]
    own = [it.id for it in alternative.operators]
    run = [*names[:begin], *own, *names[end:]]
    needs = [step.bytes for step in steps(changed, [index[name] for name in run], unit)]
    return Way(begin, end, max(needs[begin : begin + len(own)], default=0), _cost(alternative, changed))


def _cost(alternative: Alternative, changed: Graph) -> int:
    """What its operators cost together, in a graph that has them."""
    if alternative.cost is not None:
        return alternative.cost
    own = {it.id for it in alternative.operators}
    costs = zip(changed.operators, operator_costs(changed), strict=True)
    return sum(cost for operator, cost in costs if operator.id in own)
