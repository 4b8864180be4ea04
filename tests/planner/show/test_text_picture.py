"""Pictures in text."""

import random
import re
import string
from dataclasses import replace

import pytest

from memstow.planner.graph.graph_document import Label
from memstow.planner.model import Status
from memstow.planner.model.plan import Live, Placement, Plan, PoolUse
from memstow.planner.model.problem import ALWAYS, Buffer, Pool, Problem, Reserved, profile
from memstow.planner.show.formatting import breadth
from memstow.planner.show.text_picture import ASCII, MOST_POOLS, UNICODE, Glyphs, chart, maps


def _problem(*buffers: tuple[str, int, int, int], pools: tuple[Pool, ...] = (Pool(id="memory"),)) -> Problem:
    made = tuple(Buffer(id=name, size=size, lifetime=(begin, end)) for name, begin, end, size in buffers)
    return Problem(version=1, buffers=made, pools=pools)


def _plan(problem: Problem, bound: int = 0, **places: int | tuple[str, int]) -> Plan:
    """These offsets, in the first pool unless one is named."""
    first = problem.pools[0].id
    result = {name: (first, at) if isinstance(at, int) else at for name, at in places.items()}
    sizes = {buffer.id: buffer.size for buffer in problem.buffers}
    uses = tuple(
        PoolUse(
            pool=pool.id,
            capacity=pool.capacity,
            peak=max(
                (at + sizes[name] for name, (where, at) in result.items() if where == pool.id), default=0
            ),
            bound=bound,
            live=Live(bytes=0),
        )
        for pool in problem.pools
    )
    placements = tuple(Placement(buffer=name, pool=where, offset=at) for name, (where, at) in result.items())
    return Plan(status=Status.FEASIBLE, placements=placements, pools=uses)


def test_a_small_plan_is_drawn_to_the_letter() -> None:
    problem = _problem(("x", 0, 2, 4), ("y", 1, 2, 4), ("z", 2, 4, 8))
    assert maps(problem, _plan(problem, x=0, y=4, z=0), 23, 2, ASCII) == [
        "       8 B     bbbbcccc",
        "       4 B aaaaaaaacccc",
        "      time 0 - 1 ---- 4",
        "           a x 4 B",
        "           b y 4 B",
        "           c z 8 B",
    ]


def test_what_is_reserved_is_hatched_and_told() -> None:
    pools = (Pool(id="memory", reserved=(Reserved(offset=0, size=4),)),)
    problem = _problem(("x", 0, 2, 4), pools=pools)
    drawn = maps(problem, _plan(problem, x=4), 23, 2, ASCII)
    assert drawn[1] == "       4 B ////////////"
    assert drawn[-1] == "           / reserved"


def test_many_buffers_are_shades_of_how_full_a_cell_is_and_the_shades_are_told() -> None:
    problem = _problem(*((f"b{i}", 0, 1, 2) for i in range(60)))
    drawn = maps(problem, _plan(problem, **{f"b{i}": 4 * i for i in range(60)}), 41, 4, UNICODE)
    # Every other pair of bytes is free, so no cell is more than half full but for rounding.
    assert {c for line in drawn[:4] for c in line[11:]} <= {"▒", "▓"}
    output = " ".join(line.strip() for line in drawn[5:])
    assert output == (
        "in use at a column's busiest moment: ░ to 25 %, ▒ to 50 %, ▓ to 75 %, █ more; 60 buffers without a "
        "letter: --output plan.csv lists them"
    )


def _staircase(count: int) -> tuple[Problem, Plan]:
    """So many buffers, each of which has cells of its own."""
    problem = _problem(*((f"layer{i}/output", i, i + 1, 4 + i) for i in range(count)))
    return problem, _plan(problem, **{f"layer{i}/output": 0 for i in range(count)})


