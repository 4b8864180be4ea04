"""The native core of memstow."""

from array import array
from collections.abc import Callable, Iterable, Sequence
from enum import Enum, IntEnum
from typing import Final

from memstow.solvers import graph_programs as _programs
from memstow.solvers import instance as _instance
from memstow.solvers import orders as _order
from memstow.solvers.solver import HintPlace, Term

UNBOUNDED: Final[int]
"""What no offset, end or capacity is above."""

Ints = array[int] | memoryview

MOST_ITEMS: Final[int]
"""Items of the largest part that the exact search looks into."""

class Budget:
    """When a native run must stop."""

    def __init__(self, seconds: float, work: int, parent: Budget | None = None) -> None: ...
    def cancel(self) -> None: ...
    @property
    def spent(self) -> bool: ...
    @property
    def work(self) -> int: ...
    def count(self, steps: int) -> None: ...
    @property
    def cancelled(self) -> bool: ...
    @property
    def seconds_left(self) -> float | None: ...
    @property
    def work_left(self) -> int | None: ...

class Instance:
    """The arrays of `solvers.instance.Instance`, and their rows."""

    def __init__(self, instance: _instance.Instance) -> None: ...

class TermKind(IntEnum):
    """Terms of the objective."""

    PEAK = 0
    POOL_PEAK = 1
    MAX_PEAK = 2
    PLACEMENT_COST = 3
    REUSE_COST = 4
    MOVES = 5
    PREFERENCE = 6

class Hint:
    """Where items are wished to be, and what moves are counted from."""

    def __init__(
        self, instance: Instance, places: _instance.Layout | None, kept: Iterable[HintPlace], buffers: int
    ) -> None: ...

class Placed:
    """By item, its place: bytes of arrays of 64-bit integers, -1 for none."""

    @property
    def pools(self) -> bytes: ...
    @property
    def offsets(self) -> bytes: ...

class Occupied:
    """The most bytes in use at one moment, and the first such moment."""

    @property
    def bytes(self) -> int: ...
    @property
    def time(self) -> int | None: ...

def score(
    instance: Instance, terms: Iterable[Term], hint: Hint | None, layout: _instance.Layout
) -> list[int] | None: ...
def most_occupied(instance: Instance, layout: _instance.Layout) -> list[Occupied]: ...
def pool_peaks(instance: Instance, layout: _instance.Layout) -> list[int]: ...

class Grid:
    """Offsets that are `residue` modulo `unit`."""

    @property
    def unit(self) -> int: ...
    @property
    def residue(self) -> int: ...

class LiveBound:
    """Parts that must all be apart, and the bytes they need together."""

    @property
    def bytes(self) -> int: ...
    @property
    def time(self) -> int | None: ...
    @property
    def parts(self) -> list[int]: ...

def common_grid(instance: Instance, pool: int) -> Grid: ...
def live_bound(instance: Instance, pools: Sequence[bool], unit: int) -> LiveBound: ...
def clique_bound(instance: Instance, pools: Sequence[bool], unit: int, nodes: int) -> LiveBound: ...

class GreedyOptions:
    """Lower bounds by term: met by all, the run ends."""

    def __init__(self, *, lower_bounds: Sequence[int], seed: int) -> None: ...

class GreedyResult:
    """The best layout of the greedy portfolio, and who found it."""

    @property
    def placed(self) -> Placed: ...
    def take_placed(self) -> Placed:
        """The same, which is then gone: a large layout need not be there twice."""
    @property
    def values(self) -> list[int] | None: ...
    @property
    def name(self) -> str: ...

def greedy(
    instance: Instance,
    terms: Iterable[Term],
    hint: Hint | None,
    options: GreedyOptions,
    budget: Budget,
    on_score: Callable[[list[int] | None, str, Placed], None] | None,
) -> GreedyResult: ...
def classics() -> list[str]: ...
def classic_declines(instance: Instance, name: str) -> str | None: ...
def classic(instance: Instance, name: str, budget: Budget) -> Placed: ...

class ExactOptions:
    """What the search of one pool may do, and what is known."""

    def __init__(
        self,
        *,
        limit: int,
        fit_only: bool,
        bound: int,
        workers: int,
        deterministic: bool,
        seed: int,
    ) -> None: ...

