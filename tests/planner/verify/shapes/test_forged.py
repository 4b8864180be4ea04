"""Plans and problems that nobody would write: the judge has a verdict on each, and none is a crash."""

from dataclasses import replace
from random import Random

import pytest

from memstow.planner.model import Status
from memstow.planner.model.plan import Explanation, Placement
from memstow.planner.model.problem import Pool, Reserved
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Point,
    PointPeak,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.verify import Verdict
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from tests.planner.verify.shapes.made import some_order, some_problem

_NAMES = ("b0", "b1", "b2", "b9", "é", "p0")
_SIZES = (
    "s",
    "s - 4",
    "s // t",
    "t % 0",
    "9" * 300,
    "u",
    "(",
    "min()",
    "-s",
    "s*s*s*4611686018427387904",
)


def _some_plan(random: Random, problem: SymbolicProblem) -> SymbolicPlan:
    def placements() -> list[OrderedPlacement]:
        return [
            OrderedPlacement(
                buffer=random.choice(_NAMES),
                pool=random.choice(("p0", "p1", "none")),
                above=random.sample(_NAMES, random.randint(0, 3)),
                shares=random.choice((None, None, *_NAMES)),
                empty=random.random() < 0.2,
            )
            for _ in range(random.randint(0, 5))
        ]

    orders = [
        some_order(random, problem) if random.random() < 0.7 else Order(placements=placements())
        for _ in range(random.randint(0, 3))
    ]
    points = [
        PointPeak(
            at={"s": random.randint(0, 4), random.choice("tu"): random.randint(0, 2)},
            peak=random.choice((0, 1, 20, 10**400)),
            least=random.choice((0, 1, 20, 10**400)),
        )
        for _ in range(random.randint(0, 3))
    ]
    return SymbolicPlan(
        status=random.choice(list(Status)),
        shapes=random.choice(("fixed", "order", "pieces")),
        placements=[
            Placement(
                buffer=random.choice(_NAMES),
                pool=random.choice(("p0", "none")),
                offset=random.choice((0, 8, 1 << 62)),
            )
            for _ in range(random.choice((0, 0, 4)))
        ],
        orders=orders,
        points=points if random.random() < 0.5 else [],
        worst=random.choice((None, 1.0, 1e300)),
        bound=random.choice((None, 1.0, 1e300)),
        explanation=random.choice(
            (None, None, Explanation(code="over_capacity", message="no", buffers=("b0", "b9"), pool="none"))
        ),
        digest=random.choice((None, None, "0")),
    )


@pytest.mark.parametrize("seed", range(6))
def test_every_plan_has_a_verdict(seed: int) -> None:
    random = Random(seed)
    for _ in range(150):
        problem = some_problem(random)
        if random.random() < 0.3:
            broken = replace(problem.buffers[0], size=random.choice(_SIZES))
            problem = replace(problem, buffers=(broken, *problem.buffers[1:]))
        if random.random() < 0.1:
            problem = replace(problem, buffers=(*problem.buffers, problem.buffers[0]))
        verdict = judge_symbolic(problem, _some_plan(random, problem))
        assert verdict.valid or all(violation.message for violation in verdict.violations)


def test_problems_without_buffers_have_plans() -> None:
    problem = SymbolicProblem(symbols=[Symbol(id="s", min=0, max=3)], buffers=[])
    points = [PointPeak(at={"s": s}, peak=0, least=0) for s in (0, 1, 2, 3)]
    for plan in (
        SymbolicPlan(status=Status.OPTIMAL, shapes="fixed", points=points, worst=1.0, bound=1.0),
        SymbolicPlan(
            status=Status.OPTIMAL,
            shapes="pieces",
            orders=[Order(placements=[]), Order(placements=[])],
            points=points,
            worst=1.0,
            bound=1.0,
        ),
    ):
        assert judge_symbolic(problem, plan).valid


def test_as_many_symbols_as_there_may_be() -> None:
    symbols = [Symbol(id=f"s{i}", min=0, max=1 << 30, values=(0,)) for i in range(16)]
    total = " + ".join(f"s{i}" for i in range(16))
    problem = SymbolicProblem(
        symbols=symbols,
        buffers=[
            SymbolicBuffer(id="a", size=total, lifetime=(0, 2)),
            SymbolicBuffer(id="b", size=f"({total}) * 1000003 % 7919", lifetime=(1, 3)),
        ],
    )
    order = Order(
        placements=[
            OrderedPlacement(buffer="a", pool="memory"),
            OrderedPlacement(buffer="b", pool="memory", above=["a"]),
        ]
    )
    verdict = judge_symbolic(problem, SymbolicPlan(status=Status.FEASIBLE, shapes="order", orders=[order]))
    assert verdict.valid
    assert verdict.claims[-1].says == f"'memory' needs at most {16 * 2**30 + 7918:,} bytes at every value"


