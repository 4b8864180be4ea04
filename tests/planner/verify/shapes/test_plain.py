"""Plain problems are judged in columns, with the same result as by objects, for plans right and wrong."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import memstow.planner.verify.symbolic_verdict as judging
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Pool
from memstow.planner.model.symbolic import Symbol, SymbolicBuffer, SymbolicPlan, SymbolicProblem
from memstow.planner.shapes.plan_symbolic import plan_symbolic
from memstow.planner.verify.symbolic_sizes import columns_of
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from memstow.planner.verify.verdict import Subject, Verdict

_FORMULAS = ("s", "4*s", "s*s", "0*s", "align(s, 16)", "max(s, 40)", "64 - s", "(s*(64 - s))//4")
_QUICK = Options(deterministic=True, work_limit=2_000)


def _problem(seed: int) -> SymbolicProblem:
    random = Random(seed)
    buffers = []
    for i in range(random.randint(1, 9)):
        begin = random.randint(-5, 5)
        size = random.choice((*_FORMULAS, random.randint(0, 99)))
        lifetime = (begin, begin + random.randint(1, 6))
        buffers.append(
            SymbolicBuffer(id=f"b{i}", size=size, lifetime=lifetime, alignment=random.choice((1, 1, 8)))
        )
    pool = Pool(id="p", capacity=random.choice((None, None, 1 << 20)))
    symbol = Symbol(id="s", min=1, max=64, values=[1, 10, 64])
    return SymbolicProblem(symbols=[symbol], buffers=buffers, pools=[pool])


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
    assert columns_of(problem) is not None
    plan = plan_symbolic(problem, _QUICK, shapes="fixed")
    plans = [plan, *(_worse(plan, random) for _ in range(8))]
    plans.append(plan_symbolic(problem, _QUICK))
    for entry in plans:
        here, there = judge_symbolic(problem, entry), _by_objects(problem, entry, monkeypatch)
        assert [(one.code, one.message) for one in here.violations] == [
            (one.code, one.message) for one in there.violations
        ]
        # By columns more may be proven of the least: offsets that are multiples of one number are counted so.
        same = (Subject.LEAST_AT, Subject.BOUND)
        assert [one for one in here.claims if one.subject not in same] == [
            one for one in there.claims if one.subject not in same
        ]


@pytest.mark.parametrize(
    "changes",
    [
        {"pools": [Pool(id="p"), Pool(id="q")]},
        {"pools": [Pool(id="p", alignment=16)]},
        {"pools": [Pool(id="p", base=8)]},
        {"conflicts": [("a", "b")]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime="always")]},
        {"buffers": [SymbolicBuffer(id="a", size=1, lifetime=(0, 1), pool="p", offset=8)]},
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
