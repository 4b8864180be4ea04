"""Bounds from windows of time: never above the optimum, and accepted only where they are shown."""

import json
from array import array
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from memstow.planner import formats
from memstow.planner.check import find_issues
from memstow.planner.judge._judge import Room, room_for
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.plan import ExhaustedWindow, Explanation, LiveBytes, gap_of
from memstow.planner.model.problem import PEAK, Buffer, InPlace, Pool, Problem, Relative, term_of
from memstow.planner.plain.column_documents import PlainPlan, columns_in, write_plan
from memstow.planner.plain.column_documents import problem_of as problem_of_columns
from memstow.planner.reading.parse import parse_plan
from memstow.planner.reduce import reduce
from memstow.planner.solve import engine, one_run
from memstow.planner.solve.column_plans import plan_columns
from memstow.planner.solve.portfolio import Stage
from memstow.planner.solve.problem_plans import window_of_reduction
from memstow.planner.verify import Code, Standing, Subject, judge
from memstow.planner.verify.layout import ProblemIndex
from memstow.planner.verify.peak_bounds import reason_against_window
from memstow.planner.verify.verdict import STEPS_OF_A_VERDICT, Findings, TooMuch
from memstow.solvers import _native
from memstow.solvers import solver as solvers
from memstow.solvers.one_pool import Windows
from memstow.solvers.registry import native_solver
from tests.campaign import gate_first
from tests.problems import random_problem
from tests.referee import best

Life = tuple[int, int, int]
"""Size, begin, end."""

# At most 15 bytes live at any moment, and no layout of 15: found by chance, checked by three searches.
ABOVE_LIVE: tuple[Life, ...] = (
    *(
        (6, 0, 1),
        (1, 0, 2),
        (6, 1, 2),
        (7, 0, 3),
        (6, 2, 4),
        (4, 4, 5),
        (1, 3, 5),
        (1, 3, 5),
        (1, 0, 6),
        (6, 5, 6),
    ),
    *((2, 4, 7), (2, 7, 8), (1, 2, 9), (5, 3, 9), (4, 6, 10), (2, 8, 10), (3, 6, 10), (1, 9, 10), (4, 9, 10)),
    (1, 9, 10),
)


def problem_of(lives: Sequence[Life], *, times: int = 1, **more: Any) -> Problem:
    buffers = tuple(
        Buffer(id=f"b{i}", size=size * times, lifetime=(begin, end), alignment=times)
        for i, (size, begin, end) in enumerate(lives)
    )
    return Problem(version=1, buffers=buffers, **more)


def whole(problem: Problem, begin: int = 0, end: int = 10) -> ExhaustedWindow:
    names = tuple(buffer.id for buffer in problem.buffers)
    return ExhaustedWindow(solver="test", pool="memory", begin=begin, end=end, buffers=names)


def against(
    problem: Problem, bound: int, window: ExhaustedWindow, term: str = "peak", steps: int = 10**6
) -> str | None:
    findings = Findings()
    reason = reason_against_window(ProblemIndex(problem, findings), term_of(term), bound, window, steps)
    assert not findings.total
    return reason


def room(lives: Sequence[Life], height: int, steps: int = 10**7) -> Room:
    sizes, begins, ends = (array("q", column) for column in zip(*lives, strict=True))
    return room_for(sizes, begins, ends, height, steps)


def lowest(lives: Sequence[Life]) -> int:
    """The least height: each order of the buffers, each as low as it can be."""
    least = sum(size for size, _, _ in lives)

    def place(left: frozenset[int], placed: tuple[tuple[int, int, int, int], ...], top: int) -> None:
        nonlocal least
        if top >= least:
            return
        if not left:
            least = top
            return
        for i in left:
            size, begin, end = lives[i]
            offset = 0
            for low, high, first, last in sorted(placed):
                if first < end and begin < last and low < offset + size and offset < high:
                    offset = high
            place(left - {i}, (*placed, (offset, offset + size, begin, end)), max(top, offset + size))

    place(frozenset(range(len(lives))), (), 0)
    return least


