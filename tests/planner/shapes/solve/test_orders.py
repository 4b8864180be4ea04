"""Orders of symbolic problems: as good as any order there is, for tiny ones, and accepted by the judge."""

import random
import threading
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

import memstow
from memstow.planner.formats.native import write_symbolic_plan
from memstow.planner.generate.features import SYMBOLIC_FEATURES
from memstow.planner.generate.symbolic import symbolic
from memstow.planner.model import Status
from memstow.planner.model.errors import DeclinedError, InputError
from memstow.planner.model.options import Options
from memstow.planner.model.problem import InPlace, Pool, Relative, Reserved
from memstow.planner.model.symbolic import (
    SHAPES,
    Point,
    Shapes,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
    points_of,
)
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.shapes.symbolic_layout import Layout
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from tests.campaign import gate_first
from tests.planner.shapes.solve.brute import Every

QUICK = Options(deterministic=True, work_limit=2_000_000)


def random_problem(seed: int, most: int = 5) -> SymbolicProblem:
    chance = random.Random(seed)
    features = [name for name in SYMBOLIC_FEATURES if chance.random() < 0.25] if seed % 4 else []
    return symbolic(
        chance.randint(2, most), seed, family="random", symbols=chance.choice((1, 1, 2)), features=features
    )


def worst_of(plan: SymbolicPlan) -> Fraction:
    return max(
        Fraction(point.peak, point.least) if point.least else Fraction(1 + point.peak)
        for point in plan.points
    )


@pytest.mark.parametrize("block", gate_first((0, 3, 2, 1, 4, 5, 6, 7), 2))
def test_the_least_worst_ratio_of_all_orders_is_found(block: int) -> None:
    compared = 0
    for seed in range(20 * block, 20 * (block + 1)):
        problem = replace(random_problem(seed), aim="worst")
        try:
            plan = plan_symbolic(problem, QUICK)
        except DeclinedError:
            assert any(pool.reserved for pool in problem.pools)
            continue
        every = Every(problem, [entry.at for entry in points_of(problem)])
        if not plan.points:
            assert every.least_ratio([1] * len(points_of(problem))) is None, seed
            continue
        best = every.least_ratio([point.least for point in plan.points])
        if best is None:
            # It fits at every value, though not with all of the largest sizes at once.
            assert not judge_symbolic(problem, plan).violations
            continue
        compared += 1
        assert worst_of(plan) == best, seed
        # A complete search ends for so few buffers; there is no ratio to a least of no bytes.
        if plan.worst is not None:
            assert plan.status is Status.OPTIMAL, seed
            assert plan.worst == plan.bound == float(best)
    assert compared > 12


@pytest.mark.parametrize("shapes", ["order", "pieces", "fixed"])
def test_every_kind_of_plan_is_accepted_whatever_the_aim(shapes: Shapes) -> None:
    for seed in range(500, 560):
        problem = random_problem(seed, 12)
        try:
            pieces = 3 if shapes == "pieces" else None
            plan = plan_symbolic(problem, replace(QUICK, work_limit=300_000), shapes=shapes, pieces=pieces)
        except DeclinedError:
            assert shapes != "fixed"
            continue
        verdict = judge_symbolic(problem, plan)
        assert not verdict.violations, (seed, verdict.violations)
        assert plan.shapes == shapes


def blocks(count: int, values: Sequence[int]) -> SymbolicProblem:
    chance = random.Random(count)
    forms = ["{a}*s*s", "{b}", "{a}*s", "max({b}, s*{a})", "align(s*{a}, 64)"]
    buffers = []
    for number in range(count):
        begin = chance.randrange(count)
        size = chance.choice(forms).format(a=chance.randint(1, 64), b=chance.randint(4_000, 200_000))
        life = (begin, begin + 1 + int(chance.expovariate(1 / 20)))
        buffers.append(SymbolicBuffer(id=f"x{number}", size=size, lifetime=life))
    return SymbolicProblem(symbols=[Symbol(id="s", min=1, max=1024, values=values)], buffers=buffers)


