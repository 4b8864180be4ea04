"""The shapes that nodes of a model make, as formulas: a rule for each kind whose formulas are known.

A rule sees a node as an `Operation`: attributes, the shapes of its inputs, and numbers that are known.
The rules: what gives elements another form (reshapes, expansion, resizing, depth that becomes width),
what takes a part of an input or adds to it (slices, padding, joins), windows that slide over an input
(convolutions, pools), Einsum.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import prod
from typing import TYPE_CHECKING, Final

from memstow.planner.formats.onnx.dimensions import ALL_THAT_FOLLOW, text_of
from memstow.planner.formats.onnx.terms import TermArithmetic, Terms, a_number, product_of

if TYPE_CHECKING:
    import onnx

Shape = tuple[Terms | None, ...]
"""The extents of a value; None where one is not known."""
Numbers = tuple[Terms | None, ...]
"""The elements of a list of whole numbers, or of one number."""


class UnderivableError(Exception):
    """The reason why a shape does not follow; `disputed` where ONNX itself and its runtimes differ."""

    def __init__(self, reason: str, disputed: bool = False) -> None:
        super().__init__(reason)
        self.disputed = disputed


ODD: Final = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError)
"""What a rule that believes a node stumbles over where the node is not what the standard says."""


@dataclass(slots=True)
class Value:
    """What is known of a value."""

    shape: Shape | None
    numbers: Numbers | None = None
    floats: tuple[float, ...] | None = None
    fixed: bool = False
    """It does not depend on any symbol: neither its shape nor what it holds."""
    symbols: frozenset[str] = frozenset()
    """The symbols that its shape or what it holds may depend on."""
    lost: str = ""
    """Why its numbers are not known, where they may be a shape."""

    @property
    def shape_is_known(self) -> bool:
        """Whether all of its dimensions are."""
        return self.shape is not None and None not in self.shape


@dataclass(slots=True)
class Condition:
    """What must be at least 0 at every value, or a shape is not what its rule says."""

    extent: Terms
    message: str


@dataclass(slots=True)
class Operation:
    """A node, with what is known of its inputs."""

    node: "onnx.NodeProto"
    inputs: Sequence[Value | None]
    formulas: TermArithmetic
    opset: int
    conditions: list[Condition] = field(default_factory=list)
    is_own: bool = False
    """Shape inference of ONNX is known to say something else than what runtimes make."""

    @property
    def kind(self) -> str:
        return text_of(self.node.op_type)

    def has(self, index: int) -> bool:
        """Whether this input is given."""
        return index < len(self.node.input) and bool(self.node.input[index])

    def shape(self, index: int = 0) -> tuple[Terms, ...]:
        """The shape of an input; UnderivableError where it is not known."""
        value = self.inputs[index] if index < len(self.inputs) else None
        if value is None or value.shape is None:
            raise UnderivableError("the shape of an input is not known")
        extents = tuple(entry for entry in value.shape if entry is not None)
        if len(extents) < len(value.shape):
            raise UnderivableError("a dimension of an input is not known")
        return extents

    def numbers(self, index: int) -> tuple[Terms, ...]:
        """The numbers in an input."""
        value = self.inputs[index] if index < len(self.inputs) else None
        numbers = () if value is None or value.numbers is None else value.numbers
        known = tuple(entry for entry in numbers if entry is not None)
        if value is None or value.numbers is None or len(known) < len(numbers):
            why = "" if value is None or not value.lost else f": {value.lost}"
            message = f"it follows from the numbers in {self._name(index)}, which are not known{why}"
            raise UnderivableError(message)
        return known

    def constants(self, index: int) -> tuple[int, ...]:
        """The numbers in an input, which are the same at every value."""
        constants = [number.number for number in self.numbers(index)]
        known = tuple(entry for entry in constants if entry is not None)
        if len(known) < len(constants):
            raise UnderivableError(
                f"it follows from the numbers in {self._name(index)}, which depend on symbols"
            )
        return known

    def floats(self, index: int) -> tuple[float, ...] | None:
        """The fractions in a constant input."""
        value = self.inputs[index] if index < len(self.inputs) else None
        return None if value is None else value.floats

    def wholes(self, name: str) -> tuple[int, ...] | None:
        """A list in an attribute."""
        attribute = self._attributes().get(name)
        return None if attribute is None else tuple(attribute.ints)

    def whole(self, name: str, default: int) -> int:
        """A number in an attribute."""
        attribute = self._attributes().get(name)
        return default if attribute is None else attribute.i

    def text(self, name: str, default: str) -> str:
        """A text in an attribute."""
        attribute = self._attributes().get(name)
        return default if attribute is None else attribute.s.decode("utf-8", "replace")

    def attribute(self, name: str) -> "onnx.AttributeProto | None":
        """An attribute as it is."""
        return self._attributes().get(name)

    def require(self, extent: Terms, message: str) -> None:
        """Note what must be at least 0 at every value."""
        low, _ = self.formulas.bounds(extent)
        if low < 0:
            self.conditions.append(Condition(extent, message))

    def require_same(self, one: Terms, other: Terms, message: str) -> None:
        """Note what must be the same at every value."""
        if one != other:
            texts = self.formulas.text(one), self.formulas.text(other)
            said = f"{message}: {texts[0]} and {texts[1]}"
            self.require(one - other, said)
            self.require(other - one, said)

    def _attributes(self) -> "Mapping[str, onnx.AttributeProto]":
        return {text_of(entry.name): entry for entry in self.node.attribute}

    def _name(self, index: int) -> str:
        return repr(text_of(self.node.input[index])) if self.has(index) else f"input {index}"


def axis_of(axis: int, rank: int) -> int:
    """The axis counted from the front; UnderivableError for none of this rank."""
    if not -rank <= axis < rank:
        raise UnderivableError(f"there is no axis {axis}")
    return axis % rank


EXACT: Final = 1 << 24
"""Below this, whole numbers are the same as fractions of 32 bits."""


def same(of: Operation) -> list[Shape]:
    """All outputs are as large as the first input."""
    return [of.shape(0)] * len(of.node.output)


def reshape(of: Operation) -> list[Shape]:
    """Reshape."""
    source = of.shape(0)
    attribute = of.wholes("shape")
    wanted = [a_number(entry) for entry in attribute] if attribute is not None else list(of.numbers(1))
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
    quotient = whole.divided(taken) if taken.terms else None
    if quotient is None:
        one, two = of.formulas.text(whole), of.formulas.text(taken)
        raise UnderivableError(f"{one} elements are not a multiple of {two} at every value")
    return quotient


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
    extents = [a_number(1)] * rank
    for shape in shapes:
        for i, extent in enumerate(shape, rank - len(shape)):
            extents[i] = both(of, extents[i], extent, i)
    return tuple(extents)


def both(of: Operation, one: Terms, other: Terms, axis: int) -> Terms:
    """The extent that both have where each 1 is repeated."""
    if one == other or other.number == 1:
        return one
    if one.number == 1:
        return other
    for entry in (one, other):
        # Wherever the model runs, the other is the same or 1.
        if entry.number is not None:
            return entry
    for entry in (one, other):
        if of.formulas.bounds(entry)[0] > 1:
            return entry
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
    bounds = of.numbers(0), of.numbers(1), of.constants(2)
    if any(len(entry) != 1 for entry in bounds):
        raise UnderivableError("its start, limit and step are not one number each")
    (start,), (limit,), (delta,) = bounds
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
    quotient = extent.divided(a_number(by)) if by > 0 else None
    if quotient is None:
        message = f"{of.formulas.text(extent)} is not a multiple of {by} at every value"
        raise UnderivableError(f"{message}; give the range a step")
    return quotient


def resize(of: Operation) -> list[Shape]:
    """Resize and Upsample, to given sizes or by given factors."""
    source = of.shape(0)
    scales_at = 1 if of.kind == "Upsample" or of.opset < 11 else 2
    if of.text("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize":
        raise UnderivableError("it takes a region of its input")
    axes = of.wholes("axes") or tuple(range(len(source)))
    extents = list(source)
    if scales_at == 2 and of.has(3):
        if of.text("keep_aspect_ratio_policy", "stretch") != "stretch":
            raise UnderivableError("it keeps the ratio of the sides")
        sizes = of.numbers(3)
        if len(sizes) != len(axes):
            raise UnderivableError("its sizes do not have a number for each axis")
        for axis, size in zip(axes, sizes, strict=True):
            extents[axis_of(axis, len(source))] = size
        return [tuple(extents)]
    attribute = of.attribute("scales")
    scales = tuple(attribute.floats) if attribute is not None else of.floats(scales_at)
    if scales is None or len(scales) != len(axes):
        raise UnderivableError("its factors are not known")
    for axis, scale in zip(axes, scales, strict=True):
        at = axis_of(axis, len(source))
        extents[at] = _scaled(of, source[at], Fraction(scale))
    return [tuple(extents)]


def _scaled(of: Operation, extent: Terms, scale: Fraction) -> Terms:
    if scale <= 0:
        raise UnderivableError("its factors are not above 0")
    low, high = of.formulas.bounds(extent)
    if low < 0 or high * scale.numerator >= EXACT:
        raise UnderivableError(
            "its factors are no simple fractions: what is rounded down differs between runtimes"
        )
    return of.formulas.floor_div(extent * scale.numerator, scale.denominator)


def concat(of: Operation) -> list[Shape]:
    """Concat: as long as its parts together."""
    shapes = [of.shape(i) for i in range(len(of.node.input))]
    axis = axis_of(of.whole("axis", 1), len(shapes[0]))
    if any(len(shape) != len(shapes[0]) for shape in shapes):
        raise UnderivableError("its inputs have different numbers of dimensions")
    whole = a_number(0)
    for shape in shapes:
        whole = whole + shape[axis]
    # The others are the same in all inputs wherever the model runs; a number says most.
    extents = [
        next((shape[i] for shape in shapes if shape[i].number is not None), shapes[0][i])
        for i in range(len(shapes[0]))
    ]
    extents[axis] = whole
    return [tuple(extents)]


def split(of: Operation) -> list[Shape]:
    """Split, into equal parts or parts of given lengths."""
    source = of.shape(0)
    axis = axis_of(of.whole("axis", 0), len(source))
    count = len(of.node.output)
    attribute = of.wholes("split")
    if attribute:
        lengths = [a_number(entry) for entry in attribute]
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
    starts, ends, axes, steps = slice_parameters(of)
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise UnderivableError("starts, ends, axes and steps do not fit together")
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        at = axis_of(axis, len(source))
        source[at] = length_of_slice(of, source[at], start, end, step)
    return [tuple(source)]


def slice_parameters(
    of: Operation,
) -> tuple[Sequence[Terms], Sequence[Terms], tuple[int, ...], tuple[int, ...]]:
    """The starts, ends, axes and steps of a Slice: attributes at first, inputs later."""
    if of.opset < 10:
        starts, ends = ([a_number(whole) for whole in of.wholes(name) or ()] for name in ("starts", "ends"))
        return starts, ends, of.wholes("axes") or tuple(range(len(starts))), (1,) * len(starts)
    first, last = of.numbers(1), of.numbers(2)
    axes = of.constants(3) if of.has(3) else tuple(range(len(first)))
    return first, last, axes, of.constants(4) if of.has(4) else (1,) * len(first)


def length_of_slice(of: Operation, extent: Terms, start: Terms, end: Terms, step: int) -> Terms:
    """How many elements a slice takes of so many."""
    formulas = of.formulas
    if step > 0:
        first = _within(of, start, extent, 0, 0)
        last = _within(of, end, extent, 0, 0)
        return formulas.most(formulas.ceil_div(last - first, step), a_number(0))
    if end.number is not None and end.number >= ALL_THAT_FOLLOW:
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
    if place.number is not None and place.number >= ALL_THAT_FOLLOW:
        return extent + below_end
    if place.number is not None and place.number <= -ALL_THAT_FOLLOW:
        return a_number(low)
    if least < 0 <= most:
        raise UnderivableError("a slice from a place that is counted from the front or from the end")
    counted = place + extent if most < 0 else place
    return of.formulas.least(of.formulas.most(counted, a_number(low)), extent + below_end)


def pad(of: Operation) -> list[Shape]:
    """Pad."""
    source = list(of.shape(0))
    if of.opset < 11:
        attribute = of.wholes("pads") or of.wholes("paddings") or ()
        pads = [a_number(entry) for entry in attribute]
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


WEIGHTS: Final = {"QLinearConv": 3}
"""The input with the weights, where that is not the second."""


def convolution(of: Operation) -> list[Shape]:
    """Conv, ConvInteger, QLinearConv."""
    source, weights = of.shape(0), of.shape(WEIGHTS.get(of.kind, 1))
    kernel = of.wholes("kernel_shape") or tuple(_fixed(weight) for weight in weights[2:])
    return [(source[0], weights[0], *_slid(of, source[2:], kernel))]


def pool(of: Operation) -> list[Shape]:
    """MaxPool, AveragePool, LpPool: as many outputs of one shape as there are."""
    source = of.shape(0)
    kernel = of.wholes("kernel_shape") or ()
    return [(*source[:2], *_slid(of, source[2:], kernel))] * len(of.node.output)


def transposed(of: Operation) -> list[Shape]:
    """ConvTranspose."""
    source, weights = of.shape(0), of.shape(1)
    kernel = of.wholes("kernel_shape") or tuple(_fixed(weight) for weight in weights[2:])
    count = len(source) - 2
    strides, dilations, pads, auto = _attributes(of, count, len(kernel))
    more = of.wholes("output_padding") or (0,) * count
    attribute = of.wholes("output_shape")
    if len(more) != count:
        raise UnderivableError("its attributes do not have a number for each axis")
    if attribute:
        extents = [a_number(entry) for entry in attribute[-count:]]
    elif auto in ("NOTSET", "VALID"):
        extents = [
            source[2 + i] * strides[i]
            + (more[i] - strides[i] + (kernel[i] - 1) * dilations[i] + 1)
            - (pads[i] + pads[i + count])
            for i in range(count)
        ]
    elif not any(more) and all(dilation == 1 for dilation in dilations):
        extents = [source[2 + i] * strides[i] for i in range(count)]
    else:
        raise UnderivableError("auto_pad together with output_padding or dilations")
    return [(source[0], weights[1] * of.whole("group", 1), *extents)]


def unpooled(of: Operation) -> list[Shape]:
    """MaxUnpool: to a given shape, or to what the windows cover."""
    source = of.shape(0)
    if of.has(2):
        wanted = of.numbers(2)
        if len(wanted) != len(source):
            raise UnderivableError("its shape does not have a number for each axis")
        return [wanted]
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
    extents = []
    for i, extent in enumerate(source):
        if auto in ("SAME_UPPER", "SAME_LOWER"):
            if dilations[i] != 1 or ceil:
                raise UnderivableError("auto_pad together with dilations or ceil_mode")
            extents.append(of.formulas.ceil_div(extent, strides[i]))
            continue
        if auto == "VALID" and ceil:
            raise UnderivableError("auto_pad together with ceil_mode")
        before, after = pads[i], pads[i + len(source)]
        window = (kernel[i] - 1) * dilations[i] + 1
        room = extent + (before + after - window)
        of.require(room, f"the window of {window} does not fit into axis {i + 2} with its padding")
        if not ceil:
            extents.append(of.formulas.floor_div(room, strides[i]) + 1)
            continue
        if after >= window:
            raise UnderivableError("ceil_mode with padding as wide as the window")
        # Windows that would begin behind the input are left out: shape inference of ONNX counts them.
        all_of_them = of.formulas.ceil_div(room, strides[i]) + 1
        extents.append(of.formulas.least(all_of_them, of.formulas.ceil_div(extent + before, strides[i])))
        of.is_own = of.is_own or extents[-1] != all_of_them
    return extents


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


_DOTS = "..."
_NO_FIT = "its equation does not fit its inputs"


def einsum(of: Operation) -> list[Shape]:
    """Einsum: 1 is repeated where another input has more, which shape inference of ONNX does not know."""
    left, arrow, right = of.text("equation", "").replace(" ", "").partition("->")
    labels = left.split(",")
    if len(labels) != len(of.node.input):
        raise UnderivableError(_NO_FIT)
    shapes = [of.shape(i) for i in range(len(labels))]
    places = {
        len(shape) - len(text) + len(_DOTS)
        for text, shape in zip(labels, shapes, strict=True)
        if _DOTS in text
    }
    if len(places) > 1:
        raise UnderivableError("its dots stand for different numbers of dimensions")
    dots = [f"{i}." for i in range(max(places, default=0))]
    extent_of: dict[str, Terms] = {}
    for text, shape in zip(labels, shapes, strict=True):
        letters = _letters(text, dots)
        if len(letters) != len(shape):
            raise UnderivableError(_NO_FIT)
        for axis, (letter, extent) in enumerate(zip(letters, shape, strict=True)):
            before = extent_of.get(letter, extent)
            extent_of[letter] = both(of, before, extent, axis)
            of.is_own = of.is_own or before != extent
    result = _letters(right, dots) if arrow else [*dots, *_once(left)]
    if not set(result) <= set(extent_of):
        raise UnderivableError(_NO_FIT)
    return [tuple(extent_of[letter] for letter in result)]


def _letters(text: str, dots: list[str]) -> list[str]:
    """The letters of one input, or of the output, in which the dots are some as well."""
    before, ellipsis, after = text.partition(_DOTS)
    if not all(entry.isalpha() and entry.isascii() for entry in before + after):
        raise UnderivableError(_NO_FIT)
    return [*before, *(dots if ellipsis else []), *after]


def _once(left: str) -> list[str]:
    """Without an arrow: the letters that are there once, in their order."""
    letters = [entry for entry in left if entry.isalpha()]
    single = sorted(letter for letter in letters if letters.count(letter) == 1)
    if any(entry.isupper() for entry in single) and any(entry.islower() for entry in single):
        raise UnderivableError("its equation has no arrow, and letters in upper and lower case")
    return single
