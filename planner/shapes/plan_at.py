"""The ordinary plan at a value of the symbols, of a symbolic plan: judged, with bounds like any other."""

from collections.abc import Mapping
from math import lcm

import memstow
from memstow.planner.check import require_valid
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.objective import terms_of
from memstow.planner.model.plan import Explanation, Placement, Plan, Status, make_placement
from memstow.planner.model.problem import Problem, end_of
from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem
from memstow.planner.model.with_sizes import with_sizes
from memstow.planner.reduce import reduce
from memstow.planner.shapes.at_point import values_text
from memstow.planner.shapes.layout import Layout, LayoutAt
from memstow.planner.solve.answer import PlanValues, pool_uses
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.run_state import prover_of
from memstow.planner.solve.term_bounds import term_value
from memstow.planner.verify import recount

_MOST_REPORTED = 20


def plan_at(problem: SymbolicProblem, plan: SymbolicPlan, at: Mapping[str, int]) -> Plan:
    """The plan for the problem at these values; an InputError where the plan is not valid there."""
    return plan_of_layout(Layout(problem, plan), at)[1]


def plan_of_layout(layout: Layout, at: Mapping[str, int]) -> tuple[Problem, Plan]:
    """The problem at these values and the plan for it, of a layout that is prepared."""
    found = layout.lay_out(at)
    problem = with_sizes(layout.problem, found.sizes)
    require_valid(problem)
    placements = _placements(problem, found)
    plan = _with_values(problem, placements, layout.plan.solver)
    violations = [] if plan is None else recount(problem, plan)
    if plan is None or violations:
        raise _not_valid(at, [it.message for it in violations])
    return problem, plan


def _with_values(problem: Problem, placements: tuple[Placement, ...], solver: str | None) -> Plan | None:
    """The plan with its peaks, objective and bounds; None where some buffer has no place at all."""
    bare = Plan(status=Status.FEASIBLE, placements=placements)
    reduction = reduce(problem, bare)
    if isinstance(reduction, Explanation):
        return None
    arrays = reduction.layout(placements)
    if -1 in arrays.pool:
        return None
    values = PlanValues.of_layout(reduction, arrays, placements, None)
    bounds = Bounds(reduction)
    terms = {term: bounds.of_term(term) for term in terms_of(problem)}
    objective = tuple(term_value(term, values.of(term), bound) for term, bound in terms.items())
    proven = all(it.value == it.bound for it in objective)
    return Plan(
        status=Status.OPTIMAL if proven else Status.FEASIBLE,
        placements=placements,
        pools=tuple(pool_uses(problem, bounds, values, terms)),
        objective=objective,
        solver=solver,
        prover=prover_of(terms) if any(it.bound for it in objective) else None,
        digest=digest(problem),
        version=memstow.__version__,
    )


def _placements(problem: Problem, found: LayoutAt) -> tuple[Placement, ...]:
    """Where the buffers are. One of size 0 behind the end of its pool may be anywhere: it is moved."""
    made = []
    for buffer, pool_index, offset in zip(problem.buffers, found.pools, found.offsets, strict=True):
        pool = problem.pools[pool_index]
        if not buffer.size and offset > end_of(pool):
            offset = -(pool.base or 0) % lcm(buffer.alignment, pool.alignment)
        made.append(make_placement(buffer.id, pool.id, offset))
    return tuple(made)


def _not_valid(at: Mapping[str, int], reasons: list[str]) -> InputError:
    some = "; ".join(reasons[:_MOST_REPORTED]) or "a buffer is where it may never be"
    return InputError.single("invalid_plan", "plan", f"the plan is not valid at {values_text(at)}: {some}")
