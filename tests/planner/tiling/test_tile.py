"""Tiles of operators: memories, objectives, what has no tiles, and limits of the work."""

from dataclasses import replace
from itertools import pairwise

import pytest

from memstow.planner.formats import read_graph
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, Tensor, Window
from memstow.planner.model.problem import Pool, Reserved
from memstow.planner.model.tiling import Chosen, Loop, Tiling, TilingOptions
from memstow.planner.tiling.layers import UntiledError, layer_of
from memstow.planner.tiling.tile import tile, tile_all
from memstow.planner.verify import verify
from tests.tflite_models import small_model

CONV = Operator(
    id="conv",
    type="conv2d",
    inputs=["x", "w", "b"],
    outputs=["y"],
    window=Window(kernel=(3, 3), padding=[1] * 4),
)
TENSORS = (
    Tensor(id="x", shape=(16, 16, 8), type="int8"),
    Tensor(id="w", shape=(32, 3, 3, 8), type="int8", kind="constant"),
    Tensor(id="b", shape=(32,), type="int32", kind="constant"),
    Tensor(id="y", shape=(16, 16, 32), type="int8"),
)
GRAPH = Graph(
    pools=[Pool(id="l1", capacity=4096), Pool(id="l2", capacity=9000)],
    tensors=TENSORS,
    operators=[CONV],
    inputs=["x"],
    outputs=["y"],
)


def chosen(tiling: Tiling) -> Chosen:
    assert tiling.chosen is not None, tiling
    return tiling.chosen


def layered(kind: str, *tensors: Tensor, window: Window | None = None) -> Graph:
    """One operator that reads all tensors but the last, and makes that."""
    ids = [tensor.id for tensor in tensors]
    operator = Operator(id="op", type=kind, inputs=ids[:-1], outputs=ids[-1:], window=window)
    return Graph(
        tensors=tensors,
        operators=[operator],
        inputs=[tensor.id for tensor in tensors[:-1] if tensor.kind == "data"],
        outputs=ids[-1:],
    )


def test_buffers_are_placed_in_the_pool_and_the_plan_is_valid() -> None:
    result = chosen(tile(GRAPH, "conv"))
    assert verify(result.problem, result.plan) == []
    assert {placement.pool for placement in result.plan.placements} == {"l1"}
    ends = sorted((buffer.offset, buffer.offset + buffer.size) for buffer in result.buffers)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(ends))
    assert ends[-1][1] <= 4096


def test_tensors_that_fit_lie_at_home_and_the_others_beyond() -> None:
    # y has 8,192 bytes and x 2,048: only one of them fits; constants lie beyond unless pools name the home.
    result = chosen(tile(GRAPH, "conv", TilingOptions(objective=("beyond", "bytes"))))
    where = {move.tensor: move.beyond for move in result.moved}
    assert where == {"x": True, "w": True, "b": True, "y": False}
    assert result.beyond == sum(move.bytes for move in result.moved if move.beyond)
    assert chosen(tile(GRAPH, "conv")).bytes <= result.bytes
    fitting = replace(GRAPH, pools=(GRAPH.pools[0], Pool(id="l2")))
    all_at_home = chosen(tile(fitting, "conv", TilingOptions(objective=("beyond", "bytes"))))
    assert [move.tensor for move in all_at_home.moved if move.beyond] == ["w", "b"]
    named = tuple(
        replace(tensor, pools=("l2",)) if tensor.kind == "constant" else tensor for tensor in TENSORS
    )
    assert chosen(tile(replace(fitting, tensors=named), "conv")).beyond == 0


def test_one_pool_is_all_there_is_without_a_home() -> None:
    graph = replace(GRAPH, pools=GRAPH.pools[:1])
    assert chosen(tile(graph, "conv")).beyond is None
    with pytest.raises(InputError, match="no_home"):
        tile(graph, "conv", TilingOptions(objective=("beyond",)))


