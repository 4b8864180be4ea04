"""The layers of operators that only ONNX models have, or have in another way than `firmware.layers`."""

from collections.abc import Callable, Mapping
from math import erf, exp, frexp, inf, log
from typing import TYPE_CHECKING, Final

from memstow.planner.firmware.fixed_point import single
from memstow.planner.firmware.full_model import RANGES, FullOperator, FullTensor, refuse
from memstow.planner.firmware.layers import (
    LARGEST_FLOAT,
    SUFFIXES,
    ConstantArray,
    Context,
    Layer,
    Reduction,
    Struct,
    Sums,
    binary,
    elements_of_column,
    finish,
    layer_of,
    limits_of,
    lookup,
    mean,
    of_rows,
    require,
    sliding,
    suffix_of,
    suffix_with,
    weights_of,
    whole,
    zeros_of,
)
from memstow.planner.firmware.onnx.lowering import INTEGERS, Quantisation, dequantised, quantised
from memstow.planner.firmware.onnx.nodes import OWN
from memstow.planner.model.graph import Window

if TYPE_CHECKING:
    from memstow.planner.firmware.onnx.constants import Array, Floats


def layer_of_onnx(operator: FullOperator, context: Context) -> Layer:
    """The layer of an operator; an InputError names what cannot be built."""
    kinds = {operator.outputs[0].type} | {tensor.type for tensor in operator.inputs[:1] if tensor is not None}
    makers = _INTEGER_MAKERS if kinds & {*INTEGERS} else _MAKERS
    maker = makers.get(operator.name, layer_of)
    return maker(operator, context)


def window_of(operator: FullOperator) -> Window:
    """Which rows and columns it reads."""
    if operator.window is None:
        raise refuse("bad_shape", operator.path, f"{operator.name}: it has no window")
    return operator.window


_KINDS: Final = ("float32", *INTEGERS)


def _grouped(operator: FullOperator, context: Context) -> Layer:
    """A convolution of groups of channels, each with weights of its own."""
    image, weights, output = operator.input(0), operator.input(1), operator.output
    suffix = suffix_with(operator, weights, image, output)
    window, groups = window_of(operator), operator.number(OWN, "<i", 1)
    depth, channels = image.shape[3] // groups, output.shape[3]
    expected = (channels, *window.kernel, depth)
    fits = weights.shape == expected and depth * groups == image.shape[3] and channels % groups == 0
    require(fits, operator, f"weights of {list(weights.shape)}, not {list(expected)}")
    layer = {
        "window": sliding(window, image, output),
        "depth": depth,
        "made": channels // groups,
        "zero": zeros_of(image, weights),
        "weights": weights_of(operator, weights),
        "finish": context.finish(Sums(operator, image, weights, operator.optional(2), channels, axis=0)),
    }
    call = of_rows(operator, f"grouped_conv_{suffix}", layer, 0)
    return Layer((call,), is_row_wise=True, kernel_rows=window.kernel[0])


def _transpose_conv(operator: FullOperator, context: Context) -> Layer:
    image, weights, output = operator.input(0), operator.input(1), operator.output
    suffix = suffix_with(operator, weights, image, output)
    strides = operator.number(2, "<i"), operator.number(1, "<i")
    padding = operator.number(OWN, "<i"), operator.number(OWN + 1, "<i"), 0, 0
    channels = output.shape[3]
    fits = weights.shape[0] == channels and weights.shape[3] == image.shape[3]
    require(fits, operator, "its channels do not go together")
    window = Window(kernel=weights.shape[1:3], stride=strides, padding=padding)
    layer = {
        "window": sliding(window, image, output),
        "zero": zeros_of(image, weights),
        "weights": weights_of(operator, weights),
        "finish": context.finish(Sums(operator, image, weights, operator.optional(2), channels, axis=0)),
    }
    return Layer((of_rows(operator, f"transpose_conv_{suffix}", layer, 0),))


def _padded_average(operator: FullOperator, _: Context) -> Layer:
    """A mean that counts the margins as zeros."""
    image, output = operator.input(0), operator.output
    suffix = suffix_of(operator, (image, output), "float32")
    require(image.shape[3] == output.shape[3], operator, "it makes other channels than it reads")
    least, most = limits_of(operator, output, 0)
    layer = {
        "window": sliding(window_of(operator), image, output),
        "bottom": operator.number(OWN, "<i"),
        "right": operator.number(OWN + 1, "<i"),
        "least": least,
        "most": most,
    }
    return Layer((of_rows(operator, f"padded_average_pool_{suffix}", layer, 0),), is_row_wise=True)


