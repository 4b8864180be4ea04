"""Graphs with alternatives: those run that need the least memory, within the limit of cost."""

from dataclasses import replace

import pytest

import memstow
from memstow import Alternative, Graph, Limits, Operator, Options, Tensor
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.plan import Schedule
from memstow.planner.verify import verify
from tests.planner.front.test_graphs import run


def program(limit: float | None = None, order: str = "given", **changes: int) -> Graph:
    """Two operators with something wide between them, and a way around it."""
    return Graph(
        tensors=[Tensor(id="x", size=100), Tensor(id="wide", size=900), Tensor(id="y", size=50)],
        operators=[
            Operator(id="expand", inputs=["x"], outputs=["wide"], cost=10),
            Operator(id="reduce", inputs=["wide"], outputs=["y"], cost=10),
        ],
        inputs=["x"],
        outputs=["y"],
        order=order,  # type: ignore[arg-type]
        alternatives=[
            Alternative(
                id="fused",
                replaces=["expand", "reduce"],
                tensors=[Tensor(id="row", size=changes.get("row", 30))],
                operators=[
                    Operator(id="expand rows", inputs=["x"], outputs=["row"]),
                    Operator(id="reduce rows", inputs=["row"], outputs=["y"]),
                ],
                cost=22,
            )
        ],
        limits=None if limit is None else Limits(cost=limit),
    )


@pytest.mark.parametrize("order", ["given", "free"])
@pytest.mark.parametrize(("limit", "peak"), [(None, 130), (1.1, 130), (1.09, 1000), (0.5, 1000)])
def test_the_limit_decides(order: str, limit: float | None, peak: int) -> None:
    graph = program(limit, order)
    plan = memstow.plan(graph, Options(time_limit=5))
    assert [use.peak for use in plan.pools] == [peak]
    assert plan.status is Status.FEASIBLE
    assert verify(graph, plan) == []
    assert plan.schedule is not None
    assert plan.schedule.alternatives == (("fused",) if peak == 130 else ())


def test_an_alternative_that_needs_more_is_left() -> None:
    plan = memstow.plan(program(row=990), Options(deterministic=True))
    assert plan.schedule == Schedule(order=("expand", "reduce"))
    assert plan == memstow.plan(program(row=990), Options(deterministic=True))


@pytest.mark.parametrize("order", ["given", "free"])
def test_a_front_has_both(order: str) -> None:
    points, ending = run(program(order=order))
    assert [point.values for point in points] == [{"peak": 130, "cost": 22}, {"peak": 1000, "cost": 20}]
    assert ending.complete


def test_a_front_has_a_plan_for_every_cost_and_no_limit() -> None:
    with pytest.raises(InputError, match="limits") as caught:
        memstow.front(program(1.1))
    assert [(issue.code, issue.path) for issue in caught.value.issues] == [("front_limits", "$.limits")]
    assert memstow.front(replace(program(1.1), alternatives=())).points


@pytest.mark.parametrize(("limit", "accepts"), [(1.1, True), (1.09, False), (0.5, False)])
def test_a_choice_beyond_the_limit_is_refused(limit: float, accepts: bool) -> None:
    plan = memstow.plan(program())
    assert plan.schedule is not None
    assert plan.schedule.alternatives == ("fused",)
    wrong = verify(program(limit), plan)
    assert [violation.code.value for violation in wrong] == ([] if accepts else ["schedule"])
    assert accepts or "cost 22, and `limits` allows" in wrong[0].message


def test_forged_choices_are_refused() -> None:
    graph = program()
    plan = memstow.plan(graph)
    assert plan.schedule is not None
    for schedule in (
        replace(plan.schedule, alternatives=()),
        replace(plan.schedule, alternatives=("other",)),
        replace(plan.schedule, order=("expand", "reduce")),
        replace(plan.schedule, order=(*plan.schedule.order, "expand")),
    ):
        assert verify(graph, replace(plan, schedule=schedule)) != []


def test_two_that_replace_one_operator_are_not_chosen_together() -> None:
    graph = program()
    second = replace(
        graph.alternatives[0],
        id="other",
        tensors=(Tensor(id="rows", size=10),),
        operators=(
            Operator(id="expand more", inputs=["x"], outputs=["rows"]),
            Operator(id="reduce more", inputs=["rows"], outputs=["y"]),
        ),
        cost=30,
    )
    both = replace(graph, alternatives=(*graph.alternatives, second))
    points, ending = run(both)
    assert [(point.values["peak"], point.values["cost"]) for point in points] == [
        (110, 30),
        (130, 22),
        (1000, 20),
    ]
    assert ending.complete
    from memstow.planner.graph.schedules import scheduled_graph

    with pytest.raises(InputError, match="replace one operator"):
        scheduled_graph(both, Schedule(order=("expand rows",), alternatives=("fused", "other")))
