"""Fronts of graphs: every point is judged, and none is missing where all are said to be there."""

import threading
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NoReturn

import pytest

from memstow.planner.front import graph_front
from memstow.planner.front.find_front import front
from memstow.planner.front.front_documents import read_front, write_front
from memstow.planner.front.front_request import ANY, Ending, FrontCallbacks, FrontRequest, Known, ValuedPlan
from memstow.planner.front.graph_front import graph_points
from memstow.planner.graph import live_bytes
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import FrontPoint, KeptOrder
from memstow.planner.model.graph import Alternative, Graph, Operator, Tensor, Window
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool
from memstow.planner.show.front_report import front_report
from memstow.planner.verify import verify
from tests.campaign import gate_first
from tests.planner.graph.stripes.nets import random_net
from tests.planner.graph.stripes.test_front import best, value

STEADY = Options(deterministic=True, work_limit=100_000_000)


def run(
    graph: Graph, request: FrontRequest | None = None, cancel: threading.Event | None = None
) -> tuple[list[FrontPoint], Ending]:
    """All points, by the peak, and the ending."""
    result = graph_points(graph, request or FrontRequest(options=STEADY), FrontCallbacks(cancel=cancel))
    points: list[FrontPoint] = []
    while True:
        try:
            points.append(next(result))
        except StopIteration as end:
            ending: Ending = end.value
            kept = [point for point in points if not _is_beaten(point, points)]
            return sorted(kept, key=lambda entry: next(iter(entry.values.values()))), ending


def _is_beaten(point: FrontPoint, points: list[FrontPoint]) -> bool:
    """Whether another is as good in both terms and better in one."""
    return any(
        entry.values != point.values
        and all(entry.values[term] <= value for term, value in point.values.items())
        for entry in points
    )


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
    assert ending.complete == all(point.proven for point in points)
    values = [(point.values["peak"], point.values["cost"]) for point in points if point.proven]
    assert best(iter(values)) == values


@pytest.mark.parametrize("seed", gate_first(range(12), 2))
def test_a_free_order_is_at_least_as_good_and_its_bounds_hold(seed: int) -> None:
    graph = random_net(2000 + seed, 9)
    given, _ = run(graph)
    free, ending = run(replace(graph, order="free"))
    assert not ending.complete or all(point.proven for point in free)
    for point in given:
        for entry in free:
            peak, cost = entry.bounds.get("peak", 0), entry.bounds.get("cost", 0)
            assert point.values["cost"] > entry.values["cost"] or point.values["peak"] >= peak
            assert point.values["peak"] > entry.values["peak"] or point.values["cost"] >= cost
        assert any(
            entry.values["peak"] <= point.values["peak"] and entry.values["cost"] <= point.values["cost"]
            for entry in free
        )
    for point in free:
        assert verify(replace(graph, order="free"), point.plan) == []


def test_what_is_asked_for_is_a_part_of_the_front() -> None:
    graph = next(entry for entry in (random_net(seed, 9) for seed in range(99)) if len(run(entry)[0]) > 5)
    points, _ = run(graph)
    least = points[-1].values["cost"]
    near, _ = run(graph, FrontRequest(options=STEADY, within=1.2))
    assert [entry.values for entry in near] == [
        point.values for point in points if point.values["cost"] <= 1.2 * least
    ]
    some, ending = run(graph, FrontRequest(options=STEADY, points=2))
    assert not ending.complete
    assert [entry.values for entry in some] == [points[0].values, points[-1].values]
    without, ending = run(graph, FrontRequest(options=STEADY, generators=frozenset()))
    assert ending.complete
    assert [entry.values["cost"] for entry in without] == [sum(entry.cost or 0 for entry in graph.operators)]


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
    # One is placed in any case.
    assert len(points) == 1
    assert ending.complete == points[0].proven


def test_a_capacity_leaves_those_that_fit() -> None:
    graph = next(entry for entry in (random_net(seed, 9) for seed in range(99)) if len(run(entry)[0]) > 5)
    points, _ = run(graph)
    capacity = points[2].values["peak"]
    small = replace(graph, pools=(Pool(id="ram", capacity=capacity),))
    fitting, _ = run(small)
    assert {layout.values["peak"] for layout in fitting} <= set(range(capacity + 1))
    assert {layout.values["cost"] for layout in fitting} >= {point.values["cost"] for point in points[:3]}


def test_what_is_too_small_is_told_what_is_needed_and_what_may_help() -> None:
    graph = random_net(3, 6)
    least = run(graph)[0][0].values["peak"]
    small = replace(graph, pools=(Pool(id="ram", capacity=least - 1),))
    points, ending = run(small)
    assert (points, ending.complete, ending.infeasible) == ([], True, True)
    why = ending.explanation
    assert why is not None
    assert (why.pool, why.capacity, why.needed) == ("ram", least - 1, least)
    assert f"give it {least:,} or more" in why.message
    assert "--with stripes,channels,recompute" in why.message
    both = FrontRequest(options=STEADY, generators=frozenset(("stripes", "recompute")))
    points, ending = run(small, both)
    assert (points, ending.complete, ending.infeasible) == ([], True, True)
    assert ending.explanation is not None
    assert 0 < (ending.explanation.needed or 0) <= least


