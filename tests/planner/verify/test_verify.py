"""The judge lists every kind of violation, and nothing else."""

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest

from memstow.planner.model import Status
from memstow.planner.model.digest import digest
from memstow.planner.model.plan import Explanation, Live, LiveBytes, Overflow, Placement, Plan, PoolUse
from memstow.planner.model.problem import LIMIT, Buffer, InPlace, Pool, Problem, Relative, Reserved, ReuseCost
from memstow.planner.verify import Code, Violation, verify
from memstow.planner.verify.verdict import LISTED
from tests.planner.plans import honest

# Two pools. `a`, `b` and `c` meet at time 1; `d` comes later.
POOLS = (
    Pool(id="fast", capacity=32, alignment=4, reserved=(Reserved(offset=24, size=4),), base=64, cost=1),
    Pool(id="slow", cost=3),
)
BUFFERS = (
    Buffer(id="a", size=8, lifetime=(0, 2), pools=("fast",)),
    Buffer(id="b", size=4, lifetime=(1, 3), alignment=8),
    Buffer(id="c", size=4, lifetimes=((1, 2), (4, 5))),
    Buffer(id="d", size=8, lifetime=(2, 4), pool="fast", offset=0),
    Buffer(id="empty", size=0, lifetime="always", alignment=16),
)
PROBLEM = Problem(version=1, pools=POOLS, buffers=BUFFERS)
PLACES = {
    "a": ("fast", 0),
    "b": ("fast", 8),
    "c": ("fast", 12),
    "d": ("fast", 0),
    "empty": ("fast", 0),
}


def codes(violations: list[Violation]) -> set[Code]:
    return {violation.code for violation in violations}


def places_with(**changes: tuple[str, int]) -> dict[str, tuple[str, int]]:
    return PLACES | changes


def problem_with(**changes: Any) -> Problem:
    return replace(PROBLEM, **changes)


def buffer_with(name: str, **changes: Any) -> Problem:
    return problem_with(
        buffers=tuple(replace(buffer, **changes) if buffer.id == name else buffer for buffer in BUFFERS)
    )


def found(problem: Problem, places: dict[str, tuple[str, int]]) -> set[Code]:
    """What is wrong with these places, all figures being true."""
    return codes(verify(problem, honest(problem, places)))


def small(*buffers: Buffer, **more: Any) -> Problem:
    return Problem(version=1, buffers=buffers, **more)


def at(**offsets: int) -> dict[str, tuple[str, int]]:
    return {name: ("memory", offset) for name, offset in offsets.items()}


def test_a_good_plan_has_no_violations() -> None:
    assert verify(PROBLEM, honest(PROBLEM, PLACES)) == []


def test_a_problem_without_buffers_has_an_empty_optimal_plan() -> None:
    problem = Problem(version=1, buffers=())
    assert verify(problem, honest(problem, {})) == []


# Places


def test_a_missing_buffer_is_named() -> None:
    plan = honest(PROBLEM, {name: place for name, place in PLACES.items() if name != "b"})
    assert [(issue.code, issue.buffers) for issue in verify(PROBLEM, plan)] == [(Code.MISSING, ("b",))]


def test_an_unknown_buffer_is_named() -> None:
    plan = honest(PROBLEM, PLACES)
    more = Placement(buffer="ghost", pool="slow", offset=0)
    violations = verify(PROBLEM, replace(plan, placements=(*plan.placements, more)))
    assert [(violation.code, violation.buffers) for violation in violations] == [
        (Code.UNKNOWN_BUFFER, ("ghost",))
    ]


def test_a_repeated_buffer_is_named_even_where_both_places_agree() -> None:
    plan = honest(PROBLEM, PLACES)
    violations = verify(PROBLEM, replace(plan, placements=(*plan.placements, plan.placements[0])))
    assert [(violation.code, violation.buffers) for violation in violations] == [(Code.REPEATED, ("a",))]


def test_an_unknown_pool_is_named() -> None:
    plan = honest(PROBLEM, places_with(c=("fast", 12)))
    moved = tuple(
        replace(placement, pool="moon") if placement.buffer == "empty" else placement
        for placement in plan.placements
    )
    violations = verify(PROBLEM, replace(plan, placements=moved))
    assert [(violation.code, violation.pool) for violation in violations] == [(Code.UNKNOWN_POOL, "moon")]


