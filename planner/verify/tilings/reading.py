"""The judge's own reading of an operator: which tile of which tensor a step needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Final

from memstow.planner.model.graph import Operator, Tensor, Window, element_bits
from memstow.planner.model.tiling import Loop, Role
from memstow.planner.verify.tilings.types import BY_ELEMENT, PRODUCTS

_LONGEST: Final = 1 << 20
"""Rows or columns that a window reaches over, in one place and in all."""


@dataclass(frozen=True, slots=True)
class Direction:
    """Rows or columns: what element `place` of the output is made from."""

    made: int
    extent: int
    taps: int
    stride: int
    before: int
    dilation: int

    @property
    def is_point(self) -> bool:
        """Whether every place is made from the same place alone."""
        return (self.taps, self.stride, self.before) == (1, 1, 0) and self.extent >= self.made

    def needed(self, place: int) -> tuple[int, int]:
        """Hull of what is needed in the image."""
        at = [place * self.stride - self.before + tap * self.dilation for tap in (0, self.taps - 1)]
        low, high = max(at[0], 0), min(at[1], self.extent - 1)
        return (low, high + 1) if low <= high else (low, low)

    def touched(self) -> int:
        """How many rows or columns of the image anything is made from."""
        if self.is_point:
            return self.made
        ends = min(self.extent, (self.made - 1) * self.stride + (self.taps - 1) * self.dilation + 1)
        marks = bytearray(ends)
        for tap in range(self.taps):
            first = tap * self.dilation - self.before
            skipped = -(-max(-first, 0) // self.stride)
            begin, end = first + skipped * self.stride, first + (self.made - 1) * self.stride + 1
            places = range(begin, min(end, ends), self.stride)
            marks[begin : min(end, ends) : self.stride] = b"\1" * len(places)
        return marks.count(1)


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that moves in tiles."""

    tensor: str
    role: Role
    element: int
    """Bytes of an element."""
    each: int
    """Elements for each place in the directions in which it is cut."""
    loops: tuple[Loop, ...]
    """The directions that say which tile it is."""


@dataclass(frozen=True, slots=True)
class Reading:
    """An operator."""

    rows: Direction
    columns: Direction
    channels: int
    input_channels: int
    groups: int
    operands: tuple[Operand, ...]
    kernel_area: int
    is_point: bool
    has_weights: bool
    sums: int
    """Bytes in which an element of the output is added up."""

    @property
    def adds_up(self) -> bool:
        """Whether input channels may be added up a part at a time."""
        return self.has_weights and self.groups == 1

    def group_of(self, channel: int) -> tuple[int, int]:
        """The input channels that an output channel is made from."""
        size = self.input_channels // self.groups
        group = channel // (self.channels // self.groups)
        return group * size, (group + 1) * size

    def least(self) -> dict[str, int]:
        """By tensor, the bytes of the elements that are needed."""
        found = {}
        for it in self.operands:
            if it.role == "image":
                places = _touched(self.rows) * _touched(self.columns) * self.input_channels
            elif it.role == "output":
                places = self.rows.made * self.columns.made * self.channels
            elif it.role == "weights":
                places = self.channels * self.input_channels // self.groups
            else:
                places = self.channels if it.loops else 1
            found[it.tensor] = places * it.each * it.element
        return found


@lru_cache(maxsize=64)
def _touched(direction: Direction) -> int:
    return direction.touched()


def read(operator: Operator, by_id: Mapping[str, Tensor]) -> Reading | str:
    """The operator as the judge understands it, or why it has no tiles."""
    inputs = [by_id[name] for name in dict.fromkeys(operator.inputs)]
    outputs = [by_id[name] for name in operator.outputs]
    if not inputs or len(outputs) != 1 or outputs[0] in inputs:
        return "the operator does not make one output from other tensors"
    for it in (*inputs, *outputs):
        if it.type is None or not it.shape or not all(it.shape) or element_bits(it.type) % 8:
            return f"{it.id!r} is no tensor of whole bytes whose shape is known"
    word = "".join(letter for letter in (operator.type or "").lower() if letter not in "_- ")
    if operator.window is not None:
        return _with_window(operator.window, word, inputs, outputs[0])
    if word in PRODUCTS:
        return _product(inputs, outputs[0])
    if word in BY_ELEMENT:
        return _by_element(inputs, outputs[0])
    return "the operator is none of those that have tiles"


