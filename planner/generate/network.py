"""Problems like those of neural networks: operators in a row, tensors live until their last use.

The blocks are those that shape memory in practice: plain chains, residual blocks, parallel branches that
are joined, attention, and long skips between an encoder and its decoder. Each block takes a tensor and
gives one, so any number of them makes a network of any size.
"""

from typing import Final

from memstow.planner.generate.random_numbers import Chance
from memstow.planner.model.problem import Buffer, InPlace, Problem

RESOLUTIONS: Final = (96, 112, 128, 160, 224, 256)
STEMS: Final = (8, 16, 24, 32)
WIDEST: Final = 2048
SMALLEST: Final = 7


class _Tensor:
    """A tensor being built: when it is made, when it is last read, how large it is."""

    __slots__ = ("born", "channels", "last", "side")

    def __init__(self, born: int, side: int, channels: int) -> None:
        self.born = born
        self.last = born
        self.side = side
        self.channels = channels


class _Builder:
    """Adds operators until there are enough tensors; time is the index of the operator."""

    def __init__(self, chance: Chance, limit: int) -> None:
        self.chance = chance
        self.limit = limit
        self.tensors: list[_Tensor] = []
        self.shared: list[tuple[_Tensor, _Tensor]] = []
        self.clock = 0

    @property
    def full(self) -> bool:
        return len(self.tensors) >= self.limit

    def apply(self, *inputs: _Tensor, side: int | None = None, channels: int | None = None) -> _Tensor:
        """An operator that reads these and makes a tensor; past the limit it reads and makes nothing."""
        for tensor in inputs:
            tensor.last = self.clock
        first = inputs[0] if inputs else None
        made = _Tensor(
            self.clock,
            side if side is not None else (first.side if first else 1),
            channels if channels is not None else (first.channels if first else 1),
        )
        if not self.full:
            self.tensors.append(made)
            self.clock += 1
        return made

    def elementwise(self, *inputs: _Tensor) -> _Tensor:
        """An operator whose output may take the place of its first input when nothing reads that later."""
        made = self.apply(*inputs)
        self.shared.append((inputs[0], made))
        return made


def network(n: int, seed: int, *, element: int = 4, alignment: int = 64, in_place: bool = False) -> Problem:
    """A problem of n tensors of elements so large; `in_place` lets element-wise operators share."""
    chance = Chance(seed)
    builder = _Builder(chance, n)
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


def _one_network(builder: _Builder) -> None:
    """An encoder that halves the image and widens the channels, then a head or a decoder."""
    chance = builder.chance
    tensor = builder.apply(side=chance.pick(RESOLUTIONS), channels=3)
    tensor = builder.apply(tensor, side=tensor.side // 2, channels=chance.pick(STEMS))
    block = chance.pick((_chain, _residual, _branches, _inverted))
    decodes = chance.happens(0.3)
    skips: list[_Tensor] = []
    while tensor.side > SMALLEST and not builder.full:
        for _ in range(chance.between(1, 4)):
            tensor = (block if chance.happens(0.8) else chance.pick((_chain, _residual, _branches)))(
                builder, tensor
            )
        skips.append(tensor)
        tensor = builder.apply(tensor, side=-(-tensor.side // 2), channels=min(WIDEST, tensor.channels * 2))
    for _ in range(chance.between(0, 3)):
        tensor = _attention(builder, tensor)
    if decodes:
        for skip in reversed(skips):
            raised = builder.apply(tensor, side=skip.side, channels=skip.channels)
            joined = builder.apply(raised, skip, channels=raised.channels + skip.channels)
            tensor = builder.elementwise(builder.apply(joined, channels=skip.channels))
    pooled = builder.apply(tensor, side=1)
    builder.apply(pooled, channels=1000)


def _chain(builder: _Builder, tensor: _Tensor) -> _Tensor:
    return builder.elementwise(builder.apply(tensor))


def _residual(builder: _Builder, tensor: _Tensor) -> _Tensor:
    inner = builder.elementwise(builder.apply(tensor))
    inner = builder.apply(inner)
    return builder.elementwise(inner, tensor)


def _inverted(builder: _Builder, tensor: _Tensor) -> _Tensor:
    """MobileNet's: widen, filter, narrow, add."""
    wide = builder.elementwise(builder.apply(tensor, channels=min(WIDEST, tensor.channels * 6)))
    wide = builder.elementwise(builder.apply(wide))
    return builder.elementwise(builder.apply(wide, channels=tensor.channels), tensor)


def _branches(builder: _Builder, tensor: _Tensor) -> _Tensor:
    """Inception's: paths of different lengths from one tensor, joined along the channels."""
    ends = []
    for _ in range(builder.chance.between(2, 4)):
        end = tensor
        for _ in range(builder.chance.between(1, 3)):
            end = builder.apply(end, channels=max(1, tensor.channels // builder.chance.pick((1, 2, 4))))
        ends.append(end)
    joined = builder.apply(*ends, channels=sum(end.channels for end in ends))
    return builder.apply(joined, channels=tensor.channels)


def _attention(builder: _Builder, tensor: _Tensor) -> _Tensor:
    """Queries, keys and values of every position, and the scores of every pair of them."""
    queries, keys, values = (builder.apply(tensor) for _ in range(3))
    positions = tensor.side * tensor.side
    scores = builder.elementwise(builder.apply(queries, keys, side=positions, channels=4))
    mixed = builder.apply(scores, values, side=tensor.side, channels=tensor.channels)
    return builder.elementwise(builder.apply(mixed), tensor)
