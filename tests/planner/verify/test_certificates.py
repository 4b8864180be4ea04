"""A certificate is accepted only where it proves its bound."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from memstow.planner.model import Status
from memstow.planner.model.plan import (
    Certificate,
    Exhausted,
    Explanation,
    Least,
    LiveBytes,
    Model,
    Plan,
    Refuted,
    Sum,
    TermValue,
    gap_of,
)
from memstow.planner.model.problem import (
    PEAK,
    Buffer,
    InPlace,
    Pool,
    Problem,
    Relative,
    Reserved,
    ReuseCost,
    term_of,
)
from memstow.planner.verify import Code, verify
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.peak_bounds import proven
from memstow.planner.verify.problem_verdict import Proofs
from memstow.planner.verify.verdict import Findings, GraphFacts
from tests.campaign import gate_first
from tests.planner.plans import honest
from tests.problems import random_problem
from tests.referee import best

A = Buffer(id="a", size=5, lifetime=(0, 2))
B = Buffer(id="b", size=6, lifetime=(1, 3))
C = Buffer(id="c", size=7, lifetime=(2, 4))


def problem(*buffers: Buffer, **more: Any) -> Problem:
    return Problem(version=1, buffers=buffers, **more)


def live(*buffers: str, time: int | None = 1, pool: str | None = "memory") -> LiveBytes:
    return LiveBytes(pool=pool, time=time, buffers=buffers)


def proves(sample: Problem, term: str, certificate: LiveBytes) -> int | None:
    """The bound that follows, None when nothing does."""
    findings = Findings()
    result = proven(ProblemIndex(sample, findings), term_of(term), certificate, cheapest_only=False)
    assert not findings.total
    return result if isinstance(result, int) else None


def test_sizes_of_buffers_that_live_together_add_up() -> None:
    sample = problem(A, B, C)
    assert proves(sample, "peak", live("a", "b")) == 11
    assert proves(sample, "max_peak", live("a", "b")) == 11
    assert proves(sample, "peak:memory", live("a", "b")) == 11
    assert proves(sample, "peak", live("a", "b", pool=None)) == 11
    assert proves(sample, "peak", live("b", "c", time=2)) == 13


def test_the_judge_refuses_one_byte_more_than_is_proven() -> None:
    sample = problem(A, B, C)
    places = {"a": ("memory", 0), "b": ("memory", 7), "c": ("memory", 0)}
    good = honest(sample, places, bounds={"peak": 13}, certificates={"peak": live("b", "c", time=2)})
    assert verify(sample, good) == []
    weaker = honest(sample, places, bounds={"peak": 13}, certificates={"peak": live("a", "b")})
    assert [issue.code for issue in verify(sample, weaker)] == [Code.CERTIFICATE]


def test_a_changed_certificate_no_longer_proves_its_bound() -> None:
    sample = problem(A, B, C, pools=(Pool(id="memory"), Pool(id="other")))
    sample = replace(sample, buffers=tuple(replace(buffer, pools=("memory",)) for buffer in sample.buffers))
    places = {"a": ("memory", 0), "b": ("memory", 7), "c": ("memory", 0)}
    good = live("b", "c", time=2)
    for certificate, expected in (
        (good, set()),
        (replace(good, buffers=("b",)), {Code.CERTIFICATE}),
        (replace(good, buffers=("b", "a")), {Code.CERTIFICATE}),
        (replace(good, time=3), {Code.CERTIFICATE}),
        (replace(good, time=None), set()),
        (replace(good, pool="other"), {Code.CERTIFICATE}),
        (replace(good, pool=None), set()),
        (Least(), {Code.CERTIFICATE}),
    ):
        plan = honest(sample, places, bounds={"peak": 13}, certificates={"peak": certificate})
        assert {issue.code for issue in verify(sample, plan)} == expected


@pytest.mark.parametrize(
    "certificate",
    [
        live("a", "b", "c"),
        live("a", "c"),
        live("a", "b", time=0),
        live("a", "a"),
        live("a", "ghost"),
        live("a", pool="moon"),
        live("a", "c", time=None),
    ],
)
def test_buffers_that_do_not_all_live_then_prove_nothing(certificate: LiveBytes) -> None:
    assert proves(problem(A, B, C), "peak", certificate) is None


def test_always_lives_at_every_time() -> None:
    sample = problem(A, Buffer(id="w", size=4, lifetime="always"))
    assert proves(sample, "peak", live("a", "w", time=1)) == 9
    assert proves(sample, "peak", live("w", time=999)) == 4


def test_listed_conflicts_prove_without_a_time_if_every_pair_is_listed() -> None:
    nodes = [Buffer(id=name, size=2) for name in "xyz"]
    sample = problem(*nodes, conflicts=(("x", "y"), ("z", "y")))
    assert proves(sample, "peak", live("x", "y", time=None)) == 4
    assert proves(sample, "peak", live("x", "y", "z", time=None)) is None
    assert (
        proves(replace(sample, conflicts=(*sample.conflicts, ("x", "z"))), "peak", live(*"xyz", time=None))
        == 6
    )


def test_exclusive_buffers_do_not_add_up_unless_listed_as_conflict() -> None:
    sample = problem(A, B, exclusive=(("b", "a"),))
    assert proves(sample, "peak", live("a", "b")) is None
    assert proves(replace(sample, conflicts=(("a", "b"),)), "peak", live("a", "b")) == 11


def test_in_place_buffers_do_not_add_up_even_if_listed_as_conflict() -> None:
    sample = problem(A, B, in_place=(InPlace(input="b", output="a"),), conflicts=(("a", "b"),))
    assert proves(sample, "peak", live("a", "b")) is None
    assert proves(sample, "peak", live("a", "b", time=None)) is None


def test_members_of_a_rigid_group_count_with_the_union_of_their_bytes() -> None:
    parts = (Buffer(id="p", size=3, lifetime=(0, 2)), Buffer(id="q", size=3, lifetime=(0, 2)))
    relative = (Relative(buffer="p", base="a", offset=1), Relative(buffer="q", base="a", offset=8))
    sample = problem(A, B, *parts, relative=relative)
    assert proves(sample, "peak", live("a", "p")) == 5
    assert proves(sample, "peak", live("a", "p", "q", "b")) == 5 + 3 + 6


def test_starts_on_one_grid_waste_what_sizes_leave_of_it_except_at_the_top() -> None:
    aligned = [replace(entry, alignment=8) for entry in (A, B)]
    assert proves(problem(*aligned), "peak", live("a", "b")) == 16 - 3
    mixed = [replace(A, alignment=8), replace(B, alignment=12)]
    assert proves(problem(*mixed), "peak", live("a", "b")) == 8 + 8 - 3
    on_pool = (Pool(id="memory", alignment=8),)
    assert proves(problem(A, B, pools=on_pool), "peak", live("a", "b")) == 16 - 3


def test_a_base_off_the_grid_moves_the_first_start_up() -> None:
    pools = (Pool(id="memory", alignment=8, base=6),)
    assert proves(problem(A, B, pools=pools), "peak", live("a", "b")) == 2 + 16 - 3


def test_reserved_ranges_push_the_height_up() -> None:
    pools = (Pool(id="memory", reserved=(Reserved(offset=4, size=3),)),)
    assert proves(problem(A, B, pools=pools), "peak", live("a", "b")) == 11 + 3
    # Alone, `a` does not fit below the reserved range.
    assert proves(problem(A, pools=pools), "peak", live("a")) == 12


def test_a_reserved_range_within_the_waste_of_a_cell_takes_nothing() -> None:
    """Blocks of 8 on a grid of 16 leave room for a reserved range of 8 without moving."""
    buffers = [Buffer(id=name, size=8, lifetime=(0, 1), alignment=16) for name in "xy"]
    pools = (Pool(id="memory", reserved=(Reserved(offset=8, size=8),)),)
    sample = problem(*buffers, pools=pools)
    assert proves(sample, "peak", live("x", "y", time=0)) == 24
    assert best(sample)[1] == (24,)


TWO = (Pool(id="near", capacity=10), Pool(id="far"))


def test_a_pool_is_proven_only_by_buffers_that_must_be_in_it() -> None:
    sample = problem(replace(A, pools=("near",)), B, pools=TWO)
    assert proves(sample, "peak:near", live("a", pool="near")) == 5
    assert proves(sample, "peak:near", live("a", "b", pool="near")) is None
    assert proves(sample, "peak:far", live("a", pool="near")) is None
    assert proves(sample, "peak", live("a", pool="near")) == 5


def test_a_pin_or_a_group_leaves_one_pool() -> None:
    sample = problem(
        replace(A, pool="near"), B, pools=TWO, relative=(Relative(buffer="b", base="a", offset=0),)
    )
    assert proves(sample, "peak:near", live("b", pool="near")) == 6


def test_what_the_other_pools_cannot_hold_must_be_here() -> None:
    sample = problem(A, B, pools=TWO)
    assert proves(sample, "peak", live("a", "b", pool=None)) == 11
    assert proves(sample, "peak:far", live("a", "b", pool=None)) == 1
    assert proves(sample, "peak:near", live("a", "b", pool=None)) == 0
    assert proves(sample, "max_peak", live("a", "b", pool=None)) == 6
    tight = (replace(TWO[0], reserved=(Reserved(offset=0, size=4),)), TWO[1])
    assert proves(replace(sample, pools=tight), "peak:far", live("a", "b", pool=None)) == 5
    useless = (replace(TWO[0], reserved=(Reserved(offset=0, size=7),)), TWO[1])
    assert proves(replace(sample, pools=useless), "peak:far", live("a", "b", pool=None)) == 11


def test_the_fullest_pool_has_whole_buffers() -> None:
    pools = (Pool(id="near"), Pool(id="far"))

    def least(*sizes: int) -> int | None:
        buffers = [Buffer(id=f"b{at}", size=size, lifetime=(0, 1)) for at, size in enumerate(sizes)]
        names = [buffer.id for buffer in buffers]
        return proves(problem(*buffers, pools=pools), "max_peak", live(*names, pool=None, time=0))

    assert least(9) == 9
    assert least(9, 1) == 9
    # Two of three are together; of five three.
    assert least(5, 5, 5) == 10
    assert least(4, 4, 4, 4, 3) == 11
    # What is in one pool is a multiple of 4.
    assert least(8, 8, 8, 4, 4, 4) == 20
    assert least(5, 4, 3, 2) == 7


def test_live_bytes_say_nothing_about_costs() -> None:
    for term in ("placement_cost", "reuse_cost", "moves"):
        assert proves(problem(A, B), term, live("a", "b")) is None


def test_after_the_least_placement_cost_only_the_cheapest_pools_are_left() -> None:
    pools = (Pool(id="near", cost=1), Pool(id="far", cost=2))
    sample = problem(A, B, pools=pools)
    places = {"a": ("near", 0), "b": ("near", 5)}
    certificates: dict[str, Certificate] = {"placement_cost": Least(), "peak": live("a", "b", pool="near")}
    plan = honest(sample, places, bounds={"placement_cost": 11, "peak": 11}, certificates=certificates)
    assert verify(sample, plan) == []
    spread = honest(sample, places | {"b": ("far", 0)}, bounds={"peak": 11}, certificates=certificates)
    assert [issue.code for issue in verify(sample, spread)] == [Code.CERTIFICATE]


def with_certificate(sample: Problem, value_of: Plan, bound: int, certificate: Certificate) -> set[Code]:
    """What the judge says when the first term claims this."""
    claim = value_of.objective[0]
    claim = TermValue(
        term=claim.term,
        value=claim.value,
        bound=bound,
        gap=gap_of(claim.value, bound),
        certificate=certificate,
    )
    return {issue.code for issue in verify(sample, replace(value_of, objective=(claim,)))} - {Code.STATUS}


def test_the_least_is_what_each_buffer_costs_in_its_cheapest_pool() -> None:
    pools = (Pool(id="near", cost=2), Pool(id="far", cost=1))
    sample = problem(
        replace(A, pools=("near",)), replace(B, accesses=10), pools=pools, objective=("placement_cost",)
    )
    plan = honest(sample, {"a": ("near", 0), "b": ("near", 5)})
    assert with_certificate(sample, plan, 20, Least()) == set()
    assert with_certificate(sample, plan, 21, Least()) == {Code.CERTIFICATE}


def test_the_least_of_everything_else_is_nothing() -> None:
    reuse = (ReuseCost(buffers=("a", "b"), cost=2),)
    sample = problem(A, C, reuse_costs=reuse, objective=("peak",))
    plan = honest(sample, {"a": ("memory", 0), "c": ("memory", 0)})
    assert with_certificate(problem(A, C), plan, 1, Least()) == {Code.CERTIFICATE}
    assert with_certificate(problem(A, C), plan, 0, Least()) == set()


def test_a_search_that_ran_dry_must_reach_up_to_the_bound() -> None:
    sample = problem(*(replace(buffer, size=4) for buffer in (A, B, C)))
    plan = honest(sample, {"a": ("memory", 0), "b": ("memory", 4), "c": ("memory", 12)})

    def search(*refuted: tuple[int, int], solver: str = "exact") -> Exhausted:
        return Exhausted(
            solver=solver, refuted=tuple(Refuted(height=height, nodes=nodes) for height, nodes in refuted)
        )

    assert with_certificate(sample, plan, 8, search((7, 10))) == set()
    assert with_certificate(sample, plan, 8, search((7, 10), (4, 3))) == set()
    for certificate in (
        search(),
        search((4, 10)),
        search((8, 10)),
        search((7, 0)),
        search((7, 10), (4, 0)),
        search((7, 10), solver=""),
    ):
        assert with_certificate(sample, plan, 8, certificate) == {Code.CERTIFICATE}


def test_a_model_proves_up_to_the_value_and_has_a_name() -> None:
    sample = problem(A, B)
    plan = honest(sample, {"a": ("memory", 0), "b": ("memory", 5)})
    assert with_certificate(sample, plan, 11, Model(solver="cp-sat")) == set()
    assert with_certificate(sample, plan, 12, Model(solver="cp-sat")) == {Code.BOUND}
    assert with_certificate(sample, plan, 11, Model(solver="")) == {Code.CERTIFICATE}


# Soundness: nothing that is proven is above the optimum.


def some_certificate(rng: Random, sample: Problem) -> LiveBytes:
    names = [buffer.id for buffer in sample.buffers]
    return LiveBytes(
        pool=rng.choice([None, *(pool.id for pool in sample.pools)]),
        time=rng.choice([None, *range(-1, 8)]),
        buffers=tuple(rng.sample(names, rng.randint(1, len(names)))),
    )


@pytest.mark.parametrize("seed", gate_first(range(10), 4))
def test_no_live_bytes_prove_more_than_the_optimum(seed: int) -> None:
    rng = Random(seed)
    tight = useful = 0
    for _ in range(120):
        changed = random_problem(rng)
        term = rng.choice(("peak", "max_peak", *(f"peak:{pool.id}" for pool in changed.pools)))
        changed = replace(changed, objective=(term,))
        vector = best(changed)[1]
        if vector is None:
            continue
        for _ in range(12):
            bound = proves(changed, term, some_certificate(rng, changed))
            if bound is not None:
                assert bound <= vector[0]
                useful += bound > 0
                tight += bound == vector[0] > 0
    assert useful > 50
    assert tight > 5


@pytest.mark.parametrize("seed", gate_first(range(5), 2))
def test_no_live_bytes_after_the_least_placement_cost_prove_more_than_the_optimum(seed: int) -> None:
    rng = Random(seed)
    applied = 0
    for _ in range(150):
        changed = replace(random_problem(rng), objective=("placement_cost", "peak"))
        vector = best(changed)[1]
        index = ProblemIndex(changed, Findings())
        if vector is None:
            continue
        claims = [
            TermValue(term="placement_cost", value=vector[0], bound=vector[0], gap=0.0, certificate=Least())
        ]
        if Proofs(index, claims, GraphFacts(), 0).reason_against(0) is not None:
            continue
        for _ in range(12):
            bound = proven(index, PEAK, some_certificate(rng, changed), cheapest_only=True)
            if isinstance(bound, int):
                assert bound <= vector[1]
                applied += 1
    assert applied > 50


@pytest.mark.parametrize("seed", gate_first(range(5), 2))
def test_a_search_proves_the_value_above_the_highest_that_it_refuted_and_no_other(seed: int) -> None:
    rng = Random(seed)
    accepted = refused = 0
    for _ in range(150):
        sample = random_problem(rng)
        terms = sample.terms()
        vector = best(sample)[1]
        if not terms or vector is None:
            continue
        position = rng.randrange(len(terms))
        optimum = vector[position]
        heights = rng.sample(range(optimum + 3), rng.randint(1, 3))
        search = Exhausted(solver="test", refuted=tuple(Refuted(height=h, nodes=1) for h in heights))
        for bound in range(1, optimum + 4):
            claims = [
                TermValue(term=term, value=value, bound=bound, gap=0.0, certificate=search)
                for term, value in zip(terms, vector, strict=True)
            ]
            reason = Proofs(ProblemIndex(sample, Findings()), claims, GraphFacts(), 0).reason_against(
                position
            )
            assert (reason is None) == (bound == max(heights) + 1)
            accepted += reason is None
            refused += reason is not None
    assert accepted > 50
    assert refused > 50


# What a bound may rest on


NEAR_FAR = (Pool(id="near", cost=1), Pool(id="far", cost=2))


def codes_of(sample: Problem, plan: Plan) -> list[Code]:
    return [issue.code for issue in verify(sample, plan)]


def test_only_an_earlier_term_says_that_everything_is_in_its_cheapest_pool() -> None:
    places = {"a": ("near", 0), "b": ("near", 5)}
    certificates: dict[str, Certificate] = {
        "placement_cost": Least(),
        "peak:near": live("a", "b", pool="near"),
    }
    bounds = {"placement_cost": 11, "peak:near": 11}
    for objective, expected in (
        (("placement_cost", "peak:near"), []),
        (("peak:near", "placement_cost"), [Code.CERTIFICATE]),
    ):
        sample = problem(A, B, pools=NEAR_FAR, objective=objective)
        assert codes_of(sample, honest(sample, places, bounds=bounds, certificates=certificates)) == expected


def test_a_buffer_that_is_never_accessed_may_be_in_any_pool_at_the_least_cost() -> None:
    places = {"a": ("near", 0), "b": ("near", 5)}
    certificates: dict[str, Certificate] = {
        "placement_cost": Least(),
        "peak:near": live("a", "b", pool="near"),
    }
    for accesses, expected in ((1, []), (0, [Code.CERTIFICATE])):
        sample = problem(
            A, replace(B, accesses=accesses), pools=NEAR_FAR, objective=("placement_cost", "peak:near")
        )
        bounds = {"placement_cost": 5 + accesses, "peak:near": 11}
        assert codes_of(sample, honest(sample, places, bounds=bounds, certificates=certificates)) == expected


def test_a_least_cost_that_is_not_reached_says_nothing_of_the_pools() -> None:
    sample = problem(A, B, pools=NEAR_FAR, objective=("placement_cost", "peak:near"))
    certificates: dict[str, Certificate] = {"placement_cost": Least(), "peak:near": live("a", pool="near")}
    there = {"a": ("near", 0), "b": ("far", 0)}
    plan = honest(sample, there, bounds={"placement_cost": 11, "peak:near": 5}, certificates=certificates)
    assert codes_of(sample, plan) == [Code.CERTIFICATE]


SPLIT = problem(
    replace(A, pools=("near",)),
    replace(B, pools=("far",)),
    replace(C, pools=("far",)),
    pools=NEAR_FAR,
    objective=("peak",),
)


def test_a_sum_adds_up_what_each_pool_must_hold() -> None:
    plan = honest(SPLIT, {"a": ("near", 0), "b": ("far", 7), "c": ("far", 0)})
    near, far = live("a", pool="near"), live("b", "c", time=2, pool="far")
    assert with_certificate(SPLIT, plan, 18, Sum(parts=(near, far))) == set()
    assert with_certificate(SPLIT, plan, 18, Sum(parts=(far, near))) == set()
    for parts in (
        (),
        (far,),
        (near, near, far),
        (near, replace(far, buffers=("b",))),
        (near, replace(far, buffers=("b", "ghost"))),
        (near, replace(far, pool="near")),
        (near, replace(far, pool=None)),
        (near, replace(far, time=3)),
        (near, replace(far, buffers=())),
    ):
        assert with_certificate(SPLIT, plan, 18, Sum(parts=parts)) == {Code.CERTIFICATE}


def test_a_sum_is_about_the_sum_of_the_peaks_alone() -> None:
    near, far = live("a", pool="near"), live("b", "c", time=2, pool="far")
    for term in ("max_peak", "peak:far", "placement_cost"):
        changed = replace(SPLIT, objective=(term,))
        plan = honest(changed, {"a": ("near", 0), "b": ("far", 7), "c": ("far", 0)})
        assert with_certificate(changed, plan, 1, Sum(parts=(near, far))) == {Code.CERTIFICATE}


def test_a_certificate_that_names_no_buffer_proves_nothing_be_it_of_nothing() -> None:
    sample = problem(A, B)
    plan = honest(sample, {"a": ("memory", 0), "b": ("memory", 5)})
    for bound in (0, 1):
        assert with_certificate(sample, plan, bound, live()) == {Code.CERTIFICATE}
        assert with_certificate(sample, plan, bound, Sum(parts=())) == {Code.CERTIFICATE}


# Whether a group has a place


def group_in(pool: Pool, first: Buffer, second: Buffer, distance: int) -> Problem:
    tie = Relative(buffer="q", base="p", offset=distance)
    return problem(first, second, pools=(pool,), relative=(tie,))


def said_to_have_no_place(sample: Problem, *buffers: str) -> bool:
    """Whether the judge lets it be said that these have no place."""
    why = Explanation(code="no_place", message="no place", buffers=buffers)
    return not verify(sample, Plan(status=Status.INFEASIBLE, explanation=why))


P, Q = Buffer(id="p", size=4, lifetime=(0, 1)), Buffer(id="q", size=4, lifetime=(0, 1))


@pytest.mark.parametrize(
    ("pool", "first", "second", "distance", "nowhere"),
    [
        # Pinned: the one at 0 puts the other at 8, on what is reserved there, or not.
        (Pool(id="m", reserved=(Reserved(offset=8, size=1),)), replace(P, pool="m", offset=0), Q, 8, True),
        (Pool(id="m", reserved=(Reserved(offset=12, size=1),)), replace(P, pool="m", offset=0), Q, 8, False),
        (Pool(id="m", reserved=(Reserved(offset=0, size=9),)), P, replace(Q, pool="m", offset=16), 8, True),
        (Pool(id="m", reserved=(Reserved(offset=0, size=8),)), P, replace(Q, pool="m", offset=16), 8, False),
        # Not pinned: it moves up past what is reserved.
        (Pool(id="m", reserved=(Reserved(offset=8, size=1),)), P, Q, 8, False),
        (Pool(id="m", capacity=13, reserved=(Reserved(offset=8, size=1),)), P, Q, 8, False),
        (Pool(id="m", capacity=12, reserved=(Reserved(offset=8, size=1),)), P, Q, 8, True),
        (Pool(id="m", capacity=12), P, Q, 8, False),
        (Pool(id="m", capacity=11), P, Q, 8, True),
        (Pool(id="m", capacity=12), P, Q, -8, False),
        (Pool(id="m", capacity=11), P, Q, -8, True),
        # Aligned apart, or to an address that the base shifts.
        (Pool(id="m", capacity=16), replace(P, alignment=8), replace(Q, alignment=4), 4, False),
        (Pool(id="m", capacity=16), replace(P, alignment=8), replace(Q, alignment=8), 4, True),
        (Pool(id="m", capacity=12, base=4), replace(P, alignment=8), Q, 4, False),
        (Pool(id="m", capacity=11, base=4), replace(P, alignment=8), Q, 4, True),
        # A pin that is not aligned, and two that do not agree.
        (Pool(id="m"), replace(P, pool="m", offset=4, alignment=8), Q, 4, True),
        (Pool(id="m"), replace(P, pool="m", offset=0), replace(Q, pool="m", offset=5), 4, True),
        (Pool(id="m"), replace(P, pool="m", offset=0), replace(Q, pool="m", offset=4), 4, False),
        # Below 0.
        (Pool(id="m"), replace(P, pool="m", offset=4), Q, -8, True),
        # Of size 0: where it would be may be reserved.
        (Pool(id="m", capacity=8, reserved=(Reserved(offset=5, size=3),)), P, replace(Q, size=0), 6, False),
    ],
)
def test_a_group_is_said_to_have_no_place_if_and_only_if_it_has_none(
    pool: Pool, first: Buffer, second: Buffer, distance: int, nowhere: bool
) -> None:
    sample = group_in(pool, first, second, distance)
    assert said_to_have_no_place(sample, "p", "q") == nowhere
    assert said_to_have_no_place(sample, "q") == nowhere


def test_each_buffer_that_is_said_to_have_no_place_has_none() -> None:
    sample = problem(replace(A, size=9), B, pools=(Pool(id="m", capacity=8),))
    assert said_to_have_no_place(sample, "a")
    assert not said_to_have_no_place(sample, "b")
    assert not said_to_have_no_place(sample, "a", "b")
    assert not said_to_have_no_place(sample)


@pytest.mark.parametrize("time", [1, None])
def test_a_buffer_without_bytes_is_no_part_of_a_proof(time: int | None) -> None:
    index = ProblemIndex(problem(A, B, Buffer(id="z", size=0, lifetime=(0, 9))), Findings())
    assert proven(index, PEAK, live("a", "b", time=time), cheapest_only=False) == 11
    result = proven(index, PEAK, live("a", "z", "b", time=time), cheapest_only=False)
    assert result == "'z' has no bytes and conflicts with nothing"
