"""Who solves, in what order, until when: the way from a problem to a judged plan."""

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from memstow.planner.backends.registry import how_to_get, is_classic, is_model, prepare, versioned
from memstow.planner.check import require_valid
from memstow.planner.model.events import Bound, Event, Incumbent, Listener, OnBetter, Phase, given_up, missing
from memstow.planner.model.garbage_collection import collector_at_rest
from memstow.planner.model.objective import Kind, Term, counts, terms_of
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Exhausted, Explanation, LiveBytes, Plan, Refuted, Sum, gap_of
from memstow.planner.model.problem import Problem
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve import answer
from memstow.planner.solve.answer import Judge
from memstow.planner.solve.bounds import Bounds, TermBound
from memstow.planner.solve.budget import budget_of, share_of
from memstow.planner.solve.cancellation import watched
from memstow.planner.solve.gap_reached import NearEnough
from memstow.planner.solve.no_layout import no_layout
from memstow.planner.solve.portfolio import Stage, asked_for, team_for, would_help
from memstow.planner.solve.preconditions import require_hint, require_willing
from memstow.planner.solve.proofs import Proven
from memstow.planner.solve.task import task_of
from memstow.planner.verify import recount
from memstow.solvers.core import Budget
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Listeners, Outcome, Solver, Task


def plan(
    problem: "Problem",
    options: "Options | None" = None,
    on_event: "Listener | None" = None,
    cancel: "threading.Event | None" = None,
    on_better: "OnBetter | None" = None,
    judge: "Judge | None" = None,
) -> "Plan":
    """Solve the problem within the options' limits.

    `on_event` and `on_better` are called from threads of the run. When `cancel` is set, the best plan so far
    is the answer. No plan is handed out that `judge` has not accepted.
    Raises InputError for a problem that contradicts itself, UnknownSolverError and DeclinedError for a solver
    that cannot be had.
    """
    return _Run(problem, options or Options(), on_event, cancel, on_better, judge or recount).plan()


# The judged plan of a layout, by this solver, with these bounds.
_Judged = Callable[[Layout, str, dict[Term, TermBound]], Plan]


