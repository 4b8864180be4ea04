"""Plans and problems that nobody would write: the judge has a verdict on each, and none is a crash."""

from dataclasses import replace
from random import Random

import pytest

from memstow.planner.model.plan import Explanation, Placement, Status
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    PointPeak,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.verify.shapes import judge_symbolic
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
        assert verdict.valid or all(it.message for it in verdict.violations)


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
