"""Which operators can run row by row, what each of them reads, and what it costs: the judge's own list.

An image is a tensor with rows, columns and channels; `Slide` and `Scale` say which part of one a part of
another is made from. An operator that `Kinds` does not know is a barrier: it runs alone, when all it reads is
there. What an operator costs is what the graph says, else multiplications of weights, else elements made.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final, NamedTuple

from memstow.planner.model.graph import (
    Graph,
    Operator,
    Tensor,
    Window,
    element_bits,
    index_of,
    names_in_views,
    size_of,
)
from memstow.planner.model.operator_kinds import (
    BILINEAR,
    BY_ELEMENT,
    CONCATENATIONS,
    NEAREST,
    PRODUCTS,
    REDUCTIONS,
    is_pool,
    word_of,
)
from memstow.planner.model.problem import LIMIT
from memstow.planner.verify.untimed_graph import in_order
from memstow.planner.verify.verdict import Refused
from memstow.records import record, replace

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


@record
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

    def covers(self, output_extent: int) -> bool:
        """Whether all of the input is read for an output of this extent."""
        read = (output_extent - 1) * self.stride - self.margin + self.reach
        return (self.reach >= self.stride or output_extent == 1) and read >= self.extent


@record
class Scale:
    """An input of this extent that is stretched or shrunk; `around`: neighbours on each side are read."""

    extent: int
    output_extent: int
    around: int

    def of(self, begin: int, end: int) -> Part:
        """What is read for this part of the output."""
        if begin >= end:
            return NOTHING
        first = begin * self.extent // self.output_extent - self.around
        last = (end - 1) * self.extent // self.output_extent + self.around + 1
        return _within(first, self.extent), _within(last, self.extent)

    def covers(self, output_extent: int) -> bool:
        """Whether all of the input is read for an output of this extent."""
        return output_extent == self.output_extent and output_extent >= self.extent


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


# Images that are larger are not gone through row by row.
_MOST_ELEMENTS: Final = 1 << 24
_MOST_READ: Final = 1 << 38


@record
class Rolling:
    """An operator that makes its output row by row."""

    operator: Operator
    output: str
    domain: Image
    """What it makes; of a reduction, the image that it reads, each row of which it takes in once."""
    reads: Mapping[str, tuple[Along, Along]]
    """By image that it reads, in the order of its inputs: how along rows, and along columns."""
    reduces: str | None = None
    """The image of which all goes into one element for each channel."""


class Kinds:
    """Knows the operators of a graph that can run row by row."""

    def __init__(
        self, tensors: Mapping[str, Tensor], viewed: frozenset[str], outputs: frozenset[str]
    ) -> None:
        self._tensors = tensors
        self._viewed = viewed
        self._outputs = outputs

    def rolling(self, operator: Operator) -> Rolling:
        """How the operator runs row by row. Raises Refused where it is a barrier."""
        rolling = self._reason_or_rolling(operator)
        if isinstance(rolling, str):
            raise Refused(f"{operator.id!r} cannot run in a stripe: {rolling}")
        return rolling

    def is_barrier(self, operator: Operator) -> bool:
        """Whether it cannot run row by row."""
        return isinstance(self._reason_or_rolling(operator), str)

    def _reason_or_rolling(self, operator: Operator) -> Rolling | str:
        reason = self._against(operator)
        if reason is not None:
            return reason
        kind = word_of(operator)
        if operator.window is not None:
            return self._windowed(operator, operator.window, kind)
        if kind in REDUCTIONS or kind in PRODUCTS:
            return self._reduction(operator, kind)
        output = image_of(self._tensors[operator.outputs[0]])
        if output is None:
            return f"{operator.outputs[0]!r} is no image of rows, columns and channels"
        if kind in BY_ELEMENT:
            return self._same_place(operator, output)
        if kind in CONCATENATIONS:
            return self._concat(operator, output)
        if kind in NEAREST or kind in BILINEAR:
            return self._resize(operator, output, is_nearest=kind in NEAREST)
        return f"the type {(operator.type or '')[:60]!r} is not known to run row by row"

    def _against(self, operator: Operator) -> str | None:
        """What keeps an operator of any type from running row by row."""
        for name in (*operator.inputs, *operator.outputs):
            if name in self._viewed:
                return f"{name!r} is a view or has one"
            tensor = self._tensors[name]
            if tensor.kind == "state":
                return f"{name!r} is a state"
            image = image_of(tensor)
            if image is not None and tensor.kind != "constant":
                area = image.rows * image.columns
                if area > _MOST_ELEMENTS or area * image.columns > _MOST_READ:
                    return f"{name!r} of {image.rows:,} x {image.columns:,} is too large to follow its rows"
        if len(operator.outputs) != 1:
            return "it does not make one tensor"
        return None if operator.inputs else "it reads nothing"

    def _is_fixed(self, name: str) -> bool:
        """Whether the tensor is there from the start, all of it: weights, mostly."""
        kind = self._tensors[name].kind
        return kind == "constant" or (kind == "external" and name not in self._outputs)

    def _image(self, name: str) -> Image | None:
        """What the tensor is as an image that can be made or read row by row."""
        tensor = self._tensors[name]
        return None if tensor.kind == "constant" else image_of(tensor)

    def _windowed(self, operator: Operator, window: Window, kind: str) -> Rolling | str:
        first = operator.inputs[0]
        source, output = self._image(first), image_of(self._tensors[operator.outputs[0]])
        if source is None or output is None:
            return "what it reads or makes is no image of rows, columns and channels"
        for name in operator.inputs[1:]:
            if not self._is_fixed(name):
                return f"{name!r} beside the image is no constant"
        rows, columns = (
            Slide(extent, stride, margin, (kernel - 1) * dilation + 1)
            for extent, stride, margin, kernel, dilation in zip(
                source[:2], window.stride, window.padding[:2], window.kernel, window.dilation, strict=True
            )
        )
        for along, after, extent in (
            (rows, window.padding[2], output.rows),
            (columns, window.padding[3], output.columns),
        ):
            if (along.extent + along.margin + after - along.reach) // along.stride + 1 != extent:
                return "its window does not go with its shapes"
        if is_pool(kind) and output[:2] == (1, 1) and window.kernel == source[:2] and not any(window.padding):
            return _reducing(operator, first, source)
        return Rolling(operator, operator.outputs[0], output, {first: (rows, columns)})

    def _same_place(self, operator: Operator, output: Image) -> Rolling | str:
        reads: dict[str, tuple[Along, Along]] = {}
        for name in operator.inputs:
            if self._tensors[name].kind == "constant":
                continue
            image = image_of(self._tensors[name])
            if image is None or image[:2] != output[:2]:
                return f"{name!r} does not have the rows and columns of what it makes"
            reads[name] = Slide(image.rows), Slide(image.columns)
        return Rolling(operator, operator.outputs[0], output, reads)

    def _concat(self, operator: Operator, output: Image) -> Rolling | str:
        channels = 0
        for name in operator.inputs:
            image = image_of(self._tensors[name])
            if image is None or image[:2] != output[:2]:
                return f"{name!r} does not have the rows and columns of what it makes"
            channels += image.channels
        if channels != output.channels:
            return "it does not put channels together"
        return self._same_place(operator, output)

    def _resize(self, operator: Operator, output: Image, is_nearest: bool) -> Rolling | str:
        first = operator.inputs[0]
        source = self._image(first)
        if source is None or source.channels != output.channels:
            return f"{first!r} is no image with the channels of what it makes"
        if not all(self._is_fixed(name) for name in operator.inputs[1:]):
            return "it reads more than an image and constants"
        if source.rows > output.rows or source.columns > output.columns:
            return "it makes an image smaller, for which conventions of what is read differ"
        rows, columns = (
            # Other factors: where corners or centers are aligned, the nearest may be a neighbour.
            Scale(extent, to, around=0 if is_nearest and to in (extent, 2 * extent) else 1)
            for extent, to in zip(source[:2], output[:2], strict=True)
        )
        return Rolling(operator, operator.outputs[0], output, {first: (rows, columns)})

    def _reduction(self, operator: Operator, kind: str) -> Rolling | str:
        first = operator.inputs[0]
        source, target = self._image(first), self._tensors[operator.outputs[0]]
        if source is None:
            return f"{first!r} is no image of rows, columns and channels"
        if not all(self._is_fixed(name) for name in operator.inputs[1:]):
            return "it reads more than an image and constants"
        if not target.shape or target.type is None or prod(target.shape[:-1]) != 1:
            return f"{target.id!r} is not a single row of elements"
        if kind in REDUCTIONS and target.shape[-1] != source.channels:
            return f"{target.id!r} does not have an element for each channel"
        return _reducing(operator, first, source)


def _reducing(operator: Operator, first: str, source: Image) -> Rolling:
    reads = {first: (Slide(source.rows), Slide(source.columns))}
    return Rolling(operator, operator.outputs[0], source, reads, first)


def cost_of(operator: Operator, tensors: Mapping[str, Tensor]) -> int:
    """The cost of running an operator once."""
    if operator.cost is not None:
        return operator.cost
    elements = _elements(tensors[operator.outputs[0]]) if operator.outputs else 0
    dense = word_of(operator) in PRODUCTS
    if operator.window is None and not dense:
        return elements
    weights = max(
        (
            _elements(tensor)
            for name in operator.inputs
            if (tensor := tensors[name]).kind == "constant" and len(tensor.shape or ()) >= 2
        ),
        default=0,
    )
    if not weights:
        return elements * (prod(operator.window.kernel) if operator.window is not None else 1)
    if dense:
        return weights
    image = image_of(tensors[operator.outputs[0]]) if operator.outputs else None
    return weights * (image.rows * image.columns if image is not None else 1)


def _elements(tensor: Tensor) -> int:
    return size_of(tensor) if tensor.shape is None else prod(tensor.shape)


def cost_once(graph: Graph) -> int:
    """What all operators cost that are listed, each run once."""
    tensors = index_of(graph).tensors
    return sum(cost_of(operator, tensors) for operator in graph.operators)


def in_bytes(graph: Graph) -> Graph:
    """The graph whose operators cost the bytes that they read and write.

    A constant counts once in an alternative, for the first that reads it: they may read parts of it.
    """
    tensors = index_of(graph).tensors
    alternatives = []
    for alternative in graph.alternatives:
        own = {tensor.id: tensor for tensor in alternative.tensors}
        read: set[str] = set()
        costs = []
        for operator in alternative.operators:
            moved = [tensor for tensor in _moved(operator, own, tensors) if tensor.id not in read]
            read.update(tensor.id for tensor in moved if tensor.kind == "constant")
            costs.append(sum(map(size_of, moved)))
        _within_limit(sum(costs), alternative.id)
        priced = _costing(alternative.operators, costs)
        alternatives.append(replace(alternative, cost=None, operators=priced))
    costs = []
    for operator in graph.operators:
        costs.append(_within_limit(sum(map(size_of, _moved(operator, {}, tensors))), operator.id))
    return replace(graph, operators=_costing(graph.operators, costs), alternatives=tuple(alternatives))


def _costing(operators: Sequence[Operator], costs: Sequence[int]) -> tuple[Operator, ...]:
    return tuple(replace(operator, cost=cost) for operator, cost in zip(operators, costs, strict=True))


def _within_limit(moved: int, name: str) -> int:
    if moved > LIMIT:
        raise Refused(f"{name[:64]!r} moves {moved:,} bytes; a cost is at most {LIMIT:,}")
    return moved


def _moved(operator: Operator, own: Mapping[str, Tensor], tensors: Mapping[str, Tensor]) -> Iterator[Tensor]:
    """What it reads and what it writes, without what lies in memory that the graph does not speak of."""
    for name in (*dict.fromkeys(operator.inputs), *dict.fromkeys(operator.outputs)):
        tensor = own.get(name) or tensors[name]
        if tensor.kind != "external":
            yield tensor


def least_cost(graph: Graph) -> int:
    """What no schedule of a graph without alternatives is below: each operator makes all that is needed.

    In stripes, rows and columns that no window reads need not be made: operators whose output may have such
    count for nothing.
    """
    tensors = index_of(graph).tensors
    viewed = names_in_views(graph)
    kinds = Kinds(
        tensors, viewed, frozenset(name for operator in graph.operators for name in operator.outputs)
    )
    readers: dict[str, list[int]] = {}
    for number, operator in enumerate(graph.operators):
        for name in dict.fromkeys(operator.inputs):
            readers.setdefault(name, []).append(number)
    outputs = set(graph.outputs)
    total = 0
    whole: dict[str, bool] = {}
    # Each operator after those that read what it makes.
    for number in in_order(
        [{reader for name in entry.outputs for reader in readers.get(name, ())} for entry in graph.operators]
    ):
        operator = graph.operators[number]
        for name in operator.outputs:
            reading = [graph.operators[reader] for reader in readers.get(name, ())]
            whole[name] = (
                name in outputs
                or not reading
                or any(_reads_all(kinds, reader, name, whole) for reader in reading)
            )
        if kinds.is_barrier(operator) or all(whole[name] for name in operator.outputs):
            total += cost_of(operator, tensors)
    return total


def _reads_all(kinds: Kinds, reader: Operator, name: str, whole: dict[str, bool]) -> bool:
    """Whether the reader needs all of the tensor, in stripes too."""
    try:
        rolling = kinds.rolling(reader)
    except Refused:
        return True
    if name not in rolling.reads:
        return True
    rows, columns = rolling.reads[name]
    domain = rolling.domain
    return whole.get(rolling.output, False) and rows.covers(domain.rows) and columns.covers(domain.columns)
