"""A schedule that does more than order: the graph whose operators run as listed that it stands for.

Alternatives are taken first, then operators run again and tensors wait elsewhere, then stripes become one
operator each. The plan is the plan of the problem of that graph.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Schedule
from memstow.planner.verify.effort import Effort, TooMuch
from memstow.planner.verify.graphs.chosen import with_chosen
from memstow.planner.verify.graphs.refused import Refused
from memstow.planner.verify.graphs.runs import run_of
from memstow.planner.verify.graphs.stripes import check_stripes, striped
from memstow.planner.verify.graphs.work import cost_of

MOST_STEPS: Final = 10_000_000
"""What is looked at of rows, strips, readers and versions: some ten seconds."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """What a schedule stands for."""

    graph: Graph
    """Its operators run as they are listed."""
    cost: int
    says: tuple[str, ...]
    """What was followed, in words; about stripes last."""
    rows: int


def does_more_than_order(schedule: Schedule) -> bool:
    """Whether the schedule has operators that run again, alternatives, stripes or copies."""
    repeats = len(set(schedule.order)) < len(schedule.order)
    return repeats or bool(schedule.alternatives or schedule.stripes or schedule.spills)


def scheduled(graph: Graph, schedule: Schedule, steps: int = MOST_STEPS) -> Scheduled:
    """The graph of a schedule. Raises Refused where the graph does not allow it, or it takes more steps."""
    try:
        return _scheduled(graph, schedule, Effort(steps))
    except TooMuch:
        raise Refused(
            f"to replay the schedule takes more than {steps:,} steps; use fewer operators or rows in "
            "its stripes, or wider strips"
        ) from None


def _scheduled(graph: Graph, schedule: Schedule, effort: Effort) -> Scheduled:
    chosen = with_chosen(graph, schedule.alternatives)
    run = run_of(chosen, schedule, effort)
    check_stripes(schedule.stripes, chosen.before, schedule.order)
    rolled = striped(run, schedule.stripes, effort)
    tensors = {tensor.id: tensor for tensor in run.graph.tensors}
    cost = sum(cost_of(operator, tensors) for operator in rolled.graph.operators)
    says = tuple(_says(chosen, schedule))
    return Scheduled(rolled.graph, cost, says, rolled.rows)


def _says(chosen: Graph, schedule: Schedule) -> Iterator[str]:
    if schedule.alternatives:
        count = len(schedule.alternatives)
        yield f"{count:,} {'alternative' if count == 1 else 'alternatives'} chosen"
    if again := len(schedule.order) - len(chosen.operators):
        yield f"{again:,} {'operator' if again == 1 else 'operators'} run again, on versions made before"
    if schedule.spills:
        count = len(schedule.spills)
        yield f"{count:,} {'tensor' if count == 1 else 'tensors'} copied out and back"
