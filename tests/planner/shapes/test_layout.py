"""Offsets at a value follow the rule, and a plan that contradicts itself is told what is wrong with it."""

from math import lcm
from random import Random

import pytest

from memstow.planner.model import Status
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Pool, Relative, Reserved
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.shapes.symbolic_layout import Layout
from tests.campaign import gate_first
from tests.planner.shapes.judged import JudgedLayout
from tests.planner.shapes.stacks import (
    fits,
    fixed_plan,
    random_point,
    random_problem,
    sizes_at,
    stacked_plan,
)

S = (Symbol(id="s", min=1, max=100),)


def order_plan(*placements: OrderedPlacement) -> SymbolicPlan:
    return SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[Order(placements=placements)])


def by_hand(problem: SymbolicProblem, order: Order, at: dict[str, int]) -> dict[str, int]:
    """The least offsets that satisfy every condition: raised one by one until none is broken."""
    sizes = sizes_at(problem, at)
    buffers = {buffer.id: buffer for buffer in problem.buffers}
    offsets = {buffer.id: buffer.offset or 0 for buffer in problem.buffers}
    ties = held(problem, order)
    pools = {
        placement.buffer: next(p for p in problem.pools if p.id == placement.pool)
        for placement in order.placements
    }
    changed = True
    while changed:
        changed = False
        for entry in order.placements:
            buffer, pool = buffers[entry.buffer], pools[entry.buffer]
            least = max(
                [
                    31 if any(stretch.offset == 0 for stretch in pool.reserved) else 0,
                    *(offsets[p] + sizes[p] for p in entry.above),
                ]
            )
            step = lcm(buffer.alignment, pool.alignment)
            best = max(offsets[entry.buffer], least)
            best += -(best + (pool.base or 0)) % step
            for one, base, distance in ties:
                if one == entry.buffer:
                    best = max(best, offsets[base] + distance)
                if base == entry.buffer:
                    best = max(best, offsets[one] - distance)
            if best != offsets[entry.buffer]:
                assert buffer.offset is None, "a pin does not give way"
                offsets[entry.buffer], changed = best, True
    return offsets


def held(problem: SymbolicProblem, order: Order) -> list[tuple[str, str, int]]:
    """The distances that the order keeps: also those through buffers without bytes, which keep none."""
    apart = {(relation.buffer, relation.base): relation.offset for relation in problem.relative}
    apart |= {
        (placement.buffer, placement.shares): 0
        for placement in order.placements
        if placement.shares is not None
    }
    for _ in problem.buffers:
        apart |= {(two, one): -at for (one, two), at in apart.items()}
        apart |= {
            (a, d): at + on
            for (a, b), at in apart.items()
            for (c, d), on in apart.items()
            if b == c and a != d
        }
    empty = {placement.buffer for placement in order.placements if placement.empty}
    return [(one, base, at) for (one, base), at in apart.items() if not empty & {one, base}]


@pytest.mark.parametrize("seed", gate_first(range(300), 100))
def test_offsets_are_the_least_that_satisfy_the_order(seed: int) -> None:
    rng = Random(seed)
    problem = random_problem(rng)
    plan = stacked_plan(problem, rng)
    if plan is None or _cannot_be_aligned(problem, plan):
        return
    layout = Layout(problem, plan)
    for _ in range(8):
        at = random_point(problem, rng)
        if not fits(layout, at):
            continue
        result = layout.offsets(at)
        assert result == by_hand(problem, plan.orders[0], at)
        sizes = sizes_at(problem, at)
        for pool in problem.pools:
            inside = [
                placement.buffer for placement in plan.orders[0].placements if placement.pool == pool.id
            ]
            ends = [result[entry] + sizes[entry] for entry in inside if sizes[entry]]
            assert layout.peaks(at)[pool.id] == max(ends, default=0)


