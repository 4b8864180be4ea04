"""What a file says of shapes that its nodes make: read, taken away, and compared with what follows."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memstow.planner.formats.onnx.texts import path_of, text_of
from memstow.planner.model.errors import Issue
from memstow.planner.reading.printable import shown
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.named import formula_of_name
from memstow.planner.shapes.onnx.operation import Value
from memstow.planner.shapes.onnx.terms import Terms, a_number

if TYPE_CHECKING:
    import onnx

Declared = dict[str, list[int | str | None]]
"""By the name of a value, what the file says of each axis: a number, a name, or nothing."""


def take_declared(model: "onnx.ModelProto") -> Declared:
    """The shapes of all values that are no inputs; the model has them no longer.

    They are what somebody wrote, and not what follows: inference would believe them.
    """
    found: Declared = {}
    inputs = {text_of(it.name) for it in model.graph.input}
    for value in (*model.graph.output, *model.graph.value_info):
        name = text_of(value.name)
        dense = value.type.tensor_type
        if name in inputs or not value.type.HasField("tensor_type") or not dense.HasField("shape"):
            continue
        found[name] = [
            it.dim_value if it.HasField("dim_value") else text_of(it.dim_param) or None
            for it in dense.shape.dim
        ]
        dense.ClearField("shape")
    return found


def false_declarations(
    declared: Declared, values: Mapping[str, Value], names: Mapping[str, Terms], formulas: Formulas
) -> list[Issue]:
    """Shapes in the file that are not what follows; names that are no formulas say nothing."""
    issues = []
    for name, axes in declared.items():
        value = values.get(name)
        if value is None or value.shape is None:
            continue
        way = f"correct the shape of {shown(name)} in the model, or leave it out"
        if len(axes) != len(value.shape):
            message = f"it has {len(axes)} dimensions in the file, and {len(value.shape)} by what makes it"
            issues.append(Issue("contradicting_shapes", path_of(name), f"{message}; {way}"))
            continue
        for axis, (text, derived) in enumerate(zip(axes, value.shape, strict=True)):
            if text is None or derived is None:
                continue
            said = formula_of_name(text, names, formulas) if isinstance(text, str) else a_number(text)
            if said is None or said == derived:
                continue
            where = formulas.where_they_differ(said, derived)
            if where:
                by = "by its name" if isinstance(text, str) else "in the file"
                formula = formulas.text(derived)
                message = f"dimension {axis} is {shown(text)} {by}, and {formula} by what makes it{where}"
                issues.append(Issue("contradicting_shapes", path_of(name), f"{message}; {way}"))
    return issues
