"""An ONNX model as what programs are built from, and as the graph that is planned.

Images have channels last in the arena. Inputs and outputs of the program stay as the model has them: their
elements are put in order when they are copied in and out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Final, cast

from memstow.planner.firmware.full_model import MOST_BYTES, FullModel, FullOperator, FullTensor, refuse
from memstow.planner.firmware.layers import Struct, dense_steps, strided_layer
from memstow.planner.firmware.onnx.constants import FOLDED, array_of, constants_of, folded
from memstow.planner.firmware.onnx.layouts import Layout, channels_last, image_shape, merged, of_order, plain
from memstow.planner.firmware.onnx.lowering import INTEGERS, Lowering, Node
from memstow.planner.firmware.onnx.nodes import RULES, WINDOWED
from memstow.planner.firmware.onnx.quantisation import (
    DYNAMIC,
    choose,
    fold_pair,
    turn_constant,
)
from memstow.planner.firmware.program import Port
from memstow.planner.formats.onnx.dimensions import STANDARD, opset_of, path_of, text_of
from memstow.planner.formats.onnx.graph import ELEMENT_TYPES, MOST_DIMENSIONS
from memstow.planner.formats.onnx.inference import shapes_in, types_in
from memstow.planner.formats.onnx.models import read_shaped
from memstow.planner.formats.onnx.pairs import Origins, as_pairs
from memstow.planner.formats.tflite_model import ELEMENTWISE
from memstow.planner.model.graph import ElementType, Graph, Operator, Tensor
from memstow.planner.model.printable import printable

if TYPE_CHECKING:
    import onnx

_OLDEST: Final = 7
_IN_PLACE: Final = ELEMENTWISE | {"CLIP", "HARD_SIGMOID", "SOFTPLUS", "ERF", "RECIPROCAL", "REQUANTIZE"}


@dataclass(frozen=True, slots=True)
class OnnxModel:
    """A model that can be built."""

    read: FullModel
    graph: Graph
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    layouts: Mapping[str, tuple[tuple[int, ...], Layout]] = field(default_factory=dict)
    """Of inputs and outputs, by name: the shape that the model has, and how it lies in the arena."""


def read_onnx(data: bytes, dims: Mapping[str, int]) -> OnnxModel:
    """The model, with values for what dimensions it leaves open; an InputError for what cannot be built."""
    import numpy

    # Weights may be anything, also infinite, and what is computed of them is what a runtime would compute.
    with numpy.errstate(all="ignore"):
        return _read(data, dims)


def _read(data: bytes, dims: Mapping[str, int]) -> OnnxModel:
    origins: Origins = []
    model, inferred = read_shaped(data, dims, change=lambda model: origins.extend(as_pairs(model)))
    opset = opset_of(model)
    if opset < _OLDEST:
        message = (
            f"opset {opset} is too old to build a program from; {_OLDEST} is the oldest: "
            "onnx.version_converter.convert_version(model, 13)"
        )
        raise refuse("not_supported", "$.opset_import", message)
    _require_one_maker(model)
    nodes = _live_nodes(model, opset, origins)
    lowering = _begin(model, inferred, nodes)
    computed = [node for node in nodes if not _fold(lowering, node)]
    _note_readers(model, lowering, computed)
    wanted = _with_channels_last(computed)
    inputs = _inputs(model, lowering, wanted)
    for node in computed:
        _take(lowering, node)
    outputs = _outputs(model, lowering)
    operators = lowering.operators()
    read = FullModel(
        tensors=tuple(lowering.tensors),
        operators=tuple(operators),
        inputs=tuple(int(port.tensor) for port in inputs),
        outputs=tuple(int(port.tensor) for port in outputs),
        subgraphs=(),
    )
    layouts = {
        name: (lowering.values[name].shape, lowering.values[name].layout)
        for name in (port.name for port in (*inputs, *outputs))
    }
    return OnnxModel(read, _graph(read), tuple(inputs), tuple(outputs), layouts)


def _require_one_maker(model: "onnx.ModelProto") -> None:
    """InputError for a value that is there twice: nobody knows which one is meant."""
    inputs = [text_of(entry.name) for entry in model.graph.input]
    initial = {text_of(entry.name) for entry in model.graph.initializer} - {*inputs}
    made = [text_of(name) for node in model.graph.node for name in node.output if name]
    for name, count in Counter((*inputs, *initial, *made)).items():
        if count > 1:
            message = (
                "it is there more than once: each input, initializer and output of a node has its own name"
            )
            raise refuse("duplicate_id", path_of(name), message)


def _live_nodes(model: "onnx.ModelProto", opset: int, origins: Origins) -> list[Node]:
    """The nodes that outputs follow from, in the order of the file."""
    nodes = [
        Node(proto, index, opset, said)
        for proto, (index, said) in zip(model.graph.node, origins, strict=True)
    ]
    wanted = {text_of(entry.name) for entry in model.graph.output}
    live = []
    for node in reversed(nodes):
        if wanted.intersection(filter(None, node.outputs)):
            live.append(node)
            wanted.update(filter(None, node.inputs))
    return live[::-1]


def _begin(model: "onnx.ModelProto", inferred: "onnx.ModelProto", nodes: Sequence[Node]) -> Lowering:
    """What is known before the first node: shapes, types and constants."""
    shapes = shapes_in(inferred)
    for entry in model.graph.input:
        extents = entry.type.tensor_type.shape.dim
        shapes[text_of(entry.name)] = tuple(extent.dim_value for extent in extents)
    types = {
        name: ELEMENT_TYPES.get(kind, f"elements of type {kind}") for name, kind in types_in(inferred).items()
    }
    read = {name for node in nodes for name in node.inputs if name}
    read.update(text_of(entry.name) for entry in model.graph.output)
    tensors = constants_of(model, read)
    constants = {name: array_of(tensor, path_of(name)) for name, tensor in tensors.items()}
    return Lowering(shapes=shapes, types=types, constants=constants)


def _note_readers(model: "onnx.ModelProto", lowering: Lowering, nodes: Sequence[Node]) -> None:
    """Who reads each value when the model runs: nodes that were computed do not."""
    lowering.uses.update(name for node in nodes for name in node.inputs if name)
    lowering.uses.update(text_of(entry.name) for entry in model.graph.output)
    lowering.readers.update({name: node for node in nodes for name in node.inputs if name})


def _with_channels_last(nodes: Sequence[Node]) -> frozenset[str]:
    """The values that some operator reads as images, perhaps after others that take any order."""
    wanted: set[str] = set()
    for node in reversed(nodes):
        if node.kind in WINDOWED:
            wanted.update(node.inputs[:1])
        elif node.kind != "Transpose" and wanted.intersection(node.outputs):
            wanted.update(node.inputs)
    return frozenset(wanted)


def _inputs(model: "onnx.ModelProto", lowering: Lowering, wanted: frozenset[str]) -> list[Port]:
    ports = []
    initial = {text_of(entry.name) for entry in model.graph.initializer}
    for entry in model.graph.input:
        name = text_of(entry.name)
        if name in initial:
            continue
        shape = _sound_shape(name, lowering.shapes[name])
        kind = entry.type.tensor_type.elem_type
        if ELEMENT_TYPES.get(kind) not in ("float32", *INTEGERS):
            said = "it is no tensor" if not kind else f"an input of {ELEMENT_TYPES.get(kind, 'another type')}"
            message = f"{said}; programs of ONNX models take float32, int8 and uint8"
            raise refuse("unknown_type", path_of(name), message)
        rank = len(shape)
        if name in wanted and rank in (3, 4):
            stored, layout = image_shape(shape), of_order(shape, channels_last(rank))
        else:
            stored, layout = shape, plain(shape)
        tensor = lowering.tensor(name, stored, ELEMENT_TYPES[kind])
        lowering.is_input(name, tensor, shape, layout)
        ports.append(_port(lowering, name, is_output=False))
    return ports


def _sound_shape(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    if any(extent < 1 for extent in shape):
        raise refuse("bad_shape", path_of(name), f"its shape is {list(shape)}: it has no elements")
    if len(shape) > MOST_DIMENSIONS:
        raise refuse("too_large", path_of(name), f"the tensor has more than {MOST_DIMENSIONS} dimensions")
    if prod(shape) * 4 > MOST_BYTES:
        raise refuse("too_large", path_of(name), "the tensor has more than 2^31 bytes")
    return shape


def _fold(lowering: Lowering, node: Node) -> bool:
    """Compute what is known when the program is written; whether a node is."""
    if node.proto.domain not in STANDARD:
        message = f"{node.said} of the domain {printable(text_of(node.proto.domain), 60)} cannot be built"
        raise refuse("unknown_operator", node.path, message)
    for name in filter(None, node.outputs):
        shape = lowering.shapes.get(name)
        if shape is not None and name not in lowering.constants and node.kind not in FOLDED:
            _sound_shape(name, shape)
    if not _is_known(lowering, node):
        return False
    if node.kind in ("QuantizeLinear", "DequantizeLinear"):
        fold_pair(lowering, node)
    else:
        inputs = {name: lowering.constants[name] for name in node.inputs if name in lowering.constants}
        if node.kind in ("Shape", "Size") and node.inputs[0] not in inputs:
            import numpy

            # Only how large it is counts.
            inputs[node.inputs[0]] = numpy.broadcast_to(
                numpy.zeros(1, numpy.float32), lowering.shapes[node.inputs[0]]
            )
        arrays = folded(node.proto, inputs, lowering.shapes, node.opset, node.path)
        lowering.constants.update(zip(filter(None, node.outputs), arrays, strict=True))
        turn_constant(lowering, node)
    return True


def _take(lowering: Lowering, node: Node) -> None:
    """Make a node operators."""
    rule = RULES.get(node.kind)
    if rule is None:
        listed = f"there are {', '.join(sorted({*RULES}))}"
        if node.kind in DYNAMIC:
            listed = "its scales are computed when the model runs: quantise the model statically"
        raise refuse("unknown_operator", node.path, f"{node.said} cannot be built; {listed}")
    for name in filter(None, node.outputs):
        if name in lowering.shapes:
            _sound_shape(name, lowering.shapes[name])
    choose(lowering, node)
    rule(lowering, node)


def _is_known(lowering: Lowering, node: Node) -> bool:
    """Whether a node computes something that is known when the program is written."""
    if node.kind in ("Shape", "Size"):
        return bool(node.inputs) and node.inputs[0] in lowering.shapes
    return node.kind in FOLDED and all(name in lowering.constants for name in filter(None, node.inputs))


def _outputs(model: "onnx.ModelProto", lowering: Lowering) -> list[Port]:
    ports = []
    for entry in model.graph.output:
        name = text_of(entry.name)
        if name in lowering.constants:
            raise refuse("not_supported", path_of(name), "an output that is a constant; leave it out")
        if name not in lowering.values:
            raise refuse("not_written", path_of(name), "it is an output of the model that no node makes")
        value = lowering.values[name]
        tensor = lowering.tensors[value.tensor]
        # Integers are rounded from floats, which are beside a half at times.
        slack = 1.0 if tensor.type in INTEGERS else 0.0
        if value.is_quantised:
            slack = tensor.scale
            lowering.values[name] = lowering.as_floats(value)
        ports.append(replace(_port(lowering, name, is_output=True), slack=slack))
    if not ports:
        raise refuse("missing_output", "$.graph.output", "the model has no outputs")
    return ports


def _port(lowering: Lowering, name: str, *, is_output: bool) -> Port:
    value = lowering.values[name]
    tensor = lowering.tensors[value.tensor]
    size = prod(value.shape) * tensor.width
    if value.layout.is_plain:
        return Port(str(value.tensor), name, size, tensor.type, value.shape)
    least = merged(value.layout)
    copied = (
        _turning(tensor, least.stored, least.turn)
        if is_output
        else _turning(tensor, least.turned, _inverse(least.turn))
    )
    return Port(str(value.tensor), name, size, tensor.type, value.shape, False, copied, tensor.shape)


def _inverse(turn: Sequence[int]) -> tuple[int, ...]:
    return tuple(turn.index(axis) for axis in range(len(turn)))


def _turning(tensor: FullTensor, shape: tuple[int, ...], order: tuple[int, ...]) -> Struct:
    """What `copy_strided` is given to put the axes of a tensor in another order."""
    steps = dense_steps(shape)
    layer = strided_layer([shape[axis] for axis in order], [steps[axis] for axis in order], tensor.width)
    if layer is None:
        raise refuse("not_supported", tensor.path, "it has too many dimensions to be put in order")
    return Struct(layer)


def _graph(read: FullModel) -> Graph:
    """The graph of the operators, with ids as in graphs of TensorFlow Lite models."""
    used = {
        place for operator in read.operators for place in (*operator.source.inputs, *operator.source.outputs)
    }
    used |= {*read.inputs, *read.outputs}
    computed = {place for operator in read.operators for place in operator.source.outputs} | {*read.inputs}
    tensors = []
    for place in sorted(used):
        tensor = read.tensors[place]
        if tensor is None:
            raise TypeError("a tensor of an ONNX model is no handle")
        tensors.append(
            Tensor(
                id=str(place),
                shape=tensor.shape,
                type=cast("ElementType", tensor.type),
                kind="data" if place in computed else "constant",
                name=printable(tensor.name, 200),
            )
        )
    operators = [
        Operator(
            id=str(operator.index),
            type=operator.name,
            inputs=tuple(map(str, operator.source.inputs)),
            outputs=tuple(map(str, operator.source.outputs)),
            in_place=_pairs(operator),
            window=operator.window,
        )
        for operator in read.operators
    ]
    return Graph(
        version=1,
        tensors=tuple(tensors),
        operators=tuple(operators),
        inputs=tuple(map(str, dict.fromkeys(read.inputs))),
        outputs=tuple(map(str, dict.fromkeys(read.outputs))),
    )


def _pairs(operator: FullOperator) -> tuple[tuple[str, str], ...]:
    """Inputs that the output may overwrite, element by element."""
    if operator.name not in _IN_PLACE or len(operator.outputs) != 1:
        return ()
    output = operator.outputs[0]
    return tuple(
        (str(place), str(operator.source.outputs[0]))
        for place, tensor in dict(zip(operator.source.inputs, operator.inputs, strict=True)).items()
        if tensor is not None
        and tensor.content is None
        and (tensor.elements, tensor.type) == (output.elements, output.type)
    )
