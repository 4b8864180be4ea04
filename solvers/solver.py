"""The interface of a solver: it takes a task and a budget, and returns an outcome."""

from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from memstow.solvers import _native
from memstow.solvers.instance import Instance, Layout

TermKind = _native.TermKind


@dataclass(frozen=True, slots=True)
class Term:
    """One term of the lexicographic objective."""

    kind: TermKind
    pool: int = -1


SUMMED: Final = {TermKind.PLACEMENT_COST: "choice_cost", TermKind.PREFERENCE: "choice_rank"}
"""Terms that are a sum over the choices of pools, and the array of the instance that has what each adds."""


def summed(instance: Instance, kind: TermKind) -> "array[int]":
    """By choice, what it adds to such a term."""
    found: array[int] = getattr(instance, SUMMED[kind])
    return found


def most_summed(instance: Instance, kind: TermKind) -> int:
    """What such a term cannot exceed."""
    adds, starts = summed(instance, kind), instance.choice_start
    return sum(max(adds[starts[i] : starts[i + 1]], default=0) for i in range(instance.item_count))


@dataclass(frozen=True, slots=True)
class HintPlace:
    """How many buffers stay where the hint has them when an item is at this place."""

    item: int
    pool: int
    offset: int
    count: int


@dataclass(frozen=True, slots=True)
class Task:
    """What a solver is asked: an instance, what to minimise, and what is known already."""

    instance: Instance
    terms: tuple[Term, ...]  # empty: any layout that fits
    lower_bounds: tuple[int, ...]  # by term
    hint: Layout | None = None  # where items are wished to be; need not be valid
    start: Layout | None = None  # the best layout known, complete and valid but perhaps beyond capacity
    gap: float = 0.0
    seed: int = 0
    workers: int = 1
    deterministic: bool = False
    memory: int | None = None  # bytes that a child process may use; None: a share of what there is
    hint_places: tuple[HintPlace, ...] = ()  # for the moves: all else is a move
    hint_buffers: int = 0  # how many buffers of some size the hint places

    @property
    def native_hint(self) -> _native.Hint:
        """The hint and the moves, for the native core."""
        return _native.Hint(self.instance.native, self.hint, self.hint_places, self.hint_buffers)


OnIncumbent = Callable[[str, int, Layout], None]
OnBound = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who hears of better layouts that fit and of better bounds: who reached them, and the first term."""

    incumbent: OnIncumbent
    bound: OnBound


@dataclass(frozen=True, slots=True)
class Proof:
    """A lower bound on the first term, by searches that ran dry: (height, nodes) of each."""

    bound: int
    refuted: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class ModelBound:
    """What a model has proven: no layout whose terms before are within the locks has less of this term."""

    term: int
    value: int
    locks: tuple[int, ...]
    searches: int = 0  # that ran dry for it; 0: the word of a model


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a solver found."""

    layout: Layout | None  # complete; the closest attempt where it does not fit
    fits: bool
    values: tuple[int, ...]  # by term
    solver: str  # who, in detail
    proof: Proof | None = None
    misfit: tuple[int, ...] | None = None  # items that cannot share their pool: nothing fits
    bounds: tuple[ModelBound, ...] = ()
    failure: str | None = None  # why the solver ended early, for people

    def better_than(self, other: "Outcome | None") -> bool:
        """Whether this layout is to be preferred."""
        if self.layout is None or other is None or other.layout is None:
            return self.layout is not None
        return (not self.fits, self.values) < (not other.fits, other.values)


class Solver(Protocol):
    """One way to solve a task."""

    name: str
    summary: str
    supports: str

    def declines(self, task: Task) -> str | None:
        """What in the task this solver cannot honour; None: nothing."""

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The best layout within the budget."""
