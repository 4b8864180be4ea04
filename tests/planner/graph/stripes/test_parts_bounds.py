"""What paths say where operators run in parts, or in chains: against schedules gone through one by one."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import Final

import pytest

from benchmarks.fronts import beside_slow_memory, residual_network
from memstow.planner.front.find_front import find_front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.graph import path_bounds
from memstow.planner.graph.changes import with_channels
from memstow.planner.graph.channel_parts import parts_in, whether_in_parts
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.live_bytes import unit_of
from memstow.planner.graph.operators import with_cost_unit
from memstow.planner.graph.order_front import corners_in_any_order, order_front
from memstow.planner.graph.path_bounds import path_corners
from memstow.planner.graph.recompute_search import Archive
from memstow.planner.graph.schedules import with_chosen
from memstow.planner.graph.stripe_front import Candidate, Corner
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import FrontOptions, Generator
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.options import Options
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import Room
from tests.campaign import gate_first, rounds
from tests.graphs import Document
from tests.planner.front.stripe_ways import (
    assert_bounded,
    every_way,
    every_way_again,
    runs_none_twice,
    some_ways,
    some_ways_copied,
)

AGAIN: Final = frozenset({"recompute"})
ONCE: Final[frozenset[str]] = frozenset()


def _budget() -> Budget:
    return Budget(-1.0, 500_000_000)


class _Layers:
    """A graph of operators that each make one image."""

    def __init__(self, random: Random, rows: int, channels: int) -> None:
        self._random = random
        self.shapes = {"x": (rows, channels)}
        self.operators: list[Document] = []

    def convolve(
        self,
        source: str,
        made: str,
        channels: int,
        kernel: int | None = None,
        stride: int = 1,
        kind: str = "conv2d",
    ) -> str:
        size = kernel or self._random.choice((1, 3))
        rows, pad = self.shapes[source][0], size // 2
        self.shapes[made] = (rows + 2 * pad - size) // stride + 1, channels
        window = {"kernel": [size] * 2, "stride": [stride] * 2, "padding": [pad] * 4}
        return self.run(kind, [source], made, {"window": window, "cost": self._random.randint(1, 60)})

    def run(self, kind: str, sources: list[str], made: str, more: Document) -> str:
        self.shapes.setdefault(made, self.shapes[sources[0]])
        self.operators.append({"id": f"to {made}", "type": kind, "inputs": sources, "outputs": [made]} | more)
        return made

    def graph(self, last: str, orders: tuple[str, ...], type_: str = "int8") -> Graph:
        alignment, order = self._random.choice((1, 1, 1, 4, 16)), self._random.choice(orders)
        tensors = [
            {"id": name, "shape": [rows, rows, channels], "type": type_, "alignment": alignment}
            for name, (rows, channels) in self.shapes.items()
        ]
        document = {"version": 1, "order": order, "tensors": tensors, "inputs": ["x"], "outputs": [last]}
        return parse_graph(document | {"operators": self.operators})


def _chains(seed: int) -> Graph:
    """Two or three chains from one image on, mostly as large, added up by operators that mostly run alone."""
    random = Random(seed)
    layers = _Layers(random, random.randint(2, 5), random.choice((1, 2, 4)))
    shared, added = "x", ""
    for at in range(random.randint(1, 2)):
        shared = layers.convolve(shared, f"h{at}", random.choice((1, 2, 3, 6)))
    chains, width, channels = (
        random.choice((2, 3, 3)),
        random.choice((1, 2, 3, 5)),
        random.choice((1, 2, 4, 8)),
    )
    is_deep, wider = chains == 2 and random.random() < 0.4, random.choice((None, None, 0, 1, 2))
    first, second, stride = random.choice((1, 3)), random.choice((1, 3)), random.choice((1, 1, 1, 2))
    adds, is_first_added = random.choice(("unknown", "unknown", "add")), random.random() < 0.6
    for number in range(chains):
        last = layers.convolve(shared, f"a{number}", width + (number == wider), first, stride)
        if is_deep:
            last = layers.convolve(
                last, f"d{number}", layers.shapes[last][1], second, kind="depthwise_conv2d"
            )
        if not number and not is_first_added:
            added = last
            continue
        made = f"s{number}"
        layers.shapes[made] = layers.shapes[last][0], channels if adds == "unknown" else width
        sources = [last, added] if added else [last]
        pairs = [[added, made]] if added and random.random() < 0.6 else []
        added = layers.run(adds, sources, made, {"cost": random.randint(0, 9), "in_place": pairs})
    if random.random() < 0.3:
        sources = [added, random.choice((shared, "a1", f"a{chains - 1}"))]
        layers.shapes["z"] = layers.shapes[added]
        added = layers.run("unknown", sources, "z", {"cost": random.randint(0, 9)})
    if random.random() < 0.5:
        added = layers.convolve(added, "y", random.choice((1, 2)), 1)
    return layers.graph(added, ("free", "given"))


@pytest.mark.rounds
def test_what_chains_share_is_there_or_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    tighter = 0
    for seed in range(rounds(250)):
        graph = _chains(seed)
        bounds = [
            path_corners(graph, _budget(), kinds=AGAIN, is_one_of_many=is_one_of_many)
            for is_one_of_many in (False, True)
        ]
        with monkeypatch.context() as without:
            without.setattr(path_bounds, "shared", lambda *_: ())
            before = path_corners(graph, _budget(), kinds=AGAIN, is_one_of_many=True)
        if before == bounds[1]:
            continue
        tighter += 1
        more = 2 if len(graph.operators) < 8 or graph.order == GIVEN else 1
        ways = [way for way in every_way_again(graph, more) if runs_none_twice(way)]
        for corners in bounds:
            assert assert_bounded(corners, ways, seed)
    assert tighter


@pytest.mark.parametrize("seed", gate_first([56, 102, 275, 307, 390, 419, 443, 549, 566, 676, 722, 772], 3))
def test_what_chains_share_may_wait_elsewhere(seed: int) -> None:
    """And so may something of each chain, which is less than what was there for it."""
    graph, random = with_cost_unit(beside_slow_memory(_chains(seed)), "bytes"), Random(seed)
    graph, kinds = replace(graph, order="free"), AGAIN | {"spill"}
    ways = [way for _ in range(8) for way in some_ways_copied(graph, random, again=True)]
    for is_one_of_many in (False, True):
        corners = path_corners(graph, _budget(), kinds=kinds, is_one_of_many=is_one_of_many)
        assert assert_bounded(corners, ways, seed)


def _residual(seed: int) -> Graph:
    """One or two blocks, around each of which goes what comes to it."""
    random = Random(seed)
    type_ = random.choice(("int8", "int32", "float32"))
    channels = random.choice((2, 4))
    layers = _Layers(random, random.randint(2, 6), random.choice((1, 2, channels)))
    last = layers.convolve("x", "begin", channels)
    for block in range(random.choice((1, 1, 2))):
        stride = random.choice((1, 1, 2)) if layers.shapes[last][0] > 3 else 1
        inner = layers.convolve(last, f"a{block}", channels * random.choice((1, 1, 2)), None, stride)
        if random.random() < 0.3:
            inner = layers.convolve(inner, f"d{block}", layers.shapes[inner][1], 3, kind="depthwise_conv2d")
        made = layers.convolve(inner, f"b{block}", channels)
        around = last
        if layers.shapes[last] != layers.shapes[made] or random.random() < 0.2:
            around = layers.convolve(last, f"c{block}", channels, 1, stride)
        added = f"s{block}"
        pairs = random.choice(([], [[around, added]], [[made, added]]))
        last = layers.run("add", [around, made], added, {"cost": random.randint(0, 9), "in_place": pairs})
    if random.random() < 0.5:
        last = layers.convolve(last, "y", random.choice((1, 2)))
    return layers.graph(last, ("free", "free", "given"), type_)


def _bounds(graph: Graph, kinds: frozenset[str]) -> Iterator[list[Corner]]:
    """Of the whole tree of choices, with points that are known and without; and of its root alone.

    Also where it is known before what is left without a choice.
    """
    listed = order_front(replace(graph, order=GIVEN), listed_order(graph), _budget()).points
    for known in ((), listed):
        without = corners_in_any_order(with_chosen(graph, ()), known, _budget(), kinds) or ()
        for corners in ((), without):
            yield [*(corners_in_any_order(graph, known, _budget(), kinds, corners) or ())]
    whole, parts, unit = with_chosen(graph, ()), parts_in(graph, _budget()).values(), unit_of(graph)
    for spread in (False, True):
        in_parts = whether_in_parts(whole, (), [*parts], unit, spread=spread)
        yield [*(path_corners(whole, _budget(), kinds=kinds, unit=unit, in_parts=in_parts) or ())]


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("seeds", gate_first([range(at, at + 20) for at in range(0, 400, 20)], 1))
def test_parts_beside_branches_are_not_better(seeds: range, copies: bool) -> None:
    """In some orders and with some runs again, since there are too many for all."""
    count = 0
    for seed in seeds:
        random, plain = Random(seed), _residual(seed)
        graph = with_channels(beside_slow_memory(plain) if copies else plain)
        graph = with_cost_unit(graph, "bytes") if copies else graph
        names = [alternative.id for alternative in graph.alternatives if len(alternative.operators) <= 9]
        chosen = [some for number in (1, 2) for some in combinations(names, number)]
        for kinds in ({"recompute", "spill"},) if copies else (ONCE, AGAIN):
            ways: list[Candidate] = []
            for some in [(), *random.sample(chosen, min(5, len(chosen)))]:
                try:
                    whole = with_chosen(graph, some)
                except InputError:
                    continue
                for _ in range(3):
                    if copies:
                        ways += some_ways_copied(whole, random, again=True)
                    else:
                        ways += some_ways(whole, random, again=bool(kinds))
            for corners in _bounds(graph, frozenset(kinds)):
                count += assert_bounded(corners, ways, seed)
    assert count


def _raised(corners: Iterable[Corner], least: int) -> list[tuple[int, int]]:
    best = Archive(Corner(max(entry.bytes, least), entry.cost) for entry in corners)
    return [(entry.bytes, entry.cost) for entry in best.items]


@pytest.mark.rounds
def test_only_bytes_of_interest_are_told_apart() -> None:
    """Corners from some bytes on, or up to some, are those of all."""
    fewer = 0
    for seed in range(rounds(60)):
        graph = residual_network(1) if seed < 1 else _residual(seed)
        for kinds in (ONCE, AGAIN):
            corners = path_corners(graph, _budget(), kinds=kinds) or []
            for limit in {entry.bytes + more for entry in corners[:4] for more in (-1, 0, 1)}:
                known = path_corners(graph, _budget(), kinds=kinds, room=Room(least=limit)) or []
                assert _raised(known, 0) == _raised(corners, limit), seed
                fewer += len(known) < len(corners)
                known = path_corners(graph, _budget(), kinds=kinds, room=Room(most=limit)) or []
                below = [entry for entry in corners if entry.bytes <= limit]
                assert _raised(known, 0) == _raised(below, 0), seed
    assert fewer


@pytest.mark.rounds
def test_an_alternative_needs_what_adds_up_to_sums() -> None:
    """In whatever order and stripes."""
    count = 0
    for seed in range(rounds(60)):
        graph = with_channels(_residual(seed))
        needs = {name: parts.needs for name, parts in parts_in(graph, _budget()).items()}
        names = [alternative.id for alternative in graph.alternatives if len(alternative.operators) <= 9]
        for name in names[:2]:
            ways = [*every_way(with_chosen(graph, (name,)))]
            count += len(ways)
            assert all(0 < needs[name] <= way.bytes for way in ways), seed
    assert count


def test_layers_whose_sums_are_too_large_are_not_looked_at() -> None:
    """Alternatives of the wide layers need more than the cheapest plan, which is proven without them."""
    graph = replace(with_channels(residual_network(2)), order=GIVEN)
    known = order_front(graph, listed_order(graph), _budget()).points
    parts = parts_in(graph, _budget())
    cheapest = known[-1].bytes
    assert sum(entry.needs > cheapest for entry in parts.values()) == 16
    corners = corners_in_any_order(graph, known, _budget(), ONCE)
    assert [(corner.bytes, corner.cost) for corner in corners or ()] == [
        (point.bytes, point.cost) for point in known
    ]


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("blocks", [1, 2])
def test_plans_without_parts_are_bounded_beside_them(blocks: int, copies: bool) -> None:
    plain = replace(residual_network(blocks), order=GIVEN)
    request = FrontOptions(generators=("stripes", "recompute"))
    if copies:
        plain = beside_slow_memory(plain)
        ways: tuple[Generator, ...] = ("stripes", "recompute", "spill")
        request = FrontOptions(generators=ways, cost="bytes", terms=("peak:fast", "cost"))
    steady = Options(deterministic=True, work_limit=20_000_000)
    front = find_front(plain, request, steady, FrontCallbacks())
    points = [tuple(point.values.values()) for point in front.points]
    graph = with_channels(plain)
    graph = with_cost_unit(graph, "bytes") if copies else graph
    kinds = AGAIN | {"spill"} if copies else AGAIN
    known = order_front(graph, listed_order(graph), _budget()).points
    corners = corners_in_any_order(graph, known, _budget(), kinds) or []
    without = corners_in_any_order(with_chosen(graph, ()), known, _budget(), kinds) or []
    beside = corners_in_any_order(graph, known, _budget(), kinds, without) or []
    assert len(points) > 3
    for size, cost in points:
        for bounds in (corners, beside):
            assert any(corner.bytes <= size and corner.cost <= cost for corner in bounds)
