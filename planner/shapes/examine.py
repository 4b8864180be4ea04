"""Whether a formula is a size at every value of its symbols; if not, a value at which it is not.

A proof by intervals or directions where there is one, else all values where they are few, else the range is
split into boxes: those that are proven are dropped, the corners of the others are tried.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from memstow.planner.model.symbolic import Symbol
from memstow.planner.model.symbolic_points import count_of
from memstow.planner.shapes.extremes import (
    MOST_VALUES,
    ByAll,
    Effort,
    all_values,
    corner,
    is_monotone,
    no_extremes,
    used_symbols,
    value_count,
    whole_ranges,
)
from memstow.planner.shapes.formula.compiled import Formula, compile_formula
from memstow.planner.shapes.formula.errors import FormulaValueError
from memstow.planner.shapes.formula.facts import Direction, facts_of
from memstow.planner.shapes.formula.nodes import Node

_MOST_BOXES: Final = 2_000
_BOX_EFFORT: Final = 40
"""What a box costs, in evaluations."""


@dataclass(frozen=True, slots=True)
class NoSize:
    """A formula that is no size: where and why; `at` is None where it only could not be shown to be one."""

    code: str
    at: dict[str, int] | None
    message: str


def examine(
    node: Node, symbols: Mapping[str, Symbol], effort: Effort, by_all: ByAll = no_extremes
) -> NoSize | None:
    """None if the formula is within 0 and 2^62 at every value, with nothing beyond +-2^62 on the way.

    `by_all` looks at all of its values faster, where it can.
    """
    used = used_symbols(node, symbols)
    if _is_sound(node, used):
        return None
    function = compile_formula(node)
    for ends in ({name: it.min for name, it in used.items()}, {name: it.max for name, it in used.items()}):
        if found := _tried(function, ends):
            return found
    count = value_count(used)
    if count <= MOST_VALUES and effort.affords(node, count):
        if by_all() is not None:
            return None
        return next((found for at in all_values(used) if (found := _tried(function, at))), None)
    return _split(node, function, used, effort)


def _is_sound(node: Node, box: Mapping[str, Symbol]) -> bool:
    """Whether the formula is proven to be a size in the whole box."""
    facts = facts_of(node, whole_ranges(box))
    if not facts.sure:
        return False
    if facts.low >= 0:
        return True
    # One direction in each symbol: the least value is at a corner, which is a smaller box.
    lowest = corner(facts, box, top=False)
    if is_monotone(facts, box):
        return facts_of(node, {name: (value, value) for name, value in lowest.items()}).low >= 0
    ranges = {
        name: (lowest[name], lowest[name])
        if facts.direction(name) is not Direction.UNKNOWN
        else (symbol.min, symbol.max)
        for name, symbol in box.items()
    }
    return facts_of(node, ranges).low >= 0


def _tried(function: Formula, at: dict[str, int]) -> NoSize | None:
    try:
        value = function(at)
    except FormulaValueError as error:
        return NoSize(error.code, at, str(error))
    if value < 0:
        return NoSize("formula_negative", at, f"the size is {value:,}, below 0")
    return None


def _split(node: Node, function: Formula, whole: dict[str, Symbol], effort: Effort) -> NoSize | None:
    boxes = deque([whole])
    for _ in range(_MOST_BOXES):
        if not boxes:
            return None
        if not effort.affords(node, _BOX_EFFORT):
            break
        box = boxes.popleft()
        if _is_sound(node, box):
            continue
        for ends in ({name: it.min for name, it in box.items()}, {name: it.max for name, it in box.items()}):
            if found := _tried(function, ends):
                return found
        boxes.extend(_halves(box))
    return (
        NoSize("formula_not_shown", None, "the size cannot be shown to stay within 0 and 2^62")
        if boxes
        else None
    )


def _halves(box: dict[str, Symbol]) -> tuple[dict[str, Symbol], ...]:
    """The box cut in the middle of the symbol that takes most values; nothing of a box of one value."""
    widest = max(box.values(), key=count_of, default=None)
    if widest is None or count_of(widest) < 2:
        return ()
    middle = widest.min + (count_of(widest) // 2) * widest.step
    ranges = ((widest.min, middle - widest.step), (middle, widest.max))
    return tuple(
        {**box, widest.id: Symbol(id=widest.id, min=low, max=high, step=widest.step)} for low, high in ranges
    )
