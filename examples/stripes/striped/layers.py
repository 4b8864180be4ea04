"""Layer by layer: each operator makes its whole output from its whole inputs. The reference."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from striped.fixed_point import Image, Wide, as_image, average, requantised
from striped.network import Network, Operator, Window


def run(net: Network, inputs: Mapping[str, Image]) -> dict[str, Image]:
    """All tensors that the network makes."""
    made = dict(inputs)
    for operator in net.operators:
        images = [made[name] for name in operator.inputs if name in made]
        made[operator.output] = layer(net, operator, images)
    return made


def layer(net: Network, operator: Operator, images: list[Image]) -> Image:
    """What one operator makes of its whole inputs; images are rows x columns x channels."""
    made = _LAYERS[operator.type](net, operator, images)
    return made.reshape(net.image(operator.output))


def _windows(image: Wide, window: Window, outside: int) -> Wide:
    """The windows: output rows x columns x channels x kernel rows x kernel columns."""
    top, left, bottom, right = window.padding
    padded = np.pad(image, ((top, bottom), (left, right), (0, 0)), constant_values=outside)
    reach = tuple((k - 1) * d + 1 for k, d in zip(window.kernel, window.dilation, strict=True))
    every = sliding_window_view(padded, reach, axis=(0, 1))[:: window.stride[0], :: window.stride[1]]
    return np.asarray(every[..., :: window.dilation[0], :: window.dilation[1]])


def _window(operator: Operator) -> Window:
    assert operator.window is not None
    return operator.window


def _rescaled(net: Network, operator: Operator, sums: Wide) -> Image:
    multiplier, shift = (
        net.arrays[f"{operator.id}/{name}"].astype(np.int64) for name in ("multiplier", "shift")
    )
    return requantised(sums, multiplier, shift, net.zero(operator.output))


def _distance(net: Network, operator: Operator, images: list[Image], index: int = 0) -> Wide:
    """The image as wide integers, counted from its zero."""
    return images[index].astype(np.int64) - net.zero(operator.inputs[index])


def _weights(net: Network, operator: Operator) -> tuple[Wide, Wide]:
    weights, bias = (net.arrays[name].astype(np.int64) for name in operator.inputs[-2:])
    return weights, bias


def conv(net: Network, operator: Operator, images: list[Image]) -> Image:
    """A convolution; weights are output channels x kernel rows x kernel columns x input channels."""
    weights, bias = _weights(net, operator)
    windows = _windows(_distance(net, operator, images), _window(operator), 0)
    return _rescaled(net, operator, np.einsum("ycikl,okli->yco", windows, weights) + bias)


def depthwise(net: Network, operator: Operator, images: list[Image]) -> Image:
    """A convolution of each channel alone; weights are 1 x kernel rows x kernel columns x channels."""
    weights, bias = _weights(net, operator)
    windows = _windows(_distance(net, operator, images), _window(operator), 0)
    return _rescaled(net, operator, np.einsum("ycikl,kli->yci", windows, weights[0]) + bias)


def max_pool(_net: Network, operator: Operator, images: list[Image]) -> Image:
    """The largest of each window; what is outside of the image does not count."""
    return as_image(_windows(images[0].astype(np.int64), _window(operator), -128).max((3, 4)))


def average_pool(_net: Network, operator: Operator, images: list[Image]) -> Image:
    """The mean of each window; what is outside of the image does not count."""
    window = _window(operator)
    sums = _windows(images[0].astype(np.int64), window, 0).sum((3, 4))
    count = _windows(np.ones(images[0].shape, np.int64), window, 0).sum((3, 4))
    return as_image(average(sums, count))


def pad(net: Network, operator: Operator, images: list[Image]) -> Image:
    """Zeros around the image."""
    around = net.zero(operator.output)
    return as_image(_windows(images[0].astype(np.int64), _window(operator), around)[..., 0, 0])


def add(net: Network, operator: Operator, images: list[Image]) -> Image:
    """The sum of two images, each with a factor of its own."""
    one, other = (int(array) for array in net.arrays[f"{operator.id}/factors"])
    sums = _distance(net, operator, images) * one + _distance(net, operator, images, 1) * other
    return _rescaled(net, operator, sums)


def mul(net: Network, operator: Operator, images: list[Image]) -> Image:
    """The product of two images."""
    return _rescaled(net, operator, _distance(net, operator, images) * _distance(net, operator, images, 1))


def relu(net: Network, operator: Operator, images: list[Image]) -> Image:
    """Nothing below zero."""
    return as_image(np.maximum(images[0].astype(np.int64), net.zero(operator.inputs[0])))


def concatenation(_net: Network, _operator: Operator, images: list[Image]) -> Image:
    """Images beside each other, along channels."""
    return np.concatenate(images, axis=2)


def nearest(net: Network, operator: Operator, images: list[Image]) -> Image:
    """The image in another size: the element at or before the place."""
    height, width, _ = net.image(operator.output)
    rows = np.arange(height) * images[0].shape[0] // height
    columns = np.arange(width) * images[0].shape[1] // width
    return np.asarray(images[0][rows][:, columns], np.int8)


def bilinear(net: Network, operator: Operator, images: list[Image]) -> Image:
    """A larger image: means of the elements around each place, with weights in 1/256."""
    height, width, _ = net.image(operator.output)
    source = images[0].astype(np.int64)
    y0, y1, v = between(height, source.shape[0])
    x0, x1, u = between(width, source.shape[1])
    v, u = v[:, None, None], u[None, :, None]
    upper = source[y0][:, x0] * (256 - u) + source[y0][:, x1] * u
    lower = source[y1][:, x0] * (256 - u) + source[y1][:, x1] * u
    return as_image(np.right_shift(upper * (256 - v) + lower * v + (1 << 15), 16))


def between(size: int, of: int) -> tuple[Wide, Wide, Wide]:
    """For each place along an axis: the two of `of` elements around it, and the weight of the second.

    The centres of both images agree.
    """
    place = np.clip((2 * np.arange(size, dtype=np.int64) + 1) * of * 128 // size - 128, 0, (of - 1) * 256)
    return place >> 8, np.minimum((place >> 8) + 1, of - 1), place & 255


def mean(net: Network, operator: Operator, images: list[Image]) -> Image:
    """The mean of the whole image, for each channel."""
    return _rescaled(net, operator, _distance(net, operator, images).sum((0, 1)))


def fully_connected(net: Network, operator: Operator, images: list[Image]) -> Image:
    """All elements with all weights, which are outputs x elements."""
    weights, bias = _weights(net, operator)
    return _rescaled(net, operator, weights @ _distance(net, operator, images).reshape(-1) + bias)


def transpose(_net: Network, _operator: Operator, images: list[Image]) -> Image:
    """Rows and columns exchanged; stripes cannot pass it."""
    return images[0].transpose(1, 0, 2)


_LAYERS: Final[Mapping[str, Callable[[Network, Operator, list[Image]], Image]]] = {
    "conv2d": conv,
    "depthwise_conv2d": depthwise,
    "max_pool_2d": max_pool,
    "average_pool_2d": average_pool,
    "pad": pad,
    "add": add,
    "mul": mul,
    "relu": relu,
    "concatenation": concatenation,
    "resize_nearest_neighbor": nearest,
    "resize_bilinear": bilinear,
    "mean": mean,
    "fully_connected": fully_connected,
    "transpose": transpose,
}