@pytest.mark.parametrize("seed", gate_first(range(400), 130))
def test_the_judge_lays_out_every_value_alike(seed: int) -> None:
    rng = Random(seed + 5000)
    problem = random_problem(rng)
    plan = stacked_plan(problem, rng, rng.choice((1, 1, 3)))
    if plan is None or _cannot_be_aligned(problem, plan):
        return
    layout, judged = Layout(problem, plan), JudgedLayout(problem, plan)
    for _ in range(10):
        at = random_point(problem, rng)
        expected = judged.at(at)
        # The judge also refuses pinned buffers above what is reserved in the middle of a pool.
        if expected is not None:
            result = layout.lay_out(at)
            assert [*result.sizes, *result.offsets, *result.peaks] == expected


def _cannot_be_aligned(problem: SymbolicProblem, plan: SymbolicPlan) -> bool:
    try:
        Layout(problem, plan)
    except InputError as error:
        return error.issues[0].code == "contradiction"
    return False


def test_one_value_by_hand() -> None:
    problem = SymbolicProblem(
        symbols=S,
        pools=[Pool(id="p", base=4, reserved=[Reserved(offset=0, size=8)], capacity=1 << 20)],
        buffers=[
            SymbolicBuffer(id="x", size="10*s", lifetime=(0, 2)),
            SymbolicBuffer(id="y", size="s - 1", lifetime=(1, 3), alignment=16),
            SymbolicBuffer(id="z", size=5, lifetime=(1, 3)),
        ],
        relative=[Relative(buffer="z", base="y", offset=100)],
    )
    plan = order_plan(
        OrderedPlacement(buffer="x", pool="p"),
        OrderedPlacement(buffer="y", pool="p", above=["x"]),
        OrderedPlacement(buffer="z", pool="p", above=["x"]),
    )
    layout = Layout(problem, plan)
    # 4 + 28 is a multiple of 16, and the least one from 8 + 10 on.
    assert layout.offsets({"s": 1}) == {"x": 8, "y": 28, "z": 128}
    assert layout.peaks({"s": 1}) == {"p": 133}
    result = layout.at(s=2)
    assert (result.sizes, result.offsets, result.objective, result.order) == (
        (20, 1, 5),
        [8, 28, 128],
        133,
        0,
    )


def test_of_pieces_the_order_with_the_least_peak_counts_and_the_first_of_equals() -> None:
    problem = SymbolicProblem(
        symbols=S,
        buffers=[
            SymbolicBuffer(id="x", size="s", lifetime=(0, 2)),
            SymbolicBuffer(id="y", size=10, lifetime=(1, 4)),
            SymbolicBuffer(id="z", size="s", lifetime=(3, 5)),
        ],
    )

    def order(**above: list[str]) -> Order:
        return Order(
            placements=[
                OrderedPlacement(buffer=name, pool="memory", above=above.get(name, []))
                for name in ("x", "y", "z")
            ]
        )

    # Poor, then y below both, then y above both: the last two are equal.
    orders = [order(y=["x"], z=["y"]), order(x=["y"], z=["y"]), order(y=["x", "z"])]
    plan = SymbolicPlan(status=Status.FEASIBLE, shapes="pieces", orders=orders)
    result = Layout(problem, plan).at(s=30)
    assert (result.order, result.objective, result.offsets) == (1, 40, [10, 0, 10])


@pytest.mark.parametrize("seed", range(60))
def test_several_orders_are_never_worse_than_each_alone(seed: int) -> None:
    rng = Random(seed)
    problem = random_problem(rng)
    plan = stacked_plan(problem, rng, orders=3)
    if plan is None or _cannot_be_aligned(problem, plan):
        return
    single = [
        Layout(problem, SymbolicPlan(status=plan.status, shapes="order", orders=[entry]))
        for entry in plan.orders
    ]
    for _ in range(5):
        at = random_point(problem, rng)
        if not all(fits(entry, at) for entry in single):
            continue
        layout = Layout(problem, plan).lay_out(at)
        values = [entry.lay_out(at).objective for entry in single]
        assert (layout.objective, layout.order) == (min(values), values.index(min(values)))


