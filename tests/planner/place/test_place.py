"""Places for buffers given as arrays: valid, judged, and the same whatever holds the arrays."""

import subprocess
import sys
from array import array
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memstow
from memstow import InputError, Options, Pool, Status
from memstow.planner.judge._judge import Defect, judge_places
from memstow.planner.model import PLANNED
from memstow.planner.solve.array_places import Arrays, problem_of
from memstow.planner.verify import judge
from memstow.solvers import core
from tests.campaign import rounds

Columns = tuple[list[int], list[int], list[int], list[int]]


@st.composite
def columns(draw: st.DrawFn, most: int = 9) -> Columns:
    count = draw(st.integers(0, most))
    sizes = [draw(st.integers(0, 20)) for _ in range(count)]
    begins = [draw(st.integers(-3, 8)) for _ in range(count)]
    ends = [begin + draw(st.integers(1, 5)) for begin in begins]
    return sizes, begins, ends, [draw(st.sampled_from([1, 2, 3, 4, 8, 16])) for _ in range(count)]


def many(count: int, seed: int) -> tuple[list[int], list[int], list[int]]:
    chance = Random(seed)
    begins = [chance.randrange(count) for _ in range(count)]
    ends = [begin + chance.randrange(1, 60) for begin in begins]
    return [16 * chance.randrange(1, 64) for _ in range(count)], begins, ends


@given(columns(), st.booleans())
@pytest.mark.rounds
@settings(max_examples=rounds(400), deadline=None)
def test_what_the_problem_of_the_arrays_says_holds_for_their_places(given: Columns, one: bool) -> None:
    sizes, begins, ends, alignments = given
    alignment = 4 if one else alignments
    layout = memstow.place(sizes, begins, ends, alignment=alignment)
    best = memstow.place(sizes, begins, ends, alignment=alignment, deterministic=True, time_limit=1.0)
    plan = layout.plan()
    arrays = [array("q", entry) for entry in (sizes, begins, ends, [4] if one else alignments)]
    problem = problem_of(Arrays(arrays[0], arrays[1], arrays[2], arrays[3], 1 << 62), None)
    assert judge(problem, plan).violations == ()
    assert [placement.offset for placement in plan.placements] == list(layout.offsets)
    assert layout.peak == plan.objective[0].value
    assert layout.bound <= best.bound <= best.peak <= layout.peak
    assert (layout.status is Status.OPTIMAL) == (layout.peak == layout.bound)
    assert best.status is memstow.plan(problem, Options(deterministic=True)).status


@given(columns(), st.lists(st.integers(0, 40), min_size=9, max_size=9), st.integers(10, 80))
@pytest.mark.rounds
@settings(max_examples=rounds(600), deadline=None)
def test_the_native_judge_and_the_other_one_agree(given: Columns, offsets: list[int], capacity: int) -> None:
    sizes, begins, ends, alignments = (array("q", entry) for entry in given)
    if not sizes:
        return
    problem = problem_of(Arrays(sizes, begins, ends, alignments, capacity), None)
    placements = [
        memstow.Placement(buffer=str(i), pool="memory", offset=offset)
        for i, offset in enumerate(offsets[: len(sizes)])
    ]
    bare = memstow.Plan(status=Status.FEASIBLE, placements=placements)
    (defect, _, _), _, _ = judge_places(
        sizes, begins, ends, alignments, array("q", offsets[: len(sizes)]), capacity
    )
    assert (defect is Defect.NONE) == (not judge(problem, bare).violations)


@pytest.mark.parametrize("count", [1, 10, 300, 3000, 30_000])
def test_places_of_many_buffers_are_valid_and_the_same_every_time(count: int) -> None:
    sizes, begins, ends = many(count, 1)
    one = memstow.place(sizes, begins, ends, alignment=16)
    two = memstow.place(sizes, begins, ends, alignment=16)
    assert one == two
    assert one.bound <= one.peak <= 1.5 * one.bound
    assert set(one.pools) == {0}


def test_a_time_limit_lets_solvers_search() -> None:
    sizes, begins, ends = many(300, 1)
    quick = memstow.place(sizes, begins, ends)
    searched = memstow.place(sizes, begins, ends, time_limit=20.0)
    assert searched.status is Status.OPTIMAL
    assert searched.peak == searched.bound < quick.peak
    assert searched.plan().status is Status.OPTIMAL


