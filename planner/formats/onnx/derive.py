"""The shapes of all values of a model as formulas, node by node.

They follow from the inputs alone: names that the file gives to what nodes make are not looked at.
Operators whose formulas have rules (`rules`) come first; of all others, shape inference of ONNX
passes dimensions on: equal dimensions have equal opaque names, so that it can only pass a name on, or say
nothing. Where the rules do not ask, `require_fit` notes what the inputs of a node must have in common.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx import rules
from memstow.planner.formats.onnx.dimensions import FLOAT, INT32, INT64, STANDARD, opset_of, said_of, text_of
from memstow.planner.formats.onnx.inference import infer, types_in
from memstow.planner.formats.onnx.numbers import MOST_NUMBERS, with_numbers
from memstow.planner.formats.onnx.rules import ODD, Condition, Operation, Shape, UnderivableError, Value
from memstow.planner.formats.onnx.terms import TermArithmetic, Terms, TooLongError, a_number

if TYPE_CHECKING:
    import onnx


_MOST_ELEMENTS: Final = 1024


def is_heavy(tensor: "onnx.TensorProto") -> bool:
    """Whether nothing in it can say what a shape is."""
    return prod(tensor.dims) > _MOST_ELEMENTS or tensor.data_location == 1


def described(tensor: "onnx.TensorProto") -> "onnx.ValueInfoProto":
    """A constant as a value: its type and its shape."""
    from onnx import helper

    return helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims))


def without_weights(
    model: "onnx.ModelProto", instead: "Mapping[str, onnx.ValueInfoProto] | None" = None
) -> "onnx.ModelProto":
    """The model with large constants as inputs of the same shape.

    `instead`: values that become inputs; the nodes that make them are left out.
    """
    replaced = instead or {}
    light = type(model)()
    light.ir_version = max(4, model.ir_version)
    light.opset_import.extend(model.opset_import)
    graph, source = light.graph, model.graph
    graph.name = "light"
    initial = {entry.name for entry in source.initializer}
    graph.input.extend(entry for entry in source.input if entry.name not in initial)
    graph.input.extend(replaced.values())
    graph.output.extend(entry for entry in source.output if entry.name not in replaced)
    graph.value_info.extend(
        entry for entry in source.value_info if entry.name not in initial and entry.name not in replaced
    )
    graph.sparse_initializer.extend(source.sparse_initializer)
    for tensor in source.initializer:
        if is_heavy(tensor):
            graph.input.append(described(tensor))
        else:
            graph.initializer.append(tensor)
    for node in source.node:
        if replaced and any(entry in replaced for entry in node.output):
            continue
        large = next((entry.t for entry in node.attribute if entry.HasField("t") and is_heavy(entry.t)), None)
        if node.op_type == "Constant" and large is not None:
            value = described(large)
            value.name = node.output[0]
            graph.input.append(value)
        else:
            graph.node.append(node)
    return light


_LARGEST_NUMBER: Final = (1 << 63) - 1


class NodeInference:
    """Infers the shapes of nodes one by one."""

    def __init__(
        self,
        model: "onnx.ModelProto",
        types: Mapping[str, int],
        constants: "Mapping[str, onnx.TensorProto]",
    ) -> None:
        self._ir_version = model.ir_version
        self._opsets = list(model.opset_import)
        self._types = types
        self._constants = constants
        self._names: dict[Terms, str] = {}
        self._extents: dict[str, Terms] = {}

    def shapes(self, of: Operation) -> list[Shape | None]:
        """Of each output, what inference finds; UnderivableError where it finds that the node cannot be."""
        from onnx import ValueInfoProto, helper
        from onnx.shape_inference import InferenceError

        if not all(isinstance(name, str) for name in (*of.node.input, *of.node.output)):
            raise UnderivableError("one of its names is no text")
        inputs: dict[str, onnx.ValueInfoProto] = {}
        initial: dict[str, onnx.TensorProto] = {}
        for name, value in zip(of.node.input, of.inputs, strict=True):
            if not name or name in inputs:
                continue
            tensor = self._constants.get(name)
            if tensor is not None and is_heavy(tensor):
                inputs[name] = described(tensor)
                continue
            if tensor is not None:
                initial[name] = tensor
                continue
            if value is None or name not in self._types:
                return [None] * len(of.node.output)
            shape = None if value.shape is None else [self._named(entry) for entry in value.shape]
            inputs[name] = helper.make_tensor_value_info(name, self._types[name], shape)
            known = _tensor(name, self._types[name], value)
            if known is not None:
                initial[name] = known
        outputs = [ValueInfoProto(name=name) for name in of.node.output if name]
        graph = helper.make_graph([of.node], "node", list(inputs.values()), outputs, list(initial.values()))
        model = helper.make_model(graph, opset_imports=self._opsets, ir_version=max(4, self._ir_version))
        try:
            inferred = infer(model, follow_numbers=False)
        except (InferenceError, RuntimeError, ValueError, MemoryError) as error:
            raise UnderivableError(f"shape inference says: {str(error).strip()}"[:300]) from None
        by_name = {entry.name: entry for entry in inferred.graph.output}
        return [self._shape(by_name[name]) if name else None for name in of.node.output]

    def _named(self, extent: Terms | None) -> int | str | None:
        if extent is None:
            return None
        if extent.number is not None:
            return extent.number
        name = self._names.setdefault(extent, f"extent {len(self._names)}")
        self._extents[name] = extent
        return name

    def _shape(self, value: "onnx.ValueInfoProto") -> Shape | None:
        if not value.type.tensor_type.HasField("shape"):
            return None
        return tuple(
            a_number(entry.dim_value)
            if entry.HasField("dim_value")
            else self._extents.get(text_of(entry.dim_param))
            for entry in value.type.tensor_type.shape.dim
        )


def _tensor(name: str, kind: int, value: Value) -> "onnx.TensorProto | None":
    """Numbers that do not depend on symbols, as a constant."""
    if kind not in (INT32, INT64) or value.numbers is None or value.shape is None:
        return None
    numbers = [None if number is None else number.number for number in value.numbers]
    known = [entry for entry in numbers if entry is not None and abs(entry) <= _LARGEST_NUMBER]
    if len(known) < len(numbers):
        return None
    extents = [None if entry is None else entry.number for entry in value.shape]
    dims = [extent for extent in extents if extent is not None]
    if len(dims) < len(extents):
        return None
    from onnx import helper

    return helper.make_tensor(name, kind, dims, known)


def require_fit(of: Operation) -> None:
    """Note what must hold at every value for it to run; UnderivableError where runtimes differ."""
    check = _CHECKS.get(of.kind)
    if check is not None:
        check(of)


def _channels(of: Operation) -> None:
    source, weights = of.shape(0), of.shape(rules.WEIGHTS.get(of.kind, 1))
    if len(source) < 2 or len(weights) < 2:
        return
    transposed = of.kind == "ConvTranspose"
    wanted = weights[0] if transposed else weights[1] * of.whole("group", 1)
    of.require_same(source[1], wanted, "the channels of its input are not those of its weights")


def _scale(of: Operation) -> None:
    source, scale = of.shape(0), of.shape(1)
    for one, other in zip(reversed(source), reversed(scale), strict=False):
        if other.number != 1:
            of.require_same(one, other, "its scale is not as large as what it normalizes")


def _width(of: Operation) -> None:
    source, weights = of.shape(0), of.shape(1)
    if len(source) == 3 and len(weights) == 3:
        of.require_same(source[2], weights[2], "its input is not as wide as its weights")


def _reduced(of: Operation) -> None:
    """Of nothing, onnxruntime leaves an axis counted from the end as it is; by the standard it is 1."""
    source = of.shape(0)
    if of.kind.startswith("Arg"):
        axes: tuple[int, ...] = (of.whole("axis", 0),)
    else:
        axes = (of.constants(1) if of.has(1) else of.wholes("axes")) or ()
    if min(axes, default=0) < 0 and any(of.formulas.bounds(entry)[0] < 1 for entry in source):
        message = "what it reduces may be empty, and runtimes differ in what they make of that"
        raise UnderivableError(f"{message}; count its axes from the front", disputed=True)


_CHECKS: Final[Mapping[str, Callable[[Operation], None]]] = {
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv", "ConvTranspose"), _channels),
    **dict.fromkeys(("LayerNormalization", "RMSNormalization"), _scale),
    **dict.fromkeys(("LSTM", "GRU", "RNN"), _width),
    **dict.fromkeys(
        (
            *("ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax"),
            *("ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"),
        ),
        _reduced,
    ),
}


_OF_CONTENT: Final = frozenset(("NonZero", "Compress", "Unique", "NonMaxSuppression", "StringSplit"))
"""How large what they make is depends on what their inputs hold."""
_WHOLE: Final = (INT32, INT64, 9)
"""Types of elements that may say what a shape is; 9 is bool."""

Rule = Callable[[Operation], list[Shape]]

_RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(("Conv", "ConvInteger", "QLinearConv"), rules.convolution),
    **dict.fromkeys(("MaxPool", "AveragePool", "LpPool"), rules.pool),
    "ConvTranspose": rules.transposed,
    "Concat": rules.concat,
    "Split": rules.split,
    "Slice": rules.cut,
    "Pad": rules.pad,
    "Tile": rules.tile,
    "TopK": rules.top_k,
    **dict.fromkeys(("Dropout", "GroupNormalization"), rules.same),
    "Reshape": rules.reshape,
    "Flatten": rules.flatten,
    "Expand": rules.expand,
    "Einsum": rules.einsum,
    "ConstantOfShape": rules.filled,
    "OneHot": rules.one_hot,
    "MaxUnpool": rules.unpooled,
    **dict.fromkeys(("HannWindow", "HammingWindow", "BlackmanWindow"), rules.window),
    "Range": rules.steps,
    "DepthToSpace": rules.to_space,
    "SpaceToDepth": rules.to_depth,
    **dict.fromkeys(("Resize", "Upsample"), rules.resize),
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
        rules.elementwise,
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
    formulas: TermArithmetic,
    extents: Mapping[str, Terms],
) -> Derived:
    """The shapes of a model.

    `inferred`: with types; `largest`: shapes at the largest values; `extents`: what open dimensions are, by
    their names.
    """
    types = types_in(inferred)
    constants = {text_of(constant.name): constant for constant in _constants(model)}
    derived = Derived({name: _constant(tensor) for name, tensor in constants.items()})
    for value in model.graph.input:
        if value.name not in derived.values:
            shape = tuple(
                extents[text_of(entry.dim_param)] if entry.dim_param else a_number(entry.dim_value)
                for entry in value.type.tensor_type.shape.dim
            )
            derived.values[value.name] = Value(
                shape,
                fixed=all(entry.number is not None for entry in shape),
                symbols=frozenset[str]().union(*map(formulas.names_in, shape)),
                lost="the caller gives them",
            )
    opset = opset_of(model)
    inference = NodeInference(model, types, constants)
    for node in model.graph.node:
        if node.op_type != "Constant":
            _follow(
                node,
                derived,
                Operation(node, [derived.values.get(entry) for entry in node.input], formulas, opset),
                inference,
                largest,
                types,
            )
    return derived


def _follow(
    node: "onnx.NodeProto",
    derived: Derived,
    of: Operation,
    inference: NodeInference,
    largest: Mapping[str, tuple[int, ...]],
    types: Mapping[str, int],
) -> None:
    inputs = [value for name, value in zip(node.input, of.inputs, strict=True) if name]
    fixed = all(entry is not None and entry.fixed for entry in inputs)
    symbols = frozenset[str]().union(*(entry.symbols for entry in inputs if entry is not None))
    shapes, reason, disputed = _attempt(of, inference)
    for i, (name, shape) in enumerate(zip(node.output, shapes, strict=True)):
        if not name:
            continue
        known = shape is not None and None not in shape
        if not known and fixed and not disputed and name in largest:
            shape, known = tuple(map(a_number, largest[name])), True
        derived.values[name] = value = Value(shape, fixed=fixed and known, symbols=symbols)
        _note_numbers(of, i, value, types.get(name, 0), inputs)
    derived.conditions += [(node, condition) for condition in of.conditions]
    derived.own += [node] if of.is_own else []
    lost = [
        output.shape for name in node.output if name and not (output := derived.values[name]).shape_is_known
    ]
    if lost and all(entry is not None and entry.shape_is_known for entry in inputs):
        axis = None if lost[0] is None else lost[0].index(None)
        may_follow = of.node.domain in STANDARD and of.kind not in _OF_CONTENT
        derived.causes.append(Cause(node, axis, reason or _unknown(of), tuple(sorted(symbols)), may_follow))


def _attempt(of: Operation, inference: NodeInference) -> tuple[list[Shape | None], str, bool]:
    """The shapes; why there are none; and whether runtimes differ in them."""
    nothing: list[Shape | None] = [None] * len(of.node.output)
    try:
        shapes = _shapes(of, inference)
        for extent in (entry for shape in shapes for entry in shape or () if entry is not None):
            of.formulas.text(extent)
    except TooLongError:
        return nothing, "its formula is too long", False
    except UnderivableError as failure:
        return nothing, str(failure), failure.disputed
    except ODD as failure:
        return nothing, f"its inputs and attributes do not fit together ({type(failure).__name__})", False
    if len(shapes) != len(nothing):
        return nothing, "it has not as many outputs as such an operator makes", False
    return shapes, "", False


def _note_numbers(of: Operation, output: int, value: Value, kind: int, inputs: list[Value | None]) -> None:
    try:
        with_numbers(of, output, value, kind)
    except (TooLongError, *ODD):
        value.numbers = None
    if kind in _WHOLE and (value.numbers is None or None in value.numbers):
        before = next((entry.lost for entry in inputs if entry is not None and entry.lost), "")
        value.lost = before or f"what {said_of(of.node)} makes is not followed as numbers"


def _unknown(of: Operation) -> str:
    if of.node.domain not in STANDARD:
        return "operators of other domains are not known, and what the file says of them cannot be checked"
    return "shape inference does not know it: it may depend on what the inputs hold"


def _shapes(of: Operation, inference: NodeInference) -> list[Shape | None]:
    rule = _RULES.get(of.kind) if of.node.domain in STANDARD else None
    since = _SINCE.get(of.kind, _COMPARED.get(of.kind, 1))
    if of.node.domain in STANDARD:
        require_fit(of)
    return inference.shapes(of) if rule is None or of.opset < since else [*rule(of)]


def _constants(model: "onnx.ModelProto") -> "list[onnx.TensorProto]":
    from onnx import TensorProto, helper

    tensors = list(model.graph.initializer)
    for node in model.graph.node:
        # A name that is no text, in a damaged file, is bytes: nobody reads this constant.
        if node.op_type != "Constant" or len(node.output) != 1 or not isinstance(node.output[0], str):
            continue
        for entry in node.attribute:
            tensor = TensorProto()
            name = text_of(entry.name)
            if name == "value":
                tensor.CopyFrom(entry.t)
                tensor.name = node.output[0]
            elif name in ("value_int", "value_ints"):
                listed = list(entry.ints) if name == "value_ints" else [entry.i]
                tensor = helper.make_tensor(
                    node.output[0], INT64, [len(listed)] if name == "value_ints" else [], listed
                )
            elif name in ("value_float", "value_floats"):
                many = list(entry.floats) if name == "value_floats" else [entry.f]
                tensor = helper.make_tensor(
                    node.output[0], FLOAT, [len(many)] if name == "value_floats" else [], many
                )
            else:
                continue
            tensors.append(tensor)
    return tensors


def _constant(tensor: "onnx.TensorProto") -> Value:
    """A constant, with what it holds if that may be a shape."""
    value = Value(tuple(map(a_number, tensor.dims)), fixed=True)
    count = 1
    for extent in tensor.dims:
        count *= extent
    if len(tensor.dims) > 2 or count > MOST_NUMBERS or tensor.data_location == 1:
        return value
    if tensor.data_type in (*_WHOLE, FLOAT):
        from onnx.numpy_helper import to_array

        try:
            elements = to_array(tensor).reshape(-1).tolist()
        except (ValueError, TypeError):
            return value
        if tensor.data_type == FLOAT:
            value.floats = tuple(elements)
        else:
            value.numbers = tuple(a_number(int(element)) for element in elements)
    return value


def fill_in(
    inferred: "onnx.ModelProto", derived: Derived, formulas: TermArithmetic, at: Mapping[str, int]
) -> None:
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
