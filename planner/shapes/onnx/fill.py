"""Shapes that were derived, written into a model."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memstow.planner.formats.onnx.texts import text_of
from memstow.planner.shapes.onnx.derive import Derived
from memstow.planner.shapes.onnx.formulas import Formulas

if TYPE_CHECKING:
    import onnx


def fill_in(inferred: "onnx.ModelProto", derived: Derived, formulas: Formulas, at: Mapping[str, int]) -> None:
    """Write shapes at these values, also where inference found none; what could not be derived stays."""
    for value in (*inferred.graph.output, *inferred.graph.value_info):
        known = derived.values.get(text_of(value.name))
        if known is None or known.shape is None or not value.type.HasField("tensor_type"):
            continue
        if not known.shape_is_known:
            continue
        shape = value.type.tensor_type.shape
        shape.SetInParent()  # A shape without dimensions is one as well.
        shape.ClearField("dim")
        for extent in known.shape:
            if extent is not None:
                shape.dim.add().dim_value = formulas.value(extent, at)
