"""The layers of operators that only ONNX models have, or have in another way than `firmware.layers`."""

from collections.abc import Callable, Mapping
from typing import Final

from memstow.planner.firmware.full_model import FullOperator, refuse
from memstow.planner.firmware.layers import (
    ConstantArray,
    Context,
    Layer,
    binary,
    elements_of_column,
    finish_of,
    layer_of,
    limits_of,
    of_rows,
    require,
    sliding,
    suffix_of,
    weights_of,
)
from memstow.planner.firmware.onnx.nodes import OWN
from memstow.planner.model.graph import Window


def layer_of_onnx(operator: FullOperator, context: Context) -> Layer:
    """The layer of an operator; an InputError names what cannot be built."""
    maker = _MAKERS.get(operator.name)
    return layer_of(operator, context) if maker is None else maker(operator)


def window_of(operator: FullOperator) -> Window:
    """Which rows and columns it reads."""
    if operator.window is None:
        raise refuse("bad_shape", operator.path, f"{operator.name}: it has no window")
    return operator.window


def _grouped(operator: FullOperator) -> Layer:
    """A convolution of groups of channels, each with weights of its own."""
    image, weights, output = operator.input(0), operator.input(1), operator.output
    suffix = suffix_of(operator, (image, weights, output), "float32")
    window, groups = window_of(operator), operator.number(OWN, "<i", 1)
    depth, channels = image.shape[3] // groups, output.shape[3]
    expected = (channels, *window.kernel, depth)
    fits = weights.shape == expected and depth * groups == image.shape[3] and channels % groups == 0
    require(fits, operator, f"weights of {list(weights.shape)}, not {list(expected)}")
    layer = {
        "window": sliding(window, image, output),
        "depth": depth,
        "made": channels // groups,
        "weights": weights_of(operator, weights),
        "finish": finish_of(operator, [], operator.optional(2), channels, 0),
    }
    call = of_rows(operator, f"grouped_conv_{suffix}", layer, 0)
    return Layer((call,), is_row_wise=True, kernel_rows=window.kernel[0])


def _transpose_conv(operator: FullOperator) -> Layer:
    image, weights, output = operator.input(0), operator.input(1), operator.output
    suffix = suffix_of(operator, (image, weights, output), "float32")
    strides = operator.number(2, "<i"), operator.number(1, "<i")
    padding = operator.number(OWN, "<i"), operator.number(OWN + 1, "<i"), 0, 0
    channels = output.shape[3]
    fits = weights.shape[0] == channels and weights.shape[3] == image.shape[3]
    require(fits, operator, "its channels do not go together")
    window = Window(kernel=weights.shape[1:3], stride=strides, padding=padding)
    layer = {
        "window": sliding(window, image, output),
        "zero": 0,
        "weights": weights_of(operator, weights),
        "finish": finish_of(operator, [], operator.optional(2), channels, 0),
    }
    return Layer((of_rows(operator, f"transpose_conv_{suffix}", layer, 0),))


def _padded_average(operator: FullOperator) -> Layer:
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


def _nearest(operator: FullOperator) -> Layer:
    """Each row and column as often as the output is larger."""
    image, output = operator.input(0), operator.output
    suffix_of(operator, (image, output), "float32")
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


def _function(operator: FullOperator) -> Layer:
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


def _two(operator: FullOperator) -> Layer:
    return binary(operator, _BINARY[operator.name], "float32")


_MAKERS: Final[Mapping[str, Callable[[FullOperator], Layer]]] = {
    "GROUPED_CONV_2D": _grouped,
    "TRANSPOSE_CONV": _transpose_conv,
    "PADDED_AVERAGE_POOL_2D": _padded_average,
    "RESIZE_NEAREST_NEIGHBOR": _nearest,
    **dict.fromkeys(_FUNCTIONS, _function),
    **dict.fromkeys(_BINARY, _two),
}
