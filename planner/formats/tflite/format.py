"""A TensorFlow Lite model as a graph: sizes and lifetimes as TensorFlow Lite Micro allocates them.

Ids are indices: `7` is tensor 7 of the first subgraph, `1/7` that of subgraph 1, which is a temporary of the
operator that calls it. Sizes are rounded up to 16 bytes. Weights are constants; variables lie elsewhere.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final, Literal

from memstow.planner.formats.graph.format import GraphFormat, no_open_dimensions
from memstow.planner.formats.tflite.model import ModelOperator, ModelTensor, Subgraph, read_subgraphs
from memstow.planner.formats.tflite.operator_names import ELEMENTWISE, NPU
from memstow.planner.formats.tflite.side_effects import kept_pairs
from memstow.planner.formats.tflite.subgraphs import CalledTensor, Calls
from memstow.planner.formats.tflite.windows import window_of
from memstow.planner.graph.check import require_valid
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import ElementType, Graph, Operator, Temporary, Tensor, size_of
from memstow.planner.model.problem import LIMIT
from memstow.planner.model.records import collector_at_rest

_ALIGNMENT: Final = 16
TYPES: Final[dict[int, ElementType]] = {
    0: "float32",
    1: "float16",
    2: "int32",
    3: "uint8",
    4: "int64",
    6: "bool",
    7: "int16",
    8: "complex64",
    9: "int8",
    10: "float64",
    11: "complex128",
    12: "uint64",
    15: "uint32",
    16: "uint16",
    17: "int4",
    18: "bfloat16",
}
RESOURCE: Final = 13
_STRING, _VARIANT = 5, 14
_MADE: Final = "/made"
_LONGEST_NAME: Final = 1024
_REFUSED: Final = {_STRING: "strings", _VARIANT: "variants"}


def read_graph(data: bytes, in_place: bool = False) -> Graph:
    """The graph of a model. `in_place`: operators that work by elements may overwrite an input."""
    with collector_at_rest():
        subgraphs = read_subgraphs(data)
        main = subgraphs[0]
        unmade = _unmade(main)
        calls = Calls(subgraphs)
        graph = Graph(
            version=1,
            tensors=tuple(_tensors(main)),
            operators=tuple(
                step
                for i, operator in enumerate(main.operators)
                for step in _steps(_operator(i, operator, subgraphs, calls, in_place))
            ),
            inputs=tuple(str(i) for i in dict.fromkeys((*main.inputs, *unmade))),
            outputs=tuple(str(i) for i in dict.fromkeys(main.outputs)),
            before=(*_kept(subgraphs), *_made_after(main)),
        )
    require_valid(graph)
    return graph


def _tensors(subgraph: Subgraph) -> list[Tensor]:
    """The tensors of the first subgraph that something uses."""
    used = {i for operator in subgraph.operators for i in (*operator.inputs, *operator.outputs)}
    used |= {*subgraph.inputs, *subgraph.outputs}
    regions = _regions(subgraph)
    return [
        Tensor(id=str(i), size=0, kind="external")
        if i in regions
        else _tensor(str(i), subgraph.tensors[i], f"$.subgraphs[0].tensors[{i}]")
        for i in sorted(used)
    ]


def _regions(subgraph: Subgraph) -> set[int]:
    """Tensors that stand for all memory of a neural processor: others lie in them, where its commands say."""
    return {
        i
        for operator in subgraph.operators
        if operator.is_custom and operator.name == NPU
        for i in operator.inputs[2:4]
        if _kind(subgraph.tensors[i]) == "data"
    }


def _unmade(subgraph: Subgraph) -> list[int]:
    """Tensors that are read, and that no operator makes: they are there before the first runs."""
    made = {i for operator in subgraph.operators for i in operator.outputs}
    read = {i for operator in subgraph.operators for i in operator.inputs} | set(subgraph.outputs)
    unmade = sorted(read - made - _regions(subgraph))
    return [i for i in unmade if _kind(subgraph.tensors[i]) == "data"]


def _tensor(name: str, tensor: ModelTensor, path: str) -> Tensor:
    kind = _kind(tensor)
    if tensor.type == RESOURCE or (kind == "constant" and tensor.type not in TYPES):
        return Tensor(id=name, size=0, kind="external" if kind == "data" else kind)
    element = TYPES.get(tensor.type)
    if element is None:
        what = _REFUSED.get(tensor.type, f"tensors of type {tensor.type}")
        raise InputError.single("not_supported", path, f"{what} are not supported: their size is not known")
    if any(extent < 0 for extent in tensor.shape):
        message = f"shape {list(tensor.shape)[:8]} is not known before the model runs; fix its dimensions"
        raise InputError.single("unknown_shape", path, message)
    if len(tensor.shape) > 64 or prod(tensor.shape) * 16 > LIMIT:
        raise InputError.single("too_large", path, "the tensor has more than 2^62 bytes, or 64 dimensions")
    size = size_of(Tensor(id=name, shape=tensor.shape, type=element))
    called = tensor.name.replace("\0", "")[:_LONGEST_NAME] or None
    if kind == "constant":
        return Tensor(id=name, shape=tensor.shape, type=element, kind=kind, name=called)
    return Tensor(
        id=name,
        size=-(-size // _ALIGNMENT) * _ALIGNMENT,
        shape=tensor.shape,
        type=element,
        kind=kind,
        alignment=_ALIGNMENT,
        name=called,
    )


def arena_bytes(tensor: ModelTensor, path: str) -> int:
    """What the tensor takes of the arena while it lives; 0 for constants and variables."""
    if tensor.type == RESOURCE and not (tensor.is_constant or tensor.is_variable):
        return _ALIGNMENT
    found = _tensor("t", tensor, path)
    return found.size if found.kind == "data" and found.size is not None else 0


def _kind(tensor: ModelTensor) -> Literal["data", "constant", "external"]:
    if tensor.is_constant:
        return "constant"
    return "external" if tensor.is_variable or tensor.type == RESOURCE else "data"


def _operator(
    index: int, operator: ModelOperator, subgraphs: Sequence[Subgraph], calls: Calls, in_place: bool
) -> Operator:
    main = subgraphs[0]
    called = calls.of(operator, f"$.subgraphs[0].operators[{index}]")
    temporaries = [
        temporary for it in called if (temporary := _temporary(it, subgraphs[it.subgraph])) is not None
    ]
    return Operator(
        id=str(index),
        type=operator.name[:_LONGEST_NAME],
        inputs=tuple(map(str, operator.inputs)),
        outputs=tuple(map(str, operator.outputs)),
        temporaries=temporaries,
        in_place=_pairs(operator, main) if in_place else (),
        window=window_of(operator, main.tensors),
    )


def _steps(operator: Operator) -> tuple[Operator, ...]:
    """The operator; one of a neural processor reads first, since what it makes may lie over that."""
    if operator.type != NPU:
        return (operator,)
    return replace(operator, outputs=()), Operator(
        id=f"{operator.id}{_MADE}", type=NPU, outputs=operator.outputs
    )


def _kept(subgraphs: Sequence[Subgraph]) -> list[tuple[str, str]]:
    return [(str(first), str(then)) for first, then in kept_pairs(subgraphs)]


def _made_after(main: Subgraph) -> list[tuple[str, str]]:
    return [(str(i), f"{i}{_MADE}") for i, operator in enumerate(main.operators) if operator.name == NPU]


def _temporary(called: CalledTensor, subgraph: Subgraph) -> Temporary | None:
    tensor = subgraph.tensors[called.tensor]
    if _kind(tensor) != "data":
        return None
    path = f"$.subgraphs[{called.subgraph}].tensors[{called.tensor}]"
    name = f"{called.subgraph}/{called.tensor}"
    size = size_of(_tensor(name, tensor, path))
    return Temporary(id=name, size=size, phases=called.phases, alignment=_ALIGNMENT)


def _pairs(operator: ModelOperator, subgraph: Subgraph) -> tuple[tuple[str, str], ...]:
    """Inputs that the output may overwrite, element by element."""
    if operator.name not in ELEMENTWISE or len(operator.outputs) != 1:
        return ()
    made = subgraph.tensors[operator.outputs[0]]
    return tuple(
        (str(i), str(operator.outputs[0]))
        for i in dict.fromkeys(operator.inputs)
        if _kind(subgraph.tensors[i]) == "data" == _kind(made)
        and subgraph.tensors[i].type == made.type
        and prod(subgraph.tensors[i].shape) == prod(made.shape)
    )


def _read_model(data: bytes, in_place: bool, dims: Mapping[str, int]) -> Graph:
    if dims:
        raise no_open_dimensions()
    return read_graph(data, in_place)


FORMAT: Final = GraphFormat(name="tflite", is_json=False, read_graph=read_graph, read_model=_read_model)
