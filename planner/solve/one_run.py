"""One run: solvers take turns on arrays, the best layout becomes an accepted answer.

What the arrays stand for is the business of a `Source`: a problem of objects (`problem_plans.py`), or columns
(`column_plans.py`). A run knows neither; both kinds go through the same steps, in `run_source` at the end.
Before it stand the parts that it works with: bounds, and plans of values (`TermBound`, `term_value`), the
best layout so far and what is proven (`RunState`), the clock that tells what happens (`Progress`), and the
turns of the solvers, each from the best layout and bounds so far (`Turns`).
"""

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol, TypeVar

import memstow
from memstow.planner.backends import prepare
from memstow.planner.model import Status
from memstow.planner.model.model_class import maker_of
from memstow.planner.model.options import (
    Bound,
    Incumbent,
    Listener,
    Options,
    Phase,
    proof_refused,
    solver_claims,
    solver_gave_up,
    solver_missing,
)
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
from memstow.planner.processes import machine
from memstow.planner.solve.portfolio import (
    CHECK_SECONDS,
    Stage,
    budget_of,
    missing_model,
    require_willing,
    solver_by_name,
    stages_for,
)
from memstow.records import record, replace
from memstow.solvers.core import Budget, in_preferred_pools
from memstow.solvers.instance import Instance, Layout
from memstow.solvers.known import KnownPrices
from memstow.solvers.registry import BACK_ENDS, is_classic, is_model, is_ours, name_with_version
from memstow.solvers.solver import (
    Listeners,
    ModelBound,
    Outcome,
    Proof,
    Solver,
    Task,
    Window,
)
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


_RANK = {Status.INFEASIBLE: 0, Status.OPTIMAL: 1, Status.FEASIBLE: 1, Status.UNKNOWN: 2}


def better(one: Plan, other: Plan) -> bool:
    """Whether the first plan is better: a lower objective, or an equal one with better bounds."""
    return _sort_key(one) < _sort_key(other)


def _sort_key(plan: Plan) -> tuple[int, tuple[int, ...], tuple[int, ...]]:
    """Sorts plans, best first. A proof that nothing fits comes before any plan."""
    values = tuple(term.value for term in plan.objective)
    bounds = tuple(-term.bound for term in plan.objective)
    return _RANK[plan.status], values, bounds


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


OnPrices = Callable[[KnownPrices], None]
"""Called with what a bound of reuse costs rests on, by part."""
Certify = Callable[[Window, Term, int, str], Certificate | None]
"""The certificate of a window that a solver has searched, for this bound; None where it is not taken."""


class RunState:
    """The best layout of a run and the bounds proven so far. Solvers count in units, bounds are in bytes."""

    def __init__(
        self,
        terms: dict[Term, TermBound],
        scales: Sequence[int],
        certify: Certify | None = None,
        on_prices: OnPrices | None = None,
    ) -> None:
        self._certify = certify
        self._on_prices = on_prices
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
        if outcome.prices and self._on_prices is not None:
            self._on_prices(outcome.prices)
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


class Progress:
    """The clock and the listener of a run."""

    def __init__(self, listener: Listener | None) -> None:
        self._begin = time.monotonic()
        self._listener = listener
        self._bound: int | None = None

    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._begin

    def phase(self, name: str) -> None:
        """A phase begins."""
        if self._listener is not None:
            self._listener(Phase(name, self.seconds()))

    def incumbent(self, value: int, solver: str) -> None:
        """A better plan was found."""
        if self._listener is not None:
            self._listener(Incumbent(value, solver, self.seconds()))

    def bound(self, value: int | None, prover: str | None) -> None:
        """Send this bound on the first term if it is the highest so far."""
        if value is not None and (self._bound is None or value > self._bound):
            self._bound = value
            if self._listener is not None:
                # Nobody has to prove that nothing is below zero.
                self._listener(Bound(value, prover or "bounds", self.seconds()))

    def gave_up(self, solver: str, reason: str) -> None:
        """A solver ended its turn early."""
        if self._listener is not None:
            self._listener(solver_gave_up(solver, reason, self.seconds()))

    def claims(self, solver: str, claim: str) -> None:
        """A solver says what nobody has checked."""
        if self._listener is not None:
            self._listener(solver_claims(solver, claim, self.seconds()))

    def refused(self, solver: str, why: str) -> None:
        """The proof of a solver does not count."""
        if self._listener is not None:
            self._listener(proof_refused(solver, why, self.seconds()))

    def solver_missing(self, solver: str, needs: str) -> None:
        """A solver that is not installed could do more."""
        if self._listener is not None:
            self._listener(solver_missing(solver, needs, self.seconds()))


# A turn of so little work is over before anyone misses Ctrl-C; a thread takes half as long as a small solve.
_AT_ONCE: Final = 50_000

OnLayout = Callable[[Layout, str], None]
"""Called with each better layout that fits, and with the solver that found it."""