def full_rows(rng: Random, count: int, height: int) -> list[Life]:
    """Lives that fill every moment: what ends makes room for what begins, of any sizes."""
    live: list[tuple[int, int]] = []
    done: list[Life] = []
    room, time = height, 0
    while True:
        while room:
            size = rng.randint(1, max(1, min(room, height // 2)))
            live.append((size, time))
            room -= size
        time += 1
        if len(done) + len(live) >= count:
            return done + [(size, begin, time) for size, begin in live]
        for _ in range(rng.randint(1, min(3, len(live)))):
            size, begin = live.pop(rng.randrange(len(live)))
            done.append((size, begin, time))
            room += size


def random_lives(rng: Random, most: int) -> list[Life]:
    horizon, largest = rng.randint(1, 7), rng.choice((3, 9))
    lives = []
    for _ in range(rng.randint(1, most)):
        begin = rng.randrange(horizon)
        lives.append((rng.randint(1, largest), begin, rng.randint(begin + 1, horizon)))
    return lives


@pytest.mark.parametrize("seed", gate_first(range(4), 1))
def test_the_search_of_the_judge_agrees_with_every_order(seed: int) -> None:
    rng = Random(seed)
    for _ in range(150):
        lives = random_lives(rng, 6)
        least = lowest(lives)
        for height in range(max(least - 2, 0), least + 2):
            assert room(lives, height) is (Room.SOME if height >= least else Room.NONE)


def test_the_search_of_the_judge_agrees_with_the_engine_above_live_bytes() -> None:
    rng, above = Random(4), 0
    for _ in range(60):
        lives = full_rows(rng, rng.randint(18, 30), rng.randint(10, 16))
        result = engine.plan(problem_of(lives), Options(deterministic=True, work_limit=3_000_000)).objective[
            0
        ]
        if result.value != result.bound:
            continue
        assert room(lives, result.value) is Room.SOME
        assert room(lives, result.value - 1) is Room.NONE
        above += not isinstance(result.certificate, LiveBytes)
    assert above


def test_a_search_with_few_steps_is_too_much() -> None:
    assert room(ABOVE_LIVE, 15) is Room.NONE
    assert room(ABOVE_LIVE, 15, 500) is Room.TOO_MUCH
    problem = problem_of(ABOVE_LIVE)
    with pytest.raises(TooMuch):
        against(problem, 16, whole(problem), steps=500)


def test_a_deep_search_is_too_much_before_it_takes_much_memory() -> None:
    # A ladder of 3,000 steps, in which each buffer is laid in only one way: a state of 48 KB for each.
    assert room([(1, i, i + 3_000) for i in range(3_000)], 3_001, 10**12) is Room.TOO_MUCH


def test_windows_share_the_steps_of_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    request: list[int] = []

    def note(_index: object, _term: object, _bound: int, _window: ExhaustedWindow, steps: int) -> None:
        request.append(steps)

    monkeypatch.setattr("memstow.planner.verify.problem_verdict.reason_against_window", note)
    pools = (Pool(id="a"), Pool(id="b"))
    buffers = tuple(Buffer(id=pool.id, size=4, lifetime=(0, 1), pools=(pool.id,)) for pool in pools)
    problem = Problem(version=1, buffers=buffers, pools=pools, objective=("peak:a", "peak:b"))
    plan = engine.plan(problem)
    claims = tuple(
        replace(
            claim,
            certificate=ExhaustedWindow(solver="test", pool=pool.id, begin=0, end=1, buffers=(pool.id,)),
        )
        for claim, pool in zip(plan.objective, pools, strict=True)
    )
    assert judge(problem, replace(plan, objective=claims)).valid
    assert len(request) == 2
    assert sum(request) <= STEPS_OF_A_VERDICT


def test_a_window_proves_more_than_live_bytes() -> None:
    problem = problem_of(ABOVE_LIVE)
    for term in ("peak", "max_peak", "peak:memory"):
        assert against(problem, 16, whole(problem), term) is None
        assert against(problem, 17, whole(problem), term) == "in the window these buffers have a lower layout"
    aligned = problem_of(ABOVE_LIVE, times=64)
    assert against(aligned, 16 * 64, whole(aligned)) is None
    assert against(aligned, 16 * 64 + 1, whole(aligned)) is not None


@pytest.mark.parametrize("later", [1 << 63, 10**30, -(1 << 70)])
def test_times_of_any_size_are_compared_alone(later: int) -> None:
    problem = problem_of([(size, begin + later, end + later) for size, begin, end in ABOVE_LIVE])
    window = whole(problem, later, later + 10)
    assert against(problem, 16, window) is None
    assert against(problem, 17, window) == "in the window these buffers have a lower layout"


def test_what_spans_the_window_adds_its_size() -> None:
    problem = problem_of(((100, -5, 20), *ABOVE_LIVE, (7, 30, 40)))
    window = replace(whole(problem), buffers=tuple(f"b{i}" for i in range(len(ABOVE_LIVE) + 1)))
    assert against(problem, 116, window) is None
    assert against(problem, 117, window) is not None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"buffers": ("b0", "b0")}, "it names a buffer twice"),
        ({"buffers": ()}, "it names no buffer"),
        ({"buffers": ("b0", "x")}, "'x' is not a buffer of the problem"),
        ({"pool": "x"}, "'x' is not a pool of the problem"),
        ({"begin": 10}, "the window ends before it has begun"),
        ({"begin": 1}, "'b0' does not live once in the window"),
    ],
)
def test_a_window_about_something_else_proves_nothing(change: dict[str, Any], message: str) -> None:
    problem = problem_of(ABOVE_LIVE)
    assert against(problem, 16, replace(whole(problem), **change)) == message


