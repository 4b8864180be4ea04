"""How the elements of a value lie in memory: axes of memory, and the order in which the value has them.

Images of ONNX have channels before rows and columns, and kernels want them last. A reshape or a transposition
only changes how memory is read; bytes move where an operator needs another order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod


@dataclass(frozen=True, slots=True)
class Layout:
    """Extents in memory, outermost first, and which of them the value has first, second, ..."""

    stored: tuple[int, ...]
    turn: tuple[int, ...]

    @property
    def turned(self) -> tuple[int, ...]:
        """The extents in the order of the value."""
        return tuple(self.stored[axis] for axis in self.turn)

    @property
    def is_plain(self) -> bool:
        """Whether elements lie in the order of the value."""
        return len(merged(self).stored) <= 1


def plain(shape: Sequence[int]) -> Layout:
    """Memory in the order of the value."""
    return Layout(tuple(shape), tuple(range(len(shape))))


def of_order(shape: Sequence[int], order: Sequence[int]) -> Layout:
    """A value of this shape, of which memory has these axes one after the other."""
    return Layout(
        tuple(shape[axis] for axis in order), tuple(order.index(axis) for axis in range(len(shape)))
    )


def merged(layout: Layout) -> Layout:
    """The same with as few axes as there may be: two that are the same have the same bytes."""
    kept = [axis for axis in layout.turn if layout.stored[axis] != 1]
    runs: list[list[int]] = []
    rank = {axis: place for place, axis in enumerate(sorted(kept))}
    for axis in kept:
        if runs and rank[axis] == rank[runs[-1][-1]] + 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    in_memory = sorted(runs)
    stored = tuple(prod(layout.stored[axis] for axis in run) for run in in_memory)
    return Layout(stored, tuple(in_memory.index(run) for run in runs))


def reordered(layout: Layout, shape: Sequence[int], order: Sequence[int]) -> Layout | None:
    """The layout of a value with its axes in this order; None where memory has no such axes."""
    if list(order) == list(range(len(shape))):
        return layout
    pieces = _common(layout.turned, shape)
    if pieces is None:
        return None
    # An axis of memory of several pieces is as many axes, in the order of the value.
    stored: list[int] = []
    place: dict[int, int] = {}
    for axis in range(len(layout.stored)):
        for number, (turned, _, extent) in enumerate(pieces):
            if layout.turn[turned] == axis:
                place[number] = len(stored)
                stored.append(extent)
    turn = [
        place[number] for axis in order for number, (_, of_value, _) in enumerate(pieces) if of_value == axis
    ]
    return Layout(tuple(stored), tuple(turn))


def _common(one: Sequence[int], other: Sequence[int]) -> list[tuple[int, int, int]] | None:
    """Both lists of extents in the same pieces: of which axis of each it is, and its extent."""
    pieces: list[tuple[int, int, int]] = []
    i = j = 0
    left, right = 1, 1
    while True:
        while left == 1 and i < len(one):
            left, i = one[i], i + 1
        while right == 1 and j < len(other):
            right, j = other[j], j + 1
        if left == 1 or right == 1:
            return pieces if left == right else None
        part = min(left, right)
        if left % part or right % part:
            return None
        pieces.append((i - 1, j - 1, part))
        left, right = left // part, right // part


def channels_last(rank: int) -> tuple[int, ...]:
    """The axes of an image in the order in which kernels have them."""
    return (0, *range(2, rank), 1)


def image_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Of an image of ONNX, rows, columns and channels as kernels have them; what has no columns has one."""
    batch, channels, *extents = shape
    return (batch, *extents, *(1,) * (2 - len(extents)), channels)


def image_axis(axis: int) -> int:
    """Which axis of `image_shape` that is."""
    return 0 if axis == 0 else 3 if axis == 1 else axis - 1
