"""Small random layers, and a naive simulation of tiles that shares nothing with planner or judge."""

import random
from collections.abc import Iterator
from itertools import permutations, product
from math import prod
from typing import NamedTuple

from memstow.planner.model.graph import ElementType, Graph, Operator, Tensor, Window
from memstow.planner.model.tiling import TilingOptions

LOOPS = ("channels", "rows", "columns", "inputs")
Extents = tuple[int, int, int, int]


def random_graph(rng: random.Random) -> Graph:
    """One operator `op` with tiny tensors."""
    kind = rng.choice(("conv", "conv", "grouped", "depthwise", "pool", "dense", "add", "scale"))
    if kind == "dense":
        rows, deep, made = rng.randint(1, 4), rng.randint(1, 5), rng.randint(1, 4)
        return graph_of("fully_connected", (rows, deep), (rows, made), [(made, deep), (made,)], None, rng)
    if kind in ("add", "scale"):
        shape = tuple(rng.randint(1, 4) for _ in range(rng.choice((2, 3))))
        return graph_of(
            "ADD" if kind == "add" else "Mul", shape, shape, [(shape[-1],)], None, rng, kind == "add"
        )
    window = random_window(rng)
    rows, columns = rng.randint(1, 5), rng.randint(1, 4)
    image = tuple(
        max((made - 1) * s + (k - 1) * d + 1 - before - after, 1)
        for made, s, k, d, before, after in zip(
            (rows, columns),
            window.stride,
            window.kernel,
            window.dilation,
            window.padding[:2],
            window.padding[2:],
            strict=True,
        )
    )
    # What an image of one element at least makes.
    slid = tuple(
        (extent + before + after - ((k - 1) * d + 1)) // s + 1
        for extent, s, k, d, before, after in zip(
            image,
            window.stride,
            window.kernel,
            window.dilation,
            window.padding[:2],
            window.padding[2:],
            strict=True,
        )
    )
    groups = {"conv": 1, "grouped": 2}.get(kind, rng.randint(2, 4))
    each = rng.randint(1, 3) if kind in ("conv", "grouped") else 1
    deep = groups * each
    made = groups * (1 if kind == "pool" else rng.randint(1, 4 if kind == "conv" else 2))
    weights = [(made, *window.kernel, each), (made,)] if kind != "pool" else []
    name = {"pool": "MAX_POOL_2D", "depthwise": "depthwise_conv2d"}.get(kind, "conv2d")
    return graph_of(name, (*image, deep), (*slid, made), weights, window, rng)


def random_window(rng: random.Random) -> Window:
    kernel = rng.randint(1, 3), rng.randint(1, 3)
    dilation = rng.choice((1, 1, 2)), rng.choice((1, 1, 2))
    stride = rng.randint(1, 3), rng.randint(1, 2)
    margins = [rng.randint(0, (k - 1) * d) for k, d in zip(kernel * 2, dilation * 2, strict=True)]
    return Window(kernel=kernel, stride=stride, padding=margins, dilation=dilation)


def graph_of(
    name: str,
    image: tuple[int, ...],
    made: tuple[int, ...],
    constants: list[tuple[int, ...]],
    window: Window | None,
    rng: random.Random,
    twice: bool = False,
) -> Graph:
    kinds: list[ElementType] = ["int8", "int16", "float32"]
    kind = rng.choice(kinds)
    tensors = [Tensor(id="x", shape=image, type=kind), Tensor(id="y", shape=made, type=kind)]
    inputs = ["x"]
    if twice:
        tensors.append(Tensor(id="z", shape=image, type="int8"))
        inputs.append("z")
    for number, shape in enumerate(constants):
        tensors.append(
            Tensor(id=f"c{number}", shape=shape, type="int32" if number else kind, kind="constant")
        )
        inputs.append(f"c{number}")
    operator = Operator(id="op", type=name, inputs=inputs, outputs=["y"], window=window)
    given = ["x", "z"] if twice else ["x"]
    return Graph(tensors=tensors, operators=[operator], inputs=given, outputs=["y"])


class Walked(NamedTuple):
    """What a naive walk through all steps counts."""

    bytes: int
    l1: int
    tiles: int
    sizes: tuple[int, ...]
    by_tensor: dict[str, int]


