"""Plans of problems that are objects: from buffers to arrays, and from a layout to an accepted plan.

A certificate that a window of time shows is given to the judge's search first, with no more than the buffers
that it names: where that finds a layout, there is no certificate, and the bound before stays.
"""

import threading
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import memstow
from memstow.planner.check import require_hint, require_valid
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import (
    ExhaustedWindow,
    Explanation,
    Live,
    Overflow,
    Placement,
    Plan,
    TermValue,
    rests_on_addresses,
)
from memstow.planner.model.problem import (
    Kind,
    Problem,
    Term,
    access_counts,
    bank_pairs,
    bank_ranges,
    buffer_columns,
    counts,
    place_of,
    pool_lists,
    reserved_bytes,
    terms_of,
)
from memstow.planner.reduce import Reduction, reduce, size_of
from memstow.planner.solve.bounds import Bounds, pool_uses
from memstow.planner.solve.one_run import (
    Arrays,
    Candidate,
    Misfit,
    Progress,
    RunState,
    Stamp,
    TermBound,
    in_units,
    named_in_plan,
    plan_without_places,
    run_source,
    seconds_to_prefer,
    task_for,
    term_value,
)
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.peak_bounds import reason_against_window
from memstow.planner.verify.problem_verdict import judge_problem
from memstow.planner.verify.verdict import STEPS_IN_A_RUN, Findings, TooMuch, Violation
from memstow.records import collector_at_rest, record, replace
from memstow.solvers import core
from memstow.solvers.instance import Layout
from memstow.solvers.known import Known, KnownPrices
from memstow.solvers.registry import is_model, is_ours
from memstow.solvers.solver import HintPlace, Task, TermKind, Window
from memstow.solvers.solver import Term as SolverTerm

if TYPE_CHECKING:
    from memstow.planner.solve.by_name import NamedProblem

Judge = Callable[[Problem, Plan, Plan | None], Sequence[Violation]]
"""Finds the violations of a plan of a run, for which the hint is given as well."""


def recount(problem: Problem, plan: Plan, hint: Plan | None) -> Sequence[Violation]:
    """The judge of most runs: it counts alone, since a run has better layouts than the judge's."""
    return judge_problem(problem, plan, hint, refutes=False).violations


def unjudged(_problem: Problem, _plan: Plan, _hint: Plan | None) -> Sequence[Violation]:
    """The judge of a run whose plan is judged as that of a graph or for all values; once is enough."""
    return ()


def plan_for_judge(
    problem: Problem,
    options: Options,
    callbacks: Callbacks,
    judge: Judge = recount,
    progress: Progress | None = None,
) -> Plan:
    """The plan of a problem that this judge accepts."""
    source = ProblemSource(problem, options, judge, callbacks)
    progress = Progress(callbacks.on_event) if progress is None else progress
    return run_source(source, options, progress, callbacks.cancel, callbacks.on_better)


# Building and judging a plan takes about so long: for each buffer, more where they are not in columns, more
# where some may share bytes, for each listed pair, and for each distance that two keep.
_SECONDS_PER_BUFFER: Final = 7e-6
_SECONDS_WITHOUT_COLUMNS: Final = 3e-6
_SECONDS_OF_SHARING: Final = 4e-6
_SECONDS_PER_PAIR: Final = 8e-6
_SECONDS_PER_TIE: Final = 20e-6
# The judge checks each pool that each buffer may go to.
_SECONDS_PER_CHOICE: Final = 0.5e-6
# What reducing the problem takes of these on a machine that takes so long. Another one, or the same while it
# does other things, is so many times as slow.
_REDUCING_TO_AFTER: Final = 0.3
_MOST_SLOWNESS: Final = 8.0
# But the search has at least this share of what is left: a plan that is late is better than none.
_LEAST_SHARE: Final = 0.25
# The judge tries to lay out so many named buffers in some hundredths of a second.
_MOST_TRIED: Final = 200


