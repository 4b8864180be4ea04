"""What solvers of several terms have proven in a run, and which of it holds for the plan at hand.

They prove the bound of a later term under locks on the terms before; for a plan that does not keep within
those locks it says nothing.
"""

from collections.abc import Sequence

from memstow.planner.model.objective import Term
from memstow.planner.model.plan import Certificate, Exhausted, Model, Refuted
from memstow.planner.solve.bounds import TermBound
from memstow.solvers.solver import ModelBound


class Proven:
    """Bounds under locks, gathered over a run."""

    def __init__(self) -> None:
        self._bounds: list[tuple[str, ModelBound]] = []

    def add(self, solver: str, bounds: Sequence[ModelBound]) -> None:
        """Take in what a solver has proven."""
        self._bounds += [(solver, bound) for bound in bounds]

    def improved(
        self, terms: dict[Term, TermBound], scales: Sequence[int], values: Sequence[int]
    ) -> tuple[dict[Term, TermBound], str | None]:
        """The bounds with those that hold for a plan of these values, and who proved the last of them."""
        names, better, prover = list(terms), dict(terms), None
        for solver, bound in self._bounds:
            name, value = names[bound.term], bound.value * scales[bound.term]
            holds = len(bound.locks) == bound.term and all(
                value <= lock for value, lock in zip(values, bound.locks, strict=False)
            )
            if holds and better[name].value < value <= values[bound.term] * scales[bound.term]:
                better[name], prover = TermBound(value, _certificate(solver, bound, value)), solver
        return better, prover


def _certificate(solver: str, bound: ModelBound, value: int) -> Certificate:
    if not bound.searches:
        return Model(solver=solver)
    return Exhausted(solver=solver, refuted=(Refuted(height=value - 1, nodes=bound.searches),))
