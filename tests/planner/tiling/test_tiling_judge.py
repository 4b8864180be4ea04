"""The judge of tilings refuses what is wrong with one, whatever it is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from memstow.planner.model.graph import Graph, Operator, Tensor, Window
from memstow.planner.model.tiling import Chosen, Piece, Tiling, TilingOptions
from memstow.planner.tiling.tile import tile
from memstow.planner.verify.tiling_verdict import verify_tiling

GRAPH = Graph(
    tensors=[
        Tensor(id="x", shape=(1, 12, 12, 8), type="int8"),
        Tensor(id="w", shape=(16, 3, 3, 8), type="int8", kind="constant"),
        Tensor(id="b", shape=(16,), type="int32", kind="constant"),
        Tensor(id="y", shape=(1, 12, 12, 16), type="int8"),
    ],
    operators=[
        Operator(
            id="conv",
            type="conv2d",
            inputs=["x", "w", "b"],
            outputs=["y"],
            window=Window(kernel=(3, 3), padding=(1, 1, 1, 1)),
        )
    ],
    inputs=["x"],
    outputs=["y"],
)
TILING = tile(GRAPH, "conv", TilingOptions(capacity=512, im2col=2))


def chosen() -> Chosen:
    assert TILING.chosen is not None
    return TILING.chosen


def changed(**fields: Any) -> Tiling:
    return replace(TILING, chosen=replace(chosen(), **fields))


def pieces(**fields: Any) -> Tiling:
    return changed(pieces=replace(chosen().pieces, **fields))


def rows(change: Callable[[Piece], Piece]) -> Tiling:
    first, *others = chosen().pieces.rows
    return pieces(rows=(change(first), *others))


def buffers(**fields: Any) -> Tiling:
    first, *others = chosen().buffers
    return changed(buffers=(replace(first, **fields), *others))


def moved(**fields: Any) -> Tiling:
    first, *others = chosen().moved
    return changed(moved=(replace(first, **fields), *others))


WRONG = {
    "rows missing": lambda: pieces(rows=chosen().pieces.rows[1:]),
    "rows twice": lambda: pieces(rows=(*chosen().pieces.rows, chosen().pieces.rows[-1])),
    "no rows": lambda: pieces(rows=()),
    "a row less is read": lambda: rows(lambda pair: replace(pair, input=(pair.input[0], pair.input[1] - 1))),
    "reads outside": lambda: rows(lambda pair: replace(pair, input=(-1, pair.input[1]))),
    "channels less": lambda: pieces(
        channels=tuple(replace(channel, input=(0, 4)) for channel in chosen().pieces.channels)
    ),
    "inputs in disorder": lambda: pieces(inputs=((0, 4), (3, 8))),
    "another tile": lambda: changed(tile=replace(chosen().tile, rows=chosen().tile.rows + 1)),
    "a loop twice": lambda: changed(loops=("rows", "rows", "columns", "inputs")),
    "inputs outside": lambda: changed(loops=("inputs", "rows", "columns", "channels")),
    "fewer tiles": lambda: changed(tiles=1),
    "fewer bytes": lambda: changed(bytes=chosen().bytes - 1),
    "fewer bytes of a tensor": lambda: moved(bytes=1),
    "fewer times": lambda: moved(times=1),
    "another need": lambda: moved(least=1),
    "a small buffer": lambda: buffers(size=1),
    "another place": lambda: buffers(offset=chosen().buffers[0].offset + 1),
    "one buffer less": lambda: changed(buffers=chosen().buffers[1:]),
    "another role": lambda: buffers(role="weights"),
    "less memory": lambda: changed(l1=1),
    "another capacity": lambda: replace(TILING, capacity=chosen().l1 - 1),
    "a bound that is none": lambda: replace(TILING, bound=chosen().bytes + 1),
    "less is needed": lambda: replace(TILING, least=1),
    "a bound below what is needed": lambda: replace(TILING, bound=1),
    "aligned": lambda: changed(alignment=3),
    "another operator": lambda: replace(TILING, operator="other"),
    "no plan": lambda: changed(plan=replace(chosen().plan, placements=())),
    "all at one place": lambda: changed(
        plan=replace(
            chosen().plan,
            placements=tuple(replace(placement, offset=0) for placement in chosen().plan.placements),
        )
    ),
    "no im2col": lambda: changed(
        buffers=tuple(buffer for buffer in chosen().buffers if buffer.role != "im2col")
    ),
}


def test_the_tiling_is_right() -> None:
    verdict = verify_tiling(GRAPH, TILING)
    assert (verdict.wrong, verdict.replayed) == ((), True)
    assert len(chosen().pieces.rows) > 1


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_refused(name: str) -> None:
    assert verify_tiling(GRAPH, WRONG[name]()).wrong != ()


def test_a_buffer_that_is_not_there_is_named() -> None:
    there = chosen().buffers
    assert {move.tensor is None for move in there} == {True, False}
    for missing in there:
        others = tuple(entry for entry in there if entry is not missing)
        name = missing.role if missing.tensor is None else f"{missing.tensor!r} ({missing.role})"
        same = sum(
            (move.role, move.tensor, move.size) == (missing.role, missing.tensor, missing.size)
            for move in there
        )
        said = f"{name} needs {same} of {missing.size:,} bytes among the buffers, where {same - 1} are"
        assert said in verify_tiling(GRAPH, changed(buffers=others)).wrong


def test_points_of_a_front_are_counted_again() -> None:
    result = tile(GRAPH, "conv", TilingOptions(capacity=2048, front=True))
    assert result.front is not None
    assert len(result.front) > 10
    assert any(tiling.replayed for tiling in result.front)
    assert verify_tiling(GRAPH, result).wrong == ()
    last = result.front[-1]
    for wrong in (
        replace(last, bytes=last.bytes - 1),
        replace(last, l1=last.l1 + 1),
        replace(last, loops=("rows", "rows", "columns", "inputs")),
        result.front[-2],
    ):
        changed = replace(result, front=(*result.front[:-1], wrong))
        assert "point of the front" in verify_tiling(GRAPH, changed).wrong[0]


def test_an_operator_of_an_unknown_kind_is_refused() -> None:
    (operator,) = GRAPH.operators
    other = replace(GRAPH, operators=(replace(operator, window=None, type="softmax"),))
    assert verify_tiling(other, TILING).wrong != ()


def test_input_channels_are_not_added_up_where_the_operator_does_not() -> None:
    (operator,) = GRAPH.operators
    pool = replace(operator, type="max_pool_2d", inputs=("x",), outputs=("z",))
    made = Tensor(id="z", shape=(1, 12, 12, 8), type="int8")
    graph = replace(GRAPH, tensors=(*GRAPH.tensors, made), operators=(pool,), outputs=("z",))
    tiling = tile(graph, "conv", TilingOptions(capacity=4096))
    assert tiling.chosen is not None
    parts = replace(tiling.chosen.pieces, inputs=((0, 4), (4, 8)))
    wrong = replace(tiling.chosen, pieces=parts, tile=replace(tiling.chosen.tile, inputs=4))
    assert "does not add them up" in verify_tiling(graph, replace(tiling, chosen=wrong)).wrong[0]


def test_a_tiling_without_tiles_says_why() -> None:
    without = replace(TILING, chosen=None, bound=None, replayed=False)
    assert "neither a tile nor what the smallest needs" in verify_tiling(GRAPH, without).wrong[0]
    assert verify_tiling(GRAPH, replace(without, complete=False)).wrong == ()


def test_an_image_of_which_nothing_is_read_has_no_buffer() -> None:
    """The windows of a single pixel with a margin of one and a stride of two are beside it."""
    beside = Window(kernel=(1, 1), stride=(2, 2), padding=(1, 1, 1, 1))
    shapes = {"x": (1, 1, 1, 8), "w": (16, 1, 1, 8), "b": (16,), "y": (1, 2, 2, 16)}
    graph = replace(
        GRAPH,
        tensors=tuple(replace(tensor, shape=shapes[tensor.id]) for tensor in GRAPH.tensors),
        operators=(replace(GRAPH.operators[0], window=beside),),
    )
    tiling = tile(graph, "conv", TilingOptions(capacity=512))
    assert tiling.chosen is not None
    assert "x" not in {buffer.tensor for buffer in tiling.chosen.buffers}
    assert verify_tiling(graph, tiling).wrong == ()


def test_a_pool_reads_of_each_channel_that_channel_alone() -> None:
    pool = Operator(id="pool", type="max_pool_2d", inputs=["x"], outputs=["y"], window=Window(kernel=(3, 3)))
    tensors = (GRAPH.tensors[0], Tensor(id="y", shape=(1, 10, 10, 8), type="int8"))
    graph = replace(GRAPH, tensors=tensors, operators=(pool,))
    tiling = tile(graph, "pool", TilingOptions(capacity=256))
    assert tiling.chosen is not None
    assert len(tiling.chosen.pieces.channels) > 1
    assert verify_tiling(graph, tiling).wrong == ()