def test_reserved_ranges_and_alignment_are_kept() -> None:
    pool = Pool(id="l1", capacity=4096, alignment=64, base=32, reserved=[Reserved(offset=1000, size=100)])
    tiling = tile(replace(GRAPH, pools=(pool,)), "conv")
    assert (tiling.unit, tiling.capacity) == (64, 2944)
    assert all((buffer.offset + 32) % 64 == 0 and buffer.size % 64 == 0 for buffer in chosen(tiling).buffers)
    assert chosen(tiling).l1 <= 2944
    # A smaller capacity cuts ranges off that lie beyond it.
    assert tile(replace(GRAPH, pools=(pool,)), "conv", TilingOptions(capacity=1050)).capacity == 960


def test_the_capacity_can_be_given_for_a_graph_without_pools() -> None:
    graph = replace(GRAPH, pools=())
    for options in (TilingOptions(capacity=4096), TilingOptions(capacity=4096, pool="memory")):
        tiling = tile(graph, "conv", options)
        assert tiling.pool == "memory"
        assert chosen(tiling).bytes == chosen(tile(GRAPH, "conv")).bytes
    with pytest.raises(InputError, match="no_capacity"):
        tile(graph, "conv")
    with pytest.raises(InputError, match="leave pool out"):
        tile(graph, "conv", TilingOptions(capacity=4096, pool="l1"))


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (TilingOptions(pool="l3"), "unknown_pool"),
        (TilingOptions(home="l3"), "unknown_pool"),
        (TilingOptions(pool="l1", home="l1"), "same_pool"),
        (TilingOptions(objective=("bytes", "bytes")), "unknown_term"),
        (TilingOptions(multiples=(("rows", 0),)), "not_a_multiple"),
        (TilingOptions(im2col=-1), "not_pixels"),
        (TilingOptions(capacity=-1), "too_large"),
        (TilingOptions(pool="l1", capacity=1 << 20), "beyond_pool"),
        (TilingOptions(work=0), "too_small"),
    ],
)
def test_options_that_contradict_the_graph_are_refused(options: TilingOptions, code: str) -> None:
    with pytest.raises(InputError, match=code):
        tile(GRAPH, "conv", options)
    with pytest.raises(InputError, match=code):
        tile_all(GRAPH, options)


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean conv"):
        tile(GRAPH, "convv")


def test_alignment_and_tiles_are_minimised_as_asked() -> None:
    wished: tuple[tuple[Loop, int], ...] = (("channels", 8), ("columns", 4))
    aligned = chosen(tile(GRAPH, "conv", TilingOptions(objective=("alignment", "bytes"), multiples=wished)))
    assert (aligned.tile.channels % 8, aligned.tile.columns % 4, aligned.alignment) == (0, 0, 0)
    few = chosen(tile(GRAPH, "conv", TilingOptions(objective=("tiles",))))
    assert few.tiles <= min(aligned.tiles, chosen(tile(GRAPH, "conv")).tiles)
    small = chosen(tile(GRAPH, "conv", TilingOptions(objective=("l1",))))
    assert small.l1 <= few.l1


def test_a_layer_that_fits_is_one_tile_with_single_buffers() -> None:
    roomy = Pool(id="l1", capacity=1 << 20)
    tiling = tile(replace(GRAPH, pools=(roomy, *GRAPH.pools[1:])), "conv", TilingOptions(capacity=1 << 19))
    assert tiling.whole is not None
    assert (tiling.whole.fits, chosen(tiling).tiles) == (True, 1)
    assert chosen(tiling).bytes == tiling.least == tiling.bound
    assert [buffer.id for buffer in chosen(tiling).buffers] == ["x", "w", "b", "y"]


def test_where_none_fits_the_least_that_is_needed_is_told() -> None:
    tiling = tile(GRAPH, "conv", TilingOptions(capacity=16))
    assert (tiling.chosen, tiling.bound) == (None, None)
    assert tiling.needs is not None
    assert tiling.needs > 16
    assert chosen(tile(GRAPH, "conv", TilingOptions(capacity=tiling.needs))).l1 == tiling.needs


def test_little_work_is_told_and_what_was_found_is_valid() -> None:
    tiling = tile(GRAPH, "conv", TilingOptions(work=20, front=True))
    assert (tiling.complete, tiling.bound) == (False, None)
    assert tiling.looked_at <= 60
    nothing = tile(GRAPH, "conv", TilingOptions(work=1))
    assert (nothing.chosen, nothing.needs, nothing.complete) == (None, None, False)


