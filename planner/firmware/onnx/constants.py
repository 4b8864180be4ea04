"""What never changes in an ONNX model: constants of the file, and what nodes make of them."""

from collections.abc import Collection, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from memstow.planner.firmware.full_model import refuse
from memstow.planner.formats.onnx.dimensions import path_of, said_of, text_of
from memstow.planner.model.printable import printable

if TYPE_CHECKING:
    import numpy
    import onnx
    from numpy.typing import NDArray

    Array = NDArray[numpy.generic]
    Floats = NDArray[numpy.float32]

_MOST_ELEMENTS: Final = 1 << 26
_MOST_FROM_LITTLE: Final = 1 << 20
"""Elements that a node may make of constants with less."""
FOLDED: Final = frozenset(
    (
        *("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Concat", "Split", "Slice"),
        *("Gather", "Cast", "Shape", "Size", "ConstantOfShape", "Expand", "Tile", "Range", "Where", "Pad"),
        *("Add", "Sub", "Mul", "Div", "Neg", "Abs", "Sqrt", "Reciprocal", "Pow", "Exp", "Floor", "Ceil"),
        *("Min", "Max", "Equal", "Greater", "Less", "Not", "And", "Or", "ReduceProd", "ReduceSum", "Mod"),
        *(
            "ReduceMean",
            "ReduceMax",
            "ReduceMin",
            "QuantizeLinear",
            "DequantizeLinear",
            "Dropout",
            "Constant",
            "MatMul",
        ),
    )
)
"""What is computed when the program is written where all of its inputs are constants."""


def constants_of(model: "onnx.ModelProto", read: Collection[str]) -> "dict[str, onnx.TensorProto]":
    """The initializers that are read, by name; InputError for one whose numbers are in another file."""
    tensors = {}
    for tensor in model.graph.initializer:
        name = text_of(tensor.name)
        if name not in read:
            continue
        if tensor.data_location == 1:
            message = (
                "its numbers are in another file, which is not read; save the model with all inside: "
                "onnx.save_model(onnx.load(PATH), PATH)"
            )
            raise refuse("external_data", path_of(name), message)
        tensors[name] = tensor
    for sparse in model.graph.sparse_initializer:
        path = path_of(text_of(sparse.values.name))
        if text_of(sparse.values.name) not in read:
            continue
        raise refuse("not_supported", path, "a sparse constant cannot be built; write it dense")
    return tensors


def array_of(tensor: "onnx.TensorProto", path: str) -> "Array":
    """The numbers of a constant."""
    from onnx import numpy_helper

    if prod(tensor.dims) > _MOST_ELEMENTS:
        raise refuse("too_large", path, f"a constant of more than {_MOST_ELEMENTS:,} elements")
    try:
        array: Array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RuntimeError) as error:
        raise refuse("damaged", path, f"its numbers cannot be read: {printable(str(error), 200)}") from None
    if array.shape != tuple(tensor.dims):
        raise refuse("damaged", path, f"it has {array.size:,} numbers for {list(tensor.dims)}")
    return array


def folded(
    node: "onnx.NodeProto",
    inputs: "Mapping[str, Array]",
    shapes: Mapping[str, Sequence[int]],
    opset: int,
    path: str,
) -> "list[Array]":
    """What a node makes of constants."""
    import numpy
    from onnx import ValueInfoProto, helper
    from onnx.reference import ReferenceEvaluator

    if node.op_type == "Constant":
        return [_constant(node, path)]
    # A few bytes of a model can ask for gigabytes of zeros; what only moves weights is as large as these.
    most = max(_MOST_FROM_LITTLE, sum(array.size for array in inputs.values()))
    for name in filter(None, node.output):
        shape = shapes.get(text_of(name))
        if shape is None:
            raise refuse(
                "too_large", path, f"the size of what {said_of(node)} makes of constants is not known"
            )
        if prod(shape) > most:
            message = f"{said_of(node)} makes {prod(shape):,} elements of constants, more than {most:,}"
            raise refuse("too_large", path, message)
    listed = [name for name in dict.fromkeys(node.input) if name]
    described = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(inputs[text_of(name)].dtype), inputs[text_of(name)].shape
        )
        for name in listed
    ]
    outputs = [name for name in node.output if name]
    graph = helper.make_graph([node], "one", described, [ValueInfoProto(name=name) for name in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    try:
        with numpy.errstate(all="ignore"):
            results = ReferenceEvaluator(model).run(None, {name: inputs[text_of(name)] for name in listed})
    except Exception as error:
        message = f"{said_of(node)} of constants cannot be computed: {printable(str(error), 200)}"
        raise refuse("damaged", path, message) from None
    arrays = [numpy.asarray(entry) for entry in results]
    for name, array in zip(outputs, arrays, strict=True):
        if array.shape != tuple(shapes[text_of(name)]):
            raise refuse(
                "contradicting_shapes", path, f"{said_of(node)} makes {list(array.shape)} of constants"
            )
    return arrays


def _constant(node: "onnx.NodeProto", path: str) -> "Array":
    """What a node holds."""
    import numpy

    for entry in node.attribute:
        match text_of(entry.name):
            case "value" if entry.t.data_location != 1:
                return array_of(entry.t, path)
            case "value_float":
                return numpy.array(entry.f, numpy.float32)
            case "value_floats":
                return numpy.array(entry.floats, numpy.float32)
            case "value_int":
                return numpy.array(entry.i, numpy.int64)
            case "value_ints":
                return numpy.array(entry.ints, numpy.int64)
    raise refuse("not_supported", path, f"{said_of(node)} of a kind that cannot be built")
