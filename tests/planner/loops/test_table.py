"""The table of loops: what it says of stripes, of runs again and of copies, and what it refuses."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from pydantic import TypeAdapter

import memstow
from memstow.planner.loops import loop_table
from memstow.planner.model import Status
from memstow.planner.model.loops import Copy, Loops, StripeLoops, WholeOperator
from memstow.planner.model.plan import Plan
from tests.planner.loops.samples import in_two_strips, two, with_all


def test_a_stripe_has_its_strips_and_its_steps() -> None:
    graph, plan = in_two_strips()
    table = memstow.loops(graph, plan)
    (stripe,) = table.segments
    assert isinstance(stripe, StripeLoops)
    assert [operator.makes for operator in stripe.operators] == ["wide", "y", "score"]
    assert [(ring.tensor, ring.rows, ring.pitch, ring.pixel) for ring in stripe.rings] == [
        ("wide", 3, 5 * 2, 2),
        ("y", 1, 2 * 4, 4),
    ]
    # The second strip has one column of y, for which two of wide are made, one of them again.
    assert stripe.strips == (
        ((0, 5, 0, 6), (0, 2, 0, 5), (0, 2, 0, 2)),
        ((4, 6, 3, 6), (2, 3, 4, 6), (2, 3, 2, 3)),
    )
    assert [operator.again for operator in stripe.operators] == [1, 0, 0]
    assert stripe.steps[:5] == ((0, 0, 0, 2), (0, 1, 0, 3), (0, 2, 1, 4), (1, 0, 0, 3), (2, 0, 0, 1))
    assert stripe.frees[:5] == ((), (), (), (0, 2), (1, 1))
    assert stripe.frees[-1] == (1, 3)
    sums = stripe.operators[2].sums
    assert sums is not None
    assert sums.size == 4 * 4


def test_places_are_those_of_the_plan() -> None:
    graph, plan = in_two_strips()
    table = memstow.loops(graph, plan)
    placed = {placement.buffer: (placement.pool, placement.offset) for placement in plan.placements}
    (stripe,) = table.segments
    assert isinstance(stripe, StripeLoops)
    assert {tensor.id: (tensor.pool, tensor.offset) for tensor in table.tensors}.items() <= placed.items()
    assert {ring.tensor: (ring.pool, ring.offset) for ring in stripe.rings}.items() <= placed.items()
    (window,) = stripe.operators[0].temporaries
    assert (window.pool, window.offset) == placed["window"]
    assert [(pool.id, pool.size) for pool in table.pools] == [(pool.pool, pool.peak) for pool in plan.pools]
    assert table.digest == plan.digest


def test_runs_again_and_copies_name_what_they_are_of() -> None:
    graph, plan = with_all()
    table = memstow.loops(graph, plan)
    first, stripe, out, back, last = table.segments
    assert isinstance(first, WholeOperator)
    assert isinstance(stripe, StripeLoops)
    assert isinstance(last, WholeOperator)
    assert (first.id, first.runs) == ("blur", None)
    assert [(operator.id, operator.runs) for operator in stripe.operators] == [
        ("blur#2", "blur"),
        ("shrink", None),
    ]
    assert out == Copy(id="y.out.1", source="y", target="y.away.1")
    assert back == Copy(id="y.back.1", source="y.away.1", target="y.at.1")
    assert last.inputs == ("y.at.1",)
    versions = {tensor.id: tensor.of for tensor in table.tensors if tensor.of is not None}
    assert versions == {"y.away.1": "y", "y.at.1": "y"}
    lives = {tensor.id: (tensor.first, tensor.last) for tensor in table.tensors}
    assert lives["x"] == (-1, 1)
    assert lives["y"] == (1, 2)
    assert lives["score"] == (4, 5)


def test_without_a_schedule_operators_run_as_they_are_listed() -> None:
    graph = two()
    plan = memstow.plan(graph)
    table = memstow.loops(graph, replace(plan, schedule=None))
    assert [segment.id for segment in table.segments] == ["blur", "shrink", "pool"]
    assert table == memstow.loops(graph, plan)


@pytest.mark.parametrize("make", [in_two_strips, with_all])
def test_the_document_is_what_the_schema_says(make: Callable[[], tuple[memstow.Graph, Plan]]) -> None:
    graph, plan = make()
    table = memstow.loops(graph, plan)
    assert TypeAdapter(Loops).validate_json(memstow.write_loops(table)) == table


def test_a_plan_that_is_not_valid_is_refused() -> None:
    graph, plan = in_two_strips()
    there = plan.placements[0]
    wrong = replace(
        plan, placements=tuple(replace(placement, offset=there.offset) for placement in plan.placements)
    )
    with pytest.raises(memstow.InputError, match="overlap"):
        memstow.loops(graph, wrong)
    with pytest.raises(memstow.InputError, match="there is no plan"):
        memstow.loops(graph, Plan(status=Status.UNKNOWN))
    with pytest.raises(memstow.InputError, match="another problem"):
        memstow.loops(graph, replace(plan, digest="0" * 64))


def test_a_table_that_would_be_endless_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, plan = in_two_strips()
    monkeypatch.setattr(loop_table, "_MOST_NUMBERS", 10)
    with pytest.raises(memstow.InputError, match="take wider strips"):
        memstow.loops(graph, plan)


def test_other_formats_are_refused_by_name() -> None:
    graph, plan = in_two_strips()
    with pytest.raises(memstow.InputError, match="use loops, loops-text, loops-header, loops-picture"):
        memstow.write_loops(memstow.loops(graph, plan), "yaml")
