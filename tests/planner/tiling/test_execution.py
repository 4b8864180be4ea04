"""Convolutions of 8 bits, run tile by tile in a memory of the planned size, make the same bits as whole."""

import pytest

from memstow.planner.model.graph import Graph, Operator, Tensor, Window
from memstow.planner.model.tiling import TilingOptions
from memstow.planner.tiling.tile import tile
from tests.campaign import gate_first

np = pytest.importorskip("numpy", reason="numpy is not installed")


def layer(
    image: tuple[int, int, int], made: int, kernel: tuple[int, int], stride: tuple[int, int], groups: int = 1
) -> Graph:
    """A convolution with padding at all sides."""
    margins = [kernel[i % 2] // 2 for i in range(4)]
    slid = [(image[i] + 2 * margins[i] - kernel[i]) // stride[i] + 1 for i in (0, 1)]
    operator = Operator(
        id="conv",
        type="conv2d",
        inputs=["x", "w", "b"],
        outputs=["y"],
        window=Window(kernel=kernel, stride=stride, padding=margins),
    )
    return Graph(
        tensors=[
            Tensor(id="x", shape=image, type="int8"),
            Tensor(id="w", shape=(made, *kernel, image[2] // groups), type="int8", kind="constant"),
            Tensor(id="b", shape=(made,), type="int32", kind="constant"),
            Tensor(id="y", shape=(*slid, made), type="int8"),
        ],
        operators=[operator],
        inputs=["x"],
        outputs=["y"],
    )


LAYERS = {
    "3x3": layer((9, 8, 6), 10, (3, 3), (1, 1)),
    "stride": layer((11, 9, 4), 7, (3, 3), (2, 2)),
    "point": layer((7, 7, 12), 12, (1, 1), (1, 1)),
    "wide": layer((6, 12, 5), 4, (1, 5), (1, 2)),
    "depthwise": layer((9, 9, 8), 8, (3, 3), (1, 1), 8),
    "two for each": layer((6, 6, 4), 8, (3, 3), (2, 1), 4),
    "many channels": layer((3, 3, 40), 20, (3, 3), (1, 1)),
}


@pytest.mark.parametrize("name", gate_first(LAYERS, 3))
@pytest.mark.parametrize("double", [True, False])
def test_tiles_make_the_same_bits(name: str, double: bool) -> None:
    from tests.planner.tiling.interpreter import Tiles, convolve, requantize

    graph = LAYERS[name]
    (operator,) = graph.operators
    rng = np.random.default_rng(len(name))
    tensors = {
        tensor.id: rng.integers(-128, 128, tensor.shape).astype(tensor.type)
        for tensor in graph.tensors
        if tensor.shape is not None
    }
    window, (rows, columns, _) = operator.window, tensors["y"].shape
    assert window is not None
    groups = tensors["x"].shape[2] // tensors["w"].shape[3]
    sums = convolve(tensors["x"], tensors["w"], window, range(rows), range(columns), (0, 0), groups)
    expected = requantize(sums, tensors["b"])
    every = TilingOptions(capacity=1 << 20, double_buffer=double, front=True)
    front = tile(graph, "conv", every).front
    assert front is not None
    counts = set()
    for point in front[:: max(1, len(front) // 6)]:
        tiling = tile(graph, "conv", TilingOptions(capacity=point.l1, double_buffer=double))
        assert tiling.chosen is not None
        tiles = Tiles(tiling, operator, tensors)
        assert np.array_equal(tiles.run(), expected)
        assert len(tiles.memory) == point.l1
        # What was copied in the run is what the tiling says.
        assert tiles.moved == tiling.chosen.bytes == point.bytes
        counts.add(tiling.chosen.tiles)
    assert len(counts) > 2
