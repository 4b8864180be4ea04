"""Plans of plain and related problems in columns: the same runs as of objects, without objects.

The instance and the judge are native. With several pools, what certificates say is judged as that of objects,
of which there are those that they name. Where nothing fits, the answer is made of objects, which have the
words for it.
"""

import threading
import time
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from operator import mul
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import memstow
from memstow.planner.judge._judge import Defect, judge_plan, judge_related, proven
from memstow.planner.model import Status
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.model_class import maker_of
from memstow.planner.model.options import Callbacks, Listener, Options
from memstow.planner.model.plan import Certificate, Live, LiveBytes, Overflow, Plan, PoolUse
from memstow.planner.model.problem import PEAK, PLACEMENT_COST, Pool, Term, parse_term
from memstow.planner.plain._columns import Columns
from memstow.planner.plain.column_documents import (
    PlainPlan,
    choices_of,
    columns_of,
    digest,
    end_of,
    ints_of,
    memory_of,
    pairs_of,
    plan_of,
    pools_of,
    problem_of,
    terms_of,
    with_tied,
)
from memstow.planner.solve.bounds import Bounds, PoolBound, pool_uses
from memstow.planner.solve.one_run import (
    LIVE_BYTES,
    NO_TIME,
    Arrays,
    Candidate,
    Misfit,
    Progress,
    RunState,
    Stamp,
    TermBound,
    plan_without_places,
    run_source,
    seconds_to_prefer,
    task_for,
    term_value,
)
from memstow.planner.solve.portfolio import AUTO
from memstow.records import collector_at_rest, record, replace
from memstow.solvers import core
from memstow.solvers.column_instance import (
    ColumnInstance,
    instance_of_columns,
    instance_of_related,
)
from memstow.solvers.core import Budget
from memstow.solvers.instance import Layout
from memstow.solvers.registry import is_classic
from memstow.solvers.solver import Term as SolverTerm
from memstow.solvers.solver import TermKind, Window

if TYPE_CHECKING:
    from memstow.planner.model.problem import Problem
    from memstow.planner.solve.problem_plans import ProblemSource

# Solvers that read nothing of an instance but what a `ColumnInstance` has.
_SOLVERS: Final = (AUTO, "greedy", "exact", "improve")
# With more buffers than this, items are numbered by the begin of their lives.
_MOST_AS_GIVEN: Final = 1 << 18
# Problems of fewer buffers that are objects already stay so: there is nothing to gain.
MANY: Final = 2_000
# Judging takes about so long for each buffer, so the search ends earlier; so does making its placement.
_SECONDS_TO_JUDGE: Final = 1.2e-6
_SECONDS_TO_PLACE: Final = 1.5e-6
# And so many times as long as making the arrays took: a busy machine is slow in both.
_JUDGING_TO_ARRAYS: Final = 4.0
# With several pools, where the arrays take longer.
_SECONDS_TO_JUDGE_IN_POOLS: Final = 1.5e-6
_JUDGING_TO_ARRAYS_OF_POOLS: Final = 1.5
# But the search has at least this share of the limit.
_LEAST_SHARE: Final = 0.5


def takes(options: Options) -> bool:
    """Whether a run with these options can do without objects."""
    return (options.solver in _SOLVERS or is_classic(options.solver)) and options.hint is None


def plan_columns(
    columns: Columns,
    options: Options,
    on_event: Listener | None = None,
    cancel: threading.Event | None = None,
    *,
    judges: bool = True,
) -> PlainPlan | Plan:
    """The plan of such a problem, as of `engine.plan`; where there is none, the answer of the objects.

    `judges`: else the plan has places and who found them, and nothing that it claims of them.
    """
    progress = Progress(on_event)
    source = _source_of(columns, options, lambda plan: plan, None, judges=judges)
    if source is not None:
        return run_source(source, options, progress, cancel)
    # Most problems that fit do not wait for this import.
    from memstow.planner.solve.problem_plans import plan_for_judge

    return plan_for_judge(problem_of(columns), options, Callbacks(on_event, cancel), progress=progress)


def plan_in_columns(
    problem: "Problem", options: Options, callbacks: Callbacks, progress: Progress
) -> Plan | None:
    """The plan of a problem of many buffers that is plain; None for any other, and where nothing fits."""
    if len(problem.buffers) < MANY or not takes(options):
        return None
    with collector_at_rest():
        columns = columns_of(problem)
        if columns is None:
            return None
        source = _source_of(columns, options, partial(_with_objects, columns, problem), problem)
    if source is None:
        return None
    return run_source(source, options, progress, callbacks.cancel, callbacks.on_better)