def test_one_order_is_better_than_those_of_single_values() -> None:
    values = (16, 64, 256, 1024)
    problem = blocks(100, values)
    plan = plan_symbolic(problem, Options(deterministic=True, work_limit=30_000_000))
    least = [point.least for point in plan.points]
    assert plan.worst is not None
    for value in values:
        alone = plan_symbolic(
            replace(problem, points=(Point(at={"s": value}),)),
            Options(deterministic=True, work_limit=5_000_000),
        )
        layout = Layout(problem, alone)
        pairs = zip(values, least, strict=True)
        assert plan.worst < max(layout.lay_out({"s": entry}).objective / low for entry, low in pairs)


def test_several_orders_are_no_worse_than_one() -> None:
    problem = blocks(60, (16, 64, 256, 1024))
    options = Options(deterministic=True, work_limit=60_000_000)
    one = plan_symbolic(problem, options)
    two = plan_symbolic(problem, options, shapes="pieces", pieces=2)
    assert two.worst is not None
    assert one.worst is not None
    assert len(two.orders) <= 2
    assert two.worst <= one.worst


def test_a_deterministic_plan_is_the_same_again() -> None:
    problem = blocks(40, (16, 256, 1024))
    plans = {write_symbolic_plan(plan_symbolic(problem, QUICK, shapes="pieces")) for _ in range(2)}
    assert len(plans) == 1


def test_the_first_point_is_served_first() -> None:
    problem = replace(blocks(40, (16, 256, 1024)), aim="first")
    first = plan_symbolic(problem, Options(deterministic=True, work_limit=30_000_000))
    assert first.points[0].peak == first.points[0].least


def test_a_capacity_that_does_not_hold_says_up_to_where_it_does() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=100)],
        pools=[Pool(id="sram", capacity=1_000)],
        buffers=[
            SymbolicBuffer(id="a", size="10*s", lifetime=(0, 2)),
            SymbolicBuffer(id="b", size="10*s", lifetime=(1, 3)),
        ],
    )
    plan = plan_symbolic(problem, QUICK)
    assert plan.status is Status.INFEASIBLE
    assert plan.explanation is not None
    assert "up to s=50" in plan.explanation.message
    assert plan.explanation.needed is not None
    held = replace(problem, symbols=(replace(problem.symbols[0], max=50),))
    assert plan_symbolic(held, QUICK).status is Status.OPTIMAL


def test_what_an_order_cannot_honour_is_declined_by_name() -> None:
    buffers = [SymbolicBuffer(id="a", size="s", lifetime=(0, 1))]
    symbols = [Symbol(id="s", min=1, max=100)]
    hole = Pool(id="sram", capacity=1_000, reserved=[Reserved(offset=400, size=8)])
    problem = SymbolicProblem(symbols=symbols, pools=[hole], buffers=buffers)
    with pytest.raises(DeclinedError, match="reserved range at 400 of pool 'sram'"):
        plan_symbolic(problem, QUICK)
    assert plan_symbolic(problem, QUICK, shapes="fixed").placements
    huge = replace(problem, pools=(Pool(id="sram"),), buffers=(replace(buffers[0], size=1 << 61),))
    with pytest.raises(DeclinedError, match="2\\^61"):
        plan_symbolic(huge, QUICK)


def test_the_bottom_and_the_top_of_a_pool_may_be_reserved() -> None:
    pool = Pool(
        id="sram",
        capacity=1_000,
        reserved=[Reserved(offset=0, size=24), Reserved(offset=900, size=100)],
    )
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=80)],
        pools=[pool],
        buffers=[SymbolicBuffer(id=name, size="10*s", lifetime=(at, at + 2)) for at, name in enumerate("ab")],
    )
    plan = plan_symbolic(problem, QUICK)
    assert plan.status is Status.INFEASIBLE
    assert plan.explanation is not None
    assert "up to s=43" in plan.explanation.message


def test_pairs_in_place_share_where_it_helps() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=64)],
        buffers=[
            SymbolicBuffer(id="in", size="4*s", lifetime=(0, 2)),
            SymbolicBuffer(id="out", size="4*s", lifetime=(1, 3)),
        ],
        in_place=[InPlace(input="in", output="out")],
    )
    plan = plan_symbolic(problem, QUICK)
    assert plan.status is Status.OPTIMAL
    assert [point.peak for point in plan.points] == [4 * point.at["s"] for point in plan.points]
    assert plan.orders[0].placements[1].shares == "in"


