"""Random models of the operators that programs can be built from: one operator alone, or networks of several.

Scales are such that most outputs are spread over their range, and some are not: what is too large is cut off.
"""

import struct
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import prod, sqrt
from random import Random
from typing import Final

from tests.tflite_models import FLOAT32, INT8, INT32, RESOURCE, Fields, Sub, table, written

INT16, INT64 = 7, 4
UINT8 = 3
KINDS: Final = {"int8": INT8, "int16": INT16, "float32": FLOAT32}
INT4: Final = 17
_LETTERS: Final = {INT8: "b", UINT8: "B", INT16: "h", INT32: "i", INT64: "q", FLOAT32: "f"}
_RANGES: Final = {INT8: (-128, 127), UINT8: (0, 255), INT16: (-32768, 32767)}
# The number of an operator, and the kind of its options in the union that operators have.
CODES: Final = {
    "ADD": (0, 11),
    "AVERAGE_POOL_2D": (1, 5),
    "CONCATENATION": (2, 10),
    "CONV_2D": (3, 1),
    "DEPTHWISE_CONV_2D": (4, 2),
    "DEQUANTIZE": (6, 38),
    "FULLY_CONNECTED": (9, 8),
    "LOGISTIC": (14, 0),
    "MAX_POOL_2D": (17, 5),
    "MUL": (18, 21),
    "RELU": (19, 0),
    "RELU6": (21, 0),
    "RESHAPE": (22, 17),
    "SOFTMAX": (25, 9),
    "SVDF": (27, 6),
    "TANH": (28, 0),
    "PAD": (34, 22),
    "TRANSPOSE": (39, 26),
    "MEAN": (40, 27),
    "SUB": (41, 28),
    "SQUEEZE": (43, 30),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": (44, 71),
    "STRIDED_SLICE": (45, 32),
    "SPLIT": (49, 35),
    "MAXIMUM": (55, 39),
    "MINIMUM": (57, 39),
    "PADV2": (60, 43),
    "SLICE": (65, 48),
    "TRANSPOSE_CONV": (67, 49),
    "EXPAND_DIMS": (70, 52),
    "RESIZE_NEAREST_NEIGHBOR": (97, 74),
    "LEAKY_RELU": (98, 75),
    "SPLIT_V": (102, 79),
    "QUANTIZE": (114, 89),
    "HARD_SWISH": (117, 91),
    "CALL_ONCE": (129, 103),
    "VAR_HANDLE": (142, 111),
    "READ_VARIABLE": (143, 112),
    "ASSIGN_VARIABLE": (144, 113),
}
_PLACES: Final = {name: place for place, name in enumerate(CODES)}

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Quantised:
    """A tensor in the making: what its elements stand for."""

    shape: Shape
    kind: int
    scale: float
    zero: int