def test_buffers_that_may_share_or_be_elsewhere_prove_nothing() -> None:
    plain = problem_of(ABOVE_LIVE)
    window = whole(plain)
    assert against(replace(plain, exclusive=(("b3", "b0"),)), 16, window) is not None
    # These two never meet.
    assert against(replace(plain, exclusive=(("b0", "b2"),)), 16, window) is None
    pair = (InPlace(input="b0", output="b3"),)
    assert against(replace(plain, in_place=pair), 16, window) is not None
    tied = (Relative(buffer="b3", base="b0", offset=0),)
    assert against(replace(plain, relative=tied), 16, window) is not None
    pools = (Pool(id="memory"), Pool(id="other"))
    assert against(replace(plain, pools=pools), 16, window) == "'b0' need not be in 'memory'"
    assert against(plain, 16, window, "placement_cost") == "a window says nothing about placement_cost"


def bound_of(problem: Problem) -> tuple[int, ExhaustedWindow | None]:
    """What windows show of a problem when nothing is known before: at least 1."""
    reduction = reduce(problem)
    assert not isinstance(reduction, Explanation)
    result = _native.window_bound(reduction.instance.native, 1, 1 << 40, _native.Budget(-1.0, 20_000_000))
    if not result.bound:
        return 0, None
    window = solvers.Window(result.first, result.last, tuple(result.parts))
    value = result.bound * reduction.unit
    return value, window_of_reduction(reduction, window, PEAK, value, "windows")


def test_no_bound_of_a_window_is_above_the_optimum_whatever_is_asked() -> None:
    rng, result = Random(2), 0
    for _ in range(1_500):
        problem = replace(random_problem(rng), objective=("peak",))
        if len(problem.pools) > 1 or find_issues(problem) or isinstance(reduce(problem), Explanation):
            continue
        status, least = best(problem)
        bound, _ = bound_of(problem)
        if status is Status.OPTIMAL and least is not None:
            result += bound > 0
            assert bound <= least[0]
    assert result


@pytest.mark.parametrize("seed", gate_first(range(3), 1))
def test_no_bound_of_a_window_is_above_the_optimum_of_many_lives(seed: int) -> None:
    rng, met = Random(seed), 0
    for _ in range(150):
        lives = random_lives(rng, 6) if rng.random() < 0.7 else full_rows(rng, 7, rng.randint(4, 9))
        if len(lives) > 8:
            continue
        times = rng.choice((1, 4))
        least = lowest(lives) * times
        bound, window = bound_of(problem_of(lives, times=times))
        assert bound <= least
        met += bound == least
        assert not bound or window is not None
    assert met


def test_sizes_off_the_grid_do_not_raise_a_bound_too_far() -> None:
    rng = Random(9)
    for _ in range(150):
        problem = Problem(
            version=1,
            pools=(Pool(id="memory", capacity=64),),
            buffers=tuple(
                Buffer(
                    id=f"b{i}",
                    size=rng.randint(1, 7),
                    lifetime=(begin := rng.randrange(4), begin + rng.randint(1, 3)),
                    alignment=rng.choice((2, 4, 4)),
                )
                for i in range(rng.randint(1, 5))
            ),
        )
        _, least = best(problem)
        assert least is not None
        bound, _ = bound_of(problem)
        assert bound <= least[0]


