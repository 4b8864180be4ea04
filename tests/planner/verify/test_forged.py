"""Forged claims: whatever a plan says that is not so is never called checked.

Tiny random problems of which a brute force knows the optimum; every figure, every certificate and every
explanation of a true plan is changed, and the judge's word is held against what is known.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from random import Random
from typing import Any

import pytest

from memstow.planner.model import PLANNED, Status
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import (
    Certificate,
    Exhausted,
    Explanation,
    Least,
    LiveBytes,
    Model,
    Overflow,
    Placement,
    Plan,
    Refuted,
    Sum,
    gap_of,
)
from memstow.planner.model.problem import Buffer, Pool, Problem, Relative, Reserved, subproblem
from memstow.planner.solve import engine
from memstow.planner.solve.recheck import recheck
from memstow.planner.verify import Claim, Code, Standing, Subject, judge, refutation
from tests.campaign import gate_first
from tests.planner.plans import honest
from tests.problems import random_problem
from tests.referee import best
from tests.referee import judge as referee
from tests.waiting import PATIENCE

PER_SEED = 50


def solved(problem: Problem) -> Plan:
    """A true plan, proven by the search where it takes the problem."""
    try:
        return engine.plan(problem, Options(deterministic=True, work_limit=200_000, solver="exact"))
    except DeclinedError:
        return engine.plan(problem, Options(deterministic=True, work_limit=200_000, solver="greedy"))


def some_problem(rng: Random) -> Problem:
    """A tiny problem, of which about a third have too little room."""
    problem = random_problem(rng)
    if rng.random() < 0.4:
        pools = tuple(replace(pool, capacity=rng.randint(1, 9)) for pool in problem.pools)
        smaller = replace(problem, pools=pools)
        if engine_takes(smaller):
            return smaller
    return problem


def engine_takes(problem: Problem) -> bool:
    from memstow.planner.check import find_issues

    return not find_issues(problem)


def standing(claims: tuple[Claim, ...], subject: Subject, name: str | None) -> Standing | None:
    """How that claim stands; None where it is not made."""
    return next((claim.standing for claim in claims if (claim.subject, claim.name) == (subject, name)), None)


# What is known to be true


class Truth:
    """The optimum by brute force, and what follows for a claim."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._known: dict[tuple[str, ...], tuple[int, ...] | None] = {}

    def least(self, *terms: str) -> tuple[int, ...] | None:
        """The least values of these terms, None where nothing fits."""
        if terms not in self._known:
            self._known[terms] = best(replace(self.problem, objective=terms))[1]
        return self._known[terms]

    def false(self, plan: Plan, claim: Claim) -> bool:
        """Whether it is known not to be so. Bounds of later terms are known for the best prefix alone."""
        match claim.subject:
            case Subject.NOTHING_FITS:
                return self.least() is not None
            case Subject.POOL_BOUND:
                use = next(use for use in plan.pools if use.pool == claim.name)
                least = self.least(f"peak:{use.pool}")
                return least is not None and use.bound > least[0]
            case Subject.BOUND:
                position = next(i for i, term in enumerate(plan.objective) if term.term == claim.name)
                vector = self.least(*self.problem.terms())
                if vector is None:
                    return False
                prefix = tuple(term.value for term in plan.objective[:position])
                return prefix == vector[:position] and plan.objective[position].bound > vector[position]
        return False


# Forgeries


def with_term(plan: Plan, position: int, **changes: Any) -> Plan:
    """The plan with another claim about a term, its gap and status made to match."""
    claim = replace(plan.objective[position], **changes)
    if "gap" not in changes:
        claim = replace(claim, gap=gap_of(claim.value, claim.bound))
    objective = (*plan.objective[:position], claim, *plan.objective[position + 1 :])
    proven = all(term.value == term.bound for term in objective)
    return replace(plan, objective=objective, status=Status.OPTIMAL if proven else Status.FEASIBLE)


def with_pool(plan: Plan, position: int, **changes: Any) -> Plan:
    use = replace(plan.pools[position], **changes)
    return replace(plan, pools=(*plan.pools[:position], use, *plan.pools[position + 1 :]))


