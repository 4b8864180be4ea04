"""A term of the objective: a value to minimise. On the wire it is a string, such as `peak:fast`."""

from enum import StrEnum
from typing import Final, Protocol

from memstow.planner.model.records import record


class Minimised(Protocol):
    """A problem or a graph: something with an objective."""

    def terms(self) -> tuple[str, ...]: ...


class Kind(StrEnum):
    """The kind of a term, with its name on the wire."""

    PEAK = "peak"
    MAX_PEAK = "max_peak"
    PLACEMENT_COST = "placement_cost"
    PREFERENCE = "preference"
    REUSE_COST = "reuse_cost"
    MOVES = "moves"
    POOL_PEAK = "peak:POOL"


PLAIN_KINDS: Final = tuple(kind for kind in Kind if kind is not Kind.POOL_PEAK)
"""Kinds that need no pool."""


@record
class Term:
    """A term. It has a pool if it is the peak of that pool alone."""

    kind: Kind
    pool: str | None = None

    def __str__(self) -> str:
        return self.kind.value if self.pool is None else f"{Kind.PEAK.value}:{self.pool}"

    def is_peak_of(self, pool: str, pool_count: int) -> bool:
        """Whether this is the peak of that pool: by name, or because there is no other pool."""
        return self.pool == pool or (pool_count == 1 and self.kind in (Kind.PEAK, Kind.MAX_PEAK))


_PLAIN_TERMS: Final = {kind.value: Term(kind) for kind in PLAIN_KINDS}
PEAK: Final = Term(Kind.PEAK)
MAX_PEAK: Final = Term(Kind.MAX_PEAK)
PLACEMENT_COST: Final = Term(Kind.PLACEMENT_COST)
MOVES: Final = Term(Kind.MOVES)
COST: Final = "cost"
"""The term of a graph's plan for the work of its schedule. It is none of a problem: places cost no work."""


def peak_of(pool: str) -> Term:
    """The term for the peak of that pool alone."""
    return Term(Kind.POOL_PEAK, pool)


def parse_term(text: str) -> Term | None:
    """The term of a text, whether or not its pool exists; None if the text is not a term."""
    head, colon, pool = text.partition(":")
    if colon:
        return peak_of(pool) if head == Kind.PEAK.value else None
    return _PLAIN_TERMS.get(text)


def term_of(text: str) -> Term:
    """The term of a text; ValueError if it is none."""
    term = parse_term(text)
    if term is None:
        raise ValueError(f"{text!r} is not an objective")
    return term


def terms_of(problem: Minimised) -> tuple[Term, ...]:
    """The terms of a valid problem's objective; ValueError if one of them is not a term."""
    return tuple(map(term_of, problem.terms()))


def counts(problem: Minimised, kind: Kind) -> bool:
    """Whether the objective has a term of this kind."""
    return any(term is not None and term.kind is kind for term in map(parse_term, problem.terms()))