def test_a_buffer_may_only_be_in_its_allowed_pools() -> None:
    assert found(PROBLEM, places_with(a=("slow", 0))) == {Code.POOL_NOT_ALLOWED}


def test_a_pinned_buffer_may_only_be_in_its_pool_and_at_its_offset() -> None:
    assert found(PROBLEM, places_with(d=("slow", 0))) == {Code.PINNED_POOL}
    assert found(PROBLEM, places_with(d=("fast", 16))) == {Code.PINNED_OFFSET}
    assert found(PROBLEM, places_with(d=("slow", 16))) == {Code.PINNED_POOL, Code.PINNED_OFFSET}


def test_alignment_is_the_common_multiple_of_buffer_and_pool() -> None:
    problem = buffer_with("c", alignment=6)
    assert found(problem, places_with(c=("fast", 12))) == {Code.MISALIGNED}
    # The base is 64: 64 + 20 is a multiple of 12.
    assert found(problem, places_with(c=("fast", 20))) == set()


def test_alignment_holds_for_the_address_not_for_the_offset() -> None:
    problem = problem_with(pools=(replace(POOLS[0], base=4), POOLS[1]))
    assert found(problem, PLACES) == {Code.MISALIGNED}
    assert found(problem, places_with(b=("fast", 12), c=("fast", 8), empty=("fast", 12))) == set()


def test_a_buffer_must_end_within_its_pool() -> None:
    assert found(PROBLEM, places_with(c=("fast", 28))) == set()
    assert found(PROBLEM, places_with(c=("fast", 32))) == {Code.BEYOND_CAPACITY}


def test_no_buffer_may_end_beyond_the_limit_of_an_unbounded_pool() -> None:
    problem = small(Buffer(id="a", size=2, lifetime=(0, 1)))
    plan = honest(problem, at(a=0))
    for offset, expected in ((LIMIT - 2, set()), (LIMIT - 1, {Code.BEYOND_CAPACITY})):
        moved = replace(plan, placements=(Placement(buffer="a", pool="memory", offset=offset),))
        assert codes(verify(problem, moved)) - {Code.PEAK, Code.VALUE} == expected


@pytest.mark.parametrize("offset", [20, 24])
def test_no_buffer_may_be_on_a_reserved_range(offset: int) -> None:
    problem = buffer_with("c", size=8)
    assert found(problem, places_with(c=("fast", offset))) >= {Code.RESERVED}


def test_a_buffer_may_touch_a_reserved_range() -> None:
    assert found(PROBLEM, places_with(c=("fast", 20))) == set()


def test_a_buffer_without_a_size_needs_only_an_aligned_offset_in_an_allowed_pool() -> None:
    assert found(PROBLEM, places_with(empty=("fast", 32))) == set()
    assert found(PROBLEM, places_with(empty=("slow", 16))) == set()
    assert found(PROBLEM, places_with(empty=("fast", 48))) == {Code.BEYOND_CAPACITY}
    assert found(PROBLEM, places_with(empty=("fast", 8))) == {Code.MISALIGNED}
    reserved = problem_with(pools=(replace(POOLS[0], reserved=(Reserved(offset=16, size=8),)), POOLS[1]))
    assert found(reserved, places_with(empty=("fast", 16))) == set()


# Conflicts


def test_buffers_that_live_together_may_not_share_a_byte() -> None:
    violations = verify(PROBLEM, honest(PROBLEM, places_with(c=("fast", 8))))
    assert [(violation.code, violation.buffers, violation.pool) for violation in violations] == [
        (Code.OVERLAP, ("b", "c"), "fast")
    ]


def test_every_range_of_a_life_counts() -> None:
    late = Buffer(id="late", size=4, lifetime=(4, 5), pools=("fast",))
    problem = problem_with(buffers=(*BUFFERS, late))
    assert found(problem, places_with(late=("fast", 12))) == {Code.OVERLAP}
    assert found(problem, places_with(late=("fast", 0))) == set()


