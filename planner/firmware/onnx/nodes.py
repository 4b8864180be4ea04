"""What each node of an ONNX model becomes: operators, or another way to read a value.

What a runtime would fold is folded: batch normalisation and biases into the weights before them, activations
and clips into what makes their input, margins of zeros into the window that reads them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf, prod
from typing import TYPE_CHECKING, Final

from memstow.planner.firmware.onnx.layouts import (
    Layout,
    channels_last,
    image_axis,
    image_shape,
    of_order,
    plain,
    reordered,
)
from memstow.planner.firmware.onnx.lowering import Draft, Lowering, Node, Value, quantised
from memstow.planner.firmware.onnx.quantisation import dequantize_linear, quantize_linear
from memstow.planner.model.graph import Window

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from memstow.planner.firmware.onnx.constants import Array

    Floats = NDArray[numpy.float64]

Rule = Callable[[Lowering, Node], None]
_MOST: Final = 1 << 30
_MOST_DIMENSIONS: Final = 8
OWN: Final = 100
"""The numbers of options from here on are those that TensorFlow Lite has not."""


# Windows.


def _numbers(node: Node, name: str, count: int, default: int) -> tuple[int, ...]:
    numbers = node.wholes(name) or (default,) * count
    node.need(len(numbers) == count, f"{name} of {len(numbers)} numbers; {count} are needed", "bad_shape")
    node.need(all(abs(number) < _MOST for number in numbers), f"{name} is too large", "too_large")
    return numbers


def _two(numbers: Sequence[int], default: int) -> tuple[int, int]:
    """Rows and columns; what has no columns has this."""
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (numbers[0], default)


def _window(lowering: Lowering, node: Node, kernel: Sequence[int], *, is_inside: bool = False) -> Window:
    """The window of a node whose output is known, with the margins that it needs.

    `is_inside`: each has to reach into its input.
    """
    source, output = lowering.value(node).shape, lowering.shape_of(node)
    count = len(source) - 2
    node.need(len(kernel) == count, f"a kernel of {len(kernel)} dimensions", "bad_shape")
    strides, dilations = _numbers(node, "strides", count, 1), _numbers(node, "dilations", count, 1)
    node.need(min((*strides, *dilations, *kernel)) > 0, "a kernel, stride or dilation of 0", "bad_shape")
    auto = node.text("auto_pad", "NOTSET")
    pads = _numbers(node, "pads", 2 * count, 0)
    margins: list[tuple[int, int]] = []
    for axis in range(count):
        extent, size = source[2 + axis], output[2 + axis]
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        needed = max((size - 1) * strides[axis] + reach - extent, 0)
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            node.need(size == -(-extent // strides[axis]), "its output has another size", "bad_shape")
            before = needed // 2 if auto == "SAME_UPPER" else needed - needed // 2
        else:
            node.need(auto in ("NOTSET", "VALID"), f"auto_pad {auto}", "bad_shape")
            before, behind = (pads[axis], pads[axis + count]) if auto == "NOTSET" else (0, 0)
            node.need(min(before, behind) >= 0, "margins below 0")
            room = extent + before + behind - reach
            node.need(room >= 0, "its window is larger than its input", "bad_shape")
            steps = -(-room // strides[axis]) if node.whole("ceil_mode", 0) else room // strides[axis]
            node.need(size in (steps, steps + 1), "its output has another size", "bad_shape")
        inside = before < reach and (size - 1) * strides[axis] < extent + before
        node.need(inside or not is_inside, "margins as large as its window")
        margins.append((before, max(needed - before, 0)))
    (top, bottom), (left, right) = margins[0], margins[1] if count == 2 else (0, 0)
    window = Window(
        kernel=_two(kernel, 1),
        stride=_two(strides, 1),
        padding=(top, left, bottom, right),
        dilation=_two(dilations, 1),
    )
    _require_sizes(node, window, image_shape(source), image_shape(output))
    return window


def _require_sizes(node: Node, window: Window, source: Sequence[int], output: Sequence[int]) -> None:
    for axis in (0, 1):
        reach = (window.kernel[axis] - 1) * window.dilation[axis] + 1
        room = source[1 + axis] + window.padding[axis] + window.padding[axis + 2] - reach
        sound = room >= 0 and room // window.stride[axis] + 1 == output[1 + axis]
        node.need(sound, f"its output is {list(output)} for {list(source)}", "bad_shape")


def _without_margins(lowering: Lowering, node: Node) -> tuple[int, tuple[int, int, int, int]] | None:
    """The image before margins of zeros that only this node reads, and the margins."""
    draft = lowering.maker(node)
    if draft is None or draft.kind != "PADV2" or draft.window is None:
        return None
    if lowering.tensors[draft.inputs[2]].values() != (lowering.tensors[draft.inputs[0]].zero,):
        return None
    top, left, bottom, right = draft.window.padding
    lowering.undo(draft)
    return draft.inputs[0], (top, left, bottom, right)


def _convolution(lowering: Lowering, node: Node) -> None:
    image, value = lowering.image(node)
    weights = lowering.array(node, 1)
    node.need(weights.ndim == len(value.shape), f"weights of {weights.ndim} dimensions", "bad_shape")
    channels, depth = weights.shape[:2]
    groups, output = node.whole("group", 1), lowering.shape_of(node)
    fits = groups > 0 and depth * groups == value.shape[1] and channels % groups == 0
    node.need(fits and output[1] == channels, "its channels do not go together", "bad_shape")
    kernel = _numbers(node, "kernel_shape", len(value.shape) - 2, 0)
    node.need(
        not any(kernel) or kernel == weights.shape[2:], "its kernel is not that of its weights", "bad_shape"
    )
    window = _window(lowering, node, weights.shape[2:])
    before = _without_margins(lowering, node)
    if before is not None:
        image, more = before
        top, left, bottom, right = window.padding
        window = Window(
            kernel=window.kernel,
            stride=window.stride,
            padding=(top + more[0], left + more[1], bottom + more[2], right + more[3]),
            dilation=window.dilation,
        )
    if weights.ndim == 3:
        weights = weights[..., None]
    if depth == 1 and groups > 1:
        kind, placed = "DEPTHWISE_CONV_2D", weights.transpose(1, 2, 3, 0)
    else:
        kind, placed = "CONV_2D" if groups == 1 else "GROUPED_CONV_2D", weights.transpose(0, 2, 3, 1)
    inputs = [image, lowering.constant(placed, node.inputs[1], node.weighed)]
    if node.has(2):
        bias = lowering.array(node, 2)
        node.need(bias.shape == (channels,), f"biases of {list(bias.shape)}", "bad_shape")
        inputs.append(lowering.constant(bias, node.inputs[2]))
    target = lowering.makes_image(node)
    lowering.emit(kind, inputs, [target], path=node.path, options={OWN: groups}, window=window)


def _transposed(lowering: Lowering, node: Node) -> None:
    image, value = lowering.image(node)
    weights = lowering.array(node, 1)
    node.need(weights.ndim == len(value.shape), f"weights of {weights.ndim} dimensions", "bad_shape")
    node.need(node.whole("group", 1) == 1, "groups")
    count, output = len(value.shape) - 2, lowering.shape_of(node)
    kernel, strides = weights.shape[2:], _numbers(node, "strides", count, 1)
    node.need(set(_numbers(node, "dilations", count, 1)) == {1}, "dilations")
    node.need(min(strides) > 0 and min(kernel) > 0, "a stride or a kernel of 0", "bad_shape")
    fits = weights.shape[0] == value.shape[1] and weights.shape[1] == output[1]
    node.need(fits, "its channels do not go together", "bad_shape")
    more, pads = _numbers(node, "output_padding", count, 0), list(_numbers(node, "pads", 2 * count, 0))
    auto = node.text("auto_pad", "NOTSET")
    node.need(auto in ("NOTSET", "VALID") and node.wholes("output_shape") is None, "auto_pad or output_shape")
    for axis in range(count):
        if auto == "VALID":
            pads[axis] = pads[axis + count] = 0
        whole = (value.shape[2 + axis] - 1) * strides[axis] + more[axis] + kernel[axis]
        size = whole - pads[axis] - pads[axis + count]
        sound = size == output[2 + axis] and pads[axis] >= 0 and more[axis] >= 0
        node.need(sound, f"its output is {list(output)}", "bad_shape")
        node.need(pads[axis] < kernel[axis], "margins as large as its window")
    rows, columns = _two(strides, 1)
    options = {1: columns, 2: rows, OWN: pads[0], OWN + 1: pads[1] if count == 2 else 0}
    if count == 1:
        weights = weights[..., None]
    inputs = [image, lowering.constant(weights.transpose(1, 2, 3, 0), node.inputs[1], node.weighed)]
    if node.has(2):
        inputs.append(lowering.constant(lowering.array(node, 2), node.inputs[2]))
    target = lowering.makes_image(node)
    lowering.emit("TRANSPOSE_CONV", inputs, [target], path=node.path, options=options)


def _pool(lowering: Lowering, node: Node) -> None:
    image, value = lowering.image(node)
    count = len(value.shape) - 2
    node.need(len(node.outputs) == 1 or not any(node.outputs[1:]), "indices as a second output")
    kernel = _numbers(node, "kernel_shape", count, 0)
    node.need(set(_numbers(node, "dilations", count, 1)) == {1}, "dilations")
    node.need(node.whole("storage_order", 0) == 0, "a storage order")
    window = _window(lowering, node, kernel, is_inside=True)
    kind, options = "MAX_POOL_2D", dict[int, float]()
    if node.kind == "AveragePool":
        kind = "AVERAGE_POOL_2D"
        counted = node.whole("count_include_pad", 0) != 0
        if counted and any(window.padding):
            # Up to where the input with its margins ends: windows that are rounded up count no more.
            pads = _numbers(node, "pads", 2 * count, 0)
            behind = (
                _two(pads[count:], 0) if node.text("auto_pad", "NOTSET") == "NOTSET" else window.padding[2:]
            )
            kind, options = "PADDED_AVERAGE_POOL_2D", {OWN: behind[0], OWN + 1: behind[1]}
    target = lowering.makes_image(node)
    lowering.emit(kind, [image], [target], path=node.path, options=options, window=window)


def _global_max(lowering: Lowering, node: Node) -> None:
    image, value = lowering.image(node)
    window = Window(kernel=(image_shape(value.shape)[1], image_shape(value.shape)[2]))
    lowering.emit("MAX_POOL_2D", [image], [lowering.makes_image(node)], path=node.path, window=window)


def _global_average(lowering: Lowering, node: Node) -> None:
    _mean_of(lowering, node, tuple(range(2, len(lowering.value(node).shape))))


def _resize(lowering: Lowering, node: Node) -> None:
    node.need(
        node.text("mode", "nearest") == "nearest", f"mode {node.text('mode', '')}; nearest can be built"
    )
    image, value = lowering.image(node)
    output = lowering.shape_of(node)
    factors = [size / extent for size, extent in zip(output, value.shape, strict=True)]
    whole = all(factor >= 1 and factor == int(factor) for factor in factors) and factors[:2] == [1.0, 1.0]
    node.need(
        whole, f"{list(value.shape)} becomes {list(output)}; whole multiples of rows and columns can be built"
    )
    node.need(node.text("keep_aspect_ratio_policy", "stretch") == "stretch", "a policy for its aspect ratio")
    place = 2 if node.opset >= 11 else 1
    scales = lowering.array(node, place).reshape(-1) if node.has(place) else node.reals("scales") or ()
    if len(scales) and node.wholes("axes") is None:
        node.need(list(map(float, scales)) == factors, "scales that are no whole numbers")
    else:
        node.need(not len(scales), "scales of some axes")
    if node.kind == "Resize" and node.opset >= 11:
        coordinates = node.text("coordinate_transformation_mode", "half_pixel")
        nearest = node.text("nearest_mode", "round_prefer_floor")
        usual = coordinates in ("half_pixel", "pytorch_half_pixel", "half_pixel_symmetric")
        usual = usual and nearest in ("round_prefer_floor", "round_prefer_ceil")
        usual = usual or (coordinates == "asymmetric" and nearest == "floor")
        node.need(usual, f"{coordinates} with {nearest}")
    lowering.emit("RESIZE_NEAREST_NEIGHBOR", [image], [lowering.makes_image(node)], path=node.path)


# By element.

_UNARY: Final[Mapping[str, str]] = {
    "Relu": "RELU",
    "Sigmoid": "LOGISTIC",
    "Tanh": "TANH",
    "LeakyRelu": "LEAKY_RELU",
    "HardSwish": "HARD_SWISH",
    "HardSigmoid": "HARD_SIGMOID",
    "Elu": "ELU",
    "Abs": "ABS",
    "Neg": "NEG",
    "Exp": "EXP",
    "Sqrt": "SQRT",
    "Erf": "ERF",
    "Softplus": "SOFTPLUS",
    "Reciprocal": "RECIPROCAL",
}
_LIMITED: Final = frozenset(
    (
        *(
            "CONV_2D",
            "DEPTHWISE_CONV_2D",
            "GROUPED_CONV_2D",
            "TRANSPOSE_CONV",
            "FULLY_CONNECTED",
            "ADD",
            "SUB",
        ),
        *("MUL", "DIV", "AVERAGE_POOL_2D", "PADDED_AVERAGE_POOL_2D", "MAX_POOL_2D", "CLIP"),
    )
)


def _unary(lowering: Lowering, node: Node) -> None:
    if node.kind == "Relu":
        _limited(lowering, node, 0.0, inf)
        return
    options: dict[int, float] = {}
    if node.kind in ("LeakyRelu", "Elu"):
        options = {0: node.real("alpha", 0.01 if node.kind == "LeakyRelu" else 1.0)}
    elif node.kind == "HardSigmoid":
        options = {0: node.real("alpha", 0.2), 1: node.real("beta", 0.5)}
    _each(lowering, node, _UNARY[node.kind], options)


def _each(lowering: Lowering, node: Node, kind: str, options: Mapping[int, float]) -> Draft:
    """An operator whose output is as its input, in whatever order that is."""
    value = lowering.value(node)
    shape = lowering.tensors[value.tensor].shape
    node.need(prod(value.shape) == prod(lowering.shape_of(node)), "it changes the shape", "bad_shape")
    target = lowering.output(node, shape)
    lowering.makes(node, target, value.layout)
    return lowering.emit(kind, [value.tensor], [target], path=node.path, options=options)


def _limited(lowering: Lowering, node: Node, least: float, most: float) -> None:
    """What is below or above is cut off: by what makes the input, where that can."""
    value = lowering.value(node)
    draft = lowering.maker(node) if node.goal in (None, lowering.quantisation(value.tensor)) else None
    if draft is not None and draft.kind in _LIMITED:
        low, high = draft.limits or (-inf, inf)
        draft.limits = min(max(low, least), most), min(max(high, least), most)
        lowering.becomes_part(node, value)
        return
    _each(lowering, node, "CLIP", {}).limits = least, most


def _clip(lowering: Lowering, node: Node) -> None:
    limits = []
    for place, name, default in ((1, "min", -inf), (2, "max", inf)):
        if node.has(place):
            array = lowering.array(node, place)
            node.need(array.size == 1, f"{name} has {array.size} numbers", "bad_shape")
            limits.append(float(array.reshape(-1)[0]))
        else:
            limits.append(node.real(name, default) if node.opset < 11 else default)
    least, most = limits
    node.need(least == least and most == most, "a limit that is no number")
    # Where they cross, the upper one holds.
    _limited(lowering, node, min(least, most), most)


_BINARY: Final[Mapping[str, str]] = {
    "Add": "ADD",
    "Sub": "SUB",
    "Mul": "MUL",
    "Div": "DIV",
    "Max": "MAXIMUM",
    "Min": "MINIMUM",
    "Sum": "ADD",
    "PRelu": "PRELU",
}


def _binary(lowering: Lowering, node: Node) -> None:
    count = len(node.inputs)
    node.need(
        count >= 1 and (count == 2 or node.kind in ("Max", "Min", "Sum")), f"{count} inputs", "bad_shape"
    )
    if count == 1:
        lowering.same(node, lowering.value(node))
        return
    if count == 2 and not node.is_integer and _is_folded(lowering, node):
        return
    values = [lowering.value(node, place) for place in range(count)]
    shape = lowering.shape_of(node)
    node.need(len(shape) <= _MOST_DIMENSIONS, f"{len(shape)} dimensions")
    one = values[0]
    for number, other in enumerate(values[1:], start=2):
        extents = shape if number == count else _together(node, one.shape, other.shape)
        one = _pair(lowering, node, (one, other), extents, is_last=number == count)


def _together(node: Node, one: Sequence[int], other: Sequence[int]) -> tuple[int, ...]:
    rank = max(len(one), len(other))
    pairs = zip((1,) * (rank - len(one)) + tuple(one), (1,) * (rank - len(other)) + tuple(other), strict=True)
    listed = list(pairs)
    node.need(all(a == b or 1 in (a, b) for a, b in listed), "its inputs do not go together", "bad_shape")
    return tuple(max(pair) for pair in listed)


def _pair(
    lowering: Lowering, node: Node, values: tuple[Value, Value], shape: tuple[int, ...], *, is_last: bool
) -> Value:
    """What two values make, each element of those at the same place; repeated where there are fewer."""
    rank = len(shape)
    _together(node, values[0].shape, values[1].shape)
    wide = [replace(value, shape=(1,) * (rank - len(value.shape)) + value.shape) for value in values]
    if node.kind == "PRelu":
        node.need(wide[0].shape == shape, "its slopes are more than its input", "bad_shape")
    is_image = any(value.has_channels_last for value in wide)
    order = channels_last(rank) if is_image else tuple(range(rank))

    def placed(extents: tuple[int, ...]) -> tuple[int, ...]:
        return image_shape(extents) if is_image else extents

    inputs = [lowering.stored(value, order, placed(value.shape)) for value in wide]
    target = lowering.output(node, placed(shape))
    layout = of_order(shape, order)
    if is_last:
        lowering.makes(node, target, layout)
    lowering.emit(_BINARY[node.kind], inputs, [target], path=node.path)
    return Value(target, shape, layout)


# What becomes a part of the weights before it.

_WEIGHED: Final[Mapping[str, int]] = {
    "CONV_2D": 0,
    "GROUPED_CONV_2D": 0,
    "DEPTHWISE_CONV_2D": 3,
    "FULLY_CONNECTED": 0,
}
"""The axis of the channels in the weights of operators."""


def _channel_axis(draft: Draft, shape: Sequence[int]) -> int:
    """Which axis of what it makes has a number for each of its weights' channels."""
    return len(shape) - 1 if draft.kind == "FULLY_CONNECTED" else 1


