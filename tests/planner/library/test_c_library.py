"""libmemstow gives the plans of the Python package, and says what is wrong with what cannot be planned."""

import ctypes
import re
import threading
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import memstow
from memstow.planner.check import find_issues
from memstow.planner.model import PLANNED, Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.problem import ALWAYS, Buffer, InPlace, Pool, Problem, Relative, Reserved
from memstow.planner.solve.engine import plan
from tests.campaign import gate_first
from tests.planner.library.c_library import (
    DETERMINISTIC,
    FEW_MOVES,
    FIT_ONLY,
    INVALID,
    LIBRARY,
    TOO_LARGE,
    LibraryError,
    Native,
    RawOptions,
    native_of,
)
from tests.problems import random_problem
from tests.referee import best

WORK = 300_000
HEADER = Path(__file__).parents[3] / "planner" / "library" / "native" / "memstow.h"


def constrained(rng: Random, count: int) -> Problem:
    """A problem of one memory with each constraint that the library knows."""
    buffers = []
    for number in range(count):
        begin = rng.randint(0, 12)
        life = (begin, begin + rng.randint(1, 5))
        alignment = rng.choice((1, 1, 2, 4, 8))
        several = rng.random() < 0.2
        later = (begin + 7, begin + 9)
        buffers.append(
            Buffer(
                id=f"b{number}",
                size=rng.choice((0, 1, 3, 4, 8, 12, 16, 40)),
                lifetime=None if several else life,
                lifetimes=(life, later) if several else None,
                alignment=alignment,
                offset=rng.randint(0, 12) * alignment if rng.random() < 0.07 else None,
            )
        )

    def pairs(share: float) -> tuple[tuple[str, str], ...]:
        drawn = (rng.sample(range(count), 2) for _ in range(int(count * share)))
        return tuple((f"b{one}", f"b{other}") for one, other in drawn) if count > 1 else ()

    relative = tuple(
        Relative(buffer=one, base=other, offset=rng.choice((-8, -4, 0, 1, 4, 8, 16)))
        for one, other in pairs(rng.choice((0.0, 0.15)))
    )
    reserved = [
        Reserved(offset=rng.randint(0, 60), size=rng.randint(1, 9)) for _ in range(rng.choice((0, 0, 1, 2)))
    ]
    capacity = rng.choice((None, None, 60, 100, 160))
    if capacity is not None:
        reserved = [entry for entry in reserved if entry.offset + entry.size <= capacity]
    return Problem(
        buffers=tuple(buffers),
        pools=(Pool(id="memory", capacity=capacity, reserved=tuple(reserved)),),
        conflicts=pairs(rng.choice((0.0, 0.2))),
        exclusive=pairs(rng.choice((0.0, 0.2))),
        relative=relative,
        in_place=tuple(InPlace(input=one, output=other) for one, other in pairs(rng.choice((0.0, 0.2)))),
        objective=() if rng.random() < 0.1 else None,
    )


def earlier(rng: Random, problem: Problem, result: Plan) -> list[int]:
    """By buffer its place in an earlier plan, which this one is like; -1 for those that it did not have."""
    places = [place.offset for place in result.placements] or [0] * len(problem.buffers)
    return [rng.choice((place, place, place, place + 4, rng.randint(0, 90), -1)) for place in places]


@pytest.mark.parametrize("seed", gate_first(range(60), 20))
def test_few_moves_are_those_of_the_package(seed: int) -> None:
    rng = Random(seed)
    for _ in range(4):
        while find_issues(problem := constrained(rng, rng.choice((1, 3, 8, 20, 60)))):
            pass
        options = Options(deterministic=True, work_limit=WORK, seed=seed)
        start = earlier(rng, problem, plan(problem, options))
        placements = tuple(
            Placement(buffer=buffer.id, pool="memory", offset=offset)
            for buffer, offset in zip(problem.buffers, start, strict=True)
            if offset >= 0
        )
        terms = ("moves", "peak") if problem.terms() else ("moves",)
        hint = Plan(status=Status.FEASIBLE, placements=placements)
        wanted = plan(replace(problem, objective=terms), replace(options, hint=hint))
        flags = DETERMINISTIC | FEW_MOVES | (0 if problem.terms() else FIT_ONLY)
        ours = native_of(problem).solve(flags=flags, work_limit=WORK, seed=seed, start=start)
        assert ours.status == wanted.status
        if wanted.status in PLANNED:
            assert ours.offsets == tuple(place.offset for place in wanted.placements)
            assert (ours.moves, ours.peak) == (wanted.objective[0].value, wanted.pools[0].peak)
            assert (ours.solver, ours.work) == (wanted.solver, wanted.work)


