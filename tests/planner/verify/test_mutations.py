"""Whatever is changed in a good plan, the judge notices."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.model.digest import digest
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Problem
from memstow.planner.verify import Code, verify
from tests.campaign import gate_first
from tests.planner.plans import honest
from tests.problems import random_problem
from tests.referee import Places, breaks, judge


def solved(seed: int, count: int = 60) -> Iterator[tuple[Random, Problem, Plan, Places]]:
    """Problems with an optimal plan that the judge accepts."""
    rng = Random(seed)
    while count:
        problem = random_problem(rng)
        verdict = judge(problem)
        if verdict.places is None or verdict.vector is None:
            continue
        bounds = dict(zip(problem.terms(), verdict.vector, strict=True))
        plan = replace(honest(problem, verdict.places, bounds=bounds), digest=digest(problem))
        assert verify(problem, plan) == []
        yield rng, problem, plan, verdict.places
        count -= 1


def codes(problem: Problem, plan: Plan) -> set[Code]:
    return {issue.code for issue in verify(problem, plan)}


@pytest.mark.parametrize("seed", gate_first(range(5), 2))
def test_a_dropped_repeated_or_renamed_buffer_is_noticed(seed: int) -> None:
    for rng, problem, plan, _ in solved(seed):
        at = rng.randrange(len(plan.placements))
        before, placement, after = plan.placements[:at], plan.placements[at], plan.placements[at + 1 :]
        assert Code.MISSING in codes(problem, replace(plan, placements=(*before, *after))) or not (
            before or after
        )
        assert Code.REPEATED in codes(problem, replace(plan, placements=(placement, *plan.placements)))
        renamed = replace(
            plan, placements=(*before, replace(placement, buffer=placement.buffer + "'"), *after)
        )
        assert {Code.MISSING, Code.UNKNOWN_BUFFER} <= codes(problem, renamed)


def moved(plan: Plan, places: Places) -> Plan:
    """The same claims with other places."""
    placements = tuple(
        Placement(buffer=name, pool=pool, offset=offset) for name, (pool, offset) in places.items()
    )
    return replace(plan, placements=placements)


@pytest.mark.parametrize("seed", gate_first(range(5), 2))
def test_a_shift_a_swap_or_a_move_is_noticed_where_it_breaks_a_rule_or_a_figure(seed: int) -> None:
    noticed = 0
    for rng, problem, plan, places in solved(100 + seed):
        for changed in changes(rng, problem, places):
            violations = verify(problem, moved(plan, changed))
            truth = honest(problem, changed)
            broken = breaks(problem, changed)
            figures = [term.value for term in truth.objective] != [term.value for term in plan.objective]
            peaks = [pool.peak for pool in truth.pools] != [pool.peak for pool in plan.pools]
            if broken or figures or peaks:
                assert violations
                noticed += 1
            else:
                assert {violation.code for violation in violations} <= {Code.LIVE}
    assert noticed > 60


def changes(rng: Random, problem: Problem, places: Places) -> Iterator[Places]:
    """Shifted by one, shifted far, swapped, in another pool."""
    one, other = rng.choice(sorted(places)), rng.choice(sorted(places))
    pool, offset = places[one]
    yield places | {one: (pool, offset + 1)}
    yield places | {one: (pool, max(0, offset - 1))}
    yield places | {one: (pool, offset + rng.randint(2, 40))}
    yield places | {one: places[other], other: places[one]}
    yield places | {one: (rng.choice(problem.pools).id, offset)}


@pytest.mark.parametrize("seed", gate_first(range(5), 2))
def test_a_lie_about_any_figure_is_noticed(seed: int) -> None:
    for rng, problem, plan, _ in solved(200 + seed):
        for lie in lies(rng, plan):
            assert verify(problem, lie) != []


def lies(rng: Random, plan: Plan) -> Iterator[Plan]:
    by = rng.randint(1, 3)
    at = rng.randrange(len(plan.pools))

    def pools(**changes: object) -> Plan:
        use = replace(plan.pools[at], **changes)  # type: ignore[arg-type]
        return replace(plan, pools=(*plan.pools[:at], use, *plan.pools[at + 1 :]))

    use = plan.pools[at]
    yield pools(peak=use.peak + by)
    yield pools(capacity=by if use.capacity is None else use.capacity + by)
    yield pools(bound=use.peak + by)
    yield pools(live=replace(use.live, bytes=use.live.bytes + by))
    yield pools(pool=use.pool + "'")
    yield replace(plan, pools=plan.pools[1:])
    yield replace(plan, digest="0" * 64)
    for position, claim in enumerate(plan.objective):
        others = (plan.objective[:position], plan.objective[position + 1 :])
        for false in (
            replace(claim, value=claim.value + by),
            replace(claim, bound=claim.value + by),
            replace(claim, gap=0.25),
            replace(claim, term="max_peak" if claim.term != "max_peak" else "peak"),
        ):
            yield replace(plan, objective=(*others[0], false, *others[1]))
        if claim.bound:
            unproven = replace(claim, certificate=None)
            yield replace(plan, objective=(*others[0], unproven, *others[1]))
