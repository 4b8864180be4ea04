"""The shapes of all values of a model as formulas, node by node.

They follow from the inputs alone: names that the file gives to what nodes make are not looked at. Operators
whose formulas have rules here come first; of all others, inference passes dimensions on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.texts import text_of
from memstow.planner.shapes.onnx import forms, parts, windows
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.inferred import NodeInference
from memstow.planner.shapes.onnx.numbers import MOST_NUMBERS, with_numbers
from memstow.planner.shapes.onnx.operation import Condition, Operation, Shape, UnderivableError, Value
from memstow.planner.shapes.onnx.terms import TooLongError, a_number

if TYPE_CHECKING:
    import onnx

_STANDARD: Final = ("", "ai.onnx")
_WHOLE: Final = (6, 7, 9)
_FLOAT: Final = 1

Rule = Callable[[Operation], list[Shape]]

_RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv"), windows.convolution),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), windows.pool),
    "ConvTranspose": windows.transposed,
    "Concat": parts.concat,
    "Split": parts.split,
    "Slice": parts.cut,
    "Pad": parts.pad,
    "Tile": parts.tile,
    "TopK": parts.top_k,
    "Dropout": forms.same,
    "Reshape": forms.reshape,
    "Flatten": forms.flatten,
    "Expand": forms.expand,
    "Einsum": forms.einsum,
    "ConstantOfShape": forms.filled,
    "Range": forms.steps,
    "DepthToSpace": forms.to_space,
    "SpaceToDepth": forms.to_depth,
    **dict.fromkeys(("Resize", "Upsample"), forms.resize),
    **dict.fromkeys(
        (
            *(
                "Add",
                "Sub",
                "Mul",
                "Div",
                "Pow",
                "Mod",
                "Max",
                "Min",
                "Sum",
                "Mean",
                "Where",
                "And",
                "Or",
                "Xor",
            ),
            *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"),
        ),
        forms.elementwise,
    ),
}
_SINCE: Final = {"Add": 7, "Sub": 7, "Mul": 7, "Div": 7, "Pow": 7, "And": 7, "Or": 7, "Xor": 7}
_COMPARED: Final = {"Equal": 7, "Greater": 7, "Less": 7, "Max": 8, "Min": 8, "Sum": 8, "Mean": 8}


@dataclass(slots=True)
class Cause:
    """A node whose outputs could not be derived though all of its inputs could."""

    node: "onnx.NodeProto"
    axis: int | None
    reason: str
    symbols: tuple[str, ...]


@dataclass(slots=True)
class Derived:
    """The values of a model, what did not follow, and what must hold at every value."""

    values: dict[str, Value]
    causes: list[Cause] = field(default_factory=list)
    conditions: "list[tuple[onnx.NodeProto, Condition]]" = field(default_factory=list)


def derive(
    model: "onnx.ModelProto",
    inferred: "onnx.ModelProto",
    largest: Mapping[str, tuple[int, ...]],
    formulas: Formulas,
    symbols: frozenset[str],
) -> Derived:
    """The shapes of a model. `inferred`: with types; `largest`: shapes at the largest values."""
    graph = inferred.graph
    types = {
        it.name: it.type.tensor_type.elem_type for it in (*graph.value_info, *graph.output, *graph.input)
    }
    constants = {it.name: it for it in _constants(model)}
    found = Derived({name: _constant(tensor) for name, tensor in constants.items()})
    for value in model.graph.input:
        if value.name not in found.values:
            shape = tuple(
                formulas.symbol(text_of(it.dim_param))
                if text_of(it.dim_param) in symbols
                else a_number(it.dim_value)
                for it in value.type.tensor_type.shape.dim
            )
            found.values[value.name] = Value(shape, fixed=all(it.number is not None for it in shape))
    opset = next((it.version for it in model.opset_import if it.domain in _STANDARD), 1)
    inference = NodeInference(model, types, constants)
    for node in model.graph.node:
        if node.op_type != "Constant":
            _follow(
                node,
                found,
                Operation(node, [found.values.get(it) for it in node.input], formulas, opset),
                inference,
                largest,
                types,
            )
    return found


def _follow(
    node: "onnx.NodeProto",
    found: Derived,
    of: Operation,
    inference: NodeInference,
    largest: Mapping[str, tuple[int, ...]],
    types: Mapping[str, int],
) -> None:
    reason = ""
    shapes: list[Shape | None] = [None] * len(node.output)
    given = [value for name, value in zip(node.input, of.inputs, strict=True) if name]
    fixed = all(it is not None and it.fixed for it in given)
    disputed = False
    try:
        shapes = _shapes(of, inference)
    except TooLongError:
        reason = "its formula is too long"
    except UnderivableError as failure:
        reason, disputed = str(failure), failure.disputed
        shapes = [None] * len(node.output)
    for name, shape in zip(node.output, shapes, strict=True):
        if not name:
            continue
        known = shape is not None and None not in shape
        if not known and fixed and not disputed and name in largest:
            shape, known = tuple(map(a_number, largest[name])), True
        value = Value(shape, fixed=fixed and known)
        with_numbers(of, value, types.get(name, 0))
        found.values[name] = value
    found.conditions += [(node, it) for it in of.conditions]
    lost = [it.shape for name in node.output if name and not (it := found.values[name]).shape_is_known]
    if lost and all(it is not None and it.shape_is_known for it in given):
        axis = None if lost[0] is None else lost[0].index(None)
        names = {
            name
            for value in given
            if value is not None and value.shape
            for it in value.shape
            if it is not None
            for name in of.formulas.names_in(it)
        }
        found.causes.append(Cause(node, axis, reason or _unknown(of), tuple(sorted(names))))


def _unknown(of: Operation) -> str:
    if of.node.domain not in _STANDARD:
        return "operators of other domains are not known, and what the file says of them cannot be checked"
    return "shape inference does not know it: it may depend on what the inputs hold"


def _shapes(of: Operation, inference: NodeInference) -> list[Shape | None]:
    rule = _RULES.get(of.kind) if of.node.domain in _STANDARD else None
    since = _SINCE.get(of.kind, _COMPARED.get(of.kind, 1))
    if rule is None or of.opset < since:
        return inference.shapes(of)
    return [*rule(of)]


def _constants(model: "onnx.ModelProto") -> "list[onnx.TensorProto]":
    from onnx import TensorProto, helper

    found = list(model.graph.initializer)
    for node in model.graph.node:
        if node.op_type != "Constant" or len(node.output) != 1:
            continue
        for it in node.attribute:
            tensor = TensorProto()
            name = text_of(it.name)
            if name == "value":
                tensor.CopyFrom(it.t)
                tensor.name = node.output[0]
            elif name in ("value_int", "value_ints"):
                listed = list(it.ints) if name == "value_ints" else [it.i]
                tensor = helper.make_tensor(
                    node.output[0], 7, [len(listed)] if name == "value_ints" else [], listed
                )
            elif name in ("value_float", "value_floats"):
                many = list(it.floats) if name == "value_floats" else [it.f]
                tensor = helper.make_tensor(
                    node.output[0], 1, [len(many)] if name == "value_floats" else [], many
                )
            else:
                continue
            found.append(tensor)
    return found


def _constant(tensor: "onnx.TensorProto") -> Value:
    """A constant, with what it holds if that may be a shape."""
    value = Value(tuple(map(a_number, tensor.dims)), fixed=True)
    count = 1
    for extent in tensor.dims:
        count *= extent
    if len(tensor.dims) > 1 or count > MOST_NUMBERS or tensor.data_location == 1:
        return value
    if tensor.data_type in (*_WHOLE, _FLOAT):
        from onnx.numpy_helper import to_array

        try:
            elements = to_array(tensor).reshape(-1).tolist()
        except (ValueError, TypeError):
            return value
        if tensor.data_type == _FLOAT:
            value.floats = tuple(elements)
        else:
            value.numbers = tuple(a_number(int(it)) for it in elements)
    return value