def test_lives_are_half_open() -> None:
    problem = small(Buffer(id="a", size=4, lifetime=(0, 2)), Buffer(id="b", size=4, lifetime=(2, 3)))
    assert found(problem, at(a=0, b=0)) == set()


def test_overlapping_ranges_of_one_buffer_are_their_union() -> None:
    problem = small(Buffer(id="a", size=4, lifetimes=((0, 3), (1, 2), (3, 5), (2, 4))))
    assert found(problem, at(a=0)) == set()


@pytest.mark.parametrize("other", [(0, 1), (7, 9), "always"])
def test_always_conflicts_with_everything_that_has_a_lifetime(other: Any) -> None:
    problem = small(Buffer(id="a", size=4, lifetime="always"), Buffer(id="b", size=4, lifetime=other))
    assert found(problem, at(a=0, b=2)) == {Code.OVERLAP}


def test_a_buffer_without_lifetime_has_only_the_conflicts_listed() -> None:
    buffers = (Buffer(id="a", size=4, lifetime="always"), Buffer(id="b", size=4))
    assert found(small(*buffers), at(a=0, b=2)) == set()
    assert found(small(*buffers, conflicts=(("b", "a"),)), at(a=0, b=2)) == {Code.OVERLAP}
    assert found(small(*buffers, conflicts=(("b", "a"),)), at(a=0, b=4)) == set()


def test_conflicting_buffers_may_share_offsets_of_different_pools() -> None:
    problem = problem_with(conflicts=(("a", "c"),))
    assert found(problem, places_with(c=("slow", 0))) == set()


def test_exclusive_buffers_may_overlap_unless_listed_as_conflict() -> None:
    pair = ("c", "b")
    overlapping = places_with(c=("fast", 8))
    assert found(problem_with(exclusive=(pair,)), overlapping) == set()
    assert found(problem_with(exclusive=(pair,), conflicts=(("b", "c"),)), overlapping) == {Code.OVERLAP}


def test_in_place_lifts_a_conflict_only_at_equal_offsets() -> None:
    for pair in (InPlace(input="b", output="c"), InPlace(input="c", output="b")):
        problem = problem_with(
            in_place=(pair,), buffers=tuple(replace(buffer, alignment=1) for buffer in BUFFERS)
        )
        assert found(problem, places_with(b=("fast", 8), c=("fast", 8))) == set()
        assert found(problem, places_with(b=("slow", 8), c=("slow", 9))) == {Code.IN_PLACE}


def test_in_place_lifts_a_listed_conflict_too() -> None:
    problem = problem_with(in_place=(InPlace(input="b", output="c"),), conflicts=(("b", "c"),))
    assert found(problem, places_with(c=("fast", 8))) == set()


def test_a_pair_is_reported_once_however_often_it_meets() -> None:
    lives = ((0, 2), (4, 6), (8, 9))
    problem = small(
        Buffer(id="a", size=4, lifetimes=lives),
        Buffer(id="b", size=4, lifetimes=lives),
        conflicts=(("a", "b"),),
    )
    assert len(verify(problem, honest(problem, at(a=0, b=3)))) == 1


def test_members_of_a_rigid_group_may_overlap_each_other_but_no_outsider() -> None:
    buffers = (
        Buffer(id="whole", size=8, lifetime=(0, 4)),
        Buffer(id="part", size=2, lifetime=(1, 5)),
        Buffer(id="other", size=2, lifetime=(4, 5)),
    )
    problem = small(*buffers, relative=(Relative(buffer="part", base="whole", offset=2),))
    assert found(problem, at(whole=0, part=2, other=0)) == set()
    assert found(problem, at(whole=0, part=2, other=4)) == set()
    assert found(problem, at(whole=0, part=2, other=3)) == {Code.OVERLAP}


def test_the_distance_of_relative_buffers_is_fixed_and_their_pool_the_same() -> None:
    relative = (Relative(buffer="c", base="b", offset=4),)
    problem = problem_with(
        relative=relative, buffers=tuple(replace(buffer, alignment=1) for buffer in BUFFERS)
    )
    assert found(problem, PLACES) == set()
    assert found(problem, places_with(c=("fast", 16))) == {Code.RELATIVE_DISTANCE}
    assert found(problem, places_with(c=("slow", 12))) == {Code.RELATIVE_POOL}


