"""ONNX models as graphs, and as symbolic graphs: dimensions that they leave open become symbols with a
range.

Shapes follow from those of the inputs (`derive`). They are compared with the names that the file
gives to dimensions, and with the shapes that inference finds with numbers, at many values of the symbols.
Of a model without open dimensions, what inference cannot follow has the shapes of the rules.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.format import GraphFormat
from memstow.planner.formats.onnx.derive import Derived, derive, fill_in, without_weights
from memstow.planner.formats.onnx.dimensions import (
    LARGEST,
    axes_of,
    fix_dimensions,
    forget_made_up_names,
    path_of,
    refuse_large_dimensions,
    refuse_large_numbers,
    refuse_unknown,
    require_open,
    said_of,
    text_of,
)
from memstow.planner.formats.onnx.graph import graph_of, parsed_model
from memstow.planner.formats.onnx.inference import (
    as_inputs,
    at_values,
    infer,
    is_complete,
    shapes_at,
    shapes_in,
    types_in,
    with_shapes,
    with_shapes_as_run,
    without_doubtful,
)
from memstow.planner.formats.onnx.pairs import RUNTIME, as_pairs, has_operators
from memstow.planner.formats.onnx.rules import Value
from memstow.planner.formats.onnx.terms import (
    TermArithmetic,
    Terms,
    TooLongError,
    a_number,
    formula_of_name,
    is_formula,
    product_of,
)
from memstow.planner.formulas.formula import FUNCTIONS
from memstow.planner.formulas.sizes import Effort, NoSize, examine, sample, values_text
from memstow.planner.graph.symbolic_graph import checked_graph
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.graph import Graph, Operator, Tensor
from memstow.planner.model.printable import printable, shown
from memstow.planner.model.symbolic import (
    MOST_POINTS,
    MOST_SYMBOLS,
    Symbol,
    SymbolicGraph,
    SymbolicOperator,
    SymbolicTensor,
    values_of,
)
from memstow.records import collector_at_rest

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
        formulas: TermArithmetic,
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
        named_twice = [
            entry for entry in unknown if not is_formula(entry.name, {*self.names, *missing} - {entry.name})
        ]
        refuse_unknown(named_twice or unknown)

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


Declared = dict[str, list[int | str | None]]
"""By the name of a value, what the file says of each axis: a number, a name, or nothing."""


def take_declared(model: "onnx.ModelProto") -> Declared:
    """The shapes of all values that are no inputs; the model has them no longer.

    They are what somebody wrote, and not what follows: inference would believe them.
    """
    declared: Declared = {}
    inputs = {text_of(entry.name) for entry in model.graph.input}
    for value in (*model.graph.output, *model.graph.value_info):
        name = text_of(value.name)
        dense = value.type.tensor_type
        if name in inputs or not value.type.HasField("tensor_type") or not dense.HasField("shape"):
            continue
        declared[name] = [
            entry.dim_value if entry.HasField("dim_value") else text_of(entry.dim_param) or None
            for entry in dense.shape.dim
        ]
        dense.ClearField("shape")
    return declared


def false_declarations(
    declared: Declared, values: Mapping[str, Value], names: Mapping[str, Terms], formulas: TermArithmetic
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


_MOST_TRIED = 6


def what_is_wrong(
    model: "onnx.ModelProto",
    points: Sequence[tuple[Mapping[str, int], Mapping[str, int]]],
    error: InputError,
) -> InputError:
    """The error, with the node and the values at which it does not work.

    `points`: values of the symbols, and of the open dimensions there; the error is of the first.
    """
    if any(issue.code != "contradicting_shapes" for issue in error.issues):
        return error
    light = without_weights(model)
    at, values = points[0]
    node = _failing_node(at_values(light, values))
    tried = shapes_at(light, [entry for _, entry in points[:_MOST_TRIED]]) if len(points) > 1 else []
    everywhere = bool(tried) and all(isinstance(entry, InputError) for entry in tried)
    where = "at each value that was tried" if everywhere else f"at {values_text(at)}"
    what = f"{said_of(node)} cannot be: " if node is not None else ""
    advice = (
        "correct the model, or give other sizes"
        if everywhere
        else "change the range of a symbol, or give it a step"
    )
    path = path_of(text_of(next(iter(node.output), ""))) if node is not None else "$.graph"
    return InputError(
        [Issue(issue.code, path, f"{where} {what}{issue.message}; {advice}") for issue in error.issues]
    )


def _failing_node(model: "onnx.ModelProto") -> "onnx.NodeProto | None":
    """The first node without which inference finds nothing wrong with what comes before it."""
    if _is_sound(model, len(model.graph.node)):
        return None
    sound, wrong = 0, len(model.graph.node)
    while wrong - sound > 1:
        middle = (sound + wrong) // 2
        if _is_sound(model, middle):
            sound = middle
        else:
            wrong = middle
    return model.graph.node[wrong - 1] if wrong else None


def _is_sound(model: "onnx.ModelProto", count: int) -> bool:
    from onnx.shape_inference import InferenceError

    first = type(model)()
    first.CopyFrom(model)
    del first.graph.node[count:]
    del first.graph.output[:]
    try:
        infer(first, follow_numbers=False)
    except (InferenceError, RuntimeError, ValueError, MemoryError):
        return False
    return True


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
    formulas: TermArithmetic,
    types: Mapping[str, int],
    points: Sequence[tuple[Mapping[str, int], Mapping[str, int]]],
) -> None:
    """Raise InputError where inference contradicts a derived shape, or finds that the model cannot run.

    `points`: values of the symbols, and of the open dimensions of inputs there. What nodes make of which
    inference is known to be wrong is given to it.
    """
    infos: dict[str, onnx.ValueInfoProto] = {}
    for node in derived.own:
        infos |= as_inputs(
            node, {entry: _texts(derived.values[entry], formulas) for entry in node.output if entry}, types
        )
    names = {
        text_of(entry.dim_param): formulas.formula(extent)
        for name, info in infos.items()
        for entry, extent in zip(
            info.type.tensor_type.shape.dim, derived.values[name].shape or (), strict=True
        )
        if entry.dim_param and extent is not None
    }
    points = [
        (at, {**values, **{name: formula.value(at) for name, formula in names.items()}})
        for at, values in points
    ]
    shapes_of = shapes_at(without_weights(model, infos), [entry for _, entry in points])
    for (at, values), shapes in zip(points, shapes_of, strict=True):
        if isinstance(shapes, InputError):
            raise what_is_wrong(without_weights(model, infos), [(at, values)], shapes)
        for name, numbers in shapes.items():
            value = derived.values.get(name)
            if value is None or value.shape is None or None in value.shape:
                continue
            sizes = tuple(formulas.value(entry, at) for entry in value.shape if entry is not None)
            if sizes != numbers:
                formula = ", ".join(formulas.text(entry) for entry in value.shape if entry is not None)
                message = (
                    f"at {values_text(at)} its shape is {list(numbers)} by shape inference, and "
                    f"{list(sizes)} by its formula, [{formula}]; correct the model, or change the range of "
                    "a symbol"
                )
                raise InputError.single("contradicting_shapes", path_of(name), message)


def refuse_what_does_not_run(
    derived: Derived, formulas: TermArithmetic, symbols: Sequence[Symbol], *, shown_only: bool = False
) -> None:
    """Raise InputError where a node cannot work at some value, or a dimension would be below 0.

    `shown_only`: what may be so, and could not be shown to be, is left out.
    """
    advice = (
        "change the range of a symbol, or give it a step"
        if symbols
        else "correct the model, or give other sizes"
    )
    effort = Effort()
    issues: list[Issue] = []

    def check(name: str, extent: Terms, message: str) -> None:
        reason = examine(formulas.formula(extent), effort)
        if reason is not None and not (shown_only and reason.at is None):
            why = f"{_why_no_size(reason, message)}; {advice}"
            issues.append(Issue("contradicting_shapes", path_of(name), why))

    for node, condition in derived.conditions:
        message = f"{said_of(node)} cannot run: {condition.message}"
        if any(message in issue.message for issue in issues):
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


def _why_no_size(reason: NoSize, message: str) -> str:
    where = f"at {values_text(reason.at)} " if reason.at else ""
    if reason.code not in ("formula_negative", "formula_not_shown"):
        text = f"{where}computing the shape needs numbers beyond 2^62"
    elif reason.at is None:
        text = f"at some values it may be that {message}"
    else:
        text = f"{where}{message}"
    return text


def _texts(value: Value, formulas: TermArithmetic) -> tuple[int | str, ...]:
    return tuple(
        formulas.text(entry) if entry.number is None else entry.number
        for entry in value.shape or ()
        if entry is not None
    )


def read_graph(data: bytes, in_place: bool = False, dims: Mapping[str, int] | None = None) -> Graph:
    """The graph of a model. `in_place`: nodes that work by elements may overwrite an input.

    `dims`: values for dimensions that the model leaves open (`planner.formats.onnx.dimensions`).
    """
    kept: list[onnx.NodeProto] = []

    def with_shapes_of_pairs(model: "onnx.ModelProto") -> None:
        if has_operators(model):
            kept.extend(type(node).FromString(node.SerializeToString()) for node in model.graph.node)
            as_pairs(model, (RUNTIME,))

    with collector_at_rest():
        model, inferred = read_shaped(data, dims, with_shapes_of_pairs)
        if kept:
            del model.graph.node[:]
            model.graph.node.extend(kept)
        return graph_of(model, inferred, in_place)


def read_shaped(
    data: bytes,
    dims: Mapping[str, int] | None = None,
    change: "Callable[[onnx.ModelProto], None] | None" = None,
) -> "tuple[onnx.ModelProto, onnx.ModelProto]":
    """The model, and the model with the shapes of all values that can be known.

    `change` is done to the model before.
    """
    model = parsed_model(data)
    if change is not None:
        change(model)
    forget_made_up_names(model)
    OpenInputs(model, {}, dims or {}, TermArithmetic(()))
    refuse_large_numbers(model)
    refuse_large_dimensions(model)
    inferred = with_shapes_as_run(model)
    _complete_shapes(model, inferred)
    return model, inferred


def _complete_shapes(model: "onnx.ModelProto", inferred: "onnx.ModelProto") -> None:
    """Write shapes that inference did not find into `inferred`, where they can be derived."""
    if is_complete(inferred):
        return
    known, formulas = shapes_in(inferred), TermArithmetic(())
    derived = derive(model, inferred, known, formulas, {})
    refuse_what_does_not_run(derived, formulas, ())
    _refuse_differences(derived, known)
    fill_in(inferred, derived, formulas, {})


def _refuse_differences(derived: Derived, known: Mapping[str, tuple[int, ...]]) -> None:
    """Where the file says something else of what follows from numbers, inference does not notice it."""
    for name, said in known.items():
        value = derived.values.get(name)
        if value is None or value.shape is None or not value.shape_is_known:
            continue
        sizes = [entry.number for entry in value.shape if entry is not None]
        if sizes != list(said):
            message = (
                f"its shape is {list(said)} in the file or by shape inference, and {sizes} by what makes it; "
                "correct the shapes in the model, or leave them out"
            )
            raise InputError.single("contradicting_shapes", path_of(name), message)


FORMAT: Final = GraphFormat(name="onnx", is_json=False, read_graph=read_graph, read_model=read_graph)


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
    formulas = TermArithmetic(symbols)
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
    graph_issues = checked_graph(symbolic).issues
    if graph_issues:
        raise InputError(graph_issues)
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
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)[:60]
    return replace(symbol, id=f"_{plain}" if not plain[:1].isalpha() or plain in FUNCTIONS else plain)


def _refuse_odd(ranges: Mapping[str, Symbol]) -> None:
    if len(ranges) > MOST_SYMBOLS:
        message = f"{len(ranges)} dimensions have ranges, and at most {MOST_SYMBOLS} may; give others a value"
        raise InputError.single("too_many_symbols", "--symbol", message)
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


def _extents(tensor: Tensor, derived: Derived, formulas: TermArithmetic) -> Extents:
    """The shape of a tensor in terms of symbols."""
    value = derived.values.get(tensor.id)
    if tensor.kind == "constant" or tensor.shape is None or value is None or value.shape is None:
        return tensor.shape or ()
    return tuple(
        entry.number if entry.number is not None else formulas.text(entry)
        for entry in value.shape
        if entry is not None
    )


def _refuse_unknown(derived: Derived, ranges: Mapping[str, Symbol]) -> None:
    """Raise InputError for the nodes whose outputs do not follow; what comes after them is not told."""
    names = {symbol.id: name for name, symbol in ranges.items()}
    issues = []
    for cause in derived.causes:
        node = cause.node
        what = said_of(node)
        part = "the shape" if cause.axis is None else f"dimension {cause.axis}"
        ways = " ".join(f"--symbol {_range_of_one(names[symbol], ranges)}" for symbol in cause.symbols)
        if ways and cause.may_follow:
            advice = f"give a range of one value, {ways}, or another range or step"
        else:
            advice = "no value of a symbol helps: fold the constants of the model, or cut it before here"
        message = f"{part} of what {what} makes cannot be derived: {cause.reason}; {advice}"
        path = path_of(text_of(next(entry for entry in node.output if entry)))
        issues.append(Issue("underivable_shape", path, message))
    if not issues and (lost := [name for name, value in derived.values.items() if not value.shape_is_known]):
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
        return product_of(entry for entry in shape if entry is not None)
    except TooLongError:
        return name