def test_capacities() -> None:
    stacked = ([8, 8, 8], [0, 0, 1], [2, 2, 3])
    assert memstow.place(*stacked, capacity=24).status is Status.OPTIMAL
    none = memstow.place(*stacked, capacity=23)
    assert (none.status, list(none.offsets), none.peak, none.bound) == (Status.INFEASIBLE, [], 0, 24)
    in_a_pool = memstow.place(*stacked, pools=[Pool(id="small", capacity=23)])
    assert (in_a_pool.status, in_a_pool.peak) == (Status.INFEASIBLE, 0)
    explanation = none.plan().explanation
    assert explanation is not None
    assert explanation.needed == 24


def test_a_capacity_that_greedy_misses_is_unknown_until_solvers_search() -> None:
    sizes, begins, ends = many(300, 1)
    least = memstow.place(sizes, begins, ends, time_limit=20.0).peak
    quick = memstow.place(sizes, begins, ends, capacity=least)
    assert (quick.status, len(quick.offsets)) == (Status.UNKNOWN, 0)
    assert memstow.place(sizes, begins, ends, capacity=least, time_limit=20.0).status is Status.OPTIMAL


def test_several_pools() -> None:
    pools = [Pool(id="fast", capacity=16), Pool(id="slow", cost=3)]
    layout = memstow.place([16, 8, 4], [0, 0, 0], [2, 2, 2], pools=pools, time_limit=60.0)
    assert layout.status is Status.OPTIMAL
    assert sorted(layout.pools) == [0, 1, 1]
    assert layout.peak == 28
    assert [placement.pool for placement in layout.plan().placements] == [
        pools[number].id for number in layout.pools
    ]


def test_arrays_of_other_libraries() -> None:
    numpy = pytest.importorskip("numpy", reason="needs NumPy")
    sizes, begins, ends = many(50, 3)
    plain = memstow.place(sizes, begins, ends, alignment=8)
    for kind in ("int64", "int32", "uint16"):
        made = [numpy.array(entry, dtype=kind) for entry in (sizes, begins, ends)]
        assert memstow.place(*made, alignment=numpy.int64(8)) == plain
    every_second = [numpy.repeat(numpy.array(entry), 2)[::2] for entry in (sizes, begins, ends)]
    assert memstow.place(*every_second, alignment=numpy.full(50, 8)) == plain
    frozen = numpy.array(sizes)
    frozen.setflags(write=False)
    assert memstow.place(frozen, begins, ends, alignment=8) == plain
    assert memstow.place(memoryview(array("q", sizes)), tuple(begins), iter(ends), alignment=8) == plain
    for odd in (numpy.array([1.5]), numpy.array([True])):
        with pytest.raises(InputError, match="integers only"):
            memstow.place(odd, [0], [1])


