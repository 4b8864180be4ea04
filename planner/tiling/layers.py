"""An operator as a layer, the ways to cut its directions, and what each tiling needs and moves.

Convolutions, depthwise ones, pools, products with a matrix and work by element are all one form: output
channels are in groups, and each group reads its own input channels. docs/tiling.md describes it.

All that is counted of a tiling grows with the figures of a `Cut`, so one that is in no figure better than
another is left out: the best tile is still found, and the whole front. `least_bytes` counts the elements of
each operand that are needed: moved once each, they are the least that any tiling moves.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, NamedTuple

from memstow.planner.model.graph import Graph, Operator, Tensor, Window, element_bits, index_of
from memstow.planner.model.operator_kinds import BY_ELEMENT, PRODUCTS, is_by_channel, word_of
from memstow.planner.model.tiling import CHANNELS_OUTSIDE, WHOLE_TILE, Loop, Role, TilingOptions

_SUM_BYTES: Final = 4
"""Integers are added up in 32 bits."""
_POINT: Final = Window(kernel=(1, 1))
_LONGEST: Final = 1 << 20
"""Rows or columns of a window, and of the image that it slides over."""


class UntiledError(Exception):
    """The operator is not in the family; the message says why."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that is moved; `element` is the bytes of what the layer counts it in."""

    tensor: str
    element: int


@dataclass(frozen=True, slots=True)
class Layer:
    """An operator in the form that has tiles."""

    rows: int
    columns: int
    channels: int
    input_rows: int
    input_columns: int
    input_channels: int
    groups: int
    window: Window
    images: tuple[Operand, ...]
    weights: Operand | None
    """Bytes for each output channel and each input channel that it reads."""
    by_channel: tuple[Operand, ...]
    """Bytes for each output channel."""
    fixed: tuple[Operand, ...]
    """Bytes of all; every tile needs them."""
    output: Operand
    sum_bytes: int
    """Bytes in which an element of the output is added up, where that takes several steps."""
    splits_inputs: bool
    """Whether input channels may be added up a part at a time."""

    @property
    def group_outputs(self) -> int:
        """Output channels of a group."""
        return self.channels // self.groups

    @property
    def group_inputs(self) -> int:
        """Input channels of a group."""
        return self.input_channels // self.groups


def layer_of(graph: Graph, operator: Operator) -> Layer:
    """The layer that an operator is; UntiledError where it is none."""
    tensors = index_of(graph).tensors
    if not operator.inputs or len(operator.outputs) != 1:
        raise UntiledError("it does not make one output from inputs")
    inputs = [tensors[name] for name in dict.fromkeys(operator.inputs)]
    output = tensors[operator.outputs[0]]
    if output.id in operator.inputs:
        raise UntiledError("it reads what it writes")
    for tensor in (*inputs, output):
        if not tensor.shape or tensor.type is None:
            raise UntiledError(f"the shape or the type of {tensor.id!r} is not known")
        if element_bits(tensor.type) % 8:
            raise UntiledError(f"the elements of {tensor.id!r} are less than a byte")
        if not all(tensor.shape):
            raise UntiledError(f"{tensor.id!r} has no elements")
    if operator.window is not None:
        return _windowed(operator, operator.window, inputs, output)
    word = word_of(operator)
    if word in PRODUCTS:
        return _dense(inputs, output)
    if word in BY_ELEMENT:
        return _by_element(inputs, output)
    raise UntiledError("it has no window, and its type is none that works by element or with a matrix")


def _windowed(operator: Operator, window: Window, inputs: Sequence[Tensor], output: Tensor) -> Layer:
    image, *others = inputs
    input_rows, input_columns, input_channels = _shape(image)[-3:]
    rows, columns, channels = _shape(output)[-3:]
    for i, extent in ((0, rows), (1, columns)):
        reach = (window.kernel[i] - 1) * window.dilation[i] + 1
        if max(reach, extent * window.stride[i], window.padding[i]) > _LONGEST:
            raise UntiledError(f"its window reaches over more than {_LONGEST:,} rows or columns")
    area = window.kernel[0] * window.kernel[1]
    weights, groups = None, 0
    for tensor in others:
        groups, rest = divmod(channels * area * input_channels, prod(_shape(tensor)))
        if len(_shape(tensor)) > 1 and not rest and groups and _divides(groups, input_channels, channels):
            weights = tensor
            break
    if weights is None:
        by_channel = is_by_channel(word_of(operator))
        groups = input_channels if by_channel and _divides(input_channels, channels) else 1
    return _layer(
        (rows, columns, channels),
        (input_rows, input_columns, input_channels),
        groups,
        window,
        [image],
        weights,
        [entry for entry in others if entry is not weights],
        output,
    )


