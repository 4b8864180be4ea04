"""Plain problems are judged in columns, with the same result as by objects, for plans right and wrong."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import memstow.planner.verify.symbolic_verdict as judging
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Shapes,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
)
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.verify.symbolic_columns import columns_of, plain_orders
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from memstow.planner.verify.verdict import Code, Subject, Verdict

_FORMULAS = ("s", "4*s", "s*s", "0*s", "align(s, 16)", "max(s, 40)", "64 - s", "(s*(64 - s))//4")
_QUICK = Options(deterministic=True, work_limit=2_000)


def _problem(
    seed: int, most: int = 9, capacities: tuple[int | None, ...] = (None, None, 1 << 20)
) -> SymbolicProblem:
    random = Random(seed)
    buffers = []
    for i in range(random.randint(1, most)):
        begin = random.randint(-5, most - 4)
        size = random.choice((*_FORMULAS, random.randint(0, 99)))
        lifetime = (begin, begin + random.randint(1, 6))
        buffers.append(
            SymbolicBuffer(id=f"b{i}", size=size, lifetime=lifetime, alignment=random.choice((1, 1, 8)))
        )
    pool = Pool(id="p", capacity=random.choice(capacities))
    symbol = Symbol(id="s", min=1, max=64, values=[1, 10, 64])
    return SymbolicProblem(symbols=[symbol], buffers=buffers, pools=[pool])


def _pinned(problem: SymbolicProblem, random: Random) -> SymbolicProblem:
    """The problem with pins, for which there is room, and conflicts."""
    buffers = list(problem.buffers)
    for number, at in enumerate(random.sample(range(len(buffers)), random.randint(0, min(3, len(buffers))))):
        offset = number << 14 if random.random() < 0.8 else (number << 14) + random.choice((8, 160, 4_096))
        buffers[at] = replace(buffers[at], pool="p", offset=random.choice((None, offset, offset)))
    names = [buffer.id for buffer in buffers]
    pairs = [random.sample(names, 2) for _ in range(random.randint(0, 4)) if len(names) > 1]
    return replace(problem, buffers=tuple(buffers), conflicts=tuple((one, other) for one, other in pairs))


def _by_objects(problem: SymbolicProblem, plan: SymbolicPlan, patch: pytest.MonkeyPatch) -> Verdict:
    with patch.context() as context:
        context.setattr(judging, "columns_of", lambda _: None)
        return judge_symbolic(problem, plan)


def _worse(plan: SymbolicPlan, random: Random) -> SymbolicPlan:
    """The plan with one thing changed, which may be wrong."""
    placements = list(plan.placements)
    at = random.randrange(len(placements))
    kind = random.randrange(6)
    if kind == 0:
        placements[at] = replace(placements[at], offset=random.randint(0, 300))
    elif kind == 1:
        placements.pop(at)
    elif kind == 2:
        placements.append(placements[at])
    elif kind == 3:
        placements[at] = replace(placements[at], pool="q")
    elif kind == 4:
        placements[at] = replace(placements[at], buffer="none")
    else:
        point = replace(plan.points[0], peak=plan.points[0].peak + random.choice((-1, 0, 1)))
        return replace(plan, points=(point, *plan.points[1:]))
    return replace(plan, placements=tuple(placements))


@pytest.mark.parametrize("seed", range(25))
def test_the_verdict_is_that_of_objects(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, random = _problem(seed), Random(seed)
    for judged in (problem, _pinned(problem, random)):
        assert columns_of(judged) is not None
        for plan in (
            plan_symbolic(judged, _QUICK, shapes="fixed"),
            plan_symbolic(problem, _QUICK, shapes="fixed"),
        ):
            plan = replace(plan, digest=None)
            wrong = [_worse(plan, random) for _ in range(8)] if plan.placements else []
            _compare(judged, [plan, *wrong], monkeypatch)


def _compare(
    problem: SymbolicProblem, plans: Sequence[SymbolicPlan], monkeypatch: pytest.MonkeyPatch
) -> list[Verdict]:
    """The verdicts, which are those by objects."""
    verdicts = []
    for entry in plans:
        here, there = judge_symbolic(problem, entry), _by_objects(problem, entry, monkeypatch)
        verdicts.append(here)
        assert [(one.code, one.message) for one in here.violations] == [
            (one.code, one.message) for one in there.violations
        ]
        # By columns more may be proven of the least: offsets that are multiples of one number are counted so.
        same = (Subject.LEAST_AT, Subject.BOUND)
        assert [one for one in here.claims if one.subject not in same] == [
            one for one in there.claims if one.subject not in same
        ]

    return verdicts


def _worse_order(plan: SymbolicPlan, random: Random) -> SymbolicPlan:
    """The plan with one thing of an order changed, which may be wrong."""
    number = random.randrange(len(plan.orders))
    placements = list(plan.orders[number].placements)
    at = random.randrange(len(placements))
    entry, other = placements[at], random.choice(placements).buffer
    above = list(entry.above)
    kind = random.randrange(10)
    if kind < 3 and above:
        above.remove(random.choice(above))
        placements[at] = replace(entry, above=tuple(above))
    elif kind < 5:
        placements[at] = replace(entry, above=(*above, other))
    elif kind == 5:
        placements.pop(at)
    elif kind == 6:
        placements.append(entry)
    elif kind == 7:
        random.shuffle(placements)
    elif kind == 8:
        changed: dict[str, Any] = random.choice(
            ({"pool": "q"}, {"empty": True}, {"shares": other}, {"above": ("no",)})
        )
        placements[at] = replace(entry, **changed)
    else:
        point = replace(plan.points[0], peak=plan.points[0].peak + random.choice((-1, 0, 1)))
        return replace(plan, points=(point, *plan.points[1:]))
    orders = list(plan.orders)
    orders[number] = Order(placements=placements)
    return replace(plan, orders=tuple(orders))


@pytest.mark.parametrize("shapes", ["order", "pieces"])
@pytest.mark.parametrize("seed", range(25))
def test_the_verdict_of_orders_is_that_of_objects(
    seed: int, shapes: Shapes, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed)
    loose = _problem(seed, most=random.choice((9, 30)), capacities=(None,))
    plan = plan_symbolic(loose, _QUICK, shapes=shapes)
    # At the largest sizes the plan may fit just so, or not: capacities count there.
    most = max(point.peak for point in plan.points)
    pools = [Pool(id="p", capacity=random.choice((None, most, most + 200, 10 * most)))]
    problem = replace(loose, pools=tuple(pools))
    pinned = _pinned(problem, random)
    assert columns_of(pinned) is not None
    for judged, made_plan in (
        (problem, plan),
        (pinned, plan),
        (pinned, plan_symbolic(replace(pinned, pools=loose.pools), _QUICK, shapes=shapes)),
    ):
        right = replace(made_plan, digest=None)
        wrong = [_worse_order(right, random) for _ in range(12)] if right.orders else []
        _compare(judged, [right, *wrong], monkeypatch)


@pytest.mark.parametrize("seed", range(3))
def test_each_relation_of_many_buffers_counts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = Random(seed)
    buffers = []
    for i in range(2_500):
        begin = random.randrange(2_000)
        lifetime = (begin, begin + random.randint(1, 20))
        buffers.append(
            SymbolicBuffer(id=f"b{i}", size=random.choice(("s", "4*s", "max(s, 40)")), lifetime=lifetime)
        )
    symbol = Symbol(id="s", min=1, max=64, values=[1, 64])
    problem = SymbolicProblem(symbols=[symbol], buffers=buffers, pools=[Pool(id="p")])
    plan = plan_symbolic(problem, _QUICK)
    columns = columns_of(problem)
    assert columns is not None
    assert plain_orders(columns, plan.orders, [100] * len(buffers)) is not None
    (order,) = plan.orders
    # None of the relations follows from the others.
    plans = []
    for at in random.sample(range(len(buffers)), 12):
        entry = order.placements[at]
        for gone in entry.above[:1]:
            fewer = replace(entry, above=tuple(name for name in entry.above if name != gone))
            placements: list[OrderedPlacement] = [*order.placements]
            placements[at] = fewer
            plans.append(replace(plan, orders=(Order(placements=placements),)))
    assert plans
    *verdicts, right = _compare(problem, [*plans, plan], monkeypatch)
    assert not right.violations
    unordered = [verdict for verdict in verdicts if verdict.violations]
    assert unordered
    assert {entry.code for verdict in unordered for entry in verdict.violations} <= {
        Code.UNORDERED,
        Code.PEAK,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"pools": [Pool(id="p"), Pool(id="q")]},
        {"pools": [Pool(id="p", alignment=16)]},
        {"pools": [Pool(id="p", base=8)]},
        {"conflicts": [("a", "c")]},
        {"conflicts": [("a", "a")]},
        {"exclusive": [("a", "b")]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime="always")]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime=(0, 1), offset=8)]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime=(0, 1), pool="q", offset=8)]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetimes=[(0, 1)])]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime=(0, 1 << 70))]},
        {"buffers": []},
    ],
)
def test_other_problems_are_not_plain(changes: dict[str, Any]) -> None:
    buffers = [SymbolicBuffer(id=name, size="s", lifetime=(0, 1)) for name in "ab"]
    plain = SymbolicProblem(symbols=[Symbol(id="s", min=0, max=9)], buffers=buffers, pools=[Pool(id="p")])
    assert columns_of(plain) is not None
    assert columns_of(replace(plain, **changes)) is None


def test_an_order_of_many_buffers_is_declined_before_formulas_are_looked_at() -> None:
    buffers = [SymbolicBuffer(id=f"b{i}", size="no formula", lifetime=(0, 1)) for i in range(20_001)]
    problem = SymbolicProblem(symbols=[Symbol(id="s", min=0, max=9)], buffers=buffers)
    with pytest.raises(DeclinedError, match="20,000 buffers"):
        plan_symbolic(problem)