def seconds_to_judge(problem: Problem) -> float:
    """How long building and judging a plan of the problem takes, its choices of pools aside."""
    count = len(problem.buffers)
    shared = len(problem.exclusive) + len(problem.in_place)
    seconds = _SECONDS_PER_BUFFER * count
    seconds += _SECONDS_PER_PAIR * (len(problem.conflicts) + shared + len(problem.reuse_costs))
    seconds += _SECONDS_PER_TIE * len(problem.relative)
    if buffer_columns(problem) is None:
        seconds += _SECONDS_WITHOUT_COLUMNS * count
    if shared or problem.relative:
        seconds += _SECONDS_OF_SHARING * count
    return seconds


class ProblemSource:
    """A problem as a source of runs: every kind of constraint, and a placement for each buffer."""

    def __init__(
        self,
        problem: Problem,
        options: Options,
        judge: Judge = recount,
        callbacks: Callbacks | None = None,
    ) -> None:
        self._problem = problem
        callbacks = callbacks or Callbacks()
        self._on_proof, self._on_known = callbacks.on_proof, callbacks.on_known
        self._options = options
        self._judge = judge
        self._reduction: Reduction | None = None
        self._bounds: Bounds | None = None
        self._named: NamedProblem | None = None

    def arrays(self, progress: Progress) -> Arrays | Plan:
        """Check, reduce and bound the problem."""
        problem, hint = self._problem, self._options.hint
        progress.phase("check")
        require_valid(problem)
        require_hint(problem, hint)
        progress.phase("reduce")
        # A solver of another package may use any place, in bytes.
        is_plugin = not is_ours(self._options.solver)
        began = progress.seconds()
        reduction = reduce(problem, hint if counts(problem, Kind.MOVES) else None, in_bytes=is_plugin)
        if isinstance(reduction, Explanation):
            return self._infeasible(reduction, "places")
        reducing = progress.seconds() - began
        progress.phase("bound")
        self._reduction, self._bounds = reduction, Bounds(reduction)
        misfit = self._bounds.misfit()
        if misfit is not None:
            return self._infeasible(misfit, "live bytes")
        wanted = terms_of(problem) if is_plugin else distinct_terms(problem)
        terms = {term: self._bounds.of_term(term) for term in wanted}
        task, scales = task_of(reduction, {term: bound.value for term, bound in terms.items()}, self._options)
        if is_plugin:
            # Most runs do not wait for this import.
            from memstow.planner.solve.by_name import NamedProblem

            self._named = NamedProblem(reduction, hint, task, self._on_proof)
            task = replace(task, named=self._named)
        return Arrays(
            task,
            RunState(terms, scales, partial(window_of_reduction, reduction), self._hand_on),
            self._seconds_after(reducing, progress.seconds()),
        )

    def _hand_on(self, prices: KnownPrices) -> None:
        """Pass on by buffer, in bytes, what a solver has shown by part, in its units."""
        if self._on_known is not None:
            reduction = self._reduced()
            self._on_known(tuple(_of_buffers(one, reduction.part_buffer, reduction.unit) for one in prices))

    def _seconds_after(self, reducing: float, so_far: float) -> float:
        """The seconds that building and judging a plan will take, by those that reducing the problem took."""
        problem, seconds = self._problem, seconds_to_judge(self._problem)
        slowness = reducing / (_REDUCING_TO_AFTER * seconds) if seconds else 1.0
        seconds *= min(max(slowness, 1.0), _MOST_SLOWNESS)
        if len(problem.pools) > 1:
            lists = Counter(pool_lists(problem))
            choices = sum(
                len(problem.pools if names is None else names) * count for names, count in lists.items()
            )
            seconds += seconds_to_prefer(self._options.time_limit)
            seconds += _SECONDS_PER_CHOICE * choices
        left = max(self._options.time_limit - so_far, 0.0)
        return min(seconds, (1.0 - _LEAST_SHARE) * left)

    def accepted(self, candidate: Candidate) -> Plan:
        """The plan of a layout; RefusedPlanError if the judge finds a violation."""
        problem, hint, reduction = self._problem, self._options.hint, self._reduced()
        with collector_at_rest():
            placements = reduction.placements(candidate.layout)
            values = PlanValues.of_layout(reduction, candidate.layout, placements, hint)
            terms, solver, prover = all_terms(problem, candidate.terms), candidate.solver, candidate.prover
            if self._bounds is None:
                raise AssertionError("there are no bounds yet")
            first, proven = next(iter(terms), None), None if self._named is None else self._named.bound
            if first is not None and proven is not None and proven.bound > terms[first].value:
                terms[first], prover = TermBound(proven.bound, proven.certificate), solver
            plan = plan_of_values(values, self._bounds, terms, solver, prover)
            refuse_for(self._judge(problem, plan, hint), plan.solver)
            return replace(plan, digest=digest(problem))

    def no_layout(self, misfit: Misfit) -> Plan:
        """The plan that says which buffers do not fit together."""
        how = "a search through all of them" if is_ours(misfit.solver) else "a proof of it"
        return self._infeasible(_no_layout(self._reduced(), misfit.items, how), misfit.solver)

    def _infeasible(self, explanation: Explanation, prover: str) -> Plan:
        """The plan where nothing fits.

        RefusedPlanError if a back end names buffers that the judge finds places for.
        """
        problem, options = self._problem, self._options
        plan = replace(
            _blank(Status.INFEASIBLE), explanation=explanation, prover=named_in_plan(prover, options)
        )
        if is_model(prover) and len(explanation.buffers) <= _MOST_TRIED:
            verdict = judge_problem(problem, plan, options.hint, refutes=True)
            refuse_for(verdict.violations, plan.prover)
        return replace(plan, digest=digest(problem))

    def unknown(self, attempt: Layout | None) -> Plan:
        """The plan that says how far the closest attempt is beyond the capacities."""
        blank = replace(_blank(Status.UNKNOWN), digest=digest(self._problem))
        if attempt is None:
            return blank
        reduction = self._reduced()
        peaks = core.pool_peaks(reduction.instance, attempt)
        closest = tuple(
            Overflow(pool=pool.id, peak=peak * reduction.unit, capacity=pool.capacity)
            for pool, peak in zip(self._problem.pools, peaks, strict=True)
            if pool.capacity is not None and peak * reduction.unit > pool.capacity
        )
        return replace(blank, closest=closest)

    def stamped(self, answer: Plan, stamp: Stamp) -> Plan:
        """The plan with the time and the work that it took."""
        return replace(answer, seconds=stamp.seconds, work=stamp.work)

    def layout_of(self, placements: tuple[Placement, ...]) -> Layout:
        """The layout that has these places."""
        return self._reduced().layout(placements)

    def _reduced(self) -> Reduction:
        if self._reduction is None:
            raise AssertionError("there are no arrays yet")
        return self._reduction