def test_the_top_of_a_layout_may_be_a_part_of_a_cell() -> None:
    sizes = {"a": 5, "b": 4}
    buffers = tuple(Buffer(id=name, size=size, lifetime=(0, 10), alignment=4) for name, size in sizes.items())
    problem = Problem(buffers=buffers)
    assert best(problem)[1] == (9,)  # b [0, 4), a [4, 9)
    assert against(problem, 9, whole(problem)) is None
    assert against(problem, 10, whole(problem)) == "in the window these buffers have a lower layout"


def test_a_buffer_that_lives_twice_is_left_out() -> None:
    twice = Buffer(id="twice", size=50, lifetimes=((0, 2), (5, 7)))
    problem = problem_of(ABOVE_LIVE)
    bound, window = bound_of(replace(problem, buffers=(*problem.buffers, twice)))
    assert window is not None
    assert "twice" not in window.buffers
    assert bound == 16


@pytest.fixture
def only_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """No turns but of greedy and of windows."""
    stages = [Stage(native_solver("greedy"), 1.0, 100_000), Stage(Windows(), 1.0, 100_000_000)]
    monkeypatch.setattr(one_run, "stages_for", lambda _requested, _task, _seconds: stages)


def many(seed: int, count: int) -> Problem:
    return problem_of(full_rows(Random(seed), count, 16), times=64)


@pytest.mark.usefixtures("only_windows")
@pytest.mark.parametrize("count", [400, 2_600])
def test_a_run_raises_the_bound_and_the_judge_checks_it(count: int) -> None:
    problem = many(1, count)
    plan = engine.plan(problem, Options(deterministic=True, work_limit=200_000_000))
    term = plan.objective[0]
    assert term.bound == 17 * 64
    assert isinstance(term.certificate, ExhaustedWindow)
    assert plan.prover == "windows"
    assert term.value > term.bound
    verdict = judge(problem, plan)
    assert verdict.valid
    claims = {claim.subject: claim for claim in verdict.claims}
    assert claims[Subject.BOUND].standing is Standing.CHECKED
    assert claims[Subject.BOUND].by == "window"
    assert claims[Subject.POOL_BOUND].standing is Standing.CHECKED
    higher = replace(term, bound=term.bound + 64, gap=gap_of(term.value, term.bound + 64))
    forged = replace(plan, objective=(higher,))
    assert Code.CERTIFICATE in {violation.code for violation in judge(problem, forged).violations}


@pytest.mark.usefixtures("only_windows")
def test_a_plan_in_columns_says_the_same() -> None:
    problem = many(1, 2_600)
    text = formats.write_problem(problem, "csv")
    options = Options(deterministic=True, work_limit=200_000_000)
    columns = columns_in(text, "csv")
    assert columns is not None
    in_columns = plan_columns(columns, options)
    assert isinstance(in_columns, PlainPlan)
    # The same buffers from a file: another name, and no alignment in its columns changes what is said.
    written = json.loads(write_plan(columns, in_columns, "json"))
    certificate = written["objective"][0]["certificate"]
    assert certificate["kind"] == "window"
    assert parse_plan(written).objective[0].certificate == in_columns.frame.objective[0].certificate
    assert judge(problem_of_columns(columns), parse_plan(written)).valid


@pytest.mark.usefixtures("only_windows")
def test_a_bound_that_the_judge_cannot_search_stays_a_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = many(1, 400)
    plan = engine.plan(problem, Options(deterministic=True, work_limit=200_000_000))
    assert isinstance(plan.objective[0].certificate, ExhaustedWindow)
    monkeypatch.setattr("memstow.planner.verify.problem_verdict.STEPS_OF_A_VERDICT", 10)
    verdict = judge(problem, plan)
    assert verdict.valid
    claims = {claim.subject: claim for claim in verdict.claims}
    assert claims[Subject.BOUND].standing is Standing.CLAIMED
    assert claims[Subject.BOUND].by.endswith("(windows)")
    assert claims[Subject.POOL_BOUND].standing is Standing.CLAIMED
