"""Fronts with parts of channels: those of the graph to which their alternatives were added before."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product

import pytest

import memstow
from memstow.planner.front.find_front import find_front, verdict_on_point, with_choices
from memstow.planner.front.front_documents import read_front, write_front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.graph.changes import with_channels
from memstow.planner.graph.graph_document import graph_digest
from memstow.planner.graph.operators import with_cost_unit
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import CostUnit, Front, FrontOptions, FrontPoint, Generator
from memstow.planner.model.graph import Graph, Operator, Order, Tensor, Window, is_planned, size_of
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Schedule
from memstow.planner.model.problem import Buffer, Pool, Problem, Target
from memstow.planner.verify import judge, verify
from memstow.planner.verify.graph_verdict import schedule_cost
from tests.campaign import gate_first
from tests.planner.front.channel_nets import SHARED_GRAPHS, channel_net
from tests.planner.front.fronts import values_of
from tests.planner.graph.stripes.test_front import best, value

STEADY = Options(deterministic=True, work_limit=100_000_000)
KINDS: tuple[tuple[Generator, ...], ...] = (
    (),
    ("stripes",),
    ("recompute",),
    ("stripes", "recompute"),
)


def all_choices(graph: Graph) -> Iterator[Schedule]:
    """Every choice of alternatives of which no two replace one operator, in the listed order."""
    chains: dict[tuple[str, ...], list[int | None]] = {}
    for at, alternative in enumerate(graph.alternatives):
        chains.setdefault(alternative.replaces, [None]).append(at)
    for choice in product(*chains.values()):
        chosen = [graph.alternatives[at] for at in choice if at is not None]
        gone = [name for entry in chosen for name in entry.replaces]
        if len(set(gone)) < len(gone):
            continue
        starts = {entry.replaces[0]: entry for entry in chosen}
        order: list[str] = []
        for operator in graph.operators:
            if operator.id in starts:
                order += [operator.id for operator in starts[operator.id].operators]
            elif operator.id not in gone:
                order.append(operator.id)
        yield Schedule(order=tuple(order), alternatives=tuple(entry.id for entry in chosen))


@pytest.mark.parametrize("unit", ["given", "bytes"])
@pytest.mark.parametrize("part", gate_first(range(4), 1))
def test_it_is_exact(part: int, unit: CostUnit) -> None:
    several = 0
    for seed in range(part * 20, part * 20 + 20):
        graph = channel_net(seed)
        frontier = memstow.front(graph, generators=["channels"], cost=unit, options=STEADY)
        counted = with_cost_unit(with_channels(graph), unit)
        expected = best(value(counted, choice) for choice in all_choices(counted))
        assert frontier.complete, seed
        assert values_of(frontier) == expected, seed
        several += len(expected) > 1
    assert several > 0 or unit == "given"


@pytest.mark.parametrize("cost", ["given", "bytes"])
@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("seeds", gate_first([(3, 4), (0, 1, 2, 5, 6, 7)], 1))
def test_it_is_that_of_the_graph_with_the_alternatives(
    kinds: tuple[Generator, ...], cost: CostUnit, seeds: tuple[int, ...]
) -> None:
    for seed in seeds:
        graph = replace(channel_net(seed), order="free" if seed % 4 == 3 else "given")
        parts = with_channels(graph)
        frontier = memstow.front(graph, generators=[*kinds, "channels"], cost=cost, options=STEADY)
        expected = memstow.front(parts, generators=kinds, cost=cost, options=STEADY)
        assert (frontier.points, frontier.complete, frontier.digest) == (
            expected.points,
            expected.complete,
            graph_digest(parts),
        )
        for number, point in enumerate(frontier.points):
            assert verify(parts, point.plan) == []
            assert errors(graph, frontier, number) == []
        again = memstow.front(graph, generators=[*kinds, "channels"], cost=cost, options=STEADY)
        assert write_front(again, "json") == write_front(frontier, "json")


def test_what_runs_again_may_do_so_beside_parts() -> None:
    """While one wide image waits, another is there in parts; it need not wait where it is made again."""
    small, wide = (8, 8, 2), (8, 8, 24)
    shapes = {"x": small, "waits": wide, "small": small, "wide": (8, 8, 40), "made": small, "mean": (24,)}
    steps = (
        ("expand", "conv2d", "x", "waits"),
        ("shrink", "conv2d", "waits", "small"),
        ("widen", "conv2d", "small", "wide"),
        ("narrow", "conv2d", "wide", "made"),
        ("end", "mean", "waits", "mean"),
    )
    graph = Graph(
        tensors=[Tensor(id=name, shape=shape, type="int8") for name, shape in shapes.items()],
        operators=[
            Operator(
                id=name,
                type=kind,
                inputs=[source],
                outputs=[made],
                window=Window(kernel=(1, 1)) if kind == "conv2d" else None,
            )
            for name, kind, source, made in steps
        ],
        inputs=["x"],
        outputs=["made", "mean"],
    )

    def least(*kinds: Generator) -> FrontPoint:
        frontier = memstow.front(graph, generators=kinds, options=STEADY)
        return min(frontier.points, key=lambda point: point.values["peak"])

    both = least("channels", "recompute")
    assert both.values["peak"] < min(least(kind).values["peak"] for kind in ("channels", "recompute"))
    schedule = both.plan.schedule
    assert schedule is not None
    assert schedule.alternatives
    assert schedule.order.count("expand") == 2
    assert verify(with_channels(graph), both.plan) == []


def test_the_cost_in_bytes_is_what_the_parts_move() -> None:
    graph = next(
        entry for entry in map(channel_net, range(99)) if any(t.kind == "constant" for t in entry.tensors)
    )
    parts = with_channels(graph)
    for alternative, counted in zip(
        parts.alternatives, with_cost_unit(parts, "bytes").alternatives, strict=True
    ):
        sizes = {tensor.id: tensor for tensor in (*graph.tensors, *alternative.tensors)}
        moved = [name for one in alternative.operators for name in (*one.inputs, *one.outputs)]
        planned = sum(size_of(sizes[name]) for name in moved if is_planned(sizes[name]))
        # Each part reads its own share of the weights.
        weights = sum(size_of(sizes[name]) for name in set(moved) if sizes[name].kind == "constant")
        assert sum(one.cost or 0 for one in counted.operators) == planned + weights
    whole = sum(operator.cost or 0 for operator in with_cost_unit(parts, "bytes").operators)
    chosen = next(choice for choice in all_choices(parts) if choice.alternatives)
    # Sums are written and read, and what comes in is read once for each part.
    assert schedule_cost(with_cost_unit(parts, "bytes"), chosen) > whole


def test_adding_them_twice_adds_nothing() -> None:
    for seed in range(60):
        parts = with_channels(channel_net(seed))
        assert with_channels(parts) == parts
        some = replace(parts, alternatives=parts.alternatives[::2])
        assert len(with_channels(some).alternatives) == len(parts.alternatives)
    options = FrontOptions(generators=["channels"])
    assert with_choices(parts, options) == parts
    assert with_choices(some, FrontOptions()) is some


def test_ids_that_are_long_leave_room() -> None:
    graph = channel_net(0)

    def long(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name + "x" * 1000 for name in names)

    renamed = replace(
        graph,
        tensors=tuple(replace(tensor, id=long([tensor.id])[0]) for tensor in graph.tensors),
        operators=tuple(
            replace(
                operator,
                id=long([operator.id])[0],
                inputs=long(operator.inputs),
                outputs=long(operator.outputs),
            )
            for operator in graph.operators
        ),
        inputs=long(graph.inputs),
        outputs=long(graph.outputs),
    )
    frontier = memstow.front(renamed, generators=["channels"], options=STEADY)
    assert values_of(frontier) == values_of(memstow.front(graph, generators=["channels"], options=STEADY))


def with_parts() -> tuple[Graph, Front]:
    """A graph, and a front of it with a point in parts of channels."""
    for seed in range(99):
        graph = channel_net(seed)
        frontier = memstow.front(graph, generators=["stripes", "channels"], options=STEADY)
        schedule = frontier.points[0].plan.schedule
        if schedule is not None and schedule.alternatives:
            return graph, frontier
    raise AssertionError


def errors(graph: Graph, front: Front, number: int = 0) -> list[str]:
    """What is wrong with a point, as whoever has only the graph finds out."""
    document = with_choices(graph, front.request)
    verdict = judge(document, front.points[number].plan)
    return [
        violation.message
        for violation in verdict_on_point(document, document, front, number, verdict).violations
    ]


def test_forged_fronts_are_refused() -> None:
    graph, front = with_parts()
    assert errors(graph, front) == []
    without = replace(front, request=replace(front.request, generators=("stripes",)))
    assert any("does not have" in error for error in errors(graph, without))
    assert any("of another problem or graph" in error for error in errors(graph, without))
    other = replace(graph, tensors=tuple(replace(tensor, alignment=64) for tensor in graph.tensors))
    assert any("of another problem or graph" in error for error in errors(other, front))
    assert any(
        "memstow 0.0.9, which made it, has other alternatives" in error
        for error in errors(other, replace(front, memstow="0.0.9"))
    )
    point = front.points[0]
    cheaper = replace(point, values={**point.values, "cost": 0}, bounds={}, proven=False)
    assert any("says that cost is 0" in error for error in errors(graph, _with_first(front, cheaper)))
    schedule = point.plan.schedule
    assert schedule is not None
    unknown = replace(schedule, alternatives=("o0 to o9 in 3 parts of channels",))
    plan = replace(point.plan, schedule=unknown)
    assert any(
        "does not have" in error for error in errors(graph, _with_first(front, replace(point, plan=plan)))
    )


def _with_first(front: Front, point: FrontPoint) -> Front:
    return replace(front, points=(point, *front.points[1:]))


def test_points_known_before_stay() -> None:
    graph, front = with_parts()
    known = read_front(write_front(front, "json"))
    again = find_front(graph, front.request, STEADY, FrontCallbacks(), known=known)
    assert again.points == front.points


def test_what_has_no_such_front_is_refused() -> None:
    problem = Problem(buffers=[Buffer(id="a", size=1, lifetime=(0, 1))])
    with pytest.raises(InputError, match="it is for graphs"):
        memstow.front(problem, generators=["channels"])
    graph = replace(channel_net(1), pools=(Pool(id="fast"), Pool(id="slow")))
    with pytest.raises(InputError, match="parts of channels are chosen for one pool"):
        memstow.front(graph, ("peak:fast", "cost"), generators=["channels"])


def test_targets_are_compared_with_them() -> None:
    graph, front = with_parts()
    least = front.points[0].values["peak"]
    targets = [
        Target(name="small", pools=[Pool(id="memory", capacity=least - 1)]),
        Target(name="tight", pools=[Pool(id="memory", capacity=least)]),
    ]
    frontier = memstow.front(graph, generators=["stripes", "channels"], targets=targets, options=STEADY)
    expected = memstow.front(with_channels(graph), targets=targets, options=STEADY)
    assert frontier.smallest == "tight"
    assert frontier.digest == expected.digest
    # What else to ask for depends on what was asked for.
    assert [replace(device, explanation=None) for device in frontier.targets] == [
        replace(device, explanation=None) for device in expected.targets
    ]


@pytest.mark.campaign
@pytest.mark.skipif(not SHARED_GRAPHS.is_dir(), reason="needs ../shared/data")
def test_a_published_network() -> None:
    graph = memstow.read_graph((SHARED_GRAPHS / "msf_MN2-vww5.json").read_bytes())
    assert isinstance(graph, Graph)
    (point,) = memstow.front(graph, generators=["channels"], options=STEADY).points
    assert verify(with_channels(graph), point.plan) == []
    plain = memstow.front(graph, generators=["stripes"], within=1.4, options=STEADY)
    frontier = memstow.front(graph, generators=["stripes", "channels"], within=1.4, options=STEADY)
    expected = memstow.front(with_channels(graph), generators=["stripes"], within=1.4, options=STEADY)
    assert frontier.points == expected.points
    assert frontier.points[0].values["peak"] <= plain.points[0].values["peak"] <= 11_920


@pytest.mark.parametrize("generators", [("stripes",), ("stripes", "channels")])
def test_a_pool_that_holds_all_is_as_if_there_were_no_other(generators: tuple[Generator, ...]) -> None:
    for seed in range(4):
        graph = channel_net(seed)
        tensors = tuple(
            replace(tensor, pools=("fast",)) if tensor.kind == "data" else tensor for tensor in graph.tensors
        )
        several = replace(graph, tensors=tensors, pools=(Pool(id="fast"), Pool(id="slow")))
        one = memstow.front(graph, generators=generators, options=STEADY)
        front = memstow.front(several, ("peak:fast", "cost"), generators=generators, options=STEADY)
        values = [(point.values["peak:fast"], point.values["cost"]) for point in front.points]
        assert values == values_of(one), seed
        assert front.complete
        assert one.complete


def test_where_operators_run_again_there_are_bounds_of_all_choices() -> None:
    bounded = 0
    for seed in range(6):
        graph = channel_net(seed)
        cheaper = memstow.front(graph, generators=["stripes", "channels"], options=STEADY)
        again = memstow.front(graph, generators=["stripes", "channels", "recompute"], options=STEADY)
        for point in again.points:
            bounded += bool(point.bounds)
            for other in cheaper.points:
                peak, cost = other.values["peak"], other.values["cost"]
                assert cost > point.values["cost"] or peak >= point.bounds.get("peak", 0)
                assert peak > point.values["peak"] or cost >= point.bounds.get("cost", 0)
    assert bounded


@pytest.mark.parametrize("order", ["given", "free"])
@pytest.mark.parametrize("generators", KINDS)
def test_many_alternatives_do_not_break_a_limit(order: Order, generators: tuple[Generator, ...]) -> None:
    images, operators = [Tensor(id="x", shape=(4, 4, 4), type="int8")], list[Operator]()
    for at in range(90):
        kind, width, kernel = (("conv2d", 16, 1), ("depthwise_conv2d", 16, 3), ("conv2d", 4, 1))[at % 3]
        made = Tensor(id=f"t{at}", shape=(4, 4, width), type="int8")
        window = Window(kernel=(kernel, kernel), padding=(kernel // 2,) * 4)
        operators.append(
            Operator(id=f"o{at}", type=kind, inputs=[images[-1].id], outputs=[made.id], window=window)
        )
        images.append(made)
    graph = Graph(tensors=images, operators=operators, inputs=["x"], outputs=[images[-1].id], order=order)
    limited = Options(deterministic=True, work_limit=100_000)
    front = memstow.front(graph, generators=["channels", *generators], options=limited)
    assert front.points
    assert front.work < 200_000