def _dense(inputs: Sequence[Tensor], output: Tensor) -> Layer:
    if len(inputs) < 2:
        raise UntiledError("the matrix is not among its inputs")
    image, weights, *others = inputs
    channels = _shape(output)[-1]
    rows = prod(_shape(output)) // channels
    depth, rest = divmod(prod(_shape(image)), rows)
    if rest or prod(_shape(weights)) != depth * channels:
        raise UntiledError("its matrix does not have an element for each channel that it reads and makes")
    return _layer((rows, 1, channels), (rows, 1, depth), 1, _POINT, [image], weights, others, output)


def _by_element(inputs: Sequence[Tensor], output: Tensor) -> Layer:
    extents = _extents(output)
    images = [
        input_ for input_ in inputs if input_.kind != "constant" and prod(_shape(input_)) == prod(extents)
    ]
    others = [input_ for input_ in inputs if input_ not in images]
    if not images:
        raise UntiledError("no input has as many elements as the output")
    for tensor in (*images, *others):
        if tensor in images and _extents(tensor) != extents:
            raise UntiledError(f"{tensor.id!r} has another shape than the output")
        if tensor in others and prod(_shape(tensor)) not in (1, extents[2]):
            raise UntiledError(
                f"{tensor.id!r} has neither the output's shape, nor one element for each channel"
            )
    return _layer(extents, extents, extents[2], _POINT, images, None, others, output)


