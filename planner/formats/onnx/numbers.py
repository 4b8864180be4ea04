"""Whole numbers that a model computes from shapes, as formulas: what reshapes and slices are told.

Beside them, fractions that it puts together from constants: the factors of a Resize.
"""

from collections.abc import Callable, Mapping
from typing import Final

from memstow.planner.formats.onnx.dimensions import ALL_THAT_FOLLOW, FLOAT, INT32, INT64
from memstow.planner.formats.onnx.rules import (
    EXACT,
    Numbers,
    Operation,
    UnderivableError,
    Value,
    axis_of,
    slice_parameters,
    split,
)
from memstow.planner.formats.onnx.terms import Terms, a_number, product_of


def fractions_of(of: Operation) -> tuple[float, ...] | None:
    """The fractions in the only output, which are the same at every value."""
    if of.kind == "Concat":
        lists = [of.floats(i) for i in range(len(of.node.input))]
        known = [part for part in lists if part is not None]
        return tuple(entry for one in known for entry in one) if len(known) == len(lists) else None
    if of.kind == "Cast":
        numbers = of.constants(0)
        return tuple(map(float, numbers)) if all(abs(number) < EXACT for number in numbers) else None
    if of.kind in ("Identity", "Squeeze", "Unsqueeze", "Reshape"):
        return of.floats(0)
    return None


MOST_NUMBERS: Final = 64


def numbers_of(of: Operation, output: int) -> Numbers | None:
    """The numbers in an output; None where they are not followed."""
    if of.kind == "Split":
        numbers = _part(of, output)
    else:
        rule = _RULES.get(of.kind)
        numbers = rule(of) if rule is not None and len(of.node.output) == 1 else None
    return numbers if numbers is None or len(numbers) <= MOST_NUMBERS else None


def _shape(of: Operation) -> Numbers | None:
    value = of.inputs[0]
    if value is None or value.shape is None:
        return None
    rank = len(value.shape)
    start, end = of.whole("start", 0), of.whole("end", rank)
    start, end = (max(0, min(rank, entry + rank if entry < 0 else entry)) for entry in (start, end))
    return value.shape[start:end]


def _size(of: Operation) -> Numbers:
    return (product_of(of.shape(0)),)


def _all_of_first(of: Operation) -> Numbers | None:
    value = of.inputs[0]
    return None if value is None else value.numbers


def _cast(of: Operation) -> Numbers | None:
    numbers, to = _all_of_first(of), of.whole("to", 0)
    if numbers is None or to == INT64:
        return numbers
    # What does not fit into 32 bits is left out where the output is noted.
    return numbers if to == INT32 else None


def _is_small(of: Operation, extent: Terms) -> bool:
    low, high = of.formulas.bounds(extent)
    return -(1 << 31) <= low <= high < 1 << 31


def _gathered(of: Operation) -> Numbers | None:
    numbers = _all_of_first(of)
    value = of.inputs[0]
    if (
        numbers is None
        or value is None
        or value.shape is None
        or len(value.shape) != 1
        or of.whole("axis", 0)
    ):
        return None
    chosen = of.constants(1)
    return tuple(numbers[axis_of(entry, len(numbers))] for entry in chosen)


def _sliced(of: Operation) -> Numbers | None:
    numbers = _all_of_first(of)
    value = of.inputs[0]
    if numbers is None or value is None or value.shape is None or not value.shape:
        return None
    starts, ends, axes, steps = slice_parameters(of)
    if (len(starts), len(ends), len(axes), len(steps)) != (1, 1, 1, 1) or steps[0] == 0:
        return None
    start, end = starts[0].number, ends[0].number
    if start is None or end is None or axes[0] not in (0, -len(value.shape)):
        return None
    if steps[0] < 0 and end >= ALL_THAT_FOLLOW:
        return None
    count = value.shape[0].number if value.shape[0] is not None else None
    if not count or len(numbers) % count:
        return None
    row = len(numbers) // count
    rows = range(count)[start : end : steps[0]]
    return tuple(entry for i in rows for entry in numbers[i * row : (i + 1) * row])


