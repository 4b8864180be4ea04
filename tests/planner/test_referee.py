"""The referee finds the optimum of hand-made problems, and the problems it gets are valid."""

from random import Random

from hypothesis import given

from memstow.planner.model import Status
from memstow.planner.model.problem import (
    Buffer,
    InPlace,
    Pool,
    Problem,
    Relative,
    Reserved,
    ReuseCost,
    allowed_pools,
)
from memstow.planner.verify import Code, verify
from tests.planner.plans import honest
from tests.problems import problems, random_problem
from tests.referee import best, judge


def problem(*buffers: Buffer, **more: object) -> Problem:
    return Problem(version=1, buffers=buffers, **more)  # type: ignore[arg-type]


A = Buffer(id="a", size=3, lifetime=(0, 2))
B = Buffer(id="b", size=2, lifetime=(1, 3))
C = Buffer(id="c", size=3, lifetime=(2, 4))


def test_buffers_that_never_meet_share_their_bytes() -> None:
    assert best(problem(A, B, C)) == (Status.OPTIMAL, (5,))


def test_the_best_height_can_be_above_the_live_bytes() -> None:
    """In a ring of five conflicts no three buffers conflict pairwise, but two bytes are too few."""
    ring = [Buffer(id=name, size=1) for name in "abcde"]
    conflicts = (("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "a"))
    assert best(problem(*ring, conflicts=conflicts)) == (Status.OPTIMAL, (3,))


def test_capacity_alignment_base_and_reserved_ranges_count() -> None:
    pool = Pool(id="p", alignment=2, base=1, reserved=(Reserved(offset=3, size=1),))
    # Addresses are odd offsets: 1 is too close to the reserved byte for three bytes.
    assert best(problem(A, pools=(pool,))) == (Status.OPTIMAL, (8,))
    full = Pool(id="p", alignment=2, base=1, reserved=(Reserved(offset=3, size=1),), capacity=7)
    assert best(problem(A, pools=(full,))) == (Status.INFEASIBLE, None)


def test_rigid_groups_keep_their_distance_and_may_overlap() -> None:
    relative = (Relative(buffer="b", base="a", offset=-1),)
    assert best(problem(A, B, relative=relative)) == (Status.OPTIMAL, (4,))
    assert best(problem(A, B, C, relative=relative)) == (Status.OPTIMAL, (5,))


def test_in_place_exclusive_and_listed_conflicts_count() -> None:
    assert best(problem(A, B, in_place=(InPlace(input="a", output="b"),))) == (Status.OPTIMAL, (3,))
    assert best(problem(A, B, exclusive=(("a", "b"),))) == (Status.OPTIMAL, (3,))
    assert best(problem(A, B, exclusive=(("a", "b"),), conflicts=(("b", "a"),))) == (Status.OPTIMAL, (5,))


def test_terms_are_lexicographic() -> None:
    pools = (Pool(id="near", capacity=4, cost=1), Pool(id="far", cost=2))
    assert best(problem(A, B, pools=pools)) == (Status.OPTIMAL, (3 + 4, 5))
    reuse = (ReuseCost(buffers=("a", "c"), cost=4),)
    first = problem(A, B, C, reuse_costs=reuse, objective=("reuse_cost", "peak"))
    assert best(first) == (Status.OPTIMAL, (0, 6 + 2))
    last = problem(A, B, C, reuse_costs=reuse, objective=("peak", "reuse_cost"))
    assert best(last) == (Status.OPTIMAL, (5, 4))


def test_moves_count_against_the_hint() -> None:
    hint = honest(problem(A, B), {"a": ("memory", 0), "b": ("memory", 2)})
    assert best(problem(A, B, objective=("moves", "peak")), hint) == (Status.OPTIMAL, (1, 5))


def test_pins_hold() -> None:
    pinned = Buffer(id="p", size=1, lifetime="always", pool="memory", offset=2)
    assert best(problem(pinned, A, B)) == (Status.OPTIMAL, (6,))


@given(problems())
def test_the_best_plan_is_accepted_by_the_judge(sample: Problem) -> None:
    verdict = judge(sample)
    if verdict.places is not None and verdict.vector is not None:
        bounds = dict(zip(sample.terms(), verdict.vector, strict=True))
        assert verify(sample, honest(sample, verdict.places, bounds=bounds)) == []


def test_the_problems_mix_every_feature_and_are_valid() -> None:
    seen: set[str] = set()
    for seed in range(400):
        sample = random_problem(Random(seed))
        assert Code.INVALID_PROBLEM not in {issue.code for issue in verify(sample, honest(sample, {}))}
        seen |= {
            name
            for name in ("conflicts", "exclusive", "relative", "in_place", "reuse_costs")
            if getattr(sample, name)
        }
        for buffer in sample.buffers:
            assert set(allowed_pools(sample, buffer)) <= {pool.id for pool in sample.pools}
            seen |= {
                name
                for name in ("lifetimes", "pools", "pool", "offset", "accesses")
                if getattr(buffer, name) is not None
            }
            seen.add("always" if buffer.lifetime == "always" else "sized" if buffer.size else "empty")
        seen |= {
            name
            for pool in sample.pools
            for name in ("capacity", "base", "reserved", "cost")
            if getattr(pool, name)
        }
        seen |= set(sample.terms()) & {"peak", "max_peak", "placement_cost", "reuse_cost", "peak:fast"}
    assert len(seen) == 5 + 5 + 3 + 4 + 5


def test_one_seed_gives_one_problem() -> None:
    assert random_problem(Random(7)) == random_problem(Random(7))