def test_a_buffer_without_bytes_passes_distances_on_and_keeps_none_itself() -> None:
    relative = (Relative(buffer="c", base="empty", offset=4), Relative(buffer="empty", base="b", offset=0))
    problem = problem_with(
        relative=relative, buffers=tuple(replace(buffer, alignment=1) for buffer in BUFFERS)
    )
    for place in (("fast", 8), ("fast", 0), ("slow", 100)):
        assert found(problem, places_with(empty=place)) == set()
        assert found(problem, places_with(empty=place, c=("fast", 16))) == {Code.RELATIVE_DISTANCE}


def test_one_place_can_break_many_rules_and_all_are_listed() -> None:
    assert found(PROBLEM, places_with(b=("fast", 4), c=("slow", 1), d=("fast", 30))) == {
        Code.MISALIGNED,
        Code.OVERLAP,
        Code.PINNED_OFFSET,
        Code.BEYOND_CAPACITY,
    }


def test_a_plan_with_many_violations_lists_some_and_counts_the_rest() -> None:
    count = 10 * LISTED
    problem = small(*(Buffer(id=f"b{i}", size=8, lifetime=(0, 9), alignment=8) for i in range(count)))
    plan = honest(problem, {f"b{i}": ("memory", 1) for i in range(count)})
    violations = verify(problem, plan)
    misaligned = [violation for violation in violations if violation.code is Code.MISALIGNED]
    overlaps = [violation for violation in violations if violation.code is Code.OVERLAP]
    assert len(misaligned) == len(overlaps) == LISTED + 1
    assert misaligned[-1].message == f"and {count - LISTED} more"
    assert "more" in overlaps[-1].message


# Status


def test_a_plan_for_another_problem_is_refused() -> None:
    plan = honest(PROBLEM, PLACES)
    assert verify(PROBLEM, replace(plan, digest=digest(PROBLEM))) == []
    other = digest(problem_with(conflicts=(("a", "b"),)))
    assert codes(verify(PROBLEM, replace(plan, digest=other))) == {Code.DIGEST}


def test_a_problem_that_contradicts_itself_has_no_plan() -> None:
    for problem in (
        problem_with(conflicts=(("a", "ghost"),)),
        problem_with(relative=(Relative(buffer="a", base="a", offset=0),)),
        problem_with(buffers=(*BUFFERS, BUFFERS[0])),
        problem_with(objective=("speed",)),
        problem_with(
            relative=(
                Relative(buffer="a", base="b", offset=0),
                Relative(buffer="b", base="a", offset=4),
            )
        ),
        buffer_with("a", pools=("moon",)),
        buffer_with("b", offset=8),
        buffer_with("c", lifetime=(0, 1)),
    ):
        assert codes(verify(problem, honest(PROBLEM, PLACES))) == {Code.INVALID_PROBLEM}


def test_the_status_is_optimal_if_and_only_if_everything_is_proven() -> None:
    plan = honest(PROBLEM, PLACES)
    assert plan.status is Status.FEASIBLE
    assert codes(verify(PROBLEM, replace(plan, status=Status.OPTIMAL))) == {Code.STATUS}
    proven = honest(PROBLEM, PLACES, bounds={term.term: term.value for term in plan.objective})
    assert verify(PROBLEM, proven) == []
    assert codes(verify(PROBLEM, replace(proven, status=Status.FEASIBLE))) == {Code.STATUS}


def test_an_empty_objective_makes_every_plan_optimal() -> None:
    problem = problem_with(objective=())
    plan = honest(problem, PLACES)
    assert plan.status is Status.OPTIMAL
    assert verify(problem, plan) == []


def test_a_bare_layout_is_judged_by_its_places_alone() -> None:
    plan = honest(PROBLEM, PLACES)
    bare = Plan(status=Status.FEASIBLE, placements=plan.placements)
    assert verify(PROBLEM, bare) == []
    assert codes(verify(PROBLEM, replace(bare, placements=bare.placements[1:]))) == {Code.MISSING}
    assert codes(verify(PROBLEM, replace(bare, placements=()))) == {Code.MISSING}
    assert Code.OVERLAP in codes(
        verify(PROBLEM, replace(bare, placements=honest(PROBLEM, places_with(c=("fast", 8))).placements))
    )