class GapStop:
    """Ends a turn as soon as the first and only term is within the gap: native code does not check that."""

    def __init__(self, gap: float, end: Callable[[], None], value: int | None, bound: int) -> None:
        self._gap = gap
        self._end = end
        self._value = value
        self._bound = bound

    def new_value(self, value: int) -> None:
        """A better plan was found."""
        self._value = value
        self._check()

    def new_bound(self, bound: int) -> None:
        """A better bound was proven."""
        self._bound = bound
        self._check()

    def _check(self) -> None:
        if self._value is not None and gap_of(self._value, self._bound) <= self._gap:
            self._end()


@record
class Misfit:
    """A proof that nothing fits: items that are too many for their pools, and the solver that found them."""

    items: tuple[int, ...]
    solver: str


@record
class Turns:
    """Gives solvers their turns within the budget and the gap of a run."""

    state: RunState
    progress: Progress
    budget: Budget
    gap: float
    cancel: threading.Event | None
    on_layout: OnLayout | None

    def take(self, stages: Iterable[Stage], task: Task) -> Misfit | None:
        """Let each stage have its turn; a proof that nothing fits ends them."""
        failed = False
        for stage in stages:
            if self._is_done():
                break
            if (stage.stands_in and not failed) or stage.solver.declines(task) is not None:
                continue
            name = stage.solver.name
            self.progress.phase(name)
            share = stage.share_of(self.budget)
            outcome = self._solve(stage, task, share)
            self.budget.count(share.work)
            if outcome.misfit is not None and not self.state.has_plan:
                return Misfit(outcome.misfit, name)
            self.state.learn(name, outcome)
            if outcome.failure is not None and not (self.budget.spent and is_ours(name)):
                self.progress.gave_up(name, outcome.failure)
            if outcome.refused is not None:
                self.progress.refused(name, outcome.refused)
            if outcome.claim is not None:
                self.progress.claims(name, outcome.claim)
            self.progress.bound(self.state.first_bound, self.state.prover)
            failed = outcome.failure is not None
            if self._is_done():
                # Most small problems end here: the next stage is not even looked for.
                break
            best = self.state.best
            task = replace(task, start=best.layout if best else None, lower_bounds=self.state.lower_bounds())
        return None

    def _is_done(self) -> bool:
        """Whether the plan is good enough, or the budget is spent."""
        return self.state.best is not None and (self.budget.spent or self.state.within(self.gap))

    def _solve(self, stage: Stage, task: Task, budget: Budget) -> Outcome:
        """Run the solver; the values and bounds that it reports are turned into bytes."""
        solver = stage.solver
        scale = self.state.scales[0] if self.state.scales else 1
        stop = self._gap_stop(solver, task, budget)

        def incumbent(by: str, value: int, layout: Layout) -> None:
            self.progress.incumbent(value * scale, by)
            if self.on_layout is not None:
                self.on_layout(layout, by)
            if stop is not None:
                stop.new_value(value * scale)

        def bound(by: str, value: int) -> None:
            self.progress.bound(value * scale, by)
            if stop is not None:
                stop.new_bound(value * scale)

        listeners = Listeners(incumbent, bound, layouts=self.on_layout is not None)
        work = None if is_model(solver.name) else budget.work_left
        if self.cancel is None and work is not None and work <= _AT_ONCE:
            return solver.solve(task, budget, listeners)
        return _run_cancellable(
            lambda: solver.solve(task, budget, listeners),
            self.budget.cancel,
            self.cancel,
            f"memstow {solver.name}",
        )

    def _gap_stop(self, solver: Solver, task: Task, budget: Budget) -> GapStop | None:
        """None for models, which stop at the gap themselves, and with several terms.

        What is ours stops at a plan that is proven; a solver of another package does not know that bound.
        """
        if (not self.gap and is_ours(solver.name)) or len(task.terms) != 1 or is_model(solver.name):
            return None
        bound = task.lower_bounds[0] * self.state.scales[0]
        return GapStop(self.gap, budget.cancel, self.state.first_value(), bound)


WorkedT = TypeVar("WorkedT")


def _run_cancellable(
    work: Callable[[], WorkedT], stop: Callable[[], None], cancel: threading.Event | None, name: str
) -> WorkedT:
    """Run `work` and return what it returns; call `stop` when `cancel` is set or Ctrl-C is pressed.

    The work gets a thread of its own: only the main thread hears Ctrl-C, and not while it runs native code.
    KeyboardInterrupt is raised again once the work has ended.
    """
    if cancel is None and threading.current_thread() is not threading.main_thread():
        return work()
    results: list[WorkedT] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, name=name, daemon=True)
    machine.start_thread(thread)
    try:
        while thread.is_alive():
            if cancel is not None and cancel.is_set():
                stop()
            thread.join(CHECK_SECONDS)
    except BaseException:
        stop()
        thread.join()
        raise
    if errors:
        raise errors[0]
    return results[0]


@record
class Arrays:
    """A problem as solvers take it, with what is known before the first turn."""

    task: Task
    state: RunState
    seconds_after: float
    """How long it will take to make an answer of a layout: the search ends so much earlier."""


@record
class Candidate:
    """A layout that fits, who found it, and what is proven of it."""

    layout: Layout
    solver: str
    terms: dict[Term, TermBound]
    prover: str | None
    is_last: bool
    """Whether nobody will ask for another: then the source needs its arrays no more."""


