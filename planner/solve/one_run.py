"""One run: solvers take turns on arrays, the best layout becomes an accepted answer.

What the arrays stand for is the business of a `Source`: a problem of objects (`problem_plans.py`), or columns
(`column_plans.py`). A run knows neither; both kinds go through the same few steps here.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Protocol, TypeVar

from memstow.planner.backends import how_to_get, is_classic, name_with_version, prepare
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Term
from memstow.planner.model.records import record
from memstow.planner.solve.portfolio import (
    budget_of,
    missing_model,
    require_willing,
    solver_by_name,
    stages_for,
)
from memstow.planner.solve.run_state import RunState, Stamp, TermBound
from memstow.planner.solve.turns import Misfit, Progress, Turns
from memstow.solvers.core import in_preferred_pools
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Solver, Task, depends_on_banks


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
    """A back end with its version in a deterministic run: another version may give another plan."""
    return name_with_version(solver) if options.deterministic else solver


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
    misfit = turns.take(stages_for(solver, task), task)
    if misfit is not None:
        return source.stamped(source.no_layout(misfit), _stamp(options, progress, budget.work))
    knows_banks = depends_on_banks(task) is not None
    if task.instance.pool_count > 1 and not knows_banks and (solver is None or not is_classic(solver.name)):
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
    needs = None if name is None else how_to_get(name)
    if name is not None and needs is not None:
        progress.solver_missing(name, needs)


def _stamp(options: Options, progress: Progress, work: int) -> Stamp:
    """Time and work so far; the plan of a deterministic run holds no time."""
    return Stamp(seconds=0.0 if options.deterministic else round(progress.seconds(), 6), work=work)
