"""Shapes of what windows make that slide over an input: convolutions and pools, also transposed ones."""

from memstow.planner.shapes.onnx.operation import Operation, Shape, UnderivableError
from memstow.planner.shapes.onnx.terms import Terms, a_number

_WEIGHTS = {"QLinearConv": 3}


def convolution(of: Operation) -> list[Shape]:
    """Conv, ConvInteger, QLinearConv."""
    source, weights = of.shape(0), of.shape(_WEIGHTS.get(of.kind, 1))
    kernel = of.wholes("kernel_shape") or tuple(_fixed(it) for it in weights[2:])
    return [(source[0], weights[0], *_slid(of, source[2:], kernel))]


def pool(of: Operation) -> list[Shape]:
    """MaxPool, AveragePool, LpPool: as many outputs of one shape as there are."""
    source = of.shape(0)
    kernel = of.wholes("kernel_shape") or ()
    return [(*source[:2], *_slid(of, source[2:], kernel))] * len(of.node.output)


def transposed(of: Operation) -> list[Shape]:
    """ConvTranspose."""
    source, weights = of.shape(0), of.shape(1)
    kernel = of.wholes("kernel_shape") or tuple(_fixed(it) for it in weights[2:])
    count = len(source) - 2
    strides, dilations, pads, auto = _attributes(of, count, len(kernel))
    more = of.wholes("output_padding") or (0,) * count
    given = of.wholes("output_shape")
    if len(more) != count:
        raise UnderivableError("its attributes do not have a number for each axis")
    if given:
        extents = [a_number(it) for it in given[-count:]]
    elif auto in ("NOTSET", "VALID"):
        extents = [
            source[2 + i] * strides[i]
            + (more[i] - strides[i] + (kernel[i] - 1) * dilations[i] + 1)
            - (pads[i] + pads[i + count])
            for i in range(count)
        ]
    elif not any(more) and all(it == 1 for it in dilations):
        extents = [source[2 + i] * strides[i] for i in range(count)]
    else:
        raise UnderivableError("auto_pad together with output_padding or dilations")
    return [(source[0], weights[1] * of.whole("group", 1), *extents)]


def unpooled(of: Operation) -> list[Shape]:
    """MaxUnpool: to a given shape, or to what the windows cover."""
    source = of.shape(0)
    if of.has(2):
        given = of.numbers(2)
        if len(given) != len(source):
            raise UnderivableError("its shape does not have a number for each axis")
        return [given]
    kernel = of.wholes("kernel_shape") or ()
    count = len(source) - 2
    strides, _, pads, _ = _attributes(of, count, len(kernel))
    extents = [
        (source[2 + i] - 1) * strides[i] + (kernel[i] - pads[i] - pads[i + count]) for i in range(count)
    ]
    return [(*source[:2], *extents)]


def _slid(of: Operation, source: tuple[Terms, ...], kernel: tuple[int, ...]) -> list[Terms]:
    strides, dilations, pads, auto = _attributes(of, len(source), len(kernel))
    ceil = of.whole("ceil_mode", 0) != 0
    found = []
    for i, extent in enumerate(source):
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            if dilations[i] != 1 or ceil:
                raise UnderivableError("auto_pad together with dilations or ceil_mode")
            found.append(of.formulas.ceil_div(extent, strides[i]))
            continue
        if auto == "VALID" and ceil:
            raise UnderivableError("auto_pad together with ceil_mode")
        before, after = pads[i], pads[i + len(source)]
        window = (kernel[i] - 1) * dilations[i] + 1
        room = extent + (before + after - window)
        of.require(room, f"the window of {window} does not fit into axis {i + 2} with its padding")
        if not ceil:
            found.append(of.formulas.floor_div(room, strides[i]) + 1)
            continue
        if after >= window:
            raise UnderivableError("ceil_mode with padding as wide as the window")
        # Windows that would begin behind the input are left out: shape inference of ONNX counts them.
        all_of_them = of.formulas.ceil_div(room, strides[i]) + 1
        found.append(of.formulas.least(all_of_them, of.formulas.ceil_div(extent + before, strides[i])))
        of.is_own = of.is_own or found[-1] != all_of_them
    return found


def _attributes(
    of: Operation, count: int, sizes: int
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], str]:
    """Strides, dilations, pads and the way to pad."""
    strides = of.wholes("strides") or (1,) * count
    dilations = of.wholes("dilations") or (1,) * count
    auto = of.text("auto_pad", "NOTSET") or "NOTSET"
    pads = (of.wholes("pads") or ()) if auto == "NOTSET" else ()
    pads = pads or (0,) * (2 * count)
    lengths = (len(strides), len(dilations), sizes, len(pads))
    if lengths != (count, count, count, 2 * count) or min((*strides, *dilations), default=1) < 1:
        raise UnderivableError("its attributes do not have a number for each axis")
    return strides, dilations, pads, auto


def _fixed(extent: Terms) -> int:
    if extent.number is None:
        raise UnderivableError("the size of its window depends on symbols")
    return extent.number
