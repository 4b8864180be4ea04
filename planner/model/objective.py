"""A term of the objective: what a plan is to have little of. On the wire it is a string, as `peak:fast`."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from memstow.planner.model.problem import Problem


class Kind(StrEnum):
    """What a term counts, in the word that stands for it on the wire."""

    PEAK = "peak"
    MAX_PEAK = "max_peak"
    PLACEMENT_COST = "placement_cost"
    PREFERENCE = "preference"
    REUSE_COST = "reuse_cost"
    MOVES = "moves"
    POOL_PEAK = "peak:POOL"


PLAIN_KINDS: Final = tuple(kind for kind in Kind if kind is not Kind.POOL_PEAK)
"""Those that need no pool."""


@dataclass(frozen=True, slots=True)
class Term:
    """A term; a pool is named where the peak of that pool is meant, and nowhere else."""

    kind: Kind
    pool: str | None = None

    def __str__(self) -> str:
        return self.kind.value if self.pool is None else f"{Kind.PEAK.value}:{self.pool}"

    def is_peak_of(self, pool: str, pool_count: int) -> bool:
        """Whether this is the peak of that pool: by its name, or since there is no other pool."""
        return self.pool == pool or (pool_count == 1 and self.kind in (Kind.PEAK, Kind.MAX_PEAK))


_PLAIN_TERMS: Final = {kind.value: Term(kind) for kind in PLAIN_KINDS}
PEAK: Final = Term(Kind.PEAK)
MAX_PEAK: Final = Term(Kind.MAX_PEAK)
PLACEMENT_COST: Final = Term(Kind.PLACEMENT_COST)
MOVES: Final = Term(Kind.MOVES)


def peak_of(pool: str) -> Term:
    """The peak of that pool alone."""
    return Term(Kind.POOL_PEAK, pool)


def parse_term(text: str) -> Term | None:
    """The term that the text stands for, whether or not there is its pool; None when it is no objective."""
    head, colon, pool = text.partition(":")
    if colon:
        return peak_of(pool) if head == Kind.PEAK.value else None
    return _PLAIN_TERMS.get(text)


def term_of(text: str) -> Term:
    """The term of a text that is known to be one; a ValueError where it is none."""
    term = parse_term(text)
    if term is None:
        raise ValueError(f"{text!r} is no objective")
    return term


def terms_of(problem: Problem) -> tuple[Term, ...]:
    """The objective in force, of a problem that was checked: a ValueError where a term is no objective."""
    return tuple(map(term_of, problem.terms()))


def counts(problem: Problem, kind: Kind) -> bool:
    """Whether the objective has a term of this kind."""
    return any(term is not None and term.kind is kind for term in map(parse_term, problem.terms()))
