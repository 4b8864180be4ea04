"""Whether a front kept the order of a graph that allows others, and what a short search of these finds."""

from itertools import pairwise
from typing import Final

from memstow.planner.front.graph_terms import counted_pool
from memstow.planner.front.request import FrontRequest
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.recompute.points import peak_of
from memstow.planner.graph.schedules import with_chosen
from memstow.planner.model.front import KeptOrder
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import Schedule
from memstow.planner.solve.free_orders import outlook
from memstow.planner.solve.portfolio import Allowance
from memstow.solvers.core import Budget

_SECONDS: Final = 0.5
_WORK: Final = 1_000_000


def has_other_orders(graph: Graph) -> bool:
    """Whether the operators of a valid graph can run in more than one order."""
    successors = links_of(graph).successors()
    return any(then not in successors[first] for first, then in pairwise(listed_order(graph)))


def kept_order(graph: Graph, request: FrontRequest, allowance: Allowance) -> KeptOrder | None:
    """None where the order is free, or there is no other."""
    if graph.order != GIVEN or not has_other_orders(graph):
        return None
    pool, plain = counted_pool(graph, request), with_chosen(graph, ())
    listed = Schedule(order=tuple(graph.operators[it].id for it in listed_order(graph)))
    size = peak_of(plain, listed, pool)
    if pool is not None:
        return KeptOrder(bytes=size)
    seconds = -1.0 if request.options.deterministic else min(_SECONDS, allowance.seconds_left)
    found = outlook(plain, Budget(seconds, _WORK))
    return KeptOrder(bytes=size, free_bytes=found.needed if found and found.needed < size else None)
