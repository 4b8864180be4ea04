"""Sizes of gigabytes and more: what is proven of a problem is true of the same problem times 2^31 or 2^44.

A byte less here and there keeps numbers from having a large divisor, which would make them small again.
`MEMSTOW_AGREEMENT=1000` asks for that many problems instead of a few.
"""

import os
from dataclasses import replace
from random import Random

import pytest

from memstow.planner.check import find_issues
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Buffer, Pool, Problem, Reserved
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from memstow.solvers.registry import BACK_ENDS
from tests.campaign import gate_first
from tests.problems import costly_problem, random_problem
from tests.referee import best
from tests.waiting import PATIENCE
from tests.wild import wild_problem

COUNT = int(os.environ.get("MEMSTOW_AGREEMENT", "30"))
EXACT_BACK_ENDS = [name for name in ("cpsat", "assign") if BACK_ENDS[name].how_to_get() is None]
pytestmark = pytest.mark.skipif(len(EXACT_BACK_ENDS) < 2, reason="the [cpsat] extra is not installed")

both = pytest.mark.parametrize("solver", EXACT_BACK_ENDS)
exponents = pytest.mark.parametrize("exponent", [10, 31, 36, 44])


def proven(problem: Problem, solver: str, workers: int) -> Plan:
    planned = plan(problem, Options(solver=solver, workers=workers, time_limit=PATIENCE))
    assert verify(problem, planned) == []
    assert planned.status is Status.OPTIMAL
    return planned


@both
@exponents
@pytest.mark.parametrize("workers", gate_first([2, 1], 1))
def test_a_conflict_with_an_aligned_buffer_is_kept_and_no_more(
    solver: str, exponent: int, workers: int
) -> None:
    """OR-tools 9.15 reads the distance of the two in 32 bits."""
    unit = 1 << exponent
    buffers = (
        Buffer(id="a", size=4 * unit, lifetime=(6, 9), alignment=unit),
        Buffer(id="b", size=3 * unit, lifetime=(2, 5)),
        Buffer(id="c", size=6 * unit, lifetime=(0, 1)),
        Buffer(id="d", size=4 * unit, lifetime=(3, 7)),
        Buffer(id="e", size=3 * unit, lifetime=(0, 3)),
    )
    pools = (Pool(id="p"), Pool(id="q", reserved=(Reserved(offset=unit, size=unit - 1),)))
    problem = Problem(
        version=1,
        buffers=buffers,
        pools=pools,
        conflicts=(("c", "a"),),
        objective=("peak:p", "peak"),
    )
    result = proven(problem, solver, workers)
    assert [term.value for term in result.objective] == [0, 12 * unit]


@both
@exponents
@pytest.mark.parametrize("workers", gate_first([2, 1], 1))
def test_a_pool_with_a_reserved_byte_is_no_higher_than_it_has_to_be(
    solver: str, exponent: int, workers: int
) -> None:
    """OR-tools 9.15 adds up what is beside the byte in 32 bits."""
    unit = 1 << exponent
    sizes = (unit - 1, 3 * unit, 3 * unit // 2, 3 * unit - 1, 9 * unit // 2, 3 * unit + 1)
    lives = ((4, 8), (3, 4), (0, 3), (3, 7), (2, 3), (3, 7))
    problem = Problem(
        version=1,
        buffers=tuple(
            Buffer(id=f"b{i}", size=size, lifetime=life)
            for i, (size, life) in enumerate(zip(sizes, lives, strict=True))
        ),
        pools=(
            Pool(id="p"),
            Pool(id="q", capacity=12 * unit - 1, reserved=(Reserved(offset=unit + 1, size=1),)),
        ),
        conflicts=(("b4", "b0"), ("b5", "b1")),
        objective=("max_peak",),
    )
    assert proven(problem, solver, workers).objective[0].value == 6 * unit - 1


def enlarged(problem: Problem, unit: int, rng: Random) -> Problem:
    """All bytes times `unit`; then some buffers and reserved ranges end a byte earlier."""

    def pool(small: Pool) -> Pool:
        return replace(
            small,
            capacity=None if small.capacity is None else small.capacity * unit,
            alignment=small.alignment * unit if small.alignment > 1 else 1,
            base=None if small.base is None else small.base * unit,
            reserved=tuple(
                Reserved(offset=r.offset * unit, size=r.size * unit - rng.choice((0, 1, 1)))
                for r in small.reserved
            ),
        )

    def buffer(small: Buffer) -> Buffer:
        return replace(
            small,
            size=small.size * unit - (small.size > 0 and rng.random() < 0.5),
            alignment=small.alignment * unit if small.alignment > 1 else 1,
            offset=None if small.offset is None else small.offset * unit,
        )

    return replace(
        problem,
        pools=tuple(map(pool, problem.pools)),
        buffers=tuple(map(buffer, problem.buffers)),
        relative=tuple(replace(entry, offset=entry.offset * unit) for entry in problem.relative),
    )


@both
@pytest.mark.parametrize("part", gate_first(range(4), 1))
def test_what_fits_fits_in_large_and_no_bound_is_above_the_optimum(solver: str, part: int) -> None:
    compared = 0
    for seed in range(part, COUNT, 4):
        rng = Random(seed)
        small = rng.choice((random_problem, wild_problem, costly_problem))(rng, 4)
        # What is counted in accesses does not grow with sizes.
        small = replace(small, buffers=tuple(replace(b, accesses=b.accesses or 0) for b in small.buffers))
        unit = (1 << rng.randint(24, 48)) + rng.choice((-1, 0, 1))
        large = enlarged(small, unit, rng)
        status, values = best(small)
        if values is None or find_issues(large):
            continue
        assert status is Status.OPTIMAL
        planned = plan(large, Options(solver=solver, workers=rng.choice((1, 2)), time_limit=PATIENCE))
        assert verify(large, planned) == [], seed
        assert planned.placements, seed
        compared += 1
        for term, value in zip(planned.objective[:1], values[:1], strict=True):
            most = value * unit if "peak" in term.term else value
            assert term.bound <= most, seed
            assert planned.status is not Status.OPTIMAL or term.value <= most, seed
    assert compared > COUNT // 8
