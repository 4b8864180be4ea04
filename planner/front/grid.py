"""The step in which peaks of a problem change: its capacities and limits matter in multiples of it only.

A plan can be pressed down until every offset is a sum of sizes and given offsets, so a limit that is no
multiple is worth as much as the multiple below it. Solvers count in these steps, and a bound between two of
them would never meet a value.
"""

from dataclasses import replace

from memstow.planner.check import find_issues
from memstow.planner.front.facts import ANY
from memstow.planner.front.two_terms import TwoTerms, cut
from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import Kind, Pool
from memstow.planner.reduce import reduce


def step_of(two: TwoTerms) -> int:
    """The step; 1 where any offset may matter."""
    if any(term.kind is Kind.MOVES for term in two.terms):
        return 1
    reduction = reduce(two.problem)
    return 1 if isinstance(reduction, Explanation) else reduction.unit


def on_grid(two: TwoTerms, step: int) -> TwoTerms:
    """The same with capacities that are multiples of the step."""
    if step == 1:
        return two
    problem = replace(two.problem, pools=tuple(_on_grid(pool, step) for pool in two.problem.pools))
    return two if find_issues(problem) else replace(two, problem=problem)


def below(limit: int, step: int) -> int:
    """The largest multiple of the step that is no more."""
    return limit if limit >= ANY else limit - limit % step


def _on_grid(pool: Pool, step: int) -> Pool:
    return pool if pool.capacity is None else cut(pool, below(pool.capacity, step))
