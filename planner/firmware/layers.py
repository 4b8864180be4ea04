"""What each operator of a model becomes: calls of kernels, with the numbers that they are given.

A kernel makes rows of an image from rows of images, so that one and the same serves whole layers and stripes;
or all of a tensor at once. What adds up row by row has kernels of its own for that. Each operator is checked
here against what its kernels read, and one that there is no kernel for is refused by its name.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, inf, isfinite, log2, prod
from typing import Final, Literal

from memstow.planner.firmware.fixed_point import (
    clamped,
    curve_factor,
    factor,
    logistic,
    logistic_table,
    power_of_e,
    radius,
    rounded,
    rounded_shift,
    sampled,
    scaled,
    single,
    tanh,
)
from memstow.planner.firmware.full_model import RANGES, FullModel, FullOperator, FullTensor, refuse
from memstow.planner.model.graph import Window

SUFFIXES: Final = {"int8": "s8", "int16": "s16", "float32": "f32", "uint8": "u8", "int32": "s32"}
LARGEST_FLOAT: Final = single(3.4028234663852886e38)


@dataclass(frozen=True, slots=True)
class ConstantArray:
    """Numbers that the program keeps in read-only memory."""

    name: str
    type: str
    """Of an element, in C."""
    values: Sequence[int | float]


Value = "int | float | str | ConstantArray | Struct | Sequence[int | float | str | Struct] | None"


@dataclass(frozen=True, slots=True)
class Struct:
    """What a kernel is given beside its images: fields by their names."""

    fields: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Extents:
    """A tensor as rows of columns of so many bytes."""

    rows: int
    columns: int
    pixel: int


@dataclass(frozen=True, slots=True)
class Operand:
    """An input of the operator by its place, or a constant."""

    source: int | ConstantArray
    extents: Extents


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a kernel, for each row of its output or once."""

    kernel: str
    by: Literal["rows", "whole"]
    inputs: tuple[Operand, ...]
    extents: Extents
    """Of the output."""
    layer: Struct
    output: int = 0
    batches: int = 1
    """Of images one after the other, each as the extents say."""
    scratch: int = 0
    """Bytes that it needs while it runs; it is given the place of them."""
    needs_vectors: bool = False
    """Whether it takes the place of steps only where the processor has vectors."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """How an operator adds up an image row by row: calls in C, in which words in capitals are filled in."""

    kernels: tuple[str, ...]
    begin: str
    add: str
    end: str


@dataclass(frozen=True, slots=True)
class Move:
    """Bytes that stay as they are, of an input or a variable, to an output or a variable."""

    source: int | str
    target: int | str
    size: int


@dataclass(frozen=True, slots=True)
class Variable:
    """Memory that keeps its bytes from one run to the next."""

    name: str
    size: int
    width: int
    initial: bytes | None = None
    fill: int = 0
    type: str = ""
    """Of an element, in C; without one, an integer of this width."""


@dataclass(frozen=True, slots=True)
class Layer:
    """What an operator becomes."""

    steps: tuple[Call | Move, ...]
    reduction: Reduction | None = None
    is_row_wise: bool = False
    """Whether its calls make any row from the rows that graphs say it reads."""
    variables: tuple[Variable, ...] = ()
    kernel_rows: int = 0
    alone: Call | None = None
    """What makes all of the output at once in place of the steps, if its scratch memory is planned."""
    vector_rows: Call | None = None
    """What makes rows in place of the only step where the processor has vectors."""

    @property
    def alone_scratch(self) -> int:
        """Bytes of scratch memory that it needs to be made at once."""
        return 0 if self.alone is None else self.alone.scratch


@dataclass(frozen=True, slots=True)
class Sums:
    """Sums of products of an image with weights, one for each channel of the output."""

    operator: FullOperator
    image: FullTensor
    weights: FullTensor
    bias: FullTensor | None
    channels: int
    axis: int
    """Of the channels in the weights."""
    activation: int = 0
    narrow_field: int | None = None
    """The option that says that sums of elements of 16 bits have 32, where there is one."""
    is_matrix: bool = False


@dataclass
class Context:
    """What operators share."""

    model: FullModel
    variables: Mapping[tuple[str, str], FullTensor]
    finish: "Callable[[Sums], Struct]"
    """How sums become elements, as the runtime of the model has it."""
    handles: dict[int, str] = field(default_factory=dict)
    """By tensor that is a handle, the name of the variable in C."""
    known: dict[tuple[str, str], str] = field(default_factory=dict)


def has_kernel(name: str) -> bool:
    """Whether operators of this name can be built, as far as that can be told without their tensors."""
    return name in _MAKERS


def layer_of(operator: FullOperator, context: Context) -> Layer:
    """The layer of an operator; an InputError names what cannot be built."""
    maker = _MAKERS.get(operator.name)
    if maker is None:
        message = (
            f"{operator.name} cannot be built yet; `memstow solve` plans it for TensorFlow Lite Micro. "
            f"There are kernels for {', '.join(sorted(_MAKERS))}"
        )
        raise refuse("unknown_operator", operator.path, message)
    return maker(operator, context)


def image_extents(tensor: FullTensor) -> Extents:
    """An image of one batch in its rows; anything else as one row of one column."""
    if len(tensor.shape) == 4 and tensor.shape[0] == 1:
        return Extents(tensor.shape[1], tensor.shape[2], tensor.shape[3] * tensor.width)
    if len(tensor.shape) == 3:
        return Extents(tensor.shape[0], tensor.shape[1], tensor.shape[2] * tensor.width)
    return Extents(1, 1, tensor.size)


def require(condition: bool, operator: FullOperator, message: str, code: str = "bad_shape") -> None:
    if not condition:
        raise refuse(code, operator.path, f"{operator.name}: {message}")


def suffix_of(operator: FullOperator, tensors: Sequence[FullTensor], *kinds: str) -> str:
    """The suffix of the one type that all tensors have."""
    names = [tensor.type for tensor in tensors]
    if len(set(names)) != 1 or names[0] not in kinds:
        listed, possible = " and ".join(dict.fromkeys(names)), ", ".join(kinds)
        message = f"{operator.name} of {listed} cannot be built; there are kernels for {possible}"
        raise refuse("unknown_type", operator.path, message)
    return SUFFIXES[names[0]]


def suffix_with(operator: FullOperator, weights: FullTensor, image: FullTensor, output: FullTensor) -> str:
    """The suffix of the type that elements and weights have, or of both."""
    suffix = suffix_of(operator, (image, output), "int8", "int16", "uint8", "float32")
    return "z8" if (suffix, weights.type) == ("s8", "uint8") else suffix


_NONE, _RELU, _RELU_N1_TO_1, _RELU6 = range(4)
_LIMITS: Final = {_RELU: (0.0, None), _RELU_N1_TO_1: (-1.0, 1.0), _RELU6: (0.0, 6.0)}


def limits_of(operator: FullOperator, tensor: FullTensor, activation: int) -> tuple[int | float, int | float]:
    """The least and the largest element of what is made."""
    if activation != _NONE and activation not in _LIMITS:
        raise refuse(
            "not_supported", operator.path, f"{operator.name}: activation {activation} cannot be built"
        )
    low, high = _LIMITS.get(activation, (None, None))
    if operator.limits is not None and tensor.type == "float32":
        return operator.limits
    if tensor.type == "float32":
        return (-LARGEST_FLOAT if low is None else low), (LARGEST_FLOAT if high is None else high)
    least, most = RANGES[tensor.type]
    if operator.limits is not None:
        least, most = (nearest_element(tensor, limit) for limit in operator.limits)
    if low is not None:
        least = max(least, _element(tensor, low))
    if high is not None:
        most = min(most, _element(tensor, high))
    return least, most


def nearest_element(tensor: FullTensor, value: float) -> int:
    """The element that stands for a number most nearly, halves to even, as QuantizeLinear of ONNX has it."""
    least, most = RANGES[tensor.type]
    if not isfinite(value):
        # What elements stand for need not be known.
        return least if value < 0 else most
    real = single(single(value) / tensor.scale)
    return tensor.zero + round(min(max(real, least - tensor.zero), most - tensor.zero))


def _element(tensor: FullTensor, value: float) -> int:
    real = value / tensor.scale
    if abs(real) >= 1 << 31:
        raise refuse(
            "bad_scale", tensor.path, f"its scale is too small for an element that stands for {value}"
        )
    return tensor.zero + rounded(single(real))


_MOST_SHIFT: Final = 30
_MOST_WIDE_SHIFT: Final = 7
"""Of a sum of 64 bits, which kernels for elements of 16 bits have."""


def _factor(operator: FullOperator, real: float, most: int = _MOST_SHIFT) -> tuple[int, int]:
    """The multiplier and the shift of a factor that kernels can multiply with."""
    fits = isfinite(real)
    multiplier, shift = factor(real) if fits else (0, 0)
    require(
        fits and shift <= most,
        operator,
        "the scale of its output is too small for those of its inputs",
        "bad_scale",
    )
    return multiplier, shift


_INT32: Final = 2
"""Among the types of tensors."""


def finish(sums: Sums) -> Struct:
    """How sums become elements of the output in TensorFlow Lite: bias, factor, zero, limits."""
    operator, bias, channels, narrow_field = sums.operator, sums.bias, sums.channels, sums.narrow_field
    factors = _factors(operator, sums.image, sums.weights, channels, sums.axis)
    output = operator.output
    if sums.is_matrix and len(factors) == 1:
        factors = [single(sums.image.scale * sums.weights.scale) / output.scale]
    least, most = limits_of(operator, output, sums.activation)
    biases: object = None
    narrow = False
    if output.type == "int16" and narrow_field is not None:
        narrow = bias.type == "int32" if bias is not None else operator.number(narrow_field, "<b") == _INT32
    if bias is not None:
        wanted = "float32" if output.type == "float32" else "int32"
        if output.type == "int16" and not narrow:
            wanted = "int64"
        require(
            bias.type == wanted, operator, f"a bias of {bias.type}, where {wanted} is needed", "unknown_type"
        )
        require(bias.elements == channels, operator, f"{bias.elements:,} biases for {channels:,} channels")
        kind = {"int16": "int64_t", "float32": "float"}.get(output.type, "int32_t")
        biases = ConstantArray(f"biases_{operator.index}", kind, bias.values())
    if output.type == "float32":
        return Struct({"biases": biases, "least": least, "most": most})
    reach = _MOST_WIDE_SHIFT if output.type == "int16" and not narrow else _MOST_SHIFT
    pairs = [_factor(operator, entry, reach) for entry in factors] * (channels if len(factors) == 1 else 1)
    if output.type != "int16":
        biases = biases or ConstantArray(f"biases_{operator.index}", "int32_t", (0,) * channels)
        pairs = [_narrow_factor(*pair) for pair in pairs]
    return Struct(
        {
            "biases": biases,
            "multipliers": ConstantArray(
                f"multipliers_{operator.index}", "int32_t", tuple(pair[0] for pair in pairs)
            ),
            "shifts": ConstantArray(f"shifts_{operator.index}", "int8_t", tuple(pair[1] for pair in pairs)),
            **({"is_narrow": int(narrow)} if output.type == "int16" else {}),
            "zero": output.zero,
            "least": least,
            "most": most,
        }
    )


def _narrow_factor(multiplier: int, shift: int) -> tuple[int, int]:
    """A factor for elements of 8 bits: what is above 32 bits is known, and one more shift halves."""
    if multiplier == 0:
        # Whatever is shifted by so many becomes 0.
        return -(1 << 31), 31
    return 2 * multiplier - (1 << 32), -shift - 1


def _factors(
    operator: FullOperator, image: FullTensor, weights: FullTensor, channels: int, axis: int
) -> list[float]:
    """By channel of the output, or one for all: what a sum is multiplied with."""
    if image.type == "float32":
        return []
    if image.type == "uint8":
        require(
            len(weights.zeros) == len(weights.scales) == 1,
            operator,
            "weights with several scales",
            "not_supported",
        )
        suffix_of(operator, (image, weights), "uint8")
        return [single(image.scale * weights.scale) / operator.output.scale]
    require(
        weights.type == "int8",
        operator,
        f"weights of {weights.type} with elements of {image.type}",
        "unknown_type",
    )
    require(not any(weights.zeros), operator, "weights whose zero point is not 0", "not_supported")
    scales = weights.scales
    many = len(scales) > 1
    require(
        len(scales) in (1, channels), operator, f"weights have {len(scales)} scales for {channels:,} channels"
    )
    require(
        not many or weights.axis == axis,
        operator,
        f"scales of weights along axis {weights.axis}",
        "not_supported",
    )
    return [image.scale * scale / operator.output.scale for scale in scales]


def weights_of(operator: FullOperator, weights: FullTensor) -> ConstantArray:
    kind = {"float32": "float", "uint8": "uint8_t"}.get(weights.type, "int8_t")
    return ConstantArray(f"weights_{operator.index}", kind, weights.values())


def zeros_of(image: FullTensor, weights: FullTensor) -> int:
    """The zero of elements, and that of weights above it where they have one."""
    if image.type == "float32":
        return 0
    return image.zero & 255 | weights.zero << 8 if weights.type == "uint8" else image.zero


_FURTHEST: Final = 1 << 20
"""Of windows: places in images are computed in 32 bits."""


def _window(operator: FullOperator) -> Window:
    window = operator.window
    if window is None:
        message = "its shapes do not go with its options"
        raise refuse("bad_shape", operator.path, f"{operator.name}: {message}")
    reaches = ((size - 1) * apart for size, apart in zip(window.kernel, window.dilation, strict=True))
    small = max(*reaches, *window.stride, *window.dilation) < _FURTHEST
    require(small, operator, f"its window reaches {_FURTHEST:,} rows or columns", "not_supported")
    return window


def sliding(window: Window, image: FullTensor, output: FullTensor) -> Struct:
    return Struct(
        {
            "in_rows": image.shape[1],
            "in_columns": image.shape[2],
            "in_channels": image.shape[3],
            "out_channels": output.shape[3],
            "kernel_rows": window.kernel[0],
            "kernel_columns": window.kernel[1],
            "stride_rows": window.stride[0],
            "stride_columns": window.stride[1],
            "dilation_rows": window.dilation[0],
            "dilation_columns": window.dilation[1],
            "top": window.padding[0],
            "left": window.padding[1],
        }
    )


def of_rows(
    operator: FullOperator, kernel: str, layer: Mapping[str, object], *places: int, output: int = 0
) -> Call:
    """A call for each row of the output, of inputs that are images as it is."""
    inputs = tuple(Operand(place, image_extents(operator.input(place))) for place in places)
    return Call(kernel, "rows", inputs, image_extents(operator.outputs[output]), Struct(layer), output)


def _of_images(operator: FullOperator, kernel: str, layer: Mapping[str, object]) -> Call:
    """A call for each row of each image of a batch."""
    image, output = (
        image_extents(replace(tensor, shape=(1, *tensor.shape[1:])))
        for tensor in (operator.input(0), operator.output)
    )
    batches = operator.output.shape[0]
    return Call(kernel, "rows", (Operand(0, image),), output, Struct(layer), batches=batches)


def _convolution(operator: FullOperator, context: Context) -> Layer:
    image, weights, output = operator.input(0), operator.input(1), operator.output
    suffix = suffix_with(operator, weights, image, output)
    window = _window(operator)
    deep = operator.name == "DEPTHWISE_CONV_2D"
    channels = output.shape[3]
    if deep:
        require(
            image.shape[3] > 0 and channels % image.shape[3] == 0, operator, "its channels do not go together"
        )
        expected = (1, *window.kernel, channels)
    else:
        # Groups of channels have weights of fewer channels than the image.
        expected = (channels, *window.kernel, image.shape[3])
    require(weights.shape == expected, operator, f"weights of {list(weights.shape)}, not {list(expected)}")
    sums = Sums(
        operator,
        image,
        weights,
        operator.optional(2),
        channels,
        axis=3 if deep else 0,
        activation=operator.number(4 if deep else 3, "<b"),
        narrow_field=None if deep else 6,
    )
    layer: dict[str, object] = {"window": sliding(window, image, output)}
    if deep:
        layer["multiplier"] = channels // image.shape[3]
    layer |= {
        "zero": zeros_of(image, weights),
        "weights": weights_of(operator, weights),
        "finish": context.finish(sums),
    }
    call = _of_images(operator, f"{'depthwise' if deep else 'conv'}_{suffix}", layer)
    return Layer((call,), is_row_wise=call.batches == 1, kernel_rows=window.kernel[0])


def _pool(operator: FullOperator, _: Context) -> Layer:
    image, output = operator.input(0), operator.output
    suffix = suffix_of(operator, (image, output), "int8", "int16", "uint8", "float32")
    window = _window(operator)
    require(image.shape[3] == output.shape[3], operator, "it makes other channels than it reads")
    least, most = limits_of(operator, output, operator.number(5, "<b"))
    largest = operator.name == "MAX_POOL_2D"
    kernel = f"{'max' if largest else 'average'}_pool_{suffix}"
    layer = {"window": sliding(window, image, output), "least": least, "most": most}
    channels = image.shape[3]
    if largest:
        reduction = Reduction(
            (f"max_rows_{suffix}",),
            f"max_begin_{suffix}(SUMS, {channels})",
            f"max_rows_{suffix}(IN, SUMS, ROW, FIRST, END, {channels})",
            f"max_end_{suffix}(LAYER, SUMS, OUT)",
        )
    else:
        reduction = Reduction(
            (f"sum_rows_{suffix}", f"average_end_{suffix}"),
            f"memset(SUMS, 0, {4 * channels})",
            f"sum_rows_{suffix}(IN, SUMS, ROW, FIRST, END, {channels})",
            f"average_end_{suffix}(LAYER, SUMS, OUT)",
        )
    call = _of_images(operator, kernel, layer)
    if call.batches > 1:
        return Layer((call,))
    return Layer((call,), reduction, is_row_wise=True)


def _fully_connected(operator: FullOperator, context: Context) -> Layer:
    image, weights, output = operator.input(0), operator.input(1), operator.output
    suffix = suffix_with(operator, weights, image, output)
    require(len(weights.shape) == 2, operator, f"weights of {list(weights.shape)}; two dimensions are needed")
    outputs, depth = weights.shape
    require(
        depth > 0 and image.elements % depth == 0,
        operator,
        f"{image.elements:,} elements by {depth:,} weights",
    )
    batches = image.elements // depth
    right = output.elements == batches * outputs and output.shape[-1:] == (outputs,)
    require(right, operator, "its output has another shape than its weights make")
    require(operator.number(1, "<b") == 0, operator, "its weights are shuffled", "not_supported")
    sums = Sums(
        operator,
        image,
        weights,
        operator.optional(2),
        outputs,
        axis=0,
        activation=operator.number(0, "<b"),
        narrow_field=4,
        is_matrix=True,
    )
    layer = {
        "batches": batches,
        "depth": depth,
        "outputs": outputs,
        "zero": zeros_of(image, weights),
        "weights": weights_of(operator, weights),
        "finish": context.finish(sums),
    }
    reduction = None
    extents = image_extents(image)
    # Sums of 64 bits have no room in a stripe, which has four bytes for each.
    if suffix != "s16" and batches == 1:
        channels = extents.pixel // image.width
        reduction = Reduction(
            (f"fully_connected_rows_{suffix}",),
            f"memset(SUMS, 0, {4 * outputs})",
            f"fully_connected_rows_{suffix}(LAYER, IN, SUMS, ROW, FIRST, END, {extents.columns}, {channels})",
            f"fully_connected_end_{suffix}(LAYER, SUMS, OUT)",
        )
    return Layer((whole(operator, f"fully_connected_{suffix}", layer),), reduction)


def whole(operator: FullOperator, kernel: str, layer: Mapping[str, object], *places: int) -> Call:
    """A call that makes all of the output."""
    inputs = tuple(Operand(place, Extents(1, 1, operator.input(place).size)) for place in places or (0,))
    return Call(kernel, "whole", inputs, Extents(1, 1, operator.output.size), Struct(layer))


def _mean(operator: FullOperator, _: Context) -> Layer:
    def finish_mean(count: int) -> dict[str, object]:
        image, output = operator.input(0), operator.output
        if image.type == "float32":
            return {"in_zero": 0}
        multiplier, shift = _factor(operator, image.scale / output.scale)
        more = min(count.bit_length() - 1, 32, 31 + shift)
        return {
            "in_zero": image.zero,
            "multiplier": (multiplier << more) // count,
            "shift": shift - more,
            "zero": output.zero,
        }

    return mean(operator, finish_mean)


def mean(operator: FullOperator, finish_mean: Callable[[int], Mapping[str, object]]) -> Layer:
    """The mean along some axes; what a sum of so many elements becomes is `finish_mean`."""
    image, output = operator.input(0), operator.output
    suffix = suffix_of(operator, (image, output), "int8", "int16", "uint8", "float32")
    rank = len(image.shape)
    axes = sorted({axis + rank if axis < 0 else axis for axis in operator.input(1).integers()})
    require(bool(axes) and axes[0] >= 0 and axes[-1] < rank, operator, f"axes {axes} of {rank} dimensions")
    count = prod(image.shape[axis] for axis in axes)
    require(
        count > 0 and output.elements * count == image.elements,
        operator,
        "its output has another size than its axes leave",
    )
    kept, summed = _kept_and_summed(operator, image, axes)
    layer = {
        "kept": [extent for extent, _ in kept],
        "kept_steps": [step for _, step in kept],
        "summed": [extent for extent, _ in summed],
        "summed_steps": [step for _, step in summed],
        "count": count,
        "finish": Struct(finish_mean(count)),
    }
    reduction = None
    if rank == 4 and axes == [1, 2] and image.shape[0] == 1:
        inner = image.shape[3]
        reduction = Reduction(
            (f"sum_rows_{suffix}", f"mean_end_{suffix}"),
            f"memset(SUMS, 0, {4 * inner})",
            f"sum_rows_{suffix}(IN, SUMS, ROW, FIRST, END, {inner})",
            f"mean_end_{suffix}(LAYER, SUMS, OUT)",
        )
    return Layer((whole(operator, f"mean_{suffix}", layer),), reduction)


_MOST_GROUPS: Final = 3
_Steps = list[tuple[int, int]]


def _kept_and_summed(operator: FullOperator, image: FullTensor, axes: Sequence[int]) -> tuple[_Steps, _Steps]:
    """Dimensions that stay and those that are summed, as extents and steps; neighbours of a kind are one."""
    groups: tuple[_Steps, _Steps] = [], []
    last = -1
    for axis, (extent, step) in enumerate(zip(image.shape, dense_steps(image.shape), strict=True)):
        if extent == 1:
            continue
        kind = int(axis in axes)
        before = groups[kind].pop()[0] if kind == last else 1
        groups[kind].append((before * extent, step))
        last = kind
    for group in groups:
        require(
            len(group) <= _MOST_GROUPS, operator, f"axes {list(axes)} of {len(image.shape)}", "not_supported"
        )
        group[:0] = [(1, 0)] * (_MOST_GROUPS - len(group))
    return groups


_BINARY: Final = {"ADD": "add", "SUB": "sub", "MUL": "mul", "MAXIMUM": "max", "MINIMUM": "min"}


def _binary(operator: FullOperator, _: Context) -> Layer:
    return binary(operator, _BINARY[operator.name], "int8", "int16", "uint8", "float32")


def binary(
    operator: FullOperator, word: str, *kinds: str, finish_pair: Mapping[str, object] | None = None
) -> Layer:
    """Two tensors element by element, by the kernel of this name, of one of these types."""
    one, other, output = operator.input(0), operator.input(1), operator.output
    suffix = suffix_of(operator, (one, other, output), *kinds)
    activation = operator.number(0, "<b") if word in ("add", "sub", "mul", "div") else _NONE
    least, most = limits_of(operator, output, activation)
    pair = dict(finish_pair or {})
    if suffix != "f32" and finish_pair is None:
        pair = _binary_finish(operator, word, (one, other), output)
    pair |= {"least": least, "most": most}
    shape, steps = _broadcast(operator, (one, other), output)
    rows, columns, channels = shape
    operands, layers = [], []
    for place, (tensor, step) in enumerate(zip((one, other), steps, strict=True)):
        pixel = (channels if step[2] else 1) * tensor.width
        extents = Extents(rows if step[0] else 1, columns if step[1] else 1, pixel)
        constant = _bytes(operator, tensor, place) if tensor.content is not None else place
        operands.append(Operand(constant, extents))
        layers.append(
            Struct({"row_step": step[0], "column_step": step[1], "channel_step": step[2], "pixel": pixel})
        )
    layer = Struct({"channels": channels, "operands": layers, "finish": Struct(pair)})
    extents = Extents(rows, columns, channels * output.width)
    call = Call(f"{word}_{suffix}", "rows", tuple(operands), extents, layer)
    return Layer((call,), is_row_wise=extents == image_extents(output))


_C_TYPES: Final = {
    "int8": "int8_t",
    "int16": "int16_t",
    "float32": "float",
    "uint8": "uint8_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "bool": "uint8_t",
}


def constant_array(model: FullModel, index: int) -> ConstantArray:
    """A constant tensor of the model as it is."""
    tensor = model.tensors[index]
    if tensor is None:
        raise refuse(
            "unknown_type", f"$.subgraphs[0].tensors[{index}]", "a constant of a type that has no kernels"
        )
    return ConstantArray(f"constant_{index}", _C_TYPES[tensor.type], tensor.values())


def _bytes(operator: FullOperator, tensor: FullTensor, place: int) -> ConstantArray:
    return ConstantArray(f"constant_{operator.index}_{place}", _C_TYPES[tensor.type], tensor.values())


def _binary_finish(
    operator: FullOperator, word: str, inputs: tuple[FullTensor, FullTensor], output: FullTensor
) -> dict[str, object]:
    zeros = [tensor.zero for tensor in inputs]
    if word in ("max", "min"):
        return {"zero": 0}
    if output.type == "int16":
        require(not any((*zeros, output.zero)), operator, "a zero point that is not 0", "not_supported")
    if word == "mul":
        multiplier, shift = _factor(operator, inputs[0].scale * inputs[1].scale / output.scale)
        return {"zeros": zeros, "multiplier": multiplier, "shift": shift, "zero": output.zero}
    left = 15 if output.type == "int16" else 20
    twice = 2 * max(inputs[0].scale, inputs[1].scale)
    pairs = [factor(tensor.scale / twice) for tensor in inputs]
    multiplier, shift = factor(twice / ((1 << left) * output.scale))
    require(shift <= 0, operator, "the scale of its output is too small for those of its inputs", "bad_scale")
    return {
        "zeros": zeros,
        "multipliers": [pair[0] for pair in pairs],
        "shifts": [pair[1] for pair in pairs],
        "left": left,
        "multiplier": multiplier,
        "shift": shift,
        "zero": output.zero,
    }


_Three = tuple[int, int, int]


def _broadcast(
    operator: FullOperator, inputs: tuple[FullTensor, FullTensor], output: FullTensor
) -> tuple[_Three, list[_Three]]:
    """The output as three dimensions, and for each input whether it has them (1) or repeats itself (0)."""
    rank = len(output.shape)
    shapes = [(1,) * (rank - len(tensor.shape)) + tensor.shape for tensor in inputs]
    for shape in shapes:
        fits = len(shape) == rank and all(a in (1, b) for a, b in zip(shape, output.shape, strict=True))
        require(fits, operator, f"inputs of {[list(shape) for shape in shapes]} for {list(output.shape)}")
    for at in range(rank):
        require(
            max(shape[at] for shape in shapes) == output.shape[at],
            operator,
            "its output is larger than its inputs",
        )
    # Neighbours in which each input does the same are one dimension. An image keeps its rows and columns.
    image = rank == 4 and output.shape[0] == 1
    groups: list[tuple[int, tuple[int, ...]]] = []
    for at in range(rank):
        extent = output.shape[at]
        steps = tuple(int(shape[at] == extent and extent > 1) for shape in shapes)
        if extent == 1 and not (image and at):
            continue
        if groups and not image and groups[-1][1] == steps:
            groups[-1] = groups[-1][0] * extent, steps
        else:
            groups.append((extent, steps))
    require(len(groups) <= 3, operator, "it repeats its inputs along too many dimensions", "not_supported")
    while len(groups) < 3:
        groups.insert(0, (1, (0, 0)))
    extents = groups[0][0], groups[1][0], groups[2][0]
    return extents, [(groups[0][1][i], groups[1][1][i], groups[2][1][i]) for i in range(2)]


_UNARY_TYPES: Final = dict.fromkeys(
    ("RELU", "RELU6", "LOGISTIC", "TANH", "LEAKY_RELU"), ("int8", "int16", "float32")
)
_TABLED: Final = ("RELU", "RELU6", "RELU_N1_TO_1", "LOGISTIC", "TANH", "LEAKY_RELU", "HARD_SWISH")
_FLOATS: Final[Mapping[str, tuple[str, float, float]]] = {
    "RELU": ("bounded", 0.0, inf),
    "RELU6": ("bounded", 0.0, 6.0),
    "RELU_N1_TO_1": ("bounded", -1.0, 1.0),
    "LOGISTIC": ("logistic", -9.0, 16.619047164916992188),
    "TANH": ("tanh", 0.0, 0.0),
    "LEAKY_RELU": ("leaky", 0.0, 0.0),
    "HARD_SWISH": ("hard_swish", 0.0, 6.0),
}


def elements_of_column(tensor: FullTensor) -> int:
    """Elements of one column."""
    return image_extents(tensor).pixel // tensor.width


def _unary(operator: FullOperator, _: Context) -> Layer:
    image, output = operator.input(0), operator.output
    suffix = suffix_of(operator, (image, output), *_UNARY_TYPES.get(operator.name, ("int8", "float32")))
    require(image.elements == output.elements, operator, "its output has another size than its input")
    require(
        image_extents(image) == image_extents(output), operator, "its output has another shape than its input"
    )
    if suffix == "f32":
        word, least, most = _FLOATS[operator.name]
        slope = operator.real(0) if operator.name == "LEAKY_RELU" else 0.0
        layer = {"channels": elements_of_column(output), "least": least, "most": most, "slope": slope}
        return Layer((of_rows(operator, f"{word}_f32", layer, 0),), is_row_wise=True)
    if suffix == "s16":
        return _wide_unary(operator, image, output)
    table = tuple(_function(operator, image, output)(element) for element in range(-128, 128))
    return lookup(operator, table)


def _wide_unary(operator: FullOperator, image: FullTensor, output: FullTensor) -> Layer:
    """A function of elements of 16 bits."""
    name = operator.name
    if name == "LEAKY_RELU":
        same = _factor(operator, image.scale / output.scale)
        slope = _factor(operator, image.scale * operator.real(0) / output.scale)
        layer: dict[str, object] = {
            "channels": elements_of_column(output),
            "in_zero": image.zero,
            "multipliers": [same[0], slope[0]],
            "shifts": [same[1], slope[1]],
            "zero": output.zero,
        }
        return Layer((of_rows(operator, "leaky_s16", layer, 0),), is_row_wise=True)
    require(image.zero == output.zero == 0, operator, "a zero point that is not 0", "not_supported")
    if name in ("LOGISTIC", "TANH"):
        multiplier, shift = curve_factor(image.scale, 0 if name == "LOGISTIC" else 1)
        require(
            0 < multiplier <= 32767, operator, "the scale of its input is too large or too small", "bad_scale"
        )
        table = ConstantArray("logistic_table", "uint16_t", logistic_table())
        layer = {
            "channels": elements_of_column(output),
            "multiplier": multiplier,
            "shift": shift,
            "table": table,
        }
        return Layer((of_rows(operator, f"{name.lower()}_s16", layer, 0),), is_row_wise=True)
    if name == "RELU":
        pair, most = _factor(operator, image.scale / output.scale), 32767
    else:
        # The runtime takes input and output to have the same scale: times 1.
        pair, most = (1 << 30, 1), clamped(_element(image, 6.0), -32768, 32767)
    return Layer((_converted(operator, pair, (0, most)),), is_row_wise=True)


def _converted(operator: FullOperator, pair: tuple[int, int], limits: tuple[int, int]) -> Call:
    """A call that makes elements of one scale and type those of another."""
    image, output = operator.input(0), operator.output
    layer = {
        "channels": elements_of_column(output),
        "in_zero": image.zero,
        "multiplier": pair[0],
        "shift": pair[1],
        "zero": output.zero,
        "least": limits[0],
        "most": limits[1],
    }
    return of_rows(operator, f"convert_{SUFFIXES[image.type]}_{SUFFIXES[output.type]}", layer, 0)


def lookup(operator: FullOperator, table: Sequence[int]) -> Layer:
    """What each element of 8 bits becomes: the table begins with the element whose byte is 128."""
    layer = {
        "channels": elements_of_column(operator.output),
        "table": ConstantArray(f"table_{operator.index}", "uint8_t", tuple(entry % 256 for entry in table)),
    }
    return Layer((of_rows(operator, "lookup", layer, 0),), is_row_wise=True)


def _function(operator: FullOperator, image: FullTensor, output: FullTensor) -> Callable[[int], int]:
    """What an element of 8 bits becomes."""
    zero, out_zero = image.zero, output.zero
    match operator.name:
        case "RELU6" | "RELU_N1_TO_1":
            # The runtime takes input and output to have the same scale.
            least, most = (0.0, 6.0) if operator.name == "RELU6" else (-1.0, 1.0)
            low = zero if least == 0 else _element(image, least)
            high = clamped(_element(image, most), -128, 127)
            return lambda element: clamped(element, low, high)
        case "RELU":
            multiplier, shift = _factor(operator, image.scale / output.scale)
            low = max(-128, out_zero)
            return lambda element: clamped(out_zero + scaled(element - zero, multiplier, shift), low, 127)
        case "LEAKY_RELU":
            same = _factor(operator, image.scale / output.scale)
            slope = _factor(operator, image.scale * operator.real(0) / output.scale)
            return lambda element: clamped(
                out_zero + scaled(element - zero, *(same if element >= zero else slope)), -128, 127
            )
        case "LOGISTIC" | "TANH":
            multiplier, shift = _factor(operator, image.scale * (1 << 27))
            require(shift >= 0, operator, "the scale of its input is too small", "bad_scale")
            reach = radius(4, shift)
            function, bits, offset = (logistic, 23, -128) if operator.name == "LOGISTIC" else (tanh, 24, 0)

            def value_of(element: int) -> int:
                if element - zero <= -reach:
                    return -128
                if element - zero >= reach:
                    return 127
                result = function(scaled(element - zero, multiplier, shift))
                return clamped(rounded_shift(result, bits) + offset, -128, 127)

            return value_of
        case _:
            return _hard_swish(operator, image, output)


def _short(value: int) -> int:
    return clamped(value, -32768, 32767)


def _short_product(one: int, other: int) -> int:
    """The upper half of twice the product of 16 bits, rounded."""
    if one == other == -32768:
        return 32767
    product = one * other
    nudged = product + ((1 << 14) if product >= 0 else 1 - (1 << 14))
    return int(nudged / (1 << 15)) if abs(nudged) < 1 << 50 else 0


def _short_factor(operator: FullOperator, real: float, most: int) -> tuple[int, int]:
    multiplier, shift = _factor(operator, real, most)
    # 16 bits of it, rounded as long as they do not overflow.
    return (32767 if multiplier >= 0x7FFF8000 else (multiplier + (1 << 15)) >> 16), shift


def _hard_swish(operator: FullOperator, image: FullTensor, output: FullTensor) -> Callable[[int], int]:
    hires = single(single(1 / 128) * image.scale)
    # The runtime shifts what comes out to the right only.
    out_multiplier, out_exponent = _short_factor(operator, single(hires / output.scale), 0)
    multiplier, exponent = _short_factor(operator, single(hires / single(3 / 32768)), 15)

    def value_of(element: int) -> int:
        value = (element - image.zero) * 128
        scaled_value = _short_product(value, out_multiplier)
        part = value
        if exponent > 0:
            part = _short(part << (exponent - 1))
        part = _short_product(part, multiplier)
        if exponent > 0:
            part = _short(part << 1)
        if exponent < 0:
            part = rounded_shift(part, -exponent)
        part = (part + (1 << 15)) >> 1
        product = part * scaled_value
        result = product // (1 << 15) if product >= 0 else -(-product // (1 << 15))
        result = rounded_shift(result, -out_exponent)
        return clamped(result + output.zero, -128, 127)

    return value_of


def _quantize(operator: FullOperator, _: Context) -> Layer:
    image, output = operator.input(0), operator.output
    require(
        image_extents(image) != Extents(0, 0, 0) and image.shape == output.shape,
        operator,
        "it changes the shape",
    )
    channels = elements_of_column(output)
    pair = SUFFIXES.get(image.type, image.type), SUFFIXES.get(output.type, output.type)
    if pair[0] == "f32" and pair[1] in ("s8", "s16"):
        least, most = RANGES[output.type]
        layer = {
            "channels": channels,
            "scale": output.scale,
            "zero": output.zero,
            "least": least,
            "most": most,
        }
        return Layer((of_rows(operator, f"quantize_{pair[1]}", layer, 0),), is_row_wise=True)
    if pair[1] == "f32" and pair[0] in ("s8", "s16", "u8"):
        layer = {"channels": channels, "scale": image.scale, "zero": image.zero}
        return Layer((of_rows(operator, f"dequantize_{pair[0]}", layer, 0),), is_row_wise=True)
    if pair not in _CONVERSIONS:
        suffix_of(operator, (image, output), "float32")
    call = _converted(operator, _factor(operator, image.scale / output.scale), RANGES[output.type])
    return Layer((call,), is_row_wise=True)


_CONVERSIONS: Final = frozenset(
    (one, other)
    for one, other in (
        ("s8", "s8"), ("s8", "u8"), ("u8", "s8"), ("s8", "s16"), ("s8", "s32"), ("s16", "s8"), ("s16", "s16"),
        ("s16", "s32"), ("s32", "s8"), ("s32", "s16"),
    )
)  # fmt: skip


_MOST_CLASSES: Final = 4096
"""So many powers of e fit in a sum of 32 bits."""


def _softmax(operator: FullOperator, _: Context) -> Layer:
    image, output = operator.input(0), operator.output
    require(image.shape == output.shape and bool(image.shape), operator, "it changes the shape")
    depth = image.shape[-1]
    require(depth > 0, operator, "it has no elements")
    layer: dict[str, object] = {"outer": image.elements // depth, "depth": depth}
    beta = operator.real(0)
    if image.type == "float32":
        suffix = suffix_of(operator, (image, output), "float32")
        return Layer((whole(operator, f"softmax_{suffix}", layer | {"beta": beta}),))
    first = suffix_of(operator, (image,), "int8", "int16", "uint8")
    suffix = suffix_of(operator, (output,), *(("uint8",) if first == "u8" else ("int8", "int16")))
    if image.type == "int16":
        return _wide_softmax(operator, beta, layer)
    require(isfinite(beta) and beta >= 0, operator, f"beta is {beta}", "not_supported")
    multiplier, shift = factor(min(beta * image.scale * (1 << 26), float((1 << 31) - 1)))
    require(shift >= 0, operator, "the scale of its input is too small", "bad_scale")
    require(
        depth <= _MOST_CLASSES, operator, f"{depth:,} elements; {_MOST_CLASSES:,} are the most", "too_large"
    )
    entries = []
    for difference in range(256):
        if -difference < -radius(5, shift):
            break
        entries.append(power_of_e(scaled(-difference, multiplier, shift), 5))
    layer |= {
        "entries": len(entries),
        "powers": ConstantArray(f"powers_{operator.index}", "int32_t", tuple(entries)),
    }
    return Layer((whole(operator, f"softmax_{first}_{suffix}", layer),))


_MOST_WIDE_CLASSES: Final = 65535


def _wide_softmax(operator: FullOperator, beta: float, layer: Mapping[str, object]) -> Layer:
    """Of elements of 16 bits, by tables of e to the power of -10 to 0 and of 1 / (1 + x)."""
    image, output = operator.input(0), operator.output
    suffix_of(operator, (output,), "int16")
    require(image.zero == output.zero == 0, operator, "a zero point that is not 0", "not_supported")
    depth = image.shape[-1]
    require(depth <= _MOST_WIDE_CLASSES, operator, f"{depth:,} elements", "too_large")
    multiplier, shift = _factor(operator, image.scale * beta / (10.0 / 65535.0))
    require(multiplier >= 0, operator, f"beta is {beta}", "not_supported")
    step = single(2.0 / 65535)
    ends = single(step * -32768), single(step * 32767)
    to_power, to_one = single(10.0 / 65535), single(1.0 / 65535)
    powers = sampled(exp, single(to_power * -65535), 0.0, ends)
    parts = sampled(lambda value: 1 / single(1 + value), 0.0, single(to_one * 65535), ends)
    tables = {
        "multiplier": multiplier,
        "shift": shift,
        "powers": ConstantArray("powers_of_e", "int16_t", powers),
        "parts": ConstantArray("parts_of_one", "int16_t", parts),
    }
    return Layer((whole(operator, "softmax_wide", {**layer, **tables}),))


def _reshape(operator: FullOperator, _: Context) -> Layer:
    image, output = operator.input(0), operator.output
    require(image.size == output.size, operator, f"{image.size:,} bytes become {output.size:,}")
    return Layer((Move(0, 0, output.size),))


def _axis(operator: FullOperator, axis: int, rank: int) -> int:
    axis += rank if axis < 0 else 0
    require(0 <= axis < rank, operator, f"axis {axis} of {rank} dimensions")
    return axis


def _concatenation(operator: FullOperator, _: Context) -> Layer:
    output = operator.output
    rank = len(output.shape)
    axis = _axis(operator, operator.number(0, "<i"), rank)
    require(operator.number(1, "<b") == _NONE, operator, "an activation", "not_supported")
    inner = prod(output.shape[axis + 1 :]) * output.width
    outer = prod(output.shape[:axis])
    channels = axis == rank - 1 and image_extents(output) != Extents(1, 1, output.size)
    pixel = output.shape[axis] * inner
    at, calls = 0, []
    for place in range(len(operator.inputs)):
        tensor = operator.input(place)
        same = tensor.type == output.type and len(tensor.shape) == rank
        same = same and all(tensor.shape[i] == output.shape[i] for i in range(rank) if i != axis)
        require(same, operator, f"input {place} of {list(tensor.shape)} for {list(output.shape)}")
        if tensor.type in ("int8", "int16", "uint8") and tensor.scales and output.scales:
            same = tensor.scale == output.scale and tensor.zero == output.zero
            require(same, operator, f"input {place} has another scale than the output", "not_supported")
        part = tensor.shape[axis] * inner
        layer = Struct({"in_pixel": part, "in_at": 0, "out_pixel": pixel, "out_at": at, "bytes": part})
        source = _bytes(operator, tensor, place) if tensor.content is not None else place
        if channels:
            extents = replace(image_extents(output), pixel=part), image_extents(output)
        else:
            extents = Extents(1, outer, part), Extents(1, outer, pixel)
        calls.append(Call("copy_blocks", "rows", (Operand(source, extents[0]),), extents[1], layer))
        at += part
    require(at == pixel, operator, "its inputs do not make up its output")
    return Layer(tuple(calls), is_row_wise=channels)


def _split(operator: FullOperator, _: Context) -> Layer:
    by_sizes = operator.name == "SPLIT_V"
    image = operator.input(0 if by_sizes else 1)
    place = 0 if by_sizes else 1
    axis = _axis(operator, operator.input(2 if by_sizes else 0).integers()[0], len(image.shape))
    inner = prod(image.shape[axis + 1 :]) * image.width
    outer = prod(image.shape[:axis])
    pixel = image.shape[axis] * inner
    at, calls = 0, []
    for number, tensor in enumerate(operator.outputs):
        same = tensor.type == image.type and len(tensor.shape) == len(image.shape)
        same = same and all(
            a == b for i, (a, b) in enumerate(zip(tensor.shape, image.shape, strict=True)) if i != axis
        )
        require(same, operator, f"output {number} of {list(tensor.shape)} from {list(image.shape)}")
        part = tensor.shape[axis] * inner
        layer = Struct({"in_pixel": pixel, "in_at": at, "out_pixel": part, "out_at": 0, "bytes": part})
        operand = Operand(place, Extents(1, outer, pixel))
        calls.append(Call("copy_blocks", "rows", (operand,), Extents(1, outer, part), layer, number))
        at += part
    require(at == pixel, operator, "its outputs do not make up its input")
    return Layer(tuple(calls))


def _strided(
    operator: FullOperator,
    place: int,
    extents: Sequence[int],
    in_steps: Sequence[int],
    in_at: int = 0,
    out_steps: Sequence[int] | None = None,
    out_at: int = 0,
) -> Call:
    """A copy of elements with steps of their own; steps and places in elements."""
    width = operator.input(place).width
    layer = strided_layer(extents, in_steps, width, in_at, out_steps, out_at)
    require(layer is not None, operator, "it has too many dimensions", "not_supported")
    return whole(operator, "copy_strided", layer or {}, place)


def strided_layer(
    extents: Sequence[int],
    in_steps: Sequence[int],
    width: int,
    in_at: int = 0,
    out_steps: Sequence[int] | None = None,
    out_at: int = 0,
) -> dict[str, object] | None:
    """What `copy_strided` is given for elements of this width; None: there are too many axes."""
    if out_steps is None:
        out_steps = dense_steps(extents)
    axes = [
        (extent, step, out)
        for extent, step, out in zip(extents, in_steps, out_steps, strict=True)
        if extent != 1
    ]
    # What lies together in both tensors is one run, and axes that go on in both are one.
    run = 1
    while axes and axes[-1][1] == axes[-1][2] == run:
        run *= axes.pop()[0]
    joined: list[tuple[int, int, int]] = []
    for extent, step, out in axes:
        if joined and joined[-1][1] == step * extent and joined[-1][2] == out * extent:
            joined[-1] = joined[-1][0] * extent, step, out
        else:
            joined.append((extent, step, out))
    if len(joined) > 5:
        return None
    axes = [(1, 0, 0)] * (5 - len(joined)) + joined
    return {
        "extents": [axis[0] for axis in axes],
        "in_steps": [axis[1] * width for axis in axes],
        "out_steps": [axis[2] * width for axis in axes],
        "in_at": in_at * width,
        "out_at": out_at * width,
        "bytes": run * width,
    }


def dense_steps(shape: Sequence[int]) -> list[int]:
    """From one element to the next along each axis, of what lies without gaps."""
    return [prod(shape[at + 1 :]) for at in range(len(shape))]


def _same_type(operator: FullOperator, image: FullTensor) -> FullTensor:
    output = operator.output
    require(image.type == output.type, operator, f"{image.type} becomes {output.type}", "unknown_type")
    return output


def _strided_slice(operator: FullOperator, _: Context) -> Layer:
    image = operator.input(0)
    output = _same_type(operator, image)
    begins, ends, steps = (operator.input(place).integers() for place in (1, 2, 3))
    masks = [operator.number(field_, "<i") for field_ in range(5)]
    require(not masks[2] and not masks[3], operator, "an ellipsis or new axes", "not_supported")
    rank = len(image.shape)
    require(len(begins) == len(ends) == len(steps) <= rank, operator, "it has more places than dimensions")
    extents, in_steps, at = [], [], 0
    for axis, (extent, dense) in enumerate(zip(image.shape, dense_steps(image.shape), strict=True)):
        if axis >= len(begins):
            extents.append(extent)
            in_steps.append(dense)
            continue
        step = steps[axis]
        require(step != 0, operator, "a step of 0")
        low, high = (0, extent) if step > 0 else (-1, extent - 1)
        begin = begins[axis] + (extent if begins[axis] < 0 else 0)
        begin = clamped(begin, low, high)
        end = ends[axis] + (extent if ends[axis] < 0 else 0)
        end = clamped(end, low, high)
        if masks[0] >> axis & 1:
            begin = 0 if step > 0 else extent - 1
        if masks[1] >> axis & 1:
            end = extent if step > 0 else -1
        if masks[4] >> axis & 1:
            step, end = 1, begin + 1
        extents.append(max(0, -(-(end - begin) // step)))
        in_steps.append(dense * step)
        at += begin * dense
    require(prod(extents) == output.elements and output.elements > 0, operator, "its output has another size")
    return Layer((_strided(operator, 0, extents, in_steps, at),))


def _slice(operator: FullOperator, _: Context) -> Layer:
    image = operator.input(0)
    output = _same_type(operator, image)
    begins, sizes = operator.input(1).integers(), operator.input(2).integers()
    require(
        len(begins) == len(sizes) == len(image.shape), operator, "it has not as many places as dimensions"
    )
    extents = [
        extent - begin if size == -1 else size
        for begin, size, extent in zip(begins, sizes, image.shape, strict=True)
    ]
    inside = all(
        begin >= 0 and part > 0 and begin + part <= extent
        for begin, part, extent in zip(begins, extents, image.shape, strict=True)
    )
    require(inside and prod(extents) == output.elements, operator, "it reaches beyond its input")
    dense = dense_steps(image.shape)
    at = sum(begin * step for begin, step in zip(begins, dense, strict=True))
    return Layer((_strided(operator, 0, extents, dense, at),))


def _transpose(operator: FullOperator, _: Context) -> Layer:
    image = operator.input(0)
    output = _same_type(operator, image)
    axes = operator.input(1).integers()
    require(
        sorted(axes) == list(range(len(image.shape))), operator, f"axes {list(axes)} of {len(image.shape)}"
    )
    extents = [image.shape[axis] for axis in axes]
    require(tuple(extents) == output.shape, operator, "its output has another shape")
    dense = dense_steps(image.shape)
    return Layer((_strided(operator, 0, extents, [dense[axis] for axis in axes]),))


def _pad(operator: FullOperator, _: Context) -> Layer:
    image = operator.input(0)
    output = _same_type(operator, image)
    suffix = suffix_of(operator, (image, output), "int8", "int16", "uint8", "float32", "int32")
    value: int | float = 0.0 if suffix == "f32" else output.zero
    filler = operator.optional(2)
    if filler is not None:
        require(
            filler.type == output.type and filler.elements == 1, operator, "what it fills with is no element"
        )
        value = filler.values()[0]
    window = operator.window
    if window is not None:
        layer = {"window": sliding(window, image, output), "value": value}
        return Layer((of_rows(operator, f"pad_{suffix}", layer, 0),), is_row_wise=True)
    margins = operator.input(1).integers()
    rank = len(image.shape)
    require(
        len(margins) == 2 * rank and min(margins, default=0) >= 0,
        operator,
        "it has not as many margins as sides",
    )
    expected = tuple(extent + margins[2 * i] + margins[2 * i + 1] for i, extent in enumerate(image.shape))
    require(expected == output.shape, operator, f"its output is {list(output.shape)}, not {list(expected)}")
    steps = dense_steps(output.shape)
    at = sum(margins[2 * i] * steps[i] for i in range(rank))
    fill = Call(
        f"fill_{suffix}",
        "whole",
        (Operand(0, Extents(1, 1, image.size)),),
        Extents(1, 1, output.size),
        Struct({"count": output.elements, "value": value}),
    )
    return Layer((fill, _strided(operator, 0, image.shape, dense_steps(image.shape), 0, steps, at)))


def _nearest(operator: FullOperator, _: Context) -> Layer:
    image = operator.input(0)
    output = _same_type(operator, image)
    square = len(image.shape) == len(output.shape) == 4 and image.shape[0] == output.shape[0] == 1
    require(square and image.shape[3] == output.shape[3], operator, "it takes images of one batch")
    corners, centers = operator.number(0, "<B"), operator.number(1, "<B")
    size = operator.optional(1)
    if size is not None and size.content is not None:
        require(size.integers() == output.shape[1:3], operator, "its output has another size than it says")
    require(max(image.shape) < 32768, operator, "an image of more than 32,767 rows or columns", "too_large")

    def places(small: int, large: int) -> tuple[int, ...]:
        stretch = (small - 1) / (large - 1) if corners and large > 1 else small / large
        stretch = single(stretch)
        offset = 0.5 if centers else 0.0
        result = []
        for place in range(large):
            at = single(single(place + offset) * stretch)
            nearest = rounded(at) if corners else int(at // 1)
            result.append(max(0, min(nearest, small - 1)))
        return tuple(result)

    layer = {
        "in_rows": image.shape[1],
        "in_columns": image.shape[2],
        "pixel": image_extents(image).pixel,
        "rows": ConstantArray(f"rows_{operator.index}", "int16_t", places(image.shape[1], output.shape[1])),
        "columns": ConstantArray(
            f"columns_{operator.index}", "int16_t", places(image.shape[2], output.shape[2])
        ),
    }
    return Layer((of_rows(operator, "nearest", layer, 0),), is_row_wise=True)


def _transpose_conv(operator: FullOperator, context: Context) -> Layer:
    weights, image, output = operator.input(1), operator.input(2), operator.output
    suffix = suffix_of(operator, (image, output), "int8", "int16", "uint8", "float32")
    square = len(image.shape) == len(output.shape) == len(weights.shape) == 4
    require(square and image.shape[0] == output.shape[0] == 1, operator, "it takes images of one batch")
    channels = output.shape[3]
    require(
        weights.shape[0] == channels and weights.shape[3] == image.shape[3],
        operator,
        "its channels do not go together",
    )
    strides = operator.number(2, "<i"), operator.number(1, "<i")
    require(
        min(strides) > 0 and max(strides) < _FURTHEST,
        operator,
        f"strides of {strides[0]:,} and {strides[1]:,}",
    )
    same = operator.number(0, "<b") == 0
    kernel = weights.shape[1], weights.shape[2]
    for at in (0, 1):
        extent, step = output.shape[1 + at], strides[at]
        small = -(-extent // step) if same else -(-(extent - kernel[at] + 1) // step)
        require(small == image.shape[1 + at], operator, "its shapes do not go with its options")
    margins = [
        max(0, (image.shape[1 + at] - 1) * strides[at] + kernel[at] - output.shape[1 + at]) // 2
        for at in (0, 1)
    ]
    window = Window(kernel=kernel, stride=strides, padding=(margins[0], margins[1], 0, 0), dilation=(1, 1))
    sums = Sums(
        operator,
        image,
        weights,
        operator.optional(3),
        channels,
        axis=0,
        activation=operator.number(3, "<b"),
    )
    layer = {
        "window": sliding(window, image, output),
        "zero": zeros_of(image, weights),
        "weights": weights_of(operator, weights),
        "finish": context.finish(sums),
    }
    return Layer((of_rows(operator, f"transpose_conv_{suffix}", layer, 2),))


def _variable_of(operator: FullOperator, context: Context) -> str:
    handle = operator.source.inputs[0] if operator.source.inputs else -1
    name = context.handles.get(handle)
    if name is None:
        raise refuse(
            "not_supported", operator.path, f"{operator.name} of a variable without VAR_HANDLE before it"
        )
    return name


def _handle(operator: FullOperator, context: Context) -> Layer:
    from memstow.planner.firmware.full_model import handle_of

    require(bool(operator.source.outputs), operator, "it has no output", "missing_output")
    key = handle_of(operator.source)
    name = context.known.setdefault(key, f"variable_{len(context.known)}")
    context.handles[operator.source.outputs[0]] = name
    return Layer(())


def _assign(operator: FullOperator, context: Context) -> Layer:
    name, value = _variable_of(operator, context), operator.input(1)
    return Layer((Move(1, name, value.size),), variables=(_variable(name, value, context),))


def _read(operator: FullOperator, context: Context) -> Layer:
    name, output = _variable_of(operator, context), operator.output
    return Layer((Move(name, 0, output.size),), variables=(_variable(name, output, context),))


def _variable(name: str, tensor: FullTensor, context: Context) -> Variable:
    key = next(key for key, known in context.known.items() if known == name)
    initial = context.variables.get(key)
    return Variable(name, tensor.size, tensor.width, None if initial is None else initial.content)


def _svdf(operator: FullOperator, _: Context) -> Layer:
    image, feature, time, state = (operator.input(place) for place in (0, 1, 2, 4))
    bias, output = operator.optional(3), operator.output
    suffix_of(operator, (image, feature, output), "int8")
    suffix = suffix_of(operator, (time, state), "int8", "int16")
    rank = operator.number(0, "<i")
    right = all(len(tensor.shape) == 2 for tensor in (image, feature, time, state))
    require(right and rank > 0 and feature.shape[0] % rank == 0, operator, "its shapes do not go together")
    batches, inputs = image.shape
    filters, memory = time.shape
    units = filters // rank
    expected = feature.shape == (filters, inputs) and state.shape == (batches, memory * filters)
    require(expected and output.elements == batches * units, operator, "its shapes do not go together")
    require(state.is_variable, operator, "its state is no variable", "not_supported")
    first = _factor(operator, image.scale * feature.scale / state.scale)
    second = _factor(operator, state.scale * time.scale / output.scale)
    name = f"state_{operator.index}"
    kind = "int8_t" if suffix == "s8" else "int16_t"
    layer = {
        "batches": batches,
        "inputs": inputs,
        "units": units,
        "rank": rank,
        "memory": memory,
        "in_zero": image.zero,
        "state_zero": state.zero,
        "zero": output.zero,
        "multipliers": [first[0], second[0]],
        "shifts": [first[1], second[1]],
        "feature": weights_of(operator, feature),
        "time": ConstantArray(f"time_{operator.index}", kind, time.values()),
        "biases": None
        if bias is None
        else ConstantArray(f"biases_{operator.index}", "int32_t", bias.values()),
        "state": name,
    }
    variable = Variable(name, state.size, state.width, fill=state.zero)
    return Layer((whole(operator, f"svdf_{suffix}", layer),), variables=(variable,))


_GATES: Final = ("input", "forget", "cell", "output")
_TANH: Final = 4
_HIDDEN, _CELLS = 18, 19


def _lstm(operator: FullOperator, _: Context) -> Layer:
    """A long short-term memory: its hidden state and its cells are variables."""
    image, output = operator.input(0), operator.output
    hidden, cells = operator.input(_HIDDEN), operator.input(_CELLS)
    suffix = suffix_of(operator, (image, output, hidden), "int8", "int16", "float32")
    is_float = suffix == "f32"
    suffix_of(operator, (cells,), "float32" if is_float else "int16")
    absent = (*range(9, 12), 16, 17, *range(20, 24))
    plain = all(operator.optional(place) is None for place in absent)
    require(plain, operator, "peepholes, a projection or normalised layers", "not_supported")
    require(operator.number(0, "<b") == _TANH, operator, "another activation than TANH", "not_supported")
    require(hidden.is_variable and cells.is_variable, operator, "its state is no variable", "not_supported")
    require(
        len(image.shape) == len(output.shape) == 3 and bool(hidden.shape),
        operator,
        "it takes three dimensions",
    )
    time_major = operator.number(3, "<B") != 0
    steps, batches = image.shape[:2] if time_major else (image.shape[1], image.shape[0])
    inputs, units = image.shape[2], hidden.shape[-1]
    right = output.shape == (*image.shape[:2], units)
    right = right and hidden.elements == cells.elements == batches * units
    require(right, operator, "its shapes do not go together")
    clip = operator.real(1)
    require(isfinite(clip), operator, f"cells cut off at {clip}", "not_supported")
    name = f"state_{operator.index}"
    layer: dict[str, object] = {
        "batches": batches,
        "steps": steps,
        "is_time_major": int(time_major),
        "inputs": inputs,
        "units": units,
        "gates": [_gate(operator, number, (image, hidden), (units, inputs)) for number in range(len(_GATES))],
        "hidden": f"{name}_hidden",
        "cells": f"{name}_cells",
    }
    if is_float:
        least, most = _FLOATS["LOGISTIC"][1:]
        layer.update(clip=max(clip, 0.0), least=least, most=most)
    else:
        layer.update(_lstm_of_integers(operator, hidden, cells, clip))
    type_, zero = ("float", 0) if is_float else ("", hidden.zero)
    variables = (
        Variable(f"{name}_hidden", hidden.size, hidden.width, fill=zero, type=type_),
        Variable(f"{name}_cells", cells.size, cells.width, type=type_),
    )
    return Layer((whole(operator, f"lstm_{suffix}", layer),), variables=variables)


def _lstm_of_integers(
    operator: FullOperator, hidden: FullTensor, cells: FullTensor, clip: float
) -> dict[str, object]:
    """What integers need beside the weights."""
    require(cells.zero == 0, operator, "the zero point of its cells is not 0", "not_supported")
    part = single(2.0**-15)
    products = (part * cells.scale / cells.scale, part * part / cells.scale, part * part / hidden.scale)
    pairs = [_factor(operator, product) for product in products]
    left = 12 + rounded(log2(cells.scale))
    require(-30 <= left <= 14, operator, "the scale of its cells is too large or too small", "bad_scale")
    least, most = RANGES[hidden.type]
    return {
        "zeros": [operator.input(0).zero, hidden.zero],
        "multipliers": [pair[0] for pair in pairs],
        "shifts": [pair[1] for pair in pairs],
        # Their scale is taken to be a power of two.
        "cell_multiplier": 3 << max(left, 0),
        "cell_shift": max(-left, 0),
        "clip": int(min(clip / cells.scale, 32767.0)) if clip > 0 else 0,
        "least": least,
        "most": most,
        "table": ConstantArray("logistic_table", "uint16_t", logistic_table()),
    }


# By the type of the data: weights, biases, and what these are in C.
_OF_GATES: Final = {
    "int8": ("int8", "int8_t", "int32", "int32_t"),
    "int16": ("int8", "int8_t", "int64", "int64_t"),
    "float32": ("float32", "float", "float32", "float"),
}


def _gate(
    operator: FullOperator, number: int, sources: tuple[FullTensor, FullTensor], shape: tuple[int, int]
) -> Struct:
    """Weights, biases and, of integers, factors of a gate; what it makes has 12 bits after the point."""
    units, inputs = shape
    type_, weight_type, bias_type, type_of_bias = _OF_GATES[sources[0].type]
    pairs, listed = [], []
    for at, (source, depth) in enumerate(zip(sources, (inputs, units), strict=True)):
        weights = operator.input(1 + 4 * at + number)
        suffix_of(operator, (weights,), type_)
        require(weights.shape == (units, depth), operator, f"weights of {list(weights.shape)}")
        if type_ == "int8":
            require(not any(weights.zeros), operator, "weights whose zero point is not 0", "not_supported")
            most = _MOST_WIDE_SHIFT if source.type == "int16" else _MOST_SHIFT
            pairs.append(_factor(operator, single(source.scale * weights.scale) / 2.0**-12, most))
        name = f"{_GATES[number]}_{('weights', 'state_weights')[at]}_{operator.index}"
        listed.append(ConstantArray(name, weight_type, weights.values()))
    bias = operator.input(12 + number)
    right = bias.type == bias_type and bias.elements == units
    require(right, operator, f"a bias of {bias.elements:,} {bias.type}")
    biases = ConstantArray(f"{_GATES[number]}_biases_{operator.index}", type_of_bias, bias.values())
    gate: dict[str, object] = {"weights": listed, "biases": biases}
    if pairs:
        gate |= {"multipliers": [pair[0] for pair in pairs], "shifts": [pair[1] for pair in pairs]}
    return Struct(gate)


_Maker = Callable[[FullOperator, Context], Layer]
_MAKERS: Final[Mapping[str, _Maker]] = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _convolution,
    "TRANSPOSE_CONV": _transpose_conv,
    "FULLY_CONNECTED": _fully_connected,
    "AVERAGE_POOL_2D": _pool,
    "MAX_POOL_2D": _pool,
    "MEAN": _mean,
    **dict.fromkeys(_BINARY, _binary),
    **dict.fromkeys(_TABLED, _unary),
    "QUANTIZE": _quantize,
    "DEQUANTIZE": _quantize,
    "SOFTMAX": _softmax,
    "RESHAPE": _reshape,
    "SQUEEZE": _reshape,
    "EXPAND_DIMS": _reshape,
    "CONCATENATION": _concatenation,
    "SPLIT": _split,
    "SPLIT_V": _split,
    "STRIDED_SLICE": _strided_slice,
    "SLICE": _slice,
    "TRANSPOSE": _transpose,
    "PAD": _pad,
    "PADV2": _pad,
    "RESIZE_NEAREST_NEIGHBOR": _nearest,
    "VAR_HANDLE": _handle,
    "ASSIGN_VARIABLE": _assign,
    "READ_VARIABLE": _read,
    "CALL_ONCE": lambda _, __: Layer(()),
    "SVDF": _svdf,
    "UNIDIRECTIONAL_SEQUENCE_LSTM": _lstm,
}

OPERATORS: Final = tuple(sorted(_MAKERS))
"""What can be built."""
