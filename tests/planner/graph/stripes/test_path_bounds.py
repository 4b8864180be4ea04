"""What paths say of all orders, stripes and runs, against schedules gone through one by one."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from random import Random
from typing import Final

import pytest

from benchmarks.fronts import beside_slow_memory, residual_network
from memstow.planner.front.find_front import find_front
from memstow.planner.front.front_request import FrontCallbacks
from memstow.planner.graph import path_bounds
from memstow.planner.graph.changes import with_channels
from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.links import NOBODY, links_of, listed_order
from memstow.planner.graph.operators import with_cost_unit
from memstow.planner.graph.order_front import corners_in_any_order, order_front
from memstow.planner.graph.path_bounds import path_corners, widest_path
from memstow.planner.graph.recompute_search import Archive
from memstow.planner.graph.schedules import with_chosen
from memstow.planner.graph.shares import (
    Rerun,
    Share,
    later_runs,
    made_along,
    reruns_in_stripes,
    shares_in_stripes,
)
from memstow.planner.graph.stripe_front import Candidate
from memstow.planner.model.errors import InputError
from memstow.planner.model.front import FrontOptions
from memstow.planner.model.graph import GIVEN, Graph, Tensor, View
from memstow.planner.model.options import Options
from memstow.solvers.core import Budget
from tests.campaign import gate_first, rounds
from tests.graphs import Document
from tests.planner.front.stripe_ways import (
    assert_bounded,
    chain,
    every_way,
    every_way_again,
    network,
    runs_none_twice,
    some_ways,
    some_ways_copied,
    varied,
)
from tests.planner.graph.stripes.nets import random_net

ONCE: Final[frozenset[str]] = frozenset()
AGAIN: Final = frozenset({"recompute"})
COPIES: Final = frozenset({"spill"})
_STEADY = Options(deterministic=True, work_limit=20_000_000)


def _budget() -> Budget:
    return Budget(-1.0, 50_000_000)


@pytest.mark.rounds
def test_no_order_of_a_random_net_is_better() -> None:
    count = 0
    for seed in range(rounds(40)):
        graph = replace(random_net(seed, 3 + seed % 4), order="free")
        count += assert_bounded(path_corners(graph, _budget(), kinds=ONCE), every_way(graph), seed)
    assert count


@pytest.mark.parametrize("seeds", gate_first([range(at, at + 6) for at in range(0, 96, 6)], 1))
def test_nothing_that_runs_again_is_better(seeds: range) -> None:
    for seed in seeds:
        graph = varied(seed) if seed % 2 else parse_graph(json.loads(json.dumps(network(Random(seed)))))
        ways = [way for way in every_way_again(graph, 2) if runs_none_twice(way)]
        assert assert_bounded(path_corners(graph, _budget(), kinds=AGAIN), ways, seed)


@pytest.mark.rounds
def test_parts_of_channels_in_any_order_are_not_better() -> None:
    inside = 0
    for seed in range(rounds(12)):
        graph = with_channels(parse_graph(_deep(Random(seed))))
        listed = order_front(replace(graph, order=GIVEN), listed_order(graph), _budget()).points
        ways = list(every_way(graph))
        for known in ((), listed):
            corners = corners_in_any_order(graph, known, _budget(), kinds=ONCE)
            assert assert_bounded(corners, ways, seed)
        inside += any(way.schedule.stripes and len(way.schedule.order) > len(graph.operators) for way in ways)
    assert inside


def _deep(random: Random) -> Document:
    """Up to two wide tensors between small ones, of two channels."""
    rows, wide = random.randint(2, 5), random.choice((2, 3))
    before, after = random.choice((1, 2, 8)), random.choice((1, 2, 6))
    shapes = {"x": before, "wide": wide, "each": wide, "y": after, "z": 1}
    kernel = random.choice((1, 3))
    pad = kernel // 2
    operators: list[Document] = [
        {
            "id": f"to {after}",
            "type": "depthwise_conv2d" if after == "each" else "conv2d",
            "inputs": [name],
            "outputs": [after],
            "cost": random.randint(1, 50) * wide,
            "window": {"kernel": [kernel, kernel], "padding": [pad] * 4},
            "in_place": [[name, after]] if random.random() < 0.3 else [],
        }
        for name, after in pairwise(shapes)
    ]
    return {
        "version": 1,
        "order": "free",
        "tensors": [
            {"id": name, "shape": [rows, rows, channels], "type": "int8"} for name, channels in shapes.items()
        ],
        "operators": operators,
        "inputs": ["x"],
        "outputs": ["z"],
    }


def test_a_part_and_those_beside_it_are_no_more_than_the_whole() -> None:
    """Each of them takes a whole unit of its own, where together they would take one."""
    shapes = {"x": 1, "a": 3, "b": 2, "y": 1}
    kernels, costs = {"a": 3, "b": 1, "y": 3}, {"a": 62, "b": 64, "y": 14}
    document: Document = {
        "version": 1,
        "order": "free",
        "tensors": [
            {"id": name, "shape": [4, 3, channels], "type": "int8", "alignment": 32}
            for name, channels in shapes.items()
        ],
        "operators": [
            {
                "id": f"to {after}",
                "type": "conv2d",
                "inputs": [name],
                "outputs": [after],
                "cost": costs[after],
                "window": {"kernel": [kernels[after]] * 2, "padding": [kernels[after] // 2] * 4},
            }
            for name, after in pairwise(shapes)
        ],
        "inputs": ["x"],
        "outputs": ["y"],
    }
    graph = with_channels(parse_graph(document))
    corners = corners_in_any_order(graph, (), _budget(), kinds=ONCE)
    assert assert_bounded(corners, every_way(graph), 0)


@pytest.mark.parametrize("order", ["given", "free"])
@pytest.mark.parametrize("rows", [4, 9])
def test_nothing_runs_again_in_a_chain(rows: int, order: str) -> None:
    graph = parse_graph(chain(rows, order))
    alone, again = (
        find_front(graph, FrontOptions(generators=generators), _STEADY, FrontCallbacks())
        for generators in (("stripes",), ("stripes", "recompute"))
    )
    assert [point.values for point in again.points] == [point.values for point in alone.points]
    assert len(again.points) > 1
    assert again.complete


def test_nothing_is_known_of_views_or_without_time() -> None:
    graph = parse_graph(chain(4, "free"))
    assert path_corners(graph, Budget(-1.0, 1), kinds=AGAIN) is None
    part = Tensor(id="part", shape=(2, 4, 24), type="int8")
    viewed = replace(graph, tensors=(*graph.tensors, part), views=(View(tensor="part", of="a", offset=0),))
    assert path_corners(viewed, _budget(), kinds=AGAIN) is None


@pytest.mark.parametrize("margin", [0, 1])
def test_who_only_reads_the_margin_needs_no_rows(margin: int) -> None:
    document = chain(4, "free", ["x", "a", "b", "c", "y"])
    document["operators"][2]["window"] = {
        "kernel": [1, 1],
        "stride": [8, 8],
        "padding": [margin, margin, 0, 0],
    }
    for tensor in document["tensors"][3:]:
        tensor["shape"][:2] = [1, 1]
    graph = parse_graph(document)
    assert assert_bounded(path_corners(graph, _budget(), kinds=AGAIN), every_way_again(graph, 0), 0)


@pytest.mark.rounds
def test_a_second_reader_may_have_rows_made_sooner() -> None:
    """One that needs many rows at once, so that the path keeps many of one tensor and fewer of the next."""
    for seed in range(rounds(20)):
        graph = _pulled(Random(seed))
        ways = list(every_way(graph))
        for again in (False, True):
            assert assert_bounded(path_corners(graph, _budget(), kinds=AGAIN if again else ONCE), ways, seed)


def _pulled(random: Random) -> Graph:
    """A path of windows along rows, and who else reads what is on it."""
    rows, columns = random.randint(3, 14), random.choice((1, 1, 2, 4))
    document = chain(rows, "free", ["x", *(f"t{number}" for number in range(random.randint(2, 5))), "y"])
    tensors, operators = document["tensors"], document["operators"]
    tensors[0]["shape"] = [rows, columns, 1]
    for operator, tensor in zip(operators, tensors[1:], strict=True):
        kernel, stride = random.choice((1, 3, 5)), random.choice((1, 1, 1, 2)) if rows > 3 else 1
        rows = (rows + 2 * (kernel // 2) - kernel) // stride + 1
        tensor["shape"] = [rows, columns, random.choice((1, 2, 3, 9, 20))]
        padding = [kernel // 2, 0, kernel // 2, 0]
        operator["window"] = {"kernel": [kernel, 1], "stride": [stride, 1], "padding": padding}
        operator["cost"] = random.randint(1, 30)
    on_path = tensors[1:-1]
    for number in range(random.choice((1, 1, 2))):
        source = random.choice(on_path)
        there = source["shape"][0]
        kernel = random.choice((there, max(1, there // 2), min(3, there)))
        stride = random.choice((1, kernel))
        shape = [(there - kernel) // stride + 1, columns, 1]
        tensors.append({"id": f"beside {number}", "shape": shape, "type": "int8"})
        operators.append(
            {
                "id": f"to beside {number}",
                "type": "conv2d",
                "inputs": [source["id"]],
                "outputs": [f"beside {number}"],
                "cost": random.randint(0, 3),
                "window": {"kernel": [kernel, 1], "stride": [stride, 1]},
            }
        )
    document["outputs"] = ["y", *(tensor["id"] for tensor in tensors if tensor["id"].startswith("beside"))]
    return parse_graph(document)


@pytest.mark.rounds
def test_blocks_in_parts_are_not_better_in_any_order_nor_again() -> None:
    """In some orders and with some runs again, since there are too many for all."""
    counts = [0, 0]
    for seed in range(rounds(60)):
        random = Random(seed)
        graph = with_channels(parse_graph(_blocks(random)))
        names = [alternative.id for alternative in graph.alternatives]
        chosen = [some for count in range(3) for some in combinations(names, count)]
        for number, kinds in enumerate((ONCE, AGAIN)):
            ways: list[Candidate] = []
            for some in [(), *random.sample(chosen, min(6, len(chosen)))]:
                try:
                    whole = with_chosen(graph, some)
                except InputError:
                    continue
                for _ in range(4 - 2 * number):
                    ways += some_ways(whole, random, again=bool(number))
            counts[number] += assert_bounded(corners_in_any_order(graph, (), _budget(), kinds), ways, seed)
    assert all(counts)


@pytest.mark.rounds
def test_branches_in_a_stripe_keep_rows() -> None:
    """In any order, and in some in which operators run again."""
    exact = again = 0
    for seed in range(rounds(60)):
        random = Random(seed)
        graph = parse_graph(_branches(random))
        ways = list(every_way(graph)) or list(some_ways(graph, random, again=False))
        corners = path_corners(graph, _budget(), kinds=ONCE)
        assert assert_bounded(corners, ways, seed)
        best = [(way.bytes, way.cost) for way in Archive(ways).items]
        exact += [(corner.bytes, corner.cost) for corner in corners or ()] == best
        corners = path_corners(graph, _budget(), kinds=AGAIN)
        assert assert_bounded(corners, ways, seed)
        for _ in range(3):
            again += assert_bounded(corners, some_ways(graph, random, again=True), seed)
    assert exact
    assert again


def test_what_waits_beside_a_stripe_is_proven() -> None:
    """What the first makes waits while two of the others are in a stripe."""
    channels = {"x": 1, "first": 10, "a": 4, "b": 40, "c": 4, "y": 1}
    document = chain(1, "given", [*channels])
    for tensor in document["tensors"]:
        tensor["shape"] = [8, 1, channels[tensor["id"]]]
    for operator in document["operators"]:
        operator["window"] = {"kernel": [1, 1]}
    document["operators"][-1] = {"id": "last", "type": "join", "inputs": ["first", "c"], "outputs": ["y"]}
    graph = beside_slow_memory(parse_graph(document))
    request = FrontOptions(generators=("stripes", "spill"), cost="bytes", terms=("peak:fast", "cost"))
    front = find_front(graph, request, _STEADY, FrontCallbacks())
    corners = path_corners(with_cost_unit(graph, "bytes"), _budget(), kinds=COPIES)
    assert [(corner.bytes, corner.cost) for corner in corners or ()] == [(120, 1184), (156, 1024)]
    assert [tuple(point.values.values()) for point in front.points] == [(120, 1184), (156, 1024)]
    assert [len(point.plan.schedule.spills) for point in front.points if point.plan.schedule] == [1, 0]
    assert front.complete


@pytest.mark.parametrize(("pairs", "bytes_"), [([], 22), ([["x", "c"]], 20)])
def test_what_is_read_goes_only_where_all_else_is_there(pairs: list[list[str]], bytes_: int) -> None:
    """Whichever of two readers comes second, what they read and what both make is there, if not in place."""
    sizes = {"x": 10, "a": 4, "b": 8, "c": 8, "y": 1}
    reads = {"a": ["x"], "b": ["a"], "c": ["x"], "y": ["b", "c"]}
    document: Document = {
        "version": 1,
        "order": "free",
        "tensors": [{"id": name, "size": size} for name, size in sizes.items()],
        "operators": [
            {"id": f"to {made}", "inputs": names, "outputs": [made], "cost": 1}
            for made, names in reads.items()
        ],
        "inputs": ["x"],
        "outputs": ["y"],
    }
    document["operators"][2]["in_place"] = pairs
    graph = parse_graph(document)
    for kinds in (ONCE, AGAIN):
        corners = path_corners(graph, _budget(), kinds=kinds)
        assert [(corner.bytes, corner.cost) for corner in corners or ()] == [(bytes_, 4)]
    assert min(way.bytes for way in every_way(graph)) == bytes_


@pytest.mark.rounds
@pytest.mark.parametrize("again", [False, True])
def test_no_copies_are_better(again: bool) -> None:
    """Tensors that wait in another pool, in some orders, with parts of channels and without."""
    kinds = COPIES | AGAIN if again else COPIES
    counts: Counter[bool] = Counter()
    for seed in range(rounds(80)):
        random = Random(seed)
        document = random.choice((_branches, _dear_branch, network, _blocks))(random)
        graph = replace(with_cost_unit(beside_slow_memory(parse_graph(document)), "bytes"), order="free")
        wide = with_channels(graph) if seed % 2 else graph
        names = [alternative.id for alternative in wide.alternatives]
        corners = corners_in_any_order(wide, (), _budget(), kinds)
        for chosen in ((), *random.sample([(name,) for name in names], min(2, len(names)))):
            whole = with_chosen(wide, chosen)
            ways = [way for _ in range(3) for way in some_ways_copied(whole, random, again=again)]
            assert_bounded(corners, ways, seed)
            counts.update(bool(way.schedule.spills and way.schedule.stripes) for way in ways)
    assert min(counts.values()) > 20


@pytest.mark.rounds
def test_a_dear_branch_may_be_there_as_a_whole() -> None:
    """Where it begins runs again for little, so that it need not be in narrow strips as well."""
    count = 0
    for seed in range(rounds(60)):
        random = Random(seed)
        graph = parse_graph(_dear_branch(random))
        ways = filter(runs_none_twice, every_way_again(graph, 1))
        count += assert_bounded(path_corners(graph, _budget(), kinds=AGAIN), ways, seed)
    assert count


@pytest.mark.rounds
def test_runs_make_at_least_what_somebody_reads() -> None:
    """What one operator makes is counted by its costs, where the others cost nothing."""
    part = again = 0
    for seed in range(rounds(40)):
        random = Random(seed)
        graph = parse_graph(random.choice((network, _dear_branch))(random))
        number = random.randrange(len(graph.operators))
        counted = _counted(graph, number)
        all_ = counted.operators[number].cost or 0
        least = shares_in_stripes(counted)[number].cost(all_)
        more = reruns_in_stripes(counted)[number].adds(all_)
        name = counted.operators[number].id
        for way in filter(runs_none_twice, every_way_again(counted, 1)):
            runs = sum(run.partition("#")[0] == name for run in way.schedule.order)
            assert way.cost >= least + (more if runs > 1 else 0), (seed, way)
            part += least < all_
            again += runs > 1 and 0 < more < all_
    assert part
    assert again


@pytest.mark.rounds
def test_a_later_run_makes_what_those_still_to_run_need() -> None:
    """What one operator of a path makes is counted by its costs, in all of its runs."""
    dearer: list[bool] = []
    for seed in range(rounds(20)):
        graph = parse_graph(_two_branches(Random(seed)))
        path = widest_path(graph)
        for number in path:
            counted = _counted(graph, number)
            own, all_ = made_along(counted, path)[number], counted.operators[number].cost or 0
            least = all_ if own is None else own.count
            later = [run for run in later_runs(counted, path) if run.operator == number]
            for way in filter(runs_none_twice, every_way_again(counted, 1)):
                for place in _places_of_other_runs(counted, path, number, way):
                    run = [entry for entry in later if entry.place <= place][-1]
                    assert way.cost >= least + run.made.cost(all_), (seed, way)
                    dearer.append(run.made.cost(all_) > reruns_in_stripes(counted)[number].each.cost(all_))
    assert any(dearer)
    assert not all(dearer)


@pytest.mark.parametrize("seed", gate_first([3, 14, 6, 16, 25, 38, 49, 57, 72, 80, 88], 2))
def test_what_is_made_anew_needs_room(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a path waits that reads it, and runs what that is made of in stripes."""
    graph = parse_graph(_two_branches(Random(seed)))
    known = path_corners(graph, _budget(), kinds=AGAIN)
    assert assert_bounded(known, filter(runs_none_twice, every_way_again(graph, 2)), seed)
    monkeypatch.setattr(path_bounds, "remade", lambda *_: ())
    assert path_corners(graph, _budget(), kinds=AGAIN) != known