def _scaled(lowering: Lowering, node: Node, factors: "Floats", offsets: "Floats") -> bool:
    """Whether the input is made by weights that could be multiplied, and biases that could be moved."""
    import numpy

    draft = lowering.maker(node)
    axis = None if draft is None else _WEIGHED.get(draft.kind)
    if draft is None or axis is None or draft.limits is not None:
        return False
    weights = lowering.tensors[draft.inputs[1]]
    if weights.content is None or weights.shape[axis] != factors.size:
        return False
    along = [1] * len(weights.shape)
    along[axis] = factors.size
    array = numpy.frombuffer(weights.content, "<f4").reshape(weights.shape).astype(numpy.float64)
    biases = numpy.zeros(factors.size)
    if len(draft.inputs) > 2:
        biases += numpy.frombuffer(lowering.tensors[draft.inputs[2]].content or b"", "<f4")
    with numpy.errstate(over="ignore"):
        scaled = (array * factors.reshape(along)).astype(numpy.float32)
        moved = (biases * factors + offsets).astype(numpy.float32)
    if not (numpy.isfinite(scaled).all() and numpy.isfinite(moved).all()):
        return False
    draft.inputs[1:] = [lowering.constant(scaled, weights.name), lowering.constant(moved, node.outputs[0])]
    lowering.becomes_part(node, lowering.value(node))
    return True