def some_names(rng: Random, problem: Problem) -> tuple[str, ...]:
    names = [buffer.id for buffer in problem.buffers]
    return tuple(rng.sample(names, rng.randint(0, len(names)))) + rng.choice(((), (), (), ("ghost",)))


def some_live_bytes(rng: Random, problem: Problem) -> LiveBytes:
    return LiveBytes(
        pool=rng.choice([None, *(pool.id for pool in problem.pools)]),
        time=rng.choice([None, *range(-1, 8)]),
        buffers=some_names(rng, problem),
    )


def changed_certificates(
    rng: Random, problem: Problem, bound: int, now: Certificate | None
) -> Iterator[Certificate]:
    """Every kind of certificate, and small changes of the one that is there."""
    yield Least()
    yield Model(solver=rng.choice(("cp-sat", "")))
    yield Exhausted(solver="exact", refuted=(Refuted(height=max(bound - 1, 0), nodes=rng.randint(0, 2)),))
    yield Exhausted(solver="exact", refuted=())
    yield some_live_bytes(rng, problem)
    yield Sum(parts=())
    yield Sum(parts=tuple(some_live_bytes(rng, problem) for _ in range(rng.randint(1, 3))))
    if isinstance(now, LiveBytes):
        yield replace(now, buffers=())
        yield replace(now, buffers=now.buffers[1:])
        yield replace(now, buffers=(*now.buffers, problem.buffers[0].id))
        yield replace(now, time=None if now.time is not None else 0)
        yield replace(now, time=(now.time or 0) + rng.choice((-1, 1)))
        for pool in (None, *(pool.id for pool in problem.pools)):
            yield replace(now, pool=pool)
    if isinstance(now, Sum):
        yield replace(now, parts=now.parts[1:])
        yield replace(now, parts=(*now.parts, now.parts[0]))
    if isinstance(now, Exhausted):
        yield replace(now, refuted=tuple(replace(refusal, nodes=1) for refusal in now.refuted))
        yield replace(
            now, refuted=tuple(replace(refusal, height=refusal.height + 1) for refusal in now.refuted)
        )


def forged_terms(rng: Random, problem: Problem, plan: Plan) -> Iterator[Plan]:
    for position, claim in enumerate(plan.objective):
        for bound in {claim.bound + 1, max(claim.bound - 1, 0), claim.value, claim.value + 1}:
            yield with_term(plan, position, bound=bound)
            for certificate in changed_certificates(rng, problem, bound, claim.certificate):
                yield with_term(plan, position, bound=bound, certificate=certificate)


def forged_pools(rng: Random, problem: Problem, plan: Plan) -> Iterator[Plan]:
    for position, use in enumerate(plan.pools):
        for bound in {use.bound + 1, use.peak, use.peak + 1}:
            yield with_pool(plan, position, bound=bound)
            yield with_pool(plan, position, bound=bound, certificate=some_live_bytes(rng, problem))
            if use.certificate is not None:
                names = some_names(rng, problem)
                yield with_pool(
                    plan, position, bound=bound, certificate=replace(use.certificate, buffers=names)
                )


def forged_explanations(rng: Random, problem: Problem, now: Explanation | None) -> Iterator[Plan]:
    def saying(why: Explanation) -> Plan:
        return Plan(status=Status.INFEASIBLE, explanation=why, prover="exact", version="1.2.3")

    for code in ("over_capacity", "no_place", "no_layout", "too_large"):
        pool = rng.choice([None, *problem.pools])
        yield saying(
            Explanation(
                code=code,
                message="trust me",
                pool=None if pool is None else pool.id,
                time=rng.choice([None, *range(-1, 8)]),
                needed=rng.choice([None, rng.randint(0, 40)]),
                capacity=None if pool is None else pool.capacity,
                buffers=some_names(rng, problem),
            )
        )
    if now is not None:
        for changes in explanation_changes(rng, problem, now):
            yield saying(replace(now, **changes))


