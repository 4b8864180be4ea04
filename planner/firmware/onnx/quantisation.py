"""Which nodes of a quantised model work on integers, and on which.

Operators of integers (QLinearConv) were written as operators of floats between pairs of QuantizeLinear and
DequantizeLinear when the model was read (`planner.formats.onnx.pairs`).

DequantizeLinear makes nothing: its output is a value of floats of which there are integers. A node whose
inputs are such values works on the integers where that is the same: because it only moves or chooses
elements, or because its output becomes integers, perhaps after nodes that may as well come after that.
Other nodes get floats, and what they make is float.
"""

from dataclasses import replace
from math import isfinite
from typing import TYPE_CHECKING, Final

from memstow.planner.firmware.full_model import RANGES
from memstow.planner.firmware.onnx.lowering import (
    INTEGERS,
    Lowering,
    Node,
    Quantisation,
    QuantisedArray,
)

if TYPE_CHECKING:
    from memstow.planner.firmware.onnx.constants import Array, Floats

DYNAMIC: Final = frozenset(
    ("DynamicQuantizeLinear", "ConvInteger", "MatMulInteger", "DynamicQuantizeMatMul", "MatMulIntegerToFloat")
)
"""Those of models whose scales are computed when they run."""


# Constants, and the nodes that make and unmake integers.


def _numbers(lowering: Lowering, node: Node) -> "tuple[Floats, Array | None]":
    """The scales and the zero points of a node; InputError where they are none."""
    import numpy

    array = lowering.array(node, 1)
    sound = str(array.dtype) == "float32" and array.ndim <= 1 and array.size > 0
    node.need(sound, f"scales of {array.dtype} and {array.ndim} dimensions; float32 can be built")
    scales: Floats = array.astype(numpy.float32)
    positive = bool(numpy.isfinite(scales).all() and (scales > 0).all())
    node.need(positive, "a scale is not a positive number", "bad_scale")
    if not node.has(2):
        return scales.reshape(-1), None
    zeros = lowering.array(node, 2)
    node.need(
        zeros.size == scales.size, f"{zeros.size} zero points for {scales.size} scales", "bad_zero_point"
    )
    return scales.reshape(-1), zeros.reshape(-1)


_TYPES: Final = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 21: "uint4", 22: "int4"}


def _type_of_output(node: Node, zeros: "Array | None") -> str:
    number = node.whole("output_dtype", 0)
    kind = (
        str(zeros.dtype) if zeros is not None else _TYPES.get(number, f"type {number}") if number else "uint8"
    )
    node.need(kind in INTEGERS, f"it makes {kind}; int8 and uint8 can be built", "unknown_type")
    return kind


def quantize_linear(lowering: Lowering, node: Node) -> None:
    """Floats become integers: those of which they were made, where these are the same."""
    goal = _made_by(lowering, node)
    if goal is None:
        node.need(False, "scales along an axis of what is computed")
        return
    name = node.inputs[0]
    known = lowering.values.get(name)
    if known is not None and known.is_quantised:
        value = lowering.as_integers(known, goal)
    else:
        floats = lowering.value(node)
        source = lowering.tensors[floats.tensor]
        node.need(source.type == "float32", f"it reads {source.type}", "unknown_type")
        target = lowering.integers_of(source, goal)
        lowering.emit("QUANTIZE", [floats.tensor], [target], path=node.path)
        value = replace(floats, tensor=target)
    lowering.makes(node, value.tensor, value.layout)


def _made_by(lowering: Lowering, node: Node) -> Quantisation | None:
    """Which integers QuantizeLinear makes; None: by channel."""
    scales, zeros = _numbers(lowering, node)
    kind = _type_of_output(node, zeros)
    if scales.size != 1:
        return None
    return Quantisation(kind, (float(scales[0]),), (0 if zeros is None else int(zeros[0]),))


