"""What is judged inside of the server, and what in a process of its own."""

import json
from dataclasses import replace

import pytest

from memstow.api.operations.operations import VERIFY, TooManyChoicesError
from memstow.api.operations.request_types import BodyForm, VerifyRequest
from memstow.planner.formats.native import write_document, write_plan
from memstow.planner.model.plan import ExhaustedWindow, Plan
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.solve import engine
from tests.api.operations.test_front import LIMITS

PROBLEM = Problem(version=1, buffers=(Buffer(id="a", size=4, lifetime=(0, 1)),))


def judged(plan: Plan, most_choices: int | None) -> bytes:
    members = {"problem": json.loads(write_document(PROBLEM)), "plan": json.loads(write_plan(PROBLEM, plan))}
    request = VerifyRequest(
        body=json.dumps(members).encode(), form=BodyForm(members=("plan",)), limits=LIMITS
    )
    return VERIFY.perform(request, most_choices).body


def test_the_search_of_a_window_is_left_to_a_process_of_its_own() -> None:
    plan = engine.plan(PROBLEM)
    assert json.loads(judged(plan, 100))["valid"]
    window = ExhaustedWindow(solver="test", pool="memory", begin=0, end=1, buffers=("a",))
    claim = replace(plan.objective[0], certificate=window)
    with pytest.raises(TooManyChoicesError):
        judged(replace(plan, objective=(claim,)), 100)
    assert json.loads(judged(replace(plan, objective=(claim,)), None))["valid"]
