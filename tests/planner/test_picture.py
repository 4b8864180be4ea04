"""Pictures in text."""

from planner.picture import ASCII, UNICODE, chart, layout
from planner.plan import Placement, Plan, Status
from planner.pressure import profile
from planner.problem import Buffer, Pool, Problem, Reserved


def _problem(*buffers: tuple[str, int, int, int], pool: Pool | None = None) -> Problem:
    made = tuple(Buffer(id=name, size=size, lifetime=(begin, end)) for name, begin, end, size in buffers)
    return Problem(version=1, buffers=made, pools=(pool or Pool(id="memory"),))


def _plan(**offsets: int) -> Plan:
    placements = tuple(Placement(buffer=name, pool="memory", offset=at) for name, at in offsets.items())
    return Plan(status=Status.FEASIBLE, placements=placements)


def test_a_small_plan_is_drawn_to_the_letter() -> None:
    problem = _problem(("x", 0, 2, 4), ("y", 1, 2, 4), ("z", 2, 4, 8))
    drawn = layout(problem, _plan(x=0, y=4, z=0), problem.pools[0], 23, 2, ASCII)
    assert drawn == [
        "       8 B     bbbbcccc",
        "       4 B aaaaaaaacccc",
        "      time 0 -------- 4",
        "           c z 8 B",
        "           a x 4 B",
        "           b y 4 B",
    ]


def test_what_is_reserved_is_hatched() -> None:
    pool = Pool(id="memory", reserved=(Reserved(offset=0, size=4),))
    problem = _problem(("x", 0, 2, 4), pool=pool)
    drawn = layout(problem, _plan(x=4), pool, 23, 2, ASCII)
    assert drawn[1] == "       4 B ////////////"


def test_many_buffers_are_shades_of_how_full_a_cell_is() -> None:
    problem = _problem(*((f"b{i}", 0, 1, 2) for i in range(60)))
    plan = _plan(**{f"b{i}": 4 * i for i in range(60)})
    drawn = layout(problem, plan, problem.pools[0], 41, 4, UNICODE)
    # Every other pair of bytes is free, so no cell is more than half full but for rounding.
    assert {c for line in drawn[:4] for c in line[11:]} <= {"▒", "▓"}


def test_buffers_in_other_pools_and_of_no_size_are_left_out() -> None:
    problem = _problem(("x", 0, 2, 4), ("y", 0, 2, 0))
    assert layout(problem, _plan(y=0), problem.pools[0], 40, 4, ASCII) == []
    assert layout(problem, _plan(), problem.pools[0], 40, 4, ASCII) == []


def test_no_lifetimes_no_picture() -> None:
    problem = Problem(version=1, buffers=(Buffer(id="x", size=4),))
    assert layout(problem, _plan(x=0), problem.pools[0], 40, 4, ASCII) == []
    assert chart(profile(problem.buffers), 40, 4, ASCII) == []


def test_a_chart_reaches_the_top_where_the_most_is_live() -> None:
    problem = _problem(("x", 0, 1, 1), ("y", 1, 2, 8))
    assert chart(profile(problem.buffers), 21, 2, UNICODE) == [
        "       8 B      █████",
        "       4 B ▂▂▂▂▂█████",
        "      time 0 ────── 2",
    ]


def test_pictures_of_a_hundred_thousand_buffers_stay_small_and_quick() -> None:
    count = 100_000
    problem = _problem(*((f"b{i}", i, i + 20, 1 + i % 7) for i in range(count)))
    plan = _plan(**{f"b{i}": (i % 40) * 8 for i in range(count)})
    drawn = layout(problem, plan, problem.pools[0], 80, 12, UNICODE)
    drawn += chart(profile(problem.buffers), 80, 10, UNICODE)
    assert len(drawn) < 40
    assert max(map(len, drawn)) <= 80


def test_times_and_addresses_of_any_size_fit() -> None:
    problem = _problem(("x", -(10**30), 10**30, 1 << 62), ("y", 0, 1, 1))
    drawn = layout(problem, _plan(x=0, y=1 << 62), problem.pools[0], 80, 12, UNICODE)
    assert drawn[0].startswith("     4 EiB")