def _with_window(window: Window, word: str, inputs: list[Tensor], output: Tensor) -> Reading | str:
    made, seen = _shape(output)[-3:], _shape(inputs[0])[-3:]
    for i in (0, 1):
        reach = (window.kernel[i] - 1) * window.dilation[i] + 1
        if max(reach, made[i] * window.stride[i], window.padding[i]) > _LONGEST:
            return f"its window reaches over more than {_LONGEST:,} rows or columns"
    high, wide, deep = seen
    area = prod(window.kernel)
    weights, groups = None, 1
    for it in inputs[1:]:
        full, size = area * deep * made[2], prod(_shape(it))
        if (
            len(_shape(it)) >= 2
            and full % size == 0
            and deep % (full // size) == made[2] % (full // size) == 0
        ):
            weights, groups = it, full // size
            break
    if weights is None and (word == "dw" or "pool" in word or "depthwise" in word) and made[2] % deep == 0:
        groups = deep
    rows, columns = (
        Direction(
            made[i],
            (high, wide)[i],
            window.kernel[i],
            window.stride[i],
            window.padding[i],
            window.dilation[i],
        )
        for i in (0, 1)
    )
    point = area == 1 and window.stride == (1, 1) and not any(window.padding)
    return _reading(
        rows, columns, made[2], deep, groups, inputs[:1], weights, inputs[1:], output, area, point
    )


def _product(inputs: list[Tensor], output: Tensor) -> Reading | str:
    channels = _shape(output)[-1]
    rows = prod(_shape(output)) // channels
    deep = prod(_shape(inputs[0])) // rows
    if (
        len(inputs) < 2
        or prod(_shape(inputs[1])) != deep * channels
        or prod(_shape(inputs[0])) != deep * rows
    ):
        return "the operator is no product with a matrix"
    line, point = Direction(rows, rows, 1, 1, 0, 1), Direction(1, 1, 1, 1, 0, 1)
    return _reading(line, point, channels, deep, 1, inputs[:1], inputs[1], inputs[1:], output, 1, True)


def _by_element(inputs: list[Tensor], output: Tensor) -> Reading | str:
    high, wide, channels = seen = _extents(output)
    images = [it for it in inputs if it.kind != "constant" and prod(_shape(it)) == prod(seen)]
    if (
        not images
        or any(_extents(it) != seen for it in images)
        or any(prod(_shape(it)) not in (1, channels) for it in inputs if it not in images)
    ):
        return "the inputs do not have the shape of the output"
    rows, columns = (Direction(it, it, 1, 1, 0, 1) for it in (high, wide))
    rest = [it for it in inputs if it not in images]
    return _reading(rows, columns, channels, channels, channels, images, None, rest, output, 1, True)


def _reading(
    rows: Direction,
    columns: Direction,
    channels: int,
    deep: int,
    groups: int,
    images: list[Tensor],
    weights: Tensor | None,
    others: list[Tensor],
    output: Tensor,
    area: int,
    point: bool,
) -> Reading:
    where: tuple[Loop, ...] = (
        ("rows", "columns", "inputs") if groups == 1 else ("rows", "columns", "channels")
    )
    operands = [Operand(it.id, "image", _bytes(it), 1, where) for it in images]
    if weights is not None:
        operands.append(Operand(weights.id, "weights", _bytes(weights), area, ("channels", "inputs")))
    for it in others:
        size = prod(_shape(it))
        if it is weights or it in images:
            continue
        if channels in _shape(it):
            operands.append(Operand(it.id, "parameter", _bytes(it), size // channels, ("channels",)))
        else:
            operands.append(Operand(it.id, "parameter", _bytes(it), size, ()))
    element = _bytes(output)
    operands.append(Operand(output.id, "output", element, 1, ("channels", "rows", "columns")))
    kind = output.type or ""
    sums = max(4, element) if kind == "bool" or kind.startswith(("int", "uint")) else element
    return Reading(
        rows, columns, channels, deep, groups, tuple(operands), area, point, weights is not None, sums
    )


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tensor.shape or ()


def _extents(tensor: Tensor) -> tuple[int, int, int]:
    """Rows, columns and channels, with all dimensions before as rows."""
    *rows, columns, channels = (1, 1, *_shape(tensor))
    return prod(rows), columns, channels


def _bytes(tensor: Tensor) -> int:
    return element_bits(tensor.type) // 8 if tensor.type is not None else 0
