"""The judge agrees with a pairwise check that could not be simpler, on places good and bad."""

from dataclasses import replace
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memstow.planner.model import Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import Buffer, Problem, Relative
from memstow.planner.verify import Code, verify
from tests.campaign import gate_first
from tests.planner.plans import honest
from tests.problems import problems, random_problem
from tests.referee import Places, breaks, judge

PAIRWISE = {Code.OVERLAP, Code.IN_PLACE}


def overlapping_pairs(problem: Problem, places: Places) -> set[frozenset[str]]:
    """Pairs that share bytes against the rules: every pair, every moment, every byte."""
    conflicts = {frozenset(pair) for pair in problem.conflicts}
    exclusive = {frozenset(pair) for pair in problem.exclusive}
    in_place = {frozenset((pair.input, pair.output)) for pair in problem.in_place}
    group = {buffer.id: buffer.id for buffer in problem.buffers}
    for entry in problem.relative:
        old, new = group[entry.buffer], group[entry.base]
        group = {name: new if entry == old else entry for name, entry in group.items()}
    wrong = set()
    for one, other in combinations(problem.buffers, 2):
        pair = frozenset((one.id, other.id))
        live = any(alive(one, time) and alive(other, time) for time in range(-2, 12))
        if not (pair in conflicts or (live and pair not in exclusive)) or group[one.id] == group[other.id]:
            continue
        if pair in in_place and places[one.id] == places[other.id]:
            continue
        if bytes_of(one, places) & bytes_of(other, places):
            wrong.add(pair)
    return wrong


def alive(buffer: Buffer, time: int) -> bool:
    if buffer.lifetime == "always":
        return True
    ranges = [buffer.lifetime] if buffer.lifetime is not None else buffer.lifetimes or ()
    return any(begin <= time < end for begin, end in ranges)


def bytes_of(buffer: Buffer, places: Places) -> set[tuple[str, int]]:
    pool, offset = places[buffer.id]
    return {(pool, byte) for byte in range(offset, offset + buffer.size)}


def somewhere(rng: Random, problem: Problem, height: int) -> Places:
    return {buffer.id: (rng.choice(problem.pools).id, rng.randrange(height)) for buffer in problem.buffers}


@pytest.mark.parametrize("seed", gate_first(range(20), 6))
def test_the_pairs_reported_are_those_that_overlap(seed: int) -> None:
    rng = Random(seed)
    for _ in range(150):
        problem = random_problem(rng, most_buffers=9)
        places = somewhere(rng, problem, rng.choice((3, 8, 20)))
        violations = verify(problem, honest(problem, places))
        reported = [frozenset(violation.buffers) for violation in violations if violation.code in PAIRWISE]
        assert len(reported) == len(set(reported))
        assert set(reported) == overlapping_pairs(problem, places)


@pytest.mark.parametrize("seed", gate_first(range(10), 4))
def test_places_are_accepted_if_and_only_if_the_referee_accepts_them(seed: int) -> None:
    rng = Random(1000 + seed)
    accepted = 0
    for _ in range(150):
        problem = random_problem(rng)
        places = judge(problem).places
        if places is None:
            continue
        nudged = dict(places)
        for name in rng.sample(sorted(places), rng.randint(0, min(2, len(places)))):
            nudged[name] = (rng.choice(problem.pools).id, max(0, places[name][1] + rng.randint(-3, 3)))
        violations = verify(problem, honest(problem, nudged))
        assert bool(violations) == breaks(problem, nudged), violations
        accepted += not violations
    assert accepted > 20


@given(problems(), st.randoms(use_true_random=False))
def test_whatever_the_places_the_judge_agrees_with_the_referee(problem: Problem, rng: Random) -> None:
    places = somewhere(rng, problem, 12)
    assert bool(verify(problem, honest(problem, places))) == breaks(problem, places)


@pytest.mark.parametrize("seed", gate_first(range(5), 2))
def test_many_live_buffers_on_few_bytes_are_judged_like_few(seed: int) -> None:
    """Deep overlaps of exclusive and grouped buffers, of which the judge must name the few that are wrong."""
    rng = Random(seed)
    names = [f"b{i}" for i in range(60)]
    buffers = tuple(
        Buffer(
            id=name, size=rng.randint(1, 6), lifetime=(begin := rng.randint(0, 5), begin + rng.randint(1, 4))
        )
        for name in names
    )
    grouped = names[:20]
    problem = Problem(
        version=1,
        buffers=buffers,
        relative=tuple(Relative(buffer=name, base=grouped[0], offset=0) for name in grouped[1:]),
        exclusive=tuple(pair for pair in combinations(names, 2) if rng.random() < 0.97),
    )
    places = {name: ("memory", 0 if name in grouped else rng.randrange(8)) for name in names}
    violations = verify(problem, honest(problem, places))
    assert {frozenset(violation.buffers) for violation in violations} == overlapping_pairs(problem, places)


@given(problems(), st.data())
def test_no_plan_however_odd_makes_the_judge_raise(problem: Problem, data: st.DataObject) -> None:
    names = [buffer.id for buffer in problem.buffers] + ["ghost"]
    placements = data.draw(
        st.lists(
            st.builds(
                Placement,
                buffer=st.sampled_from(names),
                pool=st.sampled_from([*(pool.id for pool in problem.pools), "moon"]),
                offset=st.integers(0, 1 << 62),
            )
        )
    )
    plan = Plan(status=data.draw(st.sampled_from(Status)), placements=tuple(placements))
    other = honest(problem, dict.fromkeys(names[:-1], ("fast", 0)))
    for mixed in (plan, replace(other, placements=plan.placements), replace(other, status=plan.status)):
        for violation in verify(problem, mixed):
            assert str(violation)
