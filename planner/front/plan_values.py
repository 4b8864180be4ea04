"""The plan of a point, made for a limited problem, as a plan for the problem that the user has."""

from dataclasses import replace

import memstow
from memstow.planner.model import Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.plan import Explanation, Plan
from memstow.planner.model.problem import Problem, terms_of
from memstow.planner.reduce import reduce
from memstow.planner.solve.answer import PlanValues, pool_uses
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.run_state import prover_of, term_value
from memstow.planner.verify import recount


class PlansFor:
    """Makes judged plans for one problem from those of limited ones."""

    def __init__(self, problem: Problem, hint: Plan | None) -> None:
        self._problem = problem
        self._hint = hint
        reduction = reduce(problem)
        self._bounds = None if isinstance(reduction, Explanation) else Bounds(reduction)

    def plan(self, found: Plan) -> Plan:
        """The plan with the values and bounds of this problem; RefusedPlanError if the judge refuses it."""
        problem, bounds = self._problem, self._bounds
        if bounds is None:
            raise RefusedPlanError(f"a plan of {found.solver} was found where none fits; please report it")
        peaks = [use.peak for use in found.pools]
        values = PlanValues(problem, found.placements, self._hint, peaks, [use.live for use in found.pools])
        terms = {term: bounds.of_term(term) for term in terms_of(problem)}
        objective = tuple(term_value(term, values.of(term), bound) for term, bound in terms.items())
        proven = all(entry.value == entry.bound for entry in objective)
        plan = replace(
            found,
            status=Status.OPTIMAL if proven else Status.FEASIBLE,
            pools=tuple(pool_uses(problem, bounds, values, terms)),
            objective=objective,
            prover=prover_of(terms) if any(entry.bound for entry in objective) else None,
            digest=digest(problem),
            version=memstow.__version__,
        )
        violations = recount(problem, plan, self._hint)
        if violations:
            raise RefusedPlanError(
                f"the plan of {found.solver} for a point of a front was refused; please report it: "
                + "; ".join(f"{it.code}: {it.message}" for it in violations[:5])
            )
        return plan
