"""The way from the columns of a plain problem to an accepted plan: the engine's, without objects.

The instance, the bounds and the judge are native; the turns of the solvers are those of every run. What is
not simply a plan that fits (nothing fits, nothing was found) is left to the engine, which has words for it.
"""

import threading
import time
from array import array
from typing import Final

from memstow.planner.backends.registry import find, is_classic, name_with_version
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Certificate, LiveBytes
from memstow.planner.model.problem import LIMIT, PEAK, Term
from memstow.planner.model.records import record
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.plan import PlainPlan
from memstow.planner.solve.plain_plan import four, judged_plan
from memstow.planner.solve.portfolio import AUTO, DEFAULT_WORK, require_willing, solver_by_name, stages_for
from memstow.planner.solve.run_state import RunState, workers_of
from memstow.planner.solve.term_bounds import Stamp, TermBound
from memstow.planner.solve.turns import Misfit, OnLayout, Progress, Turns
from memstow.solvers import core
from memstow.solvers.column_instance import PEAK_OF_ALL, ColumnInstance, instance_of_columns
from memstow.solvers.core import Budget
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Task, Window

# Solvers that read nothing of an instance but what a `ColumnInstance` has.
_SOLVERS: Final = (AUTO, "greedy", "exact", "improve")
# With more buffers than this, items are numbered by the begin of their lives.
_MOST_AS_GIVEN: Final = 1 << 18
# Problems of fewer buffers that are objects already stay so: there is nothing to gain.
MANY: Final = 2_000
# Judging takes about so long for each buffer, so the search ends earlier; so does making its placement.
_SECONDS_TO_JUDGE: Final = 1.2e-6
_SECONDS_TO_PLACE: Final = 1.5e-6
# And so many times as long as the ground took: a busy machine is slow in both.
_JUDGING_TO_GROUND: Final = 4.0
# But the search has at least this share of the limit.
_LEAST_SHARE: Final = 0.5


def takes(options: Options) -> bool:
    """Whether a run with these options can do without objects."""
    return (options.solver in _SOLVERS or is_classic(options.solver)) and options.hint is None


def budget_of(options: Options, ground: "Ground", seconds: float, *, places: bool) -> Budget:
    """The budget of a search after these seconds of its run: it leaves time for judging the plan.

    `places`: and for making an object for each placement.
    """
    if options.deterministic:
        return Budget(-1.0, DEFAULT_WORK if options.work_limit is None else options.work_limit)
    limit = -1 if options.work_limit is None else options.work_limit
    count = len(ground.columns)
    rest = max(_SECONDS_TO_JUDGE * count, _JUDGING_TO_GROUND * ground.seconds)
    rest += _SECONDS_TO_PLACE * count if places else 0.0
    rest = min(rest, options.time_limit * (1.0 - _LEAST_SHARE))
    return Budget(max(options.time_limit - seconds - rest, 0.0), limit)


@record
class Ground:
    """What is known of a plain problem before the search; there is no reason why nothing should fit."""

    columns: Columns
    instance: ColumnInstance
    bound: TermBound
    members: "array[int]"
    """The buffers that prove the bound."""
    seconds: float
    """How long it took to find out."""


def ground_of(columns: Columns, options: Options) -> Ground | None:
    """The instance and the bound; None where nothing fits."""
    began = time.monotonic()
    capacity = LIMIT if columns.capacity is None else columns.capacity
    if max(columns.sizes) > capacity:
        return None
    # Published planners take buffers that are equal to them as they are given.
    by_begin = len(columns) > _MOST_AS_GIVEN and not is_classic(options.solver)
    instance = instance_of_columns(*four(columns), capacity, by_begin)
    live = core.live_at_once(instance, [True], 1)
    height = live.bytes
    grid = core.common_grid(instance, 0)
    if grid.unit > 1:
        on_grid = core.live_at_once(instance, [True], grid.unit)
        if grid.residue + on_grid.bytes > height:
            live, height = on_grid, grid.residue + on_grid.bytes
    value = height * instance.unit
    if value > capacity:
        return None
    certificate = LiveBytes(pool=columns.pool, time=live.time, buffers=())
    members = array("q", sorted(instance.buffers_of(live.parts)))
    return Ground(columns, instance, TermBound(value, certificate), members, time.monotonic() - began)


@record
class Failure:
    """A search without a plan that fits: the items that are too many, or the closest attempt."""

    misfit: Misfit | None
    attempt: Layout | None
    stamp: Stamp