def _fork(order: str = "given") -> Graph:
    """Two branches, the first steps of which are listed before the last."""
    sizes = {"x": 10, "a": 100, "b": 100, "c": 1, "d": 1, "z": 1}
    runs = (("x", "a"), ("x", "b"), ("a", "c"), ("b", "d"))
    return Graph(
        tensors=[Tensor(id=name, size=size) for name, size in sizes.items()],
        operators=[
            *(Operator(id=f"make {made}", inputs=[read], outputs=[made], cost=1) for read, made in runs),
            Operator(id="join", inputs=["c", "d"], outputs=["z"], cost=1),
        ],
        inputs=["x"],
        outputs=["z"],
        order=order,  # type: ignore[arg-type]
    )


def test_a_front_says_that_it_kept_an_order_that_is_not_the_best() -> None:
    said = front(_fork(), options=STEADY)
    assert said.kept_order == KeptOrder(bytes=210, free_bytes=111)
    assert said.points[0].values["peak"] == 210
    free = front(_fork("free"), options=STEADY)
    assert (free.kept_order, free.points[0].values["peak"]) == (None, 111)
    text = front_report(said)
    assert "--order free looks for other orders" in text
    assert "111 live bytes, not 210, which is 47.14 % less than the least point" in text
    # In the order that is best, only that it was kept.
    operators = [_fork().operators[at] for at in (0, 2, 1, 3, 4)]
    best_order = front(replace(_fork(), operators=tuple(operators)), options=STEADY)
    assert best_order.kept_order == KeptOrder(bytes=111)
    before = tuple(pairwise(entry.id for entry in _fork().operators))
    assert front(replace(_fork(), before=before), options=STEADY).kept_order is None
    assert read_front(write_front(said, "json")) == said


def test_a_front_without_time_left_looks_for_no_other_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> NoReturn:
        raise AssertionError

    monkeypatch.setattr(graph_front, "outlook", never)
    said = front(_fork(), options=Options(time_limit=1e-6))
    assert said.kept_order == KeptOrder(bytes=210)
    assert [point.values["peak"] for point in said.points] == [210]


def test_a_front_counts_the_order_of_a_graph_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[tuple[int, ...]] = []
    count = live_bytes._steps

    def noted(
        graph: Graph, order: Sequence[int], unit: int, counts: live_bytes.Counts
    ) -> Sequence[live_bytes.Step]:
        counted.append(tuple(order))
        return count(graph, order, unit, counts)

    monkeypatch.setattr(live_bytes, "_steps", noted)
    # Also where the costs of the operators have to be counted, and so another graph is made.
    graph = replace(_fork(), operators=tuple(replace(entry, cost=None) for entry in _fork().operators))
    front(graph, generators=(), options=Options(time_limit=1e-6))
    assert counted == [(0, 1, 2, 3, 4)]


def test_a_plan_above_its_live_bytes_leaves_room_for_another_point() -> None:
    plan = run(random_net(3, 4))[0][0].plan

    def is_complete(points: list[tuple[int, int]], most: int | None = None, room: int = ANY) -> bool:
        known = Known(lambda _: most, limited_first=False, room=room)
        # There are two schedules: of 12 bytes at a cost of 4, and of 10 at 5.
        for cost, least in ((3, ANY), (4, 12), (ANY, 10)):
            known.facts.learn(cost, least)
        for peak, cost in points:
            known.add(ValuedPlan(cost, peak, plan))
        return known.complete

    assert is_complete([(10, 5), (12, 4)])
    # The schedule of 10 bytes took 12: with the point that is as good, something of 10 or 11 may be missing.
    assert not is_complete([(12, 5), (12, 4)])
    assert not is_complete([(12, 4)])
    assert is_complete([(12, 4)], most=4)
    assert is_complete([(10, 5)], room=11)
    assert is_complete([], room=9)
    assert not is_complete([], room=10)


def test_stripes_are_for_one_pool() -> None:
    graph = replace(random_net(3, 5), pools=(Pool(id="a"), Pool(id="b")))
    with pytest.raises(InputError, match="name the one"):
        run(graph)
    with pytest.raises(InputError, match="one pool"):
        run(graph, FrontRequest(terms=("peak:a", "cost")))
    with pytest.raises(InputError, match="peak and the cost"):
        run(graph, FrontRequest(terms=("peak", "moves")))


