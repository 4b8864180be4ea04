"""The operators of a graph as a schedule lets them run: listed in this order, each run on its own."""

from dataclasses import dataclass, replace

from memstow.planner.graph.links import listed_order
from memstow.planner.graph.program import allowed_order
from memstow.planner.graph.stripes.expand import with_stripes
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Schedule, Stripe


@dataclass(frozen=True, slots=True)
class Program:
    """What runs."""

    listed: Graph
    """Each operator that runs, in its order; stripes are not yet one operator."""
    striped: Graph
    """The same with each stripe as one operator, of the id of its last."""
    stripes: tuple[Stripe, ...]
    """Their places among the operators that are listed."""


def program_of(graph: Graph, schedule: Schedule | None) -> Program:
    """What runs, as the schedule says; without one, the operators as they are listed."""
    order = listed_order(graph) if schedule is None else allowed_order(graph, schedule.order)
    listed = replace(graph, operators=tuple(graph.operators[it] for it in order), order="given")
    stripes = () if schedule is None else schedule.stripes
    return Program(listed, with_stripes(listed, stripes) if stripes else listed, stripes)
