"""Fronts in which the order and the alternatives are chosen together, against all schedules."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from random import Random

import pytest

from memstow.planner.front.find_front import find_front
from memstow.planner.front.free_front import all_orders, free_front
from memstow.planner.front.front_request import FrontCallbacks, FrontRequest
from memstow.planner.front.graph_candidates import Reruns, reruns
from memstow.planner.graph.changes import with_channels
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.order_front import order_front
from memstow.planner.graph.stripe_front import Candidate
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import FrontOptions, FrontPoint, Generator
from memstow.planner.model.graph import GIVEN, Alternative, Graph, Operator, Order, Tensor, Window
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Schedule
from memstow.planner.solve.portfolio import Allowance
from memstow.planner.verify import verify
from memstow.solvers.core import Budget
from tests.campaign import gate_first, rounds
from tests.graphs import Document
from tests.planner.front.every_schedule import Asked, lies, random_free, schedules
from tests.planner.front.stripe_ways import chain, every_way, every_way_again, network, varied

_STEADY = Options(deterministic=True, work_limit=20_000_000)


@pytest.mark.parametrize("chunk", gate_first(range(20), 1))
def test_no_schedule_in_any_order_is_better_than_what_is_proven(chunk: int) -> None:
    graphs = points = proven = complete = 0
    for seed in range(20 * chunk, 20 * (chunk + 1)):
        sample = random_free(seed)
        try:
            said = sample.front()
        except InputError:
            continue
        graphs, points = graphs + 1, points + len(said.points)
        proven += sum(point.proven for point in said.points)
        complete += said.complete
        assert list(lies(sample, said, schedules(sample, 1, 0))) == [], seed
    assert graphs > 9
    assert proven > 0.8 * points
    assert complete > 0.8 * graphs


def test_what_runs_again_in_one_order_starts_from_each_operator_once() -> None:
    sample = random_free(20_507)
    assert sample.options.generators == ("recompute",)
    assert list(lies(sample, sample.front(), schedules(sample, 1, 0))) == []


_BRANCHES: Document = {
    "version": 1,
    "order": "free",
    "tensors": [
        *({"id": "x", "size": 1}, {"id": "a", "size": 3}, {"id": "b", "size": 6}, {"id": "y", "size": 1}),
        *({"id": "c", "size": 1}, {"id": "d", "size": 1}),
    ],
    "operators": [
        {"id": "left", "inputs": ["x"], "outputs": ["a"], "cost": 1},
        {"id": "narrow", "inputs": ["a"], "outputs": ["c"], "cost": 1},
        {"id": "right", "inputs": ["x"], "outputs": ["b"], "cost": 1},
        {"id": "thin", "inputs": ["b"], "outputs": ["d"], "cost": 1},
        {"id": "join", "inputs": ["c", "d"], "outputs": ["y"], "cost": 1},
    ],
    "inputs": ["x"],
    "outputs": ["y"],
    "alternatives": [
        {
            "id": "halves",
            "replaces": ["right", "thin"],
            "tensors": [{"id": "half", "size": 3}, {"id": "part", "size": 1}, {"id": "rest", "size": 3}],
            "operators": [
                {"id": "first", "inputs": ["x"], "outputs": ["half"]},
                {"id": "sum", "inputs": ["half"], "outputs": ["part"]},
                {"id": "second", "inputs": ["x"], "outputs": ["rest"]},
                {"id": "total", "inputs": ["rest", "part"], "outputs": ["d"]},
            ],
            "cost": 9,
        }
    ],
}


def test_a_choice_of_alternatives_has_an_order_of_its_own() -> None:
    sample = Asked(parse_graph(_BRANCHES), FrontOptions(terms=("peak", "cost"), generators=()))
    said = sample.front()
    assert said.complete
    assert all(point.proven for point in said.points)
    assert {point.plan.schedule.alternatives for point in said.points if point.plan.schedule} == {
        (),
        ("halves",),
    }
    forged = replace(said, points=said.points[1:])
    assert any("complete, and without" in lie for lie in lies(sample, forged, schedules(sample, 0, 0)))


@pytest.mark.parametrize("seed", range(12))
def test_all_orders_are_those_that_the_graph_allows(seed: int) -> None:
    random = Random(seed)
    reads = [[other for other in range(number) if random.random() < 0.4] for number in range(seed % 7)]
    names = [f"t{number}" for number in range(len(reads))]
    graph = parse_graph(
        {
            "version": 1,
            "tensors": [{"id": name, "size": 1} for name in names],
            "operators": [
                {"id": f"make {name}", "inputs": [names[other] for other in others], "outputs": [name]}
                for name, others in zip(names, reads, strict=True)
            ],
            "outputs": names,
        }
    )
    allowed = [
        list(order)
        for order in permutations(range(len(reads)))
        if all(order.index(other) < order.index(number) for number in order for other in reads[number])
    ]
    orders = all_orders(graph, len(allowed))
    assert orders is not None
    assert sorted(orders) == allowed
    assert all_orders(graph, len(allowed) - 1) is None


def test_a_chain_of_a_thousand_operators_has_one_order() -> None:
    graph = parse_graph(chain(4, "free", ["x", *(f"t{number}" for number in range(1_500)), "y"]))
    assert all_orders(graph, 1) == [listed_order(graph)]


@pytest.mark.parametrize("rows", [4, 6, 9])
def test_stripes_are_proven_where_there_is_one_order(rows: int) -> None:
    fronts = [
        find_front(parse_graph(chain(rows, order)), FrontOptions(), _STEADY, FrontCallbacks())
        for order in ("given", "free")
    ]
    assert [point.values for point in fronts[0].points] == [point.values for point in fronts[1].points]
    assert len(fronts[1].points) > 1
    assert fronts[0].complete
    assert fronts[1].complete


@pytest.mark.rounds
@pytest.mark.parametrize("generators", [("stripes",), ("stripes", "channels"), ("stripes", "recompute")])
@pytest.mark.parametrize("most_orders", [0, 64], ids=["by bounds", "order by order"])
def test_no_stripes_in_any_order_are_better_than_the_bounds(
    generators: tuple[Generator, ...], most_orders: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where only a part of what is made is read, so that stripes cost less than the whole."""
    monkeypatch.setattr("memstow.planner.front.free_front._MOST_ORDERS", most_orders)
    bounded = 0
    for seed in range(rounds(8)):
        graph = parse_graph(json.loads(json.dumps(network(Random(seed)))))
        said = find_front(graph, FrontOptions(generators=generators), _STEADY, FrontCallbacks())
        ways = list(every_way(with_channels(graph) if "channels" in generators else graph))
        assert ways
        bounded += sum(bool(point.bounds) for point in said.points)
        _assert_bounded(said.points, ways, seed)
        listed = order_front(
            replace(graph, order=GIVEN), listed_order(graph), Budget(-1.0, 20_000_000)
        ).points
        for way in ways if said.complete else listed:
            assert any(
                point.values["peak"] <= way.bytes and point.values["cost"] <= way.cost
                for point in said.points
            ), (seed, way)
    assert bounded


