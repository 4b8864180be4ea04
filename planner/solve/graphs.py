"""Plans of graphs: the order of the operators, then the places of the problem that they become in it."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from memstow.planner.graph.check import require_valid
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.lowering import lower
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.events import Listener, OnBetter
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan, Schedule
from memstow.planner.solve import engine
from memstow.planner.verify import recount


def plan_graph(
    graph: Graph,
    options: Options,
    on_event: Listener | None = None,
    cancel: threading.Event | None = None,
    on_better: OnBetter | None = None,
) -> Plan:
    """Solve the graph within the options' limits; the plan has the order of its operators."""
    require_valid(graph)
    order = listed_order(graph)
    if graph.order == GIVEN:
        return _plan_in_order(graph, order, options, on_event, cancel, on_better)
    raise NotImplementedError


def _plan_in_order(
    graph: Graph,
    order: Sequence[int],
    options: Options,
    on_event: Listener | None,
    cancel: threading.Event | None,
    on_better: OnBetter | None,
) -> Plan:
    """The plan of the problem that the graph becomes in this order."""
    schedule = Schedule(order=tuple(graph.operators[i].id for i in order))

    def judged(plan: Plan) -> Plan:
        scheduled = replace(plan, schedule=schedule)
        violations = recount(graph, scheduled, options.hint)
        if violations:
            raise RefusedPlanError(
                "the order of the plan was refused; please report it: "
                + "; ".join(f"{it.code}: {it.message}" for it in violations[:5])
            )
        return scheduled

    def pass_on(make: Callable[[], Plan]) -> None:
        if on_better is not None:
            on_better(lambda: judged(make()))

    plan = engine.plan(lower(graph, order), options, on_event, cancel, None if on_better is None else pass_on)
    return judged(plan)
