"""What a plan says of live bytes and of what nothing fits for: the engine and the judge mean the same."""

from dataclasses import replace
from typing import Any

import pytest

from memstow.planner.model.plan import Live, Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, Relative, Reserved
from memstow.planner.solve import engine
from memstow.planner.verify import Code, verify

FAR = 10**30


def small(*buffers: Buffer, **more: Any) -> Problem:
    return Problem(version=1, buffers=buffers, **more)


def lives(size: int, *times: tuple[int, int]) -> list[Buffer]:
    return [Buffer(id=f"{size}at{begin}", size=size, lifetime=(begin, end)) for begin, end in times]


@pytest.mark.parametrize(
    ("problem", "live"),
    [
        (small(*lives(4, (0, 2), (3, 5), (5, 6))), Live(bytes=4, time=0)),
        (small(*lives(4, (5, 6), (3, 5)), Buffer(id="w", size=1, lifetime="always")), Live(bytes=5, time=3)),
        # What begins later and shares all its bytes makes no later moment.
        (
            small(
                *lives(8, (1, 9)),
                *lives(2, (4, 9)),
                relative=(Relative(buffer="2at4", base="8at1", offset=3),),
            ),
            Live(bytes=8, time=1),
        ),
        # As many bytes before something small ends and something as small begins.
        (small(*lives(8, (0, 9)), *lives(2, (1, 3), (3, 4))), Live(bytes=10, time=1)),
        (small(*lives(4, (-FAR, -FAR + 2), (FAR, FAR + 1))), Live(bytes=4, time=-FAR)),
        (small(Buffer(id="w", size=3, lifetime="always")), Live(bytes=3, time=0)),
        (small(Buffer(id="a", size=3), Buffer(id="b", size=3), conflicts=(("a", "b"),)), Live(bytes=0)),
        (small(Buffer(id="none", size=0, lifetime=(0, 1))), Live(bytes=0)),
        (small(), Live(bytes=0)),
    ],
)
def test_the_first_moment_with_the_most_bytes_is_named(problem: Problem, live: Live) -> None:
    plan = engine.plan(problem)
    assert plan.pools[0].live == live
    assert verify(problem, plan) == []
    for other in (replace(live, time=FAR), replace(live, time=None), replace(live, bytes=live.bytes + 1)):
        if other != live:
            use = replace(plan.pools[0], live=other)
            assert Code.LIVE in {issue.code for issue in verify(problem, replace(plan, pools=(use,)))}


def test_each_pool_has_a_first_moment_of_its_own() -> None:
    early, late = lives(4, (0, 4)), lives(2, (2, 4))
    problem = small(
        *(replace(entry, pools=("one",)) for entry in early),
        *(replace(entry, pools=("two",)) for entry in late),
        pools=(Pool(id="one"), Pool(id="two"), Pool(id="three")),
    )
    plan = engine.plan(problem)
    assert [use.live for use in plan.pools] == [Live(bytes=4, time=0), Live(bytes=2, time=2), Live(bytes=0)]


def explained(problem: Problem, **changes: Any) -> Plan:
    """The plan that says why nothing fits, with another explanation."""
    plan = engine.plan(problem)
    assert plan.explanation is not None
    assert plan.explanation.code == "over_capacity"
    return replace(plan, explanation=replace(plan.explanation, **changes))


THREE = lives(8, (0, 3), (1, 3), (2, 4))
ALIGNED = [replace(entry, size=5, alignment=8) for entry in THREE]


@pytest.mark.parametrize(
    ("buffers", "pools", "needed"),
    [
        (THREE, (Pool(id="m", capacity=20),), 24),
        # What is reserved below counts.
        (THREE, (Pool(id="m", capacity=24, reserved=(Reserved(offset=0, size=4),)),), 28),
        (THREE, (Pool(id="m", capacity=24, reserved=(Reserved(offset=20, size=4),)),), 28),
        # What alignment leaves between them counts.
        (ALIGNED, (Pool(id="m", capacity=20),), 21),
        # Several pools: all of their reserved bytes count.
        (
            THREE,
            (Pool(id="m", capacity=12), Pool(id="n", capacity=13, reserved=(Reserved(offset=0, size=2),))),
            26,
        ),
    ],
)
def test_needed_is_the_capacity_that_it_would_take(
    buffers: list[Buffer], pools: tuple[Pool, ...], needed: int
) -> None:
    problem = small(*buffers, pools=pools)
    plan = explained(problem)
    why = plan.explanation
    assert why is not None
    assert why.needed == needed
    assert str(needed) in why.message
    assert verify(problem, plan) == []
    capacity = sum(pool.capacity or 0 for pool in pools)
    assert why.capacity == capacity
    for wrong in (needed + 1, capacity):
        assert {issue.code for issue in verify(problem, explained(problem, needed=wrong))} == {
            Code.EXPLANATION
        }
    assert verify(problem, explained(problem, needed=capacity + 1)) == []


def test_so_much_capacity_and_no_less_would_do() -> None:
    """Of buffers that all live at once, in a pool whose only hole is what is reserved."""
    for size in range(12, 20):
        problem = small(
            *lives(size, (0, 2), (1, 3)),
            pools=(Pool(id="m", capacity=size + 8, reserved=(Reserved(offset=0, size=5),)),),
        )
        why = explained(problem).explanation
        assert why is not None
        assert why.needed is not None
        enough = replace(problem, pools=(replace(problem.pools[0], capacity=why.needed),))
        assert engine.plan(enough).placements
        less = replace(problem, pools=(replace(problem.pools[0], capacity=why.needed - 1),))
        assert not engine.plan(less).placements