def _is_folded(lowering: Lowering, node: Node) -> bool:
    """Whether a constant for each channel became a part of the weights before."""
    import numpy

    places = [place for place in (0, 1) if lowering.is_constant(node, place)]
    if len(places) != 1 or node.kind not in ("Add", "Sub", "Mul", "Div", "Sum"):
        return False
    place = places[0]
    if place == 0 and node.kind in ("Sub", "Div"):
        return False
    array = lowering.array(node, place)
    shape = lowering.shape_of(node)
    data = 1 - place
    if lowering.values.get(node.inputs[data]) is None or lowering.values[node.inputs[data]].shape != shape:
        return False
    draft = lowering.maker(_with_data_first(node, data))
    if draft is None or draft.kind not in _WEIGHED or str(array.dtype) != "float32":
        return False
    axis = _channel_axis(draft, shape)
    wide = (1,) * (len(shape) - array.ndim) + array.shape
    if any(extent != 1 for at, extent in enumerate(wide) if at != axis) or not shape:
        return False
    numbers = numpy.broadcast_to(array.reshape(-1), (shape[axis],)).astype(numpy.float64)
    ones, zeros = numpy.ones(shape[axis]), numpy.zeros(shape[axis])
    if node.kind in ("Add", "Sum"):
        pair = ones, numbers
    elif node.kind == "Sub":
        pair = ones, -numbers
    elif node.kind == "Mul":
        pair = numbers, zeros
    else:
        if not numbers.all():
            return False
        pair = 1 / numbers, zeros
    return _scaled(lowering, _with_data_first(node, data), *pair)


