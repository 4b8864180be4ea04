"""Derived shapes against those that inference finds with numbers, at many values of the symbols."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.doubtful import as_inputs
from memstow.planner.formats.onnx.inference import shapes_at
from memstow.planner.formats.onnx.texts import path_of, said_of, text_of
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.symbolic import Symbol
from memstow.planner.shapes.at_point import values_text
from memstow.planner.shapes.examine import NoSize, examine
from memstow.planner.shapes.extremes import Effort
from memstow.planner.shapes.formula import compile_formula, parse_formula
from memstow.planner.shapes.onnx.derive import Derived
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.light import without_weights
from memstow.planner.shapes.onnx.operation import Value
from memstow.planner.shapes.onnx.samples import sample
from memstow.planner.shapes.onnx.terms import Terms
from memstow.planner.shapes.onnx.wrong import what_is_wrong

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
    model: "onnx.ModelProto",
    derived: Derived,
    formulas: Formulas,
    types: Mapping[str, int],
    points: Sequence[tuple[Mapping[str, int], Mapping[str, int]]],
) -> None:
    """Raise InputError where inference contradicts a derived shape, or finds that the model cannot run.

    `points`: values of the symbols, and of the open dimensions of inputs there. What nodes make of which
    inference is known to be wrong is given to it.
    """
    functions = {
        extent: compile_formula(parse_formula(formulas.text(extent), points[0][0]))
        for value in derived.values.values()
        for extent in value.shape or ()
        if extent is not None
    }
    given: dict[str, onnx.ValueInfoProto] = {}
    for node in derived.own:
        given |= as_inputs(
            node, {it: _texts(derived.values[it], formulas) for it in node.output if it}, types
        )
    names = {
        text_of(it.dim_param): functions[extent]
        for name, info in given.items()
        for it, extent in zip(info.type.tensor_type.shape.dim, derived.values[name].shape or (), strict=True)
        if it.dim_param and extent is not None
    }
    points = [(at, {**values, **{name: of(at) for name, of in names.items()}}) for at, values in points]
    found_at = shapes_at(without_weights(model, given), [it for _, it in points])
    for (at, values), shapes in zip(points, found_at, strict=True):
        if isinstance(shapes, InputError):
            raise what_is_wrong(without_weights(model, given), [(at, values)], shapes)
        for name, numbers in shapes.items():
            value = derived.values.get(name)
            if value is None or value.shape is None or None in value.shape:
                continue
            found = tuple(functions[it](at) for it in value.shape if it is not None)
            if found != numbers:
                formula = ", ".join(formulas.text(it) for it in value.shape if it is not None)
                message = (
                    f"at {values_text(at)} its shape is {list(numbers)} by shape inference, and "
                    f"{list(found)} by its formula, [{formula}]; correct the model, or change the range of "
                    "a symbol"
                )
                raise InputError.single("contradicting_shapes", path_of(name), message)


def refuse_what_does_not_run(
    derived: Derived, formulas: Formulas, symbols: Sequence[Symbol], *, shown_only: bool = False
) -> None:
    """Raise InputError where a node cannot work at some value, or a dimension would be below 0.

    `shown_only`: what may be so, and could not be shown to be, is left out.
    """
    by_id = {symbol.id: symbol for symbol in symbols}
    advice = (
        "change the range of a symbol, or give it a step"
        if symbols
        else "correct the model, or give other sizes"
    )
    effort = Effort()
    issues: list[Issue] = []

    def check(name: str, extent: Terms, message: str) -> None:
        found = examine(parse_formula(formulas.text(extent), by_id), by_id, effort)
        if found is not None and not (shown_only and found.at is None):
            why = f"{_why_no_size(found, message)}; {advice}"
            issues.append(Issue("contradicting_shapes", path_of(name), why))

    for node, condition in derived.conditions:
        message = f"{said_of(node)} cannot run: {condition.message}"
        if any(message in it.message for it in issues):
            continue
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


def _why_no_size(found: NoSize, message: str) -> str:
    where = f"at {values_text(found.at)} " if found.at else ""
    if found.code not in ("formula_negative", "formula_not_shown"):
        text = f"{where}computing the shape needs numbers beyond 2^62"
    elif found.at is None:
        text = f"at some values it may be that {message}"
    else:
        text = f"{where}{message}"
    return text


def _texts(value: Value, formulas: Formulas) -> tuple[int | str, ...]:
    return tuple(
        formulas.text(it) if it.number is None else it.number for it in value.shape or () if it is not None
    )