def test_rigid_groups_stay_together_at_every_value() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=32)],
        buffers=[
            SymbolicBuffer(id="head", size=64, lifetime=(0, 3)),
            SymbolicBuffer(id="tail", size="s", lifetime=(0, 3)),
            SymbolicBuffer(id="other", size="100*s", lifetime=(1, 2)),
        ],
        relative=[Relative(buffer="tail", base="head", offset=64)],
    )
    layout = Layout(problem, plan_symbolic(problem, QUICK))
    for value in (1, 7, 32):
        offsets = layout.offsets({"s": value})
        assert offsets["tail"] == offsets["head"] + 64


@pytest.mark.parametrize("nothing", [0, "0*s", "s - s", "max(0, 1 - s)"])
def test_what_has_no_bytes_ties_nothing(nothing: int | str) -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=4)],
        buffers=[
            SymbolicBuffer(id="a", size=nothing, lifetime=(0, 2)),
            SymbolicBuffer(id="b", size="8*s", lifetime=(0, 2)),
            SymbolicBuffer(id="c", size="s", lifetime=(3, 4)),
        ],
        relative=[
            Relative(buffer="b", base="a", offset=100),
            Relative(buffer="c", base="a", offset=104),
        ],
        in_place=[InPlace(input="a", output="c")],
    )
    plans = [plan_symbolic(problem, QUICK, shapes=shapes) for shapes in SHAPES]
    for plan in plans:
        layout = Layout(problem, plan)
        for value in range(1, 5):
            offsets = layout.offsets({"s": value})
            assert offsets["c"] == offsets["b"] + 4
            assert layout.lay_out({"s": value}).objective == 8 * value
            assert memstow.plan_at(problem, plan, {"s": value}).status is Status.OPTIMAL
    assert {placement.buffer for placement in plans[1].orders[0].placements if placement.empty} == {"a"}


def test_what_has_bytes_at_some_value_ties() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=4)],
        buffers=[
            SymbolicBuffer(id="a", size="s // 4", lifetime=(0, 2)),
            SymbolicBuffer(id="b", size="8*s", lifetime=(0, 2)),
        ],
        relative=[Relative(buffer="b", base="a", offset=100)],
    )
    layout = Layout(problem, plan_symbolic(problem, QUICK))
    assert [layout.offsets({"s": value}) for value in (1, 4)] == [{"a": 0, "b": 100}] * 2


def test_cancelling_returns_the_best_so_far() -> None:
    cancel = threading.Event()
    cancel.set()
    plan = plan_symbolic(blocks(30, (16, 1024)), Options(time_limit=300), cancel=cancel)
    assert plan.orders


def test_a_number_of_orders_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(InputError, match="1 to 16"):
        plan_symbolic(blocks(3, (16,)), QUICK, shapes="pieces", pieces=17)


@pytest.mark.parametrize("shapes", ["order", "fixed"])
def test_a_number_of_orders_is_for_plans_in_pieces_alone(shapes: Shapes) -> None:
    with pytest.raises(InputError, match=f"asks for `{shapes}`; leave it out, or ask for shapes=pieces"):
        plan_symbolic(blocks(3, (16,)), QUICK, shapes=shapes, pieces=3)


def test_a_problem_without_buffers_has_a_plan() -> None:
    problem = SymbolicProblem(symbols=[Symbol(id="s", min=1, max=4)], buffers=[])
    for shapes in ("order", "fixed"):
        assert plan_symbolic(problem, QUICK, shapes=shapes).status in (Status.OPTIMAL, Status.FEASIBLE)


def test_an_output_may_share_the_place_of_two_inputs_that_are_never_live_together() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=2)],
        buffers=[
            SymbolicBuffer(id="a", size="s", lifetime=(0, 4)),
            SymbolicBuffer(id="b", size="s", lifetime=(0, 4)),
            SymbolicBuffer(id="o", size="s", lifetime=(3, 6)),
        ],
        exclusive=[("a", "b")],
        in_place=[InPlace(input="a", output="o"), InPlace(input="b", output="o")],
    )
    for shapes in ("order", "pieces", "fixed"):
        plan = plan_symbolic(problem, QUICK, shapes=shapes)
        assert not judge_symbolic(problem, plan).violations
    assert [point.peak for point in plan_symbolic(problem, QUICK).points] == [1, 2]