TIGHT = SymbolicProblem(
    symbols=[Symbol(id="s", min=1, max=4)],
    pools=[Pool(id="p", capacity=9, reserved=[Reserved(offset=0, size=2)]), Pool(id="q", capacity=1)],
    buffers=[
        SymbolicBuffer(id="a", size="s", lifetime=(0, 2), pools=["p"]),
        SymbolicBuffer(id="b", size="2*s", lifetime=(1, 3), pools=["p"]),
        SymbolicBuffer(id="c", size="s", lifetime=(3, 4), pools=["p"]),
    ],
)
WIDE = replace(TIGHT, symbols=(Symbol(id="s", min=1, max=4), Symbol(id="t", min=1, max=100)))
WHY = Explanation(
    code="over_capacity",
    message="at s=4 2 buffers need 12 bytes of 'p'",
    pool="p",
    time=1,
    needed=14,
    capacity=9,
    reserved=2,
    buffers=("a", "b"),
)
FALSE = {
    "a larger pool": replace(WHY, capacity=10),
    "a smaller pool": replace(WHY, capacity=8),
    "more is reserved": replace(WHY, reserved=3),
    "nothing is reserved": replace(WHY, reserved=0),
    "another pool": replace(WHY, pool="q", capacity=1, reserved=0),
    "no pool of this name": replace(WHY, pool="r"),
    "another time": replace(WHY, time=2),
    "more is needed than at any value": replace(WHY, needed=15),
    "no more is needed than there is": replace(WHY, needed=9),
    "others at that time": replace(WHY, buffers=("a", "c")),
    "one that fits": replace(WHY, buffers=("a",)),
    "one twice": replace(WHY, buffers=("a", "a")),
    "nobody": replace(WHY, buffers=()),
    "no such buffer": replace(WHY, buffers=("a", "z")),
    "they have no place": replace(WHY, code="no_place", time=None, needed=None),
    "of all pools": replace(WHY, pool=None, capacity=11),
    "no words": replace(WHY, message=""),
}


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.UNKNOWN])
@pytest.mark.parametrize("problem", [TIGHT, WIDE], ids=["few values", "many values"])
def test_why_nothing_fits_is_counted_again(problem: SymbolicProblem, status: Status) -> None:
    def verdict(explanation: Explanation) -> Verdict:
        plan = SymbolicPlan(status=status, shapes="order", explanation=explanation)
        return judge_symbolic(problem, plan)

    assert verdict(WHY).valid
    assert not verdict(WHY).unchecked
    accepted = [name for name, explanation in FALSE.items() if verdict(explanation).valid]
    assert accepted == []


def test_why_nothing_fits_may_be_shown_by_sizes_that_do_not_occur_together() -> None:
    """Then it is a claim: each buffer is counted at its largest, and no value shows it."""
    apart = SymbolicProblem(
        symbols=[Symbol(id="s", min=0, max=8)],
        pools=[Pool(id="p", capacity=9)],
        buffers=[
            SymbolicBuffer(id="a", size="1 + s", lifetime=(0, 2)),
            SymbolicBuffer(id="b", size="9 - s", lifetime=(0, 2)),
        ],
    )
    why = Explanation(
        code="over_capacity", message="18 bytes", pool="p", needed=18, capacity=9, buffers=("a", "b")
    )
    plan = SymbolicPlan(status=Status.UNKNOWN, shapes="fixed", explanation=why)
    assert judge_symbolic(apart, plan).valid
    for wrong in (replace(why, needed=19), replace(why, capacity=8)):
        assert not judge_symbolic(apart, replace(plan, explanation=wrong)).valid


TWO_POOLS = SymbolicProblem(
    symbols=[Symbol(id="s", min=1, max=64), Symbol(id="t", min=1, max=1000)],
    points=[Point(at={"s": 1, "t": 1}), Point(at={"s": 2, "t": 9})],
    pools=[
        Pool(id="p", capacity=100_000, reserved=[Reserved(offset=0, size=1000)]),
        Pool(id="q", capacity=50_000),
    ],
    buffers=[
        SymbolicBuffer(id="a", size="s*t", lifetime=(0, 5), pools=["p"]),
        SymbolicBuffer(id="b", size="60*t + s", lifetime=(3, 9), pools=["p"]),
    ],
)
NAMES_NO_POOL = Explanation(
    code="over_capacity",
    message="2 buffers need 125,064 bytes",
    time=3,
    needed=125_064,
    capacity=100_000,
    reserved=1000,
    buffers=("a", "b"),
)
NOT_OF_THESE_POOLS = {
    "a smaller pool": replace(NAMES_NO_POOL, capacity=4),
    "less than all pools have": replace(NAMES_NO_POOL, capacity=149_999),
    "more is reserved": replace(NAMES_NO_POOL, reserved=5),
    "nothing is reserved in a pool that has reserved bytes": replace(NAMES_NO_POOL, reserved=0),
    "more is needed than at any value": replace(NAMES_NO_POOL, needed=1_000_000),
}


def test_why_nothing_fits_is_of_some_pools_where_none_is_named() -> None:
    def valid(explanation: Explanation) -> bool:
        plan = SymbolicPlan(status=Status.INFEASIBLE, shapes="order", explanation=explanation)
        return judge_symbolic(TWO_POOLS, plan).valid

    assert valid(NAMES_NO_POOL)
    assert [name for name, explanation in NOT_OF_THESE_POOLS.items() if valid(explanation)] == []


def test_what_is_needed_may_count_gaps_of_alignment() -> None:
    """Where some value that nobody looks at may need that much, it is not false everywhere."""
    aligned = replace(TWO_POOLS, buffers=tuple(replace(buffer, alignment=64) for buffer in TWO_POOLS.buffers))
    most = 125_064 + 2 * 64
    for needed, valid in ((125_000, True), (most, True), (most + 1, False)):
        why = replace(NAMES_NO_POOL, needed=needed)
        plan = SymbolicPlan(status=Status.INFEASIBLE, shapes="order", explanation=why)
        assert judge_symbolic(aligned, plan).valid is valid
