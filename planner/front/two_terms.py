"""Two terms of a problem, one of which can be limited: a peak, by the capacity of its pool.

A plan of the limited problem becomes one of the problem that the user has by `PlansFor`, which counts and
judges it again.
"""

from dataclasses import dataclass, replace
from math import lcm
from typing import Final

from memstow.planner.check import find_issues, require_hint, require_valid
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError, RefusedPlanError
from memstow.planner.model.plan import Explanation, Plan
from memstow.planner.model.problem import (
    Kind,
    Pool,
    Problem,
    Reserved,
    Term,
    end_of,
    parse_term,
    peak_of,
    terms_of,
)
from memstow.planner.reduce import reduce
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.one_run import prover_of
from memstow.planner.solve.problem_plans import PlanValues, plan_of_values, recount, refuse_for

CAPACITY: Final = "capacity"


def require_front(problem: Problem, names: tuple[str, str], hint: Plan | None) -> None:
    """Raise InputError where the problem has no such front, before any work is done.

    Paths that begin with `$` are of the problem, others of what is asked for.
    """
    require_valid(problem)
    require_hint(problem, hint)
    terms = two_terms(problem, names).terms
    if hint is None and any(term.kind is Kind.MOVES for term in terms):
        message = "`moves` counts what differs from a plan; give that plan as the hint"
        raise InputError.single("moves_without_hint", "terms", message)


@dataclass(frozen=True, slots=True)
class TwoTerms:
    """Two terms as they are called, the problem they are minimised in, and which of them is limited."""

    names: tuple[str, str]
    problem: Problem
    """Without the capacities that are terms."""
    terms: tuple[Term, Term]
    limited: int
    pools: frozenset[str]
    """Those whose capacities limit the term."""
    capacities: frozenset[str]
    """Those whose capacities are looked for."""

    @property
    def improved(self) -> int:
        """The index of the other term."""
        return 1 - self.limited

    def limited_first(self) -> Problem:
        """The problem of the least value of the limited term, then of the other."""
        return self._with_objective(self.limited, self.improved)

    def within(self, most: int | None) -> Problem | None:
        """The problem of the least value of the other term, then of this; None: nothing can fit."""
        problem = self._with_objective(self.improved, self.limited)
        return problem if most is None else with_limit(problem, self.pools, most)

    def _with_objective(self, *order: int) -> Problem:
        return replace(self.problem, objective=tuple(str(self.terms[i]) for i in order))


def two_terms(problem: Problem, names: tuple[str, str]) -> TwoTerms:
    """The two terms; InputError where there is no way to their front."""
    if names[0] == names[1]:
        raise InputError.single("repeated_term", "terms", f"{names[0]!r} is named twice; name two terms")
    first, second = terms = (_term(problem, names[0]), _term(problem, names[1]))
    lifted = frozenset(pool for name in names if (pool := _pool_of_capacity(problem, name)) is not None)
    pools = tuple(replace(pool, capacity=None) if pool.id in lifted else pool for pool in problem.pools)
    if first == second:
        message = f"{names[0]!r} and {names[1]!r} are the same here; name two different terms"
        raise InputError.single("repeated_term", "terms", message)
    for index, term in enumerate(terms):
        limits = _pools_that_limit(problem, term)
        if limits:
            freed = problem if pools == problem.pools else replace(problem, pools=pools)
            return TwoTerms(names, freed, terms, index, limits, lifted)
    peaks = ", ".join(f"peak:{pool.id}" for pool in problem.pools[:8])
    message = f"one of the two must be the peak or the capacity of a pool; take one of {peaks}"
    raise InputError.single("no_limit", "terms", message)


def default_terms(problem: Problem, hint: Plan | None) -> tuple[str, str]:
    """The peak of the first pool, and the first cost that the problem has."""
    several = len(problem.pools) > 1
    first = str(peak_of(problem.pools[0].id)) if several else Kind.PEAK.value
    if several and len({pool.cost for pool in problem.pools}) > 1:
        return first, Kind.PLACEMENT_COST.value
    if problem.reuse_costs:
        return first, Kind.REUSE_COST.value
    if any(entry.cost for entry in problem.bank_conflicts):
        return first, Kind.BANK_COST.value
    if hint is not None:
        return first, Kind.MOVES.value
    if several:
        return first, str(peak_of(problem.pools[1].id))
    message = (
        "nothing but the peak of its only pool can be minimised here, so there is nothing to choose; give "
        "`reuse_costs`, several pools, or a hint whose `moves` count"
    )
    raise InputError.single("one_term", "terms", message)


