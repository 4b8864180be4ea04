"""Solvers of orders: the search for the least peak with its proof, and the classics to compare it with."""

from array import array
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Protocol

from memstow.solvers import _native
from memstow.solvers.order.certificates import Proof, prove_cut, prove_refuted
from memstow.solvers.order.instance import OrderInstance, live_bytes

DEAD_SETS_MEMORY: Final = 1 << 28
"""Bytes for the sets that a search remembers, unless told otherwise."""

_MOST_KEPT: Final = 20_000

MODEL: Final = "cpsat"
"""The name of the model that solves orders, which is imported when it is asked for."""


@dataclass(frozen=True, slots=True)
class OrderTask:
    """Operators to be ordered, and what is known of it."""

    instance: OrderInstance
    enough: int | None = None  # an order that needs no more ends the search
    bound: int = 0  # no order needs less
    workers: int = 1
    deterministic: bool = False  # the same order, byte for byte, in each run with the same limit of work
    memory: int = DEAD_SETS_MEMORY


@dataclass(frozen=True, slots=True)
class OrderListeners:
    """Callbacks for better orders and better bounds, with the solver's name."""

    order: Callable[[str, int, list[int]], None]
    bound: Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class OrderOutcome:
    """An order, what it needs, and the bound that is proven; optimal where both are equal."""

    order: list[int]
    peak: int
    bound: int
    solver: str
    proof: Proof | None = None  # of the bound; None where it was given
    prover: str | None = None  # who has proven the bound; None: the solver


class OrderSolver(Protocol):
    """One way to order operators."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def summary(self) -> str:
        """What it does, in a line."""

    def solve(self, task: OrderTask, budget: _native.Budget, listeners: OrderListeners) -> OrderOutcome:
        """The best order within the budget."""


class LeastPeak:
    """Bounds from cuts, beams, and a search with commits in both directions, in native code."""

    name: Final = "order"
    summary: Final = "the order of operators with the least peak, and the proof that none has less"

    def solve(self, task: OrderTask, budget: _native.Budget, listeners: OrderListeners) -> OrderOutcome:
        """The best order found, and the bound proven; what was stopped early proves nothing."""
        result = _native.least_peak(
            task.instance.native,
            _native.LeastPeakOptions(
                enough=-1 if task.enough is None else task.enough,
                bound=task.bound,
                workers=1 if task.deterministic else task.workers,
                memory=task.memory,
                most_kept=_MOST_KEPT,
            ),
            budget,
            lambda peak, order: listeners.order(self.name, peak, order),
            lambda bound: listeners.bound(self.name, bound),
        )
        return OrderOutcome(result.order, result.peak, result.bound, self.name, _proof_of(task, result))


def _proof_of(task: OrderTask, result: _native.LeastPeak) -> Proof | None:
    refuted = result.refuted
    if refuted is not None and refuted.limit + 1 == result.bound:
        return prove_refuted(task.instance, refuted)
    if result.cut_bytes == result.bound:
        return prove_cut(task.instance, result.cut, result.bound)
    return None


def peak_of(instance: OrderInstance, order: list[int]) -> int:
    """The most that a step of the order needs."""
    return max(_native.order_needs(instance.native, order), default=live_bytes(instance, ()))


@dataclass(frozen=True, slots=True)
class Classic:
    """A published or plain rule, for comparison: its order is what it is, and the bound that of cuts."""

    name: str
    summary: str
    rule: Callable[[OrderInstance], list[int]]

    def solve(self, task: OrderTask, budget: _native.Budget, listeners: OrderListeners) -> OrderOutcome:
        """The order of the rule, whatever the budget; cuts as long as there is time."""
        instance = task.instance
        order = self.rule(instance)
        peak = peak_of(instance, order)
        listeners.order(self.name, peak, order)
        bound, operator = live_bytes(instance, ()), -1
        if order:
            bound, operator = _native.cut_bound(instance.native, order, budget)
        proven = max(bound, task.bound)
        listeners.bound(LeastPeak.name, proven)
        proof = prove_cut(instance, operator, bound) if bound == proven else None
        return OrderOutcome(order, peak, proven, self.name, proof, LeastPeak.name)


ORDER_SOLVERS: Final[Mapping[str, OrderSolver]] = MappingProxyType(
    {
        it.name: it
        for it in (
            LeastPeak(),
            Classic("given", "the order that the program has", lambda it: list(it.given)),
            Classic("lpmf", "least peak memory first, as in PyTorch", lambda it: _native.lpmf(it.native)),
            Classic(
                "dfs",
                "depth first from the results: topological by depth",
                lambda it: _native.depth_first(it.native),
            ),
        )
    }
)


def order_solver(name: str) -> OrderSolver:
    """The solver of this name; a KeyError where there is none. The model needs OR-tools."""
    if name == MODEL:
        from memstow.solvers.order.model import CpSatOrder

        return CpSatOrder()
    return ORDER_SOLVERS[name]


def order_within(
    instance: OrderInstance, limit: int, seed: int, budget: _native.Budget
) -> "array[int] | None":
    """An order within the limit, another for each seed; None where none was found in time."""
    order = _native.order_within(instance.native, limit, seed, budget)
    return array("q", order) if order or not instance.operator_count else None
