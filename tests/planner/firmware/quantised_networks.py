"""Random quantised ONNX networks, in both forms in which models have integers."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import numpy

from tests.onnx_models import T, helper, onnx

PAIRS, OPERATORS = "pairs", "operators"
"""Operators of floats between QuantizeLinear and DequantizeLinear; operators of integers."""
FORMS: Final = (PAIRS, OPERATORS)
RUNTIME: Final = "com.microsoft"
_STEPS: Final = (
    "convolution", "convolution", "depthwise", "grouped", "max_pool", "average", "function", "sum", "product",
    "concatenation", "move",
)  # fmt: skip


@dataclass(frozen=True)
class Scaled:
    """A value of integers, with its scale and zero point."""

    name: str
    scale: str
    zero: str
    step: float

    @property
    def inputs(self) -> list[str]:
        """What nodes read."""
        return [self.name, self.scale, self.zero]


@dataclass
class QuantisedNet:
    """A model in the making, of one form and of one type of elements."""

    rng: Random
    form: str = PAIRS
    kind: str = "int8"
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    known: int = 0

    def name(self) -> str:
        """A name that nothing has."""
        self.known += 1
        return f"v{self.known}"

    def array(self, array: Any) -> str:
        """A constant."""
        self.constants.append(onnx.numpy_helper.from_array(array, self.name()))
        return str(self.constants[-1].name)

    def numbers(self, *values: int) -> str:
        """A constant of whole numbers."""
        return self.array(numpy.array(values, "i8"))

    def scaled(self, name: str, step: float, zero: int | None = None) -> Scaled:
        """A value of integers of this step; its zero point is any, and often at an end."""
        least, most = numpy.iinfo(self.kind).min, numpy.iinfo(self.kind).max
        any_zero = self.rng.choice((least, most, 0, self.rng.randint(least, most), least))
        chosen = any_zero if zero is None else zero
        scale, point = numpy.array(step, "f4"), numpy.array(chosen, self.kind)
        return Scaled(name, self.array(scale), self.array(point), float(scale))

    def like(self, value: Scaled, name: str) -> Scaled:
        """Another value of the same integers."""
        return Scaled(name, value.scale, value.zero, value.step)

    def random(self, shape: Sequence[int], kind: str) -> Any:
        """Integers of a constant."""
        limits = numpy.iinfo(kind)
        generator = numpy.random.default_rng(self.rng.randrange(1 << 30))
        return generator.integers(limits.min, limits.max, shape, endpoint=True).astype(kind)

    def run(self, kind: str, inputs: Sequence[str], domain: str = "", **attributes: Any) -> str:
        """A node with one output, which is returned."""
        made = self.name()
        self.nodes.append(helper.make_node(kind, list(inputs), [made], domain=domain, **attributes))
        return made

    def floats(self, value: Scaled) -> str:
        """The value as floats."""
        return self.run("DequantizeLinear", value.inputs)

    def integers(self, floats: str, made: Scaled) -> Scaled:
        """Floats as integers, sometimes after what may as well come later."""
        what = self.rng.random()
        if what < 0.25:
            floats = self.run("Relu", [floats])
        elif what < 0.35:
            limits = [self.array(numpy.array(number, "f4")) for number in (-20 * made.step, 40 * made.step)]
            floats = self.run("Clip", [floats, *limits])
        node = helper.make_node("QuantizeLinear", [floats, made.scale, made.zero], [made.name])
        self.nodes.append(node)
        return made

    def operate(
        self,
        kind: str,
        operator: str,
        values: Sequence[Scaled],
        step: float,
        domain: str = RUNTIME,
        **more: Any,
    ) -> Scaled:
        """An operator of values of integers, in the form of the model."""
        made = self.scaled(self.name(), step)
        if self.form == PAIRS:
            more.pop("opset", None)
            return self.integers(self.run(kind, [self.floats(value) for value in values], **more), made)
        listed = [entry for value in values for entry in value.inputs]
        inputs = [made.scale, made.zero, *listed] if kind == "Concat" else [*listed, made.scale, made.zero]
        self.nodes.append(helper.make_node(operator, inputs, [made.name], domain=domain, **more))
        return made

    def weighed(
        self, kind: str, image: Scaled, shape: Sequence[int], axis: int, depth: int, **attributes: Any
    ) -> Scaled:
        """A convolution or a matrix: weights of one scale or one for each channel, and perhaps biases."""
        rng, channels = self.rng, shape[axis]
        type_ = "int8" if self.kind == "int8" else rng.choice(("int8", "uint8"))
        by_channel = rng.random() < 0.5
        count = channels if by_channel else 1
        steps = numpy.array([rng.uniform(0.002, 0.01) for _ in range(count)], "f4")
        zeros_of = (0, 0, 0, rng.randint(-128, 127)) if type_ == "int8" else (0, 128, 255, rng.randrange(256))
        zero = rng.choice(zeros_of)
        scales = steps if by_channel else steps.reshape(())
        zeros = numpy.full(scales.shape, zero, type_)
        weights = Scaled(self.array(self.random(shape, type_)), self.array(scales), self.array(zeros), 0.0)
        step = image.step * float(steps.mean()) * depth**0.5 * 60 * rng.uniform(0.3, 1.5)
        made = self.scaled(self.name(), step)
        bias: list[str] = []
        if rng.random() < 0.6 and kind != "MatMul":
            numbers = numpy.array([rng.randint(-9000, 9000) for _ in range(channels)], "i4")
            bias = [self.array(numbers)]
        if self.form == OPERATORS:
            operator, domain = {"Gemm": ("QGemm", RUNTIME)}.get(kind, (f"QLinear{kind}", ""))
            ends = [made.scale, made.zero]
            ends = [*(bias or [""]), *ends] if kind == "Gemm" else [*ends, *bias]
            inputs = [*image.inputs, *weights.inputs, *ends]
            self.nodes.append(helper.make_node(operator, inputs, [made.name], domain=domain, **attributes))
            return made
        inputs = [self.floats(image), self.run("DequantizeLinear", weights.inputs, axis=axis)]
        if bias:
            scale = (numpy.float32(image.step) * steps).astype("f4").reshape(scales.shape)
            inputs.append(self.run("DequantizeLinear", [bias[0], self.array(scale)], axis=0))
        return self.integers(self.run(kind, inputs, **attributes), made)


@dataclass
class Picture:
    """A value that is an image, with its channels, rows and columns."""

    value: Scaled
    shape: tuple[int, int, int]


def _convolution(net: QuantisedNet, at: Picture, groups: int = 1, made: int = 0) -> Picture:
    rng, (channels, *extents) = net.rng, at.shape
    made = made or rng.randint(1, 9)
    kernel = [rng.randint(1, 3), rng.randint(1, 3)]
    strides = [rng.randint(1, 2), rng.randint(1, 2)]
    apart = 2 if rng.random() < 0.2 and min(extents) > 6 else 1
    pads = [rng.randint(0, kernel[axis % 2] - 1) for axis in range(4)]
    sizes = [
        (extent + pads[axis] + pads[axis + 2] - (kernel[axis] - 1) * apart - 1) // strides[axis] + 1
        for axis, extent in enumerate(extents)
    ]
    if min(sizes) < 1:
        return at
    shape = made, channels // groups, *kernel
    more = {"group": groups, "strides": strides, "dilations": [apart, apart], "pads": pads}
    depth = channels // groups * kernel[0] * kernel[1]
    value = net.weighed("Conv", at.value, shape, 0, depth, **more)
    return Picture(value, (made, sizes[0], sizes[1]))


def _depthwise(net: QuantisedNet, at: Picture) -> Picture:
    return _convolution(net, at, at.shape[0], at.shape[0] * net.rng.randint(1, 2))


def _grouped(net: QuantisedNet, at: Picture) -> Picture:
    groups = next((groups for groups in (2, 3) if at.shape[0] % groups == 0), 1)
    return _convolution(net, at, groups, groups * net.rng.randint(1, 3))


def _window(net: QuantisedNet, at: Picture) -> tuple[dict[str, Any], tuple[int, int, int]]:
    kernel, strides = ([net.rng.randint(least, least + 1) for _ in range(2)] for least in (2, 1))
    pads = [net.rng.randint(0, 1) for _ in range(4)]
    sizes = [
        (extent + pads[axis] + pads[axis + 2] - kernel[axis]) // strides[axis] + 1
        for axis, extent in enumerate(at.shape[1:])
    ]
    return {"kernel_shape": kernel, "strides": strides, "pads": pads}, (at.shape[0], sizes[0], sizes[1])


def _max_pool(net: QuantisedNet, at: Picture) -> Picture:
    more, shape = _window(net, at)
    if min(shape) < 1:
        return at
    if net.form == OPERATORS:
        return Picture(net.like(at.value, net.run("MaxPool", [at.value.name], **more)), shape)
    floats = net.run("MaxPool", [net.floats(at.value)], **more)
    return Picture(net.integers(floats, net.like(at.value, net.name())), shape)


def _average(net: QuantisedNet, at: Picture) -> Picture:
    more, shape = _window(net, at)
    more["count_include_pad"] = net.rng.randint(0, 1)
    if min(shape) < 1:
        return at
    step = at.value.step * net.rng.choice((1.0, 0.5, net.rng.uniform(0.4, 1)))
    return Picture(net.operate("AveragePool", "QLinearAveragePool", [at.value], step, **more), shape)


def _function(net: QuantisedNet, at: Picture) -> Picture:
    rng, kind = net.rng, net.rng.choice(("Sigmoid", "LeakyRelu", "Tanh", "HardSwish", "Elu", "Clip"))
    if net.form == OPERATORS or kind in ("Sigmoid", "LeakyRelu"):
        kind = kind if kind == "Sigmoid" else "LeakyRelu"
        more: dict[str, Any] = {"alpha": rng.uniform(0.01, 0.5)} if kind == "LeakyRelu" else {}
        step = 1 / 256 if kind == "Sigmoid" else at.value.step * rng.uniform(0.7, 1.2)
        return Picture(net.operate(kind, f"QLinear{kind}", [at.value], step, **more), at.shape)
    inputs = [net.floats(at.value)]
    if kind == "Clip":
        inputs += [net.array(numpy.array(number * at.value.step, "f4")) for number in (-30.4, 50.7)]
    step = 1 / 128 if kind == "Tanh" else at.value.step * rng.uniform(0.7, 1.2)
    return Picture(net.integers(net.run(kind, inputs), net.scaled(net.name(), step)), at.shape)


def _pair(net: QuantisedNet, at: Picture, kind: str, step: float) -> Picture:
    rng, (channels, rows, columns) = net.rng, at.shape
    other = at.value
    if rng.random() < 0.7:
        shapes = (1, channels, 1, 1), (1, channels, rows, columns), (channels, 1, 1), (), (1, 1, rows, 1)
        integers = net.array(net.random(rng.choice(shapes), net.kind))
        other = net.scaled(integers, at.value.step * rng.uniform(0.2, 2))
    else:
        other = net.operate("Sigmoid", "QLinearSigmoid", [at.value], 1 / 256)
    values = [at.value, other]
    rng.shuffle(values)
    return Picture(net.operate(kind, f"QLinear{kind}", values, step * other.step), at.shape)


def _sum(net: QuantisedNet, at: Picture) -> Picture:
    return _pair(net, at, "Add", 1.0 + at.value.step)


def _product(net: QuantisedNet, at: Picture) -> Picture:
    return _pair(net, at, "Mul", at.value.step * 60)


def _concatenation(net: QuantisedNet, at: Picture) -> Picture:
    axis = net.rng.choice((1, 1, 2, 3))
    other = net.operate("Sigmoid", "QLinearSigmoid", [at.value], 1 / 256)
    step = at.value.step * net.rng.uniform(0.5, 2)
    made = net.operate("Concat", "QLinearConcat", [at.value, other], step, axis=axis)
    shape = [extent * (2 if axis == place else 1) for place, extent in enumerate(at.shape, start=1)]
    return Picture(made, (shape[0], shape[1], shape[2]))


def _move(net: QuantisedNet, at: Picture) -> Picture:
    """What only moves elements, of integers or of floats."""
    rng, (channels, rows, columns) = net.rng, at.shape
    is_pair = net.form == PAIRS
    image = net.floats(at.value) if is_pair else at.value.name
    shape = at.shape
    match rng.choice(("transpose", "slice", "resize", "reshape", "pad")):
        case "transpose":
            image, shape = net.run("Transpose", [image], perm=[0, 1, 3, 2]), (channels, columns, rows)
        case "slice" if rows > 3:
            cut = [net.numbers(number) for number in (1, rows - 1, 2)]
            image, shape = net.run("Slice", [image, *cut]), (channels, rows - 2, columns)
        case "resize" if rows * columns < 200:
            scales = net.array(numpy.array([1, 1, 2, 2], "f4"))
            how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
            image, shape = net.run("Resize", [image, "", scales], **how), (channels, rows * 2, columns * 2)
        case "pad" if is_pair:
            image = net.run("Pad", [image, net.numbers(0, 0, 1, 0, 0, 0, 0, 1)])
            shape = channels, rows + 1, columns + 1
        case _:
            image = net.run("Reshape", [image, net.numbers(1, channels, columns, rows)])
            shape = channels, columns, rows
    made = net.like(at.value, image)
    if is_pair:
        made = net.like(at.value, net.name())
        node = helper.make_node("QuantizeLinear", [image, made.scale, made.zero], [made.name])
        net.nodes.append(node)
    return Picture(made, shape)


def _end(net: QuantisedNet, at: Picture) -> Scaled:
    """Something of the image as a whole, or nothing more."""
    rng, (channels, rows, columns) = net.rng, at.shape
    what = rng.choice(("none", "dense", "pooled", "product", "softmax"))
    if what == "none":
        return at.value
    value, count = at.value, channels * rows * columns
    if what in ("pooled", "softmax"):
        step = value.step * rng.uniform(0.2, 1)
        value = net.operate("GlobalAveragePool", "QLinearGlobalAveragePool", [value], step)
        count = channels
    flat = net.numbers(1, count)
    if net.form == PAIRS:
        floats = net.run("Reshape", [net.floats(value), flat])
        value = net.integers(floats, net.like(value, net.name()))
    else:
        value = net.like(value, net.run("Reshape", [value.name, flat]))
    made = rng.randint(1, 9)
    if what == "product":
        value = net.weighed("MatMul", value, (count, made), 1, count)
    else:
        value = net.weighed("Gemm", value, (made, count), 0, count, transB=1)
    if what == "softmax":
        # Where the runtime wraps around, nothing reaches the largest element.
        value = net.operate("Softmax", "QLinearSoftmax", [value], 1 / 100, axis=1, opset=17)
    return value


def quantised_network(seed: int, form: str, kind: str) -> bytes:
    """Some steps one after the other; inputs and outputs are integers, or floats."""
    rng = Random(f"quantised {seed} {form} {kind}")
    net = QuantisedNet(rng, form, kind)
    shape = (rng.randint(1, 6), rng.randint(6, 13), rng.randint(6, 13))
    of_floats = rng.random() < 0.3
    steps = {
        "convolution": _convolution, "depthwise": _depthwise, "grouped": _grouped, "max_pool": _max_pool,
        "average": _average, "function": _function, "sum": _sum, "product": _product,
        "concatenation": _concatenation, "move": _move,
    }  # fmt: skip
    at = Picture(net.scaled("x", rng.uniform(0.01, 0.05)), shape)
    if of_floats:
        made = net.scaled(net.name(), rng.uniform(0.01, 0.05))
        net.nodes.append(helper.make_node("QuantizeLinear", ["x", made.scale, made.zero], [made.name]))
        at = Picture(made, shape)
    for _ in range(rng.randint(2, 6)):
        at = steps[rng.choice(_STEPS)](net, at)
    last = _end(net, at)
    output = net.floats(last) if of_floats else last.name
    if not net.nodes:
        output = net.run("Identity", [last.name])
    type_ = T.FLOAT if of_floats else {"int8": T.INT8, "uint8": T.UINT8}[kind]
    return model_of(net, {"x": (1, *shape)}, [output], type_)


def quantised_wide(seed: int, form: str, kind: str) -> bytes:
    """Blocks in which a small image of few channels has many for a while."""
    rng = Random(f"quantised wide {seed} {form} {kind}")
    net = QuantisedNet(rng, form, kind)
    shape = (rng.randint(2, 4), rng.randint(4, 8), rng.randint(4, 8))
    at = Picture(net.scaled("x", rng.uniform(0.01, 0.05)), shape)
    for _ in range(rng.randint(1, 2)):
        at = _convolution(net, at, made=at.shape[0] * rng.randint(6, 9))
        for _ in range(rng.randint(0, 2)):
            at = rng.choice((_depthwise, _max_pool, _average, _function, _sum, _product))(net, at)
        at = _convolution(net, at, made=rng.randint(2, 4))
    return model_of(net, {"x": (1, *shape)}, [at.value.name], {"int8": T.INT8, "uint8": T.UINT8}[kind])


def model_of(
    net: QuantisedNet, inputs: dict[str, Sequence[int]], outputs: Sequence[str], kind: int, opset: int = 17
) -> bytes:
    """The model of the nodes."""
    graph = helper.make_graph(
        net.nodes,
        "net",
        [helper.make_tensor_value_info(name, kind, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, kind, None) for name in outputs],
        net.constants,
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(RUNTIME, 1)]
    data: bytes = helper.make_model(graph, ir_version=8, opset_imports=opsets).SerializeToString()
    return data
