"""Problems like those of neural networks: operators in a row, tensors live until their last use.

A training step of one deep network runs forward, then back: what the way back needs is kept until then.
"""

from enum import Enum
from typing import Final

from memstow.planner.generate.random_problems import Chance
from memstow.planner.model.problem import Buffer, InPlace, Problem

RESOLUTIONS: Final = (96, 112, 128, 160, 224, 256)
STEMS: Final = (8, 16, 24, 32)
WIDEST: Final = 2048
SMALLEST: Final = 7


class Tensor:
    """A tensor being built: when it is made, when it is last read, how large it is."""

    __slots__ = ("born", "channels", "last", "side")

    def __init__(self, born: int, side: int, channels: int) -> None:
        self.born = born
        self.last = born
        self.side = side
        self.channels = channels


class Kind(Enum):
    """What an operator does, as far as its way back needs to know."""

    INPUT = "input"
    WEIGHTED = "weighted"
    """A convolution or a matrix of weights."""
    ELEMENTWISE = "elementwise"
    JOINED = "joined"
    PRODUCT = "product"


class Operator:
    """An operator being built."""

    __slots__ = ("inputs", "kind", "output")

    def __init__(self, kind: Kind, inputs: "tuple[Tensor, ...]", output: "Tensor") -> None:
        self.kind = kind
        self.inputs = inputs
        self.output = output


class Builder:
    """Adds operators until there are enough tensors; time is the index of the operator."""

    def __init__(self, chance: Chance, limit: int) -> None:
        self.chance = chance
        self.limit = limit
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.shared: list[tuple[Tensor, Tensor]] = []
        self.clock = 0

    @property
    def full(self) -> bool:
        return len(self.tensors) >= self.limit

    def apply(
        self,
        *inputs: Tensor,
        side: int | None = None,
        channels: int | None = None,
        kind: Kind | None = None,
    ) -> Tensor:
        """An operator that reads these and makes a tensor; past the limit it reads and makes nothing."""
        for tensor in inputs:
            tensor.last = self.clock
        first = inputs[0] if inputs else None
        output = Tensor(
            self.clock,
            side if side is not None else (first.side if first else 1),
            channels if channels is not None else (first.channels if first else 1),
        )
        if not self.full:
            self.tensors.append(output)
            self.operators.append(Operator(kind or (Kind.WEIGHTED if inputs else Kind.INPUT), inputs, output))
            self.clock += 1
        return output

    def elementwise(self, *inputs: Tensor) -> Tensor:
        """An operator whose output may take the place of its first input when nothing reads that later."""
        output = self.apply(*inputs, kind=Kind.ELEMENTWISE)
        self.shared.append((inputs[0], output))
        return output


def network(
    n: int,
    seed: int,
    *,
    element: int = 4,
    alignment: int = 64,
    in_place: bool = False,
    training: bool = False,
) -> Problem:
    """A problem of n tensors of elements so large; `in_place` lets element-wise operators share.

    `training`: the step of a training of one network, with all that it needs.
    """
    if training:
        return training_network(n, seed, element=element, alignment=alignment, in_place=in_place)
    chance = Chance(seed)
    builder = Builder(chance, n)
    while not builder.full:
        _one_network(builder)
    numbers = {id(tensor): index for index, tensor in enumerate(builder.tensors)}
    buffers = tuple(
        Buffer(
            id=f"t{index}",
            size=tensor.side * tensor.side * tensor.channels * element,
            lifetime=(tensor.born, tensor.last + 1),
            alignment=alignment,
        )
        for index, tensor in enumerate(builder.tensors)
    )
    pairs = tuple(
        InPlace(input=f"t{numbers[id(source)]}", output=f"t{numbers[id(output)]}")
        for source, output in builder.shared
        # Read again later, the input must survive the operator.
        if in_place and id(output) in numbers and source.last == output.born
    )
    return Problem(version=1, name=f"network n={n} seed={seed}", buffers=buffers, in_place=pairs)


