"""Fronts of graphs: every point is judged, and none is missing where all are said to be there."""

import threading
from dataclasses import replace

import pytest

from memstow.planner.front.graphs import graph_points
from memstow.planner.front.request import Ending, FrontCallbacks, FrontRequest
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import FrontPoint
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool
from memstow.planner.verify import verify
from tests.planner.graph.stripes.nets import random_net
from tests.planner.graph.stripes.test_front import best, value

STEADY = Options(deterministic=True, work_limit=100_000_000)


def run(
    graph: Graph, request: FrontRequest | None = None, cancel: threading.Event | None = None
) -> tuple[list[FrontPoint], Ending]:
    """All points, by the peak, and the ending."""
    found = graph_points(graph, request or FrontRequest(options=STEADY), FrontCallbacks(cancel=cancel))
    points: list[FrontPoint] = []
    while True:
        try:
            points.append(next(found))
        except StopIteration as end:
            ending: Ending = end.value
            return sorted(points, key=lambda it: it.values["peak"]), ending


@pytest.mark.parametrize("seed", range(60))
def test_each_point_is_what_it_says_and_judged(seed: int) -> None:
    graph = random_net(1000 + seed, 3 + seed % 9)
    points, ending = run(graph)
    for point in points:
        assert verify(graph, point.plan) == []
        assert point.plan.schedule is not None
        bytes_, cost = value(graph, point.plan.schedule)
        assert (point.values["peak"] >= bytes_, point.values["cost"]) == (True, cost)
        assert point.values["peak"] >= point.bounds["peak"]
        assert point.proven == (point.bounds == point.values)
    assert ending.complete == all(it.proven for it in points)
    values = [(it.values["peak"], it.values["cost"]) for it in points if it.proven]
    assert best(iter(values)) == values


@pytest.mark.parametrize("seed", range(12))
def test_a_free_order_is_at_least_as_good_and_proves_nothing(seed: int) -> None:
    graph = random_net(2000 + seed, 9)
    given, _ = run(graph)
    free, ending = run(replace(graph, order="free"))
    assert not ending.complete
    assert not any(it.proven or it.bounds for it in free)
    for point in given:
        assert any(
            it.values["peak"] <= point.values["peak"] and it.values["cost"] <= point.values["cost"]
            for it in free
        )
    for point in free:
        assert verify(replace(graph, order="free"), point.plan) == []


def test_what_is_asked_for_is_a_part_of_the_front() -> None:
    graph = next(it for it in (random_net(seed, 9) for seed in range(99)) if len(run(it)[0]) > 5)
    points, _ = run(graph)
    least = points[-1].values["cost"]
    near, _ = run(graph, FrontRequest(options=STEADY, within=1.2))
    assert [it.values for it in near] == [it.values for it in points if it.values["cost"] <= 1.2 * least]
    some, ending = run(graph, FrontRequest(options=STEADY, points=2))
    assert not ending.complete
    assert [it.values for it in some] == [points[0].values, points[-1].values]
    without, ending = run(graph, FrontRequest(options=STEADY, generators=frozenset()))
    assert ending.complete
    assert [it.values["cost"] for it in without] == [sum(it.cost or 0 for it in graph.operators)]


def test_points_known_before_are_not_placed_again() -> None:
    graph = random_net(7, 9)
    points, _ = run(graph)
    again, ending = run(graph, FrontRequest(options=STEADY, start=tuple(points)))
    assert again == points
    assert ending.complete


def test_it_ends_when_it_is_told_to() -> None:
    cancel = threading.Event()
    cancel.set()
    points, ending = run(random_net(3, 9), cancel=cancel)
    assert (points, ending.complete) == ([], False)


def test_a_capacity_leaves_those_that_fit() -> None:
    graph = next(it for it in (random_net(seed, 9) for seed in range(99)) if len(run(it)[0]) > 5)
    points, _ = run(graph)
    capacity = points[2].values["peak"]
    small = replace(graph, pools=(Pool(id="ram", capacity=capacity),))
    fitting, _ = run(small)
    assert {it.values["peak"] for it in fitting} <= set(range(capacity + 1))
    assert {it.values["cost"] for it in fitting} >= {it.values["cost"] for it in points[:3]}


def test_stripes_are_for_one_pool() -> None:
    graph = replace(random_net(3, 5), pools=(Pool(id="a"), Pool(id="b")))
    with pytest.raises(InputError, match="name the one"):
        run(graph)
    with pytest.raises(InputError, match="one pool"):
        run(graph, FrontRequest(terms=("peak:a", "cost")))
    with pytest.raises(InputError, match="peak and the cost"):
        run(graph, FrontRequest(terms=("peak", "moves")))
