"""An ONNX model as a symbolic graph: dimensions that it leaves open become symbols with a range.

Shapes follow from those of the inputs (`derive`). They are compared with the names that the file gives to
dimensions, and with the shapes that inference finds at many values of the symbols.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.dimensions import (
    LARGEST,
    forget_made_up_names,
)
from memstow.planner.formats.onnx.doubtful import without_doubtful
from memstow.planner.formats.onnx.format import graph_of, parsed_model
from memstow.planner.formats.onnx.inference import shapes_in, types_in, with_shapes
from memstow.planner.formats.onnx.numbers import refuse_large_dimensions, refuse_large_numbers
from memstow.planner.formats.onnx.texts import path_of, said_of, text_of
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Operator, Tensor
from memstow.planner.model.memory import collector_at_rest
from memstow.planner.model.symbolic import MOST_POINTS, Symbol
from memstow.planner.model.symbolic_graph import SymbolicGraph, SymbolicOperator, SymbolicTensor
from memstow.planner.model.symbolic_points import values_of
from memstow.planner.reading.printable import printable, shown
from memstow.planner.shapes.formula.nodes import FUNCTIONS
from memstow.planner.shapes.graphs.check import checked
from memstow.planner.shapes.onnx.compare import (
    points_for,
    refuse_differences,
    refuse_what_does_not_run,
)
from memstow.planner.shapes.onnx.declared import false_declarations, take_declared
from memstow.planner.shapes.onnx.derive import Derived, derive
from memstow.planner.shapes.onnx.fill import fill_in
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.inputs import OpenInputs
from memstow.planner.shapes.onnx.terms import Terms, TooLongError, product_of
from memstow.planner.shapes.onnx.wrong import what_is_wrong

if TYPE_CHECKING:
    import onnx

_MOST_TOLD: Final = 20

Extents = tuple[int | str, ...]


def read_symbolic_model(
    data: bytes, ranges: Mapping[str, Symbol], in_place: bool = False, dims: Mapping[str, int] | None = None
) -> SymbolicGraph:
    """The symbolic graph of a model.

    `ranges`: by name or as INPUT:AXIS, a dimension that it leaves open, as the symbol that it becomes
    (`symbol_for`). `dims`: values for the others.
    """
    symbols = list(ranges.values())
    _refuse_odd(ranges)
    formulas = Formulas(symbols)
    model = parsed_model(data)
    forget_made_up_names(model)
    inputs = OpenInputs(model, ranges, dims or {}, formulas)
    refuse_large_numbers(model)
    refuse_large_dimensions(model)
    declared = take_declared(model)
    points = points_for(model, symbols)
    with collector_at_rest():
        inferred = _inferred(model, inputs, points)
        derived = derive(model, inferred, shapes_in(inferred), formulas, inputs.extents)
        # A window that does not fit at some value is why other things do not follow there.
        refuse_what_does_not_run(derived, formulas, symbols, shown_only=True)
        _refuse_unknown(derived, ranges)
        refuse_what_does_not_run(derived, formulas, symbols)
        issues = false_declarations(declared, derived.values, inputs.names, formulas)
        if issues:
            raise InputError(issues[:_MOST_TOLD])
        compared = [(at, inputs.values(at)) for at in points]
        refuse_differences(model, derived, formulas, types_in(inferred), compared)
        fill_in(inferred, derived, formulas, points[0])
        inputs.set_to(points[0])
        largest = graph_of(model, inferred, in_place)
    extents = {tensor.id: _extents(tensor, derived, formulas) for tensor in largest.tensors}
    symbolic = SymbolicGraph(
        name=largest.name,
        symbols=tuple(_with_values(symbol, len(ranges)) for symbol in symbols),
        tensors=[_tensor(tensor, extents[tensor.id]) for tensor in largest.tensors],
        operators=[_operator(operator, derived) for operator in largest.operators],
        inputs=largest.inputs,
        outputs=largest.outputs,
    )
    found = checked(symbolic).issues
    if found:
        raise InputError(found)
    return symbolic


def _inferred(
    model: "onnx.ModelProto", inputs: OpenInputs, points: list[dict[str, int]]
) -> "onnx.ModelProto":
    """With shapes at the first of these points."""
    inputs.set_to(points[0])
    try:
        return with_shapes(without_doubtful(model))
    except InputError as error:
        inputs.set_to(None)
        raise what_is_wrong(
            without_doubtful(model), [(at, inputs.values(at)) for at in points], error
        ) from None
    finally:
        inputs.set_to(None)


def symbol_for(name: str, symbol: Symbol) -> Symbol:
    """The symbol with an id that is made from the name of a dimension, such as `x:0`."""
    made = re.sub(r"[^A-Za-z0-9_]", "_", name)[:60]
    return replace(symbol, id=f"_{made}" if not made[:1].isalpha() or made in FUNCTIONS else made)


def _refuse_odd(ranges: Mapping[str, Symbol]) -> None:
    seen: dict[str, str] = {}
    for name, symbol in ranges.items():
        if not 0 <= symbol.min <= symbol.max <= LARGEST:
            message = (
                f"{shown(name)} goes from {symbol.min:,} to {symbol.max:,}: a dimension is from 0 to 2^31"
            )
            raise InputError.single("out_of_range", "--symbol", message)
        if (symbol.max - symbol.min) % symbol.step:
            below = symbol.max - (symbol.max - symbol.min) % symbol.step
            message = (
                f"the largest value of {shown(name)}, {symbol.max:,}, is not reached in steps of "
                f"{symbol.step:,} from {symbol.min:,}; use {below:,} or {below + symbol.step:,}"
            )
            raise InputError.single("max_off_step", "--symbol", message)
        if symbol.id in seen:
            both = f"{shown(seen[symbol.id])} and {shown(name)}"
            message = f"{both} would both be {symbol.id!r}; rename one in the model"
            raise InputError.single("repeated", "--symbol", message)
        seen[symbol.id] = name


def _with_values(symbol: Symbol, count: int) -> Symbol:
    """The symbol with so few values that their combinations are no more than may matter."""
    values = values_of(symbol)
    most = max(1, next(n for n in range(MOST_POINTS, 0, -1) if n**count <= MOST_POINTS))
    if len(values) <= most:
        return symbol
    last = len(values) - 1
    chosen = {values[last - last * i // max(1, most - 1)] for i in range(most)}
    return replace(symbol, values=tuple(sorted(chosen)))


def _extents(tensor: Tensor, derived: Derived, formulas: Formulas) -> Extents:
    """The shape of a tensor in terms of symbols."""
    value = derived.values.get(tensor.id)
    if tensor.kind == "constant" or tensor.shape is None or value is None or value.shape is None:
        return tensor.shape or ()
    return tuple(
        it.number if it.number is not None else formulas.text(it) for it in value.shape if it is not None
    )


def _refuse_unknown(derived: Derived, ranges: Mapping[str, Symbol]) -> None:
    """Raise InputError for the nodes whose outputs do not follow; what comes after them is not told."""
    names = {symbol.id: name for name, symbol in ranges.items()}
    issues = []
    for cause in derived.causes:
        node = cause.node
        what = said_of(node)
        part = "the shape" if cause.axis is None else f"dimension {cause.axis}"
        ways = " ".join(f"--symbol {_range_of_one(names[it], ranges)}" for it in cause.symbols)
        if ways and cause.may_follow:
            advice = f"give a range of one value, {ways}, or another range or step"
        else:
            advice = "no value of a symbol helps: fold the constants of the model, or cut it before here"
        message = f"{part} of what {what} makes cannot be derived: {cause.reason}; {advice}"
        path = path_of(text_of(next(it for it in node.output if it)))
        issues.append(Issue("underivable_shape", path, message))
    if not issues and (lost := [name for name, it in derived.values.items() if not it.shape_is_known]):
        message = "no node makes it, or not after what it needs; correct the model"
        issues = [Issue("underivable_shape", path_of(text_of(lost[0])), message)]
    if issues:
        raise InputError(issues[:_MOST_TOLD])


def _range_of_one(name: str, ranges: Mapping[str, Symbol]) -> str:
    least = ranges[name].min
    return f"{quote(printable(name, 200))}={least}..{least}"


def _tensor(tensor: Tensor, extents: Extents) -> SymbolicTensor:
    return SymbolicTensor(
        id=tensor.id,
        size=tensor.size,
        shape=None if tensor.shape is None else extents,
        type=tensor.type,
        kind=tensor.kind,
        alignment=tensor.alignment,
    )


def _operator(operator: Operator, derived: Derived) -> SymbolicOperator:
    """The operator; a pair in place is kept if both have as many elements at every value."""
    pairs = [pair for pair in operator.in_place if _count(derived, pair[0]) == _count(derived, pair[1])]
    return SymbolicOperator(
        id=operator.id,
        type=operator.type,
        inputs=operator.inputs,
        outputs=operator.outputs,
        in_place=pairs,
    )


def _count(derived: Derived, name: str) -> Terms | str:
    shape = derived.values[name].shape or ()
    try:
        return product_of(it for it in shape if it is not None)
    except TooLongError:
        return name
