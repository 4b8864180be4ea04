"""Makes the plan that a run returns, with its values and certificates, and has it judged.

A certificate that a window of time shows is given to the judge's search first, with no more than the buffers
that it names: where that finds a layout, there is no certificate, and the bound before stays.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import memstow
from memstow.planner.backends import is_model, name_with_version
from memstow.planner.model import Status
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import RefusedPlanError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import ExhaustedWindow, Explanation, Live, Overflow, Placement, Plan, PoolUse
from memstow.planner.model.problem import (
    Buffer,
    Kind,
    Pool,
    Problem,
    Term,
    access_count,
    place_of,
    reserved_bytes,
)
from memstow.planner.model.records import collector_at_rest, record
from memstow.planner.plain._columns import Columns
from memstow.planner.reduce import Reduction
from memstow.planner.reduce.allowed_places import size_of
from memstow.planner.solve.bounds import Bounds, PoolBound
from memstow.planner.solve.run_state import RunState, Stamp, TermBound, term_value
from memstow.planner.verify import Violation, verify
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.peak_bounds import reason_against_window
from memstow.planner.verify.verdict import STEPS_IN_A_RUN, Findings, TooMuch
from memstow.solvers import core
from memstow.solvers import solver as solvers
from memstow.solvers.instance import Layout


def no_layout(reduction: Reduction, items: tuple[int, ...]) -> Explanation:
    """The explanation that these items do not fit together in the pools they may go to."""
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
        message=f"no layout of these {len(ids):,} buffers fits in the pools they may go to, as a search "
        f"through all of them has shown; pools and their bytes: {rooms}; buffers: {some}",
        pool=one.id if one else None,
        capacity=one.capacity if one else None,
        reserved=reserved_bytes(one) or None if one else None,
        buffers=ids,
    )


def window_of_reduction(
    reduction: "Reduction", window: solvers.Window, term: Term, bound: int, solver: str
) -> ExhaustedWindow | None:
    """The certificate in the names of the problem; None where the judge would not take it."""
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
    )
    return _accepted_window(part, (first, last), term, bound, solver)


def window_of_columns(
    columns: Columns, members: Sequence[int], window: solvers.Window, term: Term, bound: int, solver: str
) -> ExhaustedWindow | None:
    """The same for these buffers of columns."""
    alignments = columns.alignments
    buffers = [
        Buffer(
            id=columns.name(member),
            size=columns.sizes[member],
            lifetime=(columns.begins[member], columns.ends[member]),
            alignment=alignments[member if len(alignments) > 1 else 0],
        )
        for member in members
    ]
    pool = Pool(id=columns.pool, capacity=columns.capacity)
    part = Problem(version=1, buffers=tuple(buffers), pools=(pool,))
    return _accepted_window(part, (window.first, window.last), term, bound, solver)


def _accepted_window(
    part: Problem, moments: tuple[int, int], term: Term, bound: int, solver: str
) -> ExhaustedWindow | None:
    """The certificate about all buffers of this part of the problem."""
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
            case Kind.MOVES:
                return moves(self.problem, self.placements, self.hint)


def placement_cost(problem: Problem, placements: Iterable[Placement]) -> int:
    """Accesses x cost of the pool, over all buffers."""
    cost_of = {pool.id: pool.cost for pool in problem.pools}
    if not any(cost_of.values()):
        return 0
    return sum(
        access_count(buffer) * cost_of[place.pool]
        for buffer, place in zip(problem.buffers, placements, strict=True)
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


Judge = Callable[[Problem, Plan, Plan | None], list[Violation]]
"""Finds the violations of a plan: `planner.verify.recount`, or a function that calls and caches it."""


_MOST_TRIED = 200
"""The judge tries to lay out so many named buffers in some hundredths of a second."""


Accept = Callable[[Layout, str, dict[Term, TermBound]], Plan]
"""Makes the accepted plan of a layout, by this solver, with these bounds."""


@record
class Answers:
    """Makes the plans of one run."""

    problem: Problem
    options: Options
    judge: Judge
    stamp: Callable[[], Stamp]

    def infeasible(self, explanation: Explanation, prover: str) -> Plan:
        """The answer where nothing fits.

        RefusedPlanError if a back end names buffers that the judge finds places for.
        """
        blank = self._blank(Status.INFEASIBLE)
        plan = replace(blank, explanation=explanation, prover=self._with_version(prover))
        if is_model(prover) and len(explanation.buffers) <= _MOST_TRIED:
            self._refuse_for(verify(self.problem, plan, self.options.hint), plan.prover)
        return self._with_digest(plan)

    def unknown(self, reduction: Reduction, attempt: Layout | None) -> Plan:
        """The answer where no plan was found, and no proof that there is none."""
        blank = self._with_digest(self._blank(Status.UNKNOWN))
        if attempt is None:
            return blank
        peaks = core.pool_peaks(reduction.instance, attempt)
        closest = tuple(
            Overflow(pool=pool.id, peak=peak * reduction.unit, capacity=pool.capacity)
            for pool, peak in zip(self.problem.pools, peaks, strict=True)
            if pool.capacity is not None and peak * reduction.unit > pool.capacity
        )
        return replace(blank, closest=closest)

    def accept(
        self,
        reduction: Reduction,
        bounds: Bounds,
        state: RunState,
        layout: Layout,
        solver: str,
        terms: dict[Term, TermBound],
    ) -> Plan:
        """The plan of a layout that fits; RefusedPlanError if the judge finds a violation."""
        with collector_at_rest():
            plan = self._plan(reduction, bounds, state, layout, self._with_version(solver), terms)
            self._refuse_for(self.judge(self.problem, plan, self.options.hint), plan.solver)
            return self._with_digest(plan)

    @staticmethod
    def _refuse_for(violations: list[Violation], solver: str | None) -> None:
        if violations:
            raise RefusedPlanError(
                f"the plan of {solver} was refused; please report it: "
                + "; ".join(f"{v.code}: {v.message}" for v in violations[:5])
            )

    def _plan(
        self,
        reduction: Reduction,
        bounds: Bounds,
        state: RunState,
        layout: Layout,
        solver: str,
        terms: dict[Term, TermBound],
    ) -> Plan:
        """The plan before anyone has judged it."""
        prover = None if state.prover is None else self._with_version(state.prover)
        stamp = self._blank(Status.FEASIBLE)
        placements = reduction.placements(layout)
        values = PlanValues.of_layout(reduction, layout, placements, self.options.hint)
        objective = tuple(term_value(term, values.of(term), bound) for term, bound in terms.items())
        proven = all(entry.value == entry.bound for entry in objective)
        return replace(
            stamp,
            status=Status.OPTIMAL if proven else Status.FEASIBLE,
            placements=placements,
            pools=tuple(pool_uses(self.problem, bounds, values, terms)),
            objective=objective,
            solver=solver,
            prover=prover if any(entry.bound for entry in objective) else None,
        )

    def _blank(self, status: Status) -> Plan:
        stamp = self.stamp()
        return Plan(status=status, version=memstow.__version__, seconds=stamp.seconds, work=stamp.work)

    def _with_digest(self, plan: Plan) -> Plan:
        return replace(plan, digest=digest(self.problem))

    def _with_version(self, solver: str) -> str:
        """A back end with its version in a deterministic run: another version may give another plan."""
        return name_with_version(solver) if self.options.deterministic else solver


def pool_uses(
    problem: Problem, bounds: Bounds, values: PlanValues, terms: dict[Term, TermBound]
) -> Iterator[PoolUse]:
    """What the plan makes of each pool."""
    for i, pool in enumerate(problem.pools):
        bound = _pool_bound(bounds.of_pool(i), _bound_in_objective(problem, pool.id, terms))
        yield PoolUse(
            pool=pool.id,
            capacity=pool.capacity,
            peak=values.peaks[i],
            bound=bound.value,
            live=values.live[i],
            certificate=bound.certificate,
        )


def _pool_bound(bound: PoolBound, in_objective: int) -> PoolBound:
    """The better of a pool's own bound and the one in the objective, whose certificate is there."""
    return PoolBound(in_objective, None) if in_objective >= bound.value else bound


def _bound_in_objective(problem: Problem, pool: str, terms: dict[Term, TermBound]) -> int:
    """The bound of a pool's peak if that is the first term; bounds of later terms depend on the first."""
    first = next(iter(terms), None)
    return terms[first].value if first is not None and first.is_peak_of(pool, len(problem.pools)) else 0