class ExactStatus(Enum):
    """What an exact search has shown."""

    OPTIMAL = 0
    FEASIBLE = 1
    INFEASIBLE = 2
    UNKNOWN = 3

class Refutation:
    """A search that ran dry: no layout is this high or lower."""

    @property
    def height(self) -> int: ...
    @property
    def nodes(self) -> int: ...

class ExactResult:
    """The lowest layout found, and what is proven.

    Dead items are those of one component that has no layout within the limit; none when that is not known.
    """

    @property
    def status(self) -> ExactStatus: ...
    @property
    def placed(self) -> Placed | None: ...
    @property
    def height(self) -> int: ...
    @property
    def bound(self) -> int: ...
    @property
    def refuted(self) -> list[Refutation]: ...
    @property
    def dead(self) -> list[int]: ...

class Reach:
    """What an exact search could do.

    Items of the largest independent component, whether one that decides can be searched, and whether all
    rows of such a one are equally full.
    """

    @property
    def largest(self) -> int: ...
    @property
    def searchable(self) -> bool: ...
    @property
    def nearly_full(self) -> bool: ...

class DeadSet:
    """Items that alone have no layout of some height; `smallest`: each was shown to be needed."""

    @property
    def items(self) -> list[int]: ...
    @property
    def smallest(self) -> bool: ...

def exact(
    instance: Instance,
    start: _instance.Layout | None,
    options: ExactOptions,
    budget: Budget,
    on_height: Callable[[int, Placed], None],
    on_bound: Callable[[int], None],
) -> ExactResult: ...
def exact_reach(instance: Instance, start: _instance.Layout | None, bound: int) -> Reach: ...
def dead_set(instance: Instance, items: Sequence[int], height: int, budget: Budget) -> DeadSet: ...

class WindowBound:
    """A bound, and the window of time that shows it: from the moment `first` to the moment `last`."""

    @property
    def bound(self) -> int: ...
    @property
    def parts(self) -> list[int]: ...
    @property
    def nodes(self) -> int: ...
    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int: ...

def window_bound(instance: Instance, bound: int, height: int, budget: Budget) -> WindowBound: ...

class ImproveOptions:
    """Where the search ends, and how it goes."""

    def __init__(
        self,
        *,
        limit: int,
        fit_only: bool,
        bound: int,
        workers: int,
        deterministic: bool,
        seed: int,
    ) -> None: ...

class ImproveResult:
    """A layout that is no higher than the start."""

    @property
    def placed(self) -> Placed: ...
    @property
    def height(self) -> int: ...

def improve(
    instance: Instance,
    start: _instance.Layout,
    options: ImproveOptions,
    budget: Budget,
    on_height: Callable[[int, Placed], None],
) -> ImproveResult: ...

class CheapestOptions:
    """How high a layout may be; enough: stop at this cost, or at the proof that it cannot be had."""

    def __init__(self, *, height: int, enough: int | None) -> None: ...

class LowestOptions:
    """How high a layout may be and what it may cost; bound: a known lower bound on its height."""

    def __init__(self, *, height: int, cost: int, bound: int) -> None: ...

class CheapestResult:
    """The best layout within the limits, and what is proven.

    Offsets are by item; dead are items that are enough for that nothing fits; refuted are the searches that
    ran dry so far; by_addresses: the bound on the costs is of no search, but of what each address holds.
    """

    @property
    def offsets(self) -> list[int] | None: ...
    @property
    def cost(self) -> int: ...
    @property
    def top(self) -> int: ...
    @property
    def bound(self) -> int: ...
    @property
    def infeasible(self) -> bool: ...
    @property
    def dead(self) -> list[int]: ...
    @property
    def refuted(self) -> int: ...
    @property
    def by_addresses(self) -> bool: ...

class Cheapest:
    """The search for layouts of least reuse cost of one pool."""

    def __init__(self, instance: Instance, items: Sequence[int], seed: int, two_threads: bool) -> None: ...
    def offer(self, offsets: Sequence[int]) -> None: ...
    def cheapest(
        self,
        options: CheapestOptions,
        budget: Budget,
        on_cost: Callable[[int, list[int]], None],
        on_bound: Callable[[int], None],
    ) -> CheapestResult: ...
    def lowest(
        self,
        options: LowestOptions,
        budget: Budget,
        on_height: Callable[[int, list[int]], None],
        on_bound: Callable[[int], None],
    ) -> CheapestResult: ...

