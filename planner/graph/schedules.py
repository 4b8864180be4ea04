"""The plain graph of a schedule: alternatives chosen, what runs again or waits elsewhere, stripes as one."""

from dataclasses import replace

from memstow.planner.graph.check import require_valid
from memstow.planner.graph.check.alternatives import with_alternative
from memstow.planner.graph.runs import with_runs
from memstow.planner.graph.stripes.expand import with_stripes
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import GIVEN, Alternative, Graph
from memstow.planner.model.plan import Plan, Schedule


def only_orders(schedule: Schedule) -> bool:
    """Whether each operator of the graph runs once, by itself."""
    again = len(set(schedule.order)) < len(schedule.order)
    return not (again or schedule.alternatives or schedule.stripes or schedule.spills)


def require_hint_of_orders(graph: Graph, hint: Plan) -> None:
    """Refuse a hint whose schedule no search starts from: in all of them each operator runs once, by itself.

    The order of another graph is passed over, like places that are no longer valid.
    """
    schedule = hint.schedule
    if schedule is None or only_orders(schedule):
        return
    is_order_alone = not (schedule.stripes or schedule.alternatives or schedule.spills)
    if is_order_alone and set(schedule.order) != {it.id for it in graph.operators}:
        return
    does = (
        "runs operators in stripes"
        if schedule.stripes
        else "chooses alternatives"
        if schedule.alternatives
        else "copies tensors out and back"
        if schedule.spills
        else "runs operators again"
    )
    message = (
        f"the schedule of this plan {does}, and no search starts from such a one: leave the hint out, or "
        "give a plan in which each operator runs once"
    )
    raise InputError.single("hint_schedule", "$.hint.schedule", message)


def scheduled_graph(graph: Graph, schedule: Schedule) -> Graph:
    """A graph whose operators run as they are listed: those of the schedule of a valid graph.

    Raises InputError where the graph does not allow the schedule.
    """
    chosen = with_chosen(graph, schedule.alternatives)
    plain, moved = with_runs(chosen, replace(schedule, alternatives=()))
    return replace(with_stripes(plain, moved.stripes), order=GIVEN)


def with_chosen(graph: Graph, names: tuple[str, ...]) -> Graph:
    """The graph with these alternatives in the place of what they replace, and no others."""
    found = {it.id: it for it in graph.alternatives}
    unknown = next((name for name in names if name not in found), None)
    if unknown is not None:
        message = f"the graph has no alternative {unknown!r}"
        raise InputError.single("not_a_schedule", "schedule.alternatives", message)
    chosen = [it for it in graph.alternatives if it.id in set(names)]
    replaced = [name for it in chosen for name in it.replaces]
    if len(set(replaced)) < len(replaced):
        message = "two of the alternatives replace one operator; choose one of them"
        raise InputError.single("not_a_schedule", "schedule.alternatives", message)
    for alternative in chosen:
        graph = with_alternative(graph, with_own_cost(alternative))
    if not graph.alternatives and not chosen:
        return graph
    alone = replace(graph, alternatives=(), limits=None)
    if chosen:
        # Each was checked by itself; two may use one name, or what the other does away with.
        require_valid(alone)
    return alone


def with_own_cost(alternative: Alternative) -> Alternative:
    """The alternative with its cost at its first operator, where it has one for all of them."""
    if alternative.cost is None or not alternative.operators:
        return alternative
    costs = [alternative.cost, *[0] * (len(alternative.operators) - 1)]
    operators = tuple(
        replace(operator, cost=cost) for operator, cost in zip(alternative.operators, costs, strict=True)
    )
    return replace(alternative, operators=operators)
