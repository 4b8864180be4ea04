"""The shapes of a model as runtimes make them, where the inference of ONNX is known to be wrong.

That is so for windows that begin behind the input (`ceil_mode`), and for letters of an Einsum along which one
input has 1. Slices backwards to the largest number are read in different ways: these are refused.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.doubtful import (
    STANDARD,
    as_inputs,
    is_doubtful,
    made_from,
    with_inputs_for,
    without_doubtful,
)
from memstow.planner.formats.onnx.inference import Shapes, shapes_in, types_in, with_shapes
from memstow.planner.formats.onnx.numbers import small_constants
from memstow.planner.formats.onnx.texts import path_of, said_of, text_of
from memstow.planner.model.errors import InputError

if TYPE_CHECKING:
    import onnx

_MOST: Final = 100
"""So many nodes may differ: each asks for another inference."""
_LARGEST: Final = (1 << 31) - 1
_DOTS: Final = "..."


def with_shapes_as_run(model: "onnx.ModelProto") -> "onnx.ModelProto":
    """As `with_shapes`, and right where that is not."""
    _refuse_disputed(model)
    nodes = [it for it in model.graph.node if is_doubtful(it)]
    if not nodes:
        return with_shapes(model)
    given: dict[str, onnx.ValueInfoProto] = {}
    for _ in range(_MOST):
        known = with_inputs_for(model, given)
        inferred, is_whole = _inferred(known)
        wrong = _first_that_differs(nodes, inferred, given, is_whole=is_whole)
        if wrong is None:
            _refuse_what_is_not_checked(model, given)
            return inferred if is_whole else with_shapes(known)
        node, shape = wrong
        _refuse_declared(model, node, shape)
        given |= as_inputs(node, {text_of(it): shape for it in node.output if it}, types_in(inferred))
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
    given: "Mapping[str, onnx.ValueInfoProto]",
    *,
    is_whole: bool,
) -> "tuple[onnx.NodeProto, tuple[int, ...]] | None":
    shapes = _all_shapes(inferred)
    for node in nodes:
        name = text_of(node.output[0])
        inputs = [shapes.get(text_of(it)) for it in node.input]
        known = [it for it in inputs if it is not None]
        if name in given or len(known) < len(inputs):
            continue
        own = _einsum(node, known) if node.op_type == "Einsum" else _pool(node, known[0])
        if own is not None and min(own, default=0) >= 0 and (not is_whole or shapes.get(name) != own):
            return node, own
    return None


def _pool(node: "onnx.NodeProto", source: tuple[int, ...]) -> tuple[int, ...] | None:
    """What a pool with `ceil_mode` makes: each window begins in the input, or in the padding before it."""
    lists = {it.name: list(it.ints) for it in node.attribute}
    auto = next((it.s for it in node.attribute if it.name == "auto_pad"), b"NOTSET")
    extents, kernel = source[2:], lists.get("kernel_shape", [])
    count = len(extents)
    strides, dilations = lists.get("strides") or [1] * count, lists.get("dilations") or [1] * count
    pads = lists.get("pads") or [0] * (2 * count)
    if auto not in (b"", b"NOTSET") or {len(kernel), len(strides), len(dilations), len(pads) // 2} != {count}:
        return None
    found = []
    for i, extent in enumerate(extents):
        if strides[i] < 1:
            return None
        begins, window = extent + pads[i], (kernel[i] - 1) * dilations[i] + 1
        windows = -(-(begins + pads[i + count] - window) // strides[i]) + 1
        found.append(windows - (windows > 0 and (windows - 1) * strides[i] >= begins))
    return (*source[:2], *found)


def _einsum(node: "onnx.NodeProto", shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...] | None:
    """What an Einsum with an arrow makes: along a letter, 1 is repeated."""
    equation = next((it.s for it in node.attribute if it.name == "equation"), b"").decode("ascii", "replace")
    left, arrow, right = equation.replace(" ", "").partition("->")
    texts = left.split(",")
    if not arrow or len(texts) != len(shapes):
        return None
    found: dict[str, int] = {}
    for text, shape in zip(texts, shapes, strict=True):
        letters = _letters(text, len(shape))
        if len(letters) != len(shape):
            return None
        for letter, extent in zip(letters, shape, strict=True):
            if found.setdefault(letter, extent) == 1:
                found[letter] = extent
    dots = sum(it.endswith(".") for it in found)
    made = _letters(right, dots + len(right.replace(_DOTS, "")))
    return tuple(found[it] for it in made) if set(made) <= found.keys() else None


def _letters(text: str, rank: int) -> list[str]:
    """The letters of so many dimensions; the dots stand for those that have none."""
    before, given, after = text.partition(_DOTS)
    dots = [f"{i}." for i in range(rank - len(before) - len(after))] if given else []
    return [*before, *dots, *after]


def _refuse_disputed(model: "onnx.ModelProto") -> None:
    steps = [it for it in model.graph.node if it.op_type == "Slice" and len(it.input) == 5]
    constants = dict(small_constants(model)) if steps else {}
    for node in steps:
        ends, backwards = (constants.get(node.input[i]) or [] for i in (2, 4))
        if any(step < 0 and end >= _LARGEST for end, step in zip(ends, backwards, strict=False)):
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


def _refuse_what_is_not_checked(model: "onnx.ModelProto", given: Collection[str]) -> None:
    """Raise InputError where operators of other domains follow from shapes that inference gets wrong.

    What the file says of what they make may have been computed from these.
    """
    follows = made_from(model.graph.node, given)
    for node in model.graph.node:
        if node.domain not in STANDARD and not follows.isdisjoint(node.input):
            message = (
                f"the shape of what {said_of(node)} makes follows from shapes that inference gets wrong, and "
                "operators of other domains are not known; cut the model before it"
            )
            made = next(filter(None, node.output), "")
            raise InputError.single("unknown_shape", path_of(text_of(made)), message)


def _all_shapes(inferred: "onnx.ModelProto") -> Shapes:
    graph = inferred.graph
    constants = {text_of(it.name): tuple(it.dims) for it in graph.initializer}
    inputs = {
        text_of(it.name): tuple(extent.dim_value for extent in it.type.tensor_type.shape.dim)
        for it in graph.input
        if it.type.tensor_type.HasField("shape")
    }
    return {**inputs, **constants, **shapes_in(inferred)}
