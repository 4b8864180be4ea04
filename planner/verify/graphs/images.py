"""Images: tensors with rows, columns and channels; and which part of one a part of another is made from."""

from dataclasses import dataclass
from typing import NamedTuple

from memstow.planner.model.graph import Tensor, element_bits

Part = tuple[int, int]
"""Rows or columns, the last not included."""
NOTHING: Part = (0, 0)


class Image(NamedTuple):
    """What a tensor is as an image."""

    rows: int
    columns: int
    channels: int
    element: int
    """Bytes of an element."""


def image_of(tensor: Tensor) -> Image | None:
    """The tensor as an image: rows x columns x channels, after a batch of 1 if any, of whole bytes."""
    if tensor.shape is None or tensor.type is None or element_bits(tensor.type) % 8:
        return None
    shape = tensor.shape
    if len(shape) == 4 and shape[0] == 1:
        shape = shape[1:]
    if len(shape) != 3 or not all(shape):
        return None
    return Image(*shape, element_bits(tensor.type) // 8)


@dataclass(frozen=True, slots=True)
class Slide:
    """A window that slides along an input of this extent."""

    extent: int
    stride: int = 1
    margin: int = 0
    reach: int = 1
    """From the first element of the window to the last, both included."""

    def of(self, begin: int, end: int) -> Part:
        """What is read for this part of the output; the end is not above the begin where it is nothing."""
        if begin >= end:
            return NOTHING
        first = begin * self.stride - self.margin
        last = (end - 1) * self.stride - self.margin + self.reach
        return _within(first, self.extent), _within(last, self.extent)

    def covers(self, made: int) -> bool:
        """Whether all of the input is read for an output of this extent."""
        read = (made - 1) * self.stride - self.margin + self.reach
        return (self.reach >= self.stride or made == 1) and read >= self.extent


@dataclass(frozen=True, slots=True)
class Scale:
    """An input of this extent that is stretched or shrunk; `around`: neighbours on each side are read."""

    extent: int
    made: int
    around: int

    def of(self, begin: int, end: int) -> Part:
        """What is read for this part of the output."""
        if begin >= end:
            return NOTHING
        first = begin * self.extent // self.made - self.around
        last = (end - 1) * self.extent // self.made + self.around + 1
        return _within(first, self.extent), _within(last, self.extent)

    def covers(self, made: int) -> bool:
        """Whether all of the input is read for an output of this extent."""
        return made == self.made and made >= self.extent


Along = Slide | Scale
"""How an operator reads along one axis."""


def _within(place: int, extent: int) -> int:
    return min(max(place, 0), extent)


def joined(one: Part, other: Part) -> Part:
    """The least part with both, where empty ones count for nothing."""
    if one[0] >= one[1]:
        return other
    if other[0] >= other[1]:
        return one
    return min(one[0], other[0]), max(one[1], other[1])