def test_long_directions_are_cut_into_some_sizes_only() -> None:
    x, y = (Tensor(id=name, shape=(1, 1, 1_000_003), type="int8") for name in "xy")
    tiling = tile(layered("relu", x, y), "op", TilingOptions(capacity=65536))
    assert (tiling.complete, tiling.bound) == (False, None)
    assert chosen(tiling).bytes == 2_000_006
    huge = tuple(replace(entry, shape=(1 << 31, 3, 1 << 20)) for entry in (x, y))
    assert tile(layered("relu", *huge), "op", TilingOptions(capacity=65536)).chosen is None
    assert tile(layered("relu", *huge), "op", TilingOptions(capacity=1 << 62)).chosen is not None


def test_steps_that_are_too_many_are_not_walked_through() -> None:
    x, y = (Tensor(id=name, shape=(400, 400, 3), type="int8") for name in "xy")
    tiling = tile(layered("relu", x, y), "op", TilingOptions(capacity=4, objective=("bytes",)))
    assert chosen(tiling).tiles == 480_000
    assert not tiling.replayed


def data(name: str, *shape: int, kind: str = "data", type: str = "int8") -> Tensor:  # noqa: A002
    return Tensor(id=name, shape=shape, type=type, kind=kind)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("graph", "why"),
    [
        (layered("softmax", data("x", 4, 4), data("y", 4, 4)), "no window"),
        (layered("relu", Tensor(id="x", size=4), data("y", 4)), "not known"),
        (layered("relu", data("x", 4, type="int4"), data("y", 4)), "less than a byte"),
        (layered("add", data("x", 4, 4), data("z", 2, 4), data("y", 4, 4)), "neither"),
        (layered("add", data("x", 4, 2), data("y", 2, 4)), "another shape"),
        (layered("dense", data("x", 4, 4), data("y", 4, 4)), "matrix"),
        (layered("matmul", data("x", 2, 4, 4), data("w", 2, 4, 3), data("y", 2, 4, 3)), "matrix"),
        (
            layered(
                "max_pool",
                data("x", 1, 1, 2),
                data("y", 1 << 21, 1, 2),
                window=Window(kernel=(1, 1), padding=[(1 << 21) - 1, 0, 0, 0]),
            ),
            "reaches over",
        ),
    ],
)
def test_operators_outside_of_the_family_say_why(graph: Graph, why: str) -> None:
    tiling = tile(graph, "op", TilingOptions(capacity=64))
    assert tiling.chosen is None
    assert why in (tiling.why_not or "")


def test_layers_are_read_from_shapes() -> None:
    window = Window(kernel=(3, 3), padding=(1, 1, 1, 1))
    image, weights = data("x", 8, 8, 4), data("w", 1, 3, 3, 8, kind="constant")
    depthwise = layered("conv", image, weights, data("y", 8, 8, 8), window=window)
    result = layer_of(depthwise, depthwise.operators[0])
    assert (result.groups, result.group_outputs, result.group_inputs, result.splits_inputs) == (
        4,
        2,
        1,
        False,
    )
    pool = layered("AVERAGE_POOL_2D", image, data("y", 8, 8, 4), window=window)
    assert layer_of(pool, pool.operators[0]).groups == 4
    # Of a convolution whose weights the graph does not have, all input channels are read.
    bare = layered("conv2d", image, data("y", 8, 8, 4), window=window)
    assert (layer_of(bare, bare.operators[0]).groups, layer_of(bare, bare.operators[0]).weights) == (1, None)
    dense = layered(
        "fully_connected", data("x", 1, 2, 3, 4), data("w", 5, 24, kind="constant"), data("y", 1, 5)
    )
    assert layer_of(dense, dense.operators[0]).input_channels == 24
    with pytest.raises(UntiledError):
        layer_of(bare, replace(bare.operators[0], outputs=("x", "y")))


def test_all_operators_of_a_model_have_tiles_or_a_reason() -> None:
    graph = read_graph(small_model())
    tilings = tile_all(graph, TilingOptions(capacity=1 << 16))
    assert [entry.operator for entry in tilings] == [operator.id for operator in graph.operators]
    assert any(tiling.chosen for tiling in tilings)
    assert all(tiling.why_not or tiling.chosen for tiling in tilings)
