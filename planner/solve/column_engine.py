"""The way from the columns of a plain problem to an accepted plan: the engine's, without objects.

The instance, the bounds and the judge are native; the turns of the solvers are those of every run. What is
not simply a plan that fits (nothing fits, nothing was found) is left to the engine, which has words for it.
"""

import threading
import time
from array import array
from typing import TYPE_CHECKING, Final

import memstow
from memstow.planner.backends import find, is_classic, name_with_version
from memstow.planner.judge._judge import Defect, judge_plan, proven
from memstow.planner.model import Status
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.model_class import maker_of
from memstow.planner.model.options import Listener, Options
from memstow.planner.model.plan import Certificate, Explanation, Live, LiveBytes, Plan, PoolUse
from memstow.planner.model.problem import LIMIT, PEAK, Term
from memstow.planner.model.records import record
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import PlainPlan, digest
from memstow.planner.solve.portfolio import (
    AUTO,
    DEFAULT_WORK,
    FIRST_PASSES,
    require_willing,
    solver_by_name,
    stages_for,
)
from memstow.planner.solve.run_state import LIVE_BYTES, RunState, Stamp, TermBound, term_value, workers_of
from memstow.planner.solve.turns import Misfit, OnLayout, Progress, Turns
from memstow.solvers import core
from memstow.solvers.column_instance import PEAK_OF_ALL, ColumnInstance, instance_of_columns
from memstow.solvers.core import Budget
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Task, Window

_use: Final = maker_of(PoolUse, "pool", "capacity", "peak", "bound", "live", "certificate")
_live: Final = maker_of(Live, "bytes", "time")
_frame: Final = maker_of(
    Plan, "status", "pools", "objective", "solver", "prover", "work", "digest", "version", "seconds"
)


def judged_plan(
    columns: Columns,
    offsets: "array[int]",
    members: "array[int]",
    peak: int,
    bound: TermBound,
    solver: str,
    prover: str | None,
    stamp: Stamp,
    name: str | None = None,
) -> PlainPlan:
    """The plan with these offsets and this peak; RefusedPlanError if the judge finds a violation.

    `members` are the buffers that the certificate of the bound should name; `name` is the digest of the
    problem, where it is known.
    """
    live = judged(columns, offsets, peak, bound, members)
    # Where nothing is minimised the bound is that of the pool, and a plan is as good as any other.
    value = None if columns.fit_only else term_value(PEAK, peak, bound)
    certificate = bound.certificate if value is None else None
    use = _use(columns.pool, columns.capacity, peak, bound.value, live, certificate)
    status = Status.OPTIMAL if value is None or value.value == value.bound else Status.FEASIBLE
    frame = _frame(
        status,
        (use,),
        () if value is None else (value,),
        solver,
        None if value is None else prover,
        stamp.work,
        digest(columns) if name is None else name,
        memstow.__version__,
        stamp.seconds,
    )
    return PlainPlan(frame, offsets, members)


def four(columns: Columns) -> tuple[memoryview, memoryview, memoryview, memoryview]:
    """Sizes, begins, ends and alignments."""
    return columns.sizes, columns.begins, columns.ends, columns.alignments


def judged(
    columns: Columns, offsets: "array[int]", peak: int, bound: TermBound, members: "array[int]"
) -> Live:
    """The most live bytes, as the native judge has counted them; RefusedPlanError where anything is wrong."""
    columns_of_ints = four(columns)
    capacity = LIMIT if columns.capacity is None else columns.capacity
    (defect, first, second), counted, live, moment = judge_plan(*columns_of_ints, offsets, capacity)
    certificate, refused = bound.certificate, None
    if defect is not Defect.NONE:
        names = [repr(columns.name(buffer)) for buffer in (first, second) if buffer >= 0]
        refused = f"{defect.name.lower()} of {' and '.join(names)}"
    elif counted != peak:
        refused = f"the peak is {counted}, not {peak}"
    elif bound.value > peak:
        refused = f"the bound {bound.value} is above the peak {peak}"
    elif isinstance(certificate, LiveBytes) and certificate.time is not None:
        found = proven(*columns_of_ints, members, certificate.time)
        if found is None or found < bound.value:
            refused = f"the certificate does not prove {bound.value}"
    if refused is not None:
        raise RefusedPlanError(f"the plan was refused; please report it: {refused}")
    return _live(live, moment)


