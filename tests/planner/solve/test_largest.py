"""Sizes, offsets and sums around 2^62, the largest address there is, and 2^63, the end of 64-bit integers."""

from itertools import pairwise
from typing import Any

import pytest

from memstow.planner.model import Status
from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import LIMIT, Buffer, Pool, Problem, Reserved
from memstow.planner.reading.parse import parse_problem
from memstow.planner.solve.engine import plan
from memstow.planner.verify import verify
from tests.campaign import gate_first


def stacked(*sizes: int, **fields: Any) -> Problem:
    """Buffers a, b, ... of these sizes that live together."""
    named = [{"id": chr(97 + i), "size": size, "lifetime": [0, 1]} for i, size in enumerate(sizes)]
    return parse_problem({"version": 1, "buffers": named, **fields})


def ring(*sizes: int, **fields: Any) -> Problem:
    """Each conflicts with the next, and the last with the first."""
    names = [chr(97 + i) for i in range(len(sizes))]
    named = [{"id": name, "size": size} for name, size in zip(names, sizes, strict=True)]
    pairs = [[one, other] for one, other in pairwise([*names, names[0]])]
    return parse_problem({"version": 1, "buffers": named, "conflicts": pairs, **fields})


def answered(problem: Problem, solver: str = "auto") -> Plan:
    planned = plan(problem, Options(solver=solver, time_limit=20.0))
    assert verify(problem, planned) == []
    return planned


@pytest.mark.parametrize("solver", ["auto", "exact", "greedy", "improve", "first-fit"])
@pytest.mark.parametrize(
    "sizes", [(LIMIT, 1), (LIMIT, LIMIT), (LIMIT, LIMIT - 1, 1), (LIMIT,) * 5, (LIMIT - 1, 2)]
)
@pytest.mark.parametrize("pools", [1, 2])
def test_what_needs_more_than_there_are_addresses_is_told_so(
    sizes: tuple[int, ...], solver: str, pools: int
) -> None:
    memories = [{"id": name} for name in ("p", "q")[:pools]]
    problem = stacked(*sizes * pools, pools=memories)
    if pools > 1 and solver in ("exact", "improve"):
        solver = "auto"
    why = answered(problem, solver).explanation
    assert why is not None
    assert (why.code, why.needed, why.capacity) == ("over_capacity", sum(sizes) * pools, None)
    assert why.buffers == tuple(buffer.id for buffer in problem.buffers)
    assert f"there are {LIMIT * pools:,}, since no address is above 2^62" in why.message


@pytest.mark.parametrize("sizes", [(LIMIT,), (LIMIT - 1, 1), (LIMIT // 2, LIMIT // 2), (LIMIT - 3, 1, 2)])
@pytest.mark.parametrize("objective", [["peak"], []])
def test_the_last_address_can_be_used(sizes: tuple[int, ...], objective: list[str]) -> None:
    answer = answered(stacked(*sizes, objective=objective))
    assert (answer.status, answer.pools[0].peak) == (Status.OPTIMAL, LIMIT)


def test_several_pools_hold_more_than_the_largest_address_together() -> None:
    answer = answered(
        stacked(LIMIT, LIMIT, LIMIT, pools=[{"id": name} for name in "pqr"], objective=["peak"])
    )
    assert (answer.status, answer.objective[0].value) == (Status.OPTIMAL, 3 * LIMIT)


# No two that conflict need more than 0.8 of the addresses; laid out in a ring, five of them need 1.2.
WIDE = 2 * LIMIT // 5


@pytest.mark.parametrize("solver", ["exact", "improve", "reuse"])
def test_a_solver_declines_by_name_what_it_cannot_add_up(solver: str) -> None:
    with pytest.raises(
        DeclinedError,
        match=f"{solver!r} cannot honour heights of up to [0-9]+(,[0-9]{{3}}){{5,6}} units: it adds",
    ):
        plan(ring(*[WIDE - i for i in range(5)]), Options(solver=solver))


def test_what_the_exact_search_declines_is_answered_by_another() -> None:
    sizes = [WIDE // 2 - i for i in range(5)]
    answer = answered(ring(*sizes))
    assert answer.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert answer.objective[0].value <= sum(sorted(sizes)[-3:])
    answer = answered(ring(*[WIDE - i for i in range(5)]))
    assert answer.status in (Status.UNKNOWN, Status.INFEASIBLE)
    assert answer.explanation is None or set(answer.explanation.buffers) == set("abcde")


def test_common_units_keep_large_sizes_small() -> None:
    """In units of 2^59 the ring is one of sizes of 3, in a pool of 8."""
    answer = answered(ring(*[3 << 59] * 5))
    assert answer.status is Status.INFEASIBLE
    assert answer.explanation is not None
    assert set(answer.explanation.buffers) == set("abcde")
    assert "no address is above 2^62" in answer.explanation.message
    assert answered(ring(*[1 << 60] * 5)).objective[0].value == 3 << 60


def test_what_has_no_place_in_an_unbounded_pool_is_told_why() -> None:
    pool = {"id": "p", "reserved": [{"offset": 4, "size": LIMIT - 8}]}
    why = answered(stacked(5, pools=[pool])).explanation
    assert why is not None
    assert "no address is above 2^62" in why.message
    assert why.buffers == ("a",)


@pytest.mark.campaign
@pytest.mark.parametrize("conflicts", gate_first(((), (("d", "e"),)), 1), ids=["rows", "pairs"])
def test_a_row_that_could_rise_a_million_times_is_no_end_of_the_stack(
    conflicts: tuple[tuple[str, str], ...],
) -> None:
    """A search that goes too deep ends that run, and proves nothing by it."""
    size = 1 << 20
    problem = Problem(
        version=1,
        pools=(Pool(id="m", reserved=(Reserved(offset=0, size=1),)),),
        buffers=(
            Buffer(id="a", size=size, lifetime=(1, 2)),
            Buffer(id="b", size=1, lifetime=(1, 3)),
            Buffer(id="c", size=1, lifetime=(1, 2)),
            Buffer(id="d", size=size + 1, lifetime=(0, 2), alignment=1 << 16),
            Buffer(id="e", size=1, lifetime=(5, 6)),
        ),
        conflicts=conflicts,
    )
    planned = plan(problem, Options(solver="exact", deterministic=True, work_limit=100_000_000))
    assert verify(problem, planned) == []
    # Stacked above the one that is aligned, but for what fits below it.
    best = (1 << 16) + (size + 1) + size
    assert planned.objective[0].bound <= best == planned.objective[0].value


def test_peaks_of_several_pools_may_be_more_together_than_an_address() -> None:
    unit = 1 << 59
    pools = (
        Pool(id="p", base=4 * unit, cost=3, alignment=unit),
        Pool(
            id="q",
            capacity=LIMIT,
            base=7 * unit,
            cost=3,
            alignment=unit,
            reserved=(Reserved(offset=0, size=2 * unit), Reserved(offset=3 * unit, size=unit)),
        ),
    )
    buffers = (
        Buffer(id="a", size=3 * unit, lifetime=(1, 4), accesses=5),
        Buffer(id="b", size=4 * unit, lifetime=(1, 3), alignment=4 * unit, accesses=4),
    )
    problem = Problem(buffers=buffers, pools=pools, objective=("peak:p", "peak", "max_peak"))
    answer = plan(problem, Options(deterministic=True))
    assert answer.status is Status.OPTIMAL
    assert [one.value for one in answer.objective] == [4 * unit, 11 * unit, 7 * unit]
