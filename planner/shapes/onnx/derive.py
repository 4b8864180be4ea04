"""The shapes of all values of a model as formulas, node by node.

They follow from the inputs alone: names that the file gives to what nodes make are not looked at. Operators
whose formulas have rules here come first; of all others, inference passes dimensions on.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.inference import types_in
from memstow.planner.formats.onnx.texts import said_of, text_of
from memstow.planner.shapes.onnx import forms, parts, windows
from memstow.planner.shapes.onnx.einsum import einsum
from memstow.planner.shapes.onnx.fits import require_fit
from memstow.planner.shapes.onnx.formulas import Formulas
from memstow.planner.shapes.onnx.inferred import NodeInference
from memstow.planner.shapes.onnx.numbers import MOST_NUMBERS, with_numbers
from memstow.planner.shapes.onnx.operation import Condition, Operation, Shape, UnderivableError, Value
from memstow.planner.shapes.onnx.terms import Terms, TooLongError, a_number

if TYPE_CHECKING:
    import onnx

_STANDARD: Final = ("", "ai.onnx")
_OF_CONTENT: Final = frozenset(("NonZero", "Compress", "Unique", "NonMaxSuppression", "StringSplit"))
"""How large what they make is depends on what their inputs hold."""
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
    **dict.fromkeys(("Dropout", "GroupNormalization"), forms.same),
    "Reshape": forms.reshape,
    "Flatten": forms.flatten,
    "Expand": forms.expand,
    "Einsum": einsum,
    "ConstantOfShape": forms.filled,
    "OneHot": parts.one_hot,
    "MaxUnpool": windows.unpooled,
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), parts.window),
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


_ODD: Final = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
"""What a rule that believes a node stumbles over where the node is not what the standard says."""


@dataclass(slots=True)
class Cause:
    """A node whose outputs could not be derived though all of its inputs could."""

    node: "onnx.NodeProto"
    axis: int | None
    reason: str
    symbols: tuple[str, ...]
    may_follow: bool
    """Whether it may be derived where the symbols have other ranges."""


@dataclass(slots=True)
class Derived:
    """The values of a model, what did not follow, and what must hold at every value."""

    values: dict[str, Value]
    causes: list[Cause] = field(default_factory=list)
    conditions: "list[tuple[onnx.NodeProto, Condition]]" = field(default_factory=list)
    own: "list[onnx.NodeProto]" = field(default_factory=list)
    """Nodes of which shape inference of ONNX is known to say something else."""


def derive(
    model: "onnx.ModelProto",
    inferred: "onnx.ModelProto",
    largest: Mapping[str, tuple[int, ...]],
    formulas: Formulas,
    extents: Mapping[str, Terms],
) -> Derived:
    """The shapes of a model.

    `inferred`: with types; `largest`: shapes at the largest values; `extents`: what open dimensions are, by
    their names.
    """
    types = types_in(inferred)
    constants = {text_of(it.name): it for it in _constants(model)}
    found = Derived({name: _constant(tensor) for name, tensor in constants.items()})
    for value in model.graph.input:
        if value.name not in found.values:
            shape = tuple(
                extents[text_of(it.dim_param)] if it.dim_param else a_number(it.dim_value)
                for it in value.type.tensor_type.shape.dim
            )
            found.values[value.name] = Value(
                shape,
                fixed=all(it.number is not None for it in shape),
                symbols=frozenset[str]().union(*map(formulas.names_in, shape)),
                lost="the caller gives them",
            )
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
    given = [value for name, value in zip(node.input, of.inputs, strict=True) if name]
    fixed = all(it is not None and it.fixed for it in given)
    symbols = frozenset[str]().union(*(it.symbols for it in given if it is not None))
    shapes, reason, disputed = _attempt(of, inference)
    for i, (name, shape) in enumerate(zip(node.output, shapes, strict=True)):
        if not name:
            continue
        known = shape is not None and None not in shape
        if not known and fixed and not disputed and name in largest:
            shape, known = tuple(map(a_number, largest[name])), True
        found.values[name] = value = Value(shape, fixed=fixed and known, symbols=symbols)
        _note_numbers(of, i, value, types.get(name, 0), given)
    found.conditions += [(node, it) for it in of.conditions]
    found.own += [node] if of.is_own else []
    lost = [it.shape for name in node.output if name and not (it := found.values[name]).shape_is_known]
    if lost and all(it is not None and it.shape_is_known for it in given):
        axis = None if lost[0] is None else lost[0].index(None)
        may_follow = of.node.domain in _STANDARD and of.kind not in _OF_CONTENT
        found.causes.append(Cause(node, axis, reason or _unknown(of), tuple(sorted(symbols)), may_follow))


def _attempt(of: Operation, inference: NodeInference) -> tuple[list[Shape | None], str, bool]:
    """The shapes; why there are none; and whether runtimes differ in them."""
    nothing: list[Shape | None] = [None] * len(of.node.output)
    try:
        shapes = _shapes(of, inference)
        for extent in (it for shape in shapes for it in shape or () if it is not None):
            of.formulas.text(extent)
    except TooLongError:
        return nothing, "its formula is too long", False
    except UnderivableError as failure:
        return nothing, str(failure), failure.disputed
    except _ODD as failure:
        return nothing, f"its inputs and attributes do not fit together ({type(failure).__name__})", False
    if len(shapes) != len(nothing):
        return nothing, "it has not as many outputs as such an operator makes", False
    return shapes, "", False


def _note_numbers(of: Operation, output: int, value: Value, kind: int, given: list[Value | None]) -> None:
    try:
        with_numbers(of, output, value, kind)
    except (TooLongError, *_ODD):
        value.numbers = None
    if kind in _WHOLE and (value.numbers is None or None in value.numbers):
        before = next((it.lost for it in given if it is not None and it.lost), "")
        value.lost = before or f"what {said_of(of.node)} makes is not followed as numbers"


def _unknown(of: Operation) -> str:
    if of.node.domain not in _STANDARD:
        return "operators of other domains are not known, and what the file says of them cannot be checked"
    return "shape inference does not know it: it may depend on what the inputs hold"


def _shapes(of: Operation, inference: NodeInference) -> list[Shape | None]:
    rule = _RULES.get(of.kind) if of.node.domain in _STANDARD else None
    since = _SINCE.get(of.kind, _COMPARED.get(of.kind, 1))
    if of.node.domain in _STANDARD:
        require_fit(of)
    return inference.shapes(of) if rule is None or of.opset < since else [*rule(of)]


def _constants(model: "onnx.ModelProto") -> "list[onnx.TensorProto]":
    from onnx import TensorProto, helper

    found = list(model.graph.initializer)
    for node in model.graph.node:
        # A name that is no text, in a damaged file, is bytes: nobody reads this constant.
        if node.op_type != "Constant" or len(node.output) != 1 or not isinstance(node.output[0], str):
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
    if len(tensor.dims) > 2 or count > MOST_NUMBERS or tensor.data_location == 1:
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
