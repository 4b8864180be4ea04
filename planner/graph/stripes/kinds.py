"""Which operators can be in a stripe, and which rows and columns of their inputs an element needs.

What an operator computes is told by its type, as in TensorFlow Lite and ONNX; one whose type is not known, or
whose shapes are not those of images, runs alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Final

from memstow.planner.graph.links import links_of
from memstow.planner.graph.stripes.images import Image, image_of
from memstow.planner.model.graph import Graph, Operator, Tensor, Window, element_bits
from memstow.planner.model.memory import Memo

_SAME_PLACE: Final = frozenset(
    (
        "abs",
        "add",
        "batchnormalization",
        "biasadd",
        "cast",
        "ceil",
        "clip",
        "cos",
        "dequantize",
        "dequantizelinear",
        "div",
        "dropout",
        "elu",
        "equal",
        "erf",
        "exp",
        "floor",
        "floordiv",
        "floormod",
        "gelu",
        "greater",
        "greaterequal",
        "hardsigmoid",
        "hardswish",
        "identity",
        "leakyrelu",
        "less",
        "lessequal",
        "log",
        "logicaland",
        "logicalnot",
        "logicalor",
        "logistic",
        "max",
        "maximum",
        "min",
        "minimum",
        "mish",
        "mod",
        "mul",
        "neg",
        "not",
        "notequal",
        "pow",
        "prelu",
        "quantize",
        "quantizelinear",
        "reciprocal",
        "relu",
        "relu0to1",
        "relu6",
        "relun1to1",
        "round",
        "rsqrt",
        "selu",
        "sigmoid",
        "sign",
        "silu",
        "sin",
        "softplus",
        "softsign",
        "sqrt",
        "square",
        "squareddifference",
        "sub",
        "swish",
        "tanh",
        "where",
    )
)
_CONCAT: Final = frozenset(("concat", "concatenation"))
_NEAREST: Final = frozenset(("resizenearest", "resizenearestneighbor"))
_BILINEAR: Final = frozenset(("resizebilinear",))
_MEAN: Final = frozenset(("mean", "reducemean", "globalaveragepool", "globalmaxpool", "reducemax"))
_DENSE: Final = frozenset(("fullyconnected", "dense", "gemm", "matmul"))
# Rows and columns beyond this are not gone through one by one.
_MOST_PLACES: Final = 1 << 24
_MOST_ELEMENTS_MADE: Final = 1 << 38
_UNWRITTEN: Final = str.maketrans("", "", "_- ")


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Use:
    """How an operator reads one of its images."""

    tensor: int
    rows: Axis
    columns: Axis


@dataclass(frozen=True, slots=True)
class Kind:
    """An operator that can be in a stripe."""

    uses: tuple[Use, ...]
    made: int
    """The tensor that it makes."""
    rows: int
    columns: int
    """What it makes; or, where all of that is made from all of an image (`reduces`), what it reads."""
    reduces: bool
    sums: int
    """The bytes in which a reduction adds up."""
    sum_width: int
    """Of each of them, and so their alignment."""


_kinds: Final = Memo[Graph, tuple[Kind | None, ...]]()


def kinds(graph: Graph) -> tuple[Kind | None, ...]:
    """By operator of a valid graph, its kind; None for those that run alone."""
    known = _kinds.get(graph)
    if known is None:
        viewed = {name for view in graph.views for name in (view.tensor, view.of)}
        # Effects that no tensor shows do not come row by row.
        bound = {name for pair in graph.before for name in pair}
        known = tuple(
            None if operator.id in bound else _kind(graph, operator, viewed) for operator in graph.operators
        )
        _kinds.note(graph, known)
    return known


def word_of(operator: Operator) -> str:
    """The operator's type, as it is compared."""
    return (operator.type or "").lower().translate(_UNWRITTEN)