def test_a_buffer_that_has_grown_moves_what_is_in_its_way() -> None:
    native = Native()
    native.add([(8, 0, 9, 1), (12, 0, 9, 1), (8, 0, 9, 1), (8, 0, 9, 1)])
    better = list[int]()

    def note(peak: int, _: list[int]) -> bool:
        better.append(peak)
        return True

    solved = native.solve(flags=FEW_MOVES, start=(0, 8, 16, 24), on_better=note)
    assert (solved.status, solved.moves, solved.peak) == (Status.OPTIMAL, 1, 40)
    assert solved.offsets == (0, 8, 32, 24)
    assert better[-1] == 40
    native.call("set_capacity", 36)
    assert native.solve(flags=FEW_MOVES, start=(0, 8, 16, 24)).moves == 2
    kept = native.solve(flags=FEW_MOVES | FIT_ONLY, start=(0, 8, -1, 20))
    assert (kept.status, kept.moves, kept.offsets) == (Status.OPTIMAL, 0, (0, 8, 28, 20))


def test_moves_need_a_start() -> None:
    for start in (None, (0, 8, (1 << 62) + 1)):
        with pytest.raises(LibraryError, match="start") as refused:
            three().solve(flags=FEW_MOVES, start=start)
        assert refused.value.code == INVALID


@pytest.mark.parametrize("seed", gate_first(range(60), 20))
def test_the_library_gives_the_plan_of_the_package(seed: int) -> None:
    rng = Random(seed)
    for _ in range(4):
        count = rng.choice((1, 3, 8, 20, 60))
        while find_issues(problem := constrained(rng, count)):
            pass
        wanted = plan(problem, Options(deterministic=True, work_limit=WORK, seed=seed))
        flags = DETERMINISTIC | (0 if problem.terms() else FIT_ONLY)
        ours = native_of(problem).solve(flags=flags, work_limit=WORK, seed=seed)
        assert ours.status == wanted.status
        if wanted.status in PLANNED:
            assert ours.offsets == tuple(place.offset for place in wanted.placements)
            assert (ours.peak, ours.bound) == (wanted.pools[0].peak, wanted.pools[0].bound)
            assert (ours.solver, ours.work) == (wanted.solver, wanted.work)


def test_tiny_problems_are_solved_as_brute_force_does() -> None:
    rng = Random(11)
    statuses = set()
    for _ in range(1200):
        problem = random_problem(rng)
        if len(problem.pools) > 1 or problem.pools[0].base is not None:
            continue
        if problem.pools[0].alignment != 1 or any(
            buffer.lifetime in (None, ALWAYS) and not buffer.lifetimes for buffer in problem.buffers
        ):
            continue
        problem = replace(problem, objective=("peak",), reuse_costs=())
        status, vector = best(problem)
        ours = native_of(problem).solve()
        statuses.add(status)
        assert (ours.status, (ours.peak,) if vector else None) == (status, vector)
    assert statuses == {Status.OPTIMAL, Status.INFEASIBLE}


def three() -> Native:
    """Three buffers, of which two are live at once."""
    native = Native()
    native.add([(8, 0, 2, 1), (8, 1, 3, 1), (8, 2, 4, 1)])
    return native


