"""A network like those that find people in small images: int8, and TensorFlow Lite Micro runs it.

`python -m tests.person_model FILE` writes it. The weights are made up.
"""

import sys
from array import array
from dataclasses import dataclass, field
from math import prod, sqrt
from pathlib import Path
from random import Random
from typing import Final

from tests.tflite_models import INT8, Fields, Sub, table, written

# The code of an operator, and the kind of its options.
_CODES: Final = {
    "CONCATENATION": (2, 10),
    "CONV_2D": (3, 1),
    "DEPTHWISE_CONV_2D": (4, 2),
    "AVERAGE_POOL_2D": (1, 5),
    "FULLY_CONNECTED": (9, 8),
    "SOFTMAX": (25, 9),
}
_PLACES: Final = {name: place for place, name in enumerate(_CODES)}
_GAIN: Final = 0.02
Image = tuple[int, int, int, int]


def person_model() -> bytes:
    """The model."""
    net = _Network()
    image = net.tensor((1, 96, 96, 1), "image")
    net.main.inputs = [image]
    wide = net.conv(image, 8, "stem", kernel=3, stride=2)
    wide = net.depthwise(wide, "block1/depthwise")
    wide = net.conv(wide, 16, "block1/expand")
    half = net.depthwise(wide, "block2/depthwise", stride=2)
    left = net.conv(half, 32, "block2/left")
    right = net.depthwise(net.conv(half, 32, "block2/right"), "block2/right/depthwise")
    both = net.join([left, net.conv(right, 16, "block2/right/project")], "block2/join")
    small = net.conv(net.depthwise(both, "block3/depthwise", stride=2), 64, "block3/expand")
    net.end(small)
    return net.file()


@dataclass
class _Network:
    main: Sub = field(default_factory=Sub)
    shapes: dict[int, Image] = field(default_factory=dict)
    buffers: list[Fields] = field(default_factory=lambda: [table()])
    rng: Random = field(default_factory=lambda: Random(1))

    def tensor(self, shape: tuple[int, ...], name: str, scale: float = 0.5) -> int:
        made = self.main.tensor(*shape, kind=INT8)
        self.main.tensors[made] |= table(f3=name, f4=table(f2=array("f", [scale]), f3=array("q", [0])))
        if len(shape) == 4:
            self.shapes[made] = (shape[0], shape[1], shape[2], shape[3])
        return made

    def weights(self, shape: tuple[int, ...], name: str) -> int:
        count, read = prod(shape), prod(shape[1:3] if shape[0] == 1 else shape[1:])
        # What a layer makes is then about as large as what it reads.
        made = self.tensor(shape, name, scale=_GAIN / sqrt(read))
        self.buffers.append(table(f0=bytes(self.rng.randrange(256) for _ in range(count))))
        self.main.tensors[made][2] = ("I", len(self.buffers) - 1)
        return made

    def run(self, kind: str, inputs: list[int], made: int, **options: object) -> int:
        self.main.operator(_PLACES[kind], inputs, [made], table(**options))
        self.main.operators[-1][3] = ("B", _CODES[kind][1])
        return made

    def conv(self, source: int, channels: int, name: str, kernel: int = 1, stride: int = 1) -> int:
        _, rows, columns, depth = self.shapes[source]
        weights = self.weights((channels, kernel, kernel, depth), f"{name}/weights")
        made = self.tensor((1, rows // stride, columns // stride, channels), f"{name}/Relu")
        return self.run("CONV_2D", [source, weights], made, f1=("i", stride), f2=("i", stride), f3=("b", 1))

    def depthwise(self, source: int, name: str, stride: int = 1) -> int:
        _, rows, columns, depth = self.shapes[source]
        weights = self.weights((1, 3, 3, depth), f"{name}/weights")
        made = self.tensor((1, rows // stride, columns // stride, depth), f"{name}/Relu")
        strides = {"f1": ("i", stride), "f2": ("i", stride), "f3": ("i", 1), "f4": ("b", 1)}
        return self.run("DEPTHWISE_CONV_2D", [source, weights], made, **strides)

    def join(self, sources: list[int], name: str) -> int:
        _, rows, columns, _ = self.shapes[sources[0]]
        depth = sum(self.shapes[source][3] for source in sources)
        return self.run("CONCATENATION", sources, self.tensor((1, rows, columns, depth), name), f0=("i", 3))

    def end(self, source: int) -> None:
        """Pool, weigh and choose."""
        _, rows, columns, depth = self.shapes[source]
        pooled = self.tensor((1, 1, 1, depth), "pool")
        sizes = {"f1": ("i", 1), "f2": ("i", 1), "f3": ("i", columns), "f4": ("i", rows)}
        self.run("AVERAGE_POOL_2D", [source], pooled, f0=("b", 1), **sizes)
        scores = self.tensor((1, 2), "scores")
        self.run("FULLY_CONNECTED", [pooled, self.weights((2, depth), "dense/weights")], scores)
        chosen = self.tensor((1, 2), "person")
        quantization = table(f2=array("f", [1 / 256]), f3=array("q", [-128]))
        self.main.tensors[chosen][4] = quantization
        self.main.outputs = [self.run("SOFTMAX", [scores], chosen, f0=("f", 0.1))]

    def file(self) -> bytes:
        codes = [table(f0=("b", code), f2=("i", 1), f3=("i", code)) for code, _ in _CODES.values()]
        sub = table(f0=self.main.tensors, f1=self.main.inputs, f2=self.main.outputs, f3=self.main.operators)
        return written(table(f0=("I", 3), f1=codes, f2=[sub], f4=self.buffers))


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(person_model())
