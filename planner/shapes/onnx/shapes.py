"""The shapes of an ONNX model whose open dimensions are symbols: what inference finds, and what follows.

Inference carries the names of dimensions along. It gives new names to what it cannot say; of these, some are
found here: reshaping keeps the number of elements, and what is joined is as long as its parts together.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.texts import text_of
from memstow.planner.shapes.formula import FormulaError, parse_formula

if TYPE_CHECKING:
    import onnx

_SAME_COUNT: Final = frozenset(("Reshape", "Flatten", "Squeeze", "Unsqueeze"))

Extent = int | str
"""A number, or a formula."""
Dimension = Extent | None
"""None where nothing is known."""


@dataclass(slots=True)
class _Product:
    """A product of a number, symbols and other formulas."""

    number: int = 1
    factors: Counter[str] = field(default_factory=Counter)

    def times(self, extent: Extent) -> None:
        if isinstance(extent, int):
            self.number *= extent
        else:
            self.factors[extent] += 1

    def by(self, other: "_Product") -> "str | int | None":
        """The quotient, if it is a product as well."""
        if not other.number or other.factors - self.factors:
            return None
        common = gcd(self.number, other.number)
        if common != other.number:
            return None
        rest = list((self.factors - other.factors).elements())
        number = self.number // common
        if not rest:
            return number
        texts = [it if it.isidentifier() else f"({it})" for it in rest]
        return "*".join([str(number), *texts] if number != 1 else texts)


def forget_other_names(model: "onnx.ModelProto", symbols: Collection[str]) -> None:
    """Take names that say nothing from values that nodes make, so that inference says what they are."""
    for value in (*model.graph.output, *model.graph.value_info):
        if value.type.HasField("tensor_type") and value.type.tensor_type.HasField("shape"):
            for dimension in value.type.tensor_type.shape.dim:
                name = text_of(dimension.dim_param)
                if name and not _is_formula(name, symbols):
                    dimension.ClearField("dim_param")


def _is_formula(text: str, symbols: Collection[str]) -> bool:
    try:
        parse_formula(text, symbols)
    except FormulaError:
        return False
    return True


class SymbolicShapes:
    """The dimensions of each value, in terms of symbols."""

    def __init__(self, model: "onnx.ModelProto", symbols: Collection[str]) -> None:
        graph = model.graph
        self._symbols = symbols
        self._found: dict[str, Extent] = {}
        """Names that inference has made up, as far as it is known what they stand for."""
        self._raw = {
            text_of(it.name): list(it.type.tensor_type.shape.dim)
            for it in (*graph.value_info, *graph.output, *graph.input)
            if it.type.HasField("tensor_type") and it.type.tensor_type.HasField("shape")
        }
        self._constants = {text_of(it.name): tuple(it.dims) for it in graph.initializer}
        self._own: dict[str, tuple[Dimension, ...]] = {}
        for node in graph.node:
            self._follow(node)

    def of(self, name: str) -> tuple[Dimension, ...] | None:
        """The dimensions of a value; None where not even their number is known."""
        if name in self._own:
            return self._own[name]
        if name in self._constants:
            return self._constants[name]
        raw = self._raw.get(name)
        return None if raw is None else tuple(map(self._extent, raw))

    def _extent(self, dimension: "onnx.TensorShapeProto.Dimension") -> Dimension:
        if dimension.HasField("dim_value"):
            return dimension.dim_value
        name = text_of(dimension.dim_param)
        if name in self._symbols:
            return name
        if name in self._found:
            return self._found[name]
        # Exporters write what they know: `past + 1`.
        return name if _is_formula(name, self._symbols) else None

    def _follow(self, node: "onnx.NodeProto") -> None:
        """Find the dimension of an output that inference could not say."""
        if not node.input or len(node.output) != 1:
            return
        made = text_of(node.output[0])
        dimensions = self.of(made)
        if dimensions is None or dimensions.count(None) != 1:
            return
        axis = dimensions.index(None)
        inputs = [self.of(text_of(name)) for name in node.input]
        if node.op_type in _SAME_COUNT:
            found = _rest(inputs[0], dimensions)
        elif node.op_type == "Concat":
            found = _sum([None if it is None or axis >= len(it) else it[axis] for it in inputs])
        else:
            return
        if found is None:
            return
        self._own[made] = tuple(found if it is None else it for it in dimensions)
        name = text_of(self._raw[made][axis].dim_param)
        if name:
            self._found.setdefault(name, found)


def same_count(one: Sequence[Extent], other: Sequence[Extent]) -> bool:
    """Whether two shapes have the same number of elements at every value, as far as their factors show."""
    products = _Product(), _Product()
    for product, shape in zip(products, (one, other), strict=True):
        for extent in shape:
            product.times(extent)
    return products[0] == products[1]


def _rest(source: tuple[Dimension, ...] | None, dimensions: Sequence[Dimension]) -> Extent | None:
    """What is left for the unknown dimension when the number of elements stays."""
    if source is None:
        return None
    whole, others = _Product(), _Product()
    for extent in source:
        if extent is None:
            return None
        whole.times(extent)
    for extent in dimensions:
        if extent is not None:
            others.times(extent)
    return whole.by(others)


def _sum(parts: Sequence[Dimension]) -> Extent | None:
    total, texts = 0, []
    for part in parts:
        if part is None:
            return None
        if isinstance(part, int):
            total += part
        else:
            texts.append(f"({part})" if not part.isidentifier() else part)
    if not texts:
        return total
    return " + ".join([*texts, str(total)] if total else texts)