def explanation_changes(rng: Random, problem: Problem, now: Explanation) -> Iterator[dict[str, Any]]:
    yield {"buffers": ()}
    yield {"buffers": now.buffers[1:]}
    yield {"buffers": some_names(rng, problem)}
    yield {"pool": rng.choice(problem.pools).id}
    yield {"time": (now.time or 0) + 1}
    yield {"code": "no_layout"}


SEEDS = range(8)


def true_plans(seed: int) -> Iterator[tuple[Random, Problem, Plan]]:
    rng = Random(seed)
    for _ in range(PER_SEED):
        problem = some_problem(rng)
        yield rng, problem, solved(problem)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_true_plan_stays_valid_and_says_what_is_not_checked(seed: int) -> None:
    statuses = set()
    for _, problem, plan in true_plans(seed):
        verdict = judge(problem, plan)
        assert verdict.violations == ()
        statuses.add(plan.status)
        standings = {(claim.subject, claim.name): claim.standing for claim in verdict.claims}
        by_word = {
            term.term: isinstance(term.certificate, Exhausted | Model) and term.bound > 0
            for term in plan.objective
        }
        for term, claimed in by_word.items():
            if (Subject.BOUND, term) in standings:
                assert (standings[Subject.BOUND, term] is Standing.CLAIMED) == claimed
        if plan.explanation is not None:
            counted = plan.explanation.code in ("over_capacity", "no_place")
            expected = Standing.CHECKED if counted else Standing.CLAIMED
            assert standings[Subject.NOTHING_FITS, None] is expected
    assert {Status.OPTIMAL, Status.INFEASIBLE} <= statuses


@pytest.mark.parametrize("seed", gate_first((0, 1, 2, 4, 5, 6, 7, 3), 3))
def test_no_false_claim_is_called_checked(seed: int) -> None:
    false = refuted = claimed = 0
    for rng, problem, plan in true_plans(100 + seed):
        truth = Truth(problem)
        forgeries = [*forged_explanations(rng, problem, plan.explanation)]
        if plan.status in PLANNED:
            forgeries += [*forged_terms(rng, problem, plan), *forged_pools(rng, problem, plan)]
        for forged in forgeries:
            verdict = judge(problem, forged)
            for claim in verdict.claims:
                if not truth.false(forged, claim):
                    continue
                false += 1
                assert claim.standing is not Standing.CHECKED, (problem, forged, claim)
                refuted += claim.standing is Standing.REFUTED
                claimed += claim.standing is Standing.CLAIMED
            if any(claim.standing is Standing.REFUTED for claim in verdict.claims):
                assert not verdict.valid
    assert false > 500
    assert refuted > 0.9 * false, (false, refuted, claimed)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_so_is_never_refuted_by_the_judges_own_layouts(seed: int) -> None:
    """The optimum of each term by the word of a model, as high as it may be said to be."""
    rng, words = Random(200 + seed), 0
    for _ in range(PER_SEED):
        problem = some_problem(rng)
        verdict = referee(problem)
        if verdict.places is None or verdict.vector is None:
            why = Explanation(
                code="no_layout", message="so it is", buffers=tuple(buffer.id for buffer in problem.buffers)
            )
            assert judge(problem, Plan(status=Status.INFEASIBLE, explanation=why)).valid
            continue
        bounds = dict(zip(problem.terms(), verdict.vector, strict=True))
        judged = judge(problem, honest(problem, verdict.places, bounds=bounds))
        assert judged.violations == ()
        for term, bound in bounds.items():
            expected = Standing.CLAIMED if bound else None
            assert standing(judged.claims, Subject.BOUND, term) is expected
            words += bound > 0
    assert words > 20


@pytest.mark.parametrize("seed", SEEDS)
def test_every_figure_of_a_plan_that_is_not_so_is_refused(seed: int) -> None:
    for rng, problem, plan in true_plans(300 + seed):
        if plan.status not in PLANNED:
            continue
        for lie, code in false_figures(rng, plan):
            verdict = judge(problem, lie)
            assert code in {violation.code for violation in verdict.violations}, (problem, lie)