def _of_buffers(prices: core.AddressPrices, buffer_of: Sequence[int], unit: int) -> core.AddressPrices:
    """The same prices by the buffers of the parts, and by bytes instead of units."""
    return core.AddressPrices(
        [(buffer_of[part], price) for part, price in prices.links],
        [([buffer_of[part] for part in parts], price) for parts, price in prices.crowds],
        prices.scale,
        prices.unit * unit,
        prices.worth,
    )


def prices_again(
    problem: Problem, plan: Plan, options: Options, cancel: threading.Event
) -> KnownPrices | None:
    """What shows the reuse cost of a plan, by the same deterministic run, where that run is not at hand.

    None where its proof does not rest on that.
    """
    if not options.deterministic or not any(rests_on_addresses(one.certificate) for one in plan.objective):
        return None
    shown = list[KnownPrices]()

    def hear(known: Known) -> None:
        if isinstance(known, tuple):
            shown.append(known)

    plan_for_judge(problem, options, Callbacks(cancel=cancel, on_known=hear))
    return shown[-1] if shown else None


def _blank(status: Status) -> Plan:
    return Plan(status=status, version=memstow.__version__)


def refuse_for(violations: Sequence[Violation], solver: str | None, purpose: str = "") -> None:
    """Raise RefusedPlanError where there are violations of the plan of this solver."""
    if violations:
        raise RefusedPlanError(
            f"the plan of {solver}{purpose} was refused; please report it: "
            + "; ".join(f"{violation.code}: {violation.message}" for violation in violations[:5])
        )


