"""The judged plan of a graph in which operators run as a schedule says."""

from dataclasses import replace

from memstow.planner.graph.links import listed_order
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.graph.program import allowed_order
from memstow.planner.graph.schedules import only_orders, scheduled_graph
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan, Schedule
from memstow.planner.solve import engine
from memstow.planner.solve.graphs import Callbacks, plan_in_order
from memstow.planner.solve.order_bounds import NOTHING
from memstow.planner.verify import recount


def plan_schedule(graph: Graph, schedule: Schedule, options: Options, callbacks: Callbacks) -> Plan:
    """The plan of the problem that a valid graph becomes with this schedule, judged as of the graph."""
    if only_orders(schedule):
        order = allowed_order(graph, schedule.order)
        bound = None if is_only_order(graph, schedule) else NOTHING
        return plan_in_order(graph, order, options, callbacks, bound)
    # The judge of the graph judges the plan of the problem with it; once is enough.
    plan = engine.plan_for_judge(
        listed_problem(scheduled_graph(graph, schedule)),
        options,
        callbacks.on_event,
        lambda _problem, _plan, _hint: [],
        callbacks.cancel,
        None,
    )
    return judged(graph, plan, schedule)


def is_only_order(graph: Graph, schedule: Schedule) -> bool:
    """Whether the graph allows no other schedule than this, so that what is proven of it is of the graph."""
    names = tuple(graph.operators[it].id for it in listed_order(graph))
    return graph.order == GIVEN and not graph.alternatives and schedule.order == names


def judged(graph: Graph, plan: Plan, schedule: Schedule) -> Plan:
    """The plan of a schedule's problem as one of the graph; RefusedPlanError if the judge refuses it."""
    plan = replace(plan, schedule=schedule)
    violations = recount(graph, plan)
    if violations:
        raise RefusedPlanError(
            f"the plan of {plan.solver} for a schedule was refused; please report it: "
            + "; ".join(f"{it.code}: {it.message}" for it in violations[:5])
        )
    return plan
