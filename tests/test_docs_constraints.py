"""docs/constraints.md says what is so: its examples are solved, its drawings and its table are current."""

import pytest

from memstow.planner.model import Status
from memstow.planner.model.plan import Plan
from memstow.planner.verify import verify
from memstow.solvers.registry import BACK_ENDS
from tests.constraints_page import Example, examples, text, with_table

EXAMPLES = examples()
SECTIONS = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
FOUND = (Status.OPTIMAL, Status.FEASIBLE)


def valid(example: Example, plan: Plan) -> bool:
    return verify(example.problem, plan, example.options.hint) == []


def test_each_constraint_has_a_section() -> None:
    assert len(EXAMPLES) == 15


@SECTIONS
def test_the_drawing_is_that_of_the_plan(example: Example) -> None:
    assert f"(constraints/{example.drawing.name})" in text()
    assert example.drawing.read_text(encoding="utf-8") == example.drawn(), (
        "differs: python -m tests.constraints_page draws it anew"
    )


@SECTIONS
def test_the_plan_that_is_drawn_is_the_best_there_is(example: Example) -> None:
    pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")
    drawn, proven = example.plan(example.drawn_by), example.plan("auto")
    assert valid(example, drawn)
    assert valid(example, proven)
    assert proven.status is Status.OPTIMAL
    assert [term.value for term in drawn.objective] == [term.value for term in proven.objective]


@SECTIONS
def test_who_does_not_decline_honours_it(example: Example) -> None:
    for solver in example.honoured_by():
        if solver in BACK_ENDS:
            continue  # A process each; their agreement with brute force is a test of its own.
        planned = example.plan(solver, work_limit=500_000)
        assert planned.status not in FOUND or valid(example, planned), solver


def test_the_table_of_who_honours_what_is_current() -> None:
    assert text() == with_table(), "differs: python -m tests.constraints_page writes it anew"
