"""The windows of convolutions and pools, from their options and the shapes of their tensors."""

from collections.abc import Sequence
from typing import Final

from memstow.planner.formats.tflite.flatbuffer import Table
from memstow.planner.formats.tflite.model import ModelOperator, ModelTensor
from memstow.planner.model.graph import Window

_SAME: Final = 0
_PADS: Final = ("PAD", "PADV2")
_POOLS: Final = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
# The field of the dilation of columns; that of rows follows.
_DILATION: Final = {"CONV_2D": 4, "DEPTHWISE_CONV_2D": 5}
_LARGEST: Final = 1 << 31

_Extents = tuple[int, int]


def window_of(operator: ModelOperator, tensors: Sequence[ModelTensor]) -> Window | None:
    """The window of an operator that has one; None where its shapes do not go with its options."""
    if operator.name in _PADS:
        return _padded(operator, tensors)
    if operator.options is None or not operator.inputs or not operator.outputs:
        return None
    kernel, dilation = _kernel(operator, operator.options, tensors)
    ends = tensors[operator.inputs[0]], tensors[operator.outputs[0]]
    if any(tensor.shape[:1] != (1,) for tensor in ends):
        return None
    image, made = map(_extents, ends)
    if kernel is None or image is None or made is None:
        return None
    stride = operator.options.number(2, "<i"), operator.options.number(1, "<i")
    if not all(0 < it < _LARGEST for it in (*kernel, *stride, *dilation, *image)):
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
    if slid != made or max(margins) >= _LARGEST:
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
    image, made = (_extents(tensors[it]) for it in (operator.inputs[0], operator.outputs[0]))
    margins = tensors[operator.inputs[1]].numbers
    if image is None or made is None or margins is None or len(margins) != 8:
        return None
    shapes = (tensors[it].shape for it in (operator.inputs[0], operator.outputs[0]))
    batches = any(shape[0] != 1 for shape in shapes)
    before, top, bottom, left, right, after = margins[0] + margins[1], *margins[2:6], margins[6] + margins[7]
    if batches or before or after or not all(0 <= it < _LARGEST for it in (top, bottom, left, right)):
        return None
    if made != (image[0] + top + bottom, image[1] + left + right):
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
