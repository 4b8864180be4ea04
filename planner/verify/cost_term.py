"""The term `cost` of a plan for a graph: what the operators of its schedule cost together."""

from collections.abc import Sequence

from memstow.planner.model.objective import COST
from memstow.planner.model.records import record


@record
class CostTerm:
    """What was counted of a schedule."""

    value: int
    least: int
    """No schedule of the graph costs less; 0 where that is not known."""
    terms: tuple[str, ...]
    """The objective of the graph."""


def expected_terms(
    of_problem: tuple[str, ...], claimed: Sequence[str], cost: CostTerm | None
) -> tuple[str, ...]:
    """The terms that the plan must have: any plan of a graph may say what its schedule costs."""
    if cost is None:
        return of_problem
    if COST in cost.terms:
        return cost.terms
    if COST not in claimed:
        return of_problem
    at = list(claimed).index(COST)
    return (*of_problem[:at], COST, *of_problem[at:])