@pytest.mark.parametrize("count", [1, 5, 30, 52])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_every_letter_of_the_picture_is_in_the_legend(count: int, width: int) -> None:
    problem, plan = _staircase(count)
    drawn = maps(problem, plan, width, 12, UNICODE)
    axis = next(i for i, line in enumerate(drawn) if line.lstrip().startswith("time "))
    used = {cell for line in drawn[:axis] for cell in line[11:]} & set(string.ascii_letters)
    assert len(used) == min(count, width - 11)
    legend = {
        name: (letter, size)
        for line in drawn[axis + 1 :]
        for letter, name, size in re.findall(r"([A-Za-z]) (layer\d+/output) +(\d+) B", line)
    }
    letters = string.ascii_lowercase + string.ascii_uppercase
    assert legend == {f"layer{i}/output": (letters[i], str(4 + i)) for i in range(count)}
    assert used <= {letter for letter, _ in legend.values()}
    assert max(map(len, drawn)) <= width


@pytest.mark.parametrize("count", [53, 100, 1000])
@pytest.mark.parametrize("width", [60, 80, 200])
def test_where_letters_run_out_it_is_said_where_buffers_are_listed(count: int, width: int) -> None:
    drawn = maps(*_staircase(count), width, 12, UNICODE)
    output = " ".join(line.strip() for line in drawn)
    assert f"{count:,} buffers without a letter: --output plan.csv lists them" in output
    assert len(drawn) <= 16


def test_the_legend_says_what_buffers_are_and_ends_with_the_end_of_their_names() -> None:
    problem = _problem(("7", 0, 2, 4096), ("12", 1, 3, 96))
    labels = {
        "7": Label("CONV_2D int8 [1,8,8,64]", "net/" + "block/" * 9 + "Relu6"),
        "12": Label("RESHAPE int8 [1,96]"),
    }
    plan = _plan(problem, **{"7": 0, "12": 4096})
    assert maps(problem, plan, 70, 2, ASCII, labels)[-2:] == [
        "           a 7  4 KiB  CONV_2D int8 [1,8,8,64] ...ck/block/block/Relu6",
        "           b 12  96 B  RESHAPE int8 [1,96]",
    ]
    assert maps(problem, plan, 44, 2, ASCII, labels)[-2:] == [
        "           a 7  4 KiB  CONV_2D int8 [1,8,...",
        "           b 12  96 B  RESHAPE int8 [1,96]",
    ]
    assert maps(problem, plan, 26, 2, ASCII, labels)[-2:] == [
        "           a 7  4 KiB",
        "           b 12  96 B",
    ]


def test_of_many_buffers_the_largest_are_told_where_it_is_known_what_they_are() -> None:
    problem, plan = _staircase(100)
    labels = {"layer99/output": Label("ADD int8 [103]"), "layer98/output": Label("\x1b[2J")}
    drawn = maps(problem, plan, 80, 12, ASCII, labels)
    at = next(i for i, line in enumerate(drawn) if line.startswith("   largest "))
    assert drawn[at] == "   largest layer99/output 103 B  ADD int8 [103]"
    assert drawn[at + 1] == "           layer98/output 102 B  \\x1b[2J"
    assert drawn[at + 11] == "           layer88/output  92 B"
    assert "layer87" not in "".join(drawn)


def test_buffers_of_no_size_are_left_out() -> None:
    problem = _problem(("x", 0, 2, 4), ("y", 0, 2, 0))
    assert maps(problem, _plan(problem, y=0), 40, 4, ASCII) == []
    assert maps(problem, _plan(problem), 40, 4, ASCII) == []


def test_buffers_without_lifetimes_stand_side_by_side() -> None:
    buffers = tuple(Buffer(id=name, size=4) for name in "xyz")
    problem = Problem(version=1, buffers=buffers, conflicts=(("x", "y"),))
    assert maps(problem, _plan(problem, x=0, y=4, z=0), 23, 2, ASCII)[:3] == [
        "       8 B     bbbb",
        "       4 B aaaa    cccc",
        "           no lifetimes: side by side",
    ]
    assert chart(profile(problem.buffers), 40, 4, ASCII) == []