def _with_data_first(node: Node, data: int) -> Node:
    if data == 0:
        return node
    other = Node(node.proto, 0, node.opset)
    other.path, other.inputs = node.path, [node.inputs[1], node.inputs[0]]
    return other


def _batch_normalization(lowering: Lowering, node: Node) -> None:
    import numpy

    node.need(not any(node.outputs[1:]) and not node.whole("training_mode", 0), "training")
    value = lowering.value(node)
    node.need(len(value.shape) >= 2, "its input has no channels", "bad_shape")
    scale, bias, mean, variance = (
        lowering.array(node, place).astype(numpy.float64).reshape(-1) for place in (1, 2, 3, 4)
    )
    channels = value.shape[1]
    node.need(
        all(entry.size == channels for entry in (scale, bias, mean, variance)), "its channels", "bad_shape"
    )
    with numpy.errstate(all="ignore"):
        factors = scale / numpy.sqrt(variance + node.real("epsilon", 1e-5))
        offsets = bias - mean * factors
    node.need(
        bool(numpy.isfinite(factors).all() and numpy.isfinite(offsets).all()), "numbers that are not finite"
    )
    draft = lowering.maker(node)
    if (
        draft is not None
        and _channel_axis(draft, value.shape) == 1
        and _scaled(lowering, node, factors, offsets)
    ):
        return
    # A window of one place for each channel.
    rank = len(value.shape)
    node.need(rank in (2, 3, 4), f"{rank} dimensions")
    shape = lowering.shape_of(node)
    order = channels_last(rank)
    placed = image_shape(value.shape) if rank > 2 else (1, *value.shape[:1], 1, channels)
    node.need(placed[0] == 1, f"{placed[0]} images at a time; a program takes one")
    image = lowering.stored(value, order, placed)
    weights = lowering.constant(factors.astype(numpy.float32).reshape(1, 1, 1, channels), node.inputs[1])
    biases = lowering.constant(offsets.astype(numpy.float32), node.inputs[2])
    target = lowering.tensor(node.outputs[0], placed)
    lowering.makes(node, target, of_order(shape, order))
    window = Window(kernel=(1, 1))
    lowering.emit("DEPTHWISE_CONV_2D", [image, weights, biases], [target], path=node.path, window=window)


