"""Tensors beside a path that are there, or are made anew: what is known of either."""

from collections.abc import Sequence

import pytest

from memstow.planner.graph.graph_document import parse_graph
from memstow.planner.graph.links import listed_order
from memstow.planner.graph.remade import Remade, remade, with_remade
from memstow.solvers.graph_programs import CutLevel, PathCut, StripePoint
from tests.graphs import Document

_ENTRY = Remade(sizes=(10, 10), maker=9, begin=1, end=3, used=frozenset({2}))


def _level(cost: int, needs: Sequence[int], begin: int = 0) -> CutLevel:
    running, after, *read = needs
    return CutLevel(cost, running, after, begin, 1, read, (), read)


def _cuts(*levels: tuple[CutLevel, CutLevel, CutLevel]) -> list[PathCut]:
    """Of a path of four, of which all but the last have the same levels."""
    cuts = [PathCut([level[at] for level in levels], at > 0) for at in range(3)]
    return [*cuts, PathCut([CutLevel(0, 0, 0, -1, -1, (), (), ())], False)]


def _ways(*ways: tuple[int, int]) -> list[StripePoint]:
    return [StripePoint(needs, cost, ()) for needs, cost in ways]


def test_a_tensor_is_there_or_costs_what_a_way_to_make_it_does() -> None:
    nothing = _level(0, [0, 0, 0])
    kept = (nothing, _level(0, [10, 10, 10]), _level(0, [0, 10, 10]))
    gone = (_level(5, [0, 0, 0]), _level(5, [0, 4, 3]), _level(5, [0, 10, 0]))
    cuts = [*with_remade(_cuts(kept, gone), _ENTRY, _ways((50, 9), (60, 4), (70, 1)))]
    first, second, third = (
        [(level.cost, level.peak, *level[1:]) for level in cut.levels] for cut in cuts[:3]
    )
    assert [entry[:2] for entry in first] == [(0, 0), (5, 60), (9, 50)]
    assert [entry[:2] for entry in second] == [entry[:2] for entry in third] == [entry[:2] for entry in first]
    # Where it is there, that is no better than at the first level, but for what one reads that uses it.
    assert [entry[3] for entry in second] == [10, 4, 4]
    assert [cut.continues for cut in cuts] == [False, True, True, False]
    assert cuts[3] == _cuts(kept)[3]


def test_who_uses_some_of_it_before_has_nothing_beside() -> None:
    low = tuple(_level(3, [0, 4, 4], begin=-1) for _ in range(3))
    cuts = [*with_remade(_cuts((low[0], low[1], low[2])), _ENTRY, _ways((50, 9)))]
    there = [next(level for level in cut.levels if level.cost == 3) for cut in cuts[:3]]
    assert [level.running for level in there] == [0, 10, 0]
    assert [level.after for level in there] == [4, 10, 10]
    assert [[*level.beside_read, *level.beside_gone] for level in there] == [[4, 4], [10, 10], [10, 10]]


def test_beside_a_stripe_with_what_a_tensor_is_made_of_that_does_not_wait() -> None:
    low = tuple(_level(3, [0, 4, 4, 4]) for _ in range(3))
    cuts = [*with_remade(_cuts((low[0], low[1], low[2])), _ENTRY, _ways((50, 9)), 0)]
    there, anew = cuts[1].levels
    assert (there.after, [*there.beside_read], [*there.beside_gone]) == (4, [10, 4], [4, 4])
    assert anew == low[1]._replace(cost=9, peak=50)


def test_a_level_that_says_less_of_what_may_be_among_it_is_not_left_out() -> None:
    """Less is known of who may hand on some of it."""
    narrow = tuple(_level(0, [10, 10, 10], begin=0) for _ in range(3))
    wide = tuple(_level(4, [10, 10, 10], begin=-1) for _ in range(3))
    cuts = [*with_remade(_cuts((narrow[0], narrow[1], narrow[2]), (wide[0], wide[1], wide[2])), _ENTRY, [])]
    assert [(level.cost, level.begin) for level in cuts[0].levels] == [(0, 0), (4, -1)]


def test_of_many_ways_each_is_as_bad_as_one_that_stands_for_it() -> None:
    ways = _ways(*((100 + at, (30 - at) ** 2) for at in range(30)))
    low = tuple(_level(0, [0, 0, 0]) for _ in range(3))
    (first, *_) = with_remade(_cuts((low[0], low[1], low[2])), _ENTRY, ways)
    anew = [(level.peak, level.cost) for level in first.levels if level.peak]
    assert len(anew) == 8
    assert all(any(peak <= way.bytes and cost <= way.cost for peak, cost in anew) for way in ways)
    assert set(anew) <= {(one.bytes, two.cost) for one in ways for two in ways}


def test_where_too_many_levels_differ_nothing_more_is_known() -> None:
    levels = [tuple(_level(at, [9, 9, 9 - at % 2], begin=-at) for _ in range(3)) for at in range(70)]
    cuts = _cuts(*((low[0], low[1], low[2]) for low in levels))
    assert [*with_remade(cuts, _ENTRY, _ways((50, 100)))] == cuts


@pytest.mark.parametrize("stride", [1, 2])
def test_only_what_is_read_as_a_whole_is_counted(stride: int) -> None:
    """With a stride, the reader makes some of it, and reads some."""
    rows = {"a": 4, "b": 4, "around": 4, "c": 4, "d": 4, "e": 4 // stride}
    windows = {"b": ("a", 1), "around": ("b", 1), "c": ("b", 1), "e": ("d", stride)}
    operators: list[Document] = [
        {"id": f"to {made}", "type": "conv2d", "inputs": [source], "outputs": [made]}
        | {"window": {"kernel": [1, 1], "stride": [step] * 2}}
        for made, (source, step) in windows.items()
    ]
    join = {"id": "to d", "type": "add", "inputs": ["c", "around"], "outputs": ["d"]}
    tensors = [{"id": name, "shape": [size, size, 1], "type": "int8"} for name, size in rows.items()]
    document = {"version": 1, "tensors": tensors, "inputs": ["a"], "outputs": ["e"]}
    graph = parse_graph(document | {"operators": [*operators[:3], join, operators[3]]})
    path = [at for at in listed_order(graph) if graph.operators[at].id != "to around"]
    cuts = [PathCut([CutLevel(0, 0, 0, -1, -1, (), (), ())], at > 0) for at in range(len(path))]
    known = [Remade(sizes=(16,), maker=1, begin=1, end=2, used=frozenset())]
    assert [*remade(graph, path, cuts)] == (known if stride == 1 else [])
