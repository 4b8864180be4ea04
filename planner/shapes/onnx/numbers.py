"""Whole numbers that a model computes from shapes, as formulas: what reshapes and slices are told."""

from collections.abc import Callable, Mapping
from typing import Final

from memstow.planner.shapes.onnx.operation import Numbers, Operation, UnderivableError, Value, axis_of
from memstow.planner.shapes.onnx.terms import Terms, a_number, product_of

MOST_NUMBERS: Final = 64
INT32: Final = 6
INT64: Final = 7


def numbers_of(of: Operation) -> Numbers | None:
    """The numbers in the only output; None where they are not followed."""
    rule = _RULES.get(of.kind)
    if rule is None or len(of.node.output) != 1:
        return None
    found = rule(of)
    return found if found is None or len(found) <= MOST_NUMBERS else None


def _shape(of: Operation) -> Numbers | None:
    value = of.inputs[0]
    if value is None or value.shape is None:
        return None
    rank = len(value.shape)
    start, end = of.whole("start", 0), of.whole("end", rank)
    start, end = (max(0, min(rank, it + rank if it < 0 else it)) for it in (start, end))
    return value.shape[start:end]


def _size(of: Operation) -> Numbers:
    return (product_of(of.shape(0)),)


def _all_of_first(of: Operation) -> Numbers | None:
    value = of.inputs[0]
    return None if value is None else value.numbers


def _cast(of: Operation) -> Numbers | None:
    found, to = _all_of_first(of), of.whole("to", 0)
    if found is None or to == INT64:
        return found
    # What does not fit into 32 bits is left out where the output is noted.
    return found if to == INT32 else None


def _is_small(of: Operation, extent: Terms) -> bool:
    low, high = of.formulas.bounds(extent)
    return -(1 << 31) <= low <= high < 1 << 31


def _gathered(of: Operation) -> Numbers | None:
    found = _all_of_first(of)
    value = of.inputs[0]
    if found is None or value is None or value.shape is None or len(value.shape) != 1 or of.whole("axis", 0):
        return None
    chosen = of.constants(1)
    return tuple(found[axis_of(it, len(found))] for it in chosen)


def _sliced(of: Operation) -> Numbers | None:
    found = _all_of_first(of)
    if found is None or of.opset < 10:
        return None
    starts, ends = of.constants(1), of.constants(2)
    steps = of.constants(4) if of.has(4) else (1,)
    if (len(starts), len(ends), len(steps)) != (1, 1, 1) or steps[0] < 1:
        return None
    return found[starts[0] : ends[0] : steps[0]]


def _joined(of: Operation) -> Numbers | None:
    found: list[Terms | None] = []
    for value in of.inputs:
        if value is None:
            return None
        if value.numbers is not None:
            found += value.numbers
        elif value.shape is not None and len(value.shape) == 1 and value.shape[0] is not None:
            count = value.shape[0].number
            if count is None or not 0 <= count <= MOST_NUMBERS:
                return None
            found += [None] * count
        else:
            return None
    return tuple(found)


def _filled(of: Operation) -> Numbers | None:
    count = [it.number for it in of.numbers(0)]
    attribute = of.attribute("value")
    if len(count) > 1 or None in count or attribute is None or attribute.t.data_type not in (INT32, INT64):
        return None
    from onnx.numpy_helper import to_array

    value = a_number(int(to_array(attribute.t).reshape(-1)[0]))
    return (value,) * min(MOST_NUMBERS + 1, max(0, count[0] or 0) if count else 1)


def _pairwise(
    rule: "Callable[[Operation, Terms, Terms], Terms | None]",
) -> "Callable[[Operation], Numbers | None]":
    def numbers(of: Operation) -> Numbers | None:
        found: Numbers | None = _all_of_first(of)
        for value in of.inputs[1:]:
            other = None if value is None else value.numbers
            if (
                found is None
                or other is None
                or 1 not in (len(found), len(other), 1 + len(found) - len(other))
            ):
                return None
            count = max(len(found), len(other)) if found and other else 0
            left = found * count if len(found) == 1 else found
            right = other * count if len(other) == 1 else other
            found = tuple(
                None if a is None or b is None else rule(of, a, b) for a, b in zip(left, right, strict=True)
            )
        return found

    return numbers


def _divided(of: Operation, one: Terms, other: Terms) -> Terms | None:
    """Runtimes round towards 0."""
    below = other.number
    if below is None:
        return one.divided(other) if of.formulas.bounds(other)[0] > 0 else None
    if below < 1 or of.formulas.bounds(one)[0] < 0:
        return one.divided(other) if below else None
    return of.formulas.floor_div(one, below)


def _remainder(of: Operation, one: Terms, other: Terms) -> Terms | None:
    below = other.number
    if below is None or below < 1 or of.formulas.bounds(one)[0] < 0:
        return None
    return one - of.formulas.floor_div(one, below) * below


def _equal(of: Operation, one: Terms, other: Terms) -> Terms | None:
    if one == other:
        return a_number(1)
    low, high = of.formulas.bounds(one - other)
    return a_number(0) if low > 0 or high < 0 else None


def _chosen(of: Operation) -> Numbers | None:
    first, one, other = (None if it is None else it.numbers for it in of.inputs[:3])
    if first is None or one is None or other is None:
        return None
    count = max(len(first), len(one), len(other))
    rows = [it * count if len(it) == 1 else it for it in (first, one, other)]
    if any(len(it) != count for it in rows):
        return None
    return tuple(
        (yes if choice.number else no) if choice is not None and choice.number is not None else None
        for choice, yes, no in zip(*rows, strict=True)
    )


def _multiplied(of: Operation) -> Numbers | None:
    if of.has(1) or of.wholes("axes") not in (None, (0,), (-1,)):
        return None
    return (product_of(of.numbers(0)),)


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
    "Equal": _pairwise(_equal),
    "Add": _pairwise(lambda _, a, b: a + b),
    "Sub": _pairwise(lambda _, a, b: a - b),
    "Mul": _pairwise(lambda _, a, b: a * b),
    "Min": _pairwise(lambda of, a, b: of.formulas.least(a, b)),
    "Max": _pairwise(lambda of, a, b: of.formulas.most(a, b)),
    "Div": _pairwise(_divided),
    "Mod": _pairwise(_remainder),
}


def with_numbers(of: Operation, value: Value, kind: int) -> None:
    """Note the numbers in an output of this type, where it is a list or one number and they are followed."""
    if value.shape is None or len(value.shape) > 1:
        return
    try:
        found = numbers_of(of)
    except UnderivableError:
        return
    count = value.shape[0].number if value.shape and value.shape[0] is not None else 1
    if found is not None and kind == INT32:
        found = tuple(it if it is not None and _is_small(of, it) else None for it in found)
    if found is not None and (not value.shape or count == len(found)):
        value.numbers = found if value.shape or len(found) == 1 else None
