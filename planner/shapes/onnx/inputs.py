"""The open dimensions of a model's inputs as formulas: symbols, and names such as `past + tokens` that are
formulas of what was given.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memstow.planner.formats.onnx.dimensions import axes_of, fix_dimensions, refuse_unknown, require_open
from memstow.planner.model.errors import InputError
from memstow.planner.model.symbolic import Symbol
from memstow.planner.reading.printable import shown
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.named import formula_of_name, is_formula
from memstow.planner.shapes.onnx.terms import Terms, TooLongError, a_number

if TYPE_CHECKING:
    import onnx


class OpenInputs:
    """The dimensions of inputs that depend on symbols.

    In the model each has its formula as its name: no two are the same by accident.
    """

    def __init__(
        self,
        model: "onnx.ModelProto",
        ranges: Mapping[str, Symbol],
        dims: Mapping[str, int],
        formulas: Formulas,
    ) -> None:
        fix_dimensions(model, dims)
        require_open(model, ranges)
        self._formulas = formulas
        self.names: dict[str, Terms] = {
            **{name: a_number(value) for name, value in dims.items()},
            **{name: formulas.symbol(symbol.id) for name, symbol in ranges.items()},
        }
        """What was given, by the names that the model has for it."""
        self.extents: dict[str, Terms] = {}
        """The formulas by the names of dimensions."""
        self._dimensions: list[tuple[onnx.TensorShapeProto.Dimension, str]] = []
        unknown = []
        for axis in axes_of(model):
            if not axis.position or not axis.is_open:
                continue
            extent = self.names.get(axis.position) or self._of_name(axis.name)
            if extent is None:
                unknown.append(axis)
            elif extent.number is None:
                text = formulas.text(extent)
                axis.dimension.dim_param = text
                self.extents[text] = extent
                self._dimensions.append((axis.dimension, text))
            elif extent.number >= 0:
                axis.dimension.dim_value = extent.number
            else:
                message = f"the dimension {shown(axis.name)} is {extent.number:,}, which is below 0"
                raise InputError.single("out_of_range", axis.path, message)
        missing = {axis.name for axis in unknown}
        # What would follow from others is not asked for.
        asked = [it for it in unknown if not is_formula(it.name, {*self.names, *missing} - {it.name})]
        refuse_unknown(asked or unknown)

    def values(self, at: Mapping[str, int]) -> dict[str, int]:
        """What they are where symbols have these values."""
        return {text: self._formulas.value(extent, at) for text, extent in self.extents.items()}

    def set_to(self, at: Mapping[str, int] | None) -> None:
        """Give them the values that they have there, or their names again."""
        values = {} if at is None else self.values(at)
        for dimension, text in self._dimensions:
            if text in values:
                dimension.dim_value = values[text]
            else:
                dimension.dim_param = text

    def _of_name(self, name: str) -> Terms | None:
        try:
            extent = formula_of_name(name, self.names, self._formulas) if name else None
            if extent is not None:
                self._formulas.text(extent)
        except TooLongError:
            return None
        return extent