def _with_objects(columns: Columns, problem: "Problem", plan: PlainPlan) -> Plan:
    return plan_of(columns, plan, problem)


ViewT = TypeVar("ViewT", bound=PlainPlan | Plan)


class ColumnSource(Generic[ViewT]):
    """A plain or related problem as a source of runs."""

    def __init__(
        self,
        columns: Columns,
        options: Options,
        view: Callable[[PlainPlan], ViewT],
        problem: "Problem | None",
        bounded: "_Bounded",
        seconds: float,
        *,
        judges: bool,
    ) -> None:
        """`seconds`: what making the arrays took."""
        self._judges = judges
        self._columns = columns
        self._options = options
        self._view = view
        self._problem = problem
        instance = bounded.instance
        # None when it is not needed any more: of a million buffers it is most of the memory.
        self._instance: ColumnInstance | None = instance
        self._bound = bounded.terms[PEAK]
        self._of_pools = bounded.of_pools
        self._members = bounded.members
        terms = {term: bounded.terms[term] for term in map(parse_term, terms_of(columns)) if term is not None}
        scales = [instance.unit if term == PEAK else 1 for term in terms]
        state = RunState(terms, scales, self._certificate)
        wanted = tuple(SolverTerm(_KINDS[term]) for term in terms)
        task = task_for(instance, wanted, state.lower_bounds(), options)
        self._arrays: Arrays | None = Arrays(task, state, self._seconds_after(seconds))

    def _seconds_after(self, seconds: float) -> float:
        if not self._judges:
            return 0.0
        count, limit = len(self._columns), self._options.time_limit
        rest = max(_SECONDS_TO_JUDGE * count, _JUDGING_TO_ARRAYS * seconds)
        if self._of_pools:
            rest = max(_SECONDS_TO_JUDGE_IN_POOLS * count, _JUDGING_TO_ARRAYS_OF_POOLS * seconds)
            rest += seconds_to_prefer(limit)
        rest += 0.0 if self._problem is None else _SECONDS_TO_PLACE * count
        return min(rest, limit * (1.0 - _LEAST_SHARE))

    def arrays(self, progress: Progress) -> Arrays:
        """The arrays, which were made before anything was told."""
        arrays, self._arrays = self._arrays, None
        if arrays is None:
            raise AssertionError("a source has one run")
        for phase in ("check", "reduce", "bound"):
            progress.phase(phase)
        return arrays

    def accepted(self, candidate: Candidate) -> ViewT:
        """The plan of a layout; RefusedPlanError if the judge finds a violation."""
        instance = self._instance_there()
        offsets = instance.offsets_of(candidate.layout)
        homes = instance.homes_of(candidate.layout) if self._of_pools else array("q")
        peaks = instance.peaks_of(candidate.layout)
        if candidate.is_last:
            # Judging and writing have the memory for themselves.
            del instance
            self._instance = None
        if not self._judges:
            frame = Plan(status=Status.FEASIBLE, solver=candidate.solver)
            return self._view(PlainPlan(frame, offsets, array("q"), homes))
        name = digest(self._columns)
        if self._of_pools:
            return self._view(
                _judged_in_pools(
                    self._columns, offsets, homes, peaks, self._members, self._of_pools, candidate, name
                )
            )
        bound = candidate.terms.get(PEAK, self._bound)
        members = self._members if isinstance(bound.certificate, LiveBytes) else array("q")
        plan = _judged_plan(
            self._columns, offsets, members, peaks[0], bound, candidate.solver, candidate.prover, name
        )
        return self._view(plan)

    def no_layout(self, misfit: Misfit) -> Plan:
        """The plan that says which buffers do not fit together."""
        items = self._instance_there().numbers_as_given(misfit.items)
        return self._objects().no_layout(Misfit(items, misfit.solver))

    def unknown(self, attempt: Layout | None) -> Plan:
        """The plan that says how far the closest attempt is beyond the capacity."""
        pools = pools_of(self._columns)
        peaks = [] if attempt is None else self._instance_there().peaks_of(attempt)
        closest = tuple(
            Overflow(pool=pool.id, peak=peak, capacity=pool.capacity)
            for pool, peak in zip(pools, peaks, strict=False)
            if pool.capacity is not None and peak > pool.capacity
        )
        return Plan(
            status=Status.UNKNOWN, version=memstow.__version__, digest=digest(self._columns), closest=closest
        )

    def _objects(self) -> "ProblemSource":
        from memstow.planner.solve.problem_plans import ProblemSource

        problem = problem_of(self._columns) if self._problem is None else self._problem
        source = ProblemSource(problem, self._options)
        if not isinstance(source.arrays(Progress(None)), Arrays):
            raise AssertionError("what has no place was searched one")
        return source

    def stamped(self, answer: ViewT | Plan, stamp: Stamp) -> ViewT | Plan:
        """The plan with the time and the work that it took."""
        if isinstance(answer, PlainPlan):
            return replace(answer, frame=replace(answer.frame, seconds=stamp.seconds, work=stamp.work))
        return replace(answer, seconds=stamp.seconds, work=stamp.work)

    def _certificate(self, window: Window, term: Term, bound: int, solver: str) -> Certificate | None:
        """The certificate of a window by the names of its buffers; None where the judge would not take it."""
        # Imported late: few runs come across one.
        from memstow.planner.solve.problem_plans import accepted_window

        buffers = self._instance_there().buffers_of(list(window.parts))
        if self._of_pools:
            self._members = array("q", sorted({*self._members, *buffers}))
        part = problem_of(self._columns, buffers)
        part = replace(part, conflicts=(), relative=())
        return accepted_window(part, (window.first, window.last), term, bound, solver)

    def _instance_there(self) -> ColumnInstance:
        if self._instance is None:
            raise AssertionError("nothing is asked for after the last plan")
        return self._instance