def test_what_is_always_live_fills_the_width() -> None:
    problem = Problem(version=1, buffers=(Buffer(id="x", size=4, lifetime=ALWAYS),))
    assert maps(problem, _plan(problem, x=0), 16, 1, ASCII)[:2] == [
        "       4 B aaaaa",
        "           always live",
    ]


def test_all_pools_are_on_one_time_axis_and_letters_are_used_once() -> None:
    problem = _problem(
        ("x", 0, 10, 4),
        ("y", 10, 20, 4),
        ("z", 30, 40, 4),
        pools=(Pool(id="fast", capacity=80), Pool(id="slow")),
    )
    drawn = maps(problem, _plan(problem, x=0, y=("slow", 0), z=("slow", 0)), 51, 1, ASCII)
    assert drawn == [
        "fast: 4 B of 80 B",
        "       4 B aaaaaaaaaa",
        "      time 0 ------- 10 ------ 20 ------ 30 ---- 40",
        "           a x 4 B",
        "",
        "slow: 4 B",
        "       4 B           bbbbbbbbbb          cccccccccc",
        "      time 0 ------- 10 ------ 20 ------ 30 ---- 40",
        "           b y 4 B   c z 4 B",
    ]


def test_a_pool_of_many_buffers_leaves_its_letters_to_the_others() -> None:
    pools = (Pool(id="many"), Pool(id="few"))
    problem = _problem(*((f"b{i}", i, i + 1, 2) for i in range(60)), ("x", 0, 60, 4), pools=pools)
    drawn = maps(problem, _plan(problem, **{f"b{i}": 0 for i in range(60)}, x=("few", 0)), 71, 1, ASCII)
    assert drawn[1] == "       2 B " + "#" * 60
    assert drawn[5] == "       4 B " + "a" * 60


def test_bound_and_capacity_are_lines() -> None:
    problem = _problem(("x", 0, 1, 12), ("y", 1, 2, 2), pools=(Pool(id="memory", capacity=14),))
    drawn = maps(problem, _plan(problem, 5, x=0, y=0), 15, 6, ASCII)
    assert drawn[:8] == [
        "  capacity ====",
        "",
        "      12 B aa",
        "           aa",
        "       8 B aa",
        "     bound aa~~",
        "           aa",
        "           aabb",
    ]


def test_a_capacity_far_above_is_not_drawn_and_neither_is_a_bound_that_is_met() -> None:
    problem = _problem(("x", 0, 1, 12), pools=(Pool(id="memory", capacity=140),))
    text = "\n".join(maps(problem, _plan(problem, 12, x=0), 15, 6, ASCII))
    assert "capacity" not in text
    assert "bound" not in text


def test_a_chart_reaches_the_top_where_the_most_is_live() -> None:
    problem = _problem(("x", 0, 1, 1), ("y", 1, 2, 8))
    assert chart(profile(problem.buffers), 21, 2, UNICODE) == [
        "       8 B      █████",
        "       4 B ▂▂▂▂▂█████",
        "      time 0 ── 1 ─ 2",
    ]


def test_a_column_shows_the_busiest_of_its_moments() -> None:
    problem = _problem(*((f"b{i}", i, i + 1, 8 if i == 57 else 1) for i in range(100)))
    top, *_ = chart(profile(problem.buffers), 21, 4, ASCII)
    assert top == "       8 B      #"
    drawn = maps(problem, _plan(problem, **{f"b{i}": 0 for i in range(100)}), 21, 4, ASCII)
    assert drawn[0] == "       8 B      #"
    assert drawn[3] == "           :::::#::::"