@pytest.mark.parametrize("seeds", gate_first([range(at, at + 6) for at in range(0, 96, 6)], 1))
def test_no_stripes_in_which_operators_run_again_are_better_than_the_bounds(seeds: range) -> None:
    bounded = 0
    for seed in seeds:
        graph = varied(seed)
        bounded += _bounded_again(graph)
    assert bounded


@pytest.mark.parametrize("order", ["given", "free"])
@pytest.mark.parametrize("generators", [("stripes",), ("stripes", "recompute"), ("recompute",)])
def test_a_graph_that_takes_too_long_to_describe_has_points_that_claim_little(
    order: Order, generators: tuple[Generator, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = replace(varied(3), order=order)
    whole = find_front(graph, FrontOptions(generators=generators), _STEADY, FrontCallbacks())
    monkeypatch.setattr("memstow.planner.front.graph_front._SECONDS_TO_DESCRIBE", 1e9)
    said = find_front(graph, FrontOptions(generators=generators), Options(time_limit=60.0), FrontCallbacks())
    assert said.points
    assert not said.complete
    assert all(verify(graph, point.plan) == [] for point in said.points)
    ways = [
        Candidate(point.values["peak"], point.values["cost"], Schedule(order=())) for point in whole.points
    ]
    _assert_bounded(said.points, ways, 3)


@pytest.mark.rounds
def test_in_a_given_order_what_costs_less_than_any_rerun_is_proven() -> None:
    proven = 0
    for seed in range(rounds(30)):
        graph = replace(varied(seed), order=GIVEN)
        both = FrontOptions(generators=("stripes", "recompute"))
        said = find_front(graph, both, _STEADY, FrontCallbacks())
        once = find_front(graph, FrontOptions(generators=("stripes",)), _STEADY, FrontCallbacks())
        proven += said.points[-1].proven and once.points[-1].values == said.points[-1].values
        _assert_bounded(said.points, list(every_way_again(graph, 1)), seed)
    assert proven


def test_what_makes_no_bytes_need_not_run_again() -> None:
    """A branch is made early and read late, beside an operator that costs nothing."""
    document = chain(4, "given", ["x", "a", "b", "y"])
    document["tensors"] += [{"id": "late", "shape": [4, 4, 2], "type": "int8"}]
    document["tensors"] += [{"id": "mark", "kind": "external", "size": 0}]
    document["operators"] += [
        {"id": "join", "type": "add", "inputs": ["x", "y"], "outputs": ["late"], "cost": 9},
        {"id": "nothing", "type": "mark", "inputs": ["late"], "outputs": ["mark"], "cost": 0},
    ]
    document["outputs"] = ["late"]
    graph = parse_graph(document)
    once = find_front(graph, FrontOptions(generators=("stripes",)), _STEADY, FrontCallbacks())
    both = FrontOptions(generators=("stripes", "recompute"))
    again = find_front(graph, both, _STEADY, FrontCallbacks())
    assert once.complete
    assert again.points[-1].values == once.points[-1].values
    assert again.points[-1].proven


@pytest.mark.parametrize("margin", [0, 1])
def test_who_only_reads_the_margin_has_nothing_made(margin: int) -> None:
    """The image is wide, and it is made for one that may need none of it, then again for the other."""
    document = chain(4, "free", ["x", "wide", "y"])
    document["tensors"] += [{"id": "z", "shape": [1, 1, 2], "type": "int8"}]
    for operator in document["operators"]:
        operator["window"] = {"kernel": [1, 1]}
    window = {"kernel": [1, 1], "stride": [8, 8], "padding": [margin, margin, 0, 0]}
    document["operators"] += [
        {"id": "to z", "type": "conv2d", "inputs": ["wide"], "outputs": ["z"], "window": window}
    ]
    document["outputs"] = ["y", "z"]
    document["inputs"] = ["x"]
    assert _bounded_again(parse_graph(document))


def _read_in_part(*, by_the_other: bool) -> Graph:
    """The dear image `t` is made whole, unless alternatives read it in part: then a stripe makes one row.

    Nobody reads it else, or, `by_the_other`, one alternative takes its reader away and another one reads it.
    """
    first_row = Window(kernel=(1, 1), stride=(8, 1))

    def runs(
        name: str, kind: str, source: str, made: str, cost: int, window: Window | None = None
    ) -> Operator:
        return Operator(id=name, type=kind, inputs=[source], outputs=[made], cost=cost, window=window)

    copied, row = runs("copied", "relu", "t", "b", 10), runs("row", "conv2d", "b", "c", 10, first_row)
    from_x = runs("from x", "relu", "x", "b", 0)
    from_t = runs("from t", "conv2d", "t", "c", 0, first_row)
    alternatives = [Alternative(id="two", replaces=["row"], operators=[from_t])]
    if by_the_other:
        alternatives.insert(0, Alternative(id="one", replaces=["copied"], operators=[from_x]))
    shapes = {"x": (8, 8, 1), "t": (8, 8, 1), "b": (8, 8, 1), "c": (1, 8, 1)}
    return Graph(
        tensors=[
            *(Tensor(id=name, shape=shape, type="int8") for name, shape in shapes.items()),
            Tensor(id="y", size=1000),
        ],
        operators=[
            runs("dear", "conv2d", "x", "t", 800, Window(kernel=(1, 1))),
            copied if by_the_other else from_x,
            row,
            runs("last", "softmax", "c", "y", 0),
        ],
        inputs=["x"],
        outputs=["y"],
        order="free",
        alternatives=alternatives,
    )


@pytest.mark.parametrize("by_the_other", [False, True])
def test_what_open_alternatives_may_read_need_not_be_made_whole(by_the_other: bool) -> None:
    graph = _read_in_part(by_the_other=by_the_other)
    least = find_front(graph, FrontOptions(), _STEADY, FrontCallbacks()).points[-1].values["cost"]
    assert least == 100
    for limit in (0, 1_000, 2_000, *range(3_000, 40_000, 1_000)):
        for generators in (("stripes",), ("stripes", "recompute")):
            options = Options(deterministic=True, work_limit=limit)
            said = find_front(graph, FrontOptions(generators=generators), options, FrontCallbacks())
            for point in said.points:
                assert point.bounds.get("cost", 0) <= least, limit
                assert point.values["cost"] == least or not (point.proven or said.complete), limit


def _assert_bounded(points: Sequence[FrontPoint], ways: Sequence[Candidate], seed: int) -> None:
    """No way is better than a point says that any is."""
    for point in points:
        peak, cost, bounds = point.values["peak"], point.values["cost"], point.bounds
        for way in ways:
            assert way.cost > cost or way.bytes >= bounds.get("peak", 0), (seed, way)
            assert way.bytes > peak or way.cost >= bounds.get("cost", 0), (seed, way)


def _bounded_again(graph: Graph) -> bool:
    """Whether there are bounds of bytes; all ways in which up to two run again are as bad as they say."""
    request = FrontRequest(options=_STEADY, generators=frozenset({"stripes", "recompute"}))
    allowance, callbacks = Allowance(_STEADY), FrontCallbacks()

    def again(chosen: Graph, order: Sequence[int], share: float) -> Reruns:
        return reruns(chosen, order, request, None, allowance, share, callbacks)

    known = free_front(graph, allowance, 1.0, request.most, lambda: False, stripes=True, again=again)
    corners = known.corners
    assert corners is not None
    for way in every_way_again(graph, 2):
        assert any(corner.bytes <= way.bytes and corner.cost <= way.cost for corner in corners), way
    return all(corner.bytes for corner in corners)