# Products.


def _gemm(lowering: Lowering, node: Node) -> None:
    import numpy

    node.need(not node.whole("transA", 0), "a transposed input")
    weights = lowering.array(node, 1)
    node.need(weights.ndim == 2, f"weights of {weights.ndim} dimensions", "bad_shape")
    if not node.whole("transB", 0):
        weights = weights.T
    if not node.is_integer:
        weights = (weights.astype(numpy.float64) * node.real("alpha", 1.0)).astype(numpy.float32)
    output = lowering.shape_of(node)
    biases = None
    if node.has(2):
        array = lowering.array(node, 2)
        if not node.is_integer:
            array = (array.astype(numpy.float64) * node.real("beta", 1.0)).astype(numpy.float32)
        wide = (1,) * (2 - array.ndim) + array.shape
        node.need(len(wide) == 2 and wide[1] in (1, output[1]), "biases of another shape", "bad_shape")
        node.need(wide[0] == 1, "biases for each row")
        biases = numpy.broadcast_to(array.reshape(-1), (output[1],))
    _product(lowering, node, weights, biases)


def _matmul(lowering: Lowering, node: Node) -> None:
    weights = lowering.array(node, 1)
    node.need(weights.ndim == 2, f"weights of {weights.ndim} dimensions; two can be built")
    node.need(len(lowering.value(node).shape) >= 2, "a list times a matrix")
    _product(lowering, node, weights.T, None)


