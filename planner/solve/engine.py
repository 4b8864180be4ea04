"""The way from a problem to an accepted plan: check, reduce, bound, let solvers take turns, judge."""

import threading
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memstow.planner.backends import how_to_get, is_classic, prepare
from memstow.planner.check import require_hint, require_valid
from memstow.planner.model.options import Listener, OnBetter, Options
from memstow.planner.model.plan import Certificate, Explanation, Plan
from memstow.planner.model.problem import Kind, Problem, Term, counts, terms_of
from memstow.planner.model.records import collector_at_rest
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import columns_of, plan_of
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.solve.answer import Accept, Answers, Judge, no_layout
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.column_engine import MANY, Failure, PlainRun, answer_of_failure, ground_of, takes
from memstow.planner.solve.column_engine import budget_of as plain_budget
from memstow.planner.solve.portfolio import (
    budget_of,
    missing_model,
    require_willing,
    solver_by_name,
    stages_for,
)
from memstow.planner.solve.run_state import RunState, Stamp, task_of
from memstow.planner.solve.turns import OnLayout, Progress, Turns
from memstow.planner.verify import recount
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Solver, Task, Window

if TYPE_CHECKING:
    from memstow.planner.model.graph import Graph


def plan(
    problem: "Problem | Graph",
    options: "Options | None" = None,
    on_event: "Listener | None" = None,
    cancel: "threading.Event | None" = None,
    on_better: "OnBetter | None" = None,
) -> "Plan":
    """Solve the problem or the graph within the options' limits.

    `on_event` and `on_better` are called from threads of the run. When `cancel` is set, the best plan so far
    is returned. The judge has accepted every plan.
    Raises InputError for a problem that contradicts itself, UnknownSolverError, MissingBackEndError and
    DeclinedError for a solver that does not exist, is not installed, or cannot honour a constraint.
    """
    if not isinstance(problem, Problem):
        # Most calls are about problems, and do not wait for this import.
        from memstow.planner.solve.graphs import Callbacks, plan_graph

        return plan_graph(problem, options or Options(), Callbacks(on_event, cancel, on_better))
    return _Run(problem, options or Options(), on_event, cancel, on_better, recount).plan()


def plan_for_judge(
    problem: Problem,
    options: Options,
    on_event: Listener | None,
    judge: Judge,
    cancel: threading.Event | None = None,
    on_better: OnBetter | None = None,
) -> Plan:
    """The same with another judge: for a bench that keeps the verdicts, and for graphs, judged as such."""
    return _Run(problem, options, on_event, cancel, on_better, judge).plan()