def _layer(
    output_extents: tuple[int, int, int],
    input_extents: tuple[int, int, int],
    groups: int,
    window: Window,
    images: Sequence[Tensor],
    weights: Tensor | None,
    others: Sequence[Tensor],
    output: Tensor,
) -> Layer:
    channels = output_extents[2]
    by_channel = [
        entry for entry in others if prod(_shape(entry)) % channels == 0 and channels in _shape(entry)
    ]
    element, kind = _element(output), output.type or ""
    whole = "int" in kind or kind == "bool"
    per_pair = window.kernel[0] * window.kernel[1]
    return Layer(
        *output_extents,
        *input_extents,
        groups=groups,
        window=window,
        images=tuple(Operand(image.id, _element(image)) for image in images),
        weights=None if weights is None else Operand(weights.id, per_pair * _element(weights)),
        by_channel=tuple(
            Operand(entry.id, prod(_shape(entry)) // channels * _element(entry)) for entry in by_channel
        ),
        fixed=tuple(
            Operand(entry.id, prod(_shape(entry)) * _element(entry))
            for entry in others
            if entry not in by_channel
        ),
        output=Operand(output.id, element),
        sum_bytes=max(_SUM_BYTES, element) if whole else element,
        splits_inputs=weights is not None and groups == 1,
    )


def _divides(groups: int, *channels: int) -> bool:
    return all(channel % groups == 0 for channel in channels)


def _extents(tensor: Tensor) -> tuple[int, int, int]:
    """Rows, columns and channels of a tensor of any number of dimensions."""
    shape = (1, 1, *_shape(tensor))
    return prod(shape[:-2]), shape[-2], shape[-1]


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tensor.shape or ()


def _element(tensor: Tensor) -> int:
    return 0 if tensor.type is None else element_bits(tensor.type) // 8


def needed_places(layer: Layer, axis: int) -> int:
    """How many rows (0) or columns (1) of the image some element of the output is made from."""
    window = layer.window
    output_extent = (layer.rows, layer.columns)[axis]
    extent = (layer.input_rows, layer.input_columns)[axis]
    kernel, dilation = window.kernel[axis], window.dilation[axis]
    if (kernel, window.stride[axis], window.padding[axis]) == (1, 1, 0):
        return min(output_extent, extent)
    places = _repeated(_repeated(1, kernel, dilation), output_extent, window.stride[axis])
    return (places >> window.padding[axis] & (1 << extent) - 1).bit_count()


def _repeated(places: int, times: int, step: int) -> int:
    """The places, given as bits, and the same so many times in all, each a step further."""
    repeated, covered = places, 1
    while covered < times:
        more = min(covered, times - covered)
        repeated |= repeated << more * step
        covered += more
    return repeated


def least_bytes(layer: Layer) -> dict[str, int]:
    """By tensor, the bytes that are needed."""
    rows, columns = needed_places(layer, 0), needed_places(layer, 1)
    by_tensor = {
        image.tensor: rows * columns * layer.input_channels * image.element for image in layer.images
    }
    if layer.weights is not None:
        by_tensor[layer.weights.tensor] = layer.channels * layer.group_inputs * layer.weights.element
    by_tensor |= {entry.tensor: layer.channels * entry.element for entry in layer.by_channel}
    by_tensor |= {entry.tensor: entry.element for entry in layer.fixed}
    by_tensor[layer.output.tensor] = layer.rows * layer.columns * layer.channels * layer.output.element
    return by_tensor


MOST_SIZES: Final = 2048
"""Longer directions are cut into up to 64 equal pieces, and into pieces of powers of two."""
MOST_PIECES: Final = 1 << 16
_MOST_COUNTS: Final = 64

Span = tuple[int, int]


class Cut(NamedTuple):
    """A way to cut a direction into pieces of one size, of which the last may be less."""

    size: int
    number: int
    """Of pieces."""
    input_sum: int
    """Of what all pieces read."""
    input_most: int
    """Of what a piece reads."""
    misaligned: int
    """How far the size is from the next multiple that is wished for."""


def spans(extent: int, size: int) -> list[Span]:
    """The pieces of this size."""
    return [(begin, min(begin + size, extent)) for begin in range(0, extent, size)]


def read_by_rows(layer: Layer, axis: int) -> Callable[[Span], Span]:
    """What a piece of rows (0) or columns (1) reads."""
    window = layer.window
    step, margin = window.stride[axis], window.padding[axis]
    reach = (window.kernel[axis] - 1) * window.dilation[axis] + 1
    extent = (layer.input_rows, layer.input_columns)[axis]

    def read(piece: Span) -> Span:
        begin = min(max(piece[0] * step - margin, 0), extent)
        return begin, max(min((piece[1] - 1) * step - margin + reach, extent), begin)

    return read


def read_by_channels(layer: Layer) -> Callable[[Span], Span]:
    """What a piece of output channels reads: the input channels of its groups."""
    outputs, inputs = layer.group_outputs, layer.group_inputs

    def read(piece: Span) -> Span:
        return piece[0] // outputs * inputs, -(-piece[1] // outputs) * inputs

    return read


def read_the_same(piece: Span) -> Span:
    """What a piece of input channels reads."""
    return piece


def cuts(extent: int, multiple: int, read: Callable[[Span], Span]) -> list[Cut]:
    """All ways to cut that may be best, few pieces first."""
    ways = []
    for size in _sizes(extent):
        parts = [read(piece) for piece in spans(extent, size)]
        lengths = [end - begin for begin, end in parts]
        ways.append(Cut(size, len(parts), sum(lengths), max(lengths), -size % multiple))
    undominated: list[Cut] = []
    # Whatever is at least as good in every figure comes first in this order.
    for cut in sorted(ways, key=lambda entry: (entry.number, entry.size, *entry[2:])):
        if not any(all(a <= b for a, b in zip(other, cut, strict=True)) for other in undominated):
            undominated.append(cut)
    return undominated


def is_every_size(extent: int) -> bool:
    """Whether all sizes of pieces are looked at."""
    return extent <= MOST_SIZES


def ideal(cut: Sequence[Cut]) -> Cut:
    """In every figure as good as the best of these."""
    return Cut(*map(min, zip(*cut, strict=True)))


def _sizes(extent: int) -> Iterable[int]:
    """Sizes of pieces, large ones first."""
    if is_every_size(extent):
        return range(extent, 0, -1)
    even = {-(-extent // count) for count in range(1, _MOST_COUNTS + 1)}
    round_sizes = {1 << bit for bit in range(extent.bit_length())}
    return sorted((size for size in even | round_sizes if extent <= size * MOST_PIECES), reverse=True)


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
    for entry in layer.by_channel:
        yield Need(
            "parameter",
            entry.tensor,
            channels.size * entry.element,
            channels.number * again,
            layer.channels * entry.element * again,
        )
    for entry in layer.fixed:
        yield Need("parameter", entry.tensor, entry.element, 1, entry.element)
    pixels = rows.size * columns.size
    elements = channels.size * pixels
    output = layer.output
    elements_of_all = layer.channels * layer.rows * layer.columns
    yield Need(
        "output",
        output.tensor,
        elements * output.element,
        channels.number * places,
        elements_of_all * output.element,
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