def _nearest(operator: FullOperator, _: Context) -> Layer:
    """Each row and column as often as the output is larger."""
    image, output = operator.input(0), operator.output
    suffix_of(operator, (image, output), *_KINDS)
    require(max(output.shape) < 32768, operator, "an image of more than 32,767 rows or columns", "too_large")
    places = []
    for axis, word in ((1, "rows"), (2, "columns")):
        times = output.shape[axis] // image.shape[axis]
        require(times * image.shape[axis] == output.shape[axis], operator, "no whole multiple")
        numbers = tuple(place // times for place in range(output.shape[axis]))
        places.append(ConstantArray(f"{word}_{operator.index}", "int16_t", numbers))
    require(image.shape[3] == output.shape[3], operator, "it makes other channels than it reads")
    layer = {
        "in_rows": image.shape[1],
        "in_columns": image.shape[2],
        "pixel": image.shape[3] * image.width,
        "rows": places[0],
        "columns": places[1],
    }
    return Layer((of_rows(operator, "nearest", layer, 0),), is_row_wise=True)


_FUNCTIONS: Final[Mapping[str, str]] = {
    "CLIP": "bounded",
    "HARD_SIGMOID": "hard_sigmoid",
    "ELU": "elu",
    "ABS": "magnitude",
    "NEG": "negative",
    "EXP": "power_of_e",
    "SQRT": "square_root",
    "ERF": "error_function",
    "SOFTPLUS": "softplus",
    "RECIPROCAL": "reciprocal",
}


def _function(operator: FullOperator, _: Context) -> Layer:
    image, output = operator.input(0), operator.output
    suffix = suffix_of(operator, (image, output), "float32")
    require(image.shape == output.shape, operator, "it changes the shape")
    least, most = (operator.limits if operator.name == "CLIP" else None) or (operator.real(1), 1.0)
    layer = {
        "channels": elements_of_column(output),
        "least": least,
        "most": most,
        "slope": operator.real(0),
    }
    call = of_rows(operator, f"{_FUNCTIONS[operator.name]}_{suffix}", layer, 0)
    return Layer((call,), is_row_wise=True)


_BINARY: Final = {"DIV": "div", "PRELU": "prelu"}


def _two(operator: FullOperator, _: Context) -> Layer:
    return binary(operator, _BINARY[operator.name], "float32")


# Integers: as ONNX Runtime has them, with factors in floating point and one rounding, halves to even.


def finish_of_onnx(sums: Sums) -> Struct:
    """How sums become elements of the output: bias, factor, zero, limits."""
    operator, output, bias = sums.operator, sums.operator.output, sums.bias
    if output.type == "float32":
        return finish(sums)
    scales = sums.weights.scales
    require(
        len(scales) in (1, sums.channels), operator, f"{len(scales)} scales of {sums.channels:,} channels"
    )
    require(
        bias is None or bias.elements == sums.channels, operator, "its biases are not as many as its channels"
    )
    factors = [single(single(sums.image.scale * scale) / output.scale) for scale in scales]
    pairs = [_multiplied(operator, factor) for factor in factors] * (sums.channels if len(scales) == 1 else 1)
    biases = (0,) * sums.channels if bias is None else bias.integers()
    least, most = limits_of(operator, output, 0)
    index = operator.index
    return Struct(
        {
            "biases": ConstantArray(f"biases_{index}", "int32_t", biases),
            "multipliers": ConstantArray(f"multipliers_{index}", "int32_t", tuple(pair[0] for pair in pairs)),
            "shifts": ConstantArray(f"shifts_{index}", "int8_t", tuple(pair[1] for pair in pairs)),
            "zero": output.zero,
            "least": least,
            "most": most,
        }
    )


_MOST_SHIFT: Final = 31


def _multiplied(operator: FullOperator, factor: float) -> tuple[int, int]:
    """A number as 31 bits and a shift to the right, after the upper half of a product with them."""
    _ratio(operator, factor)
    fraction, exponent = frexp(factor)
    shift = -1 - exponent
    require(
        shift >= -128, operator, "the scale of its output is too small for those of its inputs", "bad_scale"
    )
    # Whatever is multiplied with less is less than a half.
    return (0, _MOST_SHIFT) if factor == 0 or shift > _MOST_SHIFT else (int(fraction * (1 << 31)), shift)


def _limits(operator: FullOperator, output: FullTensor) -> dict[str, float]:
    """The least and the largest element, less the zero."""
    least, most = limits_of(operator, output, 0)
    return {"least": float(least - output.zero), "most": float(most - output.zero)}


def _ratio(operator: FullOperator, real: float) -> float:
    """A factor that is a number of 32 bits."""
    factor = single(real)
    message = "the scale of its output is too small for those of its inputs"
    require(abs(factor) <= LARGEST_FLOAT, operator, message, "bad_scale")
    return factor


def _sum_of_two(operator: FullOperator, _: Context) -> Layer:
    one, other, output = operator.input(0), operator.input(1), operator.output
    factors = [_ratio(operator, tensor.scale / output.scale) for tensor in (one, other)]
    lifted = single(single(factors[0] * one.zero) + single(factors[1] * other.zero))
    if operator.name == "SUB":
        factors[1] = -factors[1]
        lifted = single(single(factors[0] * one.zero) + single(factors[1] * other.zero))
    offset = _ratio(operator, output.zero - lifted)
    # With as many bits after the point as fit: the largest sum takes those that are left.
    bits = _SUM_BITS - max(frexp(abs(offset) + 256 * (abs(factors[0]) + abs(factors[1])))[1], 0)
    pair = {"factors": factors, "offset": offset}
    if bits >= _FEWEST_BITS:
        pair |= {
            "multipliers": [round(factor * (1 << bits)) for factor in factors],
            "begin": round(offset * (1 << bits)) + (1 << (bits - 1)),
            "shift": bits,
        }
    return binary(operator, "add", *INTEGERS, finish_pair=pair)


_SUM_BITS: Final = 30
_FEWEST_BITS: Final = 13
"""What is so near to a half that floats decide has 11."""


def _product_of_two(operator: FullOperator, _: Context) -> Layer:
    one, other, output = operator.input(0), operator.input(1), operator.output
    factor = _ratio(operator, single(one.scale * other.scale) / output.scale)
    multiplier, shift = _multiplied(operator, factor)
    pair = {
        "factors": [factor, 0.0],
        "offset": float(output.zero),
        "zeros": [one.zero, other.zero],
        "multipliers": [multiplier, 0],
        "begin": output.zero,
        "shift": shift,
    }
    return binary(operator, "mul", *INTEGERS, finish_pair=pair)


def _one_of_two(operator: FullOperator, _: Context) -> Layer:
    word = {"MAXIMUM": "max", "MINIMUM": "min"}[operator.name]
    return binary(operator, word, *INTEGERS, finish_pair={})


def _mean(operator: FullOperator, _: Context) -> Layer:
    image, output = operator.input(0), operator.output

    def finish_mean(count: int) -> dict[str, object]:
        factor = _ratio(operator, image.scale / single(output.scale * count))
        return {
            "in_zero": image.zero,
            "factor": factor,
            "zero": output.zero,
            **_limits(operator, output),
        }

    return mean(operator, finish_mean)


def _mean_pool(operator: FullOperator, _: Context) -> Layer:
    image, output = operator.input(0), operator.output
    suffix = suffix_of(operator, (image, output), *INTEGERS)
    require(image.shape[3] == output.shape[3], operator, "it makes other channels than it reads")
    window, channels = window_of(operator), image.shape[3]
    least, most = limits_of(operator, output, 0)
    layer = {
        "window": sliding(window, image, output),
        "places": window.kernel[0] * window.kernel[1] if operator.name.startswith("PADDED") else 0,
        "in_zero": image.zero,
        "in_scale": image.scale,
        "scale": output.scale,
        "zero": float(output.zero),
        "least": float(least),
        "most": float(most),
    }
    reduction = Reduction(
        (f"mean_pool_rows_{suffix}",),
        f"memset(SUMS, 0, {4 * channels})",
        f"mean_pool_rows_{suffix}(LAYER, IN, SUMS, ROW, FIRST, END)",
        f"mean_pool_end_{suffix}(LAYER, SUMS, OUT)",
    )
    return Layer((of_rows(operator, f"mean_pool_{suffix}", layer, 0),), reduction, is_row_wise=True)


def _table(operator: FullOperator, _: Context) -> Layer:
    """A function of one element: what it makes of each."""
    import numpy

    image, output = operator.input(0), operator.output
    suffix_of(operator, (image,), *INTEGERS)
    suffix_of(operator, (output,), *INTEGERS)
    require(image.shape == output.shape, operator, "it changes the shape")
    reals = dequantised(numpy.arange(*_ends(image)), _stands_for(image))
    with numpy.errstate(all="ignore"):
        made = _function_of(operator, reals).astype(numpy.float32)
    elements = quantised(made, _stands_for(output))
    # Tables begin with the element whose byte is 128.
    first = 0 if image.type == "int8" else 128
    return lookup(operator, tuple(map(int, numpy.roll(elements, -first))))


def _ends(tensor: FullTensor) -> tuple[int, int]:
    least, most = RANGES[tensor.type]
    return least, most + 1


def _stands_for(tensor: FullTensor) -> Quantisation:
    return Quantisation(tensor.type, (tensor.scale,), (tensor.zero,))


def _function_of(operator: FullOperator, x: "Floats") -> "Array":
    """What the function makes of floats; where NumPy has none of 32 bits, of 64."""
    import numpy

    least, most = operator.limits or (-inf, inf)
    slope, offset = numpy.float32(operator.real(0)), numpy.float32(operator.real(1))
    made: Array
    match operator.name:
        case "REQUANTIZE":
            made = x
        case "CLIP":
            made = numpy.clip(x, numpy.float32(least), numpy.float32(most))
        case "LOGISTIC":
            made = 1 / (1 + numpy.exp(-x.astype(numpy.float64)))
        case "TANH":
            made = numpy.tanh(x)
        case "LEAKY_RELU":
            made = numpy.where(x >= 0, x, x * slope)
        case "HARD_SWISH":
            made = x * numpy.clip(x / numpy.float32(6) + numpy.float32(0.5), 0, 1)
        case "HARD_SIGMOID":
            made = numpy.clip(slope * x + offset, 0, 1)
        case "ELU":
            made = numpy.where(x > 0, x, slope * numpy.expm1(x))
        case "ABS":
            made = numpy.abs(x)
        case "NEG":
            made = -x
        case "EXP":
            made = numpy.exp(x)
        case "SQRT":
            made = numpy.sqrt(x)
        case "SOFTPLUS":
            made = numpy.logaddexp(x, numpy.float32(0))
        case "RECIPROCAL":
            made = 1 / x
        case _:
            made = _each(erf, x)
    return made


def _each(function: Callable[[float], float], x: "Floats") -> "Floats":
    import numpy

    return numpy.array([function(float(value)) for value in x], numpy.float32)


def _softmax(operator: FullOperator, _: Context) -> Layer:
    image, output = operator.input(0), operator.output
    suffix = suffix_of(operator, (image, output), *INTEGERS)
    require(image.shape == output.shape and bool(image.shape), operator, "it changes the shape")
    depth = image.shape[-1]
    # As large as they may be, so that their sum is no infinite number, as the runtime has it.
    shift = max(0.0, log(single(LARGEST_FLOAT / depth)) - 5) / image.scale
    powers = tuple(single(exp((shift - difference) * image.scale)) for difference in range(256))
    layer = {
        "outer": image.elements // depth,
        "depth": depth,
        "powers": ConstantArray(f"powers_{operator.index}", "float", powers),
        "factor": float(int(min(single(1 / output.scale), float(1 << 24)))),
        "zero": output.zero,
        **_limits(operator, output),
    }
    return Layer((whole(operator, f"softmax_by_table_{suffix}", layer),))


def _conversion(operator: FullOperator, _: Context) -> Layer:
    """From floats to integers, and back."""
    image, output = operator.input(0), operator.output
    require(image.shape == output.shape, operator, "it changes the shape")
    layer: dict[str, object] = {"channels": elements_of_column(output)}
    if operator.name == "QUANTIZE":
        suffix_of(operator, (image,), "float32")
        layer |= {"scale": output.scale, "zero": output.zero, **_limits(operator, output)}
        kernel = f"quantize_{SUFFIXES[output.type]}"
    else:
        suffix_of(operator, (output,), "float32")
        layer |= {"scale": image.scale, "zero": image.zero}
        kernel = f"dequantize_{SUFFIXES[image.type]}"
    return Layer((of_rows(operator, kernel, layer, 0),), is_row_wise=True)


_Maker = Callable[[FullOperator, Context], Layer]
_MAKERS: Final[Mapping[str, _Maker]] = {
    "GROUPED_CONV_2D": _grouped,
    "TRANSPOSE_CONV": _transpose_conv,
    "PADDED_AVERAGE_POOL_2D": _padded_average,
    "RESIZE_NEAREST_NEIGHBOR": _nearest,
    **dict.fromkeys(_FUNCTIONS, _function),
    **dict.fromkeys(_BINARY, _two),
}
_INTEGER_MAKERS: Final[Mapping[str, _Maker]] = {
    "GROUPED_CONV_2D": _grouped,
    "TRANSPOSE_CONV": _transpose_conv,
    "RESIZE_NEAREST_NEIGHBOR": _nearest,
    "AVERAGE_POOL_2D": _mean_pool,
    "PADDED_AVERAGE_POOL_2D": _mean_pool,
    "MEAN": _mean,
    "SOFTMAX": _softmax,
    **dict.fromkeys(("ADD", "SUB"), _sum_of_two),
    "MUL": _product_of_two,
    **dict.fromkeys(("MAXIMUM", "MINIMUM"), _one_of_two),
    **dict.fromkeys(("REQUANTIZE", "LOGISTIC", "TANH", "LEAKY_RELU", "HARD_SWISH", *_FUNCTIONS), _table),
    **dict.fromkeys(("QUANTIZE", "DEQUANTIZE"), _conversion),
}
