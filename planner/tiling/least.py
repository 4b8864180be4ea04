"""The elements of each operand that are needed: moved once each, they are the least that any tiling moves."""

from memstow.planner.tiling.layer import Layer


def needed_places(layer: Layer, axis: int) -> int:
    """How many rows (0) or columns (1) of the image some element of the output is made from."""
    window = layer.window
    made = (layer.rows, layer.columns)[axis]
    extent = (layer.input_rows, layer.input_columns)[axis]
    kernel, dilation = window.kernel[axis], window.dilation[axis]
    if (kernel, window.stride[axis], window.padding[axis]) == (1, 1, 0):
        return min(made, extent)
    places = _repeated(_repeated(1, kernel, dilation), made, window.stride[axis])
    return (places >> window.padding[axis] & (1 << extent) - 1).bit_count()


def _repeated(places: int, times: int, step: int) -> int:
    """The places, given as bits, and the same so many times in all, each a step further."""
    found, covered = places, 1
    while covered < times:
        more = min(covered, times - covered)
        found |= found << more * step
        covered += more
    return found


def least_bytes(layer: Layer) -> dict[str, int]:
    """By tensor, the bytes that are needed."""
    rows, columns = needed_places(layer, 0), needed_places(layer, 1)
    found = {it.tensor: rows * columns * layer.input_channels * it.element for it in layer.images}
    if layer.weights is not None:
        found[layer.weights.tensor] = layer.channels * layer.group_inputs * layer.weights.element
    found |= {it.tensor: layer.channels * it.element for it in layer.by_channel}
    found |= {it.tensor: it.element for it in layer.fixed}
    found[layer.output.tensor] = layer.rows * layer.columns * layer.channels * layer.output.element
    return found