def _product(lowering: Lowering, node: Node, weights: "Array", biases: "Array | None") -> None:
    """Rows of the input times weights of (outputs, depth)."""
    import numpy

    value, shape = lowering.value(node), lowering.shape_of(node)
    outputs, depth = weights.shape
    node.need(value.shape[-1] == depth > 0, f"rows of {value.shape[-1]} by {depth} weights", "bad_shape")
    node.need(shape == (*value.shape[:-1], outputs), f"its output is {list(shape)}", "bad_shape")
    if prod(value.shape[:-1]) == 1 and not value.layout.is_plain:
        # The weights are in the order in which the elements lie in memory.
        places = numpy.arange(depth).reshape(value.layout.stored).transpose(value.layout.turn).reshape(-1)
        placed = numpy.empty_like(weights)
        placed[:, places] = weights
        weights = placed
    else:
        value = lowering.plain(value)
    inputs = [value.tensor, lowering.constant(weights, node.inputs[1], node.weighed)]
    if biases is not None:
        inputs.append(lowering.constant(biases, node.inputs[2]))
    lowering.emit("FULLY_CONNECTED", inputs, [lowering.makes_plain(node)], path=node.path)


# Along axes.


def _axis(node: Node, axis: int, rank: int) -> int:
    node.need(-rank <= axis < rank, f"axis {axis} of {rank} dimensions", "bad_shape")
    return axis % rank


def _reduce_mean(lowering: Lowering, node: Node) -> None:
    value = lowering.value(node)
    rank = len(value.shape)
    axes = lowering.integers(node, 1, "axes")
    if not axes:
        if node.whole("noop_with_empty_axes", 0):
            lowering.same(node, value)
            return
        axes = tuple(range(rank))
    _mean_of(lowering, node, tuple(sorted({_axis(node, axis, rank) for axis in axes})))


def _mean_of(lowering: Lowering, node: Node, axes: tuple[int, ...]) -> None:
    value = lowering.value(node)
    rank = len(value.shape)
    kept = tuple(1 if axis in axes else extent for axis, extent in enumerate(value.shape))
    node.need(bool(axes), "a mean along no axis")
    spatial = axes == tuple(range(2, rank)) and rank in (3, 4) and value.shape[0] == 1
    is_image = value.has_channels_last or spatial
    listed = sorted(image_axis(axis) for axis in axes) if is_image else list(axes)
    if is_image and rank == 3 and 2 in axes:
        # Of the columns that it has not there is one.
        listed = sorted({*listed, 2})
    order = channels_last(rank) if is_image else tuple(range(rank))
    if listed != list(range(listed[0], listed[-1] + 1)):
        # Axes that are not side by side are put at the end.
        is_image = False
        order = (*(axis for axis in range(rank) if axis not in axes), *axes)
        listed = list(range(rank - len(axes), rank))
    shapes = [
        image_shape(shape) if is_image else tuple(shape[axis] for axis in order)
        for shape in (value.shape, kept)
    ]
    image = lowering.stored(value, order, shapes[0])
    target = lowering.output(node, shapes[1])
    lowering.makes(node, target, of_order(kept, order))
    numbers = lowering.numbers(listed, f"{node.outputs[0]} axes")
    lowering.emit("MEAN", [image, numbers], [target], path=node.path)