def test_fixed_offsets_stay_and_the_peak_follows_the_sizes() -> None:
    problem = SymbolicProblem(
        symbols=S, buffers=[SymbolicBuffer(id="x", size="s*s"), SymbolicBuffer(id="y", size="s-1")]
    )
    layout = Layout(problem, fixed_plan(problem))
    assert layout.offsets({"s": 7}) == {"x": 65536, "y": 131072}
    assert layout.peaks({"s": 7}) == {"memory": 131072 + 6}
    assert layout.peaks({"s": 1}) == {"memory": 65537}


@pytest.mark.parametrize(
    ("values", "code", "says"),
    [
        ({}, "missing_symbol", "'s' has no value"),
        ({"s": 10}, "value_out_of_range", "10 is no value of 's'"),
        ({"s": 3}, "value_out_of_range", "in steps of 2"),
        ({"s": "4"}, "not_whole", "\"4\" is no value of 's'; give a whole number"),
        ({"s": True}, "not_whole", "true is no value of 's'; give a whole number"),
        ({"s": 4, "t": 1}, "unknown_symbol", "'t' is no symbol"),
        ({"s": 6}, "formula_negative", "a size of -1 is negative at s=6"),
        ({"s": 8}, "does_not_fit", "pool 'memory' ends at 20, and 21 bytes of it are needed"),
    ],
)
def test_a_value_that_cannot_be_is_told(values: dict[str, int], code: str, says: str) -> None:
    problem = SymbolicProblem(
        symbols=[Symbol(id="s", min=2, max=8, step=2)],
        pools=[Pool(id="memory", capacity=20)],
        buffers=[SymbolicBuffer(id="x", size="3 - 4*(s//6) + 22*(s//8)")],
    )
    layout = Layout(problem, fixed_at_zero(problem))
    assert layout.at(s=4).peaks == [3]
    with pytest.raises(InputError) as caught:
        layout.lay_out(values)
    assert caught.value.issues[0].code == code
    assert says in caught.value.issues[0].message


def fixed_at_zero(problem: SymbolicProblem) -> SymbolicPlan:
    return order_plan(*(OrderedPlacement(buffer=buffer.id, pool="memory") for buffer in problem.buffers))


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ([("x", ["y"], None)], "no_place", "'y' has no place"),
        ([("x", [], None), ("x", [], None)], "repeated_placement", "'x' has a place already"),
        ([("x", ["w"], None), ("y", [], None)], "unknown_buffer", "there is no buffer 'w'"),
        ([("x", ["y"], None), ("y", ["x"], None)], "cycle", "in a circle"),
        ([("x", ["x"], None), ("y", [], None)], "cycle", "'x' is above a buffer at a fixed distance"),
        ([("x", [], "y"), ("y", [], None)], "not_in_place", "'x' and 'y' are no pair of `in_place`"),
    ],
)
def test_an_order_that_contradicts_itself_is_told(
    changes: list[tuple[str, list[str], str | None]], code: str, says: str
) -> None:
    problem = SymbolicProblem(
        symbols=S, buffers=[SymbolicBuffer(id="x", size="s"), SymbolicBuffer(id="y", size="s")]
    )
    plan = order_plan(
        *(OrderedPlacement(buffer=b, pool="memory", above=above, shares=entry) for b, above, entry in changes)
    )
    with pytest.raises(InputError) as caught:
        Layout(problem, plan)
    assert caught.value.issues[0].code == code
    assert says in caught.value.issues[0].message


def test_a_pin_below_what_it_must_be_above_is_told() -> None:
    problem = SymbolicProblem(
        symbols=S,
        buffers=[
            SymbolicBuffer(id="x", size="s"),
            SymbolicBuffer(id="y", size=1, pool="memory", offset=50),
        ],
    )
    plan = order_plan(
        OrderedPlacement(buffer="x", pool="memory"), OrderedPlacement(buffer="y", pool="memory", above=["x"])
    )
    assert Layout(problem, plan).at(s=50).offsets == [0, 50]
    with pytest.raises(InputError, match="at s=51: 'y', or a buffer at a fixed distance, is pinned below"):
        Layout(problem, plan).at(s=51)
