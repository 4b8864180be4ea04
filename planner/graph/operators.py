"""What single operators do: which rows and columns of their inputs they read, and what they cost.

An image is a tensor of rows x columns x channels of whole bytes. What an operator computes is told by its
type, as in TensorFlow Lite and ONNX; one whose type is not known, or whose shapes are not those of images,
runs alone (`kinds`). It costs what the graph says, else multiplications; or the bytes that it reads and
writes.
"""

from collections import ChainMap
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Final, Literal

from memstow.planner.graph.links import links_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import (
    Alternative,
    Graph,
    Operator,
    Tensor,
    Window,
    element_bits,
    index_of,
    is_planned,
    names_in_views,
    shape_bytes,
    size_of,
)
from memstow.planner.model.model_class import instances_of
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
from memstow.records import Memo, Remembered, fields, record, replace


@record
class Image:
    """The extents of a tensor that can be had in rows."""

    rows: int
    columns: int
    channels: int
    element: int
    """The bytes of an element."""

    @property
    def pixel(self) -> int:
        """The bytes of one row in one column."""
        return self.channels * self.element


def image_of(tensor: Tensor) -> Image | None:
    """The image that a tensor is; None where it is none."""
    if tensor.shape is None or tensor.type is None or tensor.kind not in ("data", "external"):
        return None
    shape = tensor.shape[1:] if len(tensor.shape) == 4 and tensor.shape[0] == 1 else tensor.shape
    bits = element_bits(tensor.type)
    if len(shape) != 3 or bits % 8 or not all(shape):
        return None
    return Image(*shape, element=bits // 8)


# Rows and columns beyond this are not gone through one by one.
_MOST_PLACES: Final = 1 << 24
_MOST_ELEMENTS_MADE: Final = 1 << 38


@record
class Axis:
    """What place q needs of an input, along rows or columns: [q * step // over - before, ... + after)."""

    extent: int
    """Of the input."""
    step: int = 1
    over: int = 1
    before: int = 0
    after: int = 1

    def first(self, place: int) -> int:
        """The first that is needed."""
        return min(max(place * self.step // self.over - self.before, 0), self.extent)

    def end(self, place: int) -> int:
        """The end of what is needed."""
        return min(max(place * self.step // self.over + self.after, 0), self.extent)

    def least(self, count: int) -> int:
        """How many any of so many places needs: in between none needs less than at both ends."""
        return min(max(self.end(place) - self.first(place), 0) for place in (0, count - 1))


@record
class Use:
    """How an operator reads one of its images."""

    tensor: int
    rows: Axis
    columns: Axis


@record
class Kind:
    """An operator that can be in a stripe."""

    uses: tuple[Use, ...]
    output: int
    """The tensor that it makes."""
    rows: int
    columns: int
    """What it makes; or, where all of that is made from all of an image (`reduces`), what it reads."""
    reduces: bool
    sums: int
    """The bytes in which a reduction adds up."""
    sum_width: int
    """Of each of them, and so their alignment."""


@Remembered
def kinds(graph: Graph) -> tuple[Kind | None, ...]:
    """By operator of a valid graph, its kind; None for those that run alone."""
    viewed = names_in_views(graph)
    # Effects that no tensor shows do not come row by row.
    bound = {name for pair in graph.before for name in pair}
    outputs = {name for operator in graph.operators for name in operator.outputs}
    return tuple(
        None if operator.id in bound else _kind(graph, operator, viewed, outputs)
        for operator in graph.operators
    )


def _kind(graph: Graph, operator: Operator, viewed: frozenset[str], made_here: set[str]) -> Kind | None:
    if len(operator.outputs) != 1 or not operator.inputs:
        return None
    if viewed.intersection((*operator.inputs, *operator.outputs)):
        return None
    index = links_of(graph).tensor_index
    reads = [_Read(index[name], graph.tensors[index[name]], name in made_here) for name in operator.inputs]
    output = graph.tensors[index[operator.outputs[0]]]
    if any(entry.kind == "state" for entry in (output, *(read.tensor for read in reads))):
        return None
    images = [image_of(entry) for entry in (output, *(read.tensor for read in reads))]
    if not all(_is_small(image) for image in images if image is not None):
        return None
    word = word_of(operator)
    if operator.window is not None:
        return _windowed(operator.window, word, reads, output, index[output.id])
    if word in REDUCTIONS or word in PRODUCTS:
        return _added_up(word, reads, output, index[output.id])
    image = image_of(output)
    if image is None:
        return None
    if word in NEAREST or word in BILINEAR:
        uses = _resizing(word in NEAREST, reads, image)
    elif word in BY_ELEMENT or (word in CONCATENATIONS and _joins(reads, image)):
        uses = _in_place(reads, image)
    else:
        return None
    return None if uses is None else Kind(uses, index[output.id], image.rows, image.columns, False, 0, 1)


def kinds_if_unbound(graph: Graph) -> tuple[Kind | None, ...]:
    """The kinds that operators would have if they were not bound to run before others."""
    return kinds(replace(graph, before=()) if graph.before else graph)


def always_reads(graph: Graph) -> bool:
    """Whether each row and column of each operator needs something of each of its images.

    So in a stripe nobody makes nothing, for want of readers.
    """
    return all(_least_read(kind, use.tensor) for kind in kinds_if_unbound(graph) if kind for use in kind.uses)


def least_of_rows(graph: Graph) -> list[dict[str, int]]:
    """By operator, the bytes of its inputs and its output that are there at once, whenever it makes anything.

    That holds in any stripe, and alone.
    """
    index, least = index_of(graph).tensors, list[dict[str, int]]()
    for operator, kind in zip(graph.operators, kinds_if_unbound(graph), strict=True):
        if kind is None:
            least.append({name: size_of(index[name]) for name in (*operator.inputs, *operator.outputs)})
            continue
        counts = {kind.output: 1} | {use.tensor: _least_read(kind, use.tensor) for use in kind.uses}
        images = {graph.tensors[at].id: (image_of(graph.tensors[at]), count) for at, count in counts.items()}
        sizes = {name: image.pixel * count for name, (image, count) in images.items() if image is not None}
        if kind.reduces:
            # No more than its sums, or than all of it.
            output = graph.tensors[kind.output]
            sizes[output.id] = size_of(output)
        least.append(sizes)
    return least


def _least_read(kind: Kind, tensor: int) -> int:
    """The rows times columns of a tensor that one row and column of an operator needs at least."""
    uses = [use for use in kind.uses if use.tensor == tensor]
    return min(use.rows.least(kind.rows) * use.columns.least(kind.columns) for use in uses)


@record
class _Read:
    """What an operator reads."""

    index: int
    tensor: Tensor
    is_made: bool
    """Whether an operator of the graph makes it."""

    @property
    def is_fixed(self) -> bool:
        """Whether all of it is there from the start."""
        return self.tensor.kind == "constant" or (self.tensor.kind == "external" and not self.is_made)


def _is_small(image: Image) -> bool:
    places = image.rows * image.columns
    return places <= _MOST_PLACES and places * image.columns <= _MOST_ELEMENTS_MADE


def _one_image(reads: list[_Read]) -> Image | None:
    """The image that comes first, where all beside it are fixed."""
    return image_of(reads[0].tensor) if all(entry.is_fixed for entry in reads[1:]) else None


def _windowed(window: Window, word: str, reads: list[_Read], output: Tensor, to: int) -> Kind | None:
    image, result = _one_image(reads), image_of(output)
    if image is None or result is None:
        return None
    whole = window.kernel == (image.rows, image.columns) and not any(window.padding)
    if is_pool(word) and whole and (result.rows, result.columns) == (1, 1):
        return _reducing(reads[0], image, output, to)
    use = Use(reads[0].index, *(_slid(window, image, axis) for axis in (0, 1)))
    return Kind((use,), to, result.rows, result.columns, False, 0, 1)


def _added_up(word: str, reads: list[_Read], output: Tensor, to: int) -> Kind | None:
    """One whose output needs all of its image, which it can have row by row."""
    image = _one_image(reads)
    if image is None or not output.shape or output.type is None or prod(output.shape[:-1]) != 1:
        return None
    if word in REDUCTIONS and output.shape[-1] != image.channels:
        return None
    return _reducing(reads[0], image, output, to)


def _reducing(read: _Read, image: Image, output: Tensor, to: int) -> Kind:
    kind, elements = output.type or "int8", prod(output.shape or ())
    element = -(-element_bits(kind) // 8)
    width = max(4, element) if "int" in kind or kind == "bool" else element
    uses = (Use(read.index, Axis(image.rows), Axis(image.columns)),)
    return Kind(uses, to, image.rows, image.columns, True, elements * width, width)


def _in_place(reads: list[_Read], output: Image) -> tuple[Use, ...] | None:
    """Of those that need what is at the same place."""
    uses: dict[int, Use] = {}
    for entry in reads:
        if entry.tensor.kind == "constant":
            continue
        image = image_of(entry.tensor)
        if image is None or (image.rows, image.columns) != (output.rows, output.columns):
            return None
        uses[entry.index] = Use(entry.index, Axis(image.rows), Axis(image.columns))
    return tuple(uses.values())


def _joins(reads: list[_Read], output: Image) -> bool:
    """Whether channels of images, constants among them, are put beside each other."""
    images = [image_of(replace(entry.tensor, kind="data")) for entry in reads]
    if any(image is None or (image.rows, image.columns) != (output.rows, output.columns) for image in images):
        return False
    return sum(image.channels for image in images if image is not None) == output.channels


def _resizing(nearest: bool, reads: list[_Read], output: Image) -> tuple[Use, ...] | None:
    image = _one_image(reads)
    if image is None or image.channels != output.channels:
        return None
    pairs = (image.rows, output.rows), (image.columns, output.columns)
    if any(small > large for small, large in pairs):
        return None
    return (Use(reads[0].index, *(_resized(nearest, small, large) for small, large in pairs)),)


def _slid(window: Window, image: Image, axis: int) -> Axis:
    """Along rows (0) or columns (1)."""
    margin = window.padding[axis]
    reach = (window.kernel[axis] - 1) * window.dilation[axis] + 1
    extent = (image.rows, image.columns)[axis]
    return Axis(extent, window.stride[axis], 1, margin, reach - margin)


def _resized(nearest: bool, small: int, large: int) -> Axis:
    """What any convention of corners and centres may read."""
    exact = nearest and large in (small, 2 * small)
    return Axis(small, small, large, 0 if exact else 1, 1 if exact else 2)


CostUnit = Literal["given", "bytes"]
_MOST_COST: Final = 1 << 62
UNITS: Final[tuple[CostUnit, ...]] = ("given", "bytes")


def operator_costs(graph: Graph, unit: CostUnit = "given") -> list[int]:
    """By operator, the cost of running it once."""
    tensors = index_of(graph).tensors
    if unit == "bytes":
        return [sum(size_of(tensor) for tensor in _used(operator, tensors)) for operator in graph.operators]
    return [
        _multiplications(operator, tensors) if operator.cost is None else operator.cost
        for operator in graph.operators
    ]


_priced: Final = Memo[Graph, tuple[CostUnit, Graph]]()
"""Of a graph, the unit that was asked for last and the graph with costs in it, where they are not its own."""


def with_cost_unit(graph: Graph, unit: CostUnit) -> Graph:
    """The graph in which each operator says what it costs, in this unit; alternatives, too, in bytes."""
    latest = _priced.get(graph)
    if latest is not None and latest[0] == unit:
        return latest[1]
    priced = _with_cost_unit(graph, unit)
    if priced is not graph:
        # A graph that was noted for itself would live for ever.
        _priced.note(graph, (unit, priced))
    return priced


def _with_cost_unit(graph: Graph, unit: CostUnit) -> Graph:
    costs = operator_costs(graph, unit)
    moved: list[list[int]] = []
    if unit == "bytes":
        tensors = dict(index_of(graph).tensors)
        moved = [_moved_by_each(alternative, tensors) for alternative in graph.alternatives]
    if max([*costs, *map(sum, moved)], default=0) > _MOST_COST:
        message = "the cost of an operator is larger than 2^62; give operators a `cost` of their own"
        raise InputError.single("too_large", "$.operators", message)
    known = all(operator.cost == cost for operator, cost in zip(graph.operators, costs, strict=True))
    if known and not moved:
        return graph
    priced = _with_costs(graph, costs)
    if not moved:
        return priced
    alternatives = (
        replace(alternative, cost=None, operators=_costing(alternative.operators, each))
        for alternative, each in zip(graph.alternatives, moved, strict=True)
    )
    return replace(priced, alternatives=tuple(alternatives))


def _costing(operators: Sequence[Operator], costs: Sequence[int]) -> tuple[Operator, ...]:
    return tuple(replace(operator, cost=cost) for operator, cost in zip(operators, costs, strict=True))


def _with_costs(graph: Graph, costs: list[int]) -> Graph:
    """The graph whose operators cost this, which changes nothing of who reads what."""
    columns = {
        field.name: [getattr(operator, field.name) for operator in graph.operators]
        for field in fields(Operator)
    }
    operators = instances_of(Operator, len(costs), **{**columns, "cost": costs})
    priced = replace(graph, operators=operators)
    links_of.note(priced, links_of(graph))
    return priced


def _moved_by_each(alternative: Alternative, known: dict[str, Tensor]) -> list[int]:
    """What each of its operators moves; constants by the first that reads them: others may read parts."""
    tensors = ChainMap({tensor.id: tensor for tensor in alternative.tensors}, known)
    read: set[str] = set()
    moved = []
    for operator in alternative.operators:
        used = [tensor for tensor in _used(operator, tensors) if tensor.id not in read]
        moved.append(sum(map(size_of, used)))
        read.update(tensor.id for tensor in used if tensor.kind == "constant")
    return moved


def _used(operator: Operator, tensors: Mapping[str, Tensor]) -> Iterator[Tensor]:
    """What it reads, and what it writes, as far as that is memory."""
    for name in (*dict.fromkeys(operator.inputs), *dict.fromkeys(operator.outputs)):
        tensor = tensors.get(name)
        if tensor is not None and (is_planned(tensor) or tensor.kind == "constant"):
            yield tensor


def _multiplications(operator: Operator, tensors: Mapping[str, Tensor]) -> int:
    """Of the weights with each place of the output; else one for each element, of pools for their kernel."""
    output = tensors.get(operator.outputs[0]) if operator.outputs else None
    if output is None:
        return 0
    elements = prod(output.shape) if output.shape is not None else shape_bytes(output) or size_of(output)
    weights = max(
        (
            prod(entry.shape)
            for entry in (tensors[name] for name in operator.inputs if name in tensors)
            if entry.kind == "constant" and entry.shape is not None and len(entry.shape) >= 2
        ),
        default=0,
    )
    windowed = operator.window is not None
    if weights and (windowed or word_of(operator) in PRODUCTS):
        image = image_of(output)
        return weights * (image.rows * image.columns if image is not None and windowed else 1)
    return elements * (prod(operator.window.kernel) if operator.window is not None else 1)
