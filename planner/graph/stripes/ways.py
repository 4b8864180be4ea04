"""Alternatives of a graph as other ways to run a part of an order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memstow.planner.graph.check.alternatives import with_alternative
from memstow.planner.graph.costs import operator_costs
from memstow.planner.graph.links import links_of
from memstow.planner.graph.steps import steps
from memstow.planner.graph.stripes.limits import fits
from memstow.planner.graph.stripes.program import Way
from memstow.planner.model.graph import Alternative, Graph, Operator
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

    As many as the budget allows: each goes through all operators.
    """
    place = {graph.operators[operator].id: at for at, operator in enumerate(order)}
    for alternative in graph.alternatives:
        if budget.spent:
            return
        budget.count(len(graph.operators))
        places = sorted(place[name] for name in alternative.replaces)
        begin, end = places[0], places[-1] + 1
        if end - begin != len(places) or not _can_run(alternative):
            continue
        before = _read(graph, [graph.operators[order[at]] for at in places])
        after = _read(graph, alternative.operators)
        planned = {tensor.id for tensor in graph.tensors if tensor.kind != "constant"}
        if not after & planned <= before:
            continue
        way = _way(graph, order, alternative, begin, end, unit)
        if not fits(way.bytes, way.cost, len(graph.alternatives)):
            continue
        yield KnownWay(way, alternative, after & planned == before & planned)


def _can_run(alternative: Alternative) -> bool:
    """Whether its operators can run as they are listed."""
    later = {name for operator in alternative.operators for name in operator.outputs}
    for operator in alternative.operators:
        if not later.isdisjoint(operator.inputs):
            return False
        later.difference_update(operator.outputs)
    return True


def _read(graph: Graph, operators: Sequence[Operator]) -> set[str]:
    made: set[str] = set()
    read: set[str] = set()
    for operator in operators:
        read.update(operator.inputs)
        made.update(operator.outputs)
    known = {tensor.id for tensor in graph.tensors}
    return (read - made) & known


def _way(
    graph: Graph, order: Sequence[int], alternative: Alternative, begin: int, end: int, unit: int
) -> Way:
    changed = with_alternative(graph, alternative)
    index = links_of(changed).operator_index
    names = [graph.operators[it].id for it in order]
    own = [it.id for it in alternative.operators]
    run = [*names[:begin], *own, *names[end:]]
    needs = [step.bytes for step in steps(changed, [index[name] for name in run], unit)]
    if alternative.cost is not None:
        cost = alternative.cost
    else:
        costs = operator_costs(changed)
        cost = sum(costs[index[name]] for name in own)
    return Way(begin, end, max(needs[begin : begin + len(own)], default=0), cost)
