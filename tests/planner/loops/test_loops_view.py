"""What the page shows of a program is what its loops say, in the places of the plan."""

import json
from typing import Any

import pytest

import memstow
from memstow.planner.graph.documents import problem_of
from memstow.planner.loops.loops_view import Segment, members_of, segment_graph, segments_of
from memstow.planner.model.graph import Graph
from memstow.planner.model.plan import Plan
from memstow.planner.show.view_document import plan_document, verdict_document
from tests.planner.loops.samples import in_two_strips, two, with_all


def viewed(graph: Graph, plan: Plan) -> list[Segment]:
    """Its segments."""
    return segments_of(graph, problem_of(graph, plan), memstow.loops(graph, plan))


def listed() -> tuple[Graph, Plan]:
    """A plan whose operators run one by one."""
    graph = two()
    return graph, memstow.plan(graph)


@pytest.mark.parametrize("make", [in_two_strips, with_all, listed])
def test_every_operand_lies_where_the_plan_has_it(make: Any) -> None:
    graph, plan = make()
    problem = problem_of(graph, plan)
    placed = {place.buffer: (place.pool, place.offset) for place in plan.placements}
    shown = set()
    segments = viewed(graph, plan)
    for segment in segments:
        for operand in segment["operands"]:
            buffer = problem.buffers[operand["buffer"]]
            assert (operand["pool"], operand["offset"]) == placed[buffer.id]
            assert operand["size"] == buffer.size
            assert operand["name"] == buffer.id
            shown.add(buffer.id)
    assert shown == {buffer.id for buffer in problem.buffers}
    # The page finds segments by the operators of the graph that it draws.
    assert len(segments) == len(segment_graph(graph, plan.schedule).operators)


def test_a_stripe_says_who_makes_which_rows_and_how_many_are_kept() -> None:
    (stripe,) = viewed(*in_two_strips())
    assert stripe["kind"] == "stripe"
    assert stripe["name"] == "stripe of conv2d blur to mean pool"
    assert stripe["what"] == "3 operators, 2 strips of 2 columns, 12 steps in each"
    assert [
        (member["name"], member["makes"], member["extent"], member["keeps"]) for member in stripe["members"]
    ] == [
        ("conv2d blur", "wide", "6 × 6, 1 column again", "3 rows"),
        ("conv2d shrink", "y", "3 × 3", "1 row"),
        ("mean pool", "score", "3 × 3", "sums"),
    ]
    roles = {operand["name"]: (operand["role"], operand["what"]) for operand in stripe["operands"]}
    assert roles["x"] == ("reads", "6 × 6 × 1 int8")
    assert roles["wide"] == ("ring", "3 rows, row r at r mod 3; 10 bytes a row")
    assert roles["window"][0] == "needs"
    assert {role for role, _ in roles.values()} == {"reads", "makes", "ring", "sums", "needs"}
    assert stripe["words"][0].split() == ["columns", "by", "strip", "wide", "y", "score"]
    assert "  blur: wide[0] from x[0..1]" in stripe["words"]


def test_steps_say_what_is_made_read_and_held() -> None:
    (stripe,) = viewed(*in_two_strips())
    texts = [step["text"] for step in stripe["steps"]]
    assert texts[:5] == [
        "conv2d blur makes row 0 of wide from rows 0 to 1 of x. Held: wide row 0.",
        "conv2d blur makes row 1 of wide from rows 0 to 2 of x. Held: wide rows 0 to 1.",
        "conv2d blur makes row 2 of wide from rows 1 to 3 of x. Held: wide rows 0 to 2.",
        "conv2d shrink makes row 0 of y from rows 0 to 2 of wide. Held: wide rows 0 to 2, y row 0.",
        "mean pool adds row 0 of y to score. Held: wide row 2, y row 0.",
    ]
    cells = stripe["steps"][3]["cells"]
    fours = {tuple(cells[at : at + 4]) for at in range(0, len(cells), 4)}
    # It makes row 0 of y, and reads three rows, each in its own line of the ring.
    assert fours == {(1, 0, 0, 2), (0, 0, 0, 1), (0, 1, 1, 1), (0, 2, 2, 1)}
    assert [step["member"] for step in stripe["steps"]][:5] == [0, 0, 0, 1, 2]
    assert stripe["all_steps"] == len(stripe["steps"])


def test_runs_again_and_copies_are_called_so() -> None:
    segments = viewed(*with_all())
    assert [segment["kind"] for segment in segments] == ["operator", "stripe", "copy", "copy", "operator"]
    assert segments[1]["name"] == "stripe of conv2d blur#2 to conv2d shrink"
    assert [(segment["name"], segment["what"]) for segment in segments[2:4]] == [
        ("copy", "of y"),
        ("copy", "of y.away.1"),
    ]


def test_a_document_has_loops_only_where_they_are_given() -> None:
    graph, plan = in_two_strips()
    problem = problem_of(graph, plan)
    without = json.loads(plan_document(graph, problem, plan, "two"))
    assert "loops" not in without
    document = json.loads(
        plan_document(
            graph, problem, plan, "two", program=members_of(graph, problem, plan, memstow.loops(graph, plan))
        )
    )
    assert [segment["kind"] for segment in document["loops"]] == ["stripe"]
    assert [operator["id"] for operator in document["graph"]["operators"]] == ["pool"]
    # The bound is that of what this schedule makes of the graph, of which there are others.
    judged = json.loads(verdict_document(graph, problem, plan, "service"))
    for entry in (without, document, judged):
        assert entry["verdict"]["rest"].startswith("No plan of this schedule can be smaller")