@pytest.mark.parametrize("size", [0, 16, "s"])
def test_a_pair_does_not_share_where_that_puts_a_third_below_the_pool(size: int | str) -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=16)],
        buffers=[
            SymbolicBuffer(id="in", size=size, lifetime=(2, 5)),
            SymbolicBuffer(id="out", size=41, lifetime=(5, 7), pool="memory", offset=0),
            SymbolicBuffer(id="third", size=25, lifetime=(3, 6)),
        ],
        relative=[Relative(buffer="in", base="third", offset=25)],
        in_place=[InPlace(input="in", output="out")],
    )
    for shapes in SHAPES:
        for options in (QUICK, Options(time_limit=0.001)):
            plan = plan_symbolic(problem, options, shapes=shapes)
            assert not judge_symbolic(problem, plan).violations
            assert plan.points


def test_pins_distances_and_shared_places_together_have_plans() -> None:
    features = ["in_place", "relative", "pins"]
    for seed in range(5000, 5120):
        problem = symbolic(4 + seed % 9, seed, family="random", features=features)
        for options in (Options(time_limit=0.001), replace(QUICK, work_limit=20_000)):
            plan = plan_symbolic(problem, options)
            assert not judge_symbolic(problem, plan).violations


def test_a_buffer_without_bytes_needs_no_room() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=4)],
        pools=[Pool(id="m", capacity=60, reserved=[Reserved(offset=0, size=13)])],
        buffers=[SymbolicBuffer(id="z", size=0, alignment=64)],
    )
    plan = plan_symbolic(problem, QUICK)
    assert plan.status is Status.OPTIMAL
    assert (
        memstow.verify(memstow.problem_at(problem, {"s": 2}), memstow.plan_at(problem, plan, {"s": 2})) == []
    )


def test_a_buffer_that_fits_nowhere_says_up_to_where_it_does() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=4, values=[1])],
        pools=[Pool(id="m", capacity=20)],
        buffers=[SymbolicBuffer(id="a", size="8*s", lifetime=(0, 2))],
    )
    plan = plan_symbolic(problem, QUICK)
    assert plan.status is Status.INFEASIBLE
    assert plan.explanation is not None
    assert plan.explanation.code == "no_place"
    assert "up to s=2" in plan.explanation.message


def test_largest_sizes_that_never_meet_prove_nothing() -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=4)],
        pools=[Pool(id="m", capacity=10)],
        buffers=[
            SymbolicBuffer(id="a", size="10*(s % 2)", lifetime=(0, 2)),
            SymbolicBuffer(id="b", size="10*((s+1) % 2)", lifetime=(0, 2)),
        ],
    )
    fixed = plan_symbolic(problem, QUICK, shapes="fixed")
    assert fixed.status is Status.UNKNOWN
    assert fixed.explanation is not None
    assert "may not occur together" in fixed.explanation.message
    assert plan_symbolic(problem, QUICK).status is Status.OPTIMAL


@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("shapes", SHAPES)
def test_a_value_that_live_bytes_refute_is_not_searched_for(shapes: Shapes, least: int) -> None:
    problem = SymbolicProblem(
        symbols=(Symbol(id="s", min=least, max=4),),
        pools=(Pool(id="p", capacity=5),),
        buffers=tuple(SymbolicBuffer(id=name, size="s", lifetime=(0, 1)) for name in "ab"),
    )
    plan = plan_symbolic(problem, Options(deterministic=True, work_limit=100_000_000), shapes=shapes)
    assert plan.status is Status.INFEASIBLE
    assert plan.work < 5_000_000
    if shapes != "fixed":
        reach = "up to s=2" if least == 1 else "at no value of s"
        assert plan.explanation is not None
        assert plan.explanation.message.endswith(f"fits {reach}")