def dequantize_linear(lowering: Lowering, node: Node) -> None:
    """Floats of which there are integers."""
    value = lowering.value(node)
    source = lowering.tensors[value.tensor]
    node.need(source.type in INTEGERS, f"it reads {source.type}; int8 and uint8 can be built", "unknown_type")
    scales, zeros = _numbers(lowering, node)
    node.need(scales.size == 1, "scales along an axis of what is computed")
    node.need(
        zeros is None or str(zeros.dtype) == source.type,
        "its zero point is of another type",
        "bad_zero_point",
    )
    wanted = Quantisation(source.type, (float(scales[0]),), (0 if zeros is None else int(zeros[0]),))
    value = lowering.read_as(value, wanted)
    node.goal = wanted
    lowering.makes(node, value.tensor, value.layout)


def fold_pair(lowering: Lowering, node: Node) -> None:
    """What QuantizeLinear and DequantizeLinear make of constants."""
    import numpy

    array = lowering.array(node, 0)
    node.need(node.whole("block_size", 0) == 0, "scales of blocks")
    scales, zeros = _numbers(lowering, node)
    axis = node.whole("axis", 1)
    if scales.size > 1:
        node.need(-array.ndim <= axis < array.ndim, f"axis {axis} of {array.ndim} dimensions", "bad_shape")
        axis %= array.ndim
        node.need(array.shape[axis] == scales.size, "its scales are not as many as its channels", "bad_shape")
        along = tuple(-1 if place == axis else 1 for place in range(array.ndim))
        wide = scales.reshape(along)
        wide_zeros = 0 if zeros is None else zeros.astype(numpy.int64).reshape(along)
    else:
        wide = scales.reshape(())
        wide_zeros = 0 if zeros is None else zeros.astype(numpy.int64).reshape(())
    with numpy.errstate(all="ignore"):
        if node.kind == "QuantizeLinear":
            node.need(str(array.dtype) == "float32", f"it reads {array.dtype}", "unknown_type")
            kind = _type_of_output(node, zeros)
            least, most = RANGES[kind]
            real = numpy.rint(array.astype(numpy.float32) / wide)
            whole = numpy.where(numpy.isnan(real), least, numpy.clip(real, -1e6, 1e6)).astype(numpy.int64)
            lowering.constants[node.outputs[0]] = numpy.clip(whole + wide_zeros, least, most).astype(kind)
            return
        sound = str(array.dtype) in (*INTEGERS, "int32")
        node.need(sound, f"it reads {array.dtype}; int8 and uint8 can be built", "unknown_type")
        same = zeros is None or zeros.dtype == array.dtype
        node.need(same, "its zero point is of another type", "bad_zero_point")
        centred = (array.astype(numpy.int64) - wide_zeros).astype(numpy.float32)
        lowering.constants[node.outputs[0]] = (centred * wide).astype(numpy.float32)
    zeros = numpy.zeros(scales.size, array.dtype) if zeros is None else zeros
    lowering.quantised[node.outputs[0]] = QuantisedArray(array, scales, zeros, axis)


def turn_constant(lowering: Lowering, node: Node) -> None:
    """Keep the integers of a constant whose axes change places."""
    have = lowering.quantised.get(node.inputs[0]) if node.inputs else None
    if have is None or node.kind not in ("Transpose", "Identity"):
        return
    order = tuple(range(have.array.ndim))
    if node.kind == "Transpose":
        order = node.wholes("perm") or order[::-1]
    axis = order.index(have.axis) if have.scales.size > 1 else have.axis
    lowering.quantised[node.outputs[0]] = QuantisedArray(
        have.array.transpose(order), have.scales, have.zeros, axis
    )


# Which nodes work on integers.

