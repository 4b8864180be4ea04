"""The certificates of bounds that windows of time show.

Each is shown to the judge's search first, with no more than the buffers that it names: where that finds a
layout, there is no certificate, and the bound before stays.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memstow.planner.model.plan import ExhaustedWindow
from memstow.planner.model.problem import Buffer, Pool, Problem, Term
from memstow.planner.plain._columns import Columns
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.peak_bounds import reason_against_window
from memstow.planner.verify.verdict import STEPS_IN_A_RUN, Findings, TooMuch
from memstow.solvers import solver as solvers

if TYPE_CHECKING:
    from memstow.planner.reduce import Reduction


def of_reduction(
    reduction: "Reduction", window: solvers.Window, term: Term, bound: int, solver: str
) -> ExhaustedWindow | None:
    """The certificate in the names of the problem; None where the judge would not take it."""
    problem = reduction.problem
    buffers = [problem.buffers[reduction.part_buffer[part]] for part in window.parts]
    first, last = reduction.moment(window.first), reduction.moment(window.last)
    if first is None or last is None:
        return None
    named = {buffer.id for buffer in buffers}
    part = replace(
        problem,
        buffers=tuple(buffers),
        conflicts=(),
        exclusive=tuple(pair for pair in problem.exclusive if named.issuperset(pair)),
        in_place=tuple(it for it in problem.in_place if named.issuperset((it.input, it.output))),
        relative=(),
        reuse_costs=(),
    )
    return _accepted(part, (first, last), term, bound, solver)


def of_columns(
    columns: Columns, members: Sequence[int], window: solvers.Window, term: Term, bound: int, solver: str
) -> ExhaustedWindow | None:
    """The same for these buffers of columns."""
    alignments = columns.alignments
    buffers = [
        Buffer(
            id=columns.name(member),
            size=columns.sizes[member],
            lifetime=(columns.begins[member], columns.ends[member]),
            alignment=alignments[member if len(alignments) > 1 else 0],
        )
        for member in members
    ]
    pool = Pool(id=columns.pool, capacity=columns.capacity)
    part = Problem(version=1, buffers=tuple(buffers), pools=(pool,))
    return _accepted(part, (window.first, window.last), term, bound, solver)


def _accepted(
    part: Problem, moments: tuple[int, int], term: Term, bound: int, solver: str
) -> ExhaustedWindow | None:
    """The certificate about all buffers of this part of the problem."""
    first, last = moments
    names = tuple(buffer.id for buffer in part.buffers)
    window = ExhaustedWindow(solver=solver, pool=part.pools[0].id, begin=first, end=last + 1, buffers=names)
    findings = Findings()
    index = ProblemIndex(part, findings)
    try:
        reason = reason_against_window(index, term, bound, window, STEPS_IN_A_RUN)
    except TooMuch:
        # It stays a claim.
        reason = None
    return window if reason is None and not findings.total else None
