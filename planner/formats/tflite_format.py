"""A TensorFlow Lite model as a graph: sizes and lifetimes as TensorFlow Lite Micro allocates them.

Ids are indices: `7` is tensor 7 of the first subgraph, `1/7` that of subgraph 1, which is a temporary of the
operator that calls it. Sizes are rounded up to 16 bytes. Weights are constants; variables lie elsewhere. Some
operators must keep their order although no tensor says so, and convolutions and pools read by windows.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from math import prod
from typing import Final, Literal

from memstow.planner.formats.flatbuffer import Table
from memstow.planner.formats.format import GraphFormat, no_open_dimensions
from memstow.planner.formats.tflite_model import (
    CALLING,
    ELEMENTWISE,
    ENDING,
    NPU,
    STATEFUL,
    CalledTensor,
    Calls,
    ModelOperator,
    ModelTensor,
    Subgraph,
    read_subgraphs,
)
from memstow.planner.graph.check import require_valid
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import ElementType, Graph, Operator, Temporary, Tensor, Window, size_of
from memstow.planner.model.problem import LIMIT
from memstow.records import collector_at_rest, replace

_SAME: Final = 0
PADS: Final = ("PAD", "PADV2")
_POOLS: Final = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
# The field of the dilation of columns; that of rows follows.
_DILATION: Final = {"CONV_2D": 4, "DEPTHWISE_CONV_2D": 5}
_LARGEST: Final = 1 << 31

_Extents = tuple[int, int]


def window_of(operator: ModelOperator, tensors: Sequence[ModelTensor]) -> Window | None:
    """The window of an operator that has one; None where its shapes do not go with its options."""
    if operator.name in PADS:
        return _padded(operator, tensors)
    if operator.options is None or not operator.inputs or not operator.outputs:
        return None
    kernel, dilation = _kernel(operator, operator.options, tensors)
    ends = tensors[operator.inputs[0]], tensors[operator.outputs[0]]
    if any(tensor.shape[:1] != (1,) for tensor in ends):
        return None
    image, output = map(_extents, ends)
    if kernel is None or image is None or output is None:
        return None
    stride = operator.options.number(2, "<i"), operator.options.number(1, "<i")
    if not all(0 < entry < _LARGEST for entry in (*kernel, *stride, *dilation, *image)):
        return None
    same = operator.options.number(0, "<b") == _SAME
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    margins = [
        max((-(-extent // step) - 1) * step + over - extent, 0) if same else 0
        for extent, step, over in zip(image, stride, reach, strict=True)
    ]
    slid = tuple(
        (extent + margin - over) // step + 1
        for extent, margin, over, step in zip(image, margins, reach, stride, strict=True)
    )
    if slid != output or max(margins) >= _LARGEST:
        return None
    top, left = (margin // 2 for margin in margins)
    return Window(
        kernel=kernel,
        stride=stride,
        padding=(top, left, margins[0] - top, margins[1] - left),
        dilation=dilation,
    )


def _padded(operator: ModelOperator, tensors: Sequence[ModelTensor]) -> Window | None:
    """Of what puts rows and columns around an image: one element of it, and margins."""
    if len(operator.inputs) < 2 or not operator.outputs:
        return None
    image, output = (_extents(tensors[entry]) for entry in (operator.inputs[0], operator.outputs[0]))
    margins = tensors[operator.inputs[1]].numbers
    if image is None or output is None or margins is None or len(margins) != 8:
        return None
    shapes = (tensors[entry].shape for entry in (operator.inputs[0], operator.outputs[0]))
    batches = any(shape[0] != 1 for shape in shapes)
    before, top, bottom, left, right, after = margins[0] + margins[1], *margins[2:6], margins[6] + margins[7]
    if batches or before or after or not all(0 <= entry < _LARGEST for entry in (top, bottom, left, right)):
        return None
    if output != (image[0] + top + bottom, image[1] + left + right):
        return None
    return Window(kernel=(1, 1), padding=(top, left, bottom, right))


def _kernel(
    operator: ModelOperator, options: Table, tensors: Sequence[ModelTensor]
) -> tuple[_Extents | None, _Extents]:
    if operator.name in _POOLS:
        return (options.number(4, "<i"), options.number(3, "<i")), (1, 1)
    field = _DILATION.get(operator.name)
    if field is None or len(operator.inputs) < 2:
        return None, (1, 1)
    dilation = options.number(field + 1, "<i", 1), options.number(field, "<i", 1)
    return _extents(tensors[operator.inputs[1]]), dilation


def _extents(tensor: ModelTensor) -> _Extents | None:
    """Rows and columns of an image or of weights."""
    return (tensor.shape[1], tensor.shape[2]) if len(tensor.shape) == 4 else None


_Key = tuple[str, str]


def kept_pairs(subgraphs: Sequence[Subgraph]) -> list[tuple[int, int]]:
    """Pairs of operators of the first subgraph of which the first must run before the second."""
    main, *others = subgraphs
    pairs = set(_by_variable(main))
    # By tensor that keeps its value from one run to the next, the operators that use it.
    users: dict[int, list[int]] = {}
    for i, operator in enumerate(main.operators):
        for tensor in dict.fromkeys((*operator.inputs, *operator.outputs)):
            if main.tensors[tensor].is_variable:
                users.setdefault(tensor, []).append(i)
    for in_turn in users.values():
        pairs.update(pairwise(in_turn))
    called = CALLING if any(map(_may_end_the_run, chain(*(entry.operators for entry in others)))) else ()
    pairs.update(_by_end(main, called))
    return sorted(pairs)


def _may_end_the_run(operator: ModelOperator) -> bool:
    return operator.is_custom and operator.name in ENDING


def _by_end(subgraph: Subgraph, called: Collection[str]) -> Iterator[tuple[int, int]]:
    """What may end the run, or calls what may, keeps its place: nothing passes it."""
    barrier: int | None = None
    since: list[int] = []
    for i, operator in enumerate(subgraph.operators):
        if barrier is not None:
            yield barrier, i
        since.append(i)
        if _may_end_the_run(operator) or operator.name in called:
            yield from ((earlier, i) for earlier in since[:-1])
            barrier, since = i, []


def _by_variable(subgraph: Subgraph) -> Iterator[tuple[int, int]]:
    """Readers of one variable may change places with each other; everything else keeps its order.

    An operator that may use any variable, as a custom one may, is kept apart from all that use one.
    """
    handles = {
        output: _handle(operator)
        for operator in subgraph.operators
        if operator.name == "VAR_HANDLE" and not operator.is_custom
        for output in operator.outputs
    }
    barrier: int | None = None
    writer: dict[_Key, int] = {}
    readers: dict[_Key, list[int]] = {}
    since: list[int] = []
    for i, operator in enumerate(subgraph.operators):
        if operator.name not in STATEFUL and not operator.is_custom:
            continue
        key = _variable(operator, handles)
        if barrier is not None:
            yield barrier, i
        if key is None:
            yield from ((earlier, i) for earlier in since)
            barrier, since = i, []
            writer.clear()
            readers.clear()
            continue
        since.append(i)
        if key in writer:
            yield writer[key], i
        if operator.name == "READ_VARIABLE":
            readers.setdefault(key, []).append(i)
        else:
            yield from ((reader, i) for reader in readers.pop(key, ()))
            writer[key] = i


def _variable(operator: ModelOperator, handles: dict[int, _Key]) -> _Key | None:
    """The variable that the operator reads or assigns; None where it may be any."""
    if operator.name not in ("READ_VARIABLE", "ASSIGN_VARIABLE") or not operator.inputs or operator.is_custom:
        return None
    return handles.get(operator.inputs[0])


def _handle(operator: ModelOperator) -> _Key:
    options = operator.options
    return ("", "") if options is None else (options.text(0), options.text(1))


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
            before=(
                *[(str(first), str(then)) for first, then in kept_pairs(subgraphs)],
                *[
                    (str(i), f"{i}{_MADE}")
                    for i, operator in enumerate(main.operators)
                    if operator.name == NPU
                ],
            ),
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
    outputs = {i for operator in subgraph.operators for i in operator.outputs}
    read = {i for operator in subgraph.operators for i in operator.inputs} | set(subgraph.outputs)
    unmade = sorted(read - outputs - _regions(subgraph))
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
    as_read = _tensor("t", tensor, path)
    return as_read.size if as_read.kind == "data" and as_read.size is not None else 0


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
        temporary
        for entry in called
        if (temporary := _temporary(entry, subgraphs[entry.subgraph])) is not None
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
    output = subgraph.tensors[operator.outputs[0]]
    return tuple(
        (str(i), str(operator.outputs[0]))
        for i in dict.fromkeys(operator.inputs)
        if _kind(subgraph.tensors[i]) == "data" == _kind(output)
        and subgraph.tensors[i].type == output.type
        and prod(subgraph.tensors[i].shape) == prod(output.shape)
    )


def _read_model(data: bytes, in_place: bool, dims: Mapping[str, int]) -> Graph:
    if dims:
        raise no_open_dimensions()
    return read_graph(data, in_place)


FORMAT: Final = GraphFormat(name="tflite", is_json=False, read_graph=read_graph, read_model=_read_model)
