"""Plans of symbolic problems that came in the body of a request, to be judged."""

from typing import TYPE_CHECKING, Final

from memstow.api.operations.body_issues import collect
from memstow.api.operations.requests import Limits
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.reading.messages import missing_field, unknown_field
from memstow.planner.reading.printable import shown

if TYPE_CHECKING:
    from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem

_MEMBERS: Final = ("problem", "plan")


def has_symbols(content: object) -> bool:
    """Whether it is an envelope around a problem whose sizes are formulas."""
    problem = content.get("problem") if isinstance(content, dict) else None
    if not isinstance(problem, dict) or "symbols" not in problem:
        return False
    # Requests about other problems do not wait for this import.
    from memstow.planner.shapes.symbolic_documents import is_symbolic

    return is_symbolic(problem)


def symbolic_to_judge(content: object, limits: Limits) -> "tuple[SymbolicProblem, SymbolicPlan]":
    """The problem and the plan of such an envelope; InputError with everything that is wrong."""
    from memstow.api.operations.symbolic_limits import symbolic_within
    from memstow.planner.shapes.symbolic_documents import parse_symbolic_plan

    raw = content if isinstance(content, dict) else {}
    issues = [
        Issue("unknown_field", f"$[{shown(name)}]", unknown_field(name, _MEMBERS))
        for name in raw
        if name not in _MEMBERS
    ]
    if "plan" not in raw:
        issues.append(Issue("missing_field", "$.plan", missing_field("plan")))
        raise InputError(issues)
    problem = collect(issues, "problem", lambda: symbolic_within(raw["problem"], limits))
    plan = collect(issues, "plan", lambda: parse_symbolic_plan(raw["plan"]))
    if issues or problem is None or plan is None:
        raise InputError(issues)
    return problem, plan
