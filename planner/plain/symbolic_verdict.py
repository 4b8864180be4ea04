"""The verdict on offsets of a problem with symbols in columns: by the same judge, without objects."""

from array import array
from collections.abc import Sequence

from memstow.planner.judge._judge import Defect, Frame, Goal, frame, judge_plan, judge_related, peaks_of
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import choices_of, end_of, ints_of, memory_of, pairs_of
from memstow.planner.plain.symbolic_documents import Offsets, SymbolicColumns
from memstow.planner.verify.symbolic_verdict import judge_offsets
from memstow.planner.verify.verdict import Verdict


def verdict_on_offsets(symbolic: SymbolicColumns, plan: Offsets) -> Verdict | None:
    """The verdict on a plan with the digest of the problem; None where its offsets may not hold."""

    def lay(largest: Sequence[int]) -> _Laid | None:
        return _laid(symbolic, plan, largest)

    return judge_offsets(symbolic.frame, plan.frame, lay)


class _Laid:
    """Offsets that hold with all sizes at their largest, so at every value."""

    def __init__(self, symbolic: SymbolicColumns, plan: Offsets, native: Frame, peaks: Sequence[int]) -> None:
        self._symbolic = symbolic
        self._places = plan.offsets, plan.homes
        self._native = native
        self.peaks = peaks
        """By pool, with all sizes at their largest."""

    def peak_and_least(self, sizes: Sequence[int]) -> tuple[int, int]:
        """The objective where the formulas have these sizes, and the least of any layout."""
        column = self._symbolic.put(sizes).sizes
        peaks = peaks_of(column, self._places, len(self.peaks))
        return sum(peaks), self._native.least(column, Goal.SUM, 0)


def _laid(symbolic: SymbolicColumns, plan: Offsets, largest: Sequence[int]) -> _Laid | None:
    columns = symbolic.put(largest)
    if not columns.related:
        (defect, _, _), peak, _, _ = judge_plan(*ints_of(columns), plan.offsets, end_of(columns))
        native = _frame_of(columns) if defect is Defect.NONE else None
        return None if native is None else _Laid(symbolic, plan, native, [peak])
    (defect, _, _), used, _ = judge_related(
        ints_of(columns),
        (plan.offsets, plan.homes),
        memory_of(columns),
        choices_of(columns),
        columns.pins,
        pairs_of(columns),
        columns.ties,
    )
    native = _frame_of(columns) if defect is Defect.NONE else None
    return None if native is None else _Laid(symbolic, plan, native, [peak for peak, _, _ in used])


def _frame_of(columns: Columns) -> Frame | None:
    """All of the problem but the sizes."""
    _, begins, ends, alignments = ints_of(columns)
    count = len(columns)
    described, _, lists = memory_of(columns)
    # The last is for -1: any pool.
    bits = [*(sum(1 << pool for pool in set(pools)) for pools in lists), (1 << len(described)) - 1]
    list_of, _ = choices_of(columns)
    allowed = array("q", map(bits.__getitem__, list_of)) if list_of else array("q", bits[-1:]) * count
    conflicts, exclusive, in_place = (
        (array("q", pairs[::2]), array("q", pairs[1::2])) for pairs in pairs_of(columns)
    )
    ties = columns.ties
    return frame(
        (
            begins,
            ends,
            alignments if len(alignments) == count else array("q", alignments) * count,
            columns.pins,
        ),
        allowed,
        array("q", [capacity for capacity, *_ in described]),
        conflicts,
        exclusive,
        in_place,
        (array("q", ties[::3]), array("q", ties[1::3]), array("q", ties[2::3])),
    )
