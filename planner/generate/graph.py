"""Graphs like those of programs that people plan memory for: chains, cells, random wiring, training steps.

Each has as many operators as asked for. The sizes are those of images that shrink as they become deeper.
"""

from collections.abc import Sequence
from typing import Final

from memstow.planner.generate.random_numbers import Chance
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
        made = self.tensor(size)
        self.operators.append(
            Operator(
                id=f"o{len(self.operators)}",
                type=kind,
                inputs=list(dict.fromkeys(inputs)),
                outputs=[made],
                in_place=[(name, made) for name in dict.fromkeys(inputs)] if in_place else [],
            )
        )
        return made

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
    made = [name for operator in builder.operators for name in operator.outputs]
    states = {tensor.id for tensor in builder.tensors if tensor.kind == "state"}
    return Graph(
        version=1,
        name=f"{family} n={n} seed={seed}",
        tensors=builder.tensors,
        operators=builder.operators,
        inputs=[source],
        outputs=[name for name in made if name not in read and name not in states],
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
            made = builder.apply("add", ends, size, in_place=True)
            ready.append(made)
            unused.append(made)
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
    made: list[str] = []
    for node in range(count):
        size = 4 * builder.chance.between(1, 1024)
        made.append(builder.apply("node", [made[it] for it in inputs[node]] or [tensor], size))
    read = {first for first, _ in edges}
    ends = [made[node] for node in range(count) if node not in read]
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
