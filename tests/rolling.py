"""Small random networks of images, and a naive run of them in strips, pixel by pixel.

Nothing here is shared with the planner or the judge. A row of a tensor in a ring is a set of pixels in the
slot `row % rows`; what an operator reads must be among them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from memstow.planner.model.graph import ElementType, Graph, Operator, Tensor, Window

Pixels = set[tuple[int, int]]
Range = tuple[int, int]


def random_network(seed: int, most: int = 7, side: int = 8) -> Graph:
    """A graph whose operators can all run in one stripe; none reads a reduction."""
    return _Network(Random(seed), most, side).graph()


class _Network:
    def __init__(self, random: Random, most: int, side: int) -> None:
        self.random = random
        self.count = random.randint(1, most)
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.side = side
        self.images: list[str] = []
        self.shape: dict[str, tuple[int, int, int]] = {}

    def graph(self) -> Graph:
        random = self.random
        inputs = [
            self.image((random.randint(2, self.side), random.randint(2, self.side), random.randint(1, 3)))
            for _ in range(random.randint(1, 2))
        ]
        while len(self.operators) < self.count:
            self.operator()
        made = [name for operator in self.operators for name in operator.outputs]
        outputs = [name for name in made if random.random() < 0.15]
        return Graph(
            version=1, tensors=self.tensors, operators=self.operators, inputs=inputs, outputs=outputs
        )

    def image(self, shape: tuple[int, int, int], is_image: bool = True) -> str:
        name = f"t{len(self.tensors)}"
        full = shape if self.random.random() < 0.5 else (1, *shape)
        kind = self.random.choice(_ELEMENTS)
        self.tensors.append(Tensor(id=name, shape=full, type=kind, alignment=self.random.choice((1, 4))))
        self.shape[name] = shape
        if is_image:
            self.images.append(name)
        return name

    def constant(self, shape: tuple[int, ...]) -> str:
        name = f"t{len(self.tensors)}"
        self.tensors.append(Tensor(id=name, shape=shape, type="int8", kind="constant"))
        return name

    def operator(self) -> None:
        random = self.random
        source = random.choice(self.images[-3:])
        kind = random.choice(
            ("conv", "conv", "conv", "conv", "add", "concat", "relu", "near", "bili", "mean", "fc", "pool")
        )
        rows, columns, channels = self.shape[source]
        inputs: list[str] = [source]
        window: Window | None = None
        if kind == "conv":
            window = self.window(rows, columns)
            if window is None:
                return
            shape = (*_slid(window, rows, columns), random.randint(1, 3))
            inputs.append(self.constant((*window.kernel, channels, shape[2])))
            output = self.image(shape)
        elif kind in ("add", "concat"):
            like = [name for name in self.images if self.shape[name][:2] == (rows, columns)]
            like.remove(source)
            inputs += random.sample(like, min(len(like), random.randint(0, 2)))
            depth = sum(self.shape[name][2] for name in inputs)
            output = self.image((rows, columns, depth if kind == "concat" else channels))
        elif kind == "relu":
            output = self.image((rows, columns, channels))
        elif kind == "near":
            output = self.image((rows * random.randint(1, 2), columns + random.randint(0, columns), channels))
        elif kind == "bili":
            output = self.image(
                (rows + random.randint(0, rows), columns + random.randint(0, columns), channels)
            )
        elif kind == "mean":
            output = self.image((1, 1, channels), is_image=False)
        elif kind == "fc":
            inputs.append(self.constant((rows * columns * channels, 5)))
            output = self.image((1, 1, 5), is_image=False)
        else:
            window = Window(kernel=(rows, columns))
            output = self.image((1, 1, channels), is_image=False)
        self.operators.append(
            Operator(
                id=f"o{len(self.operators)}",
                type=_TYPES[kind],
                inputs=inputs,
                outputs=[output],
                window=window,
                cost=random.choice((None, 7, 1000)),
                temporaries=(),
            )
        )

    def window(self, rows: int, columns: int) -> Window | None:
        random = self.random
        kernel = random.randint(1, 3), random.randint(1, 3)
        dilation = random.choice((1, 1, 2)), random.choice((1, 1, 2))
        padding = tuple(random.randint(0, 2) for _ in range(4))
        stride = random.choice((1, 1, 2, 3)), random.choice((1, 1, 2, 3))
        window = Window(kernel=kernel, stride=stride, padding=padding, dilation=dilation)
        made = _slid(window, rows, columns)
        return window if min(made) >= 1 else None


_ELEMENTS: tuple[ElementType, ...] = ("int8", "int16", "float32")
_TYPES = {
    "conv": "CONV_2D",
    "add": "ADD",
    "concat": "Concatenation",
    "relu": "relu6",
    "near": "RESIZE_NEAREST_NEIGHBOR",
    "bili": "resize_bilinear",
    "mean": "MEAN",
    "fc": "FULLY_CONNECTED",
    "pool": "AVERAGE_POOL_2D",
}


def _slid(window: Window, rows: int, columns: int) -> tuple[int, int]:
    top, left, bottom, right = window.padding
    made = []
    for extent, kernel, stride, dilation in zip(
        (rows + top + bottom, columns + left + right),
        window.kernel,
        window.stride,
        window.dilation,
        strict=True,
    ):
        made.append(max((extent - (kernel - 1) * dilation - 1) // stride + 1, 0))
    return made[0], made[1]


@dataclass
class Step:
    """One row of one operator."""

    place: int
    row: int
    reads: dict[str, range]


@dataclass
class Naive:
    """All operators of a graph in one stripe, run in strips of this many columns."""

    graph: Graph
    width: int
    computed: dict[str, int] = field(default_factory=dict)
    """By operator, the pixels that it makes."""

    def __post_init__(self) -> None:
        self.shape = {
            tensor.id: (tensor.shape[-3], tensor.shape[-2])
            for tensor in self.graph.tensors
            if tensor.shape and len(tensor.shape) >= 3
        }
        self.operators = self.graph.operators
        self.out = [entry.outputs[0] for entry in self.operators]
        self.place = {name: at for at, name in enumerate(self.out)}
        constant = {tensor.id for tensor in self.graph.tensors if tensor.kind == "constant"}
        self.images = [
            list(dict.fromkeys(n for n in entry.inputs if n not in constant)) for entry in self.operators
        ]
        self.reduces = [
            entry.type in ("MEAN", "FULLY_CONNECTED", "AVERAGE_POOL_2D") for entry in self.operators
        ]
        read = {name for names in self.images for name in names}
        self.leaves = {name for name in self.out if name in self.graph.outputs or name not in read}
        self.inside = [name for name in self.out if name not in self.leaves]
        self.strips = [self.columns(a, b) for a, b in self.bounds()]
        self.steps = list(self.run())

    def extent(self, place: int) -> tuple[int, int]:
        """Rows and columns: of a reduction, those of its image."""
        return self.shape[self.images[place][0] if self.reduces[place] else self.out[place]]

    def bounds(self) -> Iterator[Range]:
        wide = self.extent(len(self.out) - 1)[1]
        for begin in range(0, wide, self.width):
            yield begin, min(begin + self.width, wide)

    def needs(self, place: int, name: str, axis: int, begin: int, end: int) -> range:
        """What [begin, end) of an operator's output is made from along an axis."""
        operator, extent = self.operators[place], self.shape[name][axis]
        if begin >= end:
            return range(0)
        if self.reduces[place] or operator.type in ("ADD", "Concatenation", "relu6"):
            return range(begin, end)
        if operator.window is not None:
            w = operator.window
            first = begin * w.stride[axis] - w.padding[axis]
            last = (end - 1) * w.stride[axis] - w.padding[axis] + (w.kernel[axis] - 1) * w.dilation[axis] + 1
        else:
            made = self.shape[self.out[place]][axis]
            around = operator.type == "resize_bilinear" or made not in (extent, 2 * extent)
            first = begin * extent // made - around
            last = (end - 1) * extent // made + around + 1
        return range(min(max(first, 0), extent), min(max(last, 0), extent))

    def columns(self, a: int, b: int) -> list[Range]:
        """By operator, the columns of a strip."""
        wide = self.extent(len(self.out) - 1)[1]
        result: dict[int, set[int]] = {place: set() for place in range(len(self.out))}
        for place in reversed(range(len(self.out))):
            own = self.extent(place)[1]
            if self.out[place] in self.leaves or self.reduces[place]:
                result[place] |= set(range(a * own // wide, b * own // wide))
            if not result[place]:
                continue
            begin, end = min(result[place]), max(result[place]) + 1
            for name in self.images[place]:
                if name in self.place:
                    result[self.place[name]] |= set(self.needs(place, name, 1, begin, end))
        return [(min(entry), max(entry) + 1) if entry else (0, 0) for _, entry in sorted(result.items())]

    def run(self) -> Iterator[Step]:
        """The rows of a strip, of any columns or none, in the order of the contract."""
        made = [0] * len(self.out)
        last = len(self.out) - 1

        def make(place: int) -> Iterator[Step]:
            row = made[place]
            reads = {}
            for name in self.images[place]:
                maker = self.place.get(name)
                if maker is None:
                    continue
                rows = self.needs(place, name, 0, row, row + 1)
                while made[maker] < rows.stop:
                    yield from make(maker)
                reads[name] = rows
            made[place] += 1
            yield Step(place, row, reads)

        height = self.extent(last)[0]
        for row in range(height):
            for place in range(last):
                if self.out[place] in self.leaves:
                    while made[place] < (row + 1) * self.extent(place)[0] // height:
                        yield from make(place)
            yield from make(last)

    def widest(self, name: str) -> int:
        return max(end - begin for begin, end in (strip[self.place[name]] for strip in self.strips))

    def is_made(self, name: str) -> bool:
        """Whether a strip has a row of it, with columns."""
        return self.widest(name) > 0 and any(step.place == self.place[name] for step in self.steps)

    def fails(self, rows: dict[str, int]) -> str | None:
        """Why rings of so many rows do not do; None where they do. Every pixel that leaves must be made."""
        self.computed = dict.fromkeys((entry.id for entry in self.operators), 0)
        written: dict[str, Pixels] = {name: set() for name in self.leaves}
        taken: dict[str, list[tuple[int, int]]] = {name: [] for name in self.out}
        for columns in self.strips:
            ring: dict[str, dict[int, Pixels]] = {name: {} for name in self.inside}
            for step in self.steps:
                begin, end = columns[step.place]
                for name, read in step.reads.items():
                    needed = self.needs(step.place, name, 1, begin, end)
                    pixels = {(r, c) for r in read for c in needed}
                    there = written[name] if name in self.leaves else set().union(*ring[name].values(), set())
                    if not pixels <= there:
                        return (
                            f"{self.operators[step.place].id} misses {sorted(pixels - there)[:3]} of {name}"
                        )
                name = self.out[step.place]
                row = {(step.row, c) for c in range(begin, end)}
                self.computed[self.operators[step.place].id] += len(row)
                if self.reduces[step.place]:
                    taken[name] += sorted(row)
                elif name in self.leaves:
                    written[name] |= row
                elif rows[name]:
                    ring[name][step.row % rows[name]] = row
        return self.incomplete(written, taken)

    def incomplete(self, written: dict[str, Pixels], taken: dict[str, list[tuple[int, int]]]) -> str | None:
        """What leaves without all of its pixels, or takes in a pixel not once."""
        for place, name in enumerate(self.out):
            high, wide = self.extent(place)
            every = {(r, c) for r in range(high) for c in range(wide)}
            if self.reduces[place]:
                if sorted(taken[name]) != sorted(every):
                    return f"{name} takes in not every pixel once"
            elif name in self.leaves and written[name] != every:
                return f"{name} is not complete"
        return None

    def held(self) -> dict[str, set[int]]:
        """By ring, the places that run while it has a row that is read then or later."""
        result: dict[str, set[int]] = {name: set() for name in self.inside}
        for name in self.inside:
            made_at: dict[int, int] = {}
            last_read: dict[int, int] = {}
            for at, step in enumerate(self.steps):
                if self.out[step.place] == name or name in step.reads:
                    result[name].add(step.place)
                if self.out[step.place] == name:
                    made_at[step.row] = at
                for row in step.reads.get(name, ()):
                    last_read[row] = at
            for row, end in last_read.items():
                result[name].update(step.place for step in self.steps[made_at[row] : end + 1])
        return result