def _one_network(builder: Builder) -> None:
    """An encoder that halves the image and widens the channels, then a head or a decoder."""
    chance = builder.chance
    tensor = builder.apply(side=chance.pick(RESOLUTIONS), channels=3)
    tensor = builder.apply(tensor, side=tensor.side // 2, channels=chance.pick(STEMS))
    block = chance.pick((chain, residual, branches, inverted))
    decodes = chance.happens(0.3)
    skips: list[Tensor] = []
    while tensor.side > SMALLEST and not builder.full:
        for _ in range(chance.between(1, 4)):
            tensor = (block if chance.happens(0.8) else chance.pick((chain, residual, branches)))(
                builder, tensor
            )
        skips.append(tensor)
        tensor = builder.apply(tensor, side=-(-tensor.side // 2), channels=min(WIDEST, tensor.channels * 2))
    for _ in range(chance.between(0, 3)):
        tensor = attention(builder, tensor)
    if decodes:
        for skip in reversed(skips):
            raised = builder.apply(tensor, side=skip.side, channels=skip.channels)
            joined = builder.apply(raised, skip, channels=raised.channels + skip.channels, kind=Kind.JOINED)
            tensor = builder.elementwise(builder.apply(joined, channels=skip.channels))
    pooled = builder.apply(tensor, side=1)
    builder.apply(pooled, channels=1000)


def chain(builder: Builder, tensor: Tensor) -> Tensor:
    """A convolution and an activation."""
    return builder.elementwise(builder.apply(tensor))


def residual(builder: Builder, tensor: Tensor) -> Tensor:
    """Two convolutions, and what came in is added."""
    inner = builder.elementwise(builder.apply(tensor))
    inner = builder.apply(inner)
    return builder.elementwise(inner, tensor)


def inverted(builder: Builder, tensor: Tensor) -> Tensor:
    """MobileNet's: widen, filter, narrow, add."""
    wide = builder.elementwise(builder.apply(tensor, channels=min(WIDEST, tensor.channels * 6)))
    wide = builder.elementwise(builder.apply(wide))
    return builder.elementwise(builder.apply(wide, channels=tensor.channels), tensor)


def branches(builder: Builder, tensor: Tensor) -> Tensor:
    """Inception's: paths of different lengths from one tensor, joined along the channels."""
    ends = []
    for _ in range(builder.chance.between(2, 4)):
        end = tensor
        for _ in range(builder.chance.between(1, 3)):
            end = builder.apply(end, channels=max(1, tensor.channels // builder.chance.pick((1, 2, 4))))
        ends.append(end)
    joined = builder.apply(*ends, channels=sum(end.channels for end in ends), kind=Kind.JOINED)
    return builder.apply(joined, channels=tensor.channels)


def attention(builder: Builder, tensor: Tensor) -> Tensor:
    """Queries, keys and values of every position, and the scores of every pair of them."""
    queries, keys, values = (builder.apply(tensor) for _ in range(3))
    positions = tensor.side * tensor.side
    scores = builder.elementwise(builder.apply(queries, keys, side=positions, channels=4, kind=Kind.PRODUCT))
    mixed = builder.apply(scores, values, side=tensor.side, channels=tensor.channels, kind=Kind.PRODUCT)
    return builder.elementwise(builder.apply(mixed), tensor)


BATCHES: Final = (8, 16, 32, 64)
STAGES: Final = 4
# Scores of all pairs of positions are only made of small images.
MOST_ATTENDED: Final = 14
# A kernel of three by three would have more weights than this.
WIDE_KERNEL: Final = 1 << 18
# Buffers of a block, at most.
LARGE_BLOCK: Final = 160


class _Made:
    """A buffer being made: its bytes, when it is made and when it is last read."""

    __slots__ = ("born", "last", "name", "size")

    def __init__(self, name: str, size: int, born: int) -> None:
        self.name = name
        self.size = size
        self.born = born
        self.last = born


class _Step:
    """Turns the operators of a network into the buffers of a training step."""

    def __init__(self, chance: Chance, element: int) -> None:
        self._chance = chance
        self._element = element
        self._batch = chance.pick(BATCHES)
        self._at_once = chance.happens(0.5)
        self._clock = 0
        self._made_of: dict[int, _Made] = {}
        self._gradient_of: dict[int, _Made] = {}
        self._statistics_of: dict[int, _Made] = {}
        self._kernel_of: dict[int, _Made] = {}
        self._of_weights: list[_Made] = []
        self._throughout: list[_Made] = []
        self.buffers: list[_Made] = []
        self.spare: list[_Made] = []
        """Those that an operator makes do without at a pinch: workspaces, and what updates make."""

    def run(self, operators: list[Operator]) -> None:
        """Run forward, then back."""
        for operator in operators:
            self._forward(operator)
            self._clock += 1
        seed = self._image("loss.gradient", operators[-1].output)
        self._gradient_of[id(operators[-1].output)] = seed
        self._clock += 1
        for index in reversed(range(len(operators))):
            self._back(index, operators[index])
        for gradient in self._of_weights:
            self._update(gradient)
        for buffer in self._throughout:
            buffer.last = self._clock - 1

    def made_for(self, tensor: Tensor) -> _Made:
        """The buffer of a tensor of the way forward."""
        return self._made_of[id(tensor)]

    def _add(self, name: str, size: int) -> _Made:
        buffer = _Made(name, size, self._clock)
        self.buffers.append(buffer)
        return buffer

    def _image(self, name: str, tensor: Tensor) -> _Made:
        return self._add(name, tensor.side * tensor.side * tensor.channels * self._batch * self._element)

    def _workspace(self, operator: Operator) -> None:
        """Columns of the image for a convolution, of some images at a time."""
        source = operator.inputs[0]
        size = source.side * source.side * source.channels * self._element * self._chance.pick((1, 2, 4))
        self.spare.append(self._add(f"workspace{self._clock}", size))

    def _read(self, *tensors: Tensor) -> None:
        for tensor in tensors:
            self._made_of[id(tensor)].last = self._clock

    def _forward(self, operator: Operator) -> None:
        output, name = operator.output, f"t{len(self._made_of)}"
        self._read(*operator.inputs)
        self._made_of[id(output)] = self._image(name, output)
        if operator.kind is Kind.WEIGHTED:
            self._workspace(operator)
            width = operator.inputs[0].channels * output.channels
            kernel = 9 if width * 9 <= WIDE_KERNEL and self._chance.happens(0.6) else 1
            weights = [
                _Made(f"{name}.{what}", width * kernel * self._element, 0)
                for what in ("weights", "moment", "second_moment")
            ]
            self._kernel_of[id(output)] = weights[0]
            self._throughout += weights
            self.buffers += weights
        elif operator.kind is Kind.ELEMENTWISE and len(operator.inputs) == 1:
            statistics = self._add(f"{name}.statistics", 2 * output.channels * self._element)
            self._statistics_of[id(output)] = statistics

    def _back(self, index: int, operator: Operator) -> None:
        gradient = self._gradient_of.get(id(operator.output))
        if gradient is None or operator.kind is Kind.INPUT:
            return
        name = f"t{index}.gradient"
        gradient.last = self._clock
        match operator.kind:
            case Kind.WEIGHTED:
                self._read(*operator.inputs)
                self._workspace(operator)
                of_weights = self._add(f"{name}.weights", self._kernel_of[id(operator.output)].size)
                self._clock += 1
                if self._at_once:
                    self._update(of_weights)
                else:
                    self._of_weights.append(of_weights)
                gradient.last = self._clock
                parts = [self._image(name, operator.inputs[0])] if index > 1 else []
            case Kind.ELEMENTWISE if len(operator.inputs) == 1:
                self._read(operator.output)
                self._statistics_of[id(operator.output)].last = self._clock
                parts = [self._image(name, operator.inputs[0])]
            case Kind.ELEMENTWISE:
                # What is added has the gradient of the sum.
                parts = [gradient for _ in operator.inputs]
            case _:
                if operator.kind is Kind.PRODUCT:
                    self._read(*operator.inputs)
                parts = [self._image(f"{name}.{k}", input_) for k, input_ in enumerate(operator.inputs)]
        self._clock += 1
        for tensor, part in zip(operator.inputs, parts, strict=False):
            self._accumulate(tensor, part)

    def _accumulate(self, tensor: Tensor, part: _Made) -> None:
        """Another part of the gradient of a tensor."""
        before = self._gradient_of.get(id(tensor))
        if before is None:
            self._gradient_of[id(tensor)] = part
            return
        before.last = part.last = self._clock
        self._gradient_of[id(tensor)] = self._image(f"sum{self._clock}", tensor)
        self._clock += 1

    def _update(self, gradient: _Made) -> None:
        """What an optimiser with two moments makes on the way."""
        gradient.last = self._clock
        root = self._add(f"{gradient.name}.root", gradient.size)
        self._clock += 1
        root.last = self._clock
        self.spare += [self._add(f"{gradient.name}.step", gradient.size), root]
        self._clock += 1


def training_network(n: int, seed: int, *, element: int, alignment: int, in_place: bool) -> Problem:
    """A problem of the n buffers of a training step."""
    chance = Chance(seed)
    builder = Builder(chance, n)
    _deep_network(builder, n)
    step = _Step(chance, element)
    step.run(builder.operators)
    surplus = max(len(step.buffers) - n, 0)
    without = {id(buffer) for buffer in step.spare[len(step.spare) - min(surplus, len(step.spare)) :]}
    kept = [buffer for buffer in step.buffers if id(buffer) not in without][:n]
    names = {buffer.name for buffer in kept}
    buffers = tuple(
        Buffer(id=buffer.name, size=buffer.size, lifetime=(buffer.born, buffer.last + 1), alignment=alignment)
        for buffer in kept
    )
    shared = [(step.made_for(source), step.made_for(buffer)) for source, buffer in builder.shared]
    pairs = tuple(
        InPlace(input=source.name, output=buffer.name)
        for source, buffer in shared
        # Read again later, on the way back at the latest, the input must survive the operator.
        if in_place and source.last == buffer.born and source.name in names and buffer.name in names
    )
    return Problem(version=1, name=f"training network n={n} seed={seed}", buffers=buffers, in_place=pairs)


def _deep_network(builder: Builder, n: int) -> None:
    """Blocks on images that are halved from stage to stage, until the step has so many buffers."""
    chance = builder.chance
    tensor = builder.apply(side=chance.pick(RESOLUTIONS), channels=3)
    tensor = builder.apply(tensor, side=tensor.side // 2, channels=chance.pick(STEMS))
    block = chance.pick((chain, residual, branches, inverted))
    counted = _Count()
    for stage in range(1, STAGES + 1):
        while counted.of(builder.operators) < n * stage // STAGES:
            other = (chain, residual, branches, attention)
            chosen = block if chance.happens(0.8) else chance.pick(other)
            if chosen is attention and tensor.side > MOST_ATTENDED:
                chosen = residual
            # The last blocks are small ones, so that few buffers are too many.
            if counted.total > n - LARGE_BLOCK:
                chosen = chain
            tensor = chosen(builder, tensor)
        if stage < STAGES:
            side, channels = -(-tensor.side // 2), min(WIDEST, tensor.channels * 2)
            tensor = builder.apply(tensor, side=side, channels=channels)
    pooled = builder.apply(tensor, side=1, kind=Kind.JOINED)
    builder.apply(pooled, channels=1000)


class _Count:
    """Counts the buffers that operators have in a training step; goes on where it was."""

    def __init__(self) -> None:
        self.total = 0
        self._counted = 0
        self._read: set[int] = set()

    def of(self, operators: list[Operator]) -> int:
        """The buffers of all of these."""
        for operator in operators[self._counted :]:
            parts = len(operator.inputs)
            several = {Kind.INPUT: 1, Kind.WEIGHTED: 10, Kind.PRODUCT: 1 + parts, Kind.JOINED: 1 + parts}
            self.total += several.get(operator.kind, 3 if parts == 1 else 1)
            # Each reader but the first adds to a gradient.
            self.total += sum(1 for input_ in operator.inputs if id(input_) in self._read)
            self._read.update(map(id, operator.inputs))
        self._counted = len(operators)
        return self.total