def _part(of: Operation, output: int) -> Numbers | None:
    numbers = _all_of_first(of)
    lengths = [entry[0].number if len(entry) == 1 and entry[0] is not None else None for entry in split(of)]
    before = [length for length in lengths[: output + 1] if length is not None]
    if numbers is None or len(before) <= output or sum(before) > len(numbers):
        return None
    return numbers[sum(before[:-1]) : sum(before)]


def _turned(of: Operation) -> Numbers | None:
    """Transpose: of a table, as those that make pads of others are."""
    numbers, value = _all_of_first(of), of.inputs[0]
    if numbers is None or value is None or value.shape is None or len(value.shape) != 2:
        return numbers if value is not None and value.shape is not None and len(value.shape) < 2 else None
    if (of.wholes("perm") or (1, 0)) == (0, 1):
        return numbers
    wide = value.shape[1].number if value.shape[1] is not None else None
    return None if not wide else tuple(entry for i in range(wide) for entry in numbers[i::wide])


def _scattered(of: Operation) -> Numbers | None:
    """ScatterND: some numbers of a list take the place of others."""
    numbers = list(_all_of_first(of) or ())
    places, instead = of.constants(1), of.inputs[2]
    rows = of.shape(1)
    if instead is None or instead.numbers is None or len(instead.numbers) != len(places):
        return None
    if len(rows) != 2 or rows[1].number != 1 or of.text("reduction", "none") != "none" or not numbers:
        return None
    for place, number in zip(places, instead.numbers, strict=True):
        numbers[axis_of(place, len(numbers))] = number
    return tuple(numbers)


def _joined(of: Operation) -> Numbers | None:
    numbers: list[Terms | None] = []
    for value in of.inputs:
        if value is None:
            return None
        if value.numbers is not None:
            numbers += value.numbers
        elif value.shape is not None and len(value.shape) == 1 and value.shape[0] is not None:
            count = value.shape[0].number
            if count is None or not 0 <= count <= MOST_NUMBERS:
                return None
            numbers += [None] * count
        else:
            return None
    return tuple(numbers)


def _filled(of: Operation) -> Numbers | None:
    count = [number.number for number in of.numbers(0)]
    attribute = of.attribute("value")
    if len(count) > 1 or None in count or attribute is None or attribute.t.data_type not in (INT32, INT64):
        return None
    from onnx.numpy_helper import to_array

    elements = to_array(attribute.t).reshape(-1)
    if len(elements) != 1:
        return None
    value = a_number(int(elements[0]))
    return (value,) * min(MOST_NUMBERS + 1, max(0, count[0] or 0) if count else 1)


def _pairwise(
    rule: "Callable[[Operation, Terms, Terms], Terms | None]",
) -> "Callable[[Operation], Numbers | None]":
    def numbers(of: Operation) -> Numbers | None:
        result: Numbers | None = _all_of_first(of)
        for value in of.inputs[1:]:
            other = None if value is None else value.numbers
            if (
                result is None
                or other is None
                or 1 not in (len(result), len(other), 1 + len(result) - len(other))
            ):
                return None
            count = max(len(result), len(other)) if result and other else 0
            left = result * count if len(result) == 1 else result
            right = other * count if len(other) == 1 else other
            result = tuple(
                None if a is None or b is None else rule(of, a, b) for a, b in zip(left, right, strict=True)
            )
        return result

    return numbers


def _divided(of: Operation, one: Terms, other: Terms) -> Terms | None:
    """Runtimes round towards 0."""
    below = other.number
    if below is None:
        return one.divided(other) if of.formulas.bounds(other)[0] > 0 else None
    if below < 1:
        return one.divided(other) if below else None
    low, high = of.formulas.bounds(one)
    if low >= 0:
        return of.formulas.floor_div(one, below)
    return of.formulas.floor_div(one * -1, below) * -1 if high <= 0 else one.divided(other)


