"""An ONNX model as a symbolic graph: dimensions that it leaves open become symbols with a range.

Shapes are those of inference with names in place of numbers. They are compared with the shapes that the model
has at several values of the symbols, so that what a file says wrongly is not believed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from memstow.planner.formats.onnx.dimensions import (
    LARGEST,
    fix_dimensions,
    name_dimensions,
    require_inputs_known,
)
from memstow.planner.formats.onnx.format import parsed_model, read_graph
from memstow.planner.formats.onnx.inference import with_shapes
from memstow.planner.formats.onnx.numbers import refuse_large_dimensions, refuse_large_numbers
from memstow.planner.formats.onnx.texts import path_of
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.symbolic import MOST_POINTS, Symbol
from memstow.planner.model.symbolic_graph import SymbolicGraph, SymbolicOperator, SymbolicTensor
from memstow.planner.model.symbolic_points import values_of
from memstow.planner.reading.printable import shown
from memstow.planner.shapes.formula import FormulaValueError, evaluate, parse_formula
from memstow.planner.shapes.formula.nodes import FUNCTIONS
from memstow.planner.shapes.graphs.check import checked
from memstow.planner.shapes.onnx.shapes import (
    Dimension,
    SymbolicShapes,
    forget_other_names,
    same_count,
)

_MOST_TOLD: Final = 20

Extents = tuple[int | str, ...]


def read_symbolic_model(
    data: bytes, ranges: Mapping[str, Symbol], in_place: bool = False, dims: Mapping[str, int] | None = None
) -> SymbolicGraph:
    """The symbolic graph of a model.

    `ranges`: by name or as INPUT:AXIS, a dimension that it leaves open, as the symbol that it becomes
    (`symbol_for`). `dims`: values for the others.
    """
    names = {name: symbol.id for name, symbol in ranges.items()}
    _refuse_odd(ranges)
    model = parsed_model(data)
    fix_dimensions(model, dims or {})
    name_dimensions(model, names)
    require_inputs_known(model, frozenset(names.values()))
    refuse_large_numbers(model)
    refuse_large_dimensions(model)
    forget_other_names(model, frozenset(names.values()))
    inferred = with_shapes(model)
    shapes = SymbolicShapes(inferred, frozenset(names.values()))
    graphs = [
        (at, read_graph(data, in_place, {**(dims or {}), **{name: at[names[name]] for name in ranges}}))
        for at in _values(ranges)
    ]
    largest = graphs[0][1]
    known = {tensor.id: _extents(tensor, shapes.of(tensor.id)) for tensor in largest.tensors}
    _refuse_unknown(largest, known)
    extents = {name: found for name, found in known.items() if found is not None}
    for values, graph in graphs:
        _compare(graph, extents, values)
    symbolic = SymbolicGraph(
        name=largest.name,
        symbols=tuple(_with_values(symbol, len(ranges)) for symbol in ranges.values()),
        tensors=[_tensor(tensor, extents[tensor.id]) for tensor in largest.tensors],
        operators=[_operator(operator, extents) for operator in largest.operators],
        inputs=largest.inputs,
        outputs=largest.outputs,
    )
    issues = checked(symbolic).issues
    if issues:
        raise InputError(issues)
    return symbolic


def symbol_for(name: str, symbol: Symbol) -> Symbol:
    """The symbol with an id that is made from the name of a dimension, such as `x:0`."""
    made = re.sub(r"[^A-Za-z0-9_]", "_", name)[:60]
    return replace(symbol, id=f"_{made}" if not made[:1].isalpha() or made in FUNCTIONS else made)


def _refuse_odd(ranges: Mapping[str, Symbol]) -> None:
    seen: dict[str, str] = {}
    for name, symbol in ranges.items():
        if not 1 <= symbol.min <= symbol.max <= LARGEST:
            message = (
                f"{shown(name)} goes from {symbol.min:,} to {symbol.max:,}: a dimension is from 1 to 2^31"
            )
            raise InputError.single("out_of_range", "--symbol", message)
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


def _values(ranges: Mapping[str, Symbol]) -> Iterator[dict[str, int]]:
    """Values at which shapes are compared: the largest, the least, and some between that differ."""
    symbols = list(ranges.values())
    yield {it.id: it.max for it in symbols}
    yield {it.id: it.min for it in symbols}
    yield {it.id: _between(it, i) for i, it in enumerate(symbols)}


def _between(symbol: Symbol, which: int) -> int:
    count = (symbol.max - symbol.min) // symbol.step
    return symbol.min + symbol.step * min(count, (count * (which + 2)) // (which + 5) + which)


def _extents(tensor: Tensor, dimensions: tuple[Dimension, ...] | None) -> Extents | None:
    """The shape of a tensor in terms of symbols; None where it is not known."""
    if tensor.kind == "constant" or tensor.shape is None:
        return tensor.shape or ()
    if dimensions is None or len(dimensions) != len(tensor.shape):
        return None
    found = tuple(it for it in dimensions if it is not None)
    return found if len(found) == len(dimensions) else None


def _refuse_unknown(graph: Graph, known: Mapping[str, Extents | None]) -> None:
    message = (
        "its shape does not follow from the symbols by shape inference; give the dimensions that it "
        "depends on a value: --dim NAME=N"
    )
    issues = [
        Issue("underivable_shape", path_of(tensor.id), message)
        for tensor in graph.tensors
        if known[tensor.id] is None
    ]
    if issues:
        raise InputError(issues[:_MOST_TOLD])


def _compare(graph: Graph, extents: Mapping[str, Extents], at: Mapping[str, int]) -> None:
    """The shapes in symbols must be those that the model has where the symbols have these values."""
    for tensor in graph.tensors:
        found = extents.get(tensor.id)
        if tensor.kind == "constant" or tensor.shape is None:
            continue
        if found is None or tuple(_value(it, at) for it in found) != tensor.shape:
            values = ", ".join(f"{name}={value}" for name, value in at.items())
            message = (
                f"at {values} its shape is {list(tensor.shape)}, which {list(found or ())} is not: the "
                "names of its dimensions do not mean what they say; correct the model, or use --dim"
            )
            raise InputError.single("contradicting_shapes", path_of(tensor.id), message)


def _value(extent: int | str, at: Mapping[str, int]) -> int | None:
    if isinstance(extent, int):
        return extent
    try:
        return evaluate(parse_formula(extent, at), at)
    except FormulaValueError:
        return None


def _tensor(tensor: Tensor, extents: Extents) -> SymbolicTensor:
    return SymbolicTensor(
        id=tensor.id,
        size=tensor.size,
        shape=None if tensor.shape is None else extents,
        type=tensor.type,
        kind=tensor.kind,
        alignment=tensor.alignment,
    )


def _operator(operator: Operator, extents: Mapping[str, Extents]) -> SymbolicOperator:
    """The operator; a pair in place is kept if both have as many elements at every value."""
    pairs = [pair for pair in operator.in_place if same_count(extents[pair[0]], extents[pair[1]])]
    return SymbolicOperator(
        id=operator.id,
        type=operator.type,
        inputs=operator.inputs,
        outputs=operator.outputs,
        in_place=pairs,
    )
