"""Violations found by the judge: a code and a message for each, and a limit on how many are listed.

A plan of a million buffers can be wrong a million times. Past `LISTED` violations of one code only their
number is kept, so that output and time stay bounded.
"""

from collections import Counter
from enum import StrEnum
from typing import Final

from memstow.planner.model.records import record

LISTED: Final = 100


class Code(StrEnum):
    """Every way in which a plan can be wrong."""

    INVALID_PROBLEM = "invalid_problem"
    """The problem contradicts itself, so no plan can be judged against it."""

    DIGEST = "digest"
    """The plan says that it is for another problem."""

    MISSING = "missing"
    """A buffer of the problem has no place."""
    UNKNOWN_BUFFER = "unknown_buffer"
    """A place for a buffer that the problem does not have."""
    REPEATED = "repeated"
    """A buffer has several places."""

    UNKNOWN_POOL = "unknown_pool"
    """A place in a pool that the problem does not have."""
    POOL_NOT_ALLOWED = "pool_not_allowed"
    """A pool that is not among the buffer's allowed pools."""
    PINNED_POOL = "pinned_pool"
    """Not the pool the buffer is pinned to."""
    PINNED_OFFSET = "pinned_offset"
    """Not the offset the buffer is pinned to."""
    MISALIGNED = "misaligned"
    """Pool base plus offset is not a multiple of the effective alignment."""
    BEYOND_CAPACITY = "beyond_capacity"
    """The buffer ends after the end of its pool, or beyond 2^62 in an unbounded one."""
    RESERVED = "reserved"
    """The buffer is on a reserved range."""

    OVERLAP = "overlap"
    """Two conflicting buffers share a byte."""
    IN_PLACE = "in_place"
    """An in-place pair shares bytes, but does not start at the same offset."""
    RELATIVE_POOL = "relative_pool"
    """Two buffers at a fixed distance are in different pools."""
    RELATIVE_DISTANCE = "relative_distance"
    """Two buffers at a fixed distance are at another one."""

    ORDER = "order"
    """The schedule is no order of the graph's operators that the graph allows."""
    SCHEDULE = "schedule"
    """The schedule repeats, copies, replaces or stripes what the graph does not allow."""

    SHAPES = "shapes"
    """The plan of a symbolic problem does not consist of what it says it does."""
    ABOVE = "above"
    """An order has a circle, or puts a buffer above one that it cannot be above."""
    SHARES = "shares"
    """A buffer shares the offset of one that it may not share bytes with, or that is elsewhere."""
    EMPTY = "empty"
    """An order says of a buffer that it has no bytes at any value, which could not be shown."""
    UNORDERED = "unordered"
    """An order puts neither of two conflicting buffers above the other."""
    NOT_SHOWN = "not_shown"
    """It could not be shown that something holds at every value of the symbols."""
    POINT = "point"
    """A point is none of the problem, is there twice, or is missing."""
    LEAST = "least"
    """The least peak at a point is above the peak of the plan."""
    WORST = "worst"
    """The largest ratio of peak to least peak is another."""

    TILING = "tiling"
    """A figure of a tiling is another, or a statement about tiles is false."""

    STATUS = "status"
    """The status does not follow from the rest of the plan."""
    EXPLANATION = "explanation"
    """The explanation is missing, out of place, or speaks of what the problem does not have."""
    CLOSEST = "closest"
    """The closest attempt is out of place, or no overflow of a pool of the problem."""

    POOL_USE = "pool_use"
    """The pools of the plan are not those of the problem, each once."""
    CAPACITY = "capacity"
    """A claimed capacity is not that of the pool."""
    PEAK = "peak"
    """A claimed peak is not the largest end offset in the pool."""
    LIVE = "live"
    """The claimed live bytes are not the most bytes occupied at one moment, or not first at the one named."""
    POOL_BOUND = "pool_bound"
    """A claimed bound of a pool is above its peak."""

    TERMS = "terms"
    """The objective of the plan does not have the terms of the problem, in their order."""
    VALUE = "value"
    """A claimed value of a term is not what the placements cost."""
    BOUND = "bound"
    """A claimed bound of a term is above its value."""
    GAP = "gap"
    """A claimed gap does not follow from value and bound."""
    UNCERTIFIED = "uncertified"
    """A bound above zero without a certificate."""
    CERTIFICATE = "certificate"
    """A certificate that does not prove the bound it stands for."""


@record
class Violation:
    """One thing that is wrong with a plan."""

    code: Code
    message: str
    buffers: tuple[str, ...] = ()
    pool: str | None = None
    count: int = 1
    """How many violations this line stands for: those of a code that are not listed share one."""

    def __str__(self) -> str:
        return f"{self.message} [{self.code}]"


class _Grouped(int):
    """A number printed in groups of three digits; `{:d}` prints the plain digits, as in a range."""

    def __format__(self, spec: str) -> str:
        return int.__format__(self, spec or ",")


def _grouped(value: object) -> object:
    return _Grouped(value) if type(value) is int else value


class Findings:
    """Collects violations, at most `LISTED` of each code."""

    def __init__(self) -> None:
        self._listed: list[Violation] = []
        self._counts: Counter[Code] = Counter()
        self._cut_short: set[Code] = set()
        self.total = 0
        """How many violations were noted, listed or not."""

    def add(
        self, code: Code, text: str, *values: object, buffers: tuple[str, ...] = (), pool: str | None = None
    ) -> None:
        """Note a violation; `values` fill the braces of `text`, which is formatted only when it is listed."""
        self.total += 1
        self._counts[code] += 1
        if self._counts[code] <= LISTED:
            self._listed.append(Violation(code, text.format(*map(_grouped, values)), buffers, pool))

    def merge(self, other: "Findings") -> None:
        """Note what others have found."""
        for violation in other._listed:
            self.add(violation.code, "{}", violation.message, buffers=violation.buffers, pool=violation.pool)

    def full(self, code: Code) -> bool:
        """Whether another violation of this code would not be listed."""
        return self._counts[code] >= LISTED

    def cut_short(self, code: Code) -> None:
        """Note that the search for violations of this code ended before all were found."""
        self._cut_short.add(code)

    def violations(self) -> list[Violation]:
        """Everything listed, then one line for each code that had more."""
        rest = [
            Violation(code, f"and {count - LISTED:,} more", count=count - LISTED)
            for code, count in self._counts.items()
            if count > LISTED
        ]
        rest += [
            Violation(code, "and perhaps more: the search ended here", count=0)
            for code in sorted(self._cut_short)
            if self._counts[code] <= LISTED
        ]
        return self._listed + rest
