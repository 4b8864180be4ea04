"""Schedules for ways to cut a path, which run others again or let tensors wait at the cuts."""

from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import Final, Literal

import pytest

from benchmarks.fronts import beside_slow_memory, residual_network
from memstow.planner.front.detours import Along, eager, try_detours
from memstow.planner.front.find_front import find_front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.front.graph_candidates import striped
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.operators import with_cost_unit
from memstow.planner.graph.path_bounds import path_corners, widest_path
from memstow.planner.graph.recompute_search import Archive
from memstow.planner.graph.schedules import with_runs
from memstow.planner.graph.stripe_front import Candidate, Corner
from memstow.planner.model.front import FrontOptions, FrontPoint
from memstow.planner.model.graph import GIVEN, Graph, Operator, Tensor, Window
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Schedule
from memstow.planner.solve.portfolio import Allowance
from memstow.solvers.core import Budget
from tests.campaign import rounds
from tests.planner.front.stripe_ways import network
from tests.planner.graph.stripes.nets import random_net

AGAIN: Final = frozenset({"recompute"})
COPIES: Final = frozenset({"spill"})
_STEADY = Options(deterministic=True, work_limit=20_000_000)


@pytest.mark.rounds
@pytest.mark.parametrize("order", ["given", "free"])
def test_each_schedule_is_one_of_the_graph(order: Literal["given", "free"]) -> None:
    kinds: Counter[str] = Counter()
    for seed in range(rounds(60)):
        random = Random(seed)
        graph = parse_graph(network(random)) if seed % 2 else random_net(seed, 4 + seed % 6)
        graph = replace(beside_slow_memory(graph), order=order)
        for schedule in _schedules(graph, random):
            with_runs(graph, schedule)
            names = list(dict.fromkeys(schedule.order))
            assert sorted(names) == sorted(operator.id for operator in graph.operators)
            if order == GIVEN:
                listed = [graph.operators[at].id for at in listed_order(graph)]
                assert names == listed
            kinds.update(
                again=len(schedule.order) > len(names),
                waits=bool(schedule.spills),
                both=len(schedule.order) > len(names) and bool(schedule.spills),
            )
    assert min(kinds.values()) > 0


@pytest.mark.rounds
@pytest.mark.parametrize("kinds", [AGAIN, AGAIN | COPIES], ids=["again", "copies"])
def test_bounds_of_paths_are_no_more_than_what_is_tried_for_them(kinds: AbstractSet[str]) -> None:
    """Of blocks that something goes around, some of which halve the image."""
    equal = again = 0
    for seed in range(rounds(60)):
        random = Random(seed)
        graph = _blocks(random)
        if kinds != AGAIN:
            graph = replace(with_cost_unit(beside_slow_memory(graph), "bytes"), order="free")
        corners = path_corners(graph, Budget(-1.0, 50_000_000), kinds=kinds)
        assert corners
        archive = Archive[Corner](corners)
        pool = None if kinds == AGAIN else "fast"
        for way in _striped(graph, _schedules(graph, random, kinds), pool):
            least = archive.least_cost(way.bytes)
            assert least is not None, (seed, way)
            assert least <= way.cost, (seed, way)
            equal += least == way.cost
            again += least == way.cost and len(way.schedule.order) > len(graph.operators)
    assert equal
    assert again


def _striped(graph: Graph, schedules: Iterable[Schedule], pool: str | None = None) -> Iterator[Candidate]:
    for schedule in schedules:
        plain = [Candidate(0, 0, schedule)]
        yield from striped(graph, plain, pool, Allowance(_STEADY), 1.0, FrontCallbacks())