def _softmax(lowering: Lowering, node: Node) -> None:
    value = lowering.value(node)
    rank = len(value.shape)
    axis = _axis(node, node.whole("axis", -1 if node.opset >= 13 else 1), max(rank, 1))
    if node.opset < 13:
        value = lowering.plain(value)
        rows = prod(value.shape[:axis])
        shape: tuple[int, ...] = (rows, prod(value.shape) // rows)
        source = lowering.stored(value, range(rank), shape)
        target = lowering.makes_plain(node, shape=shape)
    else:
        order = channels_last(rank) if rank > 2 and axis == 1 else tuple(range(rank))
        if order[-1] != axis:
            order = (*(entry for entry in range(rank) if entry != axis), axis)
        is_image = rank in (3, 4) and order == channels_last(rank)
        shape = image_shape(value.shape) if is_image else tuple(value.shape[entry] for entry in order)
        source = lowering.stored(value, order, shape)
        target = lowering.output(node, shape)
        lowering.makes(node, target, of_order(value.shape, order))
    lowering.emit("SOFTMAX", [source], [target], path=node.path, options={0: 1.0})


def _concat(lowering: Lowering, node: Node) -> None:
    values = [lowering.value(node, place) for place in range(len(node.inputs))]
    if node.goal is not None:
        values = [lowering.as_integers(value, node.goal) if value.is_quantised else value for value in values]
    shape = lowering.shape_of(node)
    rank = len(shape)
    node.need(rank > 0 and all(len(value.shape) == rank for value in values), "its ranks differ", "bad_shape")
    axis = _axis(node, node.whole("axis", 1), rank)
    total = sum(value.shape[axis] for value in values)
    node.need(total == shape[axis], "its inputs do not make up its output", "bad_shape")
    if len(values) == 1:
        lowering.same(node, values[0])
        return
    is_image = any(value.has_channels_last for value in values)
    inputs = [_placed(lowering, value, is_image=is_image) for value in values]
    target = lowering.makes_image(node) if is_image else lowering.makes_plain(node)
    options = {0: image_axis(axis) if is_image else axis}
    lowering.emit("CONCATENATION", inputs, [target], path=node.path, options=options)


def _placed(lowering: Lowering, value: Value, *, is_image: bool) -> int:
    rank = len(value.shape)
    if is_image:
        return lowering.stored(value, channels_last(rank), image_shape(value.shape))
    return lowering.stored(value, range(rank))


def _split(lowering: Lowering, node: Node) -> None:
    value = lowering.value(node)
    rank = len(value.shape)
    axis = _axis(node, node.whole("axis", 0), rank)
    node.need(all(node.outputs), "an output without a name")
    sizes = [lowering.shape_of(node, number)[axis] for number in range(len(node.outputs))]
    node.need(sum(sizes) == value.shape[axis], "its outputs do not make up its input", "bad_shape")
    is_image = value.has_channels_last
    source = _placed(lowering, value, is_image=is_image)
    targets = [
        lowering.makes_image(node, number) if is_image else lowering.makes_plain(node, number)
        for number in range(len(sizes))
    ]
    numbers = lowering.numbers(sizes, f"{node.outputs[0]} sizes")
    at = lowering.numbers([image_axis(axis) if is_image else axis], f"{node.outputs[0]} axis")
    lowering.emit("SPLIT_V", [source, numbers, at], targets, path=node.path)


def _slice(lowering: Lowering, node: Node) -> None:
    value, shape = lowering.value(node), lowering.shape_of(node)
    rank = len(value.shape)
    starts, ends = lowering.integers(node, 1, "starts"), lowering.integers(node, 2, "ends")
    node.need(
        starts is not None and ends is not None, "where it begins and ends is not known", "missing_input"
    )
    begins, stops = starts or (), ends or ()
    axes = lowering.integers(node, 3, "axes") or tuple(range(len(begins)))
    steps = lowering.integers(node, 4) or (1,) * len(begins)
    node.need(
        len(begins) == len(stops) == len(axes) == len(steps), "its lists have different lengths", "bad_shape"
    )
    node.need(all(steps), "a step of 0", "bad_shape")
    ranges = [range(extent) for extent in value.shape]
    for begin, stop, axis, step in zip(begins, stops, axes, steps, strict=True):
        place = _axis(node, axis, rank)
        ranges[place] = range(value.shape[place])[begin:stop:step]
    node.need(tuple(map(len, ranges)) == shape, f"its output is {list(shape)}", "bad_shape")
    if shape == value.shape and all(entry.step == 1 for entry in ranges):
        lowering.same(node, value)
        return
    is_image = value.has_channels_last
    source = _placed(lowering, value, is_image=is_image)
    target = lowering.makes_image(node) if is_image else lowering.makes_plain(node)
    listed = [range(1)] * 4 if is_image else ranges
    if is_image:
        for axis in range(rank):
            listed[image_axis(axis)] = ranges[axis]
    if all(entry.step == 1 or len(entry) == 1 for entry in listed):
        begun = lowering.numbers([entry[0] for entry in listed], f"{node.outputs[0]} begin")
        sizes = lowering.numbers([len(entry) for entry in listed], f"{node.outputs[0]} size")
        lowering.emit("SLICE", [source, begun, sizes], [target], path=node.path)
        return
    # The end of what goes backwards to the first is said by a mask.
    last = [entry[0] + len(entry) * entry.step for entry in listed]
    mask = sum(1 << axis for axis, end in enumerate(last) if end < 0)
    lists = [
        lowering.numbers(numbers, f"{node.outputs[0]} {word}")
        for word, numbers in (
            ("begin", [entry[0] for entry in listed]),
            ("end", [max(end, 0) for end in last]),
            ("step", [entry.step for entry in listed]),
        )
    ]
    lowering.emit("STRIDED_SLICE", [source, *lists], [target], path=node.path, options={1: mask})


def _pad(lowering: Lowering, node: Node) -> None:
    import numpy

    value, shape = lowering.value(node), lowering.shape_of(node)
    rank = len(value.shape)
    mode = node.text("mode", "constant")
    node.need(mode == "constant", f"mode {mode}; constant can be built")
    pads = lowering.integers(node, 1, "pads") or ()
    axes = lowering.integers(node, 3) or tuple(range(rank))
    node.need(len(pads) == 2 * len(axes), "its margins are not two for each axis", "bad_shape")
    node.need(min(pads, default=0) >= 0, "margins below 0")
    node.need(max(pads, default=0) < _MOST, "margins that are too large", "too_large")
    margins = [(0, 0)] * rank
    for number, axis in enumerate(axes):
        margins[_axis(node, axis, rank)] = pads[number], pads[number + len(axes)]
    padded = tuple(extent + sum(pair) for extent, pair in zip(value.shape, margins, strict=True))
    node.need(padded == shape, f"its output is {list(shape)}", "bad_shape")
    if padded == value.shape:
        lowering.same(node, value)
        return
    filler = float(lowering.array(node, 2).reshape(-1)[0]) if node.has(2) else node.real("value", 0.0)
    spatial = rank in (3, 4) and value.shape[0] == 1 and not any(map(any, margins[:2]))
    is_image = value.has_channels_last or spatial
    source = _placed(lowering, value, is_image=is_image)
    target = lowering.makes_image(node) if is_image else lowering.makes_plain(node)
    listed, window = margins, None
    if is_image:
        listed = [(0, 0)] * 4
        for axis in range(rank):
            listed[image_axis(axis)] = margins[axis]
        if spatial:
            (top, bottom), (left, right) = listed[1:3]
            window = Window(kernel=(1, 1), padding=(top, left, bottom, right))
    numbers = lowering.numbers([entry for pair in listed for entry in pair], f"{node.outputs[0]} margins")
    margin: Array = numpy.array([filler], numpy.float32)
    if node.goal is not None:
        margin = quantised(margin, node.goal) if value.is_quantised else margin.astype(node.goal.type)
    element = lowering.constant(margin, f"{node.outputs[0]} margin")
    lowering.emit("PADV2", [source, numbers, element], [target], path=node.path, window=window)


# Other ways to read.


def _same(lowering: Lowering, node: Node) -> None:
    lowering.same(node, lowering.value(node))


def _dropout(lowering: Lowering, node: Node) -> None:
    node.need(len(node.outputs) == 1 or not node.outputs[1] or not lowering.uses[node.outputs[1]], "a mask")
    training = lowering.is_constant(node, 2) and bool(lowering.array(node, 2).any())
    node.need(not training and (not node.has(2) or lowering.is_constant(node, 2)), "training")
    lowering.same(node, lowering.value(node))


def _transpose(lowering: Lowering, node: Node) -> None:
    value = lowering.value(node)
    rank = len(value.shape)
    order = node.wholes("perm") or tuple(reversed(range(rank)))
    node.need(sorted(order) == list(range(rank)), f"axes {list(order)} of {rank} dimensions", "bad_shape")
    layout: Layout | None = reordered(value.layout, value.shape, order)
    if layout is None:
        value = lowering.plain(value)
        layout = reordered(plain(value.shape), value.shape, order) or plain(value.shape)
    lowering.makes(node, value.tensor, layout)


def _depth_to_space(lowering: Lowering, node: Node) -> None:
    value, shape = lowering.value(node), lowering.shape_of(node)
    block = node.whole("blocksize", 0)
    node.need(len(value.shape) == 4 and block > 0, "its block or its input", "bad_shape")
    batch, channels, rows, columns = value.shape
    if node.kind == "DepthToSpace":
        node.need(channels % (block * block) == 0, "its channels do not go with its block", "bad_shape")
        depth = channels // (block * block)
        if node.text("mode", "DCR") == "DCR":
            between, order = (batch, block, block, depth, rows, columns), (0, 3, 4, 1, 5, 2)
        else:
            between, order = (batch, depth, block, block, rows, columns), (0, 1, 4, 2, 5, 3)
    else:
        node.need(rows % block == columns % block == 0, "its image does not go with its block", "bad_shape")
        between = (batch, channels, rows // block, block, columns // block, block)
        order = (0, 3, 5, 1, 2, 4)
    node.need(prod(shape) == prod(between), f"its output is {list(shape)}", "bad_shape")
    layout = reordered(value.layout, between, order)
    if layout is None:
        value = lowering.plain(value)
        layout = reordered(plain(value.shape), between, order) or plain(shape)
    lowering.makes(node, value.tensor, layout)


RULES: Final[Mapping[str, Rule]] = {
    "Conv": _convolution,
    "ConvTranspose": _transposed,
    "MaxPool": _pool,
    "AveragePool": _pool,
    "GlobalAveragePool": _global_average,
    "GlobalMaxPool": _global_max,
    "BatchNormalization": _batch_normalization,
    "Resize": _resize,
    "Upsample": _resize,
    "Gemm": _gemm,
    "MatMul": _matmul,
    **dict.fromkeys(_UNARY, _unary),
    "Clip": _clip,
    **dict.fromkeys(_BINARY, _binary),
    "ReduceMean": _reduce_mean,
    "Softmax": _softmax,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Pad": _pad,
    **dict.fromkeys(("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"), _same),
    "Dropout": _dropout,
    "Transpose": _transpose,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _depth_to_space,
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
}
WINDOWED: Final = frozenset(
    (
        "Conv",
        "ConvTranspose",
        "MaxPool",
        "AveragePool",
        "GlobalAveragePool",
        "GlobalMaxPool",
        "Resize",
        "Upsample",
    )
)
"""Those that want an image with channels last."""
