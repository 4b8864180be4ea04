"""One row of an operator's output, in some columns, from the rows of its images that are there."""

from collections.abc import Callable, Mapping
from typing import Final, Protocol

import numpy as np

from striped.fixed_point import Image, Wide, as_image, average, requantised
from striped.layers import between
from striped.network import Network, Operator, Window


class Rows(Protocol):
    """The rows of images that a step may read."""

    def row(self, tensor: str, row: int, first: int, end: int) -> Image:
        """Columns [first, end) of a row: columns x channels."""
        ...


def make_row(net: Network, operator: Operator, rows: Rows, row: int, first: int, end: int) -> Image:
    """Columns [first, end) of a row of the operator's output."""
    return _ROWS[operator.type](net, operator, rows, row, np.arange(first, end))


def add_row(net: Network, operator: Operator, rows: Rows, row: int, first: int, end: int, sums: Wide) -> Wide:
    """The sums with columns [first, end) of a row of the image added."""
    image = operator.inputs[0]
    raw = rows.row(image, row, first, end).astype(np.int64)
    if operator.type == "max_pool_2d":
        return np.asarray(np.maximum(sums, raw.max(0)))
    if operator.type == "average_pool_2d":
        return np.asarray(sums + raw.sum(0))
    elements = raw - net.zero(image)
    if operator.type == "mean":
        return np.asarray(sums + elements.sum(0))
    _, width, channels = net.image(image)
    at = (row * width + first) * channels
    weights = net.arrays[operator.inputs[1]][:, at : at + elements.size].astype(np.int64)
    return np.asarray(sums + weights @ elements.reshape(-1))


def start(operator: Operator) -> int:
    """What the sums are before the first row."""
    return -128 if operator.type == "max_pool_2d" else 0


def finished(net: Network, operator: Operator, sums: Wide) -> Image:
    """What the sums become when all rows were added."""
    if operator.type == "max_pool_2d":
        return as_image(sums)
    if operator.type == "average_pool_2d":
        height, width, _ = net.image(operator.inputs[0])
        return as_image(average(sums, np.asarray(height * width)))
    if operator.type == "fully_connected":
        sums = sums + net.arrays[operator.inputs[2]]
    return _rescaled(net, operator, sums)


def _rescaled(net: Network, operator: Operator, sums: Wide) -> Image:
    multiplier, shift = (
        net.arrays[f"{operator.id}/{name}"].astype(np.int64) for name in ("multiplier", "shift")
    )
    return requantised(sums, multiplier, shift, net.zero(operator.output))


