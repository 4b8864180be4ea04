"""Nodes of which the shape inference of ONNX may say what no runtime makes, and models without them."""

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.texts import text_of

if TYPE_CHECKING:
    import onnx

_POOLS: Final = frozenset(("MaxPool", "AveragePool", "LpPool"))
STANDARD: Final = ("", "ai.onnx")
_WHOLE: Final = 7


def is_doubtful(node: "onnx.NodeProto") -> bool:
    """Whether it is a pool with `ceil_mode`, or an Einsum.

    Inference counts windows that begin behind the input, and does not repeat what is 1 along a letter.
    """
    if node.domain not in STANDARD:
        return False
    kind = text_of(node.op_type)
    return kind == "Einsum" or (
        kind in _POOLS and any(it.name == "ceil_mode" and it.i for it in node.attribute)
    )


def made_from(nodes: "Iterable[onnx.NodeProto]", values: Collection[str]) -> frozenset[str]:
    """These values, and all that follows from them."""
    found = set(values)
    for node in nodes:
        if not found.isdisjoint(node.input):
            found.update(name for name in node.output if name)
    return frozenset(found)


def without_doubtful(model: "onnx.ModelProto", known: Iterable[str] = ()) -> "onnx.ModelProto":
    """The model in which outputs of doubtful nodes have their type, and any shape; itself if there are none.

    `known`: outputs of nodes that stay as they are.
    """
    kept = frozenset(known)
    left_out = [it for it in model.graph.node if is_doubtful(it) and it.output[0] not in kept]
    if not left_out:
        return model
    from onnx import helper

    changed = type(model)()
    changed.CopyFrom(model)
    made = {name for node in left_out for name in node.output}
    said = [it for it in model.graph.value_info if it.name not in made]
    del changed.graph.node[:]
    del changed.graph.value_info[:]
    changed.graph.value_info.extend(said)
    taken = {name for node in model.graph.node for name in (*node.input, *node.output)}
    shape = next(name for i in range(len(taken) + 1) if (name := f"any shape {i}") not in taken)
    changed.graph.input.append(helper.make_tensor_value_info(shape, _WHOLE, None))
    for node in model.graph.node:
        if not is_doubtful(node) or node.output[0] in kept:
            changed.graph.node.append(node)
            continue
        first, *others = node.output
        changed.graph.node.append(helper.make_node("Reshape", [node.input[0], shape], [first]))
        for name in filter(None, others):
            changed.graph.node.append(helper.make_node("Cast", [first], [name], to=_WHOLE))
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
    model: "onnx.ModelProto", given: "Mapping[str, onnx.ValueInfoProto]"
) -> "onnx.ModelProto":
    """The model in which these values are inputs; the nodes that make them are left out."""
    if not given:
        return model
    changed = type(model)()
    changed.CopyFrom(model)
    graph = changed.graph
    kept = [it for it in model.graph.node if not any(name in given for name in it.output)]
    for field, values in (
        (graph.node, kept),
        (graph.output, [it for it in model.graph.output if it.name not in given]),
        (graph.value_info, [it for it in model.graph.value_info if it.name not in given]),
    ):
        del field[:]
        field.extend(values)
    graph.input.extend(given.values())
    return changed