class _Run:
    """One call of `plan`: what is known so far, and what is left of the budget."""

    def __init__(
        self,
        problem: Problem,
        options: Options,
        on_event: Listener | None,
        cancel: threading.Event | None,
        on_better: OnBetter | None,
        judge: Judge,
    ) -> None:
        self._begin = time.monotonic()
        self._problem = problem
        self._options = options
        self._on_event = on_event
        self._cancel = cancel
        self._on_better = on_better
        self._judge = judge
        self._budget = budget_of(options, problem)
        self._terms: dict[Term, TermBound] = {}
        self._rooted: dict[Term, TermBound] = {}  # as they were before any solver's turn
        self._told: int | None = None  # the last bound on the first term
        self._scales: list[int] = []  # by term: what one unit of its core value is worth
        self._best: Outcome | None = None
        self._proven = Proven()
        self._prover: str | None = None

    def plan(self) -> Plan:
        asked = asked_for(self._options.solver)
        if asked is not None:
            prepare(asked.name)
        self._tell(Phase("check", self._elapsed()))
        require_valid(self._problem)
        require_hint(self._problem, self._options)
        self._tell(Phase("reduce", self._elapsed()))
        counts_moves = counts(self._problem, Kind.MOVES)
        reduction = reduce(self._problem, self._options.hint if counts_moves else None)
        if isinstance(reduction, Explanation):
            return self._infeasible(reduction)
        self._tell(Phase("bound", self._elapsed()))
        bounds = Bounds(reduction)
        misfit = bounds.misfit()
        if misfit is not None:
            return self._infeasible(misfit, "live bytes")
        self._terms = {term: bounds.of_term(term) for term in terms_of(self._problem)}
        self._prover = _prover_of(self._terms)
        self._tell_bound(self._prover)
        bounds_of = {term: bound.value for term, bound in self._terms.items()}
        task, self._scales = task_of(reduction, bounds_of, self._options)
        if asked is not None:
            require_willing(asked, task)
        self._rooted = dict(self._terms)
        judged = partial(self._judged, reduction, bounds)
        infeasible = self._take_turns(team_for(asked, task), task, reduction, judged)
        if infeasible is not None:
            return infeasible
        if task.instance.pool_count > 1 and (asked is None or not is_classic(asked.name)):
            self._prefer(task)
        if not self._within(self._options.gap):
            self._tell_missing(asked, task)
        return self._answer(reduction, judged)

    def _take_turns(
        self, team: list[Stage], task: Task, reduction: Reduction, judged: _Judged
    ) -> Plan | None:
        """Let each solver go on from what is known; a plan where it turns out that nothing fits."""
        failed = False
        for stage in team:
            if self._settled() or (stage.stands_in and not failed) or stage.solver.declines(task) is not None:
                continue
            self._tell(Phase(stage.solver.name, self._elapsed()))
            budget = share_of(self._budget, stage)
            outcome = self._solve(stage.solver, task, budget, judged)
            self._budget.count(budget.work)
            if outcome.misfit is not None and not (self._best and self._best.fits):
                return self._infeasible(no_layout(reduction, outcome.misfit), stage.solver.name)
            self._learn(stage.solver, outcome)
            self._tell_bound(self._prover)
            failed = outcome.failure is not None
            task = replace(task, start=self._best.layout if self._best else None, lower_bounds=self._bounds())
        return None

    def _bounds(self) -> tuple[int, ...]:
        """By term, in units of the core."""
        bounds = zip(self._terms.values(), self._scales, strict=True)
        return tuple(-(-bound.value // scale) for bound, scale in bounds)

    def _prefer(self, task: Task) -> None:
        """Let buffers go to pools they prefer where the plan is worth as much.

        What the search may use ends early enough for it (`planner.solve.budget`).
        """
        # Nothing that a problem of one pool should wait for.
        from memstow.solvers.prefer import preferred

        best = self._best
        if best is not None and best.layout is not None and best.fits and not self._late():
            self._best = replace(best, layout=preferred(task, best.layout))

    def _late(self) -> bool:
        return not self._options.deterministic and self._elapsed() >= self._options.time_limit

    def _answer(self, reduction: Reduction, judged: _Judged) -> Plan:
        self._tell(Phase("judge", self._elapsed()))
        best = self._best
        if best is None or best.layout is None or not best.fits:
            return answer.unknown(reduction, best.layout if best else None, self._stamp())
        found = judged(best.layout, best.solver, self._terms)
        return replace(found, seconds=self._stamp().seconds)

    def _judged(
        self, reduction: Reduction, bounds: Bounds, layout: Layout, solver: str, terms: dict[Term, TermBound]
    ) -> Plan:
        with collector_at_rest():
            return answer.judged(
                reduction,
                bounds,
                terms,
                self._named(solver),
                layout,
                self._options,
                None if self._prover is None else self._named(self._prover),
                self._stamp(),
                self._judge,
            )

    def _for_any_plan(self) -> dict[Term, TermBound]:
        """Bounds that do not depend on the plan: models prove those of later terms for the best one alone."""
        first = dict(list(self._terms.items())[:1])
        return self._rooted | first

    def _elapsed(self) -> float:
        return time.monotonic() - self._begin

    def _tell(self, event: Event) -> None:
        if self._on_event is not None:
            self._on_event(event)

    def _tell_bound(self, by: str | None, value: int | None = None) -> None:
        """A bound on the first term, or the one that holds now, if it was not told yet."""
        if value is None:
            value = next((bound.value for bound in self._terms.values()), None)
        if value is not None and (self._told is None or value > self._told):
            self._told = value
            # Nothing is below zero: that needs no proof by anyone.
            self._tell(Bound(value, by or "bounds", self._elapsed()))

    def _stamp(self) -> answer.Stamp:
        """A deterministic run says nothing of the clock."""
        seconds = 0.0 if self._options.deterministic else round(self._elapsed(), 6)
        return answer.Stamp(seconds=seconds, work=self._budget.work)

    def _infeasible(self, explanation: Explanation, prover: str = "places") -> Plan:
        return answer.infeasible(self._problem, explanation, self._named(prover), self._stamp())

    def _named(self, who: str) -> str:
        """A model by its version too, where a run can be repeated: another one may give another plan."""
        return versioned(who) if self._options.deterministic else who

    def _tell_missing(self, asked: Solver | None, task: Task) -> None:
        """Of what is not installed and could do more, once."""
        name = would_help(asked, task)
        needs = None if name is None else how_to_get(name)
        if name is not None and needs is not None:
            self._tell(missing(name, needs, self._elapsed()))

    def _settled(self) -> bool:
        """Whether nothing more is wanted, or nothing more can be had."""
        return self._best is not None and (self._budget.spent or self._within(self._options.gap))

    def _within(self, gap: float) -> bool:
        """Whether each term is proven to be within the gap, given the terms before it."""
        best = self._best
        if best is None or not best.fits:
            return False
        values = [value * scale for value, scale in zip(best.values, self._scales, strict=True)]
        return all(
            gap_of(value, bound.value) <= gap
            for value, bound in zip(values, self._terms.values(), strict=True)
        )

    def _near_enough(self, solver: Solver, task: Task, budget: Budget) -> NearEnough | None:
        """What ends the turn at the gap. Models end it themselves; of several terms, one says too little."""
        if not self._options.gap or len(task.terms) != 1 or is_model(solver.name):
            return None
        value = self._best.values[0] * self._scales[0] if self._best is not None and self._best.fits else None
        return NearEnough(self._options.gap, budget.cancel, value, task.lower_bounds[0] * self._scales[0])

    def _learn(self, solver: Solver, outcome: Outcome) -> None:
        """Keep the better layout and the better bound."""
        if outcome.better_than(self._best):
            self._best = outcome
        self._proven.add(solver.name, outcome.bounds)
        if self._best is not None and self._best.fits:
            self._terms, prover = self._proven.improved(self._terms, self._scales, self._best.values)
            self._prover = prover or self._prover
        if outcome.failure is not None and not self._budget.spent:
            self._tell(given_up(solver.name, outcome.failure, self._elapsed()))
        if outcome.proof is None:
            return
        term = next(iter(self._terms))
        scale = self._scales[0]
        bound = outcome.proof.bound * scale
        if bound > self._terms[term].value:
            refuted = {height * scale: nodes for height, nodes in outcome.proof.refuted}
            # What no search was needed for was refuted at its root.
            refuted.setdefault(bound - 1, refuted.pop(bound - scale, 1))
            steps = tuple(Refuted(height=h, nodes=n) for h, n in sorted(refuted.items()) if h < bound)
            self._terms[term] = TermBound(bound, Exhausted(solver=solver.name, refuted=steps))
            self._prover = solver.name

    def _solve(self, solver: Solver, task: Task, budget: Budget, judged: _Judged) -> Outcome:
        """Run the solver; what it finds on the way is told in the user's units."""
        scale = self._scales[0] if self._scales else 1
        near = self._near_enough(solver, task, budget)

        def incumbent(by: str, value: int, layout: Layout) -> None:
            self._tell(Incumbent(value * scale, by, self._elapsed()))
            if self._on_better is not None:
                self._on_better(lambda: judged(layout, by, self._for_any_plan()))
            if near is not None:
                near.hear_value(value * scale)

        def bound(by: str, value: int) -> None:
            self._tell_bound(by, value * scale)
            if near is not None:
                near.hear_bound(value * scale)

        return watched(
            lambda: solver.solve(task, budget, Listeners(incumbent, bound)),
            self._budget.cancel,
            self._cancel,
            f"memstow {solver.name}",
        )


def _prover_of(terms: dict[Term, TermBound]) -> str | None:
    """Who proved the bounds that need no search; None where there are none."""
    for bound in terms.values():
        if bound.value:
            return "live bytes" if isinstance(bound.certificate, (LiveBytes, Sum)) else "least costs"
    return None