def test_a_plan_that_makes_any_claim_is_no_bare_layout() -> None:
    plan = honest(PROBLEM, PLACES)
    bare = Plan(status=Status.FEASIBLE, placements=plan.placements)
    for claim in ({"pools": plan.pools}, {"objective": plan.objective}, {"digest": digest(PROBLEM)}):
        assert verify(PROBLEM, replace(bare, **claim)) != []


def test_a_plan_has_placements_if_and_only_if_its_status_says_so() -> None:
    plan = honest(PROBLEM, PLACES)
    assert Code.STATUS in codes(verify(PROBLEM, replace(plan, placements=())))
    for status in (Status.UNKNOWN, Status.INFEASIBLE):
        assert Code.STATUS in codes(verify(PROBLEM, replace(plan, status=status)))


def infeasible(**changes: Any) -> Plan:
    why = {"code": "too_large", "message": "40 bytes do not fit"} | changes
    return Plan(status=Status.INFEASIBLE, explanation=Explanation(**why))


def test_infeasible_needs_an_explanation_in_names_of_the_problem() -> None:
    assert verify(CROWDED, infeasible(pool="memory", needed=40, capacity=20, buffers=("a", "b", "d"))) == []
    assert verify(CROWDED, infeasible(pool="memory", needed=21, reserved=4, capacity=20)) == []
    for plan in (
        Plan(status=Status.INFEASIBLE),
        infeasible(message=""),
        infeasible(buffers=("ghost",)),
        infeasible(pool="moon"),
        infeasible(pool="memory", capacity=19),
        infeasible(pool="memory", reserved=3),
        infeasible(pool="memory", needed=20, reserved=4, capacity=20),
    ):
        assert codes(verify(CROWDED, plan)) == {Code.EXPLANATION}


def crowded(**changes: Any) -> Plan:
    """Infeasible, since `a`, `b` and `d` meet at time 2 in one pool of 20 bytes, 4 of them reserved."""
    why = {
        "pool": "memory",
        "time": 2,
        "needed": 28,
        "capacity": 20,
        "reserved": 4,
        "buffers": ("a", "b", "d"),
    }
    return infeasible(**({"code": "over_capacity"} | why | changes))


CROWDED = small(
    Buffer(id="a", size=8, lifetime=(0, 3)),
    Buffer(id="b", size=8, lifetime=(1, 3)),
    Buffer(id="c", size=8, lifetime=(0, 1)),
    Buffer(id="d", size=8, lifetime=(2, 4)),
    pools=(
        Pool(id="memory", capacity=20, reserved=(Reserved(offset=0, size=3), Reserved(offset=1, size=3))),
    ),
)


def test_what_the_explanation_says_is_needed_is_counted_again() -> None:
    assert verify(CROWDED, crowded()) == []
    assert verify(CROWDED, crowded(reserved=None, capacity=None, needed=None)) == []
    for lie in (
        crowded(needed=29),
        crowded(reserved=6),
        crowded(capacity=24, needed=30),
        crowded(time=1),
        crowded(buffers=("a", "b")),
        crowded(buffers=("a", "b", "c")),
        crowded(buffers=()),
    ):
        assert codes(verify(CROWDED, lie)) == {Code.EXPLANATION}


def test_an_explanation_may_count_over_several_pools() -> None:
    pools = (Pool(id="one", capacity=12), Pool(id="two", capacity=8))
    problem = replace(CROWDED, pools=pools)
    together = crowded(pool=None, needed=24, capacity=20, reserved=0)
    assert verify(problem, together) == []
    lies: list[dict[str, Any]] = [{"needed": 25}, {"capacity": 19}, {"reserved": 1}, {"needed": 20}]
    for lie in lies:
        what = {"pool": None, "needed": 24, "capacity": 20, "reserved": 0} | lie
        assert codes(verify(problem, crowded(**what))) == {Code.EXPLANATION}
    roomy = replace(CROWDED, pools=(pools[0], Pool(id="two", capacity=16)))
    assert codes(verify(roomy, together)) == {Code.EXPLANATION}
    assert codes(verify(problem, crowded(pool="one", capacity=12, reserved=0))) == {Code.EXPLANATION}


