"""What a tiling needs and moves, from how each direction is cut."""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

from memstow.planner.model.tiling import CHANNELS_OUTSIDE, WHOLE_TILE, Loop, Role, TilingOptions
from memstow.planner.tiling.layer import Layer
from memstow.planner.tiling.spans import Cut


class Cuts(NamedTuple):
    """How each direction is cut."""

    channels: Cut
    rows: Cut
    columns: Cut
    inputs: Cut


class Need(NamedTuple):
    """An operand in the memory of the tiles."""

    role: Role
    tensor: str | None
    size: int
    """Bytes of its largest tile."""
    times: int
    """How often a tile of it moves; 0 for what does not move."""
    bytes: int
    """All that moves of it."""


def needs(layer: Layer, cuts: Cuts, loops: tuple[Loop, ...], options: TilingOptions) -> Iterator[Need]:
    """What each operand needs: in the order in which the operator names them."""
    channels, rows, columns, inputs = cuts
    outside = loops == CHANNELS_OUTSIDE
    places, split = rows.number * columns.number, inputs.number > 1
    grouped = layer.groups > 1
    # A tile moves when the place of its loop is not that of the step before.
    again = channels.number if not grouped and (split or (outside and places > 1)) else 1
    image_channels = channels.input_most if grouped else inputs.size
    most = rows.input_most * columns.input_most * image_channels
    moved = rows.input_sum * columns.input_sum * (channels.input_sum if grouped else layer.input_channels)
    tiles = places * (channels.number if grouped else inputs.number)
    for image in layer.images:
        yield Need("image", image.tensor, most * image.element, tiles * again, moved * image.element * again)
    again = 1 if outside or channels.number == 1 else places
    if layer.weights is not None:
        reads = layer.group_inputs if grouped else inputs.size
        over = places if split else again
        size = channels.size * reads * layer.weights.element
        whole = layer.channels * layer.group_inputs * layer.weights.element
        times = channels.number * inputs.number * over
        yield Need("weights", layer.weights.tensor, size, times, whole * over)
    for it in layer.by_channel:
        yield Need(
            "parameter",
            it.tensor,
            channels.size * it.element,
            channels.number * again,
            layer.channels * it.element * again,
        )
    for it in layer.fixed:
        yield Need("parameter", it.tensor, it.element, 1, it.element)
    pixels = rows.size * columns.size
    elements = channels.size * pixels
    output = layer.output
    made = layer.channels * layer.rows * layer.columns
    yield Need(
        "output", output.tensor, elements * output.element, channels.number * places, made * output.element
    )
    if split and layer.sum_bytes > output.element:
        yield Need("sums", None, elements * layer.sum_bytes, 0, 0)
    laid_out = pixels if options.im2col == WHOLE_TILE else min(int(options.im2col), pixels)
    if laid_out and lays_out(layer):
        area = layer.window.kernel[0] * layer.window.kernel[1]
        yield Need("im2col", None, area * image_channels * layer.images[0].element * laid_out, 0, 0)


def lays_out(layer: Layer) -> bool:
    """Whether kernels lay out what an element of the output is made from; a point is read in place."""
    window = layer.window
    is_point = prod((*window.kernel, *window.stride)) == 1 and not any(window.padding)
    return layer.weights is not None and not is_point


def copies(need: Need, options: TilingOptions) -> int:
    """How many buffers it has: two where the next tile comes, or the last one goes, while one is computed."""
    return 2 if options.double_buffer and need.times > 1 else 1


def l1_bytes(need: Need, options: TilingOptions, unit: int) -> int:
    """The bytes of its buffers."""
    return -(-need.size // unit) * unit * copies(need, options)
