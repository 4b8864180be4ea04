"""Problems like those of neural networks: operators in a row, tensors live until their last use.

The blocks are those that shape memory in practice: plain chains, residual blocks, parallel branches that
are joined, attention, and long skips between an encoder and its decoder. Each block takes a tensor and
gives one, so any number of them makes a network of any size.
"""

from enum import Enum
from typing import Final

from memstow.planner.generate.random_numbers import Chance
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

    __slots__ = ("inputs", "kind", "made")

    def __init__(self, kind: Kind, inputs: "tuple[Tensor, ...]", made: "Tensor") -> None:
        self.kind = kind
        self.inputs = inputs
        self.made = made


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
        made = Tensor(
            self.clock,
            side if side is not None else (first.side if first else 1),
            channels if channels is not None else (first.channels if first else 1),
        )
        if not self.full:
            self.tensors.append(made)
            self.operators.append(Operator(kind or (Kind.WEIGHTED if inputs else Kind.INPUT), inputs, made))
            self.clock += 1
        return made

    def elementwise(self, *inputs: Tensor) -> Tensor:
        """An operator whose output may take the place of its first input when nothing reads that later."""
        made = self.apply(*inputs, kind=Kind.ELEMENTWISE)
        self.shared.append((inputs[0], made))
        return made


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
        from memstow.planner.generate.network_training import training_network

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
        InPlace(input=f"t{numbers[id(source)]}", output=f"t{numbers[id(made)]}")
        for source, made in builder.shared
        # Read again later, the input must survive the operator.
        if in_place and id(made) in numbers and source.last == made.born
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