def _remainder(of: Operation, one: Terms, other: Terms) -> Terms | None:
    below = other.number
    if below is None or below < 1 or (of.whole("fmod", 0) and of.formulas.bounds(one)[0] < 0):
        return None
    return one - of.formulas.floor_div(one, below) * below


def _each(of: Operation, rule: Callable[[Terms], Terms]) -> Numbers | None:
    numbers = _all_of_first(of)
    return None if numbers is None else tuple(None if entry is None else rule(entry) for entry in numbers)


def _equal(of: Operation, one: Terms, other: Terms) -> Terms | None:
    if one == other:
        return a_number(1)
    low, high = of.formulas.bounds(one - other)
    return a_number(0) if low > 0 or high < 0 else None


def _chosen(of: Operation) -> Numbers | None:
    first, one, other = (None if input_ is None else input_.numbers for input_ in of.inputs[:3])
    if first is None or one is None or other is None:
        return None
    count = max(len(first), len(one), len(other))
    rows = [entry * count if len(entry) == 1 else entry for entry in (first, one, other)]
    if any(len(row) != count for row in rows):
        return None
    return tuple(
        (yes if choice.number else no) if choice is not None and choice.number is not None else None
        for choice, yes, no in zip(*rows, strict=True)
    )


def _multiplied(of: Operation) -> Numbers | None:
    axes = of.constants(1) if of.has(1) else of.wholes("axes")
    if axes not in (None, (), (0,), (-1,)) or (not axes and of.whole("noop_with_empty_axes", 0)):
        return None
    return (product_of(of.numbers(0)),)


_OF_TABLES: Final = frozenset(
    ("Identity", "Squeeze", "Unsqueeze", "Reshape", "Flatten", "Cast", "Transpose", "Slice")
)
"""Those that keep track of numbers in tables too: most others would read them as lists."""

_RULES: Final[Mapping[str, Callable[[Operation], Numbers | None]]] = {
    "Shape": _shape,
    "Size": _size,
    "Identity": _all_of_first,
    "Squeeze": _all_of_first,
    "Unsqueeze": _all_of_first,
    "Reshape": _all_of_first,
    "Flatten": _all_of_first,
    "Cast": _cast,
    "Gather": _gathered,
    "Slice": _sliced,
    "Concat": _joined,
    "ConstantOfShape": _filled,
    "ReduceProd": _multiplied,
    "Where": _chosen,
    "Transpose": _turned,
    "ScatterND": _scattered,
    "Neg": lambda of: _each(of, lambda entry: entry * -1),
    "Abs": lambda of: _each(of, lambda entry: of.formulas.most(entry, entry * -1)),
    "Equal": _pairwise(_equal),
    "Add": _pairwise(lambda _, a, b: a + b),
    "Sub": _pairwise(lambda _, a, b: a - b),
    "Mul": _pairwise(lambda _, a, b: a * b),
    "Min": _pairwise(lambda of, a, b: of.formulas.least(a, b)),
    "Max": _pairwise(lambda of, a, b: of.formulas.most(a, b)),
    "Div": _pairwise(_divided),
    "Mod": _pairwise(_remainder),
}


def with_numbers(of: Operation, output: int, value: Value, kind: int) -> None:
    """Note the numbers in an output of this type, where it is a list or one number and they are followed."""
    if value.shape is None or len(value.shape) > (2 if of.kind in _OF_TABLES else 1):
        return
    try:
        if kind == FLOAT:
            value.floats = fractions_of(of)
            return
        numbers = numbers_of(of, output)
    except UnderivableError:
        return
    count = (
        product_of(entry for entry in value.shape if entry is not None).number
        if None not in value.shape
        else None
    )
    if numbers is not None and kind == INT32:
        numbers = tuple(entry if entry is not None and _is_small(of, entry) else None for entry in numbers)
    if numbers is not None and count == len(numbers):
        value.numbers = numbers
