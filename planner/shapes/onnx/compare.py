"""Derived shapes against those that inference finds with numbers, at many values of the symbols."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.inference import shapes_at
from memstow.planner.formats.onnx.texts import path_of, text_of
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.symbolic import Symbol
from memstow.planner.reading.printable import printable, shown
from memstow.planner.shapes.at_point import values_text
from memstow.planner.shapes.examine import examine
from memstow.planner.shapes.extremes import Effort
from memstow.planner.shapes.formula import compile_formula, parse_formula
from memstow.planner.shapes.onnx.derive import Derived
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.light import without_weights
from memstow.planner.shapes.onnx.samples import sample
from memstow.planner.shapes.onnx.terms import Terms

if TYPE_CHECKING:
    import onnx

_MOST_TOLD: Final = 20
_MOST_POINTS: Final = 40
_FEWEST_POINTS: Final = 8
_NODES_IN_ALL: Final = 80_000
"""Nodes times points: large models are compared at fewer."""


def points_for(model: "onnx.ModelProto", symbols: Sequence[Symbol]) -> list[dict[str, int]]:
    """Values at which a model is compared; the largest first."""
    affordable = _NODES_IN_ALL // max(1, len(model.graph.node))
    return sample(symbols, max(_FEWEST_POINTS, min(_MOST_POINTS, affordable)))


def refuse_differences(
    model: "onnx.ModelProto", derived: Derived, formulas: Formulas, points: Sequence[Mapping[str, int]]
) -> None:
    """Raise InputError where inference contradicts a derived shape, or finds that the model cannot run."""
    functions = {
        extent: compile_formula(parse_formula(formulas.text(extent), points[0]))
        for value in derived.values.values()
        for extent in value.shape or ()
        if extent is not None
    }
    for at, shapes in zip(points, shapes_at(without_weights(model), points), strict=True):
        if isinstance(shapes, InputError):
            raise InputError([contradicting_at(at, it) for it in shapes.issues])
        for name, numbers in shapes.items():
            value = derived.values.get(name)
            if value is None or value.shape is None or None in value.shape:
                continue
            found = tuple(functions[it](at) for it in value.shape if it is not None)
            if found != numbers:
                formula = ", ".join(formulas.text(it) for it in value.shape if it is not None)
                message = (
                    f"at {values_text(at)} its shape is {list(numbers)} by shape inference, and "
                    f"{list(found)} by its formula, [{formula}]; correct the model, change the range of a "
                    "symbol, or use --dim"
                )
                raise InputError.single("contradicting_shapes", path_of(name), message)


def said_of(node: "onnx.NodeProto") -> str:
    """A node for a message: what it does, and its name if it has one."""
    kind = printable(text_of(node.op_type), 60)
    return f"{kind} {shown(text_of(node.name))}" if node.name else kind


def contradicting_at(at: Mapping[str, int], issue: Issue) -> Issue:
    """What inference says against the model, with the values at which it does."""
    message = f"at {values_text(at)} {issue.message}; change the range of a symbol, or give it a step"
    return Issue(issue.code, issue.path, message)


def refuse_what_does_not_run(derived: Derived, formulas: Formulas, symbols: Sequence[Symbol]) -> None:
    """Raise InputError where a node cannot work at some value, or a dimension would be below 0."""
    by_id = {symbol.id: symbol for symbol in symbols}
    effort = Effort()
    issues: list[Issue] = []

    def check(name: str, extent: Terms, message: str) -> None:
        found = examine(parse_formula(formulas.text(extent), by_id), by_id, effort)
        if found is not None:
            if found.at is None:
                text = f"at some values it may be that {message}"
            else:
                text = f"at {values_text(found.at)} {message}" if found.at else message
            advice = "change the range of a symbol, or give it a step"
            issues.append(Issue("contradicting_shapes", path_of(name), f"{text}; {advice}"))

    for node, condition in derived.conditions:
        message = f"{said_of(node)} cannot run: {condition.message}"
        check(text_of(node.output[0]), condition.extent, message)
    seen: set[Terms] = set()
    for name, value in derived.values.items():
        for axis, extent in enumerate(value.shape or ()):
            if extent is None or extent in seen:
                continue
            seen.add(extent)
            if not issues:
                check(name, extent, f"dimension {axis}, which is {formulas.text(extent)}, is below 0")
    if issues:
        raise InputError(issues[:_MOST_TOLD])