class OrderInstance:
    """The arrays of `solvers.orders.OrderInstance`."""

    def __init__(self, instance: _order.OrderInstance) -> None: ...

class LeastPeakOptions:
    """Where the search for an order ends, and what it may take.

    enough: an order that needs no more ends it; memory: bytes for dead sets; most_kept: sets of a refutation
    that are handed out.
    """

    def __init__(self, *, enough: int, bound: int, workers: int, memory: int, most_kept: int) -> None: ...

class Chain:
    """Storages of which one is live in each set; credit: the number of a pair, or -1."""

    @property
    def bytes(self) -> int: ...
    @property
    def credit(self) -> int: ...
    @property
    def storages(self) -> list[int]: ...

class WayProof:
    """One way to save in place, and the chains that prove its bound."""

    @property
    def pairs(self) -> list[tuple[int, int]]: ...
    @property
    def chains(self) -> list[Chain]: ...

class RefutedOrders:
    """A search that ran dry: no order needs `limit` or less."""

    @property
    def limit(self) -> int: ...
    @property
    def backwards(self) -> bool: ...
    @property
    def sets(self) -> int: ...
    @property
    def kept(self) -> int: ...

class RefutedSets:
    """The dead sets of a refutation, as changes to the one before, each with the operators of its commit,
    and chains."""

    @property
    def late(self) -> list[int]: ...
    @property
    def changes(self) -> list[list[int]]: ...
    @property
    def commits(self) -> list[list[int]]: ...
    @property
    def chains(self) -> list[list[Chain]]: ...

class LeastPeak:
    """The best order found, and what is proven; cut: the operator with the greatest cut bound found."""

    @property
    def order(self) -> list[int]: ...
    @property
    def peak(self) -> int: ...
    @property
    def bound(self) -> int: ...
    @property
    def cut(self) -> int: ...
    @property
    def cut_bytes(self) -> int: ...
    @property
    def refuted(self) -> RefutedOrders | None: ...

def prove_cut(instance: OrderInstance, operator: int) -> list[WayProof]: ...
def cut_bound(instance: OrderInstance, order: Sequence[int], budget: Budget) -> tuple[int, int]: ...
def refuted_sets(instance: OrderInstance, refuted: RefutedOrders) -> RefutedSets: ...
def least_peak(
    instance: OrderInstance,
    options: LeastPeakOptions,
    budget: Budget,
    on_order: Callable[[int, list[int]], None],
    on_bound: Callable[[int], None],
) -> LeastPeak: ...
def order_within(instance: OrderInstance, limit: int, seed: int, budget: Budget) -> list[int]: ...
def order_needs(instance: OrderInstance, order: Sequence[int]) -> list[int]: ...
def lpmf(instance: OrderInstance) -> list[int]: ...
def depth_first(instance: OrderInstance) -> list[int]: ...
def stripe_front(
    program: _programs.StripeProgram, most_cost: int, longest: int, budget: Budget
) -> tuple[list[tuple[int, int, list[tuple[int, int, int, int]]]], bool]: ...

class ColumnInstance:
    """An instance of columns, and the way back."""

    def __init__(
        self, sizes: Ints, begins: Ints, ends: Ints, alignments: Ints, capacity: int, by_begin: bool
    ) -> None: ...
    @property
    def native(self) -> Instance: ...
    @property
    def capacity(self) -> int: ...
    @property
    def item_count(self) -> int: ...
    @property
    def unit(self) -> int: ...
    @property
    def stacked(self) -> int: ...
    def offsets_of(self, offsets: Ints) -> PlacedColumns: ...
    def buffers_of(self, parts: Sequence[int]) -> PlacedColumns: ...

class PlacedColumns:
    """Offsets by buffer, as bytes of 64-bit integers."""

    @property
    def offsets(self) -> bytes: ...

class Lowest:
    """A layout no higher than the buffers of one moment need; in bytes, by buffer."""

    @property
    def offsets(self) -> bytes: ...
    @property
    def members(self) -> bytes: ...
    @property
    def peak(self) -> int: ...
    @property
    def moment(self) -> int: ...
    @property
    def name(self) -> str: ...