def two_pools(order: str = "given") -> Graph:
    """What must be in one of two pools, and what may be in both."""
    return Graph(
        pools=[Pool(id="fast"), Pool(id="slow")],
        tensors=[
            Tensor(id="x", size=100, pools=["fast"]),
            Tensor(id="a", size=70),
            Tensor(id="b", size=30),
            Tensor(id="y", size=50, pools=["fast"]),
        ],
        operators=[
            Operator(id="one", inputs=["x"], outputs=["a"], cost=5),
            Operator(id="two", inputs=["x"], outputs=["b"], cost=5),
            Operator(id="join", inputs=["a", "b"], outputs=["y"], cost=5),
        ],
        inputs=["x"],
        outputs=["y"],
        order=order,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("order", ["given", "free", "lpmf"])
@pytest.mark.parametrize("kinds", [(), ("recompute",), ("spill",), ("recompute", "spill")])
def test_the_peak_of_one_of_several_pools(order: str, kinds: tuple[str, ...]) -> None:
    graph = two_pools(order)
    request = FrontRequest(
        terms=("peak:fast", "cost"), generators=frozenset(kinds), cost_unit="bytes", options=STEADY
    )
    points, _ = run(graph, request)
    assert points
    for point in points:
        assert verify(graph, point.plan) == []
        assert all(point.bounds.get(term, 0) <= value for term, value in point.values.items())
        # x alone is enough, if what may be elsewhere is.
        assert point.bounds.get("peak:fast", 0) <= 100


@pytest.mark.parametrize("kinds", [("recompute",), ("stripes", "recompute")])
def test_alternatives_may_need_less_than_any_bound_of_the_operators(kinds: tuple[str, ...]) -> None:
    from tests.planner.solve.test_alternatives import program

    points, ending = run(program(), FrontRequest(generators=frozenset(kinds), options=STEADY))
    assert [point.values for point in points] == [{"peak": 130, "cost": 22}, {"peak": 1000, "cost": 20}]
    assert ending.complete
    assert all(point.bounds.get(term, 0) <= value for point in points for term, value in point.values.items())


def test_what_runs_again_in_an_alternative_costs_what_it_moves() -> None:
    def operator(name: str, inputs: str, output: str) -> Operator:
        return Operator(id=name, inputs=inputs.split(), outputs=[output])

    sizes = {"x": 4, "w": 7, "first": 100, "y": 100, "low": 4, "wide": 200, "end": 4, "z": 4}
    tensors = [
        Tensor(id=name, size=size, kind="data" if name != "w" else "constant") for name, size in sizes.items()
    ]
    own = [operator("a1", "x w", "m"), operator("a2", "m w", "y")]
    graph = Graph(
        tensors=tensors,
        operators=[
            operator("one", "x w", "first"),
            operator("two", "first w", "y"),
            operator("down", "y", "low"),
            operator("up", "low", "wide"),
            operator("again", "wide", "end"),
            operator("join", "y end", "z"),
        ],
        inputs=["x"],
        outputs=["z"],
        alternatives=[
            Alternative(id="other", replaces=["one", "two"], tensors=[Tensor(id="m", size=2)], operators=own)
        ],
    )
    request = FrontRequest(generators=frozenset({"recompute"}), cost_unit="bytes", options=STEADY)
    points, _ = run(graph, request)
    # The weights of both, which may be parts of them, are read once.
    least, cheapest = {"peak": 206, "cost": 837}, {"peak": 304, "cost": 735}
    assert [point.values for point in points] == [least, cheapest]
    assert all(not verify(graph, point.plan) for point in points)


@pytest.mark.parametrize("seed", range(30))
def test_stripes_are_never_worse_than_without(seed: int) -> None:
    graph = random_net(3000 + seed, 7)
    graph = replace(
        graph, tensors=tuple(replace(tensor, alignment=(1, 16, 64)[seed % 3]) for tensor in graph.tensors)
    )
    without, _ = run(graph, FrontRequest(generators=frozenset(), options=STEADY))
    points, _ = run(graph)
    for plain in without:
        assert any(
            all(point.values[term] <= value for term, value in plain.values.items()) for point in points
        )


def test_costs_beyond_all_are_refused_by_name() -> None:
    shape = (1 << 31, 1 << 31, 1)
    window = Window(kernel=(3, 3), padding=(1, 1, 1, 1))
    graph = Graph(
        tensors=[Tensor(id=name, shape=shape, type="int8") for name in ("x", "y")],
        operators=[Operator(id="conv", type="conv2d", inputs=["x"], outputs=["y"], window=window)],
        inputs=["x"],
        outputs=["y"],
    )
    with pytest.raises(InputError, match=r"larger than 2\^62"):
        run(graph)


def test_without_time_nobody_looks_for_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise AssertionError("there is no time for it")

    monkeypatch.setattr("memstow.planner.front.graph_front.order_front", fail)
    monkeypatch.setattr("memstow.planner.front.graph_front.reruns", fail)
    generators = frozenset({"stripes", "recompute"})
    points, ending = run(
        random_net(1000, 3), FrontRequest(options=Options(time_limit=0.0), generators=generators)
    )
    assert len(points) == 1
    assert not ending.complete
