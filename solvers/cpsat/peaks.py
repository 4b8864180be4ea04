"""Expressions of the terms about peaks, from a variable for the peak of each pool."""

from collections.abc import Mapping
from typing import Any

from ortools.sat.python import cp_model

from memstow.solvers.solver import Term, TermKind

# CP-SAT's own type names are not exported under a stable name; expressions and literals are opaque here.
Expr = Any
Literal = Any


def peak_expression(
    cp: cp_model.CpModel, term: Term, peaks: Mapping[int, cp_model.IntVar], most: int
) -> Expr:
    """One of the peaks, their sum, or the largest, which is at most `most`."""
    if term.kind is TermKind.POOL_PEAK:
        return peaks[term.pool]
    if term.kind is TermKind.PEAK:
        return sum(peaks.values())
    largest = cp.new_int_var(0, most, "max_peak")
    for peak in peaks.values():
        cp.add(largest >= peak)
    return largest