@pytest.mark.parametrize("said", [{"time": 9}, {"needed": 99}])
def test_that_a_buffer_has_no_place_is_not_of_a_time_or_an_amount(said: dict[str, Any]) -> None:
    """Nothing that is called checked says more than what was counted."""
    narrow = replace(CROWDED, pools=(Pool(id="memory", capacity=7),))
    plan = infeasible(code="no_place", pool="memory", buffers=("a",))
    assert verify(narrow, plan) == []
    assert plan.explanation is not None
    more = replace(plan, explanation=replace(plan.explanation, **said))
    assert [issue.code for issue in verify(narrow, more)] == [Code.EXPLANATION]


def test_a_buffer_said_to_have_no_place_has_none_even_alone() -> None:
    plan = infeasible(code="no_place", pool="memory", buffers=("a",))
    assert codes(verify(CROWDED, plan)) == {Code.EXPLANATION}
    narrow = replace(CROWDED, pools=(Pool(id="memory", capacity=7),))
    assert verify(narrow, plan) == []


def test_where_there_is_no_plan_no_pool_is_used() -> None:
    pools = honest(PROBLEM, PLACES).pools
    assert Code.STATUS in codes(verify(PROBLEM, replace(infeasible(), pools=pools)))


def test_a_bound_of_a_pool_that_the_objective_says_nothing_of_needs_a_proof_of_its_own() -> None:
    problem = replace(
        small(
            Buffer(id="a", size=8, lifetime=(0, 2), pools=("p",)),
            Buffer(id="b", size=4, lifetime=(1, 3), pools=("p",)),
            Buffer(id="c", size=2, lifetime=(1, 3)),
        ),
        pools=(Pool(id="p"), Pool(id="q")),
        objective=("placement_cost",),
    )
    plan = honest(problem, {"a": ("p", 0), "b": ("p", 8), "c": ("p", 12)})
    assert verify(problem, plan) == []

    def claimed(bound: int, *buffers: str) -> set[Code]:
        proof = LiveBytes(pool="p", time=1, buffers=buffers) if buffers else None
        use = replace(plan.pools[0], bound=bound, certificate=proof)
        return codes(verify(problem, replace(plan, pools=(use, plan.pools[1]))))

    assert claimed(12, "a", "b") == set()
    assert claimed(12) == {Code.UNCERTIFIED}
    assert claimed(13, "a", "b") == {Code.CERTIFICATE}
    assert claimed(14, "a", "b", "c") == {Code.CERTIFICATE}, "c may be elsewhere"


def test_a_pool_has_no_better_bound_than_the_term_that_is_its_peak() -> None:
    problem = small(Buffer(id="a", size=8, lifetime=(0, 2)), Buffer(id="b", size=8, lifetime=(1, 3)))
    plan = honest(problem, at(a=0, b=12), bounds={"peak": 16})
    assert verify(problem, plan) == []
    for bound, expected in ((16, set()), (17, {Code.POOL_BOUND})):
        claimed = replace(plan, pools=(replace(plan.pools[0], bound=bound),))
        assert codes(verify(problem, claimed)) == expected


def test_a_plan_that_fits_explains_nothing_and_has_no_closest_attempt() -> None:
    plan = honest(PROBLEM, PLACES)
    assert codes(verify(PROBLEM, replace(plan, explanation=infeasible().explanation))) == {Code.EXPLANATION}
    closest = (Overflow(pool="fast", peak=33, capacity=32),)
    assert codes(verify(PROBLEM, replace(plan, closest=closest))) == {Code.CLOSEST}


def test_the_closest_attempt_overflows_pools_of_the_problem() -> None:
    good = Overflow(pool="fast", peak=33, capacity=32)
    assert verify(PROBLEM, Plan(status=Status.UNKNOWN, closest=(good,))) == []
    for closest in (
        (replace(good, pool="moon"),),
        (replace(good, peak=32),),
        (replace(good, capacity=30),),
        (replace(good, pool="slow"),),
        (good, good),
    ):
        assert codes(verify(PROBLEM, Plan(status=Status.UNKNOWN, closest=closest))) == {Code.CLOSEST}


# Claimed figures


