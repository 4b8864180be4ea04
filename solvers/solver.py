"""The interface of a solver: it takes a task and a budget, and returns an outcome.

Small values are records, or named tuples where they are compared: every run imports this.
"""

from array import array
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from memstow.records import record
from memstow.solvers import _native
from memstow.solvers.instance import Instance, Layout

TermKind = _native.TermKind


class Term(NamedTuple):
    """One term of the lexicographic objective."""

    kind: TermKind
    pool: int = -1


SUM_TERMS: Final = {TermKind.PLACEMENT_COST: "choice_cost", TermKind.PREFERENCE: "choice_rank"}
"""Terms that are a sum over the choices of pools, with the array of the instance that has the summands."""


def choice_weights(instance: Instance, kind: TermKind) -> "array[int]":
    """By choice of pool, the summand of such a term."""
    weights: array[int] = getattr(instance, SUM_TERMS[kind])
    return weights


def sum_of(instance: Instance, kind: TermKind, layout: Layout, items: Iterable[int]) -> int:
    """What these items add to such a term; each is in one of its pools."""
    weights, pools, starts = choice_weights(instance, kind), instance.choice_pool, instance.choice_start
    return sum(
        next(weights[c] for c in range(starts[item], starts[item + 1]) if pools[c] == layout.pool[item])
        for item in items
    )


def largest_sum(instance: Instance, kind: TermKind) -> int:
    """The largest value that such a term can have."""
    adds, starts = choice_weights(instance, kind), instance.choice_start
    return sum(max(adds[starts[i] : starts[i + 1]], default=0) for i in range(instance.item_count))


@record
class HintPlace:
    """A place of an item, and the number of buffers that are there where the hint has them."""

    item: int
    pool: int
    offset: int
    count: int


@record
class Received:
    """A plan by name that was judged, as a layout with its values by term."""

    layout: Layout
    values: tuple[int, ...]


@record
class Shown:
    """What the proof of a solver shows, as the checker says."""

    bounds: tuple[int, ...] = ()
    """By term: no layout that is within the locks in the terms before has less."""
    locks: tuple[int, ...] = ()
    nothing_fits: bool = False
    refused: str | None = None  # why the proof does not count, for people


class Named(Protocol):
    """The problem of a task by name, for a solver that reads no arrays."""

    def document(self) -> bytes:
        """The problem, as its file has it."""

    def hint(self) -> bytes | None:
        """The plan to start from."""

    def read(self, plan: bytes, solver: str, proof: bytes | None) -> Received | None:
        """A plan of this solver, None for one that only says that there is none; an error for a wrong one."""

    def shown(self, stopped: Callable[[], bool]) -> Shown:
        """What the last proof that came with a plan shows, as far as it is checked until that is stopped."""

    def claim(self, bound: int | None, *, has_plan: bool) -> str | None:
        """What the plans claim beyond this proven bound of the first term, in words."""


@record
class Task:
    """A task for a solver: an instance, the terms to minimise, known bounds and a start."""

    instance: Instance
    terms: tuple[Term, ...]  # empty: any layout that fits
    lower_bounds: tuple[int, ...]  # by term
    hint: Layout | None = None  # preferred places of items; need not be valid
    start: Layout | None = None  # the best layout known, complete and valid but perhaps beyond capacity
    gap: float = 0.0
    seed: int = 0
    workers: int = 1
    deterministic: bool = False
    memory: int | None = None  # bytes that a child process may use; None: a share of what there is
    hint_places: tuple[HintPlace, ...] = ()  # for the term moves: any other place is a move
    hint_buffers: int = 0  # the number of buffers, not of size 0, that the hint places
    named: Named | None = None  # only where the solver is of another package

    @property
    def native_hint(self) -> _native.Hint:
        """The hint and the moves, for the native core."""
        return _native.Hint(self.instance.native, self.hint, self.hint_places, self.hint_buffers)

    @property
    def banks(self) -> str | None:
        """What a solver that knows nothing of banks cannot honour; None where nothing depends on them."""
        if self.instance.has_banks or any(term.kind is TermKind.BANK_COST for term in self.terms):
            return "banks"
        return None


OnIncumbent = Callable[[str, int, Layout], None]
OnBound = Callable[[str, int], None]


@record
class Listeners:
    """Callbacks for better layouts that fit and better bounds, with the solver and the first term's value."""

    incumbent: OnIncumbent
    bound: OnBound
    layouts: bool = True  # whether somebody reads the layouts: else an empty one will do


@record
class Window:
    """A window of time, from one moment to another, and the parts that need so much there."""

    first: int
    last: int
    parts: tuple[int, ...]


@record
class Proof:
    """A lower bound on the first term, proven by complete searches: (height, nodes) of each."""

    bound: int
    refuted: tuple[tuple[int, int], ...]
    window: Window | None = None  # what was searched, where it is not the whole


@record
class ModelBound:
    """A bound under locks: no layout whose earlier terms are within the locks has less of this term."""

    term: int
    value: int
    locks: tuple[int, ...]
    searches: int = 0  # complete searches that prove it; 0: proven by a model


def model_bounds(bounds: Iterable[_native.LockedBound]) -> tuple[ModelBound, ...]:
    """Those that native code has proven."""
    return tuple(ModelBound(bound.term, bound.value, tuple(bound.locks), bound.searches) for bound in bounds)


@record
class Outcome:
    """The result of a solver."""

    layout: Layout | None  # complete; the closest attempt where it does not fit
    fits: bool
    values: tuple[int, ...]  # by term
    solver: str  # its name, with details
    proof: Proof | None = None
    misfit: tuple[int, ...] | None = None  # items that cannot share their pool: nothing fits
    bounds: tuple[ModelBound, ...] = ()
    prices: tuple[_native.AddressPrices, ...] = ()  # by part, that the bound of reuse costs rests on
    failure: str | None = None  # why the solver ended early, for people
    claim: str | None = None  # what it says that nobody has checked, for people
    refused: str | None = None  # why its proof does not count, for people

    def better_than(self, other: "Outcome | None") -> bool:
        """Whether this layout is better."""
        if self.layout is None or other is None or other.layout is None:
            return self.layout is not None
        return (not self.fits, self.values) < (not other.fits, other.values)


class Solver(Protocol):
    """One way to solve a task."""

    name: str
    summary: str
    supports: str

    def declines(self, task: Task) -> str | None:
        """The reason why this solver cannot honour the task; None if it can."""

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The best layout within the budget."""