@pytest.mark.parametrize(
    ("call", "arguments", "message"),
    [
        ("set_capacity", (-1,), "a capacity of -1"),
        ("reserve", (-4, 8), "8 bytes that are reserved at -4"),
        ("reserve", (1 << 62, 1), "1 bytes that are reserved at"),
        ("add_lifetime", (3, 0, 1), "there is no buffer 3: the problem has 3"),
        ("add_lifetime", (0, 4, 4), "it must end after its begin"),
        ("pin", (0, -8), "an offset of -8"),
        ("pin", (7, 0), "there is no buffer 7"),
        ("tie", (0, 3, 8), "there is no buffer 3"),
        ("tie", (0, 1, -(1 << 62) - 1), "a distance of -46"),
        ("keep_apart", (1, 1), "buffer 1 twice in one pair"),
        ("never_together", (0, 9), "there is no buffer 9"),
        ("allow_in_place", (9, 0), "there is no buffer 9"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    call: str, arguments: tuple[int, ...], message: str
) -> None:
    native = three()
    with pytest.raises(LibraryError, match=re.escape(message)) as refused:
        native.call(call, *arguments)
    assert refused.value.code == INVALID
    solved = native.solve()
    assert (solved.status, solved.peak, solved.offsets) == (Status.OPTIMAL, 16, three().solve().offsets)


@pytest.mark.parametrize(
    ("buffer", "message"),
    [
        ((-1, 0, 1, 1), "a size of -1"),
        (((1 << 62) + 1, 0, 1, 1), "a size of"),
        ((1, 3, 3, 1), "a lifetime from 3 until 3"),
        ((1, 0, 1, 0), "an alignment of 0"),
    ],
)
def test_no_buffer_is_added_where_one_is_wrong(buffer: tuple[int, int, int, int], message: str) -> None:
    native = three()
    with pytest.raises(LibraryError, match=message):
        native.add([(4, 0, 9, 1), buffer])
    assert LIBRARY.memstow_buffer_count(native.handle) == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": -1.0}, "time_limit"),
        ({"time_limit": float("nan")}, "time_limit"),
        ({"gap": float("nan")}, "gap"),
        ({"flags": 8}, "an unknown flag"),
    ],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(LibraryError, match=message) as refused:
        three().solve(**options)  # type: ignore[arg-type]
    assert refused.value.code == INVALID


def test_options_of_another_version_are_refused() -> None:
    plan_of = ctypes.c_void_p()
    assert LIBRARY.memstow_solve(three().handle, ctypes.byref(RawOptions()), ctypes.byref(plan_of)) == INVALID
    assert plan_of.value is None


def test_nothing_is_done_without_an_object() -> None:
    assert LIBRARY.memstow_problem_create(None) == INVALID
    assert LIBRARY.memstow_set_capacity(None, 4) == INVALID
    assert LIBRARY.memstow_solve(None, None, ctypes.byref(ctypes.c_void_p())) == INVALID
    assert LIBRARY.memstow_judge(None, None, None, None, 0) == INVALID
    for name in ("problem_destroy", "plan_destroy", "stop_destroy", "stop_pull", "options_init"):
        getattr(LIBRARY, f"memstow_{name}")(None)


def test_sizes_that_cannot_be_added_up_are_too_large() -> None:
    native = Native()
    native.add([((1 << 62) - 1, 0, 2, 1), ((1 << 61) + 1, 1, 3, 1), (4, 0, 9, 1)])
    with pytest.raises(LibraryError) as refused:
        native.solve()
    assert refused.value.code == TOO_LARGE


def test_a_problem_without_bytes_has_a_plan() -> None:
    native = Native()
    assert native.solve().offsets == ()
    native.add([(0, 0, 1, 1), (0, 0, 1, 8)])
    native.call("pin", 1, 16)
    assert native.solve().offsets == (0, 16)


def test_a_reserved_range_without_bytes_is_in_nobodys_way() -> None:
    native = three()
    native.call("reserve", 4, 0)
    assert native.solve().peak == 16
    assert native.judge((0, 8, 0)) == 16


def test_what_does_not_fit_is_named() -> None:
    native = three()
    native.call("set_capacity", 15)
    solved = native.solve()
    assert (solved.status, solved.offsets, solved.bound) == (Status.INFEASIBLE, None, 16)
    assert solved.members == (0, 1)
    native = three()
    native.call("set_capacity", 20)
    native.call("pin", 1, 13)
    assert native.solve().members == (1,)


def test_a_stop_ends_a_run_that_has_no_other_end() -> None:
    rng = Random(3)
    native = Native()
    # So many that no search of all plans ends.
    native.add(
        [
            (rng.randint(1, 1000), begin := rng.randint(0, 200), begin + rng.randint(1, 60), 1)
            for _ in range(800)
        ]
    )
    stop = ctypes.c_void_p()
    assert LIBRARY.memstow_stop_create(ctypes.byref(stop)) == 0
    timer = threading.Timer(0.3, LIBRARY.memstow_stop_pull, (stop,))
    timer.start()
    solved = native.solve(flags=0, work_limit=-1, time_limit=100_000.0, stop=stop)
    timer.join()
    LIBRARY.memstow_stop_destroy(stop)
    assert solved.status in PLANNED
    assert native.judge(solved.offsets or ()) == solved.peak


def hard() -> Native:
    """A problem whose first plan is not the best."""
    rng = Random(8)
    native = Native()
    native.add(
        [(rng.randint(1, 99), begin := rng.randint(0, 40), begin + rng.randint(1, 20), 1) for _ in range(60)]
    )
    return native


def test_better_plans_and_bounds_come_as_they_are_found() -> None:
    native, peaks, bounds = hard(), list[int](), list[int]()

    def better(peak: int, offsets: list[int]) -> bool:
        assert native.judge(offsets) == peak
        peaks.append(peak)
        return True

    def bound(value: int) -> bool:
        bounds.append(value)
        return True

    solved = native.solve(on_better=better, on_bound=bound)
    assert len(peaks) > 1
    assert peaks[0] > peaks[-1] == solved.peak
    assert all(value <= solved.peak for value in bounds)


def test_a_callback_ends_the_run() -> None:
    peaks = list[int]()

    def better(peak: int, _: list[int]) -> bool:
        peaks.append(peak)
        return False

    solved = hard().solve(on_better=better)
    assert (solved.status, solved.peak) == (Status.FEASIBLE, peaks[0])
    assert solved.peak > hard().solve().peak


def test_a_plan_that_is_good_enough_ends_the_run() -> None:
    exact, good = hard().solve(), hard().solve(gap=0.5)
    assert good.work < exact.work
    assert (good.peak - good.bound) / good.peak <= 0.5


def test_a_run_starts_from_a_plan_and_not_from_offsets_that_are_none() -> None:
    least = hard().solve()
    again = hard().solve(start=least.offsets, work_limit=0)
    assert (again.peak, again.solver, again.offsets) == (least.peak, "start", least.offsets)
    assert hard().solve(start=[0] * 60).peak == least.peak


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ((0, 8, 4), "an overlap: buffer (1 and buffer 2|2 and buffer 1)"),
        ((-1, 8, 0), "a place beyond the memory: buffer 0"),
        ((0, 20, 0), "a place beyond the memory: buffer 1"),
    ],
)
@pytest.mark.parametrize("with_rules", [False, True])
def test_the_judge_says_what_is_wrong_with_offsets(
    offsets: tuple[int, ...], message: str, with_rules: bool
) -> None:
    native = three()
    native.call("set_capacity", 24)
    if with_rules:
        native.call("reserve", 23, 1)
    with pytest.raises(LibraryError, match=message):
        native.judge(offsets)
    assert native.judge((0, 8, 0)) == 16