class PlainRun:
    """One search for the plan of a plain problem."""

    def __init__(
        self,
        ground: Ground,
        options: Options,
        progress: Progress,
        budget: Budget,
        cancel: threading.Event | None,
    ) -> None:
        self._columns = ground.columns
        self._members = ground.members
        # None when it is not needed any more: of a million buffers it is most of the memory.
        self._instance: ColumnInstance | None = ground.instance
        self._options = options
        self._progress = progress
        self._budget = budget
        self._cancel = cancel
        self._bound = ground.bound
        minimised = not ground.columns.fit_only
        terms, scales = ({PEAK: ground.bound}, [ground.instance.unit]) if minimised else ({}, [])
        self.state = RunState(terms, scales, self._window_of)
        self._task: Task | None = Task(
            instance=ground.instance,
            terms=PEAK_OF_ALL if minimised else (),
            lower_bounds=self.state.lower_bounds(),
            gap=options.gap,
            seed=options.seed,
            workers=workers_of(options),
            deterministic=options.deterministic,
            memory=options.memory_limit,
        )

    @property
    def suits(self) -> bool:
        """Whether the solvers of one pool take the task: sizes may add up to too much for them."""
        return self._task is not None and find("improve").declines(self._task) is None

    def plan(self, on_layout: OnLayout | None) -> PlainPlan | Failure:
        """Let the solvers take turns, and the judge have the best layout; once."""
        for phase in ("check", "reduce", "bound"):
            self._progress.phase(phase)
        self._progress.bound(self.state.first_bound, self.state.prover)
        misfit = self._search(on_layout)
        instance = self._instance_there()
        if misfit is not None:
            items = instance.numbers_as_given(misfit.items)
            return Failure(Misfit(items, misfit.solver), None, self._stamp())
        self._progress.phase("judge")
        best = self.state.best
        if best is None or best.layout is None or not best.fits:
            attempt = None if best is None or best.layout is None else instance.layout_as_given(best.layout)
            return Failure(None, attempt, self._stamp())
        del instance
        offsets, peak = self._places(best.layout)
        if on_layout is None:
            # Nobody can ask for another plan: judging and writing have the memory for themselves.
            self._instance = self.state.best = None
        return self._judged(offsets, peak, best.solver, self.state.terms)

    def _search(self, on_layout: OnLayout | None) -> Misfit | None:
        task, self._task = self._task, None
        if task is None:
            raise AssertionError("a run has one search")
        solver = solver_by_name(self._options.solver)
        if solver is not None:
            require_willing(solver, task)
        turns = Turns(self.state, self._progress, self._budget, self._options.gap, self._cancel, on_layout)
        return turns.take(stages_for(solver, task), task)

    def accepted(self, layout: Layout, solver: str, terms: dict[Term, TermBound]) -> PlainPlan:
        """The plan of a layout that fits; RefusedPlanError if the judge finds a violation."""
        return self._judged(*self._places(layout), solver, terms)

    def _places(self, layout: Layout) -> "tuple[array[int], int]":
        """The offsets of the buffers, and the peak."""
        instance = self._instance_there()
        return instance.offsets_of(layout), core.pool_peaks(instance, layout)[0] * instance.unit

    def _instance_there(self) -> ColumnInstance:
        if self._instance is None:
            raise AssertionError("nothing is asked for after the last plan")
        return self._instance

    def _judged(
        self, offsets: "array[int]", peak: int, solver: str, terms: dict[Term, TermBound]
    ) -> PlainPlan:
        bound = terms.get(PEAK, self._bound)
        is_live = isinstance(bound.certificate, LiveBytes)
        members = self._members if is_live else array("q")
        named = self._with_version
        prover = None if self.state.prover is None else named(self.state.prover)
        return judged_plan(self._columns, offsets, members, peak, bound, named(solver), prover, self._stamp())

    def _window_of(self, window: Window, term: Term, bound: int, solver: str) -> Certificate | None:
        # Imported late: few runs come across one.
        from memstow.planner.solve import windows

        members = self._instance_there().buffers_of(list(window.parts))
        return windows.of_columns(self._columns, members, window, term, bound, solver)

    def _stamp(self) -> Stamp:
        """Time and work so far; the plan of a deterministic run holds no time."""
        seconds = 0.0 if self._options.deterministic else round(self._progress.seconds(), 6)
        return Stamp(seconds=seconds, work=self._budget.work)

    def _with_version(self, solver: str) -> str:
        return name_with_version(solver) if self._options.deterministic else solver
