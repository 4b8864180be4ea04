"""What a schedule costs, as the judge counts it."""

from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Schedule
from memstow.planner.verify.graphs.scheduled import does_more_than_order, scheduled
from memstow.planner.verify.graphs.work import cost_once


def schedule_cost(graph: Graph, schedule: Schedule | None) -> int:
    """The cost of all that runs. Raises Refused where the graph does not allow the schedule."""
    if schedule is None or not does_more_than_order(schedule):
        return cost_once(graph)
    return scheduled(graph, schedule).cost
