"""Which operators CMSIS-NN computes, with which numbers and how much scratch memory.

It has functions for elements of 8 bits that make the same as TensorFlow Lite Micro, bit for bit. Those that
need fewer instructions than kernels of the package take their place where an operator runs as a whole; in
stripes only convolutions of one element do, row by row. One program is for all processors, so that scratch
memory is as much as the greediest of them wants: without and with DSP instructions, and with vectors (MVE).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from memstow.planner.firmware.layers import Call, ConstantArray, Layer, Struct
from memstow.planner.model.errors import InputError

HEADER: Final = "arm_nnfunctions.h"


def with_cmsis_nn(layers: Mapping[str, Layer]) -> Mapping[str, Layer]:
    """The layers, with calls of CMSIS-NN where these make the same and are not slower.

    An InputError where there is no such layer.
    """
    changed = {name: _with_calls(layer) for name, layer in layers.items()}
    if changed == layers:
        message = "CMSIS-NN computes no operator of this model: only some with elements of int8; leave it out"
        raise InputError.single("unused_option", "kernels", message)
    return changed


def _with_calls(layer: Layer) -> Layer:
    call = layer.steps[0] if len(layer.steps) == 1 else None
    if not isinstance(call, Call) or call.batches != 1:
        return layer
    maker = _MAKERS.get(call.kernel)
    return layer if maker is None else maker(layer, call)


@dataclass(frozen=True, slots=True)
class _Fields:
    """What a kernel of the package is given."""

    fields: Mapping[str, object]

    def number(self, name: str) -> int:
        return cast("int", self.fields[name])

    def numbers(self, name: str) -> list[int]:
        return cast("list[int]", self.fields[name])

    def array(self, name: str) -> ConstantArray:
        return cast("ConstantArray", self.fields[name])

    def within(self, name: str) -> "_Fields":
        return _Fields(cast("Struct", self.fields[name]).fields)


@dataclass(frozen=True, slots=True)
class _Window:
    """A window over an image, and what comes of it."""

    rows: int
    columns: int
    channels: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    top: int
    left: int
    out_rows: int
    out_columns: int
    out_channels: int

    @property
    def area(self) -> int:
        """Places of the kernel."""
        return self.kernel[0] * self.kernel[1]

    @property
    def is_dense(self) -> bool:
        """Whether elements that follow each other are made of such."""
        return self.stride == (1, 1)

    @property
    def is_direct(self) -> bool:
        """Whether it reads nothing but the image."""
        return self.top == self.left == 0 and self.dilation == (1, 1)


def _window(call: Call) -> _Window:
    window = _Fields(call.layer.fields).within("window")
    return _Window(
        rows=window.number("in_rows"),
        columns=window.number("in_columns"),
        channels=window.number("in_channels"),
        kernel=(window.number("kernel_rows"), window.number("kernel_columns")),
        stride=(window.number("stride_rows"), window.number("stride_columns")),
        dilation=(window.number("dilation_rows"), window.number("dilation_columns")),
        top=window.number("top"),
        left=window.number("left"),
        out_rows=call.extents.rows,
        out_columns=call.extents.columns,
        out_channels=window.number("out_channels"),
    )


def _dims(n: int, h: int, w: int, c: int) -> Struct:
    return Struct({"n": n, "h": h, "w": w, "c": c})


def _tile(rows: int, columns: int) -> Struct:
    return Struct({"w": columns, "h": rows})


def _images(window: _Window) -> dict[str, object]:
    return {
        "in": _dims(1, window.rows, window.columns, window.channels),
        "out": _dims(1, window.out_rows, window.out_columns, window.out_channels),
    }


def _activation(finish: _Fields) -> Struct:
    return Struct({"min": finish.number("least"), "max": finish.number("most")})


def _sums(finish: _Fields) -> Struct:
    """Biases and factors as the library has them: 31 bits, and shifts to the left."""
    multipliers, shifts = finish.array("multipliers"), finish.array("shifts")
    pairs = [_factor(int(a), int(b)) for a, b in zip(multipliers.values, shifts.values, strict=True)]
    return Struct(
        {
            "biases": finish.array("biases"),
            "multipliers": _int32(f"plain_{multipliers.name}", [pair[0] for pair in pairs]),
            "shifts": _int32(f"plain_{shifts.name}", [pair[1] for pair in pairs]),
        }
    )


def _int32(name: str, values: Sequence[int]) -> ConstantArray:
    return ConstantArray(name, "int32_t", tuple(values))


def _factor(multiplier: int, shift: int) -> tuple[int, int]:
    """The factor of which kernels have twice the multiplier less 2^32, and one shift less to the right."""
    # What is shifted by so many becomes 0.
    return (0, 0) if shift == 31 else ((multiplier + (1 << 32)) // 2, -shift - 1)


def _sliding(call: Call, window: _Window, **more: object) -> dict[str, object]:
    """The parameters of a convolution."""
    fields = _Fields(call.layer.fields)
    finish = fields.within("finish")
    params: dict[str, object] = {
        "input_offset": -fields.number("zero"),
        "output_offset": finish.number("zero"),
        **more,
        "stride": _tile(*window.stride),
        "padding": _tile(window.top, window.left),
        "dilation": _tile(*window.dilation),
        "activation": _activation(finish),
    }
    return {
        "params": Struct(params),
        **_images(window),
        "weights": fields.array("weights"),
        "sums": _sums(finish),
    }


def _whole(
    layer: Layer,
    call: Call,
    kernel: str,
    fields: Mapping[str, object],
    *,
    scratch: int = 0,
    pays: bool = True,
) -> Layer:
    """The layer with a call for where it runs alone; where it does not pay, for vectors only."""
    fields = {**fields, "scratch": scratch} if scratch else fields
    alone = replace(
        call, kernel=kernel, by="whole", layer=Struct(fields), scratch=scratch, needs_vectors=not pays
    )
    return replace(layer, alone=alone)


# Pairs of elements are made together, and one that is left takes longer.
_FEW: Final = 25


def _convolution(layer: Layer, call: Call) -> Layer:
    window = _window(call)
    if _is_wrong(window):
        return layer
    fields = _sliding(call, window)
    fields["filter"] = _dims(window.out_channels, *window.kernel, window.channels)
    many = window.out_rows * window.out_columns >= _FEW
    if window.area == 1 and window.is_direct:
        layer = _whole(layer, call, "cmsis_conv_s8", fields, pays=many and window.is_dense)
        if window.is_dense:
            rows = replace(call, kernel="cmsis_pointwise_s8", layer=Struct(fields))
            layer = replace(layer, vector_rows=rows)
        return layer
    # What making columns takes is little where many channels are made of each.
    short = window.kernel[0] > 1 and window.area * window.channels <= 2 * window.out_channels
    return _whole(layer, call, "cmsis_conv_s8", fields, scratch=_columns(window), pays=many and short)


def _is_wrong(window: _Window) -> bool:
    """Whether it makes something else of an image of one row, or nothing, with vectors."""
    if window.rows > 1 or window.kernel[0] > 1 or (window.area == 1 and window.is_direct):
        return False
    margins = (window.out_columns - 1) * window.stride[1] + window.kernel[1] - window.columns
    return margins < 0 or window.left != margins // 2


def _columns(window: _Window) -> int:
    """Columns of an image: two of 16 bits, or four with vectors."""
    length = window.area * window.channels
    return max(4 * (-(-length // 4) * 4), 4 * (-(-length // 16) * 16))


# Channels that are made together with vectors.
_BLOCK: Final = 124


def _depthwise(layer: Layer, call: Call) -> Layer:
    window = _window(call)
    each = window.out_channels // window.channels
    if window.dilation != (1, 1):
        return layer
    fields = _sliding(call, window, ch_mult=each)
    fields["filter"] = _dims(1, *window.kernel, window.out_channels)
    scratch = 0
    if each == 1:
        scratch = max(2 * window.area * window.channels, 4 * _BLOCK * window.area)
    if window.channels == 1 and window.out_channels > 1:
        scratch = max(scratch, _columns(window) + window.area * window.out_channels)
    many = window.out_rows * window.out_columns >= _FEW
    square = window.kernel == (3, 3) and max(window.top, window.left) <= 1
    if each == 1 and (window.channels >= 8 or window.area <= 9):
        return _whole(layer, call, "cmsis_depthwise_s8", fields, scratch=scratch, pays=many and square)
    if each % 4 == 0 or window.channels == 1:
        return _whole(layer, call, "cmsis_depthwise_s8", fields, scratch=scratch, pays=many and each % 4 == 0)
    return layer


_SHORT: Final = 16


def _fully_connected(layer: Layer, call: Call) -> Layer:
    fields = _Fields(call.layer.fields)
    finish = fields.within("finish")
    depth, outputs, zero = fields.number("depth"), fields.number("outputs"), fields.number("zero")
    weights, sums = fields.array("weights"), _sums(finish)
    biases = finish.array("biases").values
    filter_sums = [
        int(biases[row]) - zero * sum(map(int, weights.values[row * depth : (row + 1) * depth]))
        for row in range(outputs)
    ]
    made: dict[str, object] = {
        "params": Struct(
            {
                "input_offset": -zero,
                "filter_offset": 0,
                "output_offset": finish.number("zero"),
                "activation": _activation(finish),
            }
        ),
        "in": _dims(fields.number("batches"), 1, 1, depth),
        "filter": _dims(depth, 1, 1, outputs),
        "out": _dims(fields.number("batches"), 1, 1, outputs),
        "weights": weights,
        "sums": sums,
        "filter_sums": _int32(f"filter_sums_{weights.name}", filter_sums),
        "is_per_channel": 1,
    }
    if depth < _SHORT or outputs == 1:
        return layer
    return _whole(layer, call, "cmsis_fully_connected_s8", made, pays=False)


_THIN: Final = 3
_SMALL: Final = 9


def _pool(layer: Layer, call: Call) -> Layer:
    window = _window(call)
    fields: dict[str, object] = {
        "params": Struct(
            {
                "stride": _tile(*window.stride),
                "padding": _tile(window.top, window.left),
                "activation": _activation(_Fields(call.layer.fields)),
            }
        ),
        **_images(window),
        "filter": _dims(1, *window.kernel, 1),
    }
    if call.kernel == "max_pool_s8":
        return _whole(layer, call, "cmsis_max_pool_s8", fields)
    if window.channels < _THIN:
        return layer
    scratch = 4 * window.channels
    pays = window.area <= _SMALL
    return _whole(layer, call, "cmsis_average_pool_s8", fields, scratch=scratch, pays=pays)


def _same_shape(call: Call) -> bool:
    """Whether no input repeats itself."""
    return all(operand.extents == call.extents for operand in call.inputs)


def _elements(call: Call) -> int:
    return call.extents.rows * call.extents.columns * call.extents.pixel


def _result(finish: _Fields) -> dict[str, object]:
    """What becomes of an element of two."""
    return {
        "offset": finish.number("zero"),
        **{name: finish.number(name) for name in ("multiplier", "shift", "least", "most")},
    }


def _add(layer: Layer, call: Call) -> Layer:
    if not _same_shape(call):
        return layer
    finish = _Fields(call.layer.fields).within("finish")
    fields = {
        "count": _elements(call),
        "offsets": [-zero for zero in finish.numbers("zeros")],
        "multipliers": finish.numbers("multipliers"),
        "shifts": finish.numbers("shifts"),
        "left": finish.number("left"),
        **_result(finish),
    }
    return _whole(layer, call, "cmsis_add_s8", fields, pays=False)


def _mul(layer: Layer, call: Call) -> Layer:
    if not _same_shape(call):
        return layer
    finish = _Fields(call.layer.fields).within("finish")
    fields = {
        "count": _elements(call),
        "offsets": [-zero for zero in finish.numbers("zeros")],
        **_result(finish),
    }
    return _whole(layer, call, "cmsis_mul_s8", fields)


_Maker = Callable[[Layer, Call], Layer]
_MAKERS: Final[Mapping[str, _Maker]] = {
    "conv_s8": _convolution,
    "depthwise_s8": _depthwise,
    "fully_connected_s8": _fully_connected,
    "average_pool_s8": _pool,
    "max_pool_s8": _pool,
    "add_s8": _add,
    "mul_s8": _mul,
}