def _no_layout(reduction: Reduction, items: tuple[int, ...], how: str) -> Explanation:
    """The explanation that these items do not fit together in the pools they may go to; `how` shows it."""
    problem, instance = reduction.problem, reduction.instance
    choices = [c for i in items for c in range(instance.choice_start[i], instance.choice_start[i + 1])]
    pools = [problem.pools[p] for p in sorted({instance.choice_pool[c] for c in choices})]
    ids = tuple(
        problem.buffers[reduction.part_buffer[part]].id
        for item in items
        for part in range(instance.item_parts[item], instance.item_parts[item + 1])
    )
    some = ", ".join(map(repr, ids[:8])) + (f" and {len(ids) - 8:,} more" if len(ids) > 8 else "")
    rooms = ", ".join(f"{pool.id!r} ({size_of(pool)})" for pool in pools[:8])
    one = pools[0] if len(pools) == 1 else None
    return Explanation(
        code="no_layout",
        message=f"no layout of these {len(ids):,} buffers fits in the pools they may go to, as {how} "
        f"has shown; pools and their bytes: {rooms}; buffers: {some}",
        pool=one.id if one else None,
        capacity=one.capacity if one else None,
        reserved=reserved_bytes(one) or None if one else None,
        buffers=ids,
    )


def window_of_reduction(
    reduction: Reduction, window: Window, term: Term, bound: int, solver: str
) -> ExhaustedWindow | None:
    """The certificate of a window in the names of the problem; None where the judge would not take it."""
    problem = reduction.problem
    buffers = [problem.buffers[reduction.part_buffer[part]] for part in window.parts]
    first, last = reduction.moment(window.first), reduction.moment(window.last)
    if first is None or last is None:
        return None
    named = {buffer.id for buffer in buffers}
    part = replace(
        problem,
        buffers=tuple(buffers),
        conflicts=(),
        exclusive=tuple(pair for pair in problem.exclusive if named.issuperset(pair)),
        in_place=tuple(entry for entry in problem.in_place if named.issuperset((entry.input, entry.output))),
        relative=(),
        reuse_costs=(),
        bank_conflicts=(),
    )
    return accepted_window(part, (first, last), term, bound, solver)


def accepted_window(
    part: Problem, moments: tuple[int, int], term: Term, bound: int, solver: str
) -> ExhaustedWindow | None:
    """The certificate about all buffers of this part of a problem; None where the judge would not take it."""
    first, last = moments
    names = tuple(buffer.id for buffer in part.buffers)
    window = ExhaustedWindow(solver=solver, pool=part.pools[0].id, begin=first, end=last + 1, buffers=names)
    findings = Findings()
    index = ProblemIndex(part, findings)
    try:
        reason = reason_against_window(index, term, bound, window, STEPS_IN_A_RUN)
    except TooMuch:
        # It stays a claim.
        reason = None
    return window if reason is None and not findings.total else None


_KINDS = {
    Kind.PEAK: TermKind.PEAK,
    Kind.POOL_PEAK: TermKind.POOL_PEAK,
    Kind.MAX_PEAK: TermKind.MAX_PEAK,
    Kind.PLACEMENT_COST: TermKind.PLACEMENT_COST,
    Kind.REUSE_COST: TermKind.REUSE_COST,
    Kind.MOVES: TermKind.MOVES,
    Kind.PREFERENCE: TermKind.PREFERENCE,
    Kind.BANK_COST: TermKind.BANK_COST,
}
_IN_BYTES = {TermKind.PEAK, TermKind.POOL_PEAK, TermKind.MAX_PEAK}


def task_of(reduction: Reduction, bounds: Mapping[Term, int], options: Options) -> tuple[Task, list[int]]:
    """The task with these terms and lower bounds, and by term the value of one unit of it there."""
    pool_of = {pool.id: i for i, pool in enumerate(reduction.problem.pools)}
    terms = [
        SolverTerm(_KINDS[term.kind], -1 if term.pool is None else pool_of[term.pool]) for term in bounds
    ]
    scales = [reduction.unit if term.kind in _IN_BYTES else 1 for term in terms]
    task = task_for(reduction.instance, tuple(terms), in_units(bounds.values(), scales), options)
    hint = options.hint
    if hint is None:
        return task, scales
    native = reduction.hint(hint.placements)
    places = tuple(HintPlace(*kept) for kept in native.kept)
    layout = core.layout_of(native)
    return replace(task, hint=layout, hint_places=places, hint_buffers=native.buffers), scales