# A few passes over so many buffers, or fewer over more of them, take about as long as handing over to another
# thread. A step is one buffer in one pass.
_MOST_BUFFERS: Final = 100
_MOST_STEPS: Final = 1_000

_live_bytes: Final = maker_of(LiveBytes, "pool", "time", "buffers")


def found_at_once(columns: Columns, name: str, options: Options, seconds: float) -> PlainPlan | None:
    """The plan of a run with these options, where its first steps prove it within `seconds`.

    None where they do not, or where the run may begin with something else. `name` is the digest of the
    problem.
    """
    began = time.monotonic()
    if options.solver != AUTO or options.gap or options.work_limit is not None or options.deterministic:
        return None
    if columns.fit_only:
        # The first plan that fits ends such a run.
        return None
    if options.hint is not None or len(columns) > _MOST_BUFFERS or options.time_limit < seconds:
        return None
    items = len(columns) - columns.sizes.tolist().count(0)
    budget = Budget(seconds, min(FIRST_PASSES * items, _MOST_STEPS))
    capacity = LIMIT if columns.capacity is None else columns.capacity
    found = core.lowest(*four(columns), capacity, options.seed, budget)
    if found is None:
        return None
    offsets, members = array("q", found.offsets), array("q", found.members)
    bound = TermBound(found.peak, _live_bytes(columns.pool, found.moment, ()))
    stamp = Stamp(round(time.monotonic() - began, 6), budget.work)
    solver = f"greedy {found.name}"
    return judged_plan(columns, offsets, members, found.peak, bound, solver, LIVE_BYTES, stamp, name)


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
        from memstow.planner.solve import answer

        members = self._instance_there().buffers_of(list(window.parts))
        return answer.window_of_columns(self._columns, members, window, term, bound, solver)

    def _stamp(self) -> Stamp:
        """Time and work so far; the plan of a deterministic run holds no time."""
        seconds = 0.0 if self._options.deterministic else round(self._progress.seconds(), 6)
        return Stamp(seconds=seconds, work=self._budget.work)

    def _with_version(self, solver: str) -> str:
        return name_with_version(solver) if self._options.deterministic else solver


if TYPE_CHECKING:
    from memstow.planner.model.problem import Problem


def plan_columns(
    columns: Columns,
    options: Options,
    on_event: Listener | None = None,
    cancel: threading.Event | None = None,
) -> PlainPlan | Plan:
    """The plan of a plain problem, as of `engine.plan`; where there is none, the answer of the models."""
    found = _search(columns, options, on_event, cancel)
    if isinstance(found, PlainPlan):
        return found
    if found is not None:
        return _in_words(columns, options, found)
    from memstow.planner.plain.column_documents import problem_of
    from memstow.planner.solve import engine

    return engine.plan(problem_of(columns), options, on_event, cancel)


def found_in_columns(
    columns: Columns, options: Options, on_event: Listener | None = None
) -> PlainPlan | None:
    """The same for who has another way to the models: None where that has to be gone."""
    found = _search(columns, options, on_event, None)
    return found if isinstance(found, PlainPlan) else None


def _search(
    columns: Columns, options: Options, on_event: Listener | None, cancel: threading.Event | None
) -> PlainPlan | Failure | None:
    """What a search in columns finds; None where there can be none."""
    progress = Progress(on_event)
    ground = ground_of(columns, options) if takes(options) else None
    if ground is None:
        return None
    budget = budget_of(options, ground, progress.seconds(), places=False)
    run = PlainRun(ground, options, progress, budget, cancel)
    # The run lets go of the instance before the judge has its turn.
    del ground
    return run.plan(None) if run.suits else None


def _in_words(columns: Columns, options: Options, failure: Failure) -> Plan:
    from memstow.planner.plain.column_documents import problem_of

    return answer_of_failure(problem_of(columns), options, failure)


def answer_of_failure(problem: "Problem", options: Options, failure: Failure) -> Plan:
    """The answer where the search in columns has found no plan."""
    from memstow.planner.reduce import reduce
    from memstow.planner.solve.answer import Answers, no_layout
    from memstow.planner.verify import recount

    reduction = reduce(problem)
    if isinstance(reduction, Explanation):
        raise AssertionError("a buffer without a place was searched one")
    answers = Answers(problem, options, recount, lambda: failure.stamp)
    if failure.misfit is not None:
        return answers.infeasible(no_layout(reduction, failure.misfit.items), failure.misfit.solver)
    return answers.unknown(reduction, failure.attempt)