def _source_of(
    columns: Columns,
    options: Options,
    view: Callable[[PlainPlan], ViewT],
    problem: "Problem | None",
    *,
    judges: bool = True,
) -> ColumnSource[ViewT] | None:
    """The source, whose plans are seen as `view` has them; None where it takes objects, or nothing fits.

    `problem`: the same as objects, where they are there.
    """
    if not takes(options):
        return None
    began = time.monotonic()
    capacity = end_of(columns)
    if max(columns.sizes) > capacity:
        return None
    bounded = _bounded_related(columns) if columns.related else _bounded(columns, options, capacity)
    if bounded is None:
        return None
    seconds = time.monotonic() - began
    return ColumnSource(columns, options, view, problem, bounded, seconds, judges=judges)


_KINDS: Final = {PEAK: TermKind.PEAK, PLACEMENT_COST: TermKind.PLACEMENT_COST}
"""The terms that may be minimised."""


@record
class _Bounded:
    """An instance, and what bounds its values before a search."""

    instance: ColumnInstance
    terms: dict[Term, TermBound]
    members: "array[int]"
    """The buffers that prove the bound; with several pools, those that some certificate names."""
    of_pools: tuple[PoolBound, ...] = ()
    """With several pools, or where more is said of one than its capacity, those of their peaks."""


def _bounded(columns: Columns, options: Options, capacity: int) -> _Bounded | None:
    """Those of a plain problem; None where nothing fits, or heights may not add up."""
    # Published planners take buffers that are equal to them as they are given.
    by_begin = len(columns) > _MOST_AS_GIVEN and not is_classic(options.solver)
    instance = instance_of_columns(*ints_of(columns), capacity, by_begin)
    need = instance.need()
    height = need.height * instance.unit
    if height > capacity or not instance.adds_up:
        return None
    members = instance.buffers_of(need.parts)
    if by_begin:
        members = array("q", sorted(members))
    bound = TermBound(height, LiveBytes(pool=columns.pool, time=need.time, buffers=()))
    return _Bounded(instance, {PEAK: bound}, members)


def _bounded_related(columns: Columns) -> _Bounded | None:
    """Those of a problem with pins, relations or pools; None too where the ordinary checks must see it."""
    if not columns.are_plainly_sound():
        return None
    memory = memory_of(columns)
    instance = instance_of_related(
        ints_of(columns), memory, choices_of(columns), columns.pins, pairs_of(columns), columns.ties
    )
    if instance is None or not instance.adds_up:
        return None
    if columns.pools_text:
        named = _NamedParts(columns, instance, pools_of(columns), set())
        bounds_of_pools = Bounds(named)
        if bounds_of_pools.misfit() is not None:
            return None
        terms = {term: bounds_of_pools.of_term(term) for term in _KINDS}
        of_pools = tuple(map(bounds_of_pools.of_pool, range(len(named.pools))))
        return _Bounded(instance, terms, array("q", sorted(named.members)), of_pools)
    bounds = core.PoolBounds(instance.native, instance.unit, [end for end, *_ in memory[0]])
    if bounds.misfit() is not None:
        return None
    bound = bounds.of_pool(0) if columns.fit_only else bounds.of_sum()
    need = bounds.need(bound.needs[0])
    shown = TermBound(bound.bytes, LiveBytes(pool=columns.pool, time=need.time, buffers=()))
    return _Bounded(instance, {PEAK: shown}, instance.buffers_of(need.parts))


