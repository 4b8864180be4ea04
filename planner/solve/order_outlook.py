"""What the best order of a graph's operators needs, as far as a short search finds out: for descriptions."""

from dataclasses import dataclass
from typing import Final

from memstow.planner.graph.arrays import order_instance, start_bytes
from memstow.planner.graph.steps import steps
from memstow.planner.model.graph import Graph
from memstow.solvers.core import Budget
from memstow.solvers.order.certificates import CutProof
from memstow.solvers.order.instance import MOST_BYTES
from memstow.solvers.order.solver import LeastPeak, OrderListeners, OrderTask

# Limited in work, so that a description is the same on every machine.
_WORK: Final = 20_000_000


@dataclass(frozen=True, slots=True)
class Outlook:
    """The bytes that no order can do without, and those that the best one found needs."""

    bound: int
    needed: int
    cut: int | None
    """The operator that proves the bound by itself; None where a search does."""
    critical: tuple[int, ...]
    """The operators that need the most in the best order found."""


def outlook(graph: Graph, budget: Budget | None = None) -> Outlook | None:
    """The outlook of a valid graph; None where it has no operators, or too many bytes to count."""
    instance = order_instance(graph)
    total = sum(instance.size) + sum(instance.extra) + instance.base
    if not graph.operators or total >= MOST_BYTES:
        return None
    listeners = OrderListeners(order=lambda *_: None, bound=lambda *_: None)
    outcome = LeastPeak().solve(
        OrderTask(instance, deterministic=True), budget or Budget(-1.0, _WORK), listeners
    )
    taken = steps(graph, outcome.order)
    most = max(step.bytes for step in taken)
    bound = max(outcome.bound, start_bytes(graph))
    proof = outcome.proof
    by_cut = isinstance(proof, CutProof) and proof.operator >= 0 and proof.bytes == bound
    return Outlook(
        bound,
        max(most, bound),
        proof.operator if isinstance(proof, CutProof) and by_cut else None,
        tuple(step.operator for step in taken if step.bytes == most),
    )