@pytest.mark.parametrize("seed", range(10))
def test_times_on_the_axis_are_round_and_stand_where_their_columns_begin(seed: int) -> None:
    chance = random.Random(seed)
    begins = [chance.randrange(1000) for _ in range(200)]
    problem = _problem(*((f"b{i}", begin, begin + 7, 1) for i, begin in enumerate(begins)))
    line = chart(profile(problem.buffers), 80, 2, ASCII)[-1]
    times = sorted({*begins, *(begin + 7 for begin in begins)})
    result = [(int(one[0].replace(",", "")), one.start() - 11) for one in re.finditer(r"[\d,]+", line)]
    assert result[0] == (times[0], 0)
    assert result[-1][0] == times[-1]
    assert len(line) == 80
    assert len(result) > 4
    for value, column in result[1:-1]:
        assert value % 100 == 0
        steps = len(times) - 1
        # A step or more in every column, so a column begins at the first of its steps.
        assert times[column * steps // 69] <= value < times[(column + 1) * steps // 69]


def test_columns_that_share_a_step_have_equal_parts_of_it() -> None:
    line = chart(profile(_problem(("x", 0, 100, 1)).buffers), 111, 1, ASCII)[-1]
    assert [line.index(f" {time} ") + 1 - 11 for time in (20, 40, 60, 80)] == [20, 40, 60, 80]


@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("glyphs", [ASCII, UNICODE])
def test_nothing_is_wider_than_asked(width: int, glyphs: Glyphs) -> None:
    pools = (
        Pool(id="p" * 200, capacity=1 << 40, reserved=(Reserved(offset=0, size=1),)),
        Pool(id="多" * 10, capacity=700),
    )
    few = tuple(Buffer(id="名" * 30 + str(i), size=100 + i, lifetime=(i, i + 9)) for i in range(30))
    many = tuple(Buffer(id=f"m{i}", size=3, lifetime=(-(10**30) + i, 10**30)) for i in range(99))
    problem = Problem(version=1, pools=pools, buffers=(*few, *many))
    places: dict[str, int | tuple[str, int]] = {b.id: (pools[1].id, i * 140) for i, b in enumerate(few)}
    places |= {buffer.id: 1 + i * 3 for i, buffer in enumerate(many)}
    drawn = maps(problem, _plan(problem, 7, **places), width, 12, glyphs)
    assert max(map(breadth, drawn)) <= width


@pytest.mark.campaign
def test_pictures_of_a_hundred_thousand_buffers_stay_small_and_quick() -> None:
    count = 100_000
    problem = _problem(*((f"b{i}", i, i + 20, 1 + i % 7) for i in range(count)))
    plan = _plan(problem, **{f"b{i}": (i % 40) * 8 for i in range(count)})
    drawn = maps(problem, plan, 80, 12, UNICODE)
    drawn += chart(profile(problem.buffers), 80, 10, UNICODE)
    assert len(drawn) < 40
    assert max(map(len, drawn)) <= 80


def test_times_and_addresses_of_any_size_fit() -> None:
    problem = _problem(("x", -(10**30), 10**30, (1 << 62) - 1), ("y", 0, 1, 1))
    drawn = maps(problem, _plan(problem, x=0, y=(1 << 62) - 1), 80, 12, UNICODE)
    assert drawn[0].startswith("     4 EiB")
    assert drawn[-2].startswith("      time -1e30 ─")
    assert drawn[-2].endswith("─ 1e30")


def test_pools_beyond_the_first_are_counted() -> None:
    count = MOST_POOLS + 3
    problem = _problem(*((f"b{i}", 0, 1, 4) for i in range(count)))
    problem = replace(problem, pools=tuple(Pool(id=f"p{i}") for i in range(count)))
    places: dict[str, int | tuple[str, int]] = {f"b{i}": (f"p{i}", 0) for i in range(count)}
    drawn = maps(problem, _plan(problem, 0, **places), 40, 2, ASCII)
    assert drawn[-1] == "(3 more pools are not pictured)"
    assert len([line for line in drawn if line.startswith("p")]) == MOST_POOLS
