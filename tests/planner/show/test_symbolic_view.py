"""A plan of formulas in the view document: what holds at every value, and on whose word the rest stands."""

import json
from dataclasses import replace
from typing import Any

import pytest

from memstow.planner.formats.native import write_symbolic
from memstow.planner.graph.symbolic_graph import lower_symbolic
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Point,
    PointPeak,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.show.symbolic_view import SymbolicView, symbolic_document, symbolic_verdict_document
from memstow.planner.show.view_document import Author
from tests.planner.shapes.solve.test_operator_order import TWO_BRANCHES

PROBLEM = SymbolicProblem(
    symbols=[Symbol(id="s", min=1, max=8)],
    points=[Point(at={"s": 4})],
    buffers=[
        SymbolicBuffer(id="a", size="s", lifetime=(0, 1)),
        SymbolicBuffer(id="b", size="s", lifetime=(1, 2)),
    ],
)
STACKED = SymbolicPlan(
    status=Status.FEASIBLE,
    shapes="order",
    orders=[
        Order(
            placements=[
                OrderedPlacement(buffer="a", pool="memory"),
                OrderedPlacement(buffer="b", pool="memory", above=["a"]),
            ]
        )
    ],
    points=[PointPeak(at={"s": 4}, peak=8, least=8)],
    worst=1.0,
)


@pytest.mark.parametrize(
    ("author", "stands", "word"),
    [("file", "claimed", "as the file claims"), ("service", "least", "as the service says")],
)
def test_a_least_that_live_bytes_do_not_show_stands_on_a_word(author: Author, stands: str, word: str) -> None:
    view = SymbolicView(PROBLEM, STACKED, author)
    assert view.verdict.valid
    data: Any = view.data()
    (point,) = data["points"]
    assert point["stands"] == stands
    assert point["rest"] == f"No layout for this value can be smaller, {word}."
    assert view.says() == "Valid at every value."


def test_a_plan_that_the_judge_can_count_needs_no_word() -> None:
    plan = plan_symbolic(PROBLEM, Options(deterministic=True))
    data: Any = SymbolicView(PROBLEM, plan, "file").data()
    assert data["sentence"] is None
    assert data["worst"] == "The least possible at the point."
    (point,) = data["points"]
    assert point["rest"] == "No layout for this value can be smaller."


def test_a_forged_point_is_wrong_as_the_judge_says() -> None:
    forged = replace(STACKED, points=(PointPeak(at={"s": 4}, peak=7, least=7),))
    view = SymbolicView(PROBLEM, forged, "service")
    data: Any = view.data()
    (point,) = data["points"]
    assert (point["stands"], point["fault"]) == ("wrong", "the peak at s=4 is 8, not 7")
    sentence = view.sentence()
    assert sentence is not None
    assert (sentence.lead, sentence.tone) == ("This is no valid plan.", "wrong")


def test_that_nothing_fits_says_how_that_was_checked() -> None:
    problem = replace(PROBLEM, pools=(Pool(id="memory", capacity=3),))
    plan = plan_symbolic(problem, Options(deterministic=True))
    sentence = SymbolicView(problem, plan, "file").sentence()
    assert sentence is not None
    assert sentence.lead == "No plan fits at every value,"
    assert sentence.rest.startswith("checked by counting at s=")


def test_a_plan_of_a_graph_is_drawn_in_its_order_and_says_of_which_orders_it_speaks() -> None:
    graph = replace(TWO_BRANCHES, order="free")
    plan = plan_symbolic(graph, Options(deterministic=True))
    assert plan.schedule is not None
    document = json.loads(symbolic_document(graph, plan, "branches", {}))
    drawn = lower_symbolic(graph, plan.schedule.order)
    assert document["symbolic"] == json.loads(write_symbolic(drawn))
    of_service = json.loads(symbolic_verdict_document(graph, plan, "service"))
    assert of_service["symbolic"] == document["symbolic"]
    view: Any = SymbolicView(graph, plan, "file").data()
    for point in view["points"]:
        assert point["rest"] == "No layout for this value can be smaller, in any order of the operators."
    assert view["worst"] == "The least possible in this order of the operators at all 2 points."
    # Without the bounds nothing is said of other orders.
    alone = replace(plan, status=Status.FEASIBLE, points=tuple(replace(it, bound=None) for it in plan.points))
    view = SymbolicView(graph, alone, "file").data()
    for point in view["points"]:
        assert point["rest"] == "No layout for this value can be smaller in this order of the operators."


def test_why_nothing_fits_in_one_order_is_told() -> None:
    pools = (Pool(id="memory", capacity=4000),)
    small = replace(TWO_BRANCHES, order="free", points=(Point(at={"s": 8}),), pools=pools)
    view = SymbolicView(small, plan_symbolic(small, Options(deterministic=True)), "file")
    sentence = view.sentence()
    assert sentence is not None
    assert sentence.lead == "No plan was found,"
    assert sentence.note.startswith("in the order of the operators that was chosen, ")