def lowest(
    sizes: memoryview,
    begins: memoryview,
    ends: memoryview,
    alignments: memoryview,
    capacity: int,
    seed: int,
    budget: Budget,
) -> Lowest | None: ...
def place_columns(
    sizes: array[int],
    begins: array[int],
    ends: array[int],
    alignments: array[int],
    placements: int,
    budget: Budget,
) -> PlacedColumns: ...

class Rehearsed:
    """A run of a program in little memory."""

    @property
    def runs(self) -> list[int]: ...
    @property
    def copies(self) -> list[tuple[int, int, int]]: ...
    @property
    def peak(self) -> int: ...
    @property
    def cost(self) -> int: ...
    @property
    def steps(self) -> int: ...

class Moment:
    """The least that one moment takes."""

    @property
    def price(self) -> int: ...
    @property
    def held(self) -> int: ...
    @property
    def cost(self) -> int: ...
    @property
    def kept(self) -> list[int]: ...

class RecomputeProgram:
    """A program whose operators may run again."""

    def __init__(self, arrays: _programs.RecomputeArrays) -> None: ...
    def rehearse(
        self,
        limit: int,
        weights: Sequence[float],
        far: float,
        indirect: float,
        polished: bool,
        budget: Budget,
    ) -> Rehearsed: ...
    def cheapest(
        self,
        op: int,
        before: Sequence[bool],
        after: Sequence[bool],
        byte_price: int,
        cost_price: int,
        budget: Budget,
    ) -> Moment: ...

class PeakMeasure(Enum):
    """What is counted as the peak."""

    SUM = 0
    LARGEST = 1
    ONE_POOL = 2

class ShapesAim(Enum):
    """What is made small."""

    WORST = 0
    SUM = 1
    FIRST = 2

class FoundSequence:
    """A sequence of items, and what it needs."""

    @property
    def sequence(self) -> list[int]: ...
    @property
    def choices(self) -> list[int]: ...
    @property
    def peaks(self) -> list[int]: ...
    @property
    def fits(self) -> bool: ...

class ExactSequence:
    """What a complete search has found."""

    @property
    def complete(self) -> bool: ...
    @property
    def found(self) -> FoundSequence | None: ...
    @property
    def nodes(self) -> int: ...

class Formulas:
    """Formulas of the same symbols, by number."""

    def __init__(self, names: Sequence[str], ranges: Sequence[tuple[int, int, int]]) -> None: ...
    def read(self, text: str) -> tuple[str, int, str] | None: ...
    def nodes(self, formula: int) -> list[tuple[str, int]]: ...
    def value(self, formula: int, at: Sequence[int | None]) -> int | tuple[str, int]: ...
    def sizes_at(self, at: Sequence[int | None]) -> list[int] | None: ...
    def facts(self, formula: int, ranges: Sequence[tuple[int, int]]) -> tuple[int, int, bool, int]: ...
    def if_monotone(self, formula: int) -> tuple[int, int] | None: ...
    def of_all_values(self, formula: int) -> tuple[int, int] | None: ...

class LiveEvents:
    """Lifetimes of buffers, for many sizes."""

    def __init__(self, buffers: array[int], begins: array[int], ends: array[int]) -> None: ...
    def most(self, sizes: array[int]) -> int | None: ...

class Shaped:
    """Items whose sizes differ from point to point."""

    def set_measure(
        self, measure: PeakMeasure, pool: int, least: Sequence[int], weight: Sequence[float]
    ) -> None: ...
    def search(
        self,
        aim: ShapesAim,
        sequences: Sequence[Sequence[int]],
        choices: Sequence[Sequence[int]],
        seed: int,
        budget: Budget,
    ) -> FoundSequence: ...
    def below(self, limits: Sequence[int], budget: Budget) -> ExactSequence: ...
    def arcs(self, sequence: Sequence[int], choices: Sequence[int]) -> list[tuple[int, int]]: ...

def shape(instance: Instance, sizes: array[int], points: int) -> Shaped | None:
    """The instance with sizes by part and column, or None where too many pairs conflict."""