def test_the_judge_knows_each_rule() -> None:
    for call, arguments, offsets, message in (
        ("reserve", (4, 2), (0, 8, 16), "a place in a reserved range: buffer 0"),
        ("pin", (1, 16), (0, 8, 0), "an offset that is not the pinned one: buffer 1"),
        ("keep_apart", (0, 2), (0, 8, 0), "an overlap: buffer 0 and buffer 2"),
        ("add_lifetime", (2, 0, 1), (0, 8, 0), "an overlap: buffer 0 and buffer 2"),
        ("allow_in_place", (0, 1), (0, 4, 12), "an overlap: buffer 0 and buffer 1"),
    ):
        native = three()
        native.call(call, *arguments)
        with pytest.raises(LibraryError, match=message):
            native.judge(offsets)
    for call in ("allow_in_place", "never_together"):
        native = three()
        with pytest.raises(LibraryError, match="an overlap"):
            native.judge((0, 0, 8))
        native.call(call, 0, 1)
        assert native.judge((0, 0, 8)) == 16


def tied() -> Native:
    """Two views of one buffer, the second through a buffer without bytes, and one that is live with them."""
    native = Native()
    native.add([(16, 0, 2, 8), (8, 0, 2, 4), (0, 0, 1, 1), (4, 1, 3, 1), (8, 1, 2, 1)])
    native.call("tie", 1, 0, 8)
    native.call("tie", 2, 0, -4)
    native.call("tie", 3, 2, 8)
    return native


