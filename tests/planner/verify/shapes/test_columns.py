"""What is judged in columns has the same result as by objects, for plans right and wrong."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal

import pytest

import memstow.planner.verify.symbolic_verdict as judging
from memstow.planner.check import find_issues, require_valid
from memstow.planner.model import Status
from memstow.planner.model.errors import DeclinedError, InputError
from memstow.planner.model.options import Options
from memstow.planner.model.problem import InPlace, Pool, Relative, Reserved
from memstow.planner.model.symbolic import (
    Order,
    OrderedPlacement,
    Shapes,
    Symbol,
    SymbolicBuffer,
    SymbolicPlan,
    SymbolicProblem,
    with_sizes,
)
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.verify.symbolic_columns import columns_of, laid_orders
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from memstow.planner.verify.verdict import Code, Subject, Verdict
from tests.campaign import gate_first
from tests.planner.verify.shapes.made import everywhere, sizes_at, some_order, some_problem
from tests.referee import best

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


_KINDS = ("pins", "always", "in place", "relative", "exclusive", "pools")


def _related(problem: SymbolicProblem, random: Random, kinds: Sequence[str]) -> SymbolicProblem:
    """The problem with what these kinds of constraints say of some of its buffers."""
    names = [buffer.id for buffer in problem.buffers]

    def pairs(most: int) -> list[tuple[str, str]]:
        drawn = [random.sample(names, 2) for _ in range(random.randint(1, most)) if len(names) > 1]
        return [(one, other) for one, other in drawn]

    if "pools" in kinds:
        extra = [Pool(id=f"q{i}", capacity=random.choice((None, 300))) for i in range(random.randint(1, 2))]
        pools = (*problem.pools, *extra)
        choices = (None, None, ("p",), tuple(pool.id for pool in extra), ("q0", "p"))
        objective = random.choice(("peak", "max_peak", "peak:p", "peak:q0"))
        free = [replace(buffer, pools=random.choice(choices)) for buffer in problem.buffers]
        problem = replace(problem, pools=pools, buffers=tuple(free), objective=(objective,))
    if "pins" in kinds:
        problem = _pinned(problem, random)
    if "always" in kinds:
        at = random.randrange(len(names))
        changed = (*problem.buffers[:at], replace(problem.buffers[at], lifetime="always"))
        problem = replace(problem, buffers=(*changed, *problem.buffers[at + 1 :]))
    if "in place" in kinds:
        problem = replace(problem, in_place=tuple(InPlace(input=a, output=b) for a, b in pairs(6)))
    if "exclusive" in kinds:
        problem = replace(problem, exclusive=tuple(pairs(8)))
    if "relative" in kinds:
        # Towards the first of each pair, so that distances do not contradict each other.
        ties = {max(pair, key=names.index): min(pair, key=names.index) for pair in pairs(4)}
        offsets = (0, 8, 64, 256, -64)
        tied = [Relative(buffer=b, base=a, offset=random.choice(offsets)) for b, a in ties.items()]
        problem = replace(problem, relative=tuple(tied))
    return problem


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
        placements[at] = replace(placements[at], pool=random.choice(("q", "q0", "p")))
    elif kind == 4:
        placements[at] = replace(placements[at], buffer="none")
    else:
        point = replace(plan.points[0], peak=max(0, plan.points[0].peak + random.choice((-1, 0, 1))))
        return replace(plan, points=(point, *plan.points[1:]))
    return replace(plan, placements=tuple(placements))


@pytest.mark.parametrize("seed", range(25))
def test_the_verdict_is_that_of_objects(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, random = _problem(seed), Random(seed)
    pinned, spread = _pinned(problem, random), _related(problem, random, ("pools",))
    for judged in (problem, pinned, spread, _pinned(spread, random)):
        if find_issues(judged):
            continue
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
        # By columns more may be proven of the least.
        of_least = (Subject.LEAST_AT, Subject.BOUND)
        assert [one for one in here.claims if one.subject not in of_least] == [
            one for one in there.claims if one.subject not in of_least
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
            (
                {"pool": random.choice(("p", "q", "q0"))},
                {"empty": not entry.empty},
                {"shares": None if entry.shares else other},
                {"above": ("no",)},
            )
        )
        placements[at] = replace(entry, **changed)
    else:
        point = replace(plan.points[0], peak=max(0, plan.points[0].peak + random.choice((-1, 0, 1))))
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


@pytest.mark.parametrize("kinds", [*((kind,) for kind in _KINDS), _KINDS[:5], _KINDS], ids=" ".join)
@pytest.mark.parametrize("seed", gate_first(range(40), 6))
def test_the_verdict_of_what_buffers_have_to_do_with_each_other_is_that_of_objects(
    seed: int, kinds: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(f"{seed} {kinds}")
    loose = _problem(seed, most=random.choice((5, 9, 9, 30)), capacities=(None, 4_000))
    problem = _related(loose, random, kinds)
    if columns_of(problem) is None:
        assert not _is_valid(problem)
        return
    shapes: Shapes = random.choice(("order", "order", "pieces", "fixed"))
    plans = []
    for planned in (problem, loose):
        try:
            plan = plan_symbolic(planned, _QUICK, shapes=shapes)
        except (InputError, DeclinedError):
            continue
        plans.append(replace(plan, digest=None))
    for plan in plans:
        wrong = [_spoiled(plan, random) for _ in range(12)]
        _compare(problem, [plan, *wrong, *(_spoiled(entry, random) for entry in wrong)], monkeypatch)


def _spoiled(plan: SymbolicPlan, random: Random) -> SymbolicPlan:
    """The plan with one thing changed; what has no places is left as it is."""
    if plan.placements:
        return _worse(plan, random)
    if plan.orders and all(order.placements for order in plan.orders):
        return _worse_order(plan, random)
    return plan


def _is_valid(problem: SymbolicProblem) -> bool:
    try:
        require_valid(problem)
    except InputError:
        return False
    return True


@pytest.mark.parametrize("seed", gate_first(range(12), 3))
def test_numbers_of_any_size_are_judged_as_by_objects(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random, sound = Random(seed), 0
    for _ in range(60):
        problem = _with_huge_numbers(some_problem(random), random)
        columns = columns_of(problem)
        if columns is None:
            continue
        orders = [some_order(random, problem) for _ in range(random.choice((1, 1, 2)))]
        shapes: Shapes = "order" if len(orders) == 1 else "pieces"
        plan = SymbolicPlan(status=Status.FEASIBLE, shapes=shapes, orders=orders)
        _compare(problem, [plan], monkeypatch)
        sizes = [
            max(column) for column in zip(*(sizes_at(problem, at) for at in everywhere(problem)), strict=True)
        ]
        laid = laid_orders(columns, orders, sizes)
        if laid is None:
            continue
        sound += 1
        for at in list(everywhere(problem))[:3]:
            peak, least = laid.peak_and_least(sizes_at(problem, at))
            assert least <= peak
    assert sound > 10


def _with_huge_numbers(problem: SymbolicProblem, random: Random) -> SymbolicProblem:
    """The problem with one lifetime for each buffer, and numbers up to 2^62 here and there."""
    large = 1 << 58
    sizes = (large, 1 << 61, 1 << 62, f"s*{large}", f"{large}//(s + 1)")
    buffers = []
    for buffer in problem.buffers:
        buffers.append(
            replace(
                buffer,
                lifetime=_some_life(random),
                size=random.choice((buffer.size, buffer.size, random.choice(sizes))),
                alignment=random.choice((1, 2, 3, 6, 10, 15, 3 << 30, 1 << 61, 1 << 62)),
                offset=None if buffer.offset is None else random.choice((0, 30, 3 << 40, 1 << 61)),
            )
        )
    distances = (0, 2, 30, large, -large, 1 << 62, 3 << 30)
    return replace(
        problem,
        buffers=tuple(buffers),
        pools=tuple(Pool(id=pool.id, capacity=random.choice((None, 1 << 60))) for pool in problem.pools),
        relative=tuple(replace(tie, offset=random.choice(distances)) for tie in problem.relative),
    )


@pytest.mark.parametrize("seed", gate_first(range(12), 3))
def test_no_layout_needs_less_than_the_least(seed: int) -> None:
    random = Random(seed)
    reached: list[bool] = []
    for _ in range(40):
        made = some_problem(random)
        lives = [replace(buffer, lifetime=_some_life(random)) for buffer in made.buffers[:5]]
        names = {buffer.id for buffer in lives}
        pools = [Pool(id=pool.id, capacity=random.choice((None, 12))) for pool in made.pools]
        problem = replace(
            made,
            buffers=tuple(lives),
            pools=tuple(pools),
            conflicts=tuple(pair for pair in made.conflicts if names.issuperset(pair)),
            exclusive=tuple(pair for pair in made.exclusive if names.issuperset(pair)),
            relative=tuple(tie for tie in made.relative if {tie.buffer, tie.base} <= names),
            in_place=tuple(pair for pair in made.in_place if {pair.input, pair.output} <= names),
        )
        columns = columns_of(problem)
        if columns is None:
            continue
        for at in list(everywhere(problem))[:3]:
            sizes = sizes_at(problem, at)
            _, values = best(with_sizes(problem, sizes))
            if values is not None:
                least = columns.at(sizes)
                assert least <= values[0], (problem, at)
                reached.append(least == values[0])
    assert sum(reached) > 0.8 * len(reached)


def _some_life(random: Random) -> tuple[int, int] | Literal["always"]:
    begin = random.randint(0, 4)
    return random.choice(("always", (begin, begin + 1), (begin, begin + 2), (begin, begin + 4)))


def _of_neighbours(problem: SymbolicProblem) -> SymbolicProblem:
    """The problem with constraints between buffers that follow each other, each in one at the most."""
    names = [buffer.id for buffer in problem.buffers]
    first, second, third = (list(zip(names[at::9], names[at + 1 :: 9], strict=False)) for at in (0, 3, 6))
    return replace(
        problem,
        exclusive=tuple(first),
        in_place=tuple(InPlace(input=one, output=other) for one, other in second),
        relative=tuple(Relative(buffer=other, base=one, offset=256) for one, other in third),
    )


@pytest.mark.parametrize("seed", gate_first([3, 0, 1, 2], 2))
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
    # Plain ones, with constraints between buffers, in several pools, and with both.
    pools = [Pool(id=name) for name in ("p", "q")[: 1 + seed // 2]]
    problem = SymbolicProblem(symbols=[symbol], buffers=buffers, pools=pools)
    if seed % 2:
        problem = _of_neighbours(problem)
    plan = plan_symbolic(problem, _QUICK)
    columns = columns_of(problem)
    assert columns is not None
    assert laid_orders(columns, plan.orders, [100] * len(buffers)) is not None
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


@pytest.mark.parametrize("is_above", [True, False])
@pytest.mark.parametrize("partner", ["a", "b"])
@pytest.mark.parametrize(
    "together",
    [
        {"exclusive": [("a", "b")]},
        {"in_place": [InPlace(input="a", output="b")]},
        {"relative": [Relative(buffer="b", base="a", offset=4)]},
    ],
    ids=lambda together: next(iter(together)),
)
def test_what_conflicts_with_one_of_two_that_share_conflicts_with_the_other(
    together: dict[str, Any], partner: str, is_above: bool
) -> None:
    buffers = [SymbolicBuffer(id=name, size="s", lifetime=(0, 1)) for name in "abc"]
    symbol = Symbol(id="s", min=1, max=9)
    problem = SymbolicProblem(symbols=[symbol], buffers=buffers, pools=[Pool(id="p")], **together)
    columns = columns_of(problem)
    assert columns is not None

    def order(pairs: Sequence[tuple[str, str]]) -> Order:
        return Order(
            placements=[
                OrderedPlacement(
                    buffer=name,
                    pool="p",
                    above=[other for own, other in pairs if own == name],
                    shares="a" if name == "b" and "in_place" in together else None,
                )
                for name in "abc"
            ]
        )

    both = [("c", name) if is_above else (name, "c") for name in "ab"]
    assert laid_orders(columns, [order(both)], [9, 9, 9]) is not None
    one = [pair for pair in both if partner in pair]
    # What begins with another, or above it in its group, is above what that one is above of.
    follows = not is_above and ("in_place" in together or ("relative" in together and partner == "a"))
    assert (laid_orders(columns, [order(one)], [9, 9, 9]) is not None) is follows


@pytest.mark.parametrize(
    "changes",
    [
        {"pools": [Pool(id="p", alignment=16)]},
        {"pools": [Pool(id="p"), Pool(id="p")]},
        {"pools": [Pool(id=f"p{i}") for i in range(63)]},
        {"pools": [Pool(id="p", reserved=[Reserved(offset=0, size=8)])]},
        {"pools": [Pool(id="p", base=8)]},
        {"conflicts": [("a", "c")]},
        {"conflicts": [("a", "a")]},
        {"exclusive": [("a", "c")]},
        {"in_place": [InPlace(input="a", output="a")]},
        {"relative": [Relative(buffer="a", base="b", offset=n) for n in (0, 1)]},
        {"objective": ["peak:q"]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime=None)]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime=(0, 1), pools=["q"])]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime=(0, 1), offset=8)]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime=(0, 1), pool="q", offset=8)]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetimes=[(0, 1)])]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime=(0, 1 << 70))]},
        {"buffers": []},
    ],
)
def test_other_problems_have_no_columns(changes: dict[str, Any]) -> None:
    buffers = [SymbolicBuffer(id=name, size="s", lifetime=(0, 1)) for name in "ab"]
    plain = SymbolicProblem(symbols=[Symbol(id="s", min=0, max=9)], buffers=buffers, pools=[Pool(id="p")])
    assert columns_of(plain) is not None
    assert columns_of(replace(plain, **changes)) is None


def test_an_order_of_many_buffers_is_declined_before_formulas_are_looked_at() -> None:
    buffers = [SymbolicBuffer(id=f"b{i}", size="no formula", lifetime=(0, 1)) for i in range(20_001)]
    problem = SymbolicProblem(symbols=[Symbol(id="s", min=0, max=9)], buffers=buffers)
    with pytest.raises(DeclinedError, match="20,000 buffers"):
        plan_symbolic(problem)