def false_figures(rng: Random, plan: Plan) -> Iterator[tuple[Plan, Code]]:
    """Each figure one more or one less."""
    for position in range(len(plan.pools)):
        yield from false_figures_of_pool(plan, position)
    for position, claim in enumerate(plan.objective):
        for by in (-1, 1):
            if claim.value + by >= 0:
                yield with_term(plan, position, value=claim.value + by), Code.VALUE
        yield with_term(plan, position, gap=0.5 if claim.gap != 0.5 else 0.25), Code.GAP
        yield with_term(plan, position, bound=claim.value + rng.randint(1, 3)), Code.BOUND
        if claim.bound:
            yield with_term(plan, position, certificate=None), Code.UNCERTIFIED
    yield replace(plan, closest=(Overflow(pool=plan.pools[0].pool, peak=9, capacity=8),)), Code.CLOSEST
    yield replace(plan, digest="0" * 64), Code.DIGEST


def false_figures_of_pool(plan: Plan, position: int) -> Iterator[tuple[Plan, Code]]:
    use = plan.pools[position]
    for by in (-1, 1):
        if use.peak + by >= 0:
            yield with_pool(plan, position, peak=use.peak + by), Code.PEAK
        if use.live.bytes + by >= 0:
            live = replace(use.live, bytes=use.live.bytes + by)
            yield with_pool(plan, position, live=live), Code.LIVE
        moment = by if use.live.time is None else use.live.time + by
        yield with_pool(plan, position, live=replace(use.live, time=moment)), Code.LIVE
        capacity = 5 if use.capacity is None else max(use.capacity + by, 0)
        if capacity != use.capacity:
            yield with_pool(plan, position, capacity=capacity), Code.CAPACITY
    if use.live.time is not None:
        yield with_pool(plan, position, live=replace(use.live, time=None)), Code.LIVE


@pytest.mark.parametrize("seed", gate_first((1, 2, 0), 1))
def test_solving_again_decides_what_was_only_claimed(seed: int) -> None:
    rng, decided = Random(400 + seed), 0
    for _ in range(25):
        problem = some_problem(rng)
        truth = referee(problem)
        if truth.places is None or truth.vector is None or not truth.vector:
            continue
        term, least = problem.terms()[0], truth.vector[0]
        alone = replace(problem, objective=(term,))
        plan = honest(alone, truth.places, bounds={term: least})
        verdict = recheck(alone, plan, judge(alone, plan), 60.0)
        assert (verdict.valid, verdict.unchecked) == (True, ())
        decided += least > 0
    assert decided > 5


def test_solving_again_refutes_a_misfit_that_the_judge_cannot() -> None:
    result = next(hard for seed in range(2000) if (hard := beyond_the_judge(Random(seed))) is not None)
    problem, plan = result
    verdict = judge(problem, plan)
    assert [claim.subject for claim in verdict.unchecked] == [Subject.NOTHING_FITS]
    again = recheck(problem, plan, verdict, 60.0)
    assert [violation.code for violation in again.violations] == [Code.EXPLANATION]
    assert standing(again.claims, Subject.NOTHING_FITS, None) is Standing.REFUTED


def beyond_the_judge(rng: Random) -> tuple[Problem, Plan] | None:
    """A tight problem that has a plan, and the claim that it has none, where the judge finds no layout."""
    problem = replace(random_problem(rng, 6), objective=("max_peak",))
    vector = best(problem)[1]
    if vector is None or not vector[0]:
        return None
    pools = tuple(replace(pool, capacity=min(pool.capacity or 99, vector[0])) for pool in problem.pools)
    tight = replace(problem, pools=pools, objective=())
    if not engine_takes(tight) or best(tight)[1] is None:
        return None
    why = Explanation(
        code="no_layout", message="trust me", buffers=tuple(buffer.id for buffer in tight.buffers)
    )
    plan = Plan(status=Status.INFEASIBLE, explanation=why)
    return (tight, plan) if judge(tight, plan).valid else None