class _Taps:
    """For each place of the kernel inside of the image, the elements that the columns are made from."""

    def __init__(self, net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> None:
        assert operator.window is not None
        self.window: Window = operator.window
        self._image = operator.inputs[0]
        self._height, self._width, self.channels = net.image(self._image)
        self._rows, self._row, self._columns = rows, row, columns

    def each(self) -> "list[tuple[int, int, np.ndarray[tuple[int], np.dtype[np.bool_]], Wide]]":
        """(kernel row, kernel column, which of the columns have it, their elements)."""
        window, result = self.window, []
        for ky in range(window.kernel[0]):
            y = self._row * window.stride[0] - window.padding[0] + ky * window.dilation[0]
            if not 0 <= y < self._height:
                continue
            for kx in range(window.kernel[1]):
                x = self._columns * window.stride[1] - window.padding[1] + kx * window.dilation[1]
                inside = (x >= 0) & (x < self._width)
                if inside.any():
                    x = x[inside]
                    elements = self._rows.row(self._image, y, int(x[0]), int(x[-1]) + 1)
                    result.append((ky, kx, inside, elements[x - x[0]].astype(np.int64)))
        return result


def _conv(net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> Image:
    weights, bias = (net.arrays[name].astype(np.int64) for name in operator.inputs[1:])
    sums = np.zeros((columns.size, bias.size), np.int64) + bias
    zero = net.zero(operator.inputs[0])
    for ky, kx, inside, elements in _Taps(net, operator, rows, row, columns).each():
        if operator.type == "conv2d":
            sums[inside] += (elements - zero) @ weights[:, ky, kx].T
        else:
            sums[inside] += (elements - zero) * weights[0, ky, kx]
    return _rescaled(net, operator, sums)


def _max_pool(net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> Image:
    taps = _Taps(net, operator, rows, row, columns)
    most = np.full((columns.size, taps.channels), -128, np.int64)
    for _, _, inside, elements in taps.each():
        most[inside] = np.maximum(most[inside], elements)
    return as_image(most)


def _average_pool(net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> Image:
    taps = _Taps(net, operator, rows, row, columns)
    sums = np.zeros((columns.size, taps.channels), np.int64)
    count = np.zeros((columns.size, 1), np.int64)
    for _, _, inside, elements in taps.each():
        sums[inside] += elements
        count[inside] += 1
    return as_image(average(sums, count))


def _pad(net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> Image:
    taps = _Taps(net, operator, rows, row, columns)
    made = np.full((columns.size, taps.channels), net.zero(operator.output), np.int8)
    for _, _, inside, elements in taps.each():
        made[inside] = elements
    return made


def _here(operator: Operator, rows: Rows, row: int, columns: Wide, index: int) -> Wide:
    return rows.row(operator.inputs[index], row, int(columns[0]), int(columns[-1]) + 1).astype(np.int64)


def _add(net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> Image:
    sums = np.zeros((columns.size, net.image(operator.output)[2]), np.int64)
    for index, name in enumerate(operator.inputs):
        factor = int(net.arrays[f"{operator.id}/factors"][index])
        sums += (_here(operator, rows, row, columns, index) - net.zero(name)) * factor
    return _rescaled(net, operator, sums)


def _mul(net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> Image:
    one, other = (
        _here(operator, rows, row, columns, index) - net.zero(name)
        for index, name in enumerate(operator.inputs)
    )
    return _rescaled(net, operator, one * other)


def _relu(net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> Image:
    return as_image(np.maximum(_here(operator, rows, row, columns, 0), net.zero(operator.inputs[0])))


def _concatenation(_net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> Image:
    parts = [_here(operator, rows, row, columns, index) for index in range(len(operator.inputs))]
    return as_image(np.concatenate(parts, axis=1))


def _nearest(net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> Image:
    height, width, _ = net.image(operator.inputs[0])
    high, wide, _ = net.image(operator.output)
    x = columns * width // wide
    elements = rows.row(operator.inputs[0], row * height // high, int(x[0]), int(x[-1]) + 1)
    return np.asarray(elements[x - x[0]], np.int8)


def _bilinear(net: Network, operator: Operator, rows: Rows, row: int, columns: Wide) -> Image:
    height, width, _ = net.image(operator.inputs[0])
    high, wide, _ = net.image(operator.output)
    y0, y1, v = (int(entry[row]) for entry in between(high, height))
    x0, x1, weight = (entry[columns] for entry in between(wide, width))
    u = weight[:, None]

    def across(y: int) -> Wide:
        elements = rows.row(operator.inputs[0], y, int(x0[0]), int(x1[-1]) + 1).astype(np.int64)
        return np.asarray(elements[x0 - x0[0]] * (256 - u) + elements[x1 - x0[0]] * u)

    return as_image(np.right_shift(across(y0) * (256 - v) + across(y1) * v + (1 << 15), 16))


_ROWS: Final[Mapping[str, Callable[[Network, Operator, Rows, int, Wide], Image]]] = {
    "conv2d": _conv,
    "depthwise_conv2d": _conv,
    "max_pool_2d": _max_pool,
    "average_pool_2d": _average_pool,
    "pad": _pad,
    "add": _add,
    "mul": _mul,
    "relu": _relu,
    "concatenation": _concatenation,
    "resize_nearest_neighbor": _nearest,
    "resize_bilinear": _bilinear,
}
