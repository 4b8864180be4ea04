"""Random ONNX networks, and one model for each operator that these do not have."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import numpy

from tests.onnx_models import T, helper, onnx

_FUNCTIONS: Final = (
    "Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "HardSigmoid", "Elu", "Abs", "Neg", "Exp", "Erf",
    "Softplus", "Identity",
)  # fmt: skip
_STEPS: Final = (
    "convolution", "convolution", "depthwise", "grouped", "max_pool", "average", "function", "clip",
    "arithmetic", "normalisation", "pad", "concatenation", "split", "slice", "resize", "transpose",
    "attention", "shuffle",
)  # fmt: skip


@dataclass
class Net:
    """A model in the making: an image of channels, rows and columns, and what was done to it."""

    rng: Random
    image: str = "x"
    shape: tuple[int, int, int] = (1, 1, 1)
    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    known: int = 0

    def name(self) -> str:
        """A name that nothing has."""
        self.known += 1
        return f"v{self.known}"

    def floats(self, *shape: int, least: float = -0.5, most: float = 0.5) -> str:
        """A constant."""
        numbers = numpy.random.default_rng(self.rng.randrange(1 << 30)).uniform(least, most, shape)
        self.constants.append(onnx.numpy_helper.from_array(numbers.astype("f4"), self.name()))
        return str(self.constants[-1].name)

    def integers(self, *values: int) -> str:
        """A constant of whole numbers."""
        self.constants.append(onnx.numpy_helper.from_array(numpy.array(values, "i8"), self.name()))
        return str(self.constants[-1].name)

    def run(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """A node with one output, which is returned."""
        made = self.name()
        self.nodes.append(helper.make_node(kind, inputs, [made], **attributes))
        return made

    def take(self, kind: str, *inputs: str, shape: Sequence[int] | None = None, **attributes: Any) -> None:
        """A node that makes the next image."""
        self.image = self.run(kind, *inputs, **attributes)
        if shape is not None:
            channels, rows, columns = shape
            self.shape = channels, rows, columns

    # Steps.

    def convolution(self, groups: int = 1, made: int = 0) -> None:
        rng, (channels, *extents) = self.rng, self.shape
        made = made or rng.randint(1, 8)
        kernel = [rng.randint(1, 3), rng.randint(1, 3)]
        strides = [rng.randint(1, 2), rng.randint(1, 2)]
        apart = 2 if rng.random() < 0.2 and strides == [1, 1] and min(extents) > 6 else 1
        more: dict[str, Any] = {"pads": [rng.randint(0, min(1, kernel[axis % 2] - 1)) for axis in range(4)]}
        same = apart == 1 and rng.random() < 0.4
        if same:
            more = {"auto_pad": rng.choice(("SAME_UPPER", "SAME_LOWER"))}
        pads = more.get("pads", [0] * 4)
        sizes = [
            -(-extent // strides[axis])
            if same
            else (extent + pads[axis] + pads[axis + 2] - (kernel[axis] - 1) * apart - 1) // strides[axis] + 1
            for axis, extent in enumerate(extents)
        ]
        inputs = [self.image, self.floats(made, channels // groups, *kernel)]
        inputs += [self.floats(made)] if rng.random() < 0.6 else []
        more |= {"group": groups, "strides": strides, "dilations": [apart, apart]}
        self.take("Conv", *inputs, shape=(made, *sizes), **more)

    def depthwise(self) -> None:
        self.convolution(self.shape[0], self.shape[0] * self.rng.randint(1, 2))

    def grouped(self) -> None:
        groups = next((groups for groups in (2, 3) if self.shape[0] % groups == 0), 1)
        self.convolution(groups, groups * self.rng.randint(1, 3))

    def max_pool(self, kind: str = "MaxPool", **more: int) -> None:
        rng, (channels, *extents) = self.rng, self.shape
        kernel, strides = ([rng.randint(least, least + 1) for _ in range(2)] for least in (2, 1))
        pads = [rng.randint(0, 1) for _ in range(4)]
        sizes = [
            (extent + pads[axis] + pads[axis + 2] - kernel[axis]) // strides[axis] + 1
            for axis, extent in enumerate(extents)
        ]
        more_of_it = {"kernel_shape": kernel, "strides": strides, "pads": pads, **more}
        self.take(kind, self.image, shape=(channels, *sizes), **more_of_it)

    def average(self) -> None:
        self.max_pool("AveragePool", count_include_pad=self.rng.randint(0, 1))

    def function(self) -> None:
        self.take(self.rng.choice(_FUNCTIONS), self.image)

    def clip(self) -> None:
        self.take("Clip", self.image, self.floats(least=-1, most=0), self.floats(least=0, most=1))

    def arithmetic(self) -> None:
        rng, (channels, rows, columns) = self.rng, self.shape
        shapes = (
            (1, channels, 1, 1), (channels, 1, 1), (1, channels, rows, columns), (rows, columns),
            (1, 1, rows, 1), (),
        )  # fmt: skip
        other = self.floats(*rng.choice(shapes), least=0.3, most=1)
        other = self.run("Sigmoid", self.image) if rng.random() < 0.4 else other
        inputs = [self.image, other]
        rng.shuffle(inputs)
        self.take(rng.choice(("Add", "Sub", "Mul", "Max", "Min")), *inputs)

    def normalisation(self) -> None:
        channels = self.shape[0]
        numbers = [self.floats(channels) for _ in range(3)]
        self.take("BatchNormalization", self.image, *numbers, self.floats(channels, least=0.1, most=1))

    def pad(self) -> None:
        rng, (channels, rows, columns) = self.rng, self.shape
        top, left, bottom, right = (rng.randint(0, 2) for _ in range(4))
        after = rng.choice((0, 0, 1))
        inputs = [self.image, self.integers(0, 0, top, left, 0, after, bottom, right)]
        inputs += [self.floats()] if rng.random() < 0.5 else []
        self.take("Pad", *inputs, shape=(channels + after, rows + top + bottom, columns + left + right))

    def concatenation(self) -> None:
        axis = self.rng.choice((1, 1, 2, 3))
        shape = [extent * (2 if axis == place else 1) for place, extent in enumerate(self.shape, start=1)]
        self.take("Concat", self.image, self.run("Tanh", self.image), axis=axis, shape=shape)

    def split(self) -> None:
        channels, rows, columns = self.shape
        if channels < 2:
            return self.function()
        part, rest = self.rng.randint(1, channels - 1), self.name()
        made = self.name()
        sizes = self.integers(part, channels - part)
        self.nodes.append(helper.make_node("Split", [self.image, sizes], [made, rest], axis=1))
        if self.rng.random() < 0.5:
            return self.take("Concat", rest, made, axis=1)
        self.image, self.shape = made, (part, rows, columns)
        return None

    def slice(self) -> None:
        step, (channels, rows, columns) = self.rng.choice((1, 1, 2, -1)), self.shape
        first, end = (100, -100) if step < 0 else (1, 100)
        ranges = (self.integers(number) for number in (first, end, 2, step))
        size = len(range(rows)[::-1] if step < 0 else range(1, rows, step))
        self.take("Slice", self.image, *ranges, shape=(channels, size, columns))

    def resize(self) -> None:
        times, (channels, rows, columns) = self.rng.randint(2, 3), self.shape
        if rows * columns > 400:
            return self.function()
        scales = numpy.array([1, 1, times, times], "f4")
        self.constants.append(onnx.numpy_helper.from_array(scales, self.name()))
        shape = channels, rows * times, columns * times
        how = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
        return self.take("Resize", self.image, "", self.constants[-1].name, shape=shape, **how)

    def transpose(self) -> None:
        channels, rows, columns = self.shape
        self.take("Transpose", self.image, perm=[0, 1, 3, 2], shape=(channels, columns, rows))

    def attention(self) -> None:
        channels = self.shape[0]
        mean = self.run("GlobalAveragePool", self.image)
        mixed = self.run("Conv", mean, self.floats(channels, channels, 1, 1))
        self.take("Mul", self.image, self.run("Sigmoid", mixed))

    def shuffle(self) -> None:
        channels, rows, columns = self.shape
        if channels % 2:
            return self.function()
        parts = self.run("Reshape", self.image, self.integers(1, 2, channels // 2, rows, columns))
        turned = self.run("Transpose", parts, perm=[0, 2, 1, 3, 4])
        return self.take("Reshape", turned, self.integers(1, channels, rows, columns))

    def end(self) -> None:
        """Something of the image as a whole, or nothing more."""
        rng, (channels, rows, columns) = self.rng, self.shape
        match rng.choice(("dense", "pooled", "product", "mean", "softmax", "none")):
            case "mean":
                axes = rng.choice(([2, 3], [1], [1, 2], [3]))
                self.image = self.run("ReduceMean", self.image, axes=axes, keepdims=rng.randint(0, 1))
            case "softmax":
                self.image = self.run("Softmax", self.image, axis=rng.choice((1, 2, 3)))
            case "none":
                pass
            case what:
                if what == "pooled":
                    self.take("GlobalAveragePool", self.image, shape=(channels, 1, 1))
                    rows = columns = 1
                flat, made = self.run("Flatten", self.image), rng.randint(1, 9)
                inputs = channels * rows * columns
                if what == "product":
                    product = self.run("MatMul", flat, self.floats(inputs, made, least=-0.1, most=0.1))
                    self.image = self.run("Add", product, self.floats(made))
                else:
                    weights = self.floats(made, inputs, least=-0.1, most=0.1)
                    self.image = self.run("Gemm", flat, weights, self.floats(made), transB=1)
                if rng.random() < 0.5:
                    self.image = self.run("Softmax", self.image)


def network(seed: int) -> bytes:
    """Some steps one after the other; of some, what is between is an output as well."""
    rng = Random(f"onnx {seed}")
    net = Net(rng)
    shape = [rng.randint(1, 6), rng.randint(6, 13), rng.randint(6, 13)]
    net.shape = shape[0], shape[1], shape[2]
    for _ in range(rng.randint(2, 6)):
        step = rng.choice(_STEPS)
        if min(net.shape[1:]) < 3 and step in ("convolution", "depthwise", "grouped", "max_pool", "average"):
            step = "function"
        image, shape_before, count = net.image, net.shape, len(net.nodes)
        getattr(net, step)()
        if min(net.shape) < 1:
            # Nothing would be left of it.
            net.image, net.shape = image, shape_before
            del net.nodes[count:]
    net.end()
    outputs = [net.image]
    if rng.random() < 0.2 and len(net.nodes) > 2:
        outputs.append(net.nodes[len(net.nodes) // 2].output[0])
    return _model(net, {"x": [1, *shape]}, dict.fromkeys(outputs))


_ON_WIDE: Final = ("depthwise", "max_pool", "average", "function", "clip", "arithmetic", "normalisation")


def wide(seed: int) -> bytes:
    """Blocks in which a small image of few channels has many for a while."""
    rng = Random(f"wide {seed}")
    net = Net(rng)
    shape = [rng.randint(2, 5), rng.randint(4, 8), rng.randint(4, 8)]
    net.shape = shape[0], shape[1], shape[2]
    for _ in range(rng.randint(1, 2)):
        net.convolution(made=net.shape[0] * rng.randint(6, 9))
        for _ in range(rng.randint(0, 2)):
            step = rng.choice(_ON_WIDE)
            getattr(net, "function" if min(net.shape[1:]) < 3 and step in _ON_WIDE[:3] else step)()
        if min(net.shape[1:]) < 3:
            break
        net.convolution(made=rng.randint(2, 4))
    return _model(net, {"x": [1, *shape]}, {net.image: None})


def _model(
    net: Net, inputs: dict[str, Sequence[int]], outputs: dict[str, Sequence[int] | None], opset: int = 17
) -> bytes:
    described = [
        [helper.make_tensor_value_info(name, T.FLOAT, shape) for name, shape in listed.items()]
        for listed in (inputs, outputs)
    ]
    graph = helper.make_graph(net.nodes, "net", *described, net.constants)
    made = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])
    data: bytes = made.SerializeToString()
    return data


def alone(what: str) -> bytes:
    """A model of one operator that networks do not have, with an image of four channels."""
    net = Net(Random(what), shape=(4, 6, 5))
    shape: Sequence[int] = (1, 4, 6, 5)
    opset = 17
    match what:
        case "ConvTranspose":
            net.take(what, "x", net.floats(4, 3, 3, 2), net.floats(3), strides=[2, 1], pads=[1, 0, 0, 1])
        case "ConvTranspose more":
            net.take("ConvTranspose", "x", net.floats(4, 2, 2, 3), strides=[3, 2], output_padding=[1, 1])
        case "Conv of rows":
            shape = 1, 4, 11
            net.take("Conv", "x", net.floats(6, 4, 3), net.floats(6), strides=[2], pads=[1, 1])
            net.take("MaxPool", net.image, kernel_shape=[2])
        case "Div" | "PRelu":
            net.take(what, "x", net.floats(4, 1, 1, least=0.3, most=1))
        case "Sum":
            net.take(what, "x", net.run("Tanh", "x"), net.floats(4, 1, 1))
        case "GlobalMaxPool" | "Dropout":
            net.take(what, "x")
        case "Sqrt" | "Reciprocal":
            net.take(what, net.run("Softplus", "x"))
        case "BatchNormalization of a product":
            shape = 1, 4, 6
            product = net.run("MatMul", "x", net.floats(6, 4))
            net.take("BatchNormalization", product, *(net.floats(4, least=0.1, most=1) for _ in range(4)))
        case "infinite":
            nothing = net.run("Mul", "x", net.floats(least=0, most=0))
            net.take("Relu", net.run("Div", net.run("Abs", "x"), net.run("Abs", nothing)))
        case "a list and a number":
            shape = (5,)
            net.take("Add", net.run("Relu", "x"), net.floats())
        case "Squeeze":
            mean = net.run("GlobalAveragePool", "x")
            flat = net.run("Squeeze", mean, net.integers(2, 3))
            net.take("Unsqueeze", flat, net.integers(1))
        case "DepthToSpace" | "SpaceToDepth":
            shape = 1, 8, 6, 4
            net.take(what, net.run("Relu", "x"), blocksize=2)
            net.take("Conv", net.image, net.floats(3, 2 if what == "DepthToSpace" else 32, 1, 1))
        case "DepthToSpace CRD":
            shape = 1, 8, 3, 4
            net.take("DepthToSpace", "x", blocksize=2, mode="CRD")
        case "ceil_mode":
            net.take("MaxPool", "x", kernel_shape=[3, 2], strides=[2, 2], ceil_mode=1)
        case "opset 11":
            opset = 11
            net.take("Clip", "x", net.floats(), net.floats(least=0.5, most=1))
            net.take("Softmax", net.run("Squeeze", net.run("ReduceMean", net.image, axes=[2]), axes=[0]))
        case "opset 9":
            opset = 9
            net.take("Clip", "x", min=-0.25, max=0.5)
            net.take("Pad", net.image, pads=[0, 0, 1, 0, 0, 0, 0, 2], value=0.5)
            net.take("Slice", net.image, axes=[2], starts=[1], ends=[5])
        case "inputs":
            net.take("Add", net.run("Conv", "x", net.floats(4, 4, 1, 1)), "y")
            return _model(net, {"x": shape, "y": (1, 4, 1, 5)}, {net.image: None})
        case _:
            raise ValueError(what)
    return _model(net, {"x": shape}, {net.image: None}, opset)


ALONE: Final = (
    "ConvTranspose", "ConvTranspose more", "Conv of rows", "Div", "PRelu", "Sum", "GlobalMaxPool", "Dropout",
    "Sqrt", "Reciprocal", "Squeeze", "DepthToSpace", "SpaceToDepth", "DepthToSpace CRD", "ceil_mode",
    "opset 11",
    "opset 9", "inputs", "BatchNormalization of a product", "infinite",
    "a list and a number",
)  # fmt: skip