def beyond_the_orders(rng: Random) -> tuple[Problem, Plan] | None:
    """All in a row, and a bound one above the optimum, which the judge's own layouts do not reach."""
    lives = [(begin := rng.randint(0, 8), begin + rng.randint(1, 5)) for _ in range(14)]
    buffers = tuple(Buffer(id=f"b{i}", size=rng.randint(1, 9), lifetime=life) for i, life in enumerate(lives))
    problem = Problem(version=1, buffers=buffers)
    planned = engine.plan(problem, Options(deterministic=True, work_limit=2_000_000, solver="exact"))
    if planned.status is not Status.OPTIMAL:
        return None
    starts = accumulate((buffer.size for buffer in buffers), initial=0)
    places = {buffer.id: ("memory", start) for buffer, start in zip(buffers, starts, strict=False)}
    plan = honest(problem, places, bounds={"peak": planned.objective[0].value + 1})
    return (problem, plan) if judge(problem, plan).valid else None


def test_solving_again_refutes_a_bound_that_the_judge_cannot() -> None:
    problem, plan = next(
        hard for seed in range(2000) if (hard := beyond_the_orders(Random(seed))) is not None
    )
    verdict = judge(problem, plan)
    assert standing(verdict.claims, Subject.BOUND, "peak") is Standing.CLAIMED
    again = recheck(problem, plan, verdict, 60.0)
    assert [violation.code for violation in again.violations] == [Code.CERTIFICATE]
    assert standing(again.claims, Subject.BOUND, "peak") is Standing.REFUTED


def test_nothing_is_solved_again_where_something_is_wrong_or_no_proof_is_claimed() -> None:
    problem, plan = next(hard for seed in range(2000) if (hard := beyond_the_judge(Random(seed))) is not None)
    for other in (replace(plan, digest="0" * 64), Plan(status=Status.UNKNOWN)):
        verdict = judge(problem, other)
        assert recheck(problem, other, verdict, 60.0) == verdict


def test_solving_again_does_not_count_moves_from_another_plan_than_was_meant() -> None:
    pytest.importorskip("ortools", reason="the [cpsat] extra is not installed")
    sizes = {"a": 2, "b": 3, "c": 2}
    buffers = tuple(Buffer(id=name, size=size, lifetime=(0, 2)) for name, size in sizes.items())
    problem = Problem(version=1, buffers=buffers, objective=("peak", "moves"))
    hint = hinted({"a": 3, "b": 3, "c": 1})
    plan = engine.plan(problem, Options(hint=hint, solver="cpsat", time_limit=PATIENCE))
    assert plan.objective[1].bound > 0
    verdict = judge(problem, plan)
    again = recheck(problem, plan, verdict, 60.0)
    assert again.violations == ()
    assert standing(again.claims, Subject.BOUND, "moves") is Standing.CLAIMED
    known = recheck(problem, plan, judge(problem, plan, hint), 60.0, hint)
    assert standing(known.claims, Subject.BOUND, "moves") is Standing.CHECKED


def test_moves_are_not_counted_from_a_hint_that_places_a_buffer_twice() -> None:
    problem = Problem(version=1, buffers=[Buffer(id="a", size=2, lifetime=(0, 2))], objective=["moves"])
    hint = hinted({"a": 0})
    plan = engine.plan(problem, Options(hint=hint))
    twice = replace(hint, placements=(*hint.placements, *hint.placements))
    counted, claimed = (
        standing(judge(problem, plan, entry).claims, Subject.VALUE, "moves") for entry in (hint, twice)
    )
    assert (counted, claimed) == (Standing.CHECKED, Standing.CLAIMED)


