"""The orders of a graph in which schedules are looked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.options import Options
from memstow.planner.solve.graphs import Callbacks, plan_graph


@dataclass(frozen=True, slots=True)
class Orders:
    """Orders by index of the operators, and the work it took to find them."""

    orders: tuple[Sequence[int], ...]
    work: int = 0


def orders_of(graph: Graph, options: Options, callbacks: Callbacks) -> Orders:
    """The order of the document; of a graph with another, also the one of its best plan."""
    given = listed_order(graph)
    if graph.order == GIVEN:
        return Orders((given,))
    plan = plan_graph(replace(graph, alternatives=(), limits=None), options, callbacks)
    if plan.schedule is None:
        return Orders((given,), plan.work)
    index = links_of(graph).operator_index
    best = [index[name] for name in plan.schedule.order]
    return Orders((best,) if best == given else (best, given), plan.work)