@record
class _NamedParts:
    """Columns as arrays, with the names of their buffers, for bounds of several pools."""

    columns: Columns
    instance: ColumnInstance
    pools: tuple[Pool, ...]
    members: set[int]
    """The buffers that were named so far."""

    @property
    def unit(self) -> int:
        """The bytes of a unit."""
        return self.instance.unit

    @property
    def least_cost(self) -> int:
        """Of all accesses, each in the cheapest pool that is allowed."""
        return self.instance.columns.least_cost

    def names_of(self, parts: Sequence[int]) -> tuple[str, ...]:
        """The ids of the buffers of these parts."""
        buffers = self.instance.buffers_of(list(parts))
        self.members.update(buffers)
        return tuple(map(self.columns.name, buffers))

    def moment(self, time: int | None) -> int | None:
        """Times are as they are."""
        return time


_use: Final = maker_of(PoolUse, "pool", "capacity", "peak", "bound", "live", "certificate")
_live: Final = maker_of(Live, "bytes", "time")
_live_bytes: Final = maker_of(LiveBytes, "pool", "time", "buffers")


def _judged_plan(
    columns: Columns,
    offsets: "array[int]",
    members: "array[int]",
    peak: int,
    bound: TermBound,
    solver: str,
    prover: str | None,
    name: str,
    stamp: Stamp = NO_TIME,
) -> PlainPlan:
    """The plan with these offsets and this peak; RefusedPlanError if the judge finds a violation.

    `members` are the buffers that the certificate of the bound should name; `name` is the digest of the
    problem.
    """
    live = _judged(columns, offsets, peak, bound, members)
    # Where nothing is minimised the bound is that of the pool, and a plan is as good as any other.
    objective = () if columns.fit_only else (term_value(PEAK, peak, bound),)
    certificate = bound.certificate if columns.fit_only else None
    use = _use(columns.pool, columns.capacity, peak, bound.value, live, certificate)
    return PlainPlan(plan_without_places((use,), objective, solver, prover, name, stamp), offsets, members)


def _judged_in_pools(
    columns: Columns,
    offsets: "array[int]",
    homes: "array[int]",
    peaks: list[int],
    members: "array[int]",
    bounds: Sequence[PoolBound],
    candidate: Candidate,
    name: str,
) -> PlainPlan:
    """The plan with these places and peaks in several pools; RefusedPlanError if the judge finds a violation.

    `members` are all buffers that certificates name; `bounds` are those of the peaks; `name` is the digest of
    the problem.
    """
    # Imported late: most problems do without.
    from memstow.planner.solve.problem_plans import refuse_for
    from memstow.planner.verify.problem_verdict import Counted, judge_claims

    (defect, first, second), used, cost = _judged_places(columns, offsets, homes)
    if defect is not Defect.NONE:
        raise _refused(_defect_in_words(columns, defect, first, second))
    if [peak for peak, _, _ in used] != peaks:
        raise _refused(f"the peaks are {[peak for peak, _, _ in used]}, not {peaks}")
    described, _, lists = memory_of(columns)
    costs = [cost for *_, cost in described]
    cheapest = [min(costs), *(min(map(costs.__getitem__, pools)) for pools in lists)]
    counted = Counted(peaks, cost, sum(map(mul, cheapest, columns.accesses_of_lists())))
    objective = tuple(
        term_value(term, counted.value(str(term)) or 0, bound) for term, bound in candidate.terms.items()
    )
    live = [_live(most, moment if most else None) for _, most, moment in used]
    uses = tuple(pool_uses(pools_of(columns), peaks, live, bounds, candidate.terms))
    frame = plan_without_places(uses, objective, candidate.solver, candidate.prover, name)
    refuse_for(judge_claims(problem_of(columns, members), frame, counted), frame.solver)
    return PlainPlan(frame, offsets, array("q"), homes)