def test_a_bound_that_holds_for_better_plans_says_nothing_of_worse_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All in fast memory takes least and costs most: that cost is no bound where more memory is taken."""
    pools = (Pool(id="fast", cost=3), Pool(id="slow"))
    buffers = tuple(
        Buffer(id=f"b{i}", size=4, lifetime=(i, i + 1), pools=("fast",) if i == 0 else None) for i in range(3)
    )
    problem = Problem(version=1, pools=pools, buffers=buffers, objective=("peak", "placement_cost"))
    apart = honest(
        problem,
        {"b0": ("fast", 0), "b1": ("fast", 0), "b2": ("slow", 0)},
        bounds={"placement_cost": 24},
    )
    together = honest(
        problem, {buffer.id: ("fast", 0) for buffer in buffers}, bounds={"peak": 4, "placement_cost": 36}
    )
    claim = Claim(Subject.BOUND, "placement_cost", "no plan has less", Standing.CLAIMED, "the plan")
    verdict = replace(judge(problem, together), claims=(claim,))
    monkeypatch.setattr(engine, "plan", lambda *_, **__: together)
    assert recheck(problem, apart, verdict) == verdict
    (checked,) = recheck(problem, together, verdict).claims
    assert checked.standing is Standing.CHECKED


def hinted(places: dict[str, int]) -> Plan:
    placements = tuple(Placement(buffer=name, pool="memory", offset=at) for name, at in places.items())
    return Plan(status=Status.FEASIBLE, placements=placements)


def test_what_is_tied_through_a_buffer_of_size_0_is_solved_again_with_it() -> None:
    problem = Problem(
        version=1,
        buffers=tuple(
            Buffer(id=name, size=size, lifetime=(0, 2)) for name, size in (("a", 5), ("z", 0), ("b", 3))
        ),
        relative=(
            Relative(buffer="z", base="a", offset=1),
            Relative(buffer="b", base="z", offset=3),
        ),
    )
    for name in ("a", "z", "b"):
        part = subproblem(problem, [name])
        assert part == problem
        assert engine_takes(part)


def pinned(name: str, offset: int, **more: Any) -> Buffer:
    fields: dict[str, Any] = {"id": name, "size": 4, "lifetime": (0, 2), "pool": "p", "offset": offset}
    return Buffer(**fields | more)


@pytest.mark.parametrize(
    ("buffers", "more"),
    [
        ((pinned("a", 0), pinned("b", 3)), {}),
        (
            (pinned("a", 0, lifetime=None), pinned("b", 3, lifetime=None)),
            {"conflicts": (("a", "b"),)},
        ),
        ((pinned("a", 0),), {"pools": (Pool(id="p", reserved=(Reserved(offset=3, size=1),)),)}),
        ((pinned("a", 0),), {"pools": (Pool(id="p", capacity=3),)}),
        ((pinned("a", 2, alignment=4),), {}),
        (
            (pinned("a", 0), pinned("b", 8)),
            {"relative": (Relative(buffer="b", base="a", offset=4),)},
        ),
        ((pinned("a", 0, pools=("q",)), pinned("b", 8)), {"pools": (Pool(id="p"), Pool(id="q"))}),
    ],
)
def test_pins_that_cannot_hold_are_no_layout_of_the_judges_own(
    buffers: tuple[Buffer, ...], more: dict[str, Any]
) -> None:
    fields: dict[str, Any] = {"version": 1, "buffers": buffers, "pools": (Pool(id="p"),)} | more
    problem = Problem(**fields)
    why = Explanation(code="no_layout", message="so it is", buffers=tuple(buffer.id for buffer in buffers))
    verdict = judge(problem, Plan(status=Status.INFEASIBLE, explanation=why))
    assert verdict.violations == ()
    assert [claim.standing for claim in verdict.claims] == [Standing.CLAIMED]


@pytest.mark.parametrize(
    ("tied", "names", "said"),
    [
        (False, ("a", "b"), "'a' is tied to no other buffer"),
        (False, (), "no buffers are tied together"),
        (True, ("a", "b"), "all of them may be in 'p'"),
        (True, (), "all of them may be in 'p'"),
    ],
)
def test_a_group_without_a_pool_is_one_that_is_there(tied: bool, names: tuple[str, ...], said: str) -> None:
    buffers = tuple(Buffer(id=name, size=4, lifetime=(0, 2)) for name in "ab")
    ties = (Relative(buffer="b", base="a", offset=4),) if tied else ()
    problem = Problem(buffers=buffers, pools=(Pool(id="p", capacity=6),), relative=ties)
    why = Explanation(code="group_pools", message="so it is", buffers=names)
    (wrong,) = judge(problem, Plan(status=Status.INFEASIBLE, explanation=why)).violations
    assert said in wrong.message


CHAIN = tuple(Buffer(id=f"b{i}", size=4, lifetime=(i, i + 2)) for i in range(3))
TWINS = tuple(Buffer(id=name, size=4, lifetime=(0, 2)) for name in "xy")


@pytest.mark.parametrize(
    ("buffers", "more", "least"),
    [
        (CHAIN, {}, 8),
        (CHAIN, {"pools": (Pool(id="p", reserved=(Reserved(offset=3, size=1),)),)}, 12),
        (CHAIN, {"pools": (Pool(id="p", reserved=(Reserved(offset=0, size=1),)),)}, 9),
        (TWINS, {"exclusive": (("x", "y"),)}, 4),
        (TWINS, {"exclusive": (("x", "y"),), "conflicts": (("x", "y"),)}, 8),
    ],
)
def test_a_bound_one_above_what_the_lowest_free_places_reach_is_refuted(
    buffers: tuple[Buffer, ...], more: dict[str, Any], least: int
) -> None:
    fields: dict[str, Any] = {"version": 1, "buffers": buffers, "pools": (Pool(id="p"),)} | more
    problem = Problem(**fields)
    places = {buffer.id: ("p", 100 + 10 * i) for i, buffer in enumerate(buffers)}
    for bound, expected in ((least, Standing.CLAIMED), (least + 1, Standing.REFUTED)):
        verdict = judge(problem, honest(problem, places, bounds={"peak": bound}))
        assert standing(verdict.claims, Subject.BOUND, "peak") is expected
        assert standing(verdict.claims, Subject.PLACES, None) is Standing.CHECKED


@pytest.mark.parametrize("offset", [4, -4, 6])
def test_a_bound_above_a_stack_is_refuted_where_there_is_time_for_nothing_else(
    monkeypatch: pytest.MonkeyPatch, offset: int
) -> None:
    buffers = tuple(
        Buffer(id=name, size=size, lifetime=lifetime)
        for name, size, lifetime in (
            ("a", 4, (0, 2)),
            ("b", 4, (2, 4)),
            ("none", 0, (0, 4)),
            ("c", 4, (2, 4)),
        )
    )
    ties = (Relative(buffer="b", base="c", offset=offset), Relative(buffer="none", base="c", offset=20))
    problem = Problem(buffers=buffers, pools=(Pool(id="p"),), relative=ties)
    places = {"a": ("p", 0), "b": ("p", 100 + offset), "c": ("p", 100), "none": ("p", 120)}
    stack = 8 + abs(offset)
    for steps, least in ((3, stack), (1000, stack - 4)):
        monkeypatch.setattr(refutation, "MOST_STEPS", steps)
        for bound, expected in ((least, Standing.CLAIMED), (least + 1, Standing.REFUTED)):
            verdict = judge(problem, honest(problem, places, bounds={"peak": bound}))
            assert standing(verdict.claims, Subject.BOUND, "peak") is expected


def test_the_problem_of_some_buffers_holds_their_groups_and_what_is_between_them() -> None:
    problem = next(p for seed in range(200) if (p := random_problem(Random(seed), 5)).relative)
    tie = problem.relative[0]
    alone = subproblem(problem, [tie.buffer])
    assert {tie.buffer, tie.base} <= {buffer.id for buffer in alone.buffers}
    assert tie in alone.relative
    assert engine_takes(alone)


def test_the_closest_attempt_is_a_claim() -> None:
    problem = replace(
        random_problem(Random(1)), pools=(replace(random_problem(Random(1)).pools[0], capacity=4),)
    )
    over = Overflow(pool=problem.pools[0].id, peak=9, capacity=4)
    verdict = judge(problem, Plan(status=Status.UNKNOWN, closest=(over,), version="1.2.3"))
    (claim,) = verdict.unchecked
    assert (claim.subject, claim.name, claim.standing_text) == (
        Subject.CLOSEST,
        over.pool,
        "claimed by memstow 1.2.3, not checked",
    )