def claiming(**changes: Any) -> Plan:
    """A good plan with another claim about the first pool."""
    plan = honest(PROBLEM, PLACES)
    return replace(plan, pools=(replace(plan.pools[0], **changes), plan.pools[1]))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"capacity": 31}, Code.CAPACITY),
        ({"capacity": None}, Code.CAPACITY),
        ({"peak": 15}, Code.PEAK),
        ({"peak": 17}, Code.PEAK),
        ({"bound": 17}, Code.POOL_BOUND),
        ({"live": Live(bytes=15, time=1)}, Code.LIVE),
        ({"live": Live(bytes=16, time=0)}, Code.LIVE),
        ({"live": Live(bytes=17, time=1)}, Code.LIVE),
        ({"live": Live(bytes=17, time=None)}, Code.LIVE),
        ({"live": Live(bytes=15, time=None)}, Code.LIVE),
        ({"pool": "moon"}, Code.POOL_USE),
        ({"pool": "slow"}, Code.POOL_USE),
    ],
)
def test_a_false_claim_about_a_pool_is_refused(changes: dict[str, Any], code: Code) -> None:
    assert code in codes(verify(PROBLEM, claiming(**changes)))


def test_every_pool_is_reported_once() -> None:
    plan = honest(PROBLEM, PLACES)
    assert codes(verify(PROBLEM, replace(plan, pools=plan.pools[:1]))) == {Code.POOL_USE}
    assert codes(verify(PROBLEM, replace(plan, pools=plan.pools * 2))) == {Code.POOL_USE}


def test_bytes_that_several_buffers_share_are_live_once() -> None:
    problem = problem_with(in_place=(InPlace(input="b", output="c"),))
    plan = honest(problem, places_with(c=("fast", 8)))
    assert plan.pools[0].live.bytes == 12
    assert verify(problem, plan) == []
    counted_twice = replace(plan.pools[0], live=Live(bytes=16, time=1))
    assert codes(verify(problem, replace(plan, pools=(counted_twice, plan.pools[1])))) == {Code.LIVE}


def test_what_has_no_lifetime_is_not_live() -> None:
    problem = small(Buffer(id="a", size=4), Buffer(id="b", size=4), conflicts=(("a", "b"),))
    plan = honest(problem, at(a=0, b=4))
    for live, expected in (
        (Live(bytes=0, time=None), set()),
        (Live(bytes=8, time=None), {Code.LIVE}),
        (Live(bytes=0, time=0), {Code.LIVE}),
    ):
        use = PoolUse(pool="memory", capacity=None, peak=8, bound=0, live=live)
        assert codes(verify(problem, replace(plan, pools=(use,)))) == expected


@pytest.mark.parametrize("shared", [False, True])
def test_of_several_moments_with_as_many_live_bytes_the_first_is_named(shared: bool) -> None:
    again = [Buffer(id=f"b{t}", size=4, lifetime=(t, t + 1)) for t in (-2, 0, 3)]
    more = [Buffer(id="twin", size=4, lifetime=(0, 1))] if shared else []
    problem = small(
        *again, Buffer(id="w", size=1, lifetime=(-5, 9)), *more, exclusive=(("b0", "twin"),) if shared else ()
    )
    plan = honest(problem, at(**{entry.id: 1 for entry in (*again, *more)}, w=0))
    assert plan.pools[0].live == Live(bytes=5, time=-2)
    assert verify(problem, plan) == []
    for time in (-5, -1, 0, 3, None):
        use = replace(plan.pools[0], live=Live(bytes=5, time=time))
        assert codes(verify(problem, replace(plan, pools=(use,)))) == {Code.LIVE}


def term_with(position: int, **changes: Any) -> Plan:
    """A good plan with another claim about one term."""
    plan = honest(PROBLEM, PLACES)
    claims = list(plan.objective)
    claims[position] = replace(claims[position], **changes)
    return replace(plan, objective=tuple(claims))


