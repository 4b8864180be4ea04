"""Parts of channels as layers: some channels of a wide tensor after others, and sums of what they give.

An operator of such an alternative is one of the model whose tensors have fewer channels, so that it becomes
what any operator does. Only the last convolution is another: it adds to sums, of which elements are made
when all channels were there.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Final

from memstow.planner.firmware.full_model import FullOperator, FullTensor
from memstow.planner.firmware.layers import Call, Extents, Layer, Operand, Struct
from memstow.planner.graph.changes import ChannelStep, channel_alternatives, sums_in
from memstow.planner.model.graph import ElementType, Graph, Operator
from memstow.planner.model.operator_kinds import BY_ELEMENT, word_of

# Of each type of elements with such sums, what kernels are called by, and the bytes of a sum.
_SUMS: Final = {"s8": 4, "u8": 4, "s16": 8, "f32": 4}
_KERNEL: Final = "conv_"


@dataclass(frozen=True, slots=True)
class Part:
    """An operator of an alternative."""

    step: ChannelStep
    operator: Operator
    whole: Operator
    """Of the graph."""


def with_parts(graph: Graph, layers: Mapping[str, Layer]) -> tuple[Graph, Mapping[str, Part]]:
    """The graph with the alternatives for which there are kernels, and what their operators are."""
    whole = {operator.id: operator for operator in graph.operators}
    parts: dict[str, Part] = {}
    alternatives = list(graph.alternatives)
    for entry in channel_alternatives(graph, _sums_in):
        if _convolution(layers[entry.alternative.replaces[-1]]) is None:
            continue
        alternatives.append(entry.alternative)
        for operator in entry.alternative.operators:
            step = entry.steps[operator.id]
            parts[operator.id] = Part(step, operator, whole[step.operator])
    return replace(graph, alternatives=tuple(alternatives)), parts


def _sums_in(kind: ElementType | None) -> ElementType | None:
    """As kernels add up: products of elements of 16 bits do not fit into four bytes."""
    return "int64" if kind == "int16" else sums_in(kind)


def part_layer(part: Part, operator: FullOperator, layer_of: Callable[[FullOperator], Layer]) -> Layer:
    """The layer of a part of this operator of the model, where `layer_of` makes that of any operator."""
    match part.step.work:
        case "makes" | "keeps":
            return layer_of(_with_some_channels(part, operator))
        case "adds":
            return _adding(layer_of(_with_some_channels(part, operator)), part)
        case "ends":
            return _ending(layer_of(operator))


def part_label(part: Part, label: str) -> str:
    """What a part is, for comments; `label` is what the operator is."""
    if part.step.work == "ends":
        return f"{label}, of its sums"
    return f"{label}, channels {part.step.begin} to {part.step.end - 1}"


def _convolution(layer: Layer) -> tuple[Call, str] | None:
    """The only call of a layer, and the type of its elements, where there are kernels for its sums."""
    if len(layer.steps) != 1:
        return None
    (call,) = layer.steps
    if not isinstance(call, Call) or not call.kernel.startswith(_KERNEL):
        return None
    suffix = call.kernel.removeprefix(_KERNEL)
    return (call, suffix) if suffix in _SUMS else None


def _sums(layer: Layer) -> tuple[Call, str, Extents]:
    """The call of a convolution, the type of its elements, and its sums."""
    known = _convolution(layer)
    if known is None:
        raise TypeError("a layer without kernels for its sums was offered in parts")
    call, suffix = known
    window = call.layer.fields["window"]
    channels = window.fields["out_channels"] if isinstance(window, Struct) else None
    if not isinstance(channels, int):
        raise TypeError("a convolution without a window")
    made = call.extents
    return call, suffix, Extents(made.rows, made.columns, channels * _SUMS[suffix])


def _adding(layer: Layer, part: Part) -> Layer:
    call, suffix, sums = _sums(layer)
    # The first finds no sums; the others read those before them last.
    before = (Operand(len(part.operator.inputs) - 1, sums),) if part.step.begin else ()
    fields = {name: value for name, value in call.layer.fields.items() if name != "finish"}
    step = replace(
        call,
        kernel=f"sums_{'add' if before else 'begin'}_{suffix}",
        inputs=(*call.inputs, *before),
        extents=sums,
        layer=Struct(fields),
    )
    return replace(layer, steps=(step,))


def _ending(layer: Layer) -> Layer:
    call, suffix, sums = _sums(layer)
    fields = {"channels": sums.pixel // _SUMS[suffix], "finish": call.layer.fields["finish"]}
    step = replace(call, kernel=f"sums_end_{suffix}", inputs=(Operand(0, sums),), layer=Struct(fields))
    return Layer((step,), is_row_wise=True)


def _with_some_channels(part: Part, operator: FullOperator) -> FullOperator:
    """The operator with those channels alone of what it reads, makes and multiplies with."""
    step = part.step
    span = step.begin, step.end
    # Scales are those of the channels that are made.
    adds = step.work == "adds"
    outputs = operator.outputs if adds else (_cut(operator.output, -1, *span),)
    axes = dict(_axes(part, operator))
    inputs = tuple(
        tensor
        if tensor is None or place not in axes
        else _cut(tensor, axes[place], *span, with_scales=not adds)
        for place, tensor in enumerate(operator.inputs)
    )
    return replace(operator, inputs=inputs, outputs=outputs)


def _axes(part: Part, operator: FullOperator) -> Iterator[tuple[int, int]]:
    """Of inputs that have the channels, where they have them."""
    work = part.step.work
    if work == "makes":
        yield from ((1, 0), (2, 0))
        return
    if work == "adds":
        yield from ((0, -1), (1, 3))
        return
    channels = operator.output.shape[-1]
    is_weighed = part.whole.window is not None
    for place, tensor in enumerate(operator.inputs):
        if tensor is None:
            continue
        if tensor.content is None:
            yield place, -1
        elif is_weighed:
            yield place, {1: 3}.get(place, 0)
        elif word_of(part.whole) in BY_ELEMENT and tensor.shape[-1:] == (channels,):
            yield place, -1


def _cut(tensor: FullTensor, axis: int, begin: int, end: int, *, with_scales: bool = True) -> FullTensor:
    """The places from `begin` to `end` along an axis, to which scales belong where there is one for each."""
    axis %= len(tensor.shape)
    shape = (*tensor.shape[:axis], end - begin, *tensor.shape[axis + 1 :])
    content = tensor.content
    if content is not None:
        inner = prod(tensor.shape[axis + 1 :]) * tensor.width
        outer = tensor.shape[axis] * inner
        lines = range(0, len(content), outer)
        content = b"".join(content[at + begin * inner : at + end * inner] for at in lines)
    scales, zeros = tensor.scales, tensor.zeros
    if with_scales and len(scales) > 1:
        scales, zeros = scales[begin:end], zeros[begin:end]
    return replace(tensor, shape=shape, content=content, scales=scales, zeros=zeros)
