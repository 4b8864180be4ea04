"""What a file says of shapes that its nodes make: read, taken away, and compared with what follows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memstow.planner.formats.onnx.texts import path_of, text_of
from memstow.planner.model.errors import Issue
from memstow.planner.reading.printable import shown
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.operation import Value

if TYPE_CHECKING:
    import onnx

Declared = dict[str, dict[int, str]]
"""By the name of a value, of each axis the name that the file gives it."""


def take_names(model: "onnx.ModelProto") -> Declared:
    """The names of dimensions of all values that are no inputs; the model has them no longer.

    A name is what somebody wrote, and not what follows: inference would believe it.
    """
    found: Declared = {}
    inputs = {text_of(it.name) for it in model.graph.input}
    for value in (*model.graph.output, *model.graph.value_info):
        name = text_of(value.name)
        if name in inputs or not value.type.HasField("tensor_type"):
            continue
        for axis, dimension in enumerate(value.type.tensor_type.shape.dim):
            if dimension.dim_param:
                found.setdefault(name, {})[axis] = text_of(dimension.dim_param)
                dimension.ClearField("dim_param")
    return found


def false_names(declared: Declared, values: Mapping[str, Value], formulas: Formulas) -> list[Issue]:
    """Names that are formulas of the symbols, and not what the dimension is."""
    issues = []
    for name, axes in declared.items():
        value = values.get(name)
        if value is None or value.shape is None:
            continue
        for axis, text in axes.items():
            derived = value.shape[axis] if axis < len(value.shape) else None
            said = formulas.read(text)
            if derived is None or said is None or said == derived:
                continue
            where = formulas.where_they_differ(said, derived)
            if where:
                message = (
                    f"dimension {axis} is {shown(text)} by its name, and {formulas.text(derived)} by "
                    f"what makes it{where}; correct the name in the model, or leave it out"
                )
                issues.append(Issue("contradicting_shapes", path_of(name), message))
    return issues
