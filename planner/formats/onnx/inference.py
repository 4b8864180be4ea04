"""The shapes of a model: here where they follow from each other, in a child process where they are computed.

Models that compute shapes while they run need the numbers in tensors to be followed. A few nodes can ask for
any amount of memory then, which ends the child (`child`) and nothing else.

Where the inference of ONNX is known to be wrong, shapes are as runtimes make them (`with_shapes_as_run`).
That is so for windows that begin behind the input (`ceil_mode`), and for letters of an Einsum along which one
input has 1. Slices backwards to the largest number are read in different ways: these are refused.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.dimensions import (
    ALL_THAT_FOLLOW,
    INT32,
    INT64,
    STANDARD,
    opset_of,
    path_of,
    said_of,
    small_constants,
    text_of,
)
from memstow.planner.formats.onnx.rules import ODD, Operation, UnderivableError, Value, einsum, pool
from memstow.planner.formats.onnx.terms import TermArithmetic, TooLongError, a_number
from memstow.planner.model.errors import InputError
from memstow.planner.model.printable import printable
from memstow.planner.processes.frames import Message
from memstow.planner.processes.process import ask_child

if TYPE_CHECKING:
    import onnx


Shapes = dict[str, tuple[int, ...]]
"""By the names of values."""

_SECONDS: Final = 60.0
_MEMORY: Final = 1 << 30
_MEMORY_PER_BYTE: Final = 20


def with_shapes(model: "onnx.ModelProto") -> "onnx.ModelProto":
    """The model with the shapes of all values that can be found; InputError if they contradict each other."""
    from onnx.shape_inference import InferenceError

    try:
        inferred = infer(model, follow_numbers=False)
    except (InferenceError, RuntimeError, ValueError, MemoryError) as error:
        raise _contradicting(str(error)) from None
    # What was inferred has made-up names (unk__0) that would stay: numbers are followed in the model itself.
    return _followed(model) if _has_numbers(inferred) and not is_complete(inferred) else inferred


def infer(model: "onnx.ModelProto", *, follow_numbers: bool) -> "onnx.ModelProto":
    """The model with the shapes that inference finds."""
    from onnx import shape_inference

    return shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=follow_numbers)


def shapes_at(model: "onnx.ModelProto", points: Sequence[Mapping[str, int]]) -> list[Shapes | InputError]:
    """The shapes that inference finds where open dimensions of inputs have these values, at each point.

    As in `with_shapes`, numbers are followed, in a child, only where some shape is missing without.
    """
    from onnx.shape_inference import InferenceError

    results: list[Shapes | InputError] = []
    for i, point in enumerate(points):
        try:
            inferred = infer(at_values(model, point), follow_numbers=False)
        except (InferenceError, RuntimeError, ValueError, MemoryError) as error:
            results.append(_contradicting(str(error)))
            continue
        if i == 0 and _has_numbers(inferred) and not is_complete(inferred):
            return _followed_at(model, points)
        results.append(shapes_in(inferred))
    return results


def at_values(model: "onnx.ModelProto", values: Mapping[str, int]) -> "onnx.ModelProto":
    """The model, changed: dimensions of inputs with these names have these values."""
    changed = type(model)()
    changed.CopyFrom(model)
    for value in changed.graph.input:
        for dimension in value.type.tensor_type.shape.dim:
            known = values.get(text_of(dimension.dim_param))
            if known is not None:
                dimension.dim_value = known
    return changed


def shapes_in(model: "onnx.ModelProto") -> Shapes:
    """The shapes of values that are known whole."""
    return {
        text_of(entry.name): tuple(extent.dim_value for extent in entry.type.tensor_type.shape.dim)
        for entry in (*model.graph.value_info, *model.graph.output)
        if entry.type.tensor_type.HasField("shape")
        and all(extent.HasField("dim_value") for extent in entry.type.tensor_type.shape.dim)
    }


def types_in(model: "onnx.ModelProto") -> dict[str, int]:
    """The types of elements of all values that are known."""
    graph = model.graph
    return {
        text_of(entry.name): entry.type.tensor_type.elem_type
        for entry in (*graph.value_info, *graph.output, *graph.input)
    }


def _has_numbers(model: "onnx.ModelProto") -> bool:
    """Whether nodes make lists of whole numbers, which may be shapes."""
    makers = {name for node in model.graph.node if node.op_type != "Constant" for name in node.output}
    return any(
        entry.name in makers
        and entry.type.tensor_type.elem_type in (INT32, INT64)
        and len(entry.type.tensor_type.shape.dim) <= 1
        for entry in model.graph.value_info
    )


def is_complete(model: "onnx.ModelProto") -> bool:
    """Whether the shapes of all that nodes make are known."""
    graph = model.graph
    known = {
        entry.name
        for entry in (*graph.value_info, *graph.output)
        if entry.type.HasField("tensor_type")
        and entry.type.tensor_type.HasField("shape")
        and all(extent.HasField("dim_value") for extent in entry.type.tensor_type.shape.dim)
    }
    outputs = {name for node in graph.node if node.op_type != "Constant" for name in node.output if name}
    return outputs <= known


def _followed(model: "onnx.ModelProto") -> "onnx.ModelProto":
    import onnx

    answer = _answer_of_child(model, {})
    if isinstance(answer.get("model"), bytes):
        return onnx.load_model_from_string(answer["model"])
    raise _contradicting(text_of(str(answer.get("failure"))))


def _followed_at(model: "onnx.ModelProto", points: Sequence[Mapping[str, int]]) -> list[Shapes | InputError]:
    answer = _answer_of_child(model, {"points": [dict(point) for point in points]})
    if not isinstance(answer.get("shapes"), list):
        raise _contradicting(text_of(str(answer.get("failure"))))
    return [
        _contradicting(entry)
        if isinstance(entry, str)
        else {name: tuple(extents) for name, extents in entry.items()}
        for entry in answer["shapes"]
    ]


def _answer_of_child(model: "onnx.ModelProto", more: Message) -> Message:
    data = model.SerializeToString()
    memory = _MEMORY + _MEMORY_PER_BYTE * len(data)
    request = {"kind": "infer", "model": data, **more}
    answer = ask_child("memstow.planner.formats.onnx.child", request, memory, _SECONDS)
    if "kind" not in answer:
        message = f"finding its shapes was given up ({answer['failure']}); fold its constants first"
        raise InputError.single("too_large", "$.graph", message)
    return answer


def _contradicting(why: str) -> InputError:
    if "external tensor" in why:
        message = (
            "a shape follows from numbers that are in another file, which is not read; save the model with "
            "small tensors inside: onnx.save_model(..., save_as_external_data=True, size_threshold=1024)"
        )
        return InputError.single("external_data", "$.graph", message)
    # The first line is the first node; what follows from it comes after that.
    first = why.strip().partition("\n")[0]
    message = f"the shapes of the model contradict each other: {printable(first, 600)}"
    return InputError.single("contradicting_shapes", "$.graph", message)


_POOLS: Final = frozenset(("MaxPool", "AveragePool", "LpPool"))


def is_doubtful(node: "onnx.NodeProto") -> bool:
    """Whether it is a pool with `ceil_mode`, or an Einsum.

    Inference counts windows that begin behind the input, and does not repeat what is 1 along a letter.
    """
    if node.domain not in STANDARD:
        return False
    kind = text_of(node.op_type)
    return kind == "Einsum" or (
        kind in _POOLS and any(entry.name == "ceil_mode" and entry.i for entry in node.attribute)
    )


def made_from(nodes: "Iterable[onnx.NodeProto]", values: Collection[str]) -> frozenset[str]:
    """These values, and all that follows from them."""
    reached = set(values)
    for node in nodes:
        if not reached.isdisjoint(node.input):
            reached.update(name for name in node.output if name)
    return frozenset(reached)


def without_doubtful(model: "onnx.ModelProto", known: Iterable[str] = ()) -> "onnx.ModelProto":
    """The model in which outputs of doubtful nodes have their type, and any shape; itself if there are none.

    `known`: outputs of nodes that stay as they are.
    """
    kept = frozenset(known)
    left_out = [entry for entry in model.graph.node if is_doubtful(entry) and entry.output[0] not in kept]
    if not left_out:
        return model
    from onnx import helper

    changed = type(model)()
    changed.CopyFrom(model)
    left_values = {name for node in left_out for name in node.output}
    said = [entry for entry in model.graph.value_info if entry.name not in left_values]
    del changed.graph.node[:]
    del changed.graph.value_info[:]
    changed.graph.value_info.extend(said)
    taken = {name for node in model.graph.node for name in (*node.input, *node.output)}
    shape = next(name for i in range(len(taken) + 1) if (name := f"any shape {i}") not in taken)
    changed.graph.input.append(helper.make_tensor_value_info(shape, INT64, None))
    for node in model.graph.node:
        if not is_doubtful(node) or node.output[0] in kept:
            changed.graph.node.append(node)
            continue
        first, *others = node.output
        changed.graph.node.append(helper.make_node("Reshape", [node.input[0], shape], [first]))
        for name in filter(None, others):
            changed.graph.node.append(helper.make_node("Cast", [first], [name], to=INT64))
    return changed


def as_inputs(
    node: "onnx.NodeProto", shapes: Mapping[str, tuple[int | str, ...]], types: Mapping[str, int]
) -> "dict[str, onnx.ValueInfoProto]":
    """What a node makes, as inputs of these shapes."""
    from onnx import helper

    return {
        name: helper.make_tensor_value_info(name, types[name], list(shapes[name]))
        for name in node.output
        if name and name in types
    }


def with_inputs_for(
    model: "onnx.ModelProto", infos: "Mapping[str, onnx.ValueInfoProto]"
) -> "onnx.ModelProto":
    """The model in which these values are inputs; the nodes that make them are left out."""
    if not infos:
        return model
    changed = type(model)()
    changed.CopyFrom(model)
    graph = changed.graph
    kept = [entry for entry in model.graph.node if not any(name in infos for name in entry.output)]
    for field, values in (
        (graph.node, kept),
        (graph.output, [entry for entry in model.graph.output if entry.name not in infos]),
        (graph.value_info, [entry for entry in model.graph.value_info if entry.name not in infos]),
    ):
        del field[:]
        field.extend(values)
    graph.input.extend(infos.values())
    return changed


_MOST: Final = 100
"""So many nodes may differ: each asks for another inference."""


def with_shapes_as_run(model: "onnx.ModelProto") -> "onnx.ModelProto":
    """As `with_shapes`, and right where that is not."""
    _refuse_disputed(model)
    nodes = [entry for entry in model.graph.node if is_doubtful(entry)]
    if not nodes:
        return with_shapes(model)
    infos: dict[str, onnx.ValueInfoProto] = {}
    for _ in range(_MOST):
        known = with_inputs_for(model, infos)
        inferred, is_whole = _inferred(known)
        wrong = _first_that_differs(nodes, inferred, infos, is_whole=is_whole)
        if wrong is None:
            _refuse_what_is_not_checked(model, infos)
            return inferred if is_whole else with_shapes(known)
        node, shape = wrong
        _refuse_declared(model, node, shape)
        infos |= as_inputs(
            node, {text_of(entry): shape for entry in node.output if entry}, types_in(inferred)
        )
    message = f"more than {_MOST} operators have other shapes than inference says; fold its constants first"
    raise InputError.single("too_large", "$.graph", message)


def _inferred(model: "onnx.ModelProto") -> "tuple[onnx.ModelProto, bool]":
    """With shapes by inference; if a doubtful node may lead it astray, without what such nodes make."""
    try:
        return with_shapes(model), True
    except InputError:
        unknown = without_doubtful(model)
        if unknown is model:
            raise
        return with_shapes(unknown), False


def _first_that_differs(
    nodes: "Sequence[onnx.NodeProto]",
    inferred: "onnx.ModelProto",
    infos: "Mapping[str, onnx.ValueInfoProto]",
    *,
    is_whole: bool,
) -> "tuple[onnx.NodeProto, tuple[int, ...]] | None":
    shapes = _all_shapes(inferred)
    opset = opset_of(inferred)
    for node in nodes:
        name = text_of(node.output[0])
        inputs = [shapes.get(text_of(entry)) for entry in node.input]
        known = [input_ for input_ in inputs if input_ is not None]
        if name in infos or len(known) < len(inputs):
            continue
        own = _by_its_rule(node, known, opset)
        if own is not None and (not is_whole or shapes.get(name) != own):
            return node, own
    return None


def _by_its_rule(
    node: "onnx.NodeProto", shapes: Sequence[tuple[int, ...]], opset: int
) -> tuple[int, ...] | None:
    """What a doubtful node makes of inputs of these shapes."""
    inputs = [Value(tuple(map(a_number, shape))) for shape in shapes]
    try:
        rule = einsum if node.op_type == "Einsum" else pool
        by_rule = rule(Operation(node, inputs, TermArithmetic(()), opset))[0]
    except (UnderivableError, TooLongError, *ODD):
        return None
    extents = [None if extent is None else extent.number for extent in by_rule]
    known = tuple(extent for extent in extents if extent is not None and extent >= 0)
    return known if len(known) == len(extents) else None


def _refuse_disputed(model: "onnx.ModelProto") -> None:
    steps = [entry for entry in model.graph.node if entry.op_type == "Slice" and len(entry.input) == 5]
    constants = dict(small_constants(model)) if steps else {}
    for node in steps:
        ends, backwards = (constants.get(node.input[i]) or [] for i in (2, 4))
        if any(step < 0 and end >= ALL_THAT_FOLLOW for end, step in zip(ends, backwards, strict=False)):
            message = (
                f"the shape of what {said_of(node)} makes is not known: a slice backwards to the largest "
                "number is read in different ways; end it at the smallest number"
            )
            raise InputError.single("unknown_shape", path_of(text_of(node.output[0])), message)


def _refuse_declared(model: "onnx.ModelProto", node: "onnx.NodeProto", shape: tuple[int, ...]) -> None:
    """Raise InputError where the file says another shape, as tools write it that ask inference."""
    said = shapes_in(model).get(text_of(node.output[0]))
    if said is not None and said != shape:
        message = (
            f"its shape is {list(said)} in the file, and {list(shape)} by what {said_of(node)} makes; take "
            "the shapes of values between inputs and outputs out of the model: del model.graph.value_info[:]"
        )
        raise InputError.single("contradicting_shapes", path_of(text_of(node.output[0])), message)


def _refuse_what_is_not_checked(model: "onnx.ModelProto", unchecked: Collection[str]) -> None:
    """Raise InputError where operators of other domains follow from shapes that inference gets wrong.

    What the file says of what they make may have been computed from these.
    """
    follows = made_from(model.graph.node, unchecked)
    for node in model.graph.node:
        if node.domain not in STANDARD and not follows.isdisjoint(node.input):
            message = (
                f"the shape of what {said_of(node)} makes follows from shapes that inference gets wrong, and "
                "operators of other domains are not known; cut the model before it"
            )
            output = next(filter(None, node.output), "")
            raise InputError.single("unknown_shape", path_of(text_of(output)), message)


def _all_shapes(inferred: "onnx.ModelProto") -> Shapes:
    graph = inferred.graph
    constants = {text_of(entry.name): tuple(entry.dims) for entry in graph.initializer}
    inputs = {
        text_of(entry.name): tuple(extent.dim_value for extent in entry.type.tensor_type.shape.dim)
        for entry in graph.input
        if entry.type.tensor_type.HasField("shape")
    }
    return {**inputs, **constants, **shapes_in(inferred)}
