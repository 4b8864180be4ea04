"""An operator as a layer: extents, groups, the window, and what each operand has by element.

Convolutions, depthwise ones, pools, products with a matrix and work by element are all one form: output
channels are in groups, and each group reads its own input channels. docs/tiling.md describes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final

from memstow.planner.graph.stripes.kinds import is_dense, word_of, works_by_element
from memstow.planner.model.graph import Graph, Operator, Tensor, Window, element_bits, index_of

_SUM_BYTES: Final = 4
"""Integers are added up in 32 bits."""
_POINT: Final = Window(kernel=(1, 1))
_LONGEST: Final = 1 << 20
"""Rows or columns of a window, and of the image that it slides over."""


class UntiledError(Exception):
    """The operator is not in the family; the message says why."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A tensor that is moved; `element` is the bytes of what the layer counts it in."""

    tensor: str
    element: int


@dataclass(frozen=True, slots=True)
class Layer:
    """An operator in the form that has tiles."""

    rows: int
    columns: int
    channels: int
    input_rows: int
    input_columns: int
    input_channels: int
    groups: int
    window: Window
    images: tuple[Operand, ...]
    weights: Operand | None
    """Bytes for each output channel and each input channel that it reads."""
    by_channel: tuple[Operand, ...]
    """Bytes for each output channel."""
    fixed: tuple[Operand, ...]
    """Bytes of all; every tile needs them."""
    output: Operand
    sum_bytes: int
    """Bytes in which an element of the output is added up, where that takes several steps."""
    splits_inputs: bool
    """Whether input channels may be added up a part at a time."""

    @property
    def group_outputs(self) -> int:
        """Output channels of a group."""
        return self.channels // self.groups

    @property
    def group_inputs(self) -> int:
        """Input channels of a group."""
        return self.input_channels // self.groups


def layer_of(graph: Graph, operator: Operator) -> Layer:
    """The layer that an operator is; UntiledError where it is none."""
    tensors = index_of(graph).tensors
    if not operator.inputs or len(operator.outputs) != 1:
        raise UntiledError("it does not make one output from inputs")
    inputs = [tensors[name] for name in dict.fromkeys(operator.inputs)]
    output = tensors[operator.outputs[0]]
    if output.id in operator.inputs:
        raise UntiledError("it reads what it writes")
    for tensor in (*inputs, output):
        if not tensor.shape or tensor.type is None:
            raise UntiledError(f"the shape or the type of {tensor.id!r} is not known")
        if element_bits(tensor.type) % 8:
            raise UntiledError(f"the elements of {tensor.id!r} are less than a byte")
        if not all(tensor.shape):
            raise UntiledError(f"{tensor.id!r} has no elements")
    if operator.window is not None:
        return _windowed(operator, operator.window, inputs, output)
    if is_dense(operator):
        return _dense(inputs, output)
    if works_by_element(operator):
        return _by_element(inputs, output)
    raise UntiledError("it has no window, and its type is none that works by element or with a matrix")


def _windowed(operator: Operator, window: Window, inputs: Sequence[Tensor], output: Tensor) -> Layer:
    image, *others = inputs
    input_rows, input_columns, input_channels = _shape(image)[-3:]
    rows, columns, channels = _shape(output)[-3:]
    for i, made in ((0, rows), (1, columns)):
        reach = (window.kernel[i] - 1) * window.dilation[i] + 1
        if max(reach, made * window.stride[i], window.padding[i]) > _LONGEST:
            raise UntiledError(f"its window reaches over more than {_LONGEST:,} rows or columns")
    area = window.kernel[0] * window.kernel[1]
    weights, groups = None, 0
    for tensor in others:
        groups, rest = divmod(channels * area * input_channels, prod(_shape(tensor)))
        if len(_shape(tensor)) > 1 and not rest and groups and _divides(groups, input_channels, channels):
            weights = tensor
            break
    if weights is None:
        word = word_of(operator)
        apart = "pool" in word or "depthwise" in word or word == "dw"
        groups = input_channels if apart and _divides(input_channels, channels) else 1
    return _layer(
        (rows, columns, channels),
        (input_rows, input_columns, input_channels),
        groups,
        window,
        [image],
        weights,
        [it for it in others if it is not weights],
        output,
    )


def _dense(inputs: Sequence[Tensor], output: Tensor) -> Layer:
    if len(inputs) < 2:
        raise UntiledError("the matrix is not among its inputs")
    image, weights, *others = inputs
    channels = _shape(output)[-1]
    rows = prod(_shape(output)) // channels
    depth, rest = divmod(prod(_shape(image)), rows)
    if rest or prod(_shape(weights)) != depth * channels:
        raise UntiledError("its matrix does not have an element for each channel that it reads and makes")
    return _layer((rows, 1, channels), (rows, 1, depth), 1, _POINT, [image], weights, others, output)


def _by_element(inputs: Sequence[Tensor], output: Tensor) -> Layer:
    extents = _extents(output)
    images = [it for it in inputs if it.kind != "constant" and prod(_shape(it)) == prod(extents)]
    others = [it for it in inputs if it not in images]
    if not images:
        raise UntiledError("no input has as many elements as the output")
    for tensor in (*images, *others):
        if tensor in images and _extents(tensor) != extents:
            raise UntiledError(f"{tensor.id!r} has another shape than the output")
        if tensor in others and prod(_shape(tensor)) not in (1, extents[2]):
            raise UntiledError(
                f"{tensor.id!r} has neither the output's shape, nor one element for each channel"
            )
    return _layer(extents, extents, extents[2], _POINT, images, None, others, output)


def _layer(
    made: tuple[int, int, int],
    read: tuple[int, int, int],
    groups: int,
    window: Window,
    images: Sequence[Tensor],
    weights: Tensor | None,
    others: Sequence[Tensor],
    output: Tensor,
) -> Layer:
    channels = made[2]
    by_channel = [it for it in others if prod(_shape(it)) % channels == 0 and channels in _shape(it)]
    element, kind = _element(output), output.type or ""
    whole = "int" in kind or kind == "bool"
    per_pair = window.kernel[0] * window.kernel[1]
    return Layer(
        *made,
        *read,
        groups=groups,
        window=window,
        images=tuple(Operand(it.id, _element(it)) for it in images),
        weights=None if weights is None else Operand(weights.id, per_pair * _element(weights)),
        by_channel=tuple(Operand(it.id, prod(_shape(it)) // channels * _element(it)) for it in by_channel),
        fixed=tuple(Operand(it.id, prod(_shape(it)) * _element(it)) for it in others if it not in by_channel),
        output=Operand(output.id, element),
        sum_bytes=max(_SUM_BYTES, element) if whole else element,
        splits_inputs=weights is not None and groups == 1,
    )


def _divides(groups: int, *channels: int) -> bool:
    return all(it % groups == 0 for it in channels)


def _extents(tensor: Tensor) -> tuple[int, int, int]:
    """Rows, columns and channels of a tensor of any number of dimensions."""
    shape = (1, 1, *_shape(tensor))
    return prod(shape[:-2]), shape[-2], shape[-1]


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tensor.shape or ()


def _element(tensor: Tensor) -> int:
    return 0 if tensor.type is None else element_bits(tensor.type) // 8