class Naive:
    """What tiles of the operator need and move, element by element."""

    def __init__(self, graph: Graph, options: TilingOptions) -> None:
        self.options = options
        (operator,) = graph.operators
        self.tensors = {tensor.id: tensor for tensor in graph.tensors}
        self.window = operator.window
        x, y = self.shape("x"), self.shape("y")
        if operator.type == "fully_connected":
            (rows, self.deep), (_, self.made), columns = x, y, 1
        else:
            rows, columns, self.made = (1, 1, *y)[-3:]
            self.deep = x[-1]
        self.extents: Extents = (self.made, rows, columns, self.deep)
        weights = self.tensors.get("c0") if "conv" in str(operator.type) else None
        if weights is not None:
            assert weights.shape is not None
            self.reads = weights.shape[-1]
        else:
            self.reads = self.deep if operator.type == "fully_connected" else 1
        self.adds_up = operator.type == "fully_connected" or (weights is not None and self.reads == self.deep)
        self.has_matrix = operator.type == "fully_connected" or weights is not None

    def shape(self, name: str) -> tuple[int, ...]:
        shape = self.tensors[name].shape
        assert shape is not None
        return shape

    def element(self, name: str) -> int:
        return {"int8": 1, "int16": 2, "int32": 4, "float32": 4}[str(self.tensors[name].type)]

    def touched(self, place: int, axis: int) -> set[int]:
        """Rows or columns that an output place is made from."""
        if self.window is None:
            return {place}
        x = self.shape("x")[axis]
        w = self.window
        taps = (
            place * w.stride[axis] - w.padding[axis] + k * w.dilation[axis] for k in range(w.kernel[axis])
        )
        inside = [tap for tap in taps if 0 <= tap < x]
        return set(inside)

    def hull(self, span: range, axis: int) -> int:
        """How many rows or columns lie between the first and the last place of the windows that is inside."""
        if self.window is None:
            return len(span)
        w, x = self.window, self.shape("x")[axis]
        first = span[0] * w.stride[axis] - w.padding[axis]
        last = span[-1] * w.stride[axis] - w.padding[axis] + (w.kernel[axis] - 1) * w.dilation[axis]
        return len([index for index in range(first, last + 1) if 0 <= index < x])

    def tile_sizes(self, spans: list[range]) -> dict[str, int]:
        """The bytes of the tile of each operand, in one step."""
        channels, rows, columns, inputs = spans
        group = self.made * self.reads // self.deep  # output channels that read the same
        read = {c // group * self.reads + i for c in channels for i in range(self.reads)} & set(inputs)
        area = 1 if self.window is None else prod(self.window.kernel)
        places = self.hull(rows, 0) * self.hull(columns, 1)
        result = {}
        for name in self.tensors:
            if name in ("x", "z"):
                result[name] = places * len(read) * self.element(name)
            elif name == "y":
                result[name] = len(channels) * len(rows) * len(columns) * self.element(name)
            elif name == "c0" and self.has_matrix:
                result[name] = len(channels) * area * min(self.reads, len(inputs)) * self.element(name)
            else:
                result[name] = len(channels) * self.element(name)
        if self.has_matrix and self.options.im2col and self.lays_out():
            pixels = len(rows) * len(columns)
            request = self.options.im2col
            pixels = pixels if request == "tile" else min(pixels, int(request))
            result["im2col"] = pixels * area * len(read) * self.element("x")
        return result

    def lays_out(self) -> bool:
        w = self.window
        return w is not None and (w.kernel != (1, 1) or w.stride != (1, 1) or any(w.padding))

    def all(self) -> Iterator[Walked]:
        """Of all sizes of tiles and orders of loops."""
        for sizes in product(*(range(1, extent + 1) for extent in self.extents)):
            if sizes[3] < self.deep and not self.adds_up:
                continue
            cut = [
                [range(at, min(at + size, extent)) for at in range(0, extent, size)]
                for size, extent in zip(sizes, self.extents, strict=True)
            ]
            for order in permutations(range(4)):
                walked = self.walk(cut, order)
                if walked is not None:
                    yield walked

    def walk(self, cut: list[list[range]], order: tuple[int, ...]) -> Walked | None:
        """None where a tile of the output goes away before it is done."""
        grouped = self.reads < self.deep or (not self.has_matrix and self.deep > 1)
        keys: dict[str, tuple[int, ...]] = dict.fromkeys(self.tensors, (0,))
        keys |= dict.fromkeys(("x", "z"), (0, 1, 2) if grouped else (1, 2, 3))
        keys["y"] = (0, 1, 2)
        if self.has_matrix:
            keys["c0"] = (0, 3)
        here: dict[str, tuple[int, ...]] = {}
        times: dict[str, int] = dict.fromkeys(self.tensors, 0)
        most: dict[str, int] = {}
        moved, steps, done = dict.fromkeys(self.tensors, 0), 0, set()
        for turn in product(*(range(len(cut[loop])) for loop in order)):
            at = dict(zip(order, turn, strict=True))
            sizes = self.tile_sizes([cut[loop][at[loop]] for loop in range(4)])
            steps += 1
            for name, size in sizes.items():
                most[name] = max(most.get(name, 0), size)
                if name == "im2col":
                    continue
                key = tuple(at[loop] for loop in keys[name])
                if here.get(name) != key:
                    here[name] = key
                    times[name] += 1
                    moved[name] += size
                    if name == "y":
                        if key in done:
                            return None
                        done.add(key)
        needed = sum(
            size * (2 if self.options.double_buffer and times.get(entry, 0) > 1 else 1)
            for entry, size in most.items()
        )
        if len(cut[3]) > 1 and self.element("y") < 4:
            needed += 4 * most["y"] // self.element("y")
        tile = tuple(len(pieces[0]) for pieces in cut)
        return Walked(sum(moved.values()), needed, steps, tile, moved)