def test_what_is_tied_lies_in_one_piece() -> None:
    solved = tied().solve()
    assert (solved.status, solved.peak) == (Status.OPTIMAL, 24)
    whole, half, _, inner, _ = solved.offsets or ()
    assert (half - whole, inner - whole) == (8, 4)
    native = tied()
    native.call("pin", 3, 20)
    assert (native.solve().offsets or ())[:2] == (16, 24)


def test_ties_that_contradict_each_other_are_refused() -> None:
    native = tied()
    native.call("tie", 3, 1, -4)
    with pytest.raises(LibraryError, match="buffer 3 is tied to buffer 1 at another distance already"):
        native.call("tie", 3, 1, 0)
    native.call("keep_apart", 0, 1)
    with pytest.raises(LibraryError, match="buffer 0 and buffer 1 may share no byte, but are tied so"):
        native.solve()


def test_a_group_without_a_place_is_named() -> None:
    for call, arguments in (("set_capacity", (15,)), ("pin", (3, 0)), ("tie", (4, 0, 1))):
        native = tied()
        native.call(call, *arguments)
        if call == "tie":
            native.call("pin", 4, 8)
        solved = native.solve()
        members = (0, 1, 3, 4) if call == "tie" else (0, 1, 3)
        assert (solved.status, solved.members, solved.bound) == (Status.INFEASIBLE, members, 16)


@pytest.mark.parametrize(
    ("offsets", "message"),
    [
        ((0, 4, 0, 4, 16), "another distance than that of the tie: buffer 0 and buffer 1"),
        ((0, 8, 0, 0, 16), "another distance than that of the tie: buffer 0 and buffer 3"),
        ((0, 8, 0, 4, 8), "an overlap: buffer 0 and buffer 4"),
    ],
)
def test_the_judge_measures_ties(offsets: tuple[int, ...], message: str) -> None:
    assert tied().judge((0, 8, 40, 4, 16)) == 24
    with pytest.raises(LibraryError, match=message):
        tied().judge(offsets)
    native = tied()
    native.call("keep_apart", 0, 3)
    with pytest.raises(LibraryError, match="an overlap: buffer 0 and buffer 3"):
        native.judge((0, 8, 0, 4, 16))


def test_versions_are_those_of_the_package() -> None:
    assert LIBRARY.memstow_version().decode() == memstow.__version__
    header = HEADER.read_text(encoding="utf-8")
    declared = re.search(r"#define MEMSTOW_ABI_VERSION (\d+)", header)
    assert declared is not None
    assert LIBRARY.memstow_abi_version() == int(declared[1])


def test_the_first_bound_is_told_as_well() -> None:
    bounds = list[int]()

    def note(bound: int) -> bool:
        bounds.append(bound)
        return True

    solved = three().solve(on_bound=note)
    assert solved.status is Status.OPTIMAL
    assert bounds[-1:] == [solved.peak]
