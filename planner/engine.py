"""Who solves, in what order, until when: the way from a problem to a judged plan."""

import threading
import time
from dataclasses import dataclass, replace

import planner
from planner.bounds import Bounds, TermBound
from planner.check import require_valid
from planner.digest import digest
from planner.errors import DeclinedError, InputError, RefusedPlanError, UnknownSolverError
from planner.evaluate import Worth
from planner.events import Bound, Event, Incumbent, Listener, Phase
from planner.options import Options
from planner.plan import Certificate, Explanation, Least, Overflow, Plan, PoolUse, Status, TermValue, gap_of
from planner.problem import Problem
from planner.reduce import Reduction, reduce
from planner.verify import verify
from solvers import _native
from solvers.instance import Layout
from solvers.solver import Outcome, Solver, Task, Term, TermKind, find, names

# Building, judging and naming a plan takes about so long for each buffer; the search ends earlier by it.
_SECONDS_PER_BUFFER = 25e-6
# How often a waiting caller looks whether it was told to stop.
_TICK = 0.02

_KINDS = {
    "peak": TermKind.PEAK,
    "max_peak": TermKind.MAX_PEAK,
    "placement_cost": TermKind.PLACEMENT_COST,
    "reuse_cost": TermKind.REUSE_COST,
    "moves": TermKind.MOVES,
}
_IN_BYTES = {TermKind.PEAK, TermKind.POOL_PEAK, TermKind.MAX_PEAK}


def plan(
    problem: Problem,
    options: Options | None = None,
    on_event: Listener | None = None,
    cancel: threading.Event | None = None,
) -> Plan:
    """Solve the problem within the options' limits.

    Events are told from a thread of the run. When `cancel` is set, the best plan so far is the answer.
    Raises InputError for a problem that contradicts itself, UnknownSolverError and DeclinedError for a solver
    that cannot be had.
    """
    return _Run(problem, options or Options(), on_event, cancel or threading.Event()).plan()


@dataclass(slots=True)
class _Found:
    """The best layout of a run and what it says about the objective."""

    outcome: Outcome
    by: str