_PEAKS: Final = {Kind.PEAK, Kind.POOL_PEAK, Kind.MAX_PEAK}


def distinct_terms(problem: Problem) -> tuple[Term, ...]:
    """The terms of the objective; of one pool without other words for the first that is its peak."""
    terms = terms_of(problem)
    peaks = [term for term in terms if term.kind in _PEAKS]
    same = set(peaks[1:] if len(problem.pools) == 1 else ())
    return tuple(term for term in terms if term not in same)


def all_terms(problem: Problem, distinct: Mapping[Term, TermBound]) -> dict[Term, TermBound]:
    """The bounds of all terms of the objective, by those of the distinct ones."""
    peak = next((bound for term, bound in distinct.items() if term.kind in _PEAKS), None)
    bounds = ((term, distinct.get(term, peak)) for term in terms_of(problem))
    return {term: bound for term, bound in bounds if bound is not None}


@record
class PlanValues:
    """The values of placements, in bytes of the problem."""

    problem: Problem
    placements: tuple[Placement, ...]
    hint: Plan | None
    peaks: list[int]
    live: list[Live]

    @classmethod
    def of_layout(
        cls,
        reduction: Reduction,
        layout: Layout,
        placements: tuple[Placement, ...],
        hint: Plan | None,
    ) -> "PlanValues":
        """Those of one layout and its placements."""
        instance = reduction.instance
        peaks = [peak * reduction.unit for peak in core.pool_peaks(instance, layout)]
        live = [
            Live(bytes=most.bytes * reduction.unit, time=reduction.moment(most.time))
            for most in core.most_occupied(instance, layout)
        ]
        return cls(reduction.problem, placements, hint, peaks, live)

    def of(self, term: Term) -> int:
        """The value of a term of the objective."""
        match term.kind:
            case Kind.PEAK:
                return sum(self.peaks)
            case Kind.MAX_PEAK:
                return max(self.peaks)
            case Kind.POOL_PEAK:
                return next(
                    peak
                    for pool, peak in zip(self.problem.pools, self.peaks, strict=True)
                    if pool.id == term.pool
                )
            case Kind.PLACEMENT_COST:
                return placement_cost(self.problem, self.placements)
            case Kind.PREFERENCE:
                return preference(self.problem, self.placements)
            case Kind.REUSE_COST:
                return reuse_cost(self.problem, self.placements)
            case Kind.BANK_COST:
                return bank_cost(self.problem, self.placements)
            case Kind.MOVES:
                return moves(self.problem, self.placements, self.hint)


def placement_cost(problem: Problem, placements: Iterable[Placement]) -> int:
    """Accesses x cost of the pool, over all buffers."""
    cost_of = {pool.id: pool.cost for pool in problem.pools}
    if not any(cost_of.values()):
        return 0
    return sum(
        accesses * cost_of[place.pool]
        for accesses, place in zip(access_counts(problem), placements, strict=True)
    )


def preference(problem: Problem, placements: Iterable[Placement]) -> int:
    """Bytes x place of the pool among those their buffer may go to, over all buffers."""
    return sum(
        buffer.size * place_of(problem, buffer, place.pool)
        for buffer, place in zip(problem.buffers, placements, strict=True)
    )


def reuse_cost(problem: Problem, placements: Iterable[Placement]) -> int:
    """The costs of all pairs that overlap in memory."""
    if not problem.reuse_costs:
        return 0
    place_of = {p.buffer: p for p in placements}
    size_of = {buffer.id: buffer.size for buffer in problem.buffers}
    total = 0
    for entry in problem.reuse_costs:
        one, two = entry.buffers
        a, b = place_of[one], place_of[two]
        begin, end = max(a.offset, b.offset), min(a.offset + size_of[one], b.offset + size_of[two])
        if a.pool == b.pool and begin < end:
            total += entry.cost
    return total


