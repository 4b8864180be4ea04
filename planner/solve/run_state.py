"""The state of a run: the task of its solvers, its best layout, and the bounds of the objective's terms."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import memstow
from memstow.planner.model import Status
from memstow.planner.model.model_class import maker_of
from memstow.planner.model.options import Options
from memstow.planner.model.plan import (
    Certificate,
    Crowds,
    Exhausted,
    Least,
    LiveBytes,
    Model,
    Plan,
    PoolUse,
    Refuted,
    Sum,
    TermValue,
    gap_of,
)
from memstow.planner.model.problem import Term
from memstow.planner.model.records import record
from memstow.planner.processes import machine
from memstow.solvers.instance import Instance
from memstow.solvers.solver import ModelBound, Outcome, Proof, Task, Window
from memstow.solvers.solver import Term as SolverTerm


@record
class TermBound:
    """A proven lower bound on one term of the objective."""

    value: int
    certificate: Certificate | None


@record
class Stamp:
    """The time and work that a plan took."""

    seconds: float
    work: int


def term_value(term: Term, value: int, bound: TermBound) -> TermValue:
    """A term with what is proven about it."""
    certificate = bound.certificate
    if certificate is None and value == bound.value:
        certificate = Least()
    return _value(str(term), value, bound.value, gap_of(value, bound.value), certificate)


_value: Final = maker_of(TermValue, "term", "value", "bound", "gap", "certificate")
_plan: Final = maker_of(
    Plan, "status", "pools", "objective", "solver", "prover", "digest", "version", "seconds", "work"
)


NO_TIME: Final = Stamp(seconds=0.0, work=0)


def plan_without_places(
    pools: tuple[PoolUse, ...],
    objective: tuple[TermValue, ...],
    solver: str | None,
    prover: str | None,
    digest: str | None = None,
    stamp: Stamp = NO_TIME,
) -> Plan:
    """A plan of these values and bounds, to which placements may be added; it is optimal where they meet."""
    proven = all(entry.value == entry.bound for entry in objective)
    return _plan(
        Status.OPTIMAL if proven else Status.FEASIBLE,
        pools,
        objective,
        solver,
        prover if any(entry.bound for entry in objective) else None,
        digest,
        memstow.__version__,
        stamp.seconds,
        stamp.work,
    )


LIVE_BYTES = "live bytes"
"""The prover of a bound by what is live at one moment."""
CROWDS = "crowds in banks"
"""That of a bound by buffers that are more than banks."""
# More threads than this help no solver here.
_MOST_WORKERS = 8


def workers_of(options: Options) -> int:
    """Threads of a run; a deterministic one has a single thread, so that nothing depends on the machine."""
    if options.deterministic:
        return 1
    return min(machine.processors(), _MOST_WORKERS) if options.workers is None else options.workers


def task_for(
    instance: Instance, terms: tuple[SolverTerm, ...], lower_bounds: tuple[int, ...], options: Options
) -> Task:
    """The task of a run with these options."""
    return Task(
        instance=instance,
        terms=terms,
        lower_bounds=lower_bounds,
        gap=options.gap,
        seed=options.seed,
        workers=workers_of(options),
        deterministic=options.deterministic,
        memory=options.memory_limit,
    )


def in_units(bounds: Iterable[int], scales: Sequence[int]) -> tuple[int, ...]:
    """What solvers are told: at most the bounds. More would hold as well where only whole units are possible.

    But what a solver knows it does not prove, so nobody would tell of it.
    """
    return tuple(bound // scale for bound, scale in zip(bounds, scales, strict=True))


class LockedBounds:
    """Bounds under locks, collected over a run."""

    def __init__(self) -> None:
        self._bounds: list[tuple[str, ModelBound]] = []

    def add(self, solver: str, bounds: Sequence[ModelBound]) -> None:
        """Add the bounds that a solver has proven."""
        self._bounds += [(solver, bound) for bound in bounds]

    def improve(
        self, terms: dict[Term, TermBound], scales: Sequence[int], values: Sequence[int]
    ) -> tuple[dict[Term, TermBound], str | None]:
        """The terms with the bounds that hold for a plan of these values, and the prover of the last one."""
        names, better, prover = list(terms), dict(terms), None
        for solver, bound in self._bounds:
            name, value = names[bound.term], bound.value * scales[bound.term]
            holds = len(bound.locks) == bound.term and all(
                value <= lock for value, lock in zip(values, bound.locks, strict=False)
            )
            if holds and better[name].value < value <= values[bound.term] * scales[bound.term]:
                better[name], prover = TermBound(value, _certificate(solver, bound, value)), solver
        return better, prover


Certify = Callable[[Window, Term, int, str], Certificate | None]
"""The certificate of a window that a solver has searched, for this bound; None where it is not taken."""


class RunState:
    """The best layout of a run and the bounds proven so far. Solvers count in units, bounds are in bytes."""

    def __init__(
        self, terms: dict[Term, TermBound], scales: Sequence[int], certify: Certify | None = None
    ) -> None:
        self._certify = certify
        self.best: Outcome | None = None
        self.terms = terms
        self.scales = scales
        """By term, the value of one unit of it as solvers count."""
        self.prover = prover_of(terms)
        """The solver or rule that proved the latest bound."""
        self._terms_before_turns = dict(terms)
        self._locked = LockedBounds()

    @property
    def has_plan(self) -> bool:
        """Whether a layout is known that fits."""
        return self.best is not None and self.best.fits

    @property
    def first_bound(self) -> int | None:
        """The bound of the first term; None for an empty objective."""
        return next((bound.value for bound in self.terms.values()), None)

    def first_value(self) -> int | None:
        """The first term's value in the best plan; None without a plan."""
        best = self.best
        return best.values[0] * self.scales[0] if best is not None and best.fits else None

    def lower_bounds(self) -> tuple[int, ...]:
        """The bounds by term, in units."""
        return in_units((bound.value for bound in self.terms.values()), self.scales)

    def within(self, gap: float) -> bool:
        """Whether each term is proven to be within the gap, given the terms before it."""
        best = self.best
        if best is None or not best.fits:
            return False
        values = [value * scale for value, scale in zip(best.values, self.scales, strict=True)]
        return all(
            gap_of(value, bound.value) <= gap
            for value, bound in zip(values, self.terms.values(), strict=True)
        )

    def terms_for_any_plan(self) -> dict[Term, TermBound]:
        """Bounds that hold for every plan: those under locks may hold for the best one alone."""
        return self._terms_before_turns | dict(list(self.terms.items())[:1])

    def learn(self, solver: str, outcome: Outcome) -> None:
        """Keep the better layout and the better bounds."""
        if outcome.better_than(self.best):
            self.best = outcome
        self._locked.add(solver, outcome.bounds)
        if self.best is not None and self.best.fits:
            self.terms, prover = self._locked.improve(self.terms, self.scales, self.best.values)
            self.prover = prover or self.prover
        if outcome.proof is not None:
            self._learn_proof(solver, outcome.proof)

    def _learn_proof(self, solver: str, proof: Proof) -> None:
        """Keep a proof about the first term if it improves the bound."""
        term, scale = next(iter(self.terms)), self.scales[0]
        bound = proof.bound * scale
        if bound <= self.terms[term].value:
            return
        if proof.window is not None:
            shown = self._certify and self._certify(proof.window, term, bound, solver)
            if shown is not None:
                self.terms[term] = TermBound(bound, shown)
                self.prover = solver
            return
        refuted = {height * scale: nodes for height, nodes in proof.refuted}
        # A height that needed no search was refuted at the root.
        refuted.setdefault(bound - 1, refuted.pop(bound - scale, 1))
        steps = tuple(Refuted(height=h, nodes=n) for h, n in sorted(refuted.items()) if h < bound)
        self.terms[term] = TermBound(bound, Exhausted(solver=solver, refuted=steps))
        self.prover = solver


def _certificate(solver: str, bound: ModelBound, value: int) -> Certificate:
    if not bound.searches:
        return Model(solver=solver)
    return Exhausted(solver=solver, refuted=(Refuted(height=value - 1, nodes=bound.searches),))


def prover_of(terms: dict[Term, TermBound]) -> str | None:
    """The rule that proves the bounds without a search; None if there are none."""
    for bound in terms.values():
        if bound.value:
            if isinstance(bound.certificate, Crowds):
                return CROWDS
            return LIVE_BYTES if isinstance(bound.certificate, (LiveBytes, Sum)) else "least costs"
    return None


_RANK = {Status.INFEASIBLE: 0, Status.OPTIMAL: 1, Status.FEASIBLE: 1, Status.UNKNOWN: 2}


def better(one: Plan, other: Plan) -> bool:
    """Whether the first plan is better: a lower objective, or an equal one with better bounds."""
    return _sort_key(one) < _sort_key(other)


def _sort_key(plan: Plan) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Sorts plans, best first. A proof that nothing fits comes before any plan."""
    values = tuple(term.value for term in plan.objective)
    bounds = tuple(-term.bound for term in plan.objective)
    return _RANK[plan.status], values, bounds