def _kind(graph: Graph, operator: Operator, viewed: set[str]) -> Kind | None:
    if len(operator.outputs) != 1 or viewed.intersection((*operator.inputs, *operator.outputs)):
        return None
    index = links_of(graph).tensor_index
    tensors = [graph.tensors[index[name]] for name in operator.inputs if name in index]
    made = graph.tensors[index[operator.outputs[0]]]
    read = [(index[it.id], it) for it in tensors if it.kind != "constant"]
    images = [(i, image_of(it)) for i, it in read]
    if not images or any(image is None for _, image in images) or made.kind not in ("data", "external"):
        return None
    found = list(dict.fromkeys((i, image) for i, image in images if image is not None))
    if not all(_is_small(image) for image in (*(it for _, it in found), image_of(made)) if image is not None):
        return None
    return _reduction(operator, found, made, index[made.id]) or _by_rows(
        operator, found, made, index[made.id]
    )


def _is_small(image: Image) -> bool:
    places = image.rows * image.columns
    return places <= _MOST_PLACES and places * image.columns <= _MOST_ELEMENTS_MADE


def _reduction(operator: Operator, images: list[tuple[int, Image]], made: Tensor, to: int) -> Kind | None:
    """One whose output needs all of its image, which it can have row by row."""
    (tensor, image), word = images[0], word_of(operator)
    if len(images) != 1 or made.shape is None or made.type is None:
        return None
    elements, last = prod(made.shape), made.shape[-1] if made.shape else 0
    by_channel = elements == last == image.channels
    if operator.window is not None:
        reduces = "pool" in word and by_channel and _is_whole(operator.window, image)
    else:
        flat = elements == last
        reduces = (word in _MEAN and by_channel) or (word in _DENSE and flat and len(operator.inputs) > 1)
    if not reduces:
        return None
    element = -(-element_bits(made.type) // 8)
    width = max(4, element) if "int" in made.type or made.type == "bool" else element
    uses = (Use(tensor, Axis(image.rows), Axis(image.columns)),)
    return Kind(uses, to, image.rows, image.columns, True, elements * width, width)


def _is_whole(window: Window, image: Image) -> bool:
    return (
        window.kernel == (image.rows, image.columns) and not any(window.padding) and window.dilation == (1, 1)
    )


def _by_rows(operator: Operator, images: list[tuple[int, Image]], made: Tensor, to: int) -> Kind | None:
    """One whose rows need some rows of its images."""
    image = image_of(made)
    if image is None:
        return None
    uses = tuple(_uses(operator, images, image))
    if len(uses) != len(images):
        return None
    return Kind(uses, to, image.rows, image.columns, False, 0, 1)


def _uses(operator: Operator, images: list[tuple[int, Image]], made: Image) -> Iterator[Use]:
    """How it reads its images; fewer than there are where it is not known."""
    word = word_of(operator)
    if operator.window is not None:
        if len(images) == 1:
            tensor, image = images[0]
            rows, columns = (_slid(operator.window, image, axis) for axis in (0, 1))
            yield Use(tensor, rows, columns)
    elif word in _SAME_PLACE or word in _CONCAT:
        alike = all((it.rows, it.columns) == (made.rows, made.columns) for _, it in images)
        joined = sum(it.channels for _, it in images) == made.channels
        if alike and (joined if word in _CONCAT else True):
            for tensor, image in images:
                yield Use(tensor, Axis(image.rows), Axis(image.columns))
    elif word in _NEAREST or word in _BILINEAR:
        tensor, image = images[0]
        pairs = (image.rows, made.rows), (image.columns, made.columns)
        if len(images) == 1 and all(small <= large for small, large in pairs):
            rows, columns = (_resized(word in _NEAREST, small, large) for small, large in pairs)
            yield Use(tensor, rows, columns)


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


def works_by_element(operator: Operator) -> bool:
    """Whether an element of the output needs the elements at the same place only, by the operator's type."""
    return word_of(operator) in _SAME_PLACE


def is_dense(operator: Operator) -> bool:
    """Whether it multiplies by a matrix, by the operator's type."""
    return word_of(operator) in _DENSE
