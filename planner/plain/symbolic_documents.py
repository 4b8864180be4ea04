"""Problems with symbols in columns: read and written without an object for each buffer.

A buffer has a size, or the number of its formula. Each formula is there once, as a buffer of a small problem
with the same symbols, pools and aim (`frame`): what can be said of formulas is said of that, by the ordinary
checks and the ordinary judge.
"""

from array import array
from collections.abc import Iterable
from typing import Final

from memstow.planner.check import find_issues
from memstow.planner.formats.native import write_symbolic_plan
from memstow.planner.formulas.sizes import with_largest_sizes
from memstow.planner.model.digest import LINE, hasher
from memstow.planner.model.errors import InputError
from memstow.planner.model.model_class import instances_of
from memstow.planner.model.symbolic import SymbolicBuffer, SymbolicPlan, SymbolicProblem, head_of_canonical
from memstow.planner.plain import _columns
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import (
    LINES_AT_ONCE,
    are_pools_sound,
    canonical,
    placements_of,
    pools_of,
)
from memstow.planner.plain.column_documents import problem_of as ordinary_problem_of
from memstow.planner.reading.json_text import parse_json
from memstow.planner.reading.parse import parse_problem
from memstow.records import collector_at_rest, record, replace


@record
class SymbolicColumns:
    """A problem whose sizes may be formulas."""

    columns: Columns
    """Sizes that are formulas are those that were put last."""
    frame: SymbolicProblem
    """The same with a buffer for each formula instead of its buffers."""

    def put(self, sizes: Iterable[int]) -> Columns:
        """The columns where the formulas have these sizes, until others are put."""
        self.columns.put_sizes(array("q", sizes))
        return self.columns

    def put_largest(self) -> Columns:
        """The columns with each size at its largest."""
        return self.put([buffer.size for buffer in with_largest_sizes(self.frame).buffers])


@record
class Offsets:
    """A plan of such a problem that has an offset for each buffer."""

    frame: SymbolicPlan
    """The plan without its placements."""
    offsets: "array[int]"
    """By buffer."""
    homes: "array[int]"
    """By buffer, the number of its pool, where there are several."""


def symbolic_columns_in(data: bytes) -> SymbolicColumns | None:
    """The problem with symbols in the JSON, if it is plain or related; None where others should read it."""
    with collector_at_rest():
        columns = _columns.read_symbolic(data)
        if columns is None:
            return None
        try:
            frame = _frame_of(columns)
        except InputError:
            return None
        read = SymbolicColumns(columns, frame)
        if find_issues(frame):
            return None
        # What depends on sizes holds at any value where it does with the largest.
        read.put_largest()
        if columns.pools_text and not are_pools_sound(columns):
            return None
        has_bytes = any(columns.sizes) and len(frame.pools) <= MOST_POOLS
        return read if has_bytes and columns.are_plainly_sound() else None


def _frame_of(columns: Columns) -> SymbolicProblem:
    """The problem with a buffer for each formula, which nobody has checked."""
    raw = parse_json(columns.symbols_text)
    if not isinstance(raw, dict):
        raise AssertionError("an object was put together")
    head = parse_problem({"version": 1, "buffers": [], **raw}, SymbolicProblem)
    texts = columns.formulas
    buffers = instances_of(
        SymbolicBuffer, len(texts), id=list(map(str, range(len(texts)))), size=texts, lifetime=(0, 1)
    )
    return replace(head, buffers=buffers, pools=pools_of(columns))


def digest(symbolic: SymbolicColumns) -> str:
    """SHA-256 of the canonical form, in hex."""
    columns = symbolic.columns
    identity = hasher(len(columns) * LINE)
    identity.update(head_of_canonical(symbolic.frame).encode())
    for first in range(0, len(columns), LINES_AT_ONCE):
        identity.update(columns.canonical_sizes(first, first + LINES_AT_ONCE))
    for part in canonical(columns):
        identity.update(part)
    return identity.hexdigest()


def symbolic_problem_of(symbolic: SymbolicColumns) -> SymbolicProblem:
    """The same problem with an object for each buffer."""
    columns, texts = symbolic.columns, symbolic.columns.formulas
    with collector_at_rest():
        ordinary = ordinary_problem_of(columns)
        buffers = ordinary.buffers
        sizes: list[int | str] = [buffer.size for buffer in buffers]
        for number, formula in enumerate(columns.formula_of):
            if formula >= 0:
                sizes[number] = texts[formula]
        return replace(
            symbolic.frame,
            pools=ordinary.pools,
            buffers=instances_of(
                SymbolicBuffer,
                len(buffers),
                id=[buffer.id for buffer in buffers],
                size=sizes,
                lifetime=[buffer.lifetime for buffer in buffers],
                alignment=[buffer.alignment for buffer in buffers],
                pools=[buffer.pools for buffer in buffers],
                pool=[buffer.pool for buffer in buffers],
                offset=[buffer.offset for buffer in buffers],
            ),
            conflicts=ordinary.conflicts,
            exclusive=ordinary.exclusive,
            relative=ordinary.relative,
            in_place=ordinary.in_place,
        )


def symbolic_plan_of(symbolic: SymbolicColumns, plan: Offsets) -> SymbolicPlan:
    """The same plan with an object for each placement."""
    placements = placements_of(symbolic.columns, plan.offsets, plan.homes)
    return replace(plan.frame, placements=placements)


MOST_POOLS: Final = 62
"""The judge has a bit for each."""
_SHAPES: Final = b'"shapes": "fixed"'


def offsets_as_json(symbolic: SymbolicColumns, plan: Offsets) -> bytes:
    """The plan as native JSON."""
    before, shapes, after = write_symbolic_plan(plan.frame).partition(_SHAPES)
    columns = symbolic.columns
    places = [
        columns.placements(plan.offsets, first, first + LINES_AT_ONCE, plan.homes)
        for first in range(0, len(columns), LINES_AT_ONCE)
    ]
    return b"".join((before, shapes, b',\n  "placements": [\n    ', *places, b"\n  ]", after))