def test_what_is_handed_on_is_there_once() -> None:
    """The path waits with `middle`, which goes around what makes `around` in a stripe with its reader."""
    images = {"x": 1, "fork": 5, "middle": 2, "around": 2, "both": 2}
    convolutions = {
        "fork": ("x", 1, 10),
        "middle": ("fork", 3, 1),
        "around": ("fork", 1, 1),
        "y": ("both", 3, 50),
    }
    operators: list[Document] = [
        {"id": f"to {made}", "type": "conv2d", "inputs": [source], "outputs": [made], "cost": cost}
        | {"window": {"kernel": [size] * 2, "padding": [size // 2] * 4, "stride": [1 + (made == "y")] * 2}}
        for made, (source, size, cost) in convolutions.items()
    ]
    join = {"id": "join", "type": "add", "inputs": ["around", "middle"], "outputs": ["both"], "cost": 10}
    tensors = [{"id": name, "shape": [6, 5, channels], "type": "int8"} for name, channels in images.items()]
    tensors.append({"id": "y", "shape": [3, 3, 1], "type": "int8"})
    document = {"version": 1, "tensors": tensors, "inputs": ["x"], "outputs": ["y"]}
    graph = parse_graph(document | {"operators": [*operators[:3], join, operators[3]]})
    ways = [way for way in every_way_again(graph, 1) if runs_none_twice(way)]
    assert (138, 107) in {(way.bytes, way.cost) for way in ways}
    assert assert_bounded(path_corners(graph, _budget(), kinds=AGAIN), ways, 0)


def test_what_a_maker_reads_may_be_there_instead() -> None:
    """What it makes is not, beside a stripe that has made what it reads."""
    random = Random(2431)
    random.choice((0, 1))
    graph = parse_graph(_branches(random))
    assert [operator.inputs for operator in graph.operators][2] == ("m0",)
    graph = replace(with_cost_unit(beside_slow_memory(graph), "bytes"), order="free")
    corners = path_corners(graph, _budget(), kinds=COPIES | AGAIN)
    assert assert_bounded(corners, every_way(graph), 0)


@pytest.mark.parametrize("blocks", [1, 2])
def test_plans_of_residual_networks_are_as_good_as_their_bounds(blocks: int) -> None:
    graph = replace(residual_network(blocks), order=GIVEN)
    corners = path_corners(graph, _budget(), kinds=AGAIN)
    front = find_front(
        graph,
        FrontOptions(generators=("stripes", "recompute")),
        Options(deterministic=True, work_limit=20_000_000),
        FrontCallbacks(),
    )
    plans = [(point.values["peak"], point.values["cost"]) for point in front.points]
    assert len(plans) == 7 if blocks == 1 else 16
    assert set(plans) <= {(corner.bytes, corner.cost) for corner in corners or ()}


def _counted(graph: Graph, number: int) -> Graph:
    """The graph in which one operator costs what it makes, and the others nothing."""
    (made,) = graph.operators[number].outputs
    rows, columns, _ = next(tensor.shape or () for tensor in graph.tensors if tensor.id == made)
    operators = (
        replace(operator, cost=(at == number) * rows * columns) for at, operator in enumerate(graph.operators)
    )
    return replace(graph, operators=tuple(operators))


def _places_of_other_runs(graph: Graph, path: Sequence[int], number: int, way: Candidate) -> Iterator[int]:
    """After the places before them have run, this one runs again for those of the path from there on."""
    links = links_of(graph)
    runs = [links.operator_index[name.partition("#")[0]] for name in way.schedule.order]
    of_path: list[int] = []
    for operator in reversed(path):
        end = of_path[0] if of_path else len(runs)
        of_path.insert(0, max(at for at in range(end) if runs[at] == operator))
    for place in range(path.index(number) + 1, len(path)):
        needed = set(of_path[place:])
        for at in range(len(runs) - 1, of_path[place - 1], -1):
            if at not in needed:
                continue
            for name in graph.operators[runs[at]].inputs:
                maker = links.producer[links.tensor_index[name]]
                if maker != NOBODY and maker not in path[place:]:
                    needed.add(max(before for before in range(at) if runs[before] == maker))
        if any(runs[at] == number for at in needed if at > of_path[place - 1]):
            yield place


def test_two_runs_make_what_two_readers_need_each() -> None:
    """One reads columns 0, 2 and 4 of six, the other 0 and 3."""
    document = chain(1, "free", ["x", "a", "b"])
    for number, (tensor, columns) in enumerate(zip(document["tensors"], (6, 6, 3), strict=True)):
        tensor["shape"] = [1, columns, 1]
        if number:
            stride = [1, 6 // columns]
            document["operators"][number - 1]["window"] = {"kernel": [1, 1], "stride": stride}
    document["tensors"].append({"id": "c", "shape": [1, 2, 1], "type": "int8"})
    window = {"kernel": [1, 1], "stride": [1, 3]}
    other = {"id": "to c", "type": "conv2d", "inputs": ["a"], "outputs": ["c"], "window": window}
    document["operators"].append(other)
    document["outputs"] = ["b", "c"]
    graph = parse_graph(document)
    assert shares_in_stripes(graph)[0] == Share(4, 6)
    assert reruns_in_stripes(graph)[0] == Rerun(each=Share(2, 6), more=Share(1, 6))


def _dear_branch(random: Random) -> Document:
    rows, columns, alignment = random.randint(3, 8), random.randint(3, 6), random.choice((1, 1, 4))
    channels = {"x": 1, "fork": random.choice((3, 4, 9)), "around": random.choice((1, 2)), "y": 1}
    is_sum, stride = random.random() < 0.4, random.choice((1, 2, 2))
    channels["middle"] = channels["around"] * (1 if is_sum else random.randint(1, 9))
    channels["both"] = channels["middle"] + (0 if is_sum else channels["around"])
    operators: list[Document] = [
        {
            "id": f"to {made}",
            "type": "conv2d",
            "inputs": [source],
            "outputs": [made],
            "cost": random.randint(0, 2) if made != "around" else 100,
            "window": {
                "kernel": [kernel, kernel],
                "padding": [kernel // 2] * 4,
                "stride": [stride if made == "y" else 1] * 2,
            },
        }
        for source, made, kernel in (
            ("x", "fork", 1),
            ("fork", "middle", random.choice((1, 3))),
            ("fork", "around", random.choice((1, 3))),
            ("both", "y", 3),
        )
    ]
    join: Document = {
        "id": "join",
        "type": "add" if is_sum else "concatenation",
        "outputs": ["both"],
        "cost": 1,
    }
    operators.insert(3, join | {"inputs": random.sample(["middle", "around"], 2)})
    return {
        "version": 1,
        "order": "free",
        "tensors": [
            {
                "id": name,
                "shape": [
                    *(((extent - 1) // stride + 1 if name == "y" else extent) for extent in (rows, columns)),
                    count,
                ],
                "type": "int8",
                "alignment": alignment,
            }
            for name, count in channels.items()
        ],
        "operators": operators,
        "inputs": ["x"],
        "outputs": ["y"],
    }


def _two_branches(random: Random) -> Document:
    """Around one operator, and then around one that is half as large, in the order of the document."""
    document = _dear_branch(random)
    tensors, operators = document["tensors"], document["operators"]
    (rows, columns, _), kernel = tensors[0]["shape"], random.choice((1, 3))
    last = operators.pop()
    last["window"] = {"kernel": [kernel] * 2, "padding": [kernel // 2] * 4, "stride": [2, 2]}
    other = last | {"id": "to z", "outputs": ["z"], "window": {"kernel": [1, 1], "stride": [2, 2]}}
    join = {"id": "to w", "type": "add", "inputs": ["y", "z"], "outputs": ["w"], "cost": 1}
    halves = [-(-rows // 2), -(-columns // 2), 1]
    tensors[3]["shape"] = halves
    tensors += [{"id": name, "shape": halves, "type": "int8"} for name in ("z", "w")]
    operators += [last, other, join]
    return document | {"order": "given", "outputs": ["w"]}


def _branches(random: Random) -> Document:
    """One or two blocks: a path of windows along rows, and what goes around it and is added to it."""
    shapes = {"x": [random.randint(3, 12), random.choice((1, 1, 2, 3)), random.choice((1, 2, 4))]}
    operators: list[Document] = []

    def run(kind: str, sources: list[str], made: str, shape: list[int], **more: object) -> str:
        shapes[made] = shape
        operators.append(
            {
                "id": f"to {made}",
                "type": kind,
                "inputs": sources,
                "outputs": [made],
                "cost": random.choice((0, 1, random.randint(1, 50))),
                **more,
            }
        )
        return made

    def slide(source: str, made: str, kernel: int, stride: int, channels: int) -> str:
        rows, columns, _ = shapes[source]
        across = random.choice((1, kernel))
        pads = [kernel // 2, across // 2]
        shape = [(rows + 2 * pads[0] - kernel) // stride + 1, columns + 2 * pads[1] - across + 1, channels]
        window = {"kernel": [kernel, across], "stride": [stride, 1], "padding": [*pads, *pads]}
        more = {"temporaries": [{"id": f"own {made}", "size": random.randint(1, 30)}]}
        return run("conv2d", [source], made, shape, window=window, **(more if random.random() < 0.1 else {}))

    last = slide("x", "begin", random.choice((1, 3)), 1, random.choice((1, 3, 9)))
    for block in range(random.randint(1, 2)):
        fork, channels = last, random.choice((shapes[last][2], shapes[last][2], 2, 6))
        stride = random.choice((1, 1, 2))
        last = slide(fork, f"m{block}", random.choice((1, 3, 5)), stride, random.choice((channels, 2, 7)))
        if random.random() < 0.6 or shapes[last][2] != channels:
            last = slide(last, f"n{block}", random.choice((1, 3)), 1, channels)
        around = fork
        if shapes[around] != shapes[last]:
            around = slide(around, f"s{block}", 1, stride, channels)
        elif random.random() < 0.3:
            around = slide(around, f"s{block}", random.choice((1, 3)), 1, channels)
        if random.random() < 0.3 and around != fork:
            around = slide(around, f"r{block}", random.choice((1, 3)), 1, channels)
        if random.random() < 0.2:
            slide(random.choice((fork, last, around)), f"out {block}", random.choice((1, 3)), 1, 1)
        if shapes[around] == shapes[last]:
            sources = random.sample([around, last], 2)
            last = run("add", sources, f"a{block}", shapes[last], in_place=[[last, f"a{block}"]])
    if random.random() < 0.5:
        run("mean", [last], "y", [1, 1, shapes[last][2]])
    elif random.random() < 0.7:
        slide(last, "y", random.choice((1, 3)), random.choice((1, 2)), 1)
    read = {name for operator in operators for name in operator["inputs"]}
    alignment = random.choice((1, 1, 1, 4, 16))
    return {
        "version": 1,
        "order": "free",
        "tensors": [
            {"id": name, "shape": shape, "type": "int8", "alignment": alignment}
            for name, shape in shapes.items()
        ],
        "operators": operators,
        "inputs": ["x"],
        "outputs": [name for name in shapes if name not in read],
    }


def _blocks(random: Random) -> Document:
    """One or two blocks, wide in the middle, of which what comes may be added to what they make."""
    shapes = {"x": (random.randint(2, 6), random.choice((1, 2, 3, 8)))}
    operators: list[Document] = []

    def slide(source: str, made: str, channels: int, kind: str = "conv2d") -> str:
        rows, kernel = shapes[source][0], random.choice((1, 3))
        stride, pad = random.choice((1, 1, 1, 2)) if rows > 2 else 1, kernel // 2
        shapes[made] = (rows + 2 * pad - kernel) // stride + 1, channels
        operators.append(
            {
                "id": f"to {made}",
                "type": kind,
                "inputs": [source],
                "outputs": [made],
                "window": {"kernel": [kernel, kernel], "stride": [stride, stride], "padding": [pad] * 4},
                **random.choice(({}, {"cost": random.randint(1, 50) * channels})),
            }
        )
        return made

    last = "x"
    for block in range(random.randint(1, 2)):
        begin, width = last, random.choice((2, 3, 4, 4, 8))
        last = slide(begin, f"w{block}", width)
        if random.random() < 0.7:
            last = slide(last, f"d{block}", width, "depthwise_conv2d")
        last = slide(last, f"y{block}", random.choice((1, 2, 6, shapes[begin][1], shapes[begin][1])))
        if shapes[last] == shapes[begin] and random.random() < 0.7:
            added, sources = f"s{block}", [begin, last]
            pairs = random.choice(([], [[last, added]]))
            operators.append(
                {
                    "id": f"add {block}",
                    "type": "add",
                    "inputs": sources,
                    "outputs": [added],
                    "cost": random.randint(0, 9),
                    "in_place": pairs,
                }
            )
            shapes[added], last = shapes[last], added
    alignment = random.choice((1, 1, 1, 4, 16))
    return {
        "version": 1,
        "order": "free",
        "tensors": [
            {"id": name, "shape": [rows, rows, channels], "type": "int8", "alignment": alignment}
            for name, (rows, channels) in shapes.items()
        ],
        "operators": operators,
        "inputs": ["x"],
        "outputs": [last],
    }