class _Run:
    """One call of `plan`."""

    def __init__(
        self, problem: Problem, options: Options, on_event: Listener | None, cancel: threading.Event
    ) -> None:
        self._begin = time.monotonic()
        self._problem = problem
        self._options = options
        self._on_event = on_event
        self._cancel = cancel

    def plan(self) -> Plan:
        solver = _solver(self._options.solver)
        self._phase("check")
        require_valid(self._problem)
        _require_hint(self._problem, self._options)
        self._phase("reduce")
        reduction = reduce(self._problem)
        if isinstance(reduction, Explanation):
            return self._infeasible(reduction)
        self._phase("bound")
        bounds = Bounds(reduction)
        explanation = bounds.misfit()
        if explanation is not None:
            return self._infeasible(explanation)
        terms = {term: bounds.of_term(term) for term in self._problem.terms()}
        if terms:
            first = next(iter(terms.values()))
            self._tell(Bound(first.value, "live bytes", self._elapsed()))
        task = self._task(reduction, terms)
        reason = solver.declines(task)
        if reason is not None:
            raise DeclinedError(f"solver {solver.name!r} cannot honour {reason}; use `auto`")
        self._phase("solve")
        outcome = self._solve(solver, task, reduction.unit)
        self._phase("judge")
        if not outcome.fits:
            return self._unknown(reduction, outcome)
        return self._judged(reduction, bounds, terms, outcome)

    def _elapsed(self) -> float:
        return time.monotonic() - self._begin

    def _tell(self, event: Event) -> None:
        if self._on_event is not None:
            self._on_event(event)

    def _phase(self, name: str) -> None:
        self._tell(Phase(name, self._elapsed()))

    def _task(self, reduction: Reduction, terms: dict[str, TermBound]) -> Task:
        pool_of = {pool.id: i for i, pool in enumerate(self._problem.pools)}
        core_terms = []
        for term in terms:
            kind = _KINDS.get(term, TermKind.POOL_PEAK)
            core_terms.append(Term(kind, pool_of[term[5:]] if kind is TermKind.POOL_PEAK else -1))
        hint = self._options.hint
        return Task(
            instance=reduction.instance,
            terms=tuple(core_terms),
            lower_bounds=tuple(
                -(-bound.value // reduction.unit) if core.kind in _IN_BYTES else bound.value
                for core, bound in zip(core_terms, terms.values(), strict=True)
            ),
            hint=reduction.layout(hint.placements) if hint is not None else None,
            seed=self._options.seed,
            workers=self._options.workers or 1,
        )

    def _budget(self) -> _native.Budget:
        if self._options.deterministic:
            work = self._options.work_limit
            return _native.Budget(-1.0, -1 if work is None else work)
        after = _SECONDS_PER_BUFFER * len(self._problem.buffers)
        left = self._options.time_limit - self._elapsed() - after
        return _native.Budget(max(left, 0.0), -1)

    def _solve(self, solver: Solver, task: Task, unit: int) -> Outcome:
        """Run the solver beside a watch on `cancel`, so that it can be told to stop."""
        budget = self._budget()
        scale = unit if task.terms and task.terms[0].kind in _IN_BYTES else 1

        def on_value(by: str, value: int | None) -> None:
            if value is not None:
                self._tell(Incumbent(value * scale, by, self._elapsed()))

        outcomes: list[Outcome] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                outcomes.append(solver.solve(task, budget, on_value))
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=work, name=f"memstow {solver.name}", daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                if self._cancel.is_set():
                    budget.cancel()
                thread.join(_TICK)
        except BaseException:
            budget.cancel()
            thread.join()
            raise
        if errors:
            raise errors[0]
        return outcomes[0]

    def _stamp(self, status: Status) -> Plan:
        """What every plan says of the run."""
        return Plan(
            status=status,
            digest=digest(self._problem),
            version=planner.__version__,
            seconds=0.0 if self._options.deterministic else round(self._elapsed(), 6),
        )

    def _infeasible(self, explanation: Explanation) -> Plan:
        return replace(self._stamp(Status.INFEASIBLE), explanation=explanation, prover="live bytes")

    def _unknown(self, reduction: Reduction, outcome: Outcome) -> Plan:
        peaks = _native.pool_peaks(reduction.instance.native, outcome.layout)
        closest = tuple(
            Overflow(pool=pool.id, peak=peak * reduction.unit, capacity=pool.capacity)
            for pool, peak in zip(self._problem.pools, peaks, strict=True)
            if pool.capacity is not None and peak * reduction.unit > pool.capacity
        )
        return replace(self._stamp(Status.UNKNOWN), closest=closest, work=outcome.work)

    def _judged(
        self, reduction: Reduction, bounds: Bounds, terms: dict[str, TermBound], outcome: Outcome
    ) -> Plan:
        placements = reduction.placements(outcome.layout)
        worth = Worth(reduction, outcome.layout, placements, self._options.hint)
        objective = tuple(_term_value(term, worth.value(term), bound) for term, bound in terms.items())
        proven = all(entry.value == entry.bound for entry in objective)
        pools = tuple(
            PoolUse(
                pool=pool.id,
                capacity=pool.capacity,
                peak=worth.peaks[i],
                bound=bounds.of_pool(i),
                live=worth.live[i],
            )
            for i, pool in enumerate(self._problem.pools)
        )
        answer = replace(
            self._stamp(Status.OPTIMAL if proven else Status.FEASIBLE),
            placements=placements,
            pools=pools,
            objective=objective,
            solver=outcome.solver,
            prover="live bytes" if any(entry.bound for entry in objective) else None,
            work=outcome.work,
        )
        violations = verify(self._problem, answer, self._options.hint)
        if violations:
            raise RefusedPlanError(
                f"the plan of {outcome.solver} was refused; please report it: "
                + "; ".join(f"{v.code}: {v.message}" for v in violations[:5])
            )
        if not self._options.deterministic:
            answer = replace(answer, seconds=round(self._elapsed(), 6))
        return answer


def _solver(name: str) -> Solver:
    try:
        return find("greedy" if name == "auto" else name)
    except KeyError:
        raise UnknownSolverError(
            f"there is no solver {name!r}; use auto or one of {', '.join(names())}"
        ) from None


def _require_hint(problem: Problem, options: Options) -> None:
    if "moves" in problem.terms() and options.hint is None:
        where = problem.terms().index("moves")
        raise InputError.single(
            "moves_without_hint",
            f"$.objective[{where}]",
            "`moves` counts what differs from a plan; give that plan as the hint",
        )


def _term_value(term: str, value: int, bound: TermBound) -> TermValue:
    certificate: Certificate | None = bound.certificate
    if certificate is None and value == bound.value:
        certificate = Least()
    return TermValue(
        term=term,
        value=value,
        bound=bound.value,
        gap=gap_of(value, bound.value),
        certificate=certificate,
    )


__all__ = ["Layout", "plan"]