@dataclass
class Network:
    """A model in the making; `kind` is the type of its images."""

    rng: Random
    kind: int = INT8
    is_plain: bool = False
    """Weights have one scale, which is a power of two: factors are then the same for uint8."""
    is_narrow: bool = False
    """Weights are of int4."""
    main: Sub = field(default_factory=Sub)
    subs: list[Sub] = field(default_factory=list)
    buffers: list[Fields] = field(default_factory=lambda: [table()])
    known: dict[int, Quantised] = field(default_factory=dict)

    # Tensors.

    def tensor(
        self, shape: Shape, kind: int | None = None, scale: float = 0.0, zero: int | None = None
    ) -> int:
        """A tensor that is computed; without a scale, one of its own."""
        kind = self.kind if kind is None else kind
        scale = scale or self.scale(kind)
        zero = self.zero(kind) if zero is None else zero
        made = self.main.tensor(*shape, kind=kind)
        if kind in _RANGES:
            self.main.tensors[made][4] = table(f2=array("f", [scale]), f3=array("q", [zero]))
            scale = struct.unpack("<f", struct.pack("<f", scale))[0]
        self.known[made] = Quantised(shape, kind, scale, zero)
        return made

    def alike(self, tensor: int, shape: Shape) -> int:
        """A tensor of another shape with the same scale."""
        about = self.known[tensor]
        return self.tensor(shape, about.kind, about.scale, about.zero)

    def scale(self, kind: int) -> float:
        """A scale with which elements stand for numbers of about 1 to 8."""
        if kind == INT16 and self.rng.random() < 0.2:
            # Functions with a table of their own treat powers of two in another way.
            return self.rng.choice((1 / 2048, 1 / 4096, 1 / 8192))
        steps = {INT16: 32768.0}.get(kind, 128.0)
        return 1.0 if kind not in _RANGES else self.rng.uniform(1.0, 8.0) / steps

    def zero(self, kind: int) -> int:
        """A zero point; often at an end of the range."""
        if kind not in (INT8, UINT8):
            return 0
        least, most = _RANGES[kind]
        return self.rng.choice((least, most, (least + most + 1) // 2, self.rng.randint(least, most)))

    def constant(
        self,
        shape: Shape,
        kind: int,
        values: Sequence[float],
        scales: Sequence[float] = (),
        axis: int = 0,
        zeros: Sequence[int] = (),
    ) -> int:
        """A tensor with content."""
        made = self.main.tensor(*shape, kind=kind)
        if kind == INT4:
            halves = [int(value) & 15 for value in values]
            pairs = zip_longest(halves[::2], halves[1::2], fillvalue=0)
            content = bytes(low | high << 4 for low, high in pairs)
        else:
            content = struct.pack(f"<{len(values)}{_LETTERS[kind]}", *values)
        self.buffers.append(table(f0=content))
        self.main.tensors[made][2] = ("I", len(self.buffers) - 1)
        if scales:
            zeros = zeros or [0] * len(scales)
            quantised = table(f2=array("f", scales), f3=array("q", zeros), f6=("i", axis))
            self.main.tensors[made][4] = quantised
        self.known[made] = Quantised(
            shape, kind, scales[0] if len(scales) == 1 else 1.0, zeros[0] if len(zeros) == 1 else 0
        )
        return made

    def integers(self, values: Sequence[int]) -> int:
        """A list of numbers, such as a shape."""
        return self.constant((len(values),), INT32, values)

    def content(self, shape: Shape) -> int:
        """A constant of the type of images."""
        count = prod(shape)
        if self.kind == FLOAT32:
            return self.constant(shape, FLOAT32, [self.rng.uniform(-2, 2) for _ in range(count)])
        values = [self.rng.randint(*_RANGES[self.kind]) for _ in range(count)]
        return self.constant(shape, self.kind, values, [self.scale(self.kind)], zeros=[self.zero(self.kind)])

    def weights(self, shape: Shape, channels: int, axis: int) -> tuple[int, list[float]]:
        """Weights, and the scale of each channel."""
        count = prod(shape)
        if self.kind == FLOAT32:
            return self.constant(shape, FLOAT32, [self.rng.uniform(-1, 1) for _ in range(count)]), []
        kind, most = (INT4, 7) if self.is_narrow else (INT8, 127)
        values = [self.rng.randint(-most, most) for _ in range(count)]
        many = self.rng.random() < 0.7 and not self.is_plain
        if self.is_plain:
            return self.constant(shape, INT8, values, [2.0 ** -self.rng.randint(6, 9)], axis), [1 / 128]
        scales = [self.rng.uniform(0.2, 2.0) / most for _ in range(channels if many else 1)]
        return self.constant(shape, kind, values, scales, axis), scales

    def biases(self, channels: int, terms: int, scale: float = 1.0, narrow: bool = False) -> list[int]:
        """No biases, or some of about as much as the sums of so many products.

        Those of 32 bits for elements of 16 are read as wider ones by some kernels of the runtime.
        """
        if self.rng.random() < 0.25:
            return []
        if self.kind == FLOAT32:
            return [self.constant((channels,), FLOAT32, [self.rng.uniform(-1, 1) for _ in range(channels)])]
        reach = int(sqrt(terms) * (9000 if self.kind == INT8 else 2_000_000))
        values = [self.rng.randint(-reach, reach) for _ in range(channels)]
        kind = INT32 if self.kind == INT8 or (narrow and self.rng.random() < 0.3) else INT64
        return [self.constant((channels,), kind, values, [scale])]

    def sums(self, source: int, scales: Sequence[float], terms: int) -> float:
        """A scale for sums of so many products."""
        if self.kind == FLOAT32:
            return 1.0
        mean = sum(scales) / len(scales)
        step = 1.0 if self.kind == INT8 else 256.0
        return (
            self.known[source].scale
            * mean
            * sqrt(max(terms, 1))
            * 100
            / step
            * self.rng.choice((0.3, 1.0, 1.0, 3.0))
        )

    def operator(self, name: str, inputs: Sequence[int], outputs: Sequence[int], **options: object) -> None:
        """An operator of the main subgraph."""
        run(self.main, name, inputs, outputs, **options)

    def one(self, name: str, inputs: Sequence[int], made: int, **options: object) -> int:
        """An operator with one output, which is returned."""
        self.operator(name, inputs, [made], **options)
        return made

    def activation(self) -> tuple[str, int]:
        """A number of an activation: none, RELU, RELU_N1_TO_1, RELU6."""
        return "b", self.rng.choice((0, 0, 1, 3, 2))

    def shift(self) -> None:
        """Elements of int8 become uint8, and stand for the same."""
        for tensor in self.main.tensors:
            if tensor[1] != ("b", INT8):
                continue
            tensor[1] = ("b", UINT8)
            quantised, buffer = tensor[4], tensor[2]
            assert isinstance(quantised, dict)
            assert isinstance(buffer, tuple)
            zeros = quantised[3]
            assert isinstance(zeros, array)
            quantised[3] = array("q", [zero + 128 for zero in zeros])
            content = self.buffers[buffer[1]].get(0)
            if isinstance(content, bytes):
                self.buffers[buffer[1]][0] = bytes(byte ^ 0x80 for byte in content)

    def file(self) -> bytes:
        """The model."""
        codes = [table(f0=("b", min(code, 127)), f2=("i", 1), f3=("i", code)) for code, _ in CODES.values()]
        subs: list[object] = [
            table(f0=sub.tensors, f1=list(sub.inputs), f2=list(sub.outputs), f3=sub.operators)
            for sub in (self.main, *self.subs)
        ]
        return written(table(f0=("I", 3), f1=codes, f2=subs, f4=self.buffers))

    # Operators of an image, each with one output.

    def window(self, shape: Shape, most: int = 4) -> tuple[int, int, int, int, int, int, int, Shape]:
        """Padding, strides, kernel, dilations, and rows and columns of the output."""
        rng = self.rng
        while True:
            same = rng.random() < 0.6
            kernel = rng.randint(1, most), rng.randint(1, most)
            stride = rng.choice((1, 1, 2, 3)), rng.choice((1, 1, 2, 3))
            if rng.random() < 0.5:
                kernel, stride = (kernel[0],) * 2, (stride[0],) * 2
            dilation = (rng.randint(1, 3), rng.randint(1, 3)) if rng.random() < 0.2 else (1, 1)
            extents = []
            for extent, size, step, apart in zip(shape[1:3], kernel, stride, dilation, strict=True):
                reach = (size - 1) * apart + 1
                extents.append(-(-extent // step) if same else (extent - reach) // step + 1)
            if min(extents) > 0:
                return 0 if same else 1, *stride, *kernel, *dilation, tuple(extents)

    def convolution(self, x: int) -> int:
        shape = self.known[x].shape
        padding, down, right, rows, columns, apart, aside, made = self.window(shape)
        channels = self.rng.choice((1, 2, 3, 4, 5, 8, 9))
        terms = rows * columns * shape[3]
        weights, scales = self.weights((channels, rows, columns, shape[3]), channels, 0)
        y = self.tensor((shape[0], *made, channels), scale=self.sums(x, scales, terms))
        options = {"f0": ("b", padding), "f1": ("i", right), "f2": ("i", down), "f3": self.activation()}
        options |= {"f4": ("i", aside), "f5": ("i", apart), "f6": ("b", self.rng.choice((0, 2)))}
        return self.one("CONV_2D", [x, weights, *self.biases(channels, terms, narrow=True)], y, **options)

    def plain_convolution(self, x: int, channels: int, kernel: int = 1, stride: int = 1) -> int:
        """One of a square window, with a RELU."""
        shape = self.known[x].shape
        terms = kernel * kernel * shape[3]
        weights, scales = self.weights((channels, kernel, kernel, shape[3]), channels, 0)
        made = (1, -(-shape[1] // stride), -(-shape[2] // stride), channels)
        y = self.tensor(made, scale=self.sums(x, scales, terms))
        options = {"f0": ("b", 0), "f1": ("i", stride), "f2": ("i", stride), "f3": ("b", 1)}
        return self.one("CONV_2D", [x, weights, *self.biases(channels, terms)], y, **options)

    def depthwise(self, x: int) -> int:
        shape = self.known[x].shape
        padding, down, right, rows, columns, apart, aside, made = self.window(shape)
        multiplier = self.rng.choice((1, 1, 1, 2, 3, 20)) if shape[3] < 6 else 1
        channels = shape[3] * multiplier
        weights, scales = self.weights((1, rows, columns, channels), channels, 3)
        y = self.tensor((shape[0], *made, channels), scale=self.sums(x, scales, rows * columns))
        options = {"f0": ("b", padding), "f1": ("i", right), "f2": ("i", down), "f3": ("i", multiplier)}
        options |= {"f4": self.activation(), "f5": ("i", aside), "f6": ("i", apart)}
        return self.one(
            "DEPTHWISE_CONV_2D", [x, weights, *self.biases(channels, rows * columns)], y, **options
        )

    def transpose_conv(self, x: int) -> int:
        shape, rng = self.known[x].shape, self.rng
        rows, columns = rng.randint(1, 4), rng.randint(1, 4)
        down, right = rng.randint(1, 3), rng.randint(1, 3)
        same = rng.random() < 0.5
        if same:
            # The output of which this is the size, with steps: any of `step` extents.
            made = tuple(
                (extent - 1) * step + rng.randint(1, step)
                for extent, step in zip(shape[1:3], (down, right), strict=True)
            )
        else:
            made = tuple(
                (extent - 1) * step + size + rng.choice((0, 0, 0, rng.randint(0, step - 1)))
                for extent, step, size in zip(shape[1:3], (down, right), (rows, columns), strict=True)
            )
        channels = rng.choice((1, 2, 3, 5))
        terms = max(1, rows // down) * max(1, columns // right) * shape[3]
        weights, scales = self.weights((channels, rows, columns, shape[3]), channels, 0)
        y = self.tensor((shape[0], *made, channels), scale=self.sums(x, scales, terms))
        options = {"f0": ("b", 0 if same else 1), "f1": ("i", right), "f2": ("i", down)}
        if rng.random() < 0.3:
            options["f3"] = self.activation()
        inputs = [self.integers((1, *made, channels)), weights, x, *self.biases(channels, terms)]
        return self.one("TRANSPOSE_CONV", inputs, y, **options)

    def pool(self, x: int, whole: bool = False) -> int:
        shape = self.known[x].shape
        padding, down, right, rows, columns, _, _, made = self.window(shape)
        while made == () or (padding == 1 and (rows > shape[1] or columns > shape[2])):
            padding, down, right, rows, columns, _, _, made = self.window(shape)
        if whole or self.rng.random() < 0.2:
            padding, down, right, rows, columns = 1, 1, 1, shape[1], shape[2]
        extents = [
            -(-extent // step) if padding == 0 else (extent - size) // step + 1
            for extent, step, size in zip(shape[1:3], (down, right), (rows, columns), strict=True)
        ]
        if min(extents) < 1:
            return self.pool(x)
        y = self.alike(x, (shape[0], *extents, shape[3]))
        options = {"f0": ("b", padding), "f1": ("i", right), "f2": ("i", down), "f3": ("i", columns)}
        options |= {"f4": ("i", rows), "f5": self.activation()}
        # Means of uint8 are rounded in another way.
        names = ("MAX_POOL_2D",) if self.is_plain else ("AVERAGE_POOL_2D", "MAX_POOL_2D")
        return self.one(self.rng.choice(names), [x], y, **options)

    def other(self, shape: Shape, alone: bool) -> tuple[int, Shape]:
        """A second operand, and the shape of both together."""
        rng = self.rng
        mine = tuple(1 if rng.random() < 0.3 else extent for extent in shape)
        if rng.random() < 0.5:
            mine = mine[rng.randint(0, len(mine)) :] if len(shape) > 1 else mine
        if rng.random() < 0.3:
            mine = shape
        if alone and rng.random() < 0.5:
            made = self.tensor(mine)
            self.main.inputs = [*self.main.inputs, made]
            return made, shape
        return self.content(mine), shape

    def arithmetic(self, x: int, y: int | None = None) -> int:
        rng = self.rng
        shape = self.known[x].shape
        name = rng.choice(("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM"))
        if y is None:
            y, shape = self.other(shape, alone=len(self.known) == 1)
        pair = [x, y] if rng.random() < 0.7 else [y, x]
        one, two = self.known[x], self.known[y]
        if name in ("MAXIMUM", "MINIMUM"):
            return self.one(name, pair, self.alike(x, shape))
        scale = 1.0
        if self.kind != FLOAT32:
            reach = 128.0 if self.kind == INT8 else 32768.0
            scale = one.scale * two.scale * reach if name == "MUL" else max(one.scale, two.scale)
            scale *= rng.choice((0.6, 1.0, 1.5, 3.0))
        made = self.tensor(shape, scale=scale)
        return self.one(name, pair, made, f0=self.activation())

    def unary(self, x: int) -> int:
        name = self.rng.choice(("RELU", "RELU6", "LOGISTIC", "TANH", "LEAKY_RELU", "HARD_SWISH"))
        return self.unary_of(name, x)

    def unary_of(self, name: str, x: int) -> int:
        about = self.known[x]
        if name == "RELU6":
            y = self.alike(x, about.shape)
        elif name in ("LOGISTIC", "TANH") and self.kind != FLOAT32:
            scale, zero = {
                ("LOGISTIC", INT8): (1 / 256, -128),
                ("TANH", INT8): (1 / 128, 0),
                ("LOGISTIC", INT16): (1 / 32768, 0),
                ("TANH", INT16): (1 / 32768, 0),
            }[name, self.kind]
            y = self.tensor(about.shape, scale=scale, zero=zero)
        else:
            y = self.tensor(about.shape)
        slope = {"f0": ("f", self.rng.choice((0.1, 0.3, 0.01, 1.5, -0.2)))} if name == "LEAKY_RELU" else {}
        return self.one(name, [x], y, **slope)

    def requantise(self, x: int) -> int:
        about = self.known[x]
        if self.kind == FLOAT32:
            between = self.one("QUANTIZE", [x], self.tensor(about.shape, self.rng.choice((INT8, INT16))))
            return self.one("DEQUANTIZE", [between], self.tensor(about.shape, FLOAT32))
        if self.rng.random() < 0.3:
            between = self.one("DEQUANTIZE", [x], self.tensor(about.shape, FLOAT32))
            return self.one("QUANTIZE", [between], self.tensor(about.shape, self.kind))
        kinds = {INT8: (INT8, INT16, INT32, UINT8), INT16: (INT8, INT16, INT32)}[self.kind]
        kind = self.rng.choice(kinds)
        if kind == self.kind:
            return self.one("QUANTIZE", [x], self.tensor(about.shape))
        if kind == INT32:
            # With the scale of a sum: nothing else has 32 bits.
            between = self.main.tensor(*about.shape, kind=INT32)
            scale = about.scale * self.rng.uniform(0.001, 2.0)
            self.main.tensors[between][4] = table(f2=array("f", [scale]), f3=array("q", [0]))
            self.known[between] = Quantised(about.shape, INT32, scale, 0)
        else:
            between = self.tensor(about.shape, kind)
        self.operator("QUANTIZE", [x], [between])
        return self.one("QUANTIZE", [between], self.tensor(about.shape, self.kind))

    def softmax(self, x: int) -> int:
        about = self.known[x]
        beta = self.rng.choice((1.0, 1.0, 0.1, 3.0))
        if self.kind == INT8:
            if self.rng.random() < 0.2 and not self.is_plain:
                y = self.tensor(about.shape, INT16, 1 / 65536, -32768)
            else:
                y = self.tensor(about.shape, scale=1 / 256, zero=-128)
        elif self.kind == INT16:
            y = self.tensor(about.shape, scale=1 / 32768, zero=0)
        else:
            y = self.tensor(about.shape)
        return self.one("SOFTMAX", [x], y, f0=("f", beta))

    def dense(self, x: int) -> int:
        shape, rng = self.known[x].shape, self.rng
        count = prod(shape)
        depth = count
        if rng.random() < 0.3:
            depth = rng.choice([part for part in (shape[-1], count) if count % part == 0])
        outputs = rng.choice((1, 2, 4, 5, 10))
        weights, scales = self.weights((outputs, depth), outputs, 0)
        batches = count // depth
        keep = depth == shape[-1] and rng.random() < 0.5
        made = (*shape[:-1], outputs) if keep else (batches, outputs)
        y = self.tensor(made, scale=self.sums(x, scales, depth))
        options = {"f0": self.activation(), "f1": ("b", 0), "f4": ("b", self.rng.choice((0, 2)))}
        if keep:
            options["f2"] = ("B", 1)
        # The runtime checks that of one scale, as it is of sums.
        scale = self.known[x].scale * scales[0] if len(scales) == 1 else 1.0
        biases = self.biases(outputs, depth, scale, narrow=True)
        return self.one("FULLY_CONNECTED", [x, weights, *biases], y, **options)

    def mean(self, x: int) -> int:
        shape, rng = self.known[x].shape, self.rng
        rank = len(shape)
        axes = (
            [1, 2]
            if rank == 4 and rng.random() < 0.6
            else sorted(rng.sample(range(rank), rng.randint(1, rank)))
        )
        keep = rng.random() < 0.5
        left = [1 if at in axes else extent for at, extent in enumerate(shape) if keep or at not in axes]
        listed = [axis - rank if rng.random() < 0.3 else axis for axis in axes]
        rng.shuffle(listed)
        about = self.known[x]
        y = (
            self.alike(x, tuple(left))
            if rng.random() < 0.3
            else self.tensor(tuple(left), scale=about.scale * rng.uniform(0.2, 1.2))
        )
        return self.one("MEAN", [x, self.integers(listed)], y, f0=("B", int(keep)))

    def reshape(self, x: int) -> int:
        shape, rng = self.known[x].shape, self.rng
        name = rng.choice(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"))
        if name == "SQUEEZE" and (1 not in shape or prod(shape) == 1):
            name = "RESHAPE"
        if name == "RESHAPE":
            parts = [
                [prod(shape)],
                [1, prod(shape)],
                [shape[0], prod(shape[1:])],
                [1, *shape],
                [*shape[1:], shape[0]],
            ]
            made = rng.choice(parts)
            return self.one("RESHAPE", [x, self.integers(made)], self.alike(x, tuple(made)), f0=list(made))
        if name == "SQUEEZE":
            axis = rng.choice([at for at, extent in enumerate(shape) if extent == 1])
            made = [extent for at, extent in enumerate(shape) if at != axis]
            return self.one("SQUEEZE", [x], self.alike(x, tuple(made)), f0=[axis])
        axis = rng.randint(0, len(shape))
        made = [*shape[:axis], 1, *shape[axis:]]
        return self.one("EXPAND_DIMS", [x, self.integers([axis])], self.alike(x, tuple(made)))

    def concatenation(self, x: int, more: Sequence[int] = ()) -> int:
        shape, rng = self.known[x].shape, self.rng
        axis = len(shape) - 1 if more else rng.randrange(len(shape))
        parts = [x, *more]
        if not more:
            for _ in range(rng.randint(1, 3)):
                part = tuple(rng.randint(1, 5) if at == axis else extent for at, extent in enumerate(shape))
                parts.append(self.copied(x, part))
        rng.shuffle(parts)
        total = sum(self.known[part].shape[axis] for part in parts)
        made = tuple(total if at == axis else extent for at, extent in enumerate(shape))
        listed = axis - len(shape) if rng.random() < 0.4 else axis
        return self.one("CONCATENATION", parts, self.alike(x, made), f0=("i", listed))

    def copied(self, x: int, shape: Shape) -> int:
        """A constant or an input with the scale of another tensor."""
        about = self.known[x]
        if self.rng.random() < 0.3:
            made = self.alike(x, shape)
            self.main.inputs = [*self.main.inputs, made]
            return made
        count = prod(shape)
        if about.kind == FLOAT32:
            return self.constant(shape, FLOAT32, [self.rng.uniform(-2, 2) for _ in range(count)])
        values = [self.rng.randint(*_RANGES[about.kind]) for _ in range(count)]
        return self.constant(shape, about.kind, values, [about.scale], zeros=[about.zero])

    def split(self, x: int) -> int:
        shape, rng = self.known[x].shape, self.rng
        axis = rng.randrange(len(shape))
        listed = axis - len(shape) if rng.random() < 0.4 else axis
        by_sizes = rng.random() < 0.5 and shape[axis] > 1
        if by_sizes:
            cut = rng.randint(1, shape[axis] - 1)
            sizes = [cut, shape[axis] - cut]
        else:
            count = rng.choice([n for n in range(1, shape[axis] + 1) if shape[axis] % n == 0 and n <= 4])
            sizes = [shape[axis] // count] * count
        parts = [
            self.alike(x, tuple(size if at == axis else extent for at, extent in enumerate(shape)))
            for size in sizes
        ]
        if by_sizes:
            inputs = [x, self.integers(sizes), self.constant((), INT32, [listed])]
            self.operator("SPLIT_V", inputs, parts, f0=("i", len(parts)))
        else:
            self.operator("SPLIT", [self.constant((), INT32, [listed]), x], parts, f0=("i", len(parts)))
        self.main.outputs = [*self.main.outputs, *parts[1:]]
        return parts[0]

    def strided_slice(self, x: int) -> int:
        shape, rng = self.known[x].shape, self.rng
        while True:
            begins, ends, steps, made = [], [], [], []
            masks = [0, 0, 0]
            for at, extent in enumerate(shape):
                step = rng.choice((1, 1, 1, 2, 3, -1, -2))
                begin, end = rng.randint(-extent - 1, extent + 1), rng.randint(-extent - 1, extent + 1)
                for bit, chance in enumerate((0.4, 0.4, 0.1)):
                    masks[bit] |= (rng.random() < chance) << at
                if masks[2] >> at & 1:
                    step, masks[0] = 1, masks[0] & ~(1 << at)
                    begin = rng.randint(-extent, extent - 1)
                    end = begin + 1
                low, high = (0, extent) if step > 0 else (-1, extent - 1)
                first = min(max(begin + extent * (begin < 0), low), high)
                last = min(max(end + extent * (end < 0), low), high)
                if masks[0] >> at & 1:
                    first = 0 if step > 0 else extent - 1
                if masks[1] >> at & 1:
                    last = extent if step > 0 else -1
                if masks[2] >> at & 1:
                    last = first + 1
                else:
                    made.append(-(-(last - first) // step))
                begins.append(begin)
                ends.append(end)
                steps.append(step)
            if min(made, default=1) > 0:
                break
        inputs = [x, *map(self.integers, (begins, ends, steps))]
        options = {"f0": ("i", masks[0]), "f1": ("i", masks[1]), "f4": ("i", masks[2])}
        return self.one("STRIDED_SLICE", inputs, self.alike(x, tuple(made)), **options)

    def slice(self, x: int) -> int:
        shape, rng = self.known[x].shape, self.rng
        begins = [rng.randrange(extent) for extent in shape]
        made = [rng.randint(1, extent - begin) for begin, extent in zip(begins, shape, strict=True)]
        sizes = [
            -1 if begin + part == extent and rng.random() < 0.5 else part
            for begin, part, extent in zip(begins, made, shape, strict=True)
        ]
        return self.one("SLICE", [x, self.integers(begins), self.integers(sizes)], self.alike(x, tuple(made)))

    def transpose(self, x: int) -> int:
        shape = self.known[x].shape
        axes = self.rng.sample(range(len(shape)), len(shape))
        made = tuple(shape[axis] for axis in axes)
        return self.one("TRANSPOSE", [x, self.integers(axes)], self.alike(x, made))

    def pad(self, x: int) -> int:
        about, rng = self.known[x], self.rng
        shape = about.shape
        images = len(shape) == 4 and rng.random() < 0.6
        margins = [0 if images and at in (0, 1, 6, 7) else rng.randint(0, 2) for at in range(2 * len(shape))]
        made = tuple(extent + margins[2 * at] + margins[2 * at + 1] for at, extent in enumerate(shape))
        inputs = [x, self.constant((len(shape), 2), INT32, margins)]
        name = rng.choice(("PAD", "PADV2"))
        if name == "PADV2":
            if about.kind == FLOAT32:
                inputs.append(self.constant((1,), FLOAT32, [rng.uniform(-3, 3)]))
            else:
                value = rng.randint(*_RANGES[about.kind])
                inputs.append(self.constant((1,), about.kind, [value], [about.scale], zeros=[about.zero]))
        return self.one(name, inputs, self.alike(x, made))

    def nearest(self, x: int) -> int:
        shape, rng = self.known[x].shape, self.rng
        made = (1, rng.randint(1, 3 * shape[1]), rng.randint(1, 3 * shape[2]), shape[3])
        corners = rng.random() < 0.4
        centers = not corners and rng.random() < 0.4
        options = {"f0": ("B", int(corners)), "f1": ("B", int(centers))}
        return self.one(
            "RESIZE_NEAREST_NEIGHBOR", [x, self.integers(made[1:3])], self.alike(x, made), **options
        )

    def variable(self, x: int) -> int:
        """The last input, by a variable that a subgraph sets at first or not."""
        about = self.known[x]
        name = f"v{len(self.subs)}"
        if self.rng.random() < 0.6:
            first = Sub()
            start = first.tensor(*about.shape, kind=about.kind)
            letter = _LETTERS[about.kind]
            values = [self.rng.randint(-100, 100) for _ in range(prod(about.shape))]
            self.buffers.append(table(f0=struct.pack(f"<{len(values)}{letter}", *values)))
            first.tensors[start][2] = ("I", len(self.buffers) - 1)
            handle = first.tensor(1, kind=RESOURCE)
            run(first, "VAR_HANDLE", [], [handle], f0="", f1=name)
            run(first, "ASSIGN_VARIABLE", [handle, start], [])
            self.subs.append(first)
            self.operator("CALL_ONCE", [], [], f0=("i", len(self.subs)))
        else:
            self.subs.append(Sub())
        held = self.main.tensor(1, kind=RESOURCE)
        self.operator("VAR_HANDLE", [], [held], f0="", f1=name)
        kept = self.alike(x, about.shape)
        self.operator("READ_VARIABLE", [held], [kept])
        y = self.alike(x, about.shape)
        self.operator("MAXIMUM", [kept, x], [y])
        self.operator("ASSIGN_VARIABLE", [held, x], [])
        return y

    def svdf(self, x: int) -> int:
        """A filter that keeps what it made of its last inputs."""
        shape, rng = self.known[x].shape, self.rng
        if len(shape) != 2:
            flat = (1, prod(shape))
            x = self.one("RESHAPE", [x, self.integers(flat)], self.alike(x, flat), f0=list(flat))
            shape = flat
        rank, units, memory = rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 5)
        filters = rank * units
        kind = rng.choice((INT8, INT16))
        feature = self.constant(
            (filters, shape[1]), INT8, [rng.randint(-127, 127) for _ in range(filters * shape[1])], [0.01]
        )
        reach = _RANGES[kind]
        time = self.constant(
            (filters, memory), kind, [rng.randint(*reach) for _ in range(filters * memory)], [0.01]
        )
        state_scale = self.known[x].scale * 0.01 * 75 * 75 * sqrt(shape[1]) / (70 if kind == INT8 else 18000)
        state = self.main.tensor(shape[0], filters * memory, kind=kind, variable=True)
        self.main.tensors[state][4] = table(f2=array("f", [state_scale]), f3=array("q", [0]))
        reach_of_sum = 75 * 75 if kind == INT8 else 18000 * 18000
        y = self.tensor((shape[0], units), scale=state_scale * 0.01 * reach_of_sum * sqrt(memory * rank) / 80)
        bias = self.constant(
            (units,),
            INT32,
            [rng.randint(-reach_of_sum, reach_of_sum) for _ in range(units)],
            [state_scale * 0.01],
        )
        return self.one("SVDF", [x, feature, time, bias, state], y, f0=("i", rank), f1=("b", 0))

    def lstm(self, x: int) -> int:
        """Several steps of a layer that keeps a hidden state and cells."""
        shape, rng = self.known[x].shape, self.rng
        if len(shape) != 3:
            parts = (rng.choice((1, 2)) if prod(shape) % 2 == 0 else 1, 1, 0)
            steps = rng.choice([n for n in (1, 2, 3) if prod(shape) // parts[0] % n == 0])
            shape = (parts[0], steps, prod(shape) // parts[0] // steps)
            x = self.one("RESHAPE", [x, self.integers(shape)], self.alike(x, shape), f0=list(shape))
        units, time_major = rng.randint(1, 6), rng.random() < 0.3
        batches = shape[1] if time_major else shape[0]
        source = self.known[x].scale
        hidden_scale, zero, cell_kind = 1.0, 0, FLOAT32
        hidden = self.main.tensor(batches, units, kind=self.kind, variable=True)
        if self.kind != FLOAT32:
            hidden_scale, cell_kind = self.scale(self.kind) / 4, INT16
            zero = self.zero(self.kind)
            self.main.tensors[hidden][4] = table(f2=array("f", [hidden_scale]), f3=array("q", [zero]))
        cells = self.main.tensor(batches, units, kind=cell_kind, variable=True)
        if self.kind != FLOAT32:
            cell_scale = rng.choice((1 / 4096, 1 / 2048, 1 / 8192, 1 / 1024))
            self.main.tensors[cells][4] = table(f2=array("f", [cell_scale]), f3=array("q", [0]))
        weights, biases = [], []
        for depth in (shape[2], units):
            for _ in range(4):
                if self.kind == FLOAT32:
                    weights.append(self.content((units, depth)))
                    continue
                values = [rng.randint(-127, 127) for _ in range(units * depth)]
                weights.append(
                    self.constant((units, depth), INT8, values, [rng.uniform(0.3, 3.0) / 127 / sqrt(depth)])
                )
        kind = INT32 if self.kind == INT8 else INT64
        reach = int(sqrt(shape[2]) * (5000 if self.kind == INT8 else 1_000_000))
        for _ in range(4):
            if self.kind == FLOAT32:
                biases.append(self.content((units,)))
                continue
            values = [rng.randint(-reach, reach) for _ in range(units)]
            biases.append(self.constant((units,), kind, values, [source * 0.01]))
        y = self.tensor((*shape[:2], units), scale=hidden_scale, zero=zero)
        inputs = [x, *weights, -1, -1, -1, *biases, -1, -1, hidden, cells, -1, -1, -1, -1]
        clip = rng.choice((0.0, 0.0, 10.0, 0.5))
        options = {"f0": ("b", 4), "f1": ("f", clip), "f3": ("B", int(time_major))}
        return self.one("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, y, **options)


def run(sub: Sub, name: str, inputs: Sequence[int], outputs: Sequence[int], **options: object) -> None:
    """An operator with the options of its kind."""
    sub.operator(_PLACES[name], inputs, outputs, table(**options) if CODES[name][1] else None)
    if CODES[name][1]:
        sub.operators[-1][3] = ("B", CODES[name][1])


_Maker = Callable[[Network, int], int]
IMAGES: Final[Mapping[str, _Maker]] = {
    "convolution": Network.convolution,
    "depthwise": Network.depthwise,
    "transpose_conv": Network.transpose_conv,
    "pool": Network.pool,
    "nearest": Network.nearest,
}
"""Operators that need an image."""
ANY: Final[Mapping[str, _Maker]] = {
    "arithmetic": Network.arithmetic,
    "unary": Network.unary,
    "requantise": Network.requantise,
    "softmax": Network.softmax,
    "dense": Network.dense,
    "mean": Network.mean,
    "reshape": Network.reshape,
    "concatenation": Network.concatenation,
    "split": Network.split,
    "strided_slice": Network.strided_slice,
    "slice": Network.slice,
    "transpose": Network.transpose,
    "pad": Network.pad,
    "variable": Network.variable,
    "svdf": Network.svdf,
    "lstm": Network.lstm,
}
"""Operators of tensors of any shape."""


@dataclass(frozen=True)
class Made:
    """A random model by a name that says how to make it again, and what the runtime runs for it."""

    name: str
    model: bytes
    reference: bytes
    """Of uint8, which it cannot run, the same with elements of int8."""


SHIFTED: Final = (
    "convolution", "depthwise", "transpose_conv", "pool", "arithmetic", "softmax", "dense", "mean", "reshape",
    "concatenation", "split", "pad", "strided_slice", "transpose",
)  # fmt: skip
"""What has kernels for elements of uint8."""
NARROW: Final = ("convolution", "depthwise", "dense")
"""What the runtime takes weights of int4 for."""


def model_of(what: str, kind: str, seed: int) -> Made:
    """One operator alone, or a network; of uint8 as well."""
    rng = Random(f"{what} {kind} {seed}")
    net = Network(rng, KINDS.get(kind, INT8), is_plain=kind == "uint8", is_narrow=kind == "int4")
    if what == "hourglass":
        _hourglass(net)
    elif what == "bridge":
        _bridge(net)
    elif what == "wide":
        _wide(net)
    elif what == "network":
        _network(net, SHIFTED if kind == "uint8" else (*IMAGES, *ANY))
    else:
        _alone(net, what)
    reference = net.file()
    if kind == "uint8":
        net.shift()
    return Made(f"{what}_{kind}_{seed}", net.file(), reference)


def _alone(net: Network, name: str) -> None:
    """One operator, or one with what it needs around it."""
    rng = net.rng
    if name in IMAGES or rng.random() < 0.6:
        shape: Shape = (1, rng.randint(1, 9), rng.randint(1, 9), rng.choice((1, 2, 3, 4, 5, 16, 17)))
        if name in ("convolution", "depthwise", "pool"):
            # Without a number of the other random ones, which make the same models as ever.
            shape = (Random(f"{name} {shape}").choice((1, 1, 1, 2, 3)), *shape[1:])
    else:
        shape = tuple(rng.randint(1, 6) for _ in range(rng.randint(1, 4)))
    x = net.tensor(shape)
    net.main.inputs = [x]
    y = {**IMAGES, **ANY}[name](net, x)
    net.main.outputs = [y, *net.main.outputs]


def _hourglass(net: Network) -> None:
    """A wide image that is cheap to make and is needed twice, with narrow ones between."""
    rng = net.rng
    x = net.tensor((1, rng.choice((8, 12, 16)), rng.choice((8, 13)), rng.choice((1, 2))))
    net.main.inputs = [x]
    wide = net.plain_convolution(x, rng.choice((12, 24)))
    small = net.plain_convolution(wide, 2, kernel=3, stride=2)
    for _ in range(rng.randint(1, 3)):
        small = net.plain_convolution(small, rng.choice((6, 12)), kernel=rng.choice((1, 3)))
        small = net.plain_convolution(small, 2)
    shape = net.known[wide].shape
    large = net.alike(small, (*shape[:3], 2))
    net.operator("RESIZE_NEAREST_NEIGHBOR", [small, net.integers(shape[1:3])], [large])
    other = net.plain_convolution(large, shape[3])
    y = net.arithmetic(wide, other)
    end = rng.random()
    if end < 0.4:
        y = net.pool(y, whole=True)
    elif end < 0.7:
        y = net.dense(y)
    net.main.outputs = [y]


def _bridge(net: Network) -> None:
    """An image that waits while wider ones are made, and is needed again."""
    rng = net.rng
    x = net.tensor((1, rng.choice((5, 8)), rng.choice((6, 9)), 2))
    net.main.inputs = [x]
    waits = net.plain_convolution(x, rng.choice((6, 8)), kernel=3)
    y = waits
    for _ in range(rng.randint(2, 4)):
        y = net.plain_convolution(y, rng.choice((10, 12)), kernel=rng.choice((1, 3)))
    y = net.plain_convolution(y, net.known[waits].shape[3])
    net.main.outputs = [net.arithmetic(waits, y)]


_ON_WIDE: Final = ("depthwise", "depthwise", "pool", "constant", "unary", "nearest", "requantise")


def _wide(net: Network) -> None:
    """Blocks in which a small image of few channels has many for a while."""
    rng = net.rng
    y = net.tensor((1, rng.randint(2, 9), rng.randint(2, 9), rng.choice((2, 3, 4, 5))))
    net.main.inputs = [y]
    for _ in range(rng.randint(1, 3)):
        narrow = net.known[y].shape[3]
        channels = narrow * rng.choice((6, 9, 12)) + rng.randint(0, 3)
        wide = net.plain_convolution(y, channels, rng.choice((1, 1, 3)))
        for _ in range(rng.randint(0, 2)):
            # Floating point that was added up in another order may be rounded to another whole number.
            most = 4 if net.is_plain else -1 if net.kind == FLOAT32 else len(_ON_WIDE)
            step = rng.choice(_ON_WIDE[:most])
            shape = net.known[wide].shape
            if step == "constant":
                shapes: Sequence[Shape] = (shape[3:], (1, 1, 1, shape[3]), shape[1:], (*shape[:3], 1), ())
                wide = net.arithmetic(wide, net.content(rng.choice(shapes)))
            elif net.known[wide].kind == net.kind:
                wide = {**IMAGES, **ANY}[step](net, wide)
        is_plain = rng.random() < 0.7
        end = net.plain_convolution(wide, rng.choice((narrow, 3))) if is_plain else net.convolution(wide)
        y = net.arithmetic(y, end) if net.known[y].shape == net.known[end].shape else end
    net.main.outputs = [y]


_STEPS: Final = (
    "convolution", "convolution", "depthwise", "depthwise", "pool", "unary", "arithmetic", "pad", "nearest",
    "transpose_conv", "requantise", "concatenation", "variable", "split", "strided_slice", "softmax",
)  # fmt: skip


def _network(net: Network, names: Sequence[str]) -> None:
    """Some operators: a stem, branches that meet, and an end."""
    rng = net.rng
    x = net.tensor((1, rng.randint(6, 20), rng.randint(6, 20), rng.choice((1, 3, 4))))
    net.main.inputs = [x]
    images = [x]
    makers = [{**IMAGES, **ANY}[name] for name in _STEPS if name in names]
    for _ in range(rng.randint(3, 12)):
        source = images[-1] if rng.random() < 0.7 else rng.choice(images)
        alike = [entry for entry in images if net.known[entry].shape == net.known[source].shape]
        beside = [
            entry
            for entry in images
            if net.known[entry].shape[:3] == net.known[source].shape[:3]
            and (net.known[entry].scale, net.known[entry].zero)
            == (net.known[source].scale, net.known[source].zero)
        ]
        dice = rng.random()
        if dice < 0.2:
            y = net.arithmetic(source, rng.choice(alike))
        elif dice < 0.3 and len(beside) > 1:
            y = net.concatenation(source, [rng.choice(beside)])
        else:
            y = rng.choice(makers)(net, source)
        shape = net.known[y].shape
        if len(shape) == 4 and shape[0] == 1 and prod(shape) < 20_000 and net.known[y].kind == net.kind:
            images.append(y)
        else:
            net.main.outputs = [*net.main.outputs, y]
    y = images[-1]
    end = rng.random()
    if end < 0.3 and not net.is_plain:
        y = net.mean(y)
    elif end < 0.5:
        y = net.dense(y)
    elif end < 0.7:
        y = net.softmax(net.dense(net.pool(y, whole=True)))
    net.main.outputs = list(dict.fromkeys([y, *net.main.outputs]))
