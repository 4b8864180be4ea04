"""The ordinary plan of a symbolic plan at values of the symbols, as the service is asked for it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from memstow.api.operations.body import envelope
from memstow.api.operations.body_documents import json_value
from memstow.api.operations.body_issues import collect
from memstow.api.operations.requests import EvaluateRequest, Limits
from memstow.api.operations.results import Document
from memstow.api.operations.symbolic_limits import symbolic_within
from memstow.planner.formats import write_plan
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.symbolic import SymbolicPlan, SymbolicProblem, digest_symbolic
from memstow.planner.reading.messages import wrong_type
from memstow.planner.reading.printable import shown
from memstow.planner.shapes.symbolic_documents import is_symbolic, is_symbolic_plan, parse_symbolic_plan

_MEMBERS: Final = ("problem", "plan", "at")


def plan_at_values(request: EvaluateRequest) -> Document:
    """The plan for the problem at the values that the request names."""
    issues: list[Issue] = []
    raw = envelope(issues, json_value(request.body, request.limits), _MEMBERS, _MEMBERS)
    if issues:
        raise InputError(issues)
    problem = collect(issues, "problem", lambda: _problem(raw["problem"], request.limits))
    plan = collect(issues, "plan", lambda: _plan(raw["plan"]))
    at = collect(issues, "at", lambda: _values(raw["at"]))
    if issues or problem is None or plan is None or at is None:
        raise InputError(issues)
    if plan.digest is not None and plan.digest != digest_symbolic(problem):
        message = "the plan is for another problem, which its digest says; solve this one"
        raise InputError.single("other_problem", "$.plan.digest", message)
    # What is wrong is told without waiting for these imports.
    from memstow.planner.shapes.symbolic_layout import Layout, plan_of_layout

    try:
        ordinary, made = plan_of_layout(Layout(problem, plan), at)
    except InputError as error:
        raise InputError(_placed(issue) for issue in error.issues) from None
    return Document(write_plan(ordinary, made, "json"), "json")


def _problem(raw: object, limits: Limits) -> SymbolicProblem:
    if not isinstance(raw, dict):
        raise InputError.single("not_an_object", "$", wrong_type("an object", raw))
    if not is_symbolic(raw):
        message = "this has no `symbols`: its sizes are numbers, and so it has no values to be laid out at"
        raise InputError.single("not_symbolic", "$", message)
    return symbolic_within(raw, limits)


def _plan(raw: object) -> SymbolicPlan:
    if not isinstance(raw, dict):
        raise InputError.single("not_an_object", "$", wrong_type("an object", raw))
    if not is_symbolic_plan(raw):
        message = "this is no plan of a problem with symbols, which says its `shapes`"
        raise InputError.single("not_symbolic", "$", message)
    return parse_symbolic_plan(raw)


def _values(raw: object) -> Mapping[str, int]:
    if not isinstance(raw, dict):
        raise InputError.single("not_an_object", "$", wrong_type("an object", raw))
    issues = [
        Issue("not_an_integer", f"$[{shown(name)}]", f"expected an integer, given {shown(value)}")
        for name, value in raw.items()
        if not isinstance(value, int) or isinstance(value, bool)
    ]
    if issues:
        raise InputError(issues)
    return raw


def _placed(issue: Issue) -> Issue:
    """The issue with a path in the body: a symbol or `at`, or a part of the plan."""
    path = issue.path
    if path.startswith("$."):
        return replace(issue, path=f"$.at.{path[2:]}")
    if path in _MEMBERS:
        return replace(issue, path=f"$.{path}")
    return replace(issue, path=f"$.plan.{path}")