@pytest.mark.parametrize(
    ("changed", "code", "path"),
    [
        ({"sizes": [-1]}, "out_of_range", "sizes[0]"),
        ({"sizes": [1 << 70]}, "out_of_range", "sizes"),
        ({"sizes": [(1 << 62) + 1]}, "out_of_range", "sizes[0]"),
        ({"sizes": [1.0]}, "not_integers", "sizes"),
        ({"sizes": ["1"]}, "not_integers", "sizes"),
        ({"sizes": 1}, "not_integers", "sizes"),
        ({"sizes": [True]}, "not_integers", "sizes"),
        ({"sizes": iter((True,))}, "not_integers", "sizes"),
        ({"begins": (False,)}, "not_integers", "begins"),
        ({"ends": [True]}, "not_integers", "ends"),
        ({"alignment": [True]}, "not_integers", "alignment"),
        ({"alignment": True}, "not_integers", "alignment"),
        ({"sizes": [1, 2]}, "lengths_differ", "sizes"),
        ({"begins": []}, "lengths_differ", "sizes"),
        ({"alignment": []}, "lengths_differ", "sizes"),
        (
            {"alignment": [4], "sizes": [1] * 3, "begins": [0] * 3, "ends": [1] * 3},
            "lengths_differ",
            "alignment",
        ),
        ({"alignment": 0}, "out_of_range", "alignment[0]"),
        ({"alignment": 1.5}, "not_integers", "alignment"),
        ({"ends": [0]}, "empty_lifetime", "ends[0]"),
        ({"capacity": -1}, "out_of_range", "capacity"),
        ({"capacity": (1 << 62) + 1}, "out_of_range", "capacity"),
        ({"time_limit": -1.0}, "out_of_range", "time_limit"),
        ({"capacity": True}, "not_an_integer", "capacity"),
        ({"capacity": 1.5}, "not_an_integer", "capacity"),
        ({"capacity": float("inf")}, "not_an_integer", "capacity"),
        ({"time_limit": float("nan")}, "out_of_range", "time_limit"),
        ({"time_limit": float("inf")}, "out_of_range", "time_limit"),
        ({"time_limit": True}, "not_a_number", "time_limit"),
        ({"time_limit": 10**400}, "out_of_range", "time_limit"),
        ({"time_limit": 1e300}, "out_of_range", "time_limit"),
        ({"time_limit": "1"}, "not_a_number", "time_limit"),
        ({"time_limit": None}, "not_a_number", "time_limit"),
        ({"time_limit": [1.0]}, "not_a_number", "time_limit"),
        ({"time_limit": 1j}, "not_a_number", "time_limit"),
        ({"time_limit": Decimal("sNaN")}, "not_a_number", "time_limit"),
        ({"time_limit": Decimal("-1")}, "out_of_range", "time_limit"),
        ({"sizes": memoryview(bytes(48)).cast("q", (2, 3))}, "not_integers", "sizes"),
        ({"capacity": 10**5000}, "out_of_range", "capacity"),
        ({"pools": []}, "not_pools", "pools"),
        ({"pools": "x"}, "not_pools", "pools"),
        ({"pools": 3}, "not_pools", "pools"),
        ({"pools": [None]}, "not_pools", "pools"),
        ({"pools": {"id": "a"}}, "not_pools", "pools"),
        ({"pools": [Pool(id="a")], "capacity": 3}, "capacity_and_pools", "capacity"),
    ],
)
def test_arguments_that_are_no_problem(changed: dict[str, object], code: str, path: str) -> None:
    arguments: dict[str, object] = {"sizes": [1], "begins": [0], "ends": [1]}
    with pytest.raises(InputError) as refused:
        memstow.place(**(arguments | changed))  # type: ignore[arg-type]
    assert [(issue.code, issue.path) for issue in refused.value.issues] == [(code, path)]


def test_limits_may_be_numbers_of_any_kind() -> None:
    sizes, begins, ends = many(50, 3)
    for limit in (Decimal("0.05"), Fraction(1, 20), 0):
        assert memstow.place(sizes, begins, ends, time_limit=limit).status in PLANNED  # type: ignore[arg-type]


def test_buffers_at_the_end_of_the_address_range() -> None:
    limit = 1 << 62
    layout = memstow.place([limit, limit], [-(1 << 63), 0], [0, (1 << 63) - 1], alignment=limit)
    assert (layout.status, list(layout.offsets), layout.peak) == (Status.OPTIMAL, [0, 0], limit)
    for count in (2, 5):
        none = memstow.place([limit] * count, [0] * count, [1] * count)
        assert (none.status, none.bound) == (Status.INFEASIBLE, count * limit), "more than 64 bits hold"


def test_wrong_places_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "place_columns", lambda *_: array("q", [0, 0]).tobytes())
    with pytest.raises(memstow.RefusedPlanError, match="overlap"):
        memstow.place([4, 4], [0, 0], [1, 1])


def test_small_calls_import_no_classes_of_problems() -> None:
    program = (
        "import sys, memstow\n"
        "memstow.place([4, 4], [0, 0], [1, 1])\n"
        "heavy = ('pydantic', 'numpy', 'memstow.planner.verify')\n"
        "sys.exit(any(name.startswith(heavy) for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_plan_of_arrays_that_have_changed_is_a_clear_error() -> None:
    sizes = array("q", [10, 4])
    placed = memstow.place(sizes, [0, 0], [2, 1], capacity=14)
    sizes[0] = 20
    with pytest.raises(InputError, match="no longer those that were placed"):
        placed.plan()
