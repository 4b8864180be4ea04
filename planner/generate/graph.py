"""Graphs like those of programs that people plan memory for: chains, cells, wiring, training steps."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from memstow.planner.generate.random_problems import Chance
from memstow.planner.model.graph import Graph, Operator, Tensor

_NEIGHBOURS: Final = 4
_REWIRED: Final = 0.75
_BLOCKS: Final = 5
_SMALLEST: Final = 64


class _Builder:
    """Adds operators until there are enough of them."""

    def __init__(self, chance: Chance, limit: int) -> None:
        self.chance = chance
        self.limit = limit
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []

    @property
    def left(self) -> int:
        """How many operators are still to be added."""
        return self.limit - len(self.operators)

    def tensor(self, size: int, kind: str = "data") -> str:
        """A tensor that nobody makes yet."""
        name = f"t{len(self.tensors)}"
        self.tensors.append(Tensor(id=name, size=size, kind="state" if kind == "state" else "data"))
        return name

    def apply(self, kind: str, inputs: Sequence[str], size: int, in_place: bool = False) -> str:
        """An operator that reads these and makes a tensor; past the limit it is the first input."""
        if not self.left:
            return inputs[0]
        output = self.tensor(size)
        self.operators.append(
            Operator(
                id=f"o{len(self.operators)}",
                type=kind,
                inputs=list(dict.fromkeys(inputs)),
                outputs=[output],
                in_place=[(name, output) for name in dict.fromkeys(inputs)] if in_place else [],
            )
        )
        return output

    def size_of(self, tensor: str) -> int:
        """The bytes of a tensor."""
        return self.tensors[int(tensor[1:])].size or 0


def graph(n: int, seed: int, *, family: str = "cells") -> Graph:
    """A graph of n operators of this family."""
    builder = _Builder(Chance(seed), n)
    source = builder.tensor(4096 * builder.chance.between(4, 64))
    make = {"chain": _chain, "cells": _cells, "wiring": _wiring, "training": _training}[family]
    make(builder, source)
    read = {name for operator in builder.operators for name in operator.inputs}
    outputs = [name for operator in builder.operators for name in operator.outputs]
    states = {tensor.id for tensor in builder.tensors if tensor.kind == "state"}
    return Graph(
        version=1,
        name=f"{family} n={n} seed={seed}",
        tensors=builder.tensors,
        operators=builder.operators,
        inputs=[source],
        outputs=[name for name in outputs if name not in read and name not in states],
    )


def _chain(builder: _Builder, tensor: str) -> None:
    """One operator after the other; now and then a tensor is added again further on."""
    earlier = tensor
    while builder.left:
        tensor = builder.apply("conv", [tensor], _grown(builder, tensor))
        tensor = builder.apply("relu", [tensor], builder.size_of(tensor), in_place=True)
        if builder.chance.happens(0.2) and earlier != tensor:
            tensor = builder.apply("add", [tensor, earlier], builder.size_of(tensor), in_place=True)
        if builder.chance.happens(0.2):
            earlier = tensor


def _cells(builder: _Builder, tensor: str) -> None:
    """Cells of architecture search: blocks that add two operators each, whose results are put together."""
    before, now, size = tensor, tensor, builder.size_of(tensor)
    while builder.left:
        size //= builder.chance.pick((1, 1, 2))
        if size < _SMALLEST:
            size = builder.size_of(tensor)
        ready = [before, now]
        unused: list[str] = []
        for _ in range(_BLOCKS):
            ends = []
            for _ in range(2):
                source = builder.chance.pick(ready)
                if source in unused:
                    unused.remove(source)
                ends.append(builder.apply(builder.chance.pick(("conv", "pool", "depthwise")), [source], size))
            output = builder.apply("add", ends, size, in_place=True)
            ready.append(output)
            unused.append(output)
        before, now = now, builder.apply("concat", unused, size * len(set(unused)))


def _wiring(builder: _Builder, tensor: str) -> None:
    """A ring of neighbours with most edges moved at random, as by Watts and Strogatz; edges point upwards."""
    count = max(builder.left - 1, 1)
    reach = min(_NEIGHBOURS // 2, (count - 1) // 2)
    edges: set[tuple[int, int]] = set()
    for node in range(count):
        for step in range(1, reach + 1):
            other = (node + step) % count
            if builder.chance.happens(_REWIRED):
                other = builder.chance.below(count)
            if other != node:
                edges.add((min(node, other), max(node, other)))
    inputs: list[list[int]] = [[] for _ in range(count)]
    for first, then in sorted(edges):
        inputs[then].append(first)
    outputs: list[str] = []
    for node in range(count):
        size = 4 * builder.chance.between(1, 1024)
        outputs.append(builder.apply("node", [outputs[input_] for input_ in inputs[node]] or [tensor], size))
    read = {first for first, _ in edges}
    ends = [outputs[node] for node in range(count) if node not in read]
    builder.apply("sum", ends, max(map(builder.size_of, ends)))


def _training(builder: _Builder, tensor: str) -> None:
    """A step of training: forward, a loss, and backward with an update of each layer's weights."""
    layers = max((builder.left - 1) // 4, 1)
    activations, weights = [tensor], []
    for _ in range(layers):
        weights.append(builder.tensor(4 * builder.chance.between(64, 4096), "state"))
        size = _grown(builder, activations[-1])
        activations.append(builder.apply("forward", [activations[-1], weights[-1]], size))
    gradient = builder.apply("loss", [activations[-1]], builder.size_of(activations[-1]))
    for layer in range(layers - 1, -1, -1):
        of_weights = builder.apply(
            "weight gradient", [gradient, activations[layer]], builder.size_of(weights[layer])
        )
        gradient = builder.apply("gradient", [gradient, weights[layer]], builder.size_of(activations[layer]))
        _update(builder, of_weights, weights[layer])
    while builder.left:
        gradient = builder.apply("scale", [gradient], builder.size_of(gradient), in_place=True)


def _update(builder: _Builder, gradient: str, weights: str) -> None:
    if builder.left:
        name = f"o{len(builder.operators)}"
        builder.operators.append(
            Operator(id=name, type="update", inputs=[gradient, weights], outputs=[weights])
        )


def _grown(builder: _Builder, tensor: str) -> int:
    """The bytes of what is made of a tensor: as many, twice as many or half as many."""
    factor = builder.chance.pick((1, 2, 4, 2))
    return min(max(64, builder.size_of(tensor) * factor // 2), 1 << 24)


_FLOAT: Final = 4
_STEM: Final = 32
_HEAD: Final = 1280
_CLASSES: Final = 1000
# Of each stage: by how much blocks widen the image inside, channels, blocks, stride of the first.
_STAGES: Final = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


@dataclass(frozen=True, slots=True)
class _Image:
    tensor: str
    side: int
    channels: int


@dataclass(frozen=True, slots=True)
class _Layer:
    """A convolution with what follows it, as the way back needs it."""

    name: str
    source: _Image
    output: _Image
    weights: str
    active: bool


@dataclass(frozen=True, slots=True)
class _Block:
    layers: Sequence[_Layer]
    added: bool


@dataclass
class _StepBuilder:
    batch: int
    tensors: list[Tensor] = field(default_factory=list)
    operators: list[Operator] = field(default_factory=list)
    size: dict[str, int] = field(default_factory=dict)

    def tensor(self, name: str, shape: Sequence[int], kind: str = "data") -> str:
        """A float tensor that nobody makes yet."""
        tensor = Tensor(
            id=name, shape=list(shape), type="float32", kind="state" if kind == "state" else "data"
        )
        self.tensors.append(tensor)
        count = _FLOAT
        for extent in shape:
            count *= extent
        self.size[name] = count
        return name

    def shape_of(self, name: str) -> Sequence[int]:
        """The shape of a tensor that is there."""
        return next(tensor.shape for tensor in self.tensors if tensor.id == name and tensor.shape is not None)

    def image(self, name: str, side: int, channels: int) -> _Image:
        """A batch of images."""
        return _Image(self.tensor(name, (self.batch, side, side, channels)), side, channels)

    def like(self, name: str, image: _Image) -> _Image:
        """One of the same shape."""
        return self.image(name, image.side, image.channels)

    def run(
        self, name: str, kind: str, inputs: Sequence[str], outputs: Sequence[str], in_place: bool = False
    ) -> None:
        """An operator; in place, its first output may take the place of its first input."""
        moved = sum(self.size[entry] for entry in (*inputs, *outputs))
        pairs = [(inputs[0], outputs[0])] if in_place else []
        self.operators.append(
            Operator(
                id=name, type=kind, inputs=list(inputs), outputs=list(outputs), in_place=pairs, cost=moved
            )
        )


def training_step(batch: int = 16, side: int = 224, width: float = 1.0) -> Graph:
    """The graph for a batch of images of this many rows and columns, and a multiple of the channels."""
    builder = _StepBuilder(batch)
    image = builder.image("images", side, 3)
    builder.tensor("labels", (batch,))
    blocks: list[_Block] = []

    def channels(count: int) -> int:
        return max(8, int(count * width + 4) // 8 * 8)

    stem = _convolution(builder, "stem", image, channels(_STEM), 3, 2, False, True)
    blocks.append(_Block([stem], False))
    image = stem.output
    for factor, count, number, first_stride in _STAGES:
        for k in range(number):
            stride = first_stride if k == 0 else 1
            block = _inverted(builder, f"block{len(blocks)}", image, factor, channels(count), stride)
            blocks.append(block)
            image = _result(builder, block)
    head = _convolution(builder, "head", image, max(_HEAD, channels(_HEAD)), 1, 1, False, True)
    blocks.append(_Block([head], False))
    gradient = _classified(builder, head.output)
    for block in reversed(blocks):
        gradient = _back(builder, block, gradient)
    return Graph(
        version=1,
        name=f"mobilenet_v2 training batch={batch} side={side} width={width:g}",
        tensors=builder.tensors,
        operators=builder.operators,
        inputs=["images", "labels"],
        outputs=["loss"],
    )


def _convolution(
    builder: _StepBuilder,
    name: str,
    source: _Image,
    channels: int,
    kernel: int,
    stride: int,
    depthwise: bool,
    active: bool,
) -> _Layer:
    side = -(-source.side // stride)
    inner = 1 if depthwise else source.channels
    weights = builder.tensor(f"{name}.weights", (channels, inner, kernel, kernel), "state")
    scale = builder.tensor(f"{name}.scale", (2, channels), "state")
    raw = builder.image(f"{name}.raw", side, channels)
    builder.run(f"{name}.conv", "depthwise" if depthwise else "conv", [source.tensor, weights], [raw.tensor])
    output = builder.like(f"{name}.norm", raw)
    statistics = builder.tensor(f"{name}.statistics", (2, channels))
    builder.run(f"{name}.normalise", "batch_norm", [raw.tensor, scale], [output.tensor, statistics])
    if active:
        after = builder.like(f"{name}.active", output)
        builder.run(f"{name}.relu", "relu6", [output.tensor], [after.tensor], in_place=True)
        output = after
    return _Layer(name, source, output, weights, active)


def _inverted(
    builder: _StepBuilder, name: str, source: _Image, factor: int, channels: int, stride: int
) -> _Block:
    """Widen, filter, narrow; and add what came in, where the shapes agree."""
    layers: list[_Layer] = []
    image = source
    if factor > 1:
        layers.append(
            _convolution(builder, f"{name}.widen", image, image.channels * factor, 1, 1, False, True)
        )
        image = layers[-1].output
    layers.append(_convolution(builder, f"{name}.filter", image, image.channels, 3, stride, True, True))
    image = layers[-1].output
    layers.append(_convolution(builder, f"{name}.narrow", image, channels, 1, 1, False, False))
    return _Block(layers, stride == 1 and source.channels == channels)


def _result(builder: _StepBuilder, block: _Block) -> _Image:
    output, source = block.layers[-1].output, block.layers[0].source
    if not block.added:
        return output
    total = builder.like(f"{block.layers[-1].name}.sum", output)
    builder.run(f"{total.tensor}.add", "add", [output.tensor, source.tensor], [total.tensor], in_place=True)
    return total


def _classified(builder: _StepBuilder, image: _Image) -> _Image:
    """Pooling, the last layer, the loss, and back to the gradient of the image."""
    batch = builder.batch
    weights = builder.tensor("classify.weights", (_CLASSES, image.channels), "state")
    pooled = builder.tensor("pooled", (batch, image.channels))
    scores = builder.tensor("scores", (batch, _CLASSES))
    builder.run("pool", "mean", [image.tensor], [pooled])
    builder.run("classify", "dense", [pooled, weights], [scores])
    loss, back = builder.tensor("loss", (1,)), builder.tensor("scores.gradient", (batch, _CLASSES))
    builder.run("softmax", "softmax_loss", [scores, "labels"], [loss, back])
    of_weights = builder.tensor("classify.weights.gradient", (_CLASSES, image.channels))
    of_pooled = builder.tensor("pooled.gradient", (batch, image.channels))
    builder.run("classify.weights.back", "dense_weights_gradient", [back, pooled], [of_weights])
    builder.run("classify.back", "dense_gradient", [back, weights], [of_pooled])
    builder.run("classify.update", "update", [of_weights, weights], [weights])
    gradient = builder.like("head.gradient", image)
    builder.run("pool.back", "mean_gradient", [of_pooled], [gradient.tensor])
    return gradient


def _back(builder: _StepBuilder, block: _Block, gradient: _Image) -> _Image:
    """The gradient of what came into the block."""
    arrived = gradient
    for layer in reversed(block.layers):
        gradient = _layer_back(builder, layer, gradient)
    if not block.added:
        return gradient
    name = f"{block.layers[0].name}.gradient.sum"
    total = builder.like(name, gradient)
    builder.run(f"{name}.add", "add", [gradient.tensor, arrived.tensor], [total.tensor], in_place=True)
    return total


def _layer_back(builder: _StepBuilder, layer: _Layer, gradient: _Image) -> _Image:
    name = layer.name
    if layer.active:
        before = builder.like(f"{name}.norm.gradient", gradient)
        inputs = [gradient.tensor, layer.output.tensor]
        builder.run(f"{name}.relu.back", "relu6_gradient", inputs, [before.tensor], in_place=True)
        gradient = before
    raw = builder.like(f"{name}.raw.gradient", gradient)
    of_scale = builder.tensor(f"{name}.scale.gradient", (2, gradient.channels))
    inputs = [gradient.tensor, f"{name}.raw", f"{name}.statistics", f"{name}.scale"]
    outputs = [raw.tensor, of_scale]
    builder.run(f"{name}.normalise.back", "batch_norm_gradient", inputs, outputs, in_place=True)
    of_weights = builder.tensor(f"{name}.weights.gradient", builder.shape_of(layer.weights))
    builder.run(
        f"{name}.weights.back", "conv_weights_gradient", [raw.tensor, layer.source.tensor], [of_weights]
    )
    source = gradient
    if layer.source.tensor != "images":
        source = builder.like(f"{name}.source.gradient", layer.source)
        builder.run(f"{name}.conv.back", "conv_gradient", [raw.tensor, layer.weights], [source.tensor])
    builder.run(f"{name}.update", "update", [of_weights, layer.weights], [layer.weights])
    builder.run(f"{name}.scale.update", "update", [of_scale, f"{name}.scale"], [f"{name}.scale"])
    return source