@pytest.mark.parametrize("position", [0, 1])
def test_a_false_claim_about_a_term_is_refused(position: int) -> None:
    value = honest(PROBLEM, PLACES).objective[position].value
    assert Code.VALUE in codes(verify(PROBLEM, term_with(position, value=value + 1)))
    assert Code.VALUE in codes(verify(PROBLEM, term_with(position, value=value - 1)))
    assert Code.BOUND in codes(verify(PROBLEM, term_with(position, bound=value + 1, gap=0.0)))
    assert codes(verify(PROBLEM, term_with(position, gap=0.5))) == {Code.GAP}
    assert codes(verify(PROBLEM, term_with(position, bound=1, gap=(value - 1) / value))) == {Code.UNCERTIFIED}


def test_the_terms_are_those_of_the_problem_in_their_order() -> None:
    plan = honest(PROBLEM, PLACES)
    for objective in (plan.objective[:1], plan.objective[::-1], (), plan.objective * 2):
        assert Code.TERMS in codes(verify(PROBLEM, replace(plan, objective=objective)))


def test_all_terms_are_counted() -> None:
    terms = ("peak", "max_peak", "peak:slow", "placement_cost", "reuse_cost")
    reuse = tuple(
        ReuseCost(buffers=pair, cost=cost)
        for pair, cost in ((("a", "d"), 5), (("d", "a"), 2), (("a", "b"), 9), (("empty", "a"), 7))
    )
    problem = problem_with(objective=terms, reuse_costs=reuse)
    plan = honest(problem, places_with(c=("slow", 1)))
    assert [claim.value for claim in plan.objective] == [17, 12, 5, 8 + 4 + 3 * 4 + 8, 7]
    assert verify(problem, plan) == []


def test_moves_are_counted_against_the_hint() -> None:
    problem = problem_with(objective=("moves",))
    hint = honest(problem, {"a": ("fast", 0), "b": ("slow", 8), "d": ("fast", 4), "empty": ("slow", 0)})
    plan = honest(problem, PLACES, hint=hint)
    assert plan.objective[0].value == 2
    assert verify(problem, plan, hint) == []
    assert verify(problem, plan) == []
    two_more = replace(plan, objective=(replace(plan.objective[0], value=5, gap=1.0),))
    assert codes(verify(problem, two_more, hint)) == {Code.VALUE}
    assert codes(verify(problem, two_more)) == {Code.VALUE}


def test_a_violation_reads_as_a_sentence_with_its_code() -> None:
    violation = verify(PROBLEM, honest(PROBLEM, places_with(c=("fast", 32))))[0]
    assert str(violation) == "'c' ends at 36 but 'fast' ends at 32 [beyond_capacity]"


def test_names_with_braces_do_no_harm() -> None:
    problem = small(Buffer(id="{0}{x!r:{", size=4, lifetime=(0, 1)), Buffer(id="}", size=4, lifetime=(0, 1)))
    plan = honest(problem, {"{0}{x!r:{": ("memory", 0), "}": ("memory", 0)})
    claimed = replace(
        plan.objective[0], bound=1, gap=0.75, certificate=LiveBytes(pool=None, time=0, buffers=("{",))
    )
    assert codes(verify(problem, replace(plan, objective=(claimed,)))) == {Code.OVERLAP, Code.CERTIFICATE}


def test_the_judge_does_not_know_the_players() -> None:
    script = "import sys, memstow.planner.verify; print([name for name in sys.modules if 'solvers' in name])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_a_plan_says_of_a_capacity_is_told_in_words_and_numbers_in_groups_of_three() -> None:
    limited = Problem(
        version=1,
        pools=(Pool(id="memory", capacity=8192),),
        buffers=(Buffer(id="a", size=5000, lifetime=(0, 2)), Buffer(id="b", size=5000, lifetime=(1, 3))),
    )
    placements = (
        Placement(buffer="a", pool="memory", offset=0),
        Placement(buffer="b", pool="memory", offset=4000),
    )
    use = PoolUse(pool="memory", capacity=None, peak=9000, bound=0, live=Live(bytes=10000, time=1))
    plan = Plan(status=Status.FEASIBLE, placements=placements, pools=(use,))
    said = [violation.message for violation in verify(limited, plan)]
    assert "the capacity of 'memory' is 8,192, not unlimited" in said
    assert any("'a' [0, 5000) and 'b' [4000, 9000) overlap in 'memory'" in message for message in said)
    assert "'b' ends at 9,000 but 'memory' ends at 8,192" in said
