"""Shapes of what gives elements another form: reshapes, expansion, resizing, depth that becomes width."""

from fractions import Fraction
from math import prod
from typing import Final

from memstow.planner.shapes.onnx.operation import Operation, Shape, UnderivableError, axis_of
from memstow.planner.shapes.onnx.terms import Terms, a_number, product_of

_EXACT: Final = 1 << 24
"""Below this, fractions of 32 bits are exact."""


def same(of: Operation) -> list[Shape]:
    """All outputs are as large as the first input."""
    return [of.shape(0)] * len(of.node.output)


def reshape(of: Operation) -> list[Shape]:
    """Reshape."""
    source = of.shape(0)
    given = of.wholes("shape")
    wanted = [a_number(it) for it in given] if given is not None else list(of.numbers(1))
    copies = of.whole("allowzero", 0) == 0
    open_at = None
    for i, extent in enumerate(wanted):
        if extent.number == -1 and open_at is None:
            open_at = i
        elif copies and extent.number == 0 and i < len(source):
            wanted[i] = source[i]
        else:
            low = of.formulas.bounds(extent)[0]
            if low < 0 or (low == 0 and copies and (i >= len(source) or source[i] != extent)):
                message = "one of its numbers may be 0 or less, which says something else"
                raise UnderivableError(message)
    if open_at is not None:
        others = [extent for i, extent in enumerate(wanted) if i != open_at]
        wanted[open_at] = _what_is_left(of, list(source), others)
    else:
        whole, taken = product_of(source), product_of(wanted)
        of.require_same(whole, taken, "it takes another number of elements than it makes")
    return [tuple(wanted)]


def _what_is_left(of: Operation, source: list[Terms], others: list[Terms]) -> Terms:
    left = []
    for extent in others:
        if extent in source:
            source.remove(extent)
        else:
            left.append(extent)
    whole, taken = product_of(source), product_of(left)
    found = whole.divided(taken) if taken.terms else None
    if found is None:
        one, two = of.formulas.text(whole), of.formulas.text(taken)
        raise UnderivableError(f"{one} elements are not a multiple of {two} at every value")
    return found


def flatten(of: Operation) -> list[Shape]:
    """Flatten."""
    source = of.shape(0)
    axis = of.whole("axis", 1)
    at = axis if axis == len(source) else axis_of(axis, len(source))
    return [(product_of(source[:at]), product_of(source[at:]))]


def expand(of: Operation) -> list[Shape]:
    """Expand."""
    return [broadcast(of, [of.shape(0), of.numbers(1)])]


def elementwise(of: Operation) -> list[Shape]:
    """What works element by element on all of its inputs."""
    return [broadcast(of, [of.shape(i) for i in range(len(of.node.input)) if of.has(i)])]


def broadcast(of: Operation, shapes: list[tuple[Terms, ...]]) -> tuple[Terms, ...]:
    """The shape that all of these have where each 1 is repeated."""
    rank = max(map(len, shapes))
    found = [a_number(1)] * rank
    for shape in shapes:
        for i, extent in enumerate(shape, rank - len(shape)):
            found[i] = both(of, found[i], extent, i)
    return tuple(found)


def both(of: Operation, one: Terms, other: Terms, axis: int) -> Terms:
    """The extent that both have where each 1 is repeated."""
    if one == other or other.number == 1:
        return one
    if one.number == 1:
        return other
    for it in (one, other):
        # Wherever the model runs, the other is the same or 1.
        if it.number is not None:
            return it
    for it in (one, other):
        if of.formulas.bounds(it)[0] > 1:
            return it
    first, second = of.formulas.text(one), of.formulas.text(other)
    example = of.formulas.where_they_differ(one, other)
    raise UnderivableError(f"along axis {axis} one input has {first} and another {second}{example}")


def filled(of: Operation) -> list[Shape]:
    """ConstantOfShape: the numbers are the shape."""
    attribute = of.attribute("value")
    if attribute is not None and prod(attribute.t.dims) != 1:
        raise UnderivableError("its value is not one element")
    return [of.numbers(0)]


def steps(of: Operation) -> list[Shape]:
    """Range."""
    given = of.numbers(0), of.numbers(1), of.constants(2)
    if any(len(it) != 1 for it in given):
        raise UnderivableError("its start, limit and step are not one number each")
    (start,), (limit,), (delta,) = given
    if delta == 0:
        raise UnderivableError("its step is 0")
    way = limit - start if delta > 0 else start - limit
    return [(of.formulas.most(of.formulas.ceil_div(way, abs(delta)), a_number(0)),)]


def to_space(of: Operation) -> list[Shape]:
    """DepthToSpace."""
    first, depth, high, wide = _four(of)
    block = of.whole("blocksize", 1)
    return [(first, _exactly(of, depth, block * block), high * block, wide * block)]


def to_depth(of: Operation) -> list[Shape]:
    """SpaceToDepth."""
    first, depth, high, wide = _four(of)
    block = of.whole("blocksize", 1)
    return [(first, depth * (block * block), _exactly(of, high, block), _exactly(of, wide, block))]


def _four(of: Operation) -> tuple[Terms, Terms, Terms, Terms]:
    source = of.shape(0)
    if len(source) != 4:
        raise UnderivableError("it takes four dimensions")
    return source[0], source[1], source[2], source[3]


def _exactly(of: Operation, extent: Terms, by: int) -> Terms:
    found = extent.divided(a_number(by)) if by > 0 else None
    if found is None:
        message = f"{of.formulas.text(extent)} is not a multiple of {by} at every value"
        raise UnderivableError(f"{message}; give the range a step")
    return found


def resize(of: Operation) -> list[Shape]:
    """Resize and Upsample, to given sizes or by given factors."""
    source = of.shape(0)
    scales_at = 1 if of.kind == "Upsample" or of.opset < 11 else 2
    if of.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        raise UnderivableError("it takes a region of its input")
    axes = of.wholes("axes") or tuple(range(len(source)))
    found = list(source)
    if scales_at == 2 and of.has(3):
        if of.text("keep_aspect_ratio_policy", "stretch") != "stretch":
            raise UnderivableError("it keeps the ratio of the sides")
        sizes = of.numbers(3)
        if len(sizes) != len(axes):
            raise UnderivableError("its sizes do not have a number for each axis")
        for axis, size in zip(axes, sizes, strict=True):
            found[axis_of(axis, len(source))] = size
        return [tuple(found)]
    attribute = of.attribute("scales")
    scales = tuple(attribute.floats) if attribute is not None else of.floats(scales_at)
    if scales is None or len(scales) != len(axes):
        raise UnderivableError("its factors are not known")
    for axis, scale in zip(axes, scales, strict=True):
        at = axis_of(axis, len(source))
        found[at] = _scaled(of, source[at], Fraction(scale))
    return [tuple(found)]


def _scaled(of: Operation, extent: Terms, scale: Fraction) -> Terms:
    if scale <= 0:
        raise UnderivableError("its factors are not above 0")
    low, high = of.formulas.bounds(extent)
    if low < 0 or high * scale.numerator >= _EXACT:
        raise UnderivableError(
            "its factors are no simple fractions: what is rounded down differs between runtimes"
        )
    return of.formulas.floor_div(extent * scale.numerator, scale.denominator)