def bank_cost(problem: Problem, placements: Iterable[Placement]) -> int:
    """The costs of all pairs that touch a common bank."""
    pairs = {pair: cost for pair, cost in bank_pairs(problem).items() if cost}
    if not pairs:
        return 0
    banks = {pool.id: bank_ranges(pool) for pool in problem.pools}
    size_of = {buffer.id: buffer.size for buffer in problem.buffers}
    touched: dict[str, tuple[str, int, int]] = {}
    for place in placements:
        there, end = banks[place.pool], place.offset + size_of[place.buffer]
        first = bisect_right(there, place.offset, key=itemgetter(1))
        touched[place.buffer] = place.pool, first, bisect_left(there, end, key=itemgetter(0))
    total = 0
    for (one, other), cost in pairs.items():
        (pool, first, end), (other_pool, other_first, other_end) = touched[one], touched[other]
        if pool == other_pool and max(first, other_first) < min(end, other_end):
            total += cost
    return total


def moves(problem: Problem, placements: Iterable[Placement], hint: Plan | None) -> int:
    """Buffers that are at another place than in the hint; those of size 0 do not count."""
    if hint is None:
        return 0
    was = {p.buffer: p for p in hint.placements}
    return sum(
        1
        for buffer, place in zip(problem.buffers, placements, strict=True)
        if buffer.size and buffer.id in was and was[buffer.id] != place
    )


def plan_of_values(
    values: PlanValues,
    bounds: Bounds,
    terms: Mapping[Term, TermBound],
    solver: str | None,
    prover: str | None,
) -> Plan:
    """The plan with these values, and these bounds of the terms, before anyone has judged it."""
    objective = tuple(term_value(term, values.of(term), bound) for term, bound in terms.items())
    pools = values.problem.pools
    of_pools = [bounds.of_pool(number) for number in range(len(pools))]
    uses = tuple(pool_uses(pools, values.peaks, values.live, of_pools, terms))
    plan = plan_without_places(uses, objective, solver, prover)
    return replace(plan, placements=values.placements)


@record
class Proven:
    """A bound of the first term that a run has proven, with its reason."""

    term: TermValue
    prover: str | None


def with_bound_of(problem: Problem, options: Options, plan: Plan, known: Plan) -> Plan:
    """The plan with the bound of a known one, verified, where that is higher.

    What is proven of a problem holds for each of its plans. Later terms have bounds of what is reached in
    earlier ones, so with several terms nothing is taken over.
    """
    if plan.status not in PLANNED or not len(plan.objective) == len(known.objective) == 1:
        return plan
    mine, other = plan.objective[0], known.objective[0]
    if not mine.bound < other.bound <= mine.value:
        return plan
    stamp = Stamp(seconds=plan.seconds, work=plan.work)
    proven = Proven(other, known.prover)
    return assembled(problem, options, plan.placements, plan.solver or "", proven, stamp)


def assembled(
    problem: Problem,
    options: Options,
    placements: tuple[Placement, ...],
    solver: str,
    proven: Proven | None,
    stamp: Stamp,
) -> Plan:
    """The plan of these places, with the higher of the bound that is proven and the one found at once.

    RefusedPlanError where the judge finds a violation.
    """
    source = ProblemSource(problem, options)
    arrays = source.arrays(Progress(None))
    if not isinstance(arrays, Arrays):
        why = "" if arrays.explanation is None else arrays.explanation.message
        raise RefusedPlanError(f"these buffers have no places: {why}")
    terms, prover = dict(arrays.state.terms), arrays.state.prover
    first = next(iter(terms), None)
    if first is not None and proven is not None and proven.term.bound > terms[first].value:
        terms[first] = TermBound(proven.term.bound, proven.term.certificate)
        prover = None if proven.prover is None else named_in_plan(proven.prover, options)
    layout = source.layout_of(placements)
    candidate = Candidate(layout, named_in_plan(solver, options), terms, prover, is_last=True)
    return source.stamped(source.accepted(candidate), stamp)