def with_limit(problem: Problem, pools: frozenset[str], most: int) -> Problem | None:
    """The problem with no byte above `most` in these pools; None where a pin is."""
    room = _room_without_bytes(problem)
    limited = replace(
        problem,
        pools=tuple(_limited(pool, most, room) if pool.id in pools else pool for pool in problem.pools),
    )
    return None if find_issues(limited) else limited


def _limited(pool: Pool, most: int, room: int) -> Pool:
    if end_of(pool) <= most:
        return pool
    end = min(end_of(pool), most + room)
    ended = cut(pool, end)
    if end == most:
        return ended
    return replace(ended, reserved=(*ended.reserved, Reserved(offset=most, size=end - most)))


def _room_without_bytes(problem: Problem) -> int:
    """How far above the limit a buffer of size 0 may have to be: it takes no bytes there."""
    empty = [buffer for buffer in problem.buffers if not buffer.size]
    if not empty:
        return 0
    alignments = [lcm(buffer.alignment, pool.alignment) for buffer in empty for pool in problem.pools]
    pins = [buffer.offset for buffer in empty if buffer.offset is not None]
    return max([*alignments, *pins]) + sum(abs(entry.offset) for entry in problem.relative)


def cut(pool: Pool, most: int) -> Pool:
    """The pool with this capacity, and what is reserved within it."""
    kept = tuple(
        Reserved(offset=entry.offset, size=min(entry.size, most - entry.offset))
        for entry in pool.reserved
        if entry.offset < most
    )
    return replace(pool, capacity=most, reserved=kept)


def _pools_that_limit(problem: Problem, term: Term) -> frozenset[str]:
    if term.pool is not None:
        return frozenset((term.pool,))
    single = len(problem.pools) == 1 and term.kind is Kind.PEAK
    if single or term.kind is Kind.MAX_PEAK:
        return frozenset(pool.id for pool in problem.pools)
    return frozenset()


def _pool_of_capacity(problem: Problem, name: str) -> str | None:
    head, colon, pool = name.partition(":")
    if name == CAPACITY and len(problem.pools) == 1:
        return problem.pools[0].id
    return pool if head == CAPACITY and colon else None


def _term(problem: Problem, name: str) -> Term:
    pool = _pool_of_capacity(problem, name)
    term = parse_term(name) if pool is None else peak_of(pool)
    pools = [pool.id for pool in problem.pools]
    some = ", ".join(map(repr, pools[:8]))
    if term is None:
        costs = "placement_cost, preference, reuse_cost, bank_cost"
        usual = f"peak:POOL, capacity:POOL, peak, max_peak, {costs} or moves"
        raise InputError.single("unknown_term", "terms", f"{name!r} is not a term; use {usual}")
    if term.pool is not None and term.pool not in pools:
        message = f"there is no pool {term.pool!r}; the pools are {some}"
        raise InputError.single("unknown_pool", "terms", message)
    if len(pools) == 1 and (term.pool is not None or term.kind is Kind.MAX_PEAK):
        return Term(Kind.PEAK)
    return term


class PlansFor:
    """Makes judged plans for one problem from those of limited ones."""

    def __init__(self, problem: Problem, hint: Plan | None) -> None:
        self._problem = problem
        self._hint = hint
        reduction = reduce(problem)
        self._bounds = None if isinstance(reduction, Explanation) else Bounds(reduction)

    def plan(self, solved: Plan) -> Plan:
        """The plan with the values and bounds of this problem; RefusedPlanError if the judge refuses it."""
        problem, bounds = self._problem, self._bounds
        if bounds is None:
            raise RefusedPlanError(f"a plan of {solved.solver} was found where none fits; please report it")
        peaks = [use.peak for use in solved.pools]
        values = PlanValues(problem, solved.placements, self._hint, peaks, [use.live for use in solved.pools])
        terms = {term: bounds.of_term(term) for term in terms_of(problem)}
        plan = plan_of_values(values, bounds, terms, solved.solver, prover_of(terms))
        plan = replace(plan, digest=digest(problem), seconds=solved.seconds, work=solved.work)
        refuse_for(recount(problem, plan, self._hint), solved.solver, " for a point of a front")
        return plan