_MOVING: Final = frozenset(
    (
        *("MaxPool", "GlobalMaxPool", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Identity"),
        *("Dropout", "Slice", "Split", "DepthToSpace", "SpaceToDepth", "Resize", "Upsample"),
    )
)
"""Those that move elements or choose among them."""
_FUNCTIONS: Final = frozenset(
    (
        *("Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "HardSigmoid", "Elu", "Abs", "Neg", "Exp", "Sqrt"),
        *("Erf", "Softplus", "Reciprocal", "Clip"),
    )
)
"""Functions of one element: a table has what they make of each."""
_MEANS: Final = frozenset(("GlobalAveragePool", "AveragePool", "ReduceMean", "Softmax"))
_WEIGHED: Final = frozenset(("Conv", "ConvTranspose", "Gemm", "MatMul"))


def choose(lowering: Lowering, node: Node) -> None:
    """Say of a node whether it works on integers, and which its outputs are."""
    kind = node.kind
    if not node.inputs or not node.outputs:
        return
    have = _read(lowering, node.inputs[0])
    if kind in _MOVING:
        node.goal = have or _raw(lowering, node.inputs[0])
    elif kind == "Pad":
        node.goal = _padded(lowering, node, have)
    elif kind == "Concat":
        node.goal = _joined(lowering, node)
    elif kind == "Relu":
        node.goal = have
    elif kind in ("Add", "Sub", "Mul", "Sum", "Max", "Min") and len(node.inputs) == 2:
        other = _read(lowering, node.inputs[1])
        if have is None or other is None or have.type != other.type:
            return
        if kind in ("Max", "Min"):
            node.goal = have if have == other else None
            return
        goal = _goal(lowering, node.outputs[0])
        node.goal = goal if goal is not None and goal.type == have.type else None
    elif have is not None and kind in _FUNCTIONS:
        node.goal = _goal(lowering, node.outputs[0])
    elif have is not None and kind in (_MEANS | _WEIGHED):
        goal = _goal(lowering, node.outputs[0])
        if goal is None or goal.type != have.type:
            return
        if kind in _MEANS or _weigh(lowering, node, have, goal):
            node.goal = goal


def _read(lowering: Lowering, name: str) -> Quantisation | None:
    """Of which integers a value of floats is; None: of none."""
    value = lowering.values.get(name)
    if value is not None:
        return lowering.quantisation(value.tensor) if value.is_quantised else None
    constant = lowering.quantised.get(name)
    return None if constant is None else constant.quantisation


def _raw(lowering: Lowering, name: str) -> Quantisation | None:
    """The integers of a value of integers."""
    value = lowering.values.get(name)
    if value is None or lowering.tensors[value.tensor].type not in INTEGERS:
        return None
    return lowering.quantisation(value.tensor)


def _padded(lowering: Lowering, node: Node, have: Quantisation | None) -> Quantisation | None:
    """Margins of zeros stay what they are; others where they become the same integers anyway."""
    if have is None:
        return _raw(lowering, node.inputs[0])
    zeros = not node.has(2) and node.real("value", 0.0) == 0.0
    zeros = zeros or (lowering.is_constant(node, 2) and not lowering.array(node, 2).any())
    return have if zeros or _goal(lowering, node.outputs[0]) == have else None


def _joined(lowering: Lowering, node: Node) -> Quantisation | None:
    read = [_read(lowering, name) for name in node.inputs]
    if all(read):
        return read[0] if len(set(read)) == 1 else _goal(lowering, node.outputs[0])
    raw = {_raw(lowering, name) for name in node.inputs}
    kinds = {entry.type for entry in raw if entry is not None}
    if any(read) or None in raw or len(kinds) != 1:
        return None
    return raw.pop() if len(raw) == 1 else Quantisation(kinds.pop(), (), ())


def _goal(lowering: Lowering, name: str) -> Quantisation | None:
    """Which integers a value becomes, if nothing else becomes of it: perhaps after other nodes."""
    while lowering.uses[name] == 1:
        reader = lowering.readers.get(name)
        if reader is None or reader.inputs[:1] != [name]:
            return None
        if reader.kind == "QuantizeLinear":
            return _made_by(lowering, reader)
        commutes = reader.kind in _MOVING - {"Split"} or reader.kind in ("Relu", "Clip")
        limits = [place for place in range(1, len(reader.inputs)) if reader.has(place)]
        if not commutes or not all(lowering.is_constant(reader, place) for place in limits):
            return None
        name = reader.outputs[0]
    return None


_CLOSE: Final = 1e-5
"""How far the scale of biases may be from the product of the scales of what they are added to."""


def _weigh(lowering: Lowering, node: Node, have: Quantisation, goal: Quantisation) -> bool:
    """Whether weights and biases are integers, or can be; the node reads them then."""
    import numpy

    weights = lowering.quantised.get(node.inputs[1]) if node.has(1) else None
    if weights is None or str(weights.array.dtype) not in INTEGERS:
        return False
    rank = weights.array.ndim
    axis = {"Conv": 0, "ConvTranspose": 1, "MatMul": rank - 1}.get(
        node.kind, 0 if node.whole("transB", 0) else 1
    )
    if not 0 <= axis < rank or (weights.scales.size > 1 and weights.axis != axis):
        return False
    alpha = numpy.float32(node.real("alpha", 1.0))
    if not (isfinite(alpha) and alpha > 0):
        return False
    with numpy.errstate(all="ignore"):
        scales = (weights.scales * alpha).astype(numpy.float32)
        product = (numpy.float32(have.scales[0]) * scales).astype(numpy.float32)
        factors = (product / numpy.float32(goal.scales[0])).astype(numpy.float32)
    if not (numpy.isfinite(factors).all() and (product > 0).all()):
        return False
    centred = _centred(weights, axis, have.type)
    if centred is None:
        return False
    if node.has(2):
        biases = _biases(lowering, node, product)
        if biases is None:
            return False
        node.replaced[2] = biases
    array, zero = centred
    node.replaced[1] = array
    node.weighed = Quantisation(str(array.dtype), tuple(map(float, scales)), (zero,) * scales.size)
    return True


def _centred(weights: QuantisedArray, axis: int, kind: str) -> "tuple[Array, int] | None":
    """Weights for elements of this type: int8 without a zero point, or uint8 with one; None: with several."""
    import numpy

    along = [1] * weights.array.ndim
    along[axis] = -1
    zeros = weights.zeros.astype(numpy.int16).reshape(along if weights.zeros.size > 1 else [1] * len(along))
    array = weights.array.astype(numpy.int16)
    centred = array - zeros
    if centred.size and centred.min() >= -128 and centred.max() <= 127:
        if kind == "int8":
            return centred.astype(numpy.int8), 0
        return (centred + 128).astype(numpy.uint8), 128
    if len(set(weights.zeros.tolist())) != 1:
        return None
    more = 128 if str(weights.array.dtype) == "int8" else 0
    return (array + more).astype(numpy.uint8), int(weights.zeros[0]) + more


def _biases(lowering: Lowering, node: Node, product: "Floats") -> "Array | None":
    """Biases in steps of sums; None: they are not constant, or too large."""
    import numpy

    name = node.inputs[2]
    floats = lowering.constants.get(name)
    if floats is None or str(floats.dtype) != "float32" or floats.ndim > 2:
        return None
    integers, beta = lowering.quantised.get(name), node.real("beta", 1.0)
    if floats.ndim and floats.shape[-1] not in (1, product.size) and product.size > 1:
        return None
    if (
        integers is not None
        and str(integers.array.dtype) == "int32"
        and beta == 1.0
        and not integers.zeros.any()
    ):
        fits = integers.scales.size in (1, product.size) or product.size == 1
        if fits and bool((numpy.abs(integers.scales / product - 1) < _CLOSE).all()):
            return integers.array
    with numpy.errstate(all="ignore"):
        steps = numpy.rint(floats.astype(numpy.float64) * beta / product.astype(numpy.float64))
    if not bool((numpy.abs(steps) < 1 << 31).all()):
        return None
    return steps.astype(numpy.int32)