class _Run:
    """One call of `plan`."""

    def __init__(
        self,
        problem: Problem,
        options: Options,
        on_event: Listener | None,
        cancel: threading.Event | None,
        on_better: OnBetter | None,
        judge: Judge,
    ) -> None:
        self._progress = Progress(on_event)
        self._problem = problem
        self._options = options
        self._cancel = cancel
        self._on_better = on_better
        self._budget = budget_of(options, problem)
        self._answers = Answers(problem, options, judge, self._stamp)

    def plan(self) -> Plan:
        solver = solver_by_name(self._options.solver)
        if solver is not None:
            prepare(solver.name)
        found = self._plan_in_columns()
        if found is not None:
            return found
        self._progress.phase("check")
        require_valid(self._problem)
        require_hint(self._problem, self._options.hint)
        self._progress.phase("reduce")
        counts_moves = counts(self._problem, Kind.MOVES)
        reduction = reduce(self._problem, self._options.hint if counts_moves else None)
        if isinstance(reduction, Explanation):
            return self._answers.infeasible(reduction, "places")
        self._progress.phase("bound")
        bounds = Bounds(reduction)
        misfit = bounds.misfit()
        if misfit is not None:
            return self._answers.infeasible(misfit, "live bytes")
        return self._search(solver, reduction, bounds)

    def _plan_in_columns(self) -> Plan | None:
        """The plan of a problem of many buffers that is plain; None for any other, and where nothing fits."""
        problem, options = self._problem, self._options
        if len(problem.buffers) < MANY or not takes(options) or self._answers.judge is not recount:
            return None
        with collector_at_rest():
            columns = columns_of(problem)
            ground = None if columns is None else ground_of(columns, options)
        if columns is None or ground is None:
            return None
        self._budget = plain_budget(options, ground, self._progress.seconds(), places=True)
        run = PlainRun(ground, options, self._progress, self._budget, self._cancel)
        # The run lets go of the instance before the judge has its turn.
        del ground
        if not run.suits:
            self._budget = budget_of(options, problem)
            return None
        found = run.plan(self._on_plain_layout(columns, run))
        if isinstance(found, Failure):
            return answer_of_failure(problem, options, found)
        return replace(plan_of(columns, found, problem), seconds=self._stamp().seconds)

    def _on_plain_layout(self, columns: Columns, run: PlainRun) -> OnLayout | None:
        """The same as `_on_layout` for a run in columns."""
        on_better = self._on_better
        if on_better is None:
            return None

        def accept(layout: Layout, solver: str) -> Plan:
            found = run.accepted(layout, solver, run.state.terms_for_any_plan())
            return plan_of(columns, found, self._problem)

        def on_layout(layout: Layout, solver: str) -> None:
            on_better(lambda: accept(layout, solver))

        return on_layout

    def _search(self, solver: Solver | None, reduction: Reduction, bounds: Bounds) -> Plan:
        """The plan of a problem that needs solvers; `solver` is the only one if the caller named one."""
        terms = {term: bounds.of_term(term) for term in terms_of(self._problem)}
        task, scales = task_of(reduction, {term: bound.value for term, bound in terms.items()}, self._options)
        state = RunState(terms, scales, partial(_window_of, reduction))
        self._progress.bound(state.first_bound, state.prover)
        if solver is not None:
            require_willing(solver, task)
        accept = partial(self._answers.accept, reduction, bounds, state)
        on_layout = self._on_layout(state, accept)
        turns = Turns(state, self._progress, self._budget, self._options.gap, self._cancel, on_layout)
        misfit = turns.take(stages_for(solver, task), task)
        if misfit is not None:
            return self._answers.infeasible(no_layout(reduction, misfit.items), misfit.solver)
        if task.instance.pool_count > 1 and (solver is None or not is_classic(solver.name)):
            self._prefer_pools(state, task)
        if not state.within(self._options.gap):
            self._report_missing_model(solver, task)
        self._progress.phase("judge")
        best = state.best
        if best is None or best.layout is None or not best.fits:
            return self._answers.unknown(reduction, best.layout if best else None)
        best_plan = accept(best.layout, best.solver, state.terms)
        return replace(best_plan, seconds=self._stamp().seconds)

    def _on_layout(self, state: RunState, accept: Accept) -> OnLayout | None:
        """The function that passes better layouts to the caller, who can have each as an accepted plan."""
        on_better = self._on_better
        if on_better is None:
            return None

        def on_layout(layout: Layout, solver: str) -> None:
            on_better(lambda: accept(layout, solver, state.terms_for_any_plan()))

        return on_layout

    def _prefer_pools(self, state: RunState, task: Task) -> None:
        """Move buffers to pools they prefer where the objective allows it.

        The search ends early enough to leave time for it (`planner.solve.portfolio`).
        """
        # Problems with one pool do not wait for this import.
        from memstow.solvers.prefer import move_to_preferred_pools

        best = state.best
        if best is not None and best.layout is not None and best.fits and not self._late():
            state.best = replace(best, layout=move_to_preferred_pools(task, best.layout))

    def _late(self) -> bool:
        return not self._options.deterministic and self._progress.seconds() >= self._options.time_limit

    def _report_missing_model(self, solver: Solver | None, task: Task) -> None:
        """Report, once, a model that is not installed and could do more."""
        name = missing_model(solver, task)
        needs = None if name is None else how_to_get(name)
        if name is not None and needs is not None:
            self._progress.solver_missing(name, needs)

    def _stamp(self) -> Stamp:
        """Time and work so far; the plan of a deterministic run holds no time."""
        seconds = 0.0 if self._options.deterministic else round(self._progress.seconds(), 6)
        return Stamp(seconds=seconds, work=self._budget.work)


def _window_of(
    reduction: Reduction, window: Window, term: Term, bound: int, solver: str
) -> Certificate | None:
    # Imported late: small problems have no windows.
    from memstow.planner.solve import answer

    return answer.window_of_reduction(reduction, window, term, bound, solver)
