"""An ONNX model as a graph: nodes in the order of the file, shapes as the model with inferred shapes says.

Ids are the names of the model. Initializers and the results of `Constant` nodes are constants. The package
`onnx` (extra `onnx`) parses the file; `planner.formats.onnx.models` reads models with what is here.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.dimensions import (
    open_names,
    path_of,
    refuse_large_dimensions,
    text_of,
    unknown,
    usable_name,
)
from memstow.planner.graph.check import require_valid
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import ElementType, Graph, Operator, Tensor, element_bits
from memstow.planner.model.printable import printable, shown
from memstow.planner.model.problem import LIMIT
from memstow.records import collector_at_rest

if TYPE_CHECKING:
    import onnx


ELEMENT_TYPES: Final[dict[int, ElementType]] = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
    17: "float8",
    18: "float8",
    19: "float8",
    20: "float8",
    21: "uint4",
    22: "int4",
    23: "float4",
    24: "float8",
    25: "uint2",
    26: "int2",
}
_STRING: Final = 8
MOST_DIMENSIONS: Final = 64
_LARGEST_ALIGNMENT: Final = 8


class Values:
    """What a model says about its values; `open_names` are those of dimensions that can be given a value."""

    def __init__(self, model: "onnx.ModelProto", open_names: frozenset[str] = frozenset()) -> None:
        graph = model.graph
        self._open_names = open_names
        self._types = {
            text_of(entry.name): entry.type for entry in (*graph.value_info, *graph.output, *graph.input)
        }
        for mask, dropped in _masks(graph.node):
            described = self._types.get(mask)
            if dropped in self._types and not (described and described.tensor_type.HasField("shape")):
                self._types[mask] = self._types[dropped]
        self._initial = {text_of(entry.name): entry for entry in graph.initializer}
        sparse = {text_of(entry.values.name) for entry in graph.sparse_initializer}
        computed = {name for node in graph.node if node.op_type == "Constant" for name in node.output if name}
        self.constants = frozenset(self._initial) | sparse | computed
        self._tensors: dict[str, Tensor] = {}

    def tensor(self, name: str) -> Tensor:
        """The tensor of a value; InputError where its size is not known."""
        tensor = self._tensors.get(name)
        if tensor is None:
            tensor = self._tensors[name] = self._made(name)
        return tensor

    def with_pairs(self, operator: Operator) -> Operator:
        """The operator with pairs in place: inputs as large as its only output, of the same type."""
        if len(operator.outputs) != 1:
            return operator
        output = self.tensor(operator.outputs[0])
        pairs = tuple(
            (name, output.id)
            for name in dict.fromkeys(operator.inputs)
            if (source := self.tensor(name)).kind == "data" == output.kind
            and source.type == output.type
            and prod(source.shape or ()) == prod(output.shape or ())
        )
        return replace(operator, in_place=pairs)

    def _made(self, name: str) -> Tensor:
        path = path_of(name)
        usable_name(name, path)
        if name in self.constants:
            return self._constant(name, path)
        described = self._types.get(name)
        if described is None or not described.HasField("tensor_type"):
            known = described is not None and described.WhichOneof("value") is not None
            if known:
                raise InputError.single("not_supported", path, "it is no tensor; only tensors are supported")
            raise _unknown_shape(path)
        dense = described.tensor_type
        if not dense.HasField("shape"):
            raise _unknown_shape(path)
        return _tensor(
            name, tuple(self._extent(entry, path) for entry in dense.shape.dim), dense.elem_type, path
        )

    def _constant(self, name: str, path: str) -> Tensor:
        initial = self._initial.get(name)
        if initial is None or initial.data_type == _STRING:
            return Tensor(id=name, size=0, kind="constant")
        if any(extent < 0 for extent in initial.dims):
            raise InputError.single("damaged", path, "a dimension of a constant is below 0")
        return replace(_tensor(name, tuple(initial.dims), initial.data_type, path), kind="constant")

    def _extent(self, dimension: "onnx.TensorShapeProto.Dimension", path: str) -> int:
        name = text_of(dimension.dim_param)
        if name in self._open_names:
            raise InputError.single("unknown_dimension", path, unknown(name))
        if not dimension.HasField("dim_value") or dimension.dim_value < 0:
            raise _unknown_shape(path)
        return dimension.dim_value


def _masks(nodes: "Iterable[onnx.NodeProto]") -> Iterator[tuple[str, str]]:
    """The masks of dropouts, and what each is as large as: before opset 10, inference leaves them out."""
    for node in nodes:
        if node.op_type == "Dropout" and len(node.output) == 2 and node.input and node.output[1]:
            yield text_of(node.output[1]), text_of(node.input[0])


def _unknown_shape(path: str) -> InputError:
    message = "its shape is not known before the model runs; fix it in the model"
    return InputError.single("unknown_shape", path, message)


def _tensor(name: str, shape: tuple[int, ...], kind: int, path: str) -> Tensor:
    element = ELEMENT_TYPES.get(kind)
    if element is None:
        what = "strings" if kind == _STRING else f"elements of type {kind}"
        raise InputError.single("not_supported", path, f"{what} are not supported: their size is not known")
    if len(shape) > MOST_DIMENSIONS or prod(shape) * 16 > LIMIT:
        raise InputError.single("too_large", path, "the tensor has more than 2^62 bytes, or 64 dimensions")
    alignment = min(max(element_bits(element) // 8, 1), _LARGEST_ALIGNMENT)
    return Tensor(id=name, shape=shape, type=element, alignment=alignment)


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
        inputs = [
            name for entry in model.graph.input if (name := text_of(entry.name)) not in values.constants
        ]
        outputs = [text_of(entry.name) for entry in model.graph.output]
        tensors = {name: values.tensor(name) for name in dict.fromkeys([*inputs, *sorted(used), *outputs])}
        if in_place:
            operators = tuple(
                values.with_pairs(operator) if operator.type in _ELEMENTWISE else operator
                for operator in operators
            )
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
    known = {entry.domain for entry in model.opset_import}
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
        if any(entry.HasField("g") or entry.graphs for entry in node.attribute):
            kind, name = printable(text_of(node.op_type), 60), shown(text_of(node.name))
            message = f"the {kind} {name} runs graphs of its own, which is not supported"
            raise InputError.single("not_supported", f"$.graph.node[{i}]", message)


def _node_names(nodes: "list[onnx.NodeProto]") -> list[str]:
    """A name for each node: its own where no other has it."""
    taken: set[str] = set()
    names = []
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
        names.append(name)
    return names


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