def _judged_places(
    columns: Columns, offsets: "array[int]", homes: "array[int]"
) -> tuple[tuple[Defect, int, int], list[tuple[int, int, int]], int]:
    """What the native judge says of these places: see `judge_related`."""
    return judge_related(
        ints_of(columns),
        (offsets, homes),
        memory_of(columns),
        choices_of(columns),
        columns.pins,
        pairs_of(columns),
        columns.ties,
    )


def _defect_in_words(columns: Columns, defect: Defect, first: int, second: int) -> str:
    names = [repr(columns.name(buffer)) for buffer in (first, second) if buffer >= 0]
    return f"{defect.name.lower()} of {' and '.join(names)}"


def _refused(why: str) -> RefusedPlanError:
    return RefusedPlanError(f"the plan was refused; please report it: {why}")


def _judged(
    columns: Columns, offsets: "array[int]", peak: int, bound: TermBound, members: "array[int]"
) -> Live:
    """The most live bytes, as the native judge has counted them; RefusedPlanError where anything is wrong."""
    columns_of_ints = ints_of(columns)
    if columns.related:
        (defect, first, second), used, _ = _judged_places(columns, offsets, array("q"))
        counted, live, moment = used[0] if used else (0, 0, 0)
    else:
        (defect, first, second), counted, live, moment = judge_plan(
            *columns_of_ints, offsets, end_of(columns)
        )
    certificate, refused = bound.certificate, None
    if defect is not Defect.NONE:
        refused = _defect_in_words(columns, defect, first, second)
    elif counted != peak:
        refused = f"the peak is {counted}, not {peak}"
    elif bound.value > peak:
        refused = f"the bound {bound.value} is above the peak {peak}"
    elif isinstance(certificate, LiveBytes) and columns.related:
        refused = _against(columns, certificate, bound.value, members)
    elif isinstance(certificate, LiveBytes) and certificate.time is not None:
        live_bound = proven(*columns_of_ints, members, certificate.time)
        if live_bound is None or live_bound < bound.value:
            refused = f"the certificate does not prove {bound.value}"
    if refused is not None:
        raise _refused(refused)
    return _live(live, moment)


def _against(columns: Columns, certificate: LiveBytes, bound: int, members: "array[int]") -> str | None:
    """Why these buffers do not prove the bound, as the judge of objects says; None where they do."""
    if certificate.time is not None and _are_apart(columns, members):
        least = proven(*ints_of(columns), members, certificate.time)
        if least is not None and least >= bound:
            return None
    # Imported late: most problems do without.
    from memstow.planner.verify.layout import ProblemIndex
    from memstow.planner.verify.peak_bounds import reason_against
    from memstow.planner.verify.verdict import Findings

    index = ProblemIndex(problem_of(columns, with_tied(columns, members)), Findings())
    named = replace(certificate, buffers=tuple(map(columns.name, members)))
    return reason_against(index, PEAK, bound, named, cheapest_only=False)


def _are_apart(columns: Columns, members: "array[int]") -> bool:
    """Whether no relation lets some of these buffers share bytes where they live together."""
    chosen = set(members)
    shares = any(
        chosen.issuperset(pair)
        for pairs in (columns.exclusive, columns.in_place)
        for pair in zip(pairs[::2], pairs[1::2], strict=True)
    )
    return not shares and chosen.isdisjoint(columns.ties[::3]) and chosen.isdisjoint(columns.ties[1::3])


# A few passes over so many buffers, or fewer over more of them, take about as long as handing over to another
# thread. A step is one buffer in one pass.
_MOST_BUFFERS: Final = 100
_MOST_STEPS: Final = 1_000


def plan_at_once(columns: Columns, name: str, options: Options, seconds: float) -> PlainPlan | None:
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
    budget = Budget(seconds, min(core.FIRST_PASSES * items, _MOST_STEPS))
    lowest = core.lowest(*ints_of(columns), end_of(columns), options.seed, budget)
    if lowest is None:
        return None
    offsets, members = array("q", lowest.offsets), array("q", lowest.members)
    bound = TermBound(lowest.peak, _live_bytes(columns.pool, lowest.moment, ()))
    stamp = Stamp(round(time.monotonic() - began, 6), budget.work)
    solver = f"greedy {lowest.name}"
    return _judged_plan(columns, offsets, members, lowest.peak, bound, solver, LIVE_BYTES, name, stamp)
