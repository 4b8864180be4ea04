"""Fixed offsets: whether they hold at every value, by hand and against the ordinary judge at every value."""

from dataclasses import replace
from random import Random

import pytest

from memstow.planner.model import Status
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import InPlace, Pool, Reserved
from memstow.planner.model.symbolic import Symbol, SymbolicBuffer, SymbolicPlan, SymbolicProblem, with_sizes
from memstow.planner.verify import Standing, Subject, Verdict, judge
from memstow.planner.verify.symbolic_verdict import judge_symbolic
from memstow.planner.verify.verdict import Code
from tests.planner.verify.shapes.made import everywhere, sizes_at, some_problem
from tests.planner.verify.shapes.test_orders import buffer, codes, problem


def fixed(symbolic_problem: SymbolicProblem, **offsets: int) -> Verdict:
    places = [Placement(buffer=name, pool="memory", offset=offset) for name, offset in offsets.items()]
    return judge_symbolic(
        symbolic_problem, SymbolicPlan(status=Status.FEASIBLE, shapes="fixed", placements=places)
    )


def test_offsets_hold_at_the_largest_sizes() -> None:
    sample = problem(buffer("a", "s"), buffer("b", "2*s"))
    judged = fixed(sample, a=0, b=64)
    assert judged.valid
    claim = next(claim for claim in judged.claims if claim.subject is Subject.PLACES)
    assert claim.standing is Standing.CHECKED
    assert claim.by == "the largest sizes (2 at a corner of the range)"
    assert fixed(sample, a=128, b=0).valid
    wrong = fixed(sample, a=0, b=63)
    assert codes(wrong) == [Code.OVERLAP]
    assert "at s=64, with sizes of 64 for 'a', 128 for 'b'" in wrong.violations[0].message


@pytest.mark.parametrize(
    ("offsets", "code"),
    [
        ({"a": 0}, Code.MISSING),
        ({"a": 0, "b": 64, "c": 7}, Code.UNKNOWN_BUFFER),
        ({"a": 0, "b": 65}, Code.MISALIGNED),
        ({"a": 30, "b": 100}, Code.RESERVED),
        ({"a": 0, "b": 200}, Code.BEYOND_CAPACITY),
    ],
)
def test_every_buffer_is_where_it_may_be(offsets: dict[str, int], code: Code) -> None:
    pool = Pool(id="memory", capacity=256, reserved=[Reserved(offset=90, size=10)])
    sample = problem(buffer("a", "s"), buffer("b", "s", alignment=4), pools=[pool])
    assert code in codes(fixed(sample, **offsets))


def test_a_pool_is_not_exceeded_at_any_value() -> None:
    sample = problem(buffer("a", "s"), pools=[Pool(id="memory", capacity=70)])
    assert fixed(sample, a=6).valid
    judged = fixed(sample, a=7)
    assert codes(judged) == [Code.BEYOND_CAPACITY]
    assert "at s=64" in judged.violations[0].message


def test_pairs_in_place_begin_together_or_are_apart() -> None:
    sample = problem(buffer("a", "s"), buffer("b", "s"), in_place=[InPlace(input="a", output="b")])
    assert fixed(sample, a=8, b=8).valid
    assert fixed(sample, a=0, b=64).valid
    assert codes(fixed(sample, a=0, b=8)) == [Code.IN_PLACE]


def test_sizes_that_are_never_there_together_may_overlap() -> None:
    sample = problem(buffer("a", "max(0, s - 32)"), buffer("b", "max(0, 32 - s)"))
    assert fixed(sample, a=0, b=0).valid
    wrong = replace(sample, buffers=(sample.buffers[0], buffer("b", "max(0, 34 - s)")))
    judged = fixed(wrong, a=0, b=0)
    assert codes(judged) == [Code.OVERLAP]
    assert "at s=33, with sizes of 1 for 'a', 1 for 'b'" in judged.violations[0].message


def test_what_cannot_be_shown_is_refused() -> None:
    symbols = (Symbol(id="s", min=0, max=10**6), Symbol(id="t", min=0, max=10**6, values=(0,)))
    changed = replace(
        problem(buffer("a", "(s*1000003 + t*7919) % 999983"), buffer("b", "s")),
        symbols=(replace(symbols[0], values=(0,)), symbols[1]),
    )
    assert fixed(changed, a=0, b=999_982).valid
    hidden = replace(changed, buffers=(buffer("a", "max(0, s - 500000)"), buffer("b", "max(0, 500000 - s)")))
    assert codes(fixed(hidden, a=0, b=0)) == [Code.NOT_SHOWN]


@pytest.mark.parametrize("seed", range(10))
def test_offsets_are_accepted_where_they_hold_at_every_value(seed: int) -> None:
    random = Random(seed)
    seen = {True: 0, False: 0}
    for _ in range(100):
        sample = some_problem(random)
        places = [
            Placement(
                buffer=b.id,
                pool=b.pool or random.choice(b.pools or [pool.id for pool in sample.pools]),
                offset=random.randrange(48) if b.offset is None else b.offset,
            )
            for b in sample.buffers
        ]
        if random.random() < 0.7:
            places = [replace(place, offset=place.offset * 4) for place in places]
        judged = judge_symbolic(
            sample, SymbolicPlan(status=Status.FEASIBLE, shapes="fixed", placements=places)
        )
        if Code.INVALID_PROBLEM in codes(judged):
            continue
        bare = Plan(status=Status.FEASIBLE, placements=places)
        holds = all(judge(with_sizes(sample, sizes_at(sample, at)), bare).valid for at in everywhere(sample))
        assert judged.valid == holds, (sample, places, judged.violations)
        assert Code.NOT_SHOWN not in codes(judged)
        seen[holds] += 1
    assert min(seen.values()) > 3


def test_symbols_are_sound() -> None:
    base = problem(buffer("a", "s"))
    s = base.symbols[0]
    for symbols, part in (
        ((s, s), "two symbols are called 's'"),
        ((s, replace(s, id="align")), "the name of a function"),
        ((replace(s, min=65),), "does not go from 65 to 64"),
        ((replace(s, step=2),), "in steps of 2"),
        ((replace(s, values=(70,)),), "does not take 70"),
    ):
        judged = fixed(replace(base, symbols=symbols), a=0)
        assert set(codes(judged)) == {Code.INVALID_PROBLEM}
        assert any(part in violation.message for violation in judged.violations), part


def test_a_problem_of_numbers_alone_is_one_point() -> None:
    sample = SymbolicProblem(
        symbols=[Symbol(id="s", min=1, max=1)], buffers=[SymbolicBuffer(id="a", size=5, lifetime=(0, 1))]
    )
    assert fixed(sample, a=0).valid
