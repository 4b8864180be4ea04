"""Small random graphs of operators that can run row by row, and some that cannot."""

from random import Random

from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor, Window

Shape = tuple[int, int, int]


class Net:
    """A graph that grows."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.shapes: dict[str, Shape] = {}
        self.flat: set[str] = set()

    def image(self, shape: Shape, kind: str = "data") -> str:
        """A new image."""
        name = f"t{len(self.tensors)}"
        self.tensors.append(Tensor(id=name, shape=shape, type="int8", kind=kind))  # type: ignore[arg-type]
        self.shapes[name] = shape
        return name

    def run(self, kind: str, inputs: list[str], shape: Shape, window: Window | None = None) -> str:
        """A new operator; returns what it makes."""
        made = self.image(shape, "external" if self._random.random() < 0.05 else "data")
        name = f"o{len(self.operators)}"
        extra = self._random.random() < 0.15
        self.operators.append(
            Operator(
                id=name,
                type=kind,
                inputs=inputs,
                outputs=[made],
                window=window,
                cost=self._random.randrange(1, 200),
                temporaries=[Temporary(id=f"{name}.tmp", size=self._random.randrange(1, 30))]
                if extra
                else [],
            )
        )
        return made

    def slide(self, source: str) -> str | None:
        """A window over an image."""
        rows, columns, _ = self.shapes[source]
        r = self._random
        kernel = r.randint(1, 3), r.randint(1, 3)
        stride = r.randint(1, 3), r.randint(1, 2)
        dilation = r.choice([(1, 1), (2, 1), (1, 2)])
        padding = tuple(r.randint(0, k - 1) for k in (*kernel, *kernel))
        made = [
            (extent + padding[i] + padding[i + 2] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1
            for i, extent in enumerate((rows, columns))
        ]
        if min(made) < 1:
            return None
        window = Window(kernel=kernel, stride=stride, padding=padding, dilation=dilation)
        return self.run("conv_2d", [source], (made[0], made[1], r.randint(1, 3)), window)

    def grow(self) -> str | None:
        """One more operator."""
        r = self._random
        source = r.choice([name for name in list(self.shapes)[-4:] if name not in self.flat] or ["t0"])
        shape = self.shapes[source]
        rows, columns, channels = shape
        others = [
            name for name, entry in self.shapes.items() if entry[:2] == shape[:2] and name not in self.flat
        ]
        choice = r.random()
        if choice < 0.5:
            return self.slide(source)
        if choice < 0.65:
            other = r.choice(others)
            if other == source:
                return self.run("relu", [source], shape)
            width = channels + self.shapes[other][2]
            return self.run("CONCATENATION", [source, other], (rows, columns, width))
        if choice < 0.75:
            other = r.choice([name for name in others if self.shapes[name] == shape])
            return self.run("ADD", [source, other], shape)
        if choice < 0.85 and rows * columns < 60:
            kind = r.choice(["RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR"])
            return self.run(kind, [source], (rows * r.randint(1, 2), columns * 2, channels))
        if choice < 0.93:
            made = self.run(r.choice(["MEAN", "FULLY_CONNECTED"]), [source], (1, 1, channels))
            self.flat.add(made)
            return made
        return self.run("softmax", [source], shape)


def random_net(seed: int, operators: int) -> Graph:
    """A graph with an input, and with all that nobody reads as output, but for some."""
    random = Random(seed)
    net = Net(random)
    net.image((random.randint(2, 9), random.randint(2, 9), random.randint(1, 3)))
    # There before the first operator, and read by none.
    unread = Tensor(id="unread", size=random.choice((0, 0, 0, 40, 400)))
    while len(net.operators) < operators:
        net.grow()
    read = {name for operator in net.operators for name in operator.inputs}
    made = [name for operator in net.operators for name in operator.outputs]
    outputs = [name for name in made if name not in read and random.random() < 0.9]
    if random.random() < 0.3:
        outputs = list(dict.fromkeys([*outputs, random.choice(made)]))
    weights = Tensor(id="weights", shape=(3, 3), type="int8", kind="constant")
    operators_ = [
        Operator(
            id=operator.id,
            type=operator.type,
            inputs=[*operator.inputs, "weights"] if operator.type == "FULLY_CONNECTED" else operator.inputs,
            outputs=operator.outputs,
            window=operator.window,
            cost=operator.cost,
            temporaries=operator.temporaries,
        )
        for operator in net.operators
    ]
    return Graph(
        tensors=[*net.tensors, unread, weights],
        operators=operators_,
        inputs=["t0", "unread"],
        outputs=outputs,
    )
