"""An ONNX model as a graph: nodes in the order of the file, shapes as the model with inferred shapes
says (`planner.shapes.onnx_models` reads models).

Ids are the names of the model. Initializers and the results of `Constant` nodes are constants.
"""

from collections.abc import Iterator
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.dimensions import open_names
from memstow.planner.formats.onnx.numbers import refuse_large_dimensions
from memstow.planner.formats.onnx.texts import text_of, usable_name
from memstow.planner.formats.onnx.values import Values
from memstow.planner.graph.check import require_valid
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reading.printable import printable, shown

if TYPE_CHECKING:
    import onnx

_STANDARD: Final = "ai.onnx"
_DRAWN: Final = frozenset(
    ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli")
)
_ELEMENTWISE: Final = frozenset(
    (
        *("Add", "Sub", "Mul", "Div", "Max", "Min", "Relu", "LeakyRelu", "PRelu", "Elu", "Gelu", "HardSwish"),
        *(
            "Sigmoid",
            "Tanh",
            "Abs",
            "Neg",
            "Exp",
            "Log",
            "Sqrt",
            "Floor",
            "Ceil",
            "Round",
            "Sin",
            "Cos",
            "Clip",
        ),
        *("Not", "Erf", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"),
    )
)


def graph_of(model: "onnx.ModelProto", inferred: "onnx.ModelProto", in_place: bool) -> Graph:
    """The graph of a model with the shapes that were inferred.

    `in_place`: nodes that work by elements may overwrite an input.
    """
    with collector_at_rest():
        refuse_large_dimensions(inferred)
        values = Values(inferred, open_names(model))
        nodes = [node for node in model.graph.node if node.op_type != "Constant"]
        names = _node_names(nodes)
        operators = tuple(_operator(name, node) for name, node in zip(names, nodes, strict=True))
        drawn = [name for name, node in zip(names, nodes, strict=True) if node.op_type in _DRAWN]
        used = {name for operator in operators for name in (*operator.inputs, *operator.outputs)}
        inputs = [name for it in model.graph.input if (name := text_of(it.name)) not in values.constants]
        outputs = [text_of(it.name) for it in model.graph.output]
        tensors = {name: values.tensor(name) for name in dict.fromkeys([*inputs, *sorted(used), *outputs])}
        if in_place:
            operators = tuple(values.with_pairs(it) if it.type in _ELEMENTWISE else it for it in operators)
        graph = Graph(
            version=1,
            name=usable_name(model.graph.name, "$.graph.name") if model.graph.name else None,
            tensors=tuple(tensors.values()),
            operators=operators,
            inputs=tuple(dict.fromkeys(inputs)),
            outputs=tuple(dict.fromkeys(outputs)),
            before=tuple(pairwise(drawn)),
        )
    require_valid(graph)
    return graph


def parsed_model(data: bytes) -> "onnx.ModelProto":
    """The model of the bytes; InputError for what is no model, or one with functions or graphs in graphs."""
    model = _decoded(data)
    _shorten_domains(model)
    _refuse_what_is_not_supported(model)
    return model


def _shorten_domains(model: "onnx.ModelProto") -> None:
    """Write the domain of the standard in one way: inference does not know that "ai.onnx" is it too."""
    for node in model.graph.node:
        if node.domain == _STANDARD:
            node.domain = ""
    known = {it.domain for it in model.opset_import}
    for opset in model.opset_import:
        if opset.domain == _STANDARD and "" not in known:
            opset.domain = ""


def _decoded(data: bytes) -> "onnx.ModelProto":
    if not data:
        # It would be a model, of nothing.
        raise InputError.single("empty", "$", "the input is empty")
    try:
        import onnx

        damaged: type[Exception] = import_module("google.protobuf.message").DecodeError
    except ModuleNotFoundError as error:
        message = "reading ONNX models needs an extra that is not installed: pip install 'memstow[onnx]'"
        raise InputError.single("missing_extra", error.name or "onnx", message) from None
    try:
        return onnx.load_model_from_string(data)
    except damaged as error:
        message = f"the model is damaged: {printable(str(error), 200)}"
        raise InputError.single("damaged", "$", message) from None


def _refuse_what_is_not_supported(model: "onnx.ModelProto") -> None:
    if model.functions:
        name = shown(text_of(model.functions[0].name))
        message = f"it has the function {name}, and functions are not supported; inline them"
        raise InputError.single("not_supported", "$.functions[0]", message)
    for i, node in enumerate(model.graph.node):
        if any(it.HasField("g") or it.graphs for it in node.attribute):
            kind, name = printable(text_of(node.op_type), 60), shown(text_of(node.name))
            message = f"the {kind} {name} runs graphs of its own, which is not supported"
            raise InputError.single("not_supported", f"$.graph.node[{i}]", message)


def _node_names(nodes: "list[onnx.NodeProto]") -> list[str]:
    """A name for each node: its own where no other has it."""
    taken: set[str] = set()
    found = []
    for i, node in enumerate(nodes):
        name = (
            usable_name(node.name, f"$.graph.node[{i}].name")
            if node.name
            else f"{text_of(node.op_type)[:900].replace(chr(0), ' ')} {i}"
        )
        while name in taken:
            name = f"{name[:900]} {i}"
            i += len(nodes)
        taken.add(name)
        found.append(name)
    return found


def _operator(name: str, node: "onnx.NodeProto") -> Operator:
    return Operator(
        id=name,
        type=printable(text_of(node.op_type), 1000) or None,
        inputs=tuple(_named(node.input)),
        outputs=tuple(_named(node.output)),
    )


def _named(names: "Iterator[str] | list[str]") -> Iterator[str]:
    """The names, without those of inputs and outputs that are left out."""
    for name in names:
        if name:
            yield usable_name(name, "$.graph.node")
