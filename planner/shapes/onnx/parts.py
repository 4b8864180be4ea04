"""Shapes of what takes a part of an input, or adds to it: slices, halves, padding, repetition, joins."""

from typing import Final

from memstow.planner.shapes.onnx.operation import Operation, Shape, UnderivableError, axis_of
from memstow.planner.shapes.onnx.terms import Terms, a_number

_ALL: Final = (1 << 31) - 1
"""From here on, an end means "all that follow"."""


def concat(of: Operation) -> list[Shape]:
    """Concat: as long as its parts together."""
    shapes = [of.shape(i) for i in range(len(of.node.input))]
    axis = axis_of(of.whole("axis", 1), len(shapes[0]))
    if any(len(it) != len(shapes[0]) for it in shapes):
        raise UnderivableError("its inputs have different numbers of dimensions")
    whole = a_number(0)
    for shape in shapes:
        whole = whole + shape[axis]
    # The others are the same in all inputs wherever the model runs; a number says most.
    found = [
        next((shape[i] for shape in shapes if shape[i].number is not None), shapes[0][i])
        for i in range(len(shapes[0]))
    ]
    found[axis] = whole
    return [tuple(found)]


def split(of: Operation) -> list[Shape]:
    """Split, into equal parts or parts of given lengths."""
    source = of.shape(0)
    axis = axis_of(of.whole("axis", 0), len(source))
    count = len(of.node.output)
    given = of.wholes("split")
    if given:
        lengths = [a_number(it) for it in given]
    elif of.has(1):
        lengths = list(of.numbers(1))
    elif of.opset >= 18:
        count = of.whole("num_outputs", count)
        each = of.formulas.ceil_div(source[axis], count)
        lengths = [each] * (count - 1) + [source[axis] - each * (count - 1)]
    else:
        each = of.formulas.floor_div(source[axis], count)
        of.require(each * count - source[axis], f"axis {axis} does not split into {count} equal parts")
        lengths = [each] * count
    if len(lengths) != len(of.node.output):
        raise UnderivableError("it has not as many outputs as parts")
    return [(*source[:axis], length, *source[axis + 1 :]) for length in lengths]


def cut(of: Operation) -> list[Shape]:
    """Slice."""
    source = list(of.shape(0))
    if of.opset < 10:
        starts = [a_number(it) for it in of.wholes("starts") or ()]
        ends = [a_number(it) for it in of.wholes("ends") or ()]
        axes = of.wholes("axes") or tuple(range(len(starts)))
        steps: tuple[int, ...] = (1,) * len(starts)
    else:
        starts, ends = list(of.numbers(1)), list(of.numbers(2))
        axes = of.constants(3) if of.has(3) else tuple(range(len(starts)))
        steps = of.constants(4) if of.has(4) else (1,) * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise UnderivableError("starts, ends, axes and steps do not fit together")
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        at = axis_of(axis, len(source))
        source[at] = length_of_slice(of, source[at], start, end, step)
    return [tuple(source)]


def length_of_slice(of: Operation, extent: Terms, start: Terms, end: Terms, step: int) -> Terms:
    """How many elements a slice takes of so many."""
    formulas = of.formulas
    if step > 0:
        first = _within(of, start, extent, 0, 0)
        last = _within(of, end, extent, 0, 0)
        return formulas.most(formulas.ceil_div(last - first, step), a_number(0))
    if end.number is not None and end.number >= _ALL:
        message = "a slice backwards to the largest number is read in different ways"
        raise UnderivableError(f"{message}; end it at the smallest number", disputed=True)
    if formulas.bounds(extent)[0] < 1:
        raise UnderivableError("a slice backwards of what may be empty")
    first = _within(of, start, extent, 0, -1)
    last = _within(of, end, extent, -1, -1)
    return formulas.most(formulas.ceil_div(first - last, -step), a_number(0))


def _within(of: Operation, place: Terms, extent: Terms, low: int, below_end: int) -> Terms:
    """A place in an axis, counted from the front, and moved to the nearest that there is."""
    least, most = of.formulas.bounds(place)
    if place.number is not None and place.number >= _ALL:
        return extent + below_end
    if place.number is not None and place.number <= -_ALL:
        return a_number(low)
    if least < 0 <= most:
        raise UnderivableError("a slice from a place that is counted from the front or from the end")
    counted = place + extent if most < 0 else place
    return of.formulas.least(of.formulas.most(counted, a_number(low)), extent + below_end)


def pad(of: Operation) -> list[Shape]:
    """Pad."""
    source = list(of.shape(0))
    if of.opset < 11:
        given = of.wholes("pads") or of.wholes("paddings") or ()
        pads = [a_number(it) for it in given]
    else:
        pads = list(of.numbers(1))
    axes = of.constants(3) if of.has(3) else tuple(range(len(source)))
    if len(pads) != 2 * len(axes):
        raise UnderivableError("its pads do not have two numbers for each axis")
    for i, axis in enumerate(axes):
        at = axis_of(axis, len(source))
        source[at] = source[at] + pads[i] + pads[i + len(axes)]
    return [tuple(source)]


def tile(of: Operation) -> list[Shape]:
    """Tile."""
    source, repeats = of.shape(0), of.numbers(1)
    if len(repeats) != len(source) or of.opset < 6:
        raise UnderivableError("its repeats do not have a number for each axis")
    return [tuple(extent * count for extent, count in zip(source, repeats, strict=True))]


def top_k(of: Operation) -> list[Shape]:
    """TopK."""
    source = of.shape(0)
    axis = axis_of(of.whole("axis", -1), len(source))
    counts = of.numbers(1) if of.has(1) else (a_number(of.whole("k", 0)),)
    if len(counts) != 1:
        raise UnderivableError("it takes one number of elements")
    of.require(source[axis] - counts[0], f"axis {axis} has fewer elements than are taken")
    return [(*source[:axis], counts[0], *source[axis + 1 :])] * len(of.node.output)


def one_hot(of: Operation) -> list[Shape]:
    """OneHot: as the indices, and an axis more, as long as the second input says."""
    source, depth = of.shape(0), of.numbers(1)
    axis = of.whole("axis", -1)
    if len(depth) != 1 or not -len(source) - 1 <= axis <= len(source):
        raise UnderivableError("its depth is not one number, or there is no such axis")
    at = axis % (len(source) + 1)
    return [(*source[:at], depth[0], *source[at:])]


def window(of: Operation) -> list[Shape]:
    """HannWindow and others: as long as the number says."""
    size = of.numbers(0)
    if len(size) != 1:
        raise UnderivableError("its size is not one number")
    return [size]