AnswerT = TypeVar("AnswerT")


class Source(Protocol[AnswerT]):
    """A problem in one of its forms: how it becomes arrays, and a layout an answer."""

    def arrays(self, progress: Progress) -> Arrays | AnswerT:
        """The arrays, once; or the answer where nothing fits as the first bounds show."""

    def accepted(self, candidate: Candidate) -> AnswerT:
        """The answer with this layout; RefusedPlanError if the judge finds a violation."""

    def no_layout(self, misfit: Misfit) -> AnswerT:
        """The answer where nothing fits, as a solver has shown."""

    def unknown(self, attempt: Layout | None) -> AnswerT:
        """The answer where no plan was found, and no proof that there is none; with the closest attempt."""

    def stamped(self, answer: AnswerT, stamp: Stamp) -> AnswerT:
        """The answer with the time and the work that it took."""


def named_in_plan(solver: str, options: Options) -> str:
    """A solver that comes with another package with the version of that, in a deterministic run.

    Another version may give another plan.
    """
    if not options.deterministic:
        return solver
    if not is_ours(options.solver) and solver == options.solver:
        from memstow.planner.plugins.installed import find

        plug_in = find("solver", solver)
        return solver if plug_in is None else f"{solver} ({plug_in.origin})"
    return name_with_version(solver)


def run_source(
    source: Source[AnswerT],
    options: Options,
    progress: Progress,
    cancel: threading.Event | None = None,
    on_better: Callable[[Callable[[], AnswerT]], None] | None = None,
) -> AnswerT:
    """The accepted answer within the limits of the options, which count from the begin of the progress."""
    solver = solver_by_name(options.solver)
    if solver is not None:
        prepare(solver.name)
    arrays = source.arrays(progress)
    if not isinstance(arrays, Arrays):
        return source.stamped(arrays, _stamp(options, progress, 0))
    task, state = arrays.task, arrays.state
    budget = budget_of(options, progress.seconds() + arrays.seconds_after)

    def accepted(layout: Layout, by: str, terms: dict[Term, TermBound], is_last: bool) -> AnswerT:
        prover = None if state.prover is None else named_in_plan(state.prover, options)
        candidate = Candidate(layout, named_in_plan(by, options), terms, prover, is_last)
        answer = source.accepted(candidate)
        return source.stamped(answer, _stamp(options, progress, budget.work))

    def offer(layout: Layout, by: str) -> None:
        if on_better is not None:
            # Bounds of later terms hold for the best layout alone, which this may not be for long.
            on_better(lambda: accepted(layout, by, state.terms_for_any_plan(), is_last=False))

    progress.bound(state.first_bound, state.prover)
    if solver is not None:
        require_willing(solver, task)
    on_layout = None if on_better is None else offer
    turns = Turns(state, progress, budget, options.gap, cancel, on_layout)
    misfit = turns.take(stages_for(solver, task, budget.seconds_left), task)
    if misfit is not None:
        return source.stamped(source.no_layout(misfit), _stamp(options, progress, budget.work))
    if (
        task.instance.pool_count > 1
        and task.banks is None
        and (solver is None or (is_ours(solver.name) and not is_classic(solver.name)))
    ):
        _prefer_pools(state, task, options, progress)
    if not state.within(options.gap):
        _report_missing_model(solver, task, progress)
    # Of a million buffers the arrays are most of the memory, which the judge needs.
    del arrays, task
    progress.phase("judge")
    best = state.best
    if best is None or best.layout is None or not best.fits:
        unknown = source.unknown(best.layout if best else None)
        return source.stamped(unknown, _stamp(options, progress, budget.work))
    return accepted(best.layout, best.solver, state.terms, is_last=on_better is None)


# Moving buffers to pools they prefer, at the end, takes up to this long.
_SECONDS_TO_PREFER: Final = 0.05
_SHARE_TO_PREFER: Final = 0.1


def seconds_to_prefer(time_limit: float) -> float:
    """What a source of several pools leaves for that, of a run with this limit."""
    return min(_SECONDS_TO_PREFER, time_limit * _SHARE_TO_PREFER)


def _prefer_pools(state: RunState, task: Task, options: Options, progress: Progress) -> None:
    """Move buffers to pools they prefer where the objective allows it.

    The search ends early enough to leave time for it (`Arrays.seconds_after`).
    """
    best = state.best
    late = not options.deterministic and progress.seconds() >= options.time_limit
    if best is not None and best.layout is not None and best.fits and not late:
        state.best = replace(best, layout=in_preferred_pools(task, best.layout))


def _report_missing_model(solver: Solver | None, task: Task, progress: Progress) -> None:
    """Report, once, a model that is not installed and could do more."""
    name = missing_model(solver, task)
    needs = None if name is None else BACK_ENDS[name].how_to_get()
    if name is not None and needs is not None:
        progress.solver_missing(name, needs)


def _stamp(options: Options, progress: Progress, work: int) -> Stamp:
    """Time and work so far; the plan of a deterministic run holds no time."""
    return Stamp(seconds=0.0 if options.deterministic else round(progress.seconds(), 6), work=work)