def _blocks(random: Random) -> Graph:
    extent, channels = random.choice((4, 6, 8)), random.choice((1, 2, 4))
    images = {"x": (extent, random.choice((1, 3)))}
    operators: list[Operator] = []

    def run(made: str, sources: list[str], channels: int, kernel: int = 1, stride: int = 1) -> str:
        rows = (images[sources[0]][0] - 1) // stride + 1
        images[made] = rows, channels
        square = (kernel, kernel), (stride, stride), (kernel // 2,) * 4
        window = Window(kernel=square[0], stride=square[1], padding=square[2])
        operators.append(
            Operator(
                id=f"to {made}",
                type="conv2d" if len(sources) == 1 else "add",
                inputs=sources,
                outputs=[made],
                window=window if len(sources) == 1 else None,
                cost=random.choice((0, 1, 5, 20)) * rows * rows,
                in_place=[(source, made) for source in sources if len(sources) > 1],
            )
        )
        return made

    last = run("begin", ["x"], channels, kernel=3)
    for number in range(random.randint(1, 2)):
        stride = random.choice((1, 2, 2))
        channels = images[last][1] * stride
        inner = run(f"a{number}", [last], channels * random.choice((1, 1, 2)), kernel=3, stride=stride)
        inner = run(f"b{number}", [inner], channels, kernel=random.choice((1, 3)))
        around = last if stride == 1 else run(f"c{number}", [last], channels, stride=stride)
        last = run(f"h{number}", [around, inner], channels)
    run("y", [last], 1, kernel=random.choice((1, 3)))
    unit = random.choice((1, 1, 8))
    return Graph(
        tensors=[
            Tensor(id=name, shape=(rows, rows, channels), type="int8", alignment=unit)
            for name, (rows, channels) in images.items()
        ],
        operators=operators,
        inputs=["x"],
        outputs=["y"],
        order="free",
    )


def _schedules(graph: Graph, random: Random, kinds: AbstractSet[str] = AGAIN | COPIES) -> list[Schedule]:
    """Those that are tried for some ways to cut the path, of which some help."""
    path, listed = widest_path(graph), listed_order(graph)
    orders = [listed, eager(graph, path, listed)]
    ways = [sorted(random.sample(range(len(path)), random.randint(0, len(path) - 1))) for _ in range(3)]
    schedules: list[Schedule] = []

    def is_better(schedule: Schedule) -> bool:
        schedules.append(schedule)
        return random.random() < 0.3

    along = [Along(graph, path, order, "slow") for order in orders]
    try_detours(along, ways, kinds, is_better, lambda: False)
    assert len(set(schedules)) == len(schedules)
    return schedules


def test_nothing_is_tried_without_time() -> None:
    graph = residual_network(1)
    along = Along(graph, widest_path(graph), listed_order(graph), None)
    try_detours([along], [[3], [7]], AGAIN, lambda _: pytest.fail("time is over"), lambda: True)


@pytest.mark.rounds
def test_who_is_not_on_the_path_runs_as_soon_as_possible() -> None:
    for seed in range(rounds(40)):
        graph = random_net(seed, 3 + seed % 8)
        path, after = widest_path(graph), links_of(graph).successors()
        order = eager(graph, path, listed_order(graph))
        place = {operator: at for at, operator in enumerate(order)}
        assert sorted(order) == list(range(len(graph.operators)))
        assert all(place[first] < place[then] for first in order for then in after[first])
        for first, then in pairwise(order):
            # Nobody runs before one that is not on the path but who makes what that one reads.
            assert then in path or then in after[first] or first not in path


def test_what_is_needed_later_is_made_again_in_a_later_stripe() -> None:
    """A residual network of eight layers, whose last block begins in one stripe and ends in another."""
    request = FrontOptions(generators=("stripes", "recompute"))
    front = find_front(replace(residual_network(1), order=GIVEN), request, _STEADY, FrontCallbacks())
    points = {tuple(point.values.values()): point.plan.schedule for point in front.points}
    schedule = points[10_080, 37_106_432]
    assert schedule is not None
    assert len(schedule.stripes) == 2
    assert schedule.order.index("to a64.0") + 1 == schedule.stripes[0].end
    assert Counter(schedule.order)["to 32.0"] == 2


def _points_beside_slow_memory(graph: Graph, work: int) -> dict[tuple[int, ...], FrontPoint]:
    """By bytes and cost, with stripes, recompute and spill."""
    request = FrontOptions(
        generators=("stripes", "recompute", "spill"), cost="bytes", terms=("peak:fast", "cost")
    )
    steady = Options(deterministic=True, work_limit=work)
    front = find_front(beside_slow_memory(graph), request, steady, FrontCallbacks())
    return {tuple(point.values.values()): point for point in front.points}


def test_what_is_needed_later_is_made_first_and_waits() -> None:
    points = _points_beside_slow_memory(replace(residual_network(2), order="free"), 20_000_000)
    schedule = points[15_040, 978_816].plan.schedule
    assert schedule is not None
    assert [spill.tensor for spill in schedule.spills] == ["c64.0"]


def test_in_the_given_order_those_listed_before_run_once_more_for_what_is_made_first() -> None:
    """What the second branch makes waits; the first one, which is listed before, runs before and after."""
    graph = replace(residual_network(2), order=GIVEN)
    points = _points_beside_slow_memory(graph, 20_000_000)
    # In any order this takes 978,816.
    schedule = points[15_040, 1_003_392].plan.schedule
    assert schedule is not None
    order = schedule.order
    assert list(dict.fromkeys(order)) == [operator.id for operator in graph.operators]
    first = order.index("to b64.0")
    assert first < order.index("to c64.0") < order.index("to b64.0", first + 1)
    assert "a64.0" in {spill.tensor for spill in schedule.spills}


def test_what_is_beside_the_path_waits_at_each_cut() -> None:
    """Of a residual network of 20 layers, whose tensors have no room beside each other."""
    points = _points_beside_slow_memory(replace(residual_network(3), order="free"), 100_000_000)
    point = points[16_384, 1_538_368]
    assert point.proven
    assert point.plan.schedule is not None
    waiting = Counter(spill.tensor for spill in point.plan.schedule.spills)
    assert waiting["32.0"] == waiting["32.1"] == waiting["c32.0"] == 1
