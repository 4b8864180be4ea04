"""Pictures as SVG."""

import re
from dataclasses import replace

import pytest

from memstow.planner.model import Status
from memstow.planner.model.plan import Live, Placement, Plan, PoolUse
from memstow.planner.model.problem import ALWAYS, Buffer, Pool, Problem, Reserved
from memstow.planner.show import svg_picture
from memstow.planner.show.drawing import DARK, DARK_RAMP, LEVELS, RAMP, shade
from memstow.planner.show.svg import in_both_lights
from memstow.planner.show.svg_picture import (
    ACROSS,
    LEFT,
    MOST_BOXES,
    MOST_POOLS,
    MOST_TOOLTIPS,
    READABLE,
    RIGHT,
    THUMBNAIL,
    svg,
    thumbnail,
)
from tests.api.cli.fakes import stacked
from tests.planner.show.drawn import Drawing, Shape

_FULL = {shade(colour, level): level / LEVELS for colour in RAMP for level in range(1, LEVELS + 1)}


def _plan(problem: Problem, places: dict[str, tuple[str, int]], bounds: dict[str, int] | None = None) -> Plan:
    """These places, and what follows from them."""
    sizes = {buffer.id: buffer.size for buffer in problem.buffers}
    peaks = {
        pool.id: max(
            (at + sizes[name] for name, (where, at) in places.items() if where == pool.id), default=0
        )
        for pool in problem.pools
    }
    return Plan(
        status=Status.FEASIBLE,
        placements=tuple(
            Placement(buffer=name, pool=where, offset=at) for name, (where, at) in places.items()
        ),
        pools=tuple(
            PoolUse(
                pool=pool.id,
                capacity=pool.capacity,
                peak=peaks[pool.id],
                bound=(bounds or {}).get(pool.id, 0),
                live=Live(bytes=0),
            )
            for pool in problem.pools
        ),
    )


def _cyclic(count: int, live: int, size: int) -> tuple[Problem, Plan]:
    """Each buffer lives `live` moments and takes the slot of the one that just died."""
    buffers = tuple(Buffer(id=f"b{i}", size=1 + i % size, lifetime=(i, i + live)) for i in range(count))
    problem = Problem(version=1, buffers=buffers)
    return problem, _plan(problem, {f"b{i}": ("memory", i % live * size) for i in range(count)})


def _boxes(problem: Problem, plan: Plan) -> list[str]:
    return Drawing(svg(problem, plan)).titles()


def _covered(shape: Shape) -> float:
    """How high it is, counting of a spot only what is in use."""
    return (shape.bottom - shape.top) * (_FULL[shape.fill] if shape.kind == "shade" else 1.0)


def _map(drawing: Drawing, index: int = 0) -> Shape:
    return drawing.of("map")[index]


def test_every_life_of_every_buffer_is_a_box() -> None:
    problem = Problem(
        version=1,
        pools=(Pool(id="memory", reserved=(Reserved(offset=0, size=2),)),),
        buffers=(
            Buffer(id="a", size=4, lifetimes=((0, 2), (5, 7))),
            Buffer(id="w", size=4, lifetime=ALWAYS),
            Buffer(id="g", size=4),
            Buffer(id="p", size=4, lifetime=(0, 7), pool="memory", offset=12),
            Buffer(id="none", size=0, lifetime=(0, 9)),
        ),
    )
    assert _boxes(problem, stacked(problem)) == [
        "reserved: 2 bytes at 0",
        "a: 4 bytes at 0, live from 0 until 2",
        "a: 4 bytes at 0, live from 5 until 7",
        "w: 4 bytes at 4, always live",
        "g: 4 bytes at 8",
        "p: 4 bytes at 12, live from 0 until 7, pinned",
    ]


def test_a_box_is_where_its_buffer_is() -> None:
    problem = Problem(
        version=1,
        buffers=(Buffer(id="x", size=100, lifetime=(0, 10)), Buffer(id="y", size=50, lifetime=(2, 4))),
    )
    drawing = Drawing(svg(problem, _plan(problem, {"x": ("memory", 0), "y": ("memory", 100)})))
    x, y = drawing.of("box")
    assert (x.left, x.right) == (LEFT, RIGHT)
    assert (y.left, y.right) == (LEFT + ACROSS * 0.2, LEFT + ACROSS * 0.4)
    assert y.bottom == pytest.approx(x.top, abs=0.15)
    assert (x.bottom - x.top) / (y.bottom - y.top) == pytest.approx(2, rel=0.01)
    assert x.bottom == pytest.approx(_map(drawing).bottom, abs=0.15)


def test_names_are_text_and_nothing_else() -> None:
    buffer = Buffer(id='<script>"&\x01', size=4, lifetime=(0, 1))
    problem = Problem(version=1, name="]]><!--", pools=(Pool(id="<&\n>"),), buffers=(buffer,))
    drawing = Drawing(svg(problem, stacked(problem)))
    assert drawing.titles() == ['<script>"&\\x01: 4 bytes at 0, live from 0 until 1']
    assert drawing.says("]]><!--")
    assert drawing.says("<&\\n>")
    assert not [element for element in drawing.root.iter() if "script" in element.tag]


def test_long_names_are_cut_to_their_boxes() -> None:
    buffers = tuple(Buffer(id="n" * 900 + str(i), size=4, lifetime=(i, i + 1)) for i in range(8))
    problem = Problem(version=1, name="n" * 900, pools=(Pool(id="p" * 900),), buffers=buffers)
    text = svg(problem, stacked(problem))
    assert "n" * 201 not in text
    names = [word.text for word in Drawing(text).words if word.text.startswith("nnn")]
    # The title of the picture may be longer than what a box of 100 pixels has room for.
    assert sorted(map(len, names)) == [13] * 8 + [60]


def test_what_is_thin_has_no_rim_that_hides_it() -> None:
    problem, plan = _cyclic(3_000, 40, 7)
    drawing = Drawing(svg(problem, plan))
    assert all(shape.thinner >= READABLE - 0.2 for shape in drawing.of("box", "boxes") if shape.rim)
    assert not any(shape.rim for shape in drawing.of("shade", "summit"))
    assert len(drawing.of("box")) <= MOST_TOOLTIPS


@pytest.mark.parametrize("count", [300, 3_000, 30_000])
def test_every_column_is_as_full_as_memory_is_at_its_busiest_moment(count: int) -> None:
    problem, plan = _cyclic(count, 40, 7)
    drawing = Drawing(svg(problem, plan))
    area = _map(drawing)
    shapes = drawing.of("box", "boxes", "shade")
    scale = (area.bottom - area.top) / (280 + 280 // 25)
    for x in range(LEFT + 30, RIGHT - 30, 97):
        moment = (count + 39) * (x + 0.5 - LEFT) / ACROSS
        # All sums of so many neighbours are alike: the busiest moment of the column is as good as this one.
        live = sum(1 + i % 7 for i in range(count) if i <= moment < i + 40)
        covered = sum(_covered(shape) for shape in shapes if shape.left <= x + 0.5 < shape.right)
        assert covered == pytest.approx(live * scale, rel=0.07)


def test_what_makes_the_peak_is_there_however_thin() -> None:
    low, _ = _cyclic(20_000, 40, 7)
    tower = tuple(Buffer(id=f"t{i}", size=1_000, lifetime=(7_777, 7_778)) for i in range(9))
    problem = replace(low, buffers=(*low.buffers, *tower))
    places = {f"b{i}": ("memory", i % 40 * 7) for i in range(20_000)}
    places |= {f"t{i}": ("memory", 280 + i * 1_000) for i in range(9)}
    drawing = Drawing(svg(problem, _plan(problem, places)))
    area = _map(drawing)
    (peak,) = drawing.lines_of("peak")
    x = LEFT + ACROSS * 7_777.5 / 20_039
    column = [shape for shape in drawing.of("box", "boxes", "shade", "summit") if abs(shape.left - x) <= 1.1]
    assert min(shape.top for shape in column) == pytest.approx(peak.y, abs=1.1)
    assert sum(shape.bottom - shape.top for shape in column if shape.kind == "shade") > 0.9 * (
        area.bottom - peak.y
    )
    assert [shape.thinner for shape in drawing.of("summit")] == [1.0]


def test_what_is_at_the_peak_is_drawn_though_another_moment_is_busier() -> None:
    # Pinned high up, in a pixel whose other moments have more in use.
    buffers = [Buffer(id=f"b{i}", size=100, lifetime=(i, i + 1)) for i in range(4_000)]
    problem = Problem(version=1, buffers=(*buffers, Buffer(id="high", size=1, lifetime=(4_000, 4_001))))
    places = {f"b{i}": ("memory", 0) for i in range(4_000)} | {"high": ("memory", 999)}
    drawing = Drawing(svg(problem, _plan(problem, places)))
    (peak,) = drawing.lines_of("peak")
    (summit,) = drawing.of("summit")
    assert summit.top == pytest.approx(peak.y, abs=0.1)
    assert summit.right == RIGHT


def test_the_caption_counts_what_is_not_a_box() -> None:
    problem, plan = _cyclic(100, 10, 3)
    assert not Drawing(svg(problem, plan)).says("drawn as shade")
    # Two pixels hold a hundred lives of one moment: two of them are seen.
    burst = tuple(Buffer(id=f"x{i}", size=50, lifetime=(i, i + 1)) for i in range(100))
    long = Buffer(id="long", size=50, lifetime=(0, 40_000))
    problem = Problem(version=1, buffers=(*burst, long))
    places = {f"x{i}": ("memory", 50) for i in range(100)} | {"long": ("memory", 0)}
    drawing = Drawing(svg(problem, _plan(problem, places)))
    assert drawing.says("2 thin buffers drawn as shade, each column at the moment when most is live in it")
    assert drawing.says("98 thin buffers are not seen")
    assert len(drawing.of("box")) == 1


def test_a_buffer_seen_in_one_life_is_not_missed_in_another() -> None:
    # Of the moments 35,000 and 35,001, in one pixel, the other is busier.
    long = Buffer(id="long", size=5, lifetimes=((0, 30_000), (35_000, 35_001)))
    burst = Buffer(id="burst", size=9, lifetime=(35_001, 35_002))
    last = Buffer(id="last", size=5, lifetime=(39_000, 40_000))
    problem = Problem(version=1, buffers=(long, burst, last))
    drawing = Drawing(svg(problem, _plan(problem, dict.fromkeys(("long", "burst", "last"), ("memory", 0)))))
    assert drawing.says("1 thin buffer drawn as shade")
    assert not drawing.says("not seen")


def test_what_is_not_seen_is_told_where_nothing_is_shade() -> None:
    # Both long ones are live just before the thin one, in the same pixel.
    buffers = (
        Buffer(id="first", size=9, lifetime=(0, 50_001)),
        Buffer(id="second", size=9, lifetime=(50_000, 100_000)),
        Buffer(id="thin", size=5, lifetime=(50_001, 50_002)),
    )
    problem = Problem(version=1, buffers=buffers)
    places = {"first": ("memory", 0), "second": ("memory", 9), "thin": ("memory", 0)}
    drawing = Drawing(svg(problem, _plan(problem, places)))
    assert drawing.says("1 thin buffer is not seen")
    assert not drawing.says("drawn as shade")


def test_a_burst_in_a_long_quiet_time_is_a_pixel_wide() -> None:
    buffers = (
        Buffer(id="x", size=100, lifetime=(0, 1_000)),
        Buffer(id="burst", size=50, lifetime=(500_000, 500_001)),
        Buffer(id="y", size=100, lifetime=(999_000, 1_000_000)),
    )
    problem = Problem(version=1, buffers=buffers)
    drawing = Drawing(svg(problem, _plan(problem, {buffer.id: ("memory", 0) for buffer in buffers})))
    spots = [shape for shape in drawing.of("shade") if shape.left == LEFT + ACROSS / 2]
    assert {shape.right - shape.left for shape in spots} == {1.0}
    area = _map(drawing)
    assert sum(map(_covered, spots)) == pytest.approx((area.bottom - area.top) * 50 / 104, abs=1)


def test_times_that_look_alike_are_said_once() -> None:
    problem = Problem(version=1, buffers=(Buffer(id="x", size=5, lifetime=(10**40, 10**40 + 7)),))
    drawing = Drawing(svg(problem, _plan(problem, {"x": ("memory", 0)})))
    assert [word.text for word in drawing.words].count("1e40") == 1
    assert len(drawing.lines_of("time")) > 1


def test_pictures_of_many_buffers_stay_small_and_alike() -> None:
    problem, plan = _cyclic(60_000, 97, 13)
    text = svg(problem, plan)
    assert len(text) < 1_500_000
    assert text == svg(problem, plan)


@pytest.mark.campaign
def test_many_pools_share_what_a_picture_may_hold() -> None:
    count = 24
    problem, plan = _cyclic(60_000, 97, 13)
    problem = replace(problem, pools=tuple(Pool(id=f"p{i}") for i in range(count)))
    places = {p.buffer: (f"p{i % count}", p.offset) for i, p in enumerate(plan.placements)}
    assert len(svg(problem, _plan(problem, places))) < 1_500_000


def test_more_boxes_than_can_be_drawn_are_shade() -> None:
    # Each is two pixels or more either way.
    problem = Problem(
        version=1,
        buffers=tuple(Buffer(id=f"b{i}", size=4, lifetime=(i % 200, i % 200 + 1)) for i in range(24_000)),
    )
    drawing = Drawing(
        svg(problem, _plan(problem, {f"b{i}": ("memory", i // 200 * 4) for i in range(24_000)}))
    )
    assert len(drawing.of("box", "boxes")) == MOST_BOXES
    assert drawing.says("14,000 thin buffers drawn as shade")
    area = _map(drawing)
    filled = sum(
        (shape.right - shape.left) * _covered(shape) for shape in drawing.of("box", "boxes", "shade")
    )
    assert filled == pytest.approx((area.right - area.left) * (area.bottom - area.top) * 480 / 499, rel=0.02)


def test_too_many_spots_become_larger_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, plan = _cyclic(20_000, 40, 7)
    fine = Drawing(svg(problem, plan)).of("shade")
    monkeypatch.setattr(svg_picture, "MOST_RUNS", len(fine) // 8)
    coarse = Drawing(svg(problem, plan)).of("shade")
    assert 0 < len(coarse) <= len(fine) // 8
    assert min(shape.thinner for shape in fine) == 1
    assert min(shape.thinner for shape in coarse) >= 2


def _two_pools() -> tuple[Problem, Plan]:
    problem = Problem(
        version=1,
        pools=(
            Pool(
                id="fast",
                capacity=1_200,
                reserved=(Reserved(offset=0, size=100), Reserved(offset=5_000, size=1)),
            ),
            Pool(id="slow", capacity=100_000),
        ),
        buffers=(
            Buffer(id="a", size=900, lifetime=(0, 40)),
            Buffer(id="b", size=500, lifetime=(100, 200)),
            Buffer(id="c", size=500, lifetime=(0, 40)),
        ),
    )
    places = {"a": ("fast", 100), "b": ("slow", 0), "c": ("slow", 0)}
    return problem, _plan(problem, places, {"fast": 700, "slow": 500})


def test_all_pools_are_on_one_time_axis_with_round_times() -> None:
    drawing = Drawing(svg(*_two_pools()))
    a, b, c = sorted(drawing.of("box"), key=lambda box: box.title)
    assert (a.left, a.right) == (c.left, c.right) == (LEFT, LEFT + ACROSS / 5)
    assert (b.left, b.right) == (LEFT + ACROSS / 2, RIGHT)
    times = [str(time) for time in range(0, 201, 20)]
    spoken = [word for word in drawing.words if word.text in times]
    assert [word.text for word in spoken] == times * 2
    assert [word.x for word in spoken] == [LEFT + ACROSS * time / 200 for time in range(0, 201, 20)] * 2
    assert [line.x for line in drawing.lines_of("time")] == [word.x for word in spoken]


def test_peak_bound_and_capacity_are_lines_at_their_addresses() -> None:
    problem, plan = _two_pools()
    drawing = Drawing(svg(problem, plan))
    fast, slow = drawing.of("map")
    peaks, bounds = drawing.lines_of("peak"), drawing.lines_of("bound")
    (capacity,) = drawing.lines_of("capacity")

    def up(area: Shape, address: int, height: int) -> float:
        return area.bottom - (area.bottom - area.top) * address / height

    # What is drawn to scale is at most the highest line and a 25th more.
    assert capacity.y == pytest.approx(up(fast, 1_200, 1_248), abs=0.1)
    assert peaks[0].y == pytest.approx(up(fast, 1_000, 1_248), abs=0.1)
    assert bounds[0].y == pytest.approx(up(fast, 700, 1_248), abs=0.1)
    assert peaks[1].y == bounds[1].y == pytest.approx(up(slow, 500, 520), abs=0.1)
    assert drawing.says("of 1.17 KiB, 83.33 % used")
    assert drawing.says("at least 700")
    # Far above everything: told, and not drawn.
    assert drawing.says("of 97.7 KiB, 0.50 % used")
    assert drawing.says("least possible")


def test_addresses_on_the_axis_are_round_and_in_place() -> None:
    drawing = Drawing(svg(*_two_pools()))
    fast = _map(drawing)
    labels = [word for word in drawing.words if word.x == LEFT - 8 and word.y < fast.bottom + 10]
    assert [word.text for word in labels] == ["0 B", "256 B", "512 B", "768 B", "1 KiB"]
    for place, word in enumerate(labels):
        y = fast.bottom - (fast.bottom - fast.top) * 256 * place / 1_248
        assert word.y - 4 == pytest.approx(y, abs=0.1)


def test_what_is_reserved_is_drawn_as_far_as_the_map_goes() -> None:
    drawing = Drawing(svg(*_two_pools()))
    (reserved,) = drawing.of("reserved")
    assert reserved.title == "reserved: 100 bytes at 0"
    assert reserved.bottom == pytest.approx(_map(drawing).bottom, abs=0.1)
    problem, plan = _two_pools()
    thin = replace(problem.pools[0], reserved=tuple(Reserved(offset=i * 2, size=1) for i in range(600)))
    drawing = Drawing(svg(replace(problem, pools=(thin, problem.pools[1])), plan))
    area = _map(drawing)
    assert len(drawing.of("reserved")) <= area.bottom - area.top
    assert min(shape.top for shape in drawing.of("reserved")) == pytest.approx(
        area.bottom - (area.bottom - area.top) * 1_199 / 1_248, abs=1.1
    )


def test_the_moment_with_the_most_live_is_marked() -> None:
    problem, plan = _two_pools()
    fast = replace(plan.pools[0], live=Live(bytes=900, time=20))
    drawing = Drawing(svg(problem, replace(plan, pools=(fast, plan.pools[1]))))
    assert [line.x for line in drawing.lines_of("moment")] == [LEFT + ACROSS / 10]
    assert drawing.says("t = 20: 900 B live, the most")


def test_the_legend_tells_what_is_in_the_picture() -> None:
    problem, plan = _cyclic(10, 3, 4)
    drawing = Drawing(svg(problem, plan))
    assert drawing.says("hole")
    assert not any(map(drawing.says, ("reserved", "short to long life", "of a spot in use")))
    drawing = Drawing(svg(*_two_pools()))
    assert all(map(drawing.says, ("hole", "reserved", "short to long life")))
    assert Drawing(svg(*_cyclic(30_000, 40, 7))).says("of a spot in use")


def test_buffers_without_lifetimes_stand_side_by_side() -> None:
    buffers = (*(Buffer(id=name, size=4) for name in "abcd"), Buffer(id="w", size=4, lifetime=ALWAYS))
    problem = Problem(version=1, conflicts=(("a", "b"), ("c", "d")), buffers=buffers)
    places = {"a": 0, "b": 4, "c": 0, "d": 4, "w": 8}
    drawing = Drawing(svg(problem, _plan(problem, {name: ("memory", at) for name, at in places.items()})))
    edges = {box.title[0]: (box.left, box.right) for box in drawing.of("box")}
    quarter = ACROSS / 4
    assert edges == {
        name: (LEFT + i * quarter, LEFT + (i + 1) * quarter) for i, name in enumerate("abcd")
    } | {"w": (LEFT, RIGHT)}
    assert drawing.says("no lifetimes")
    assert not drawing.says("hole")


def test_names_of_buffers_at_the_same_bytes_do_not_lie_on_each_other() -> None:
    buffers = tuple(Buffer(id=name, size=400, lifetime=(0, 5)) for name in ("then", "else", "other"))
    problem = Problem(version=1, exclusive=(("then", "else"),), buffers=buffers)
    drawing = Drawing(svg(problem, _plan(problem, {buffer.id: ("memory", 0) for buffer in buffers})))
    heights = [
        word.y for word in drawing.words if word.text in ("then", "else", "other", "400 B") and word.x > LEFT
    ]
    assert len(heights) == 6
    gaps = [high - low for low, high in zip(sorted(heights), sorted(heights)[1:], strict=False)]
    assert min(gaps) >= 12


@pytest.mark.parametrize("digits", [40, 4_000])
def test_times_of_any_size_can_be_drawn(digits: int) -> None:
    time = 10**digits
    buffers = (
        Buffer(id="x", size=(1 << 62) - 1, lifetime=(-time, time)),
        Buffer(id="y", size=1, lifetime=(time - 1, time)),
    )
    problem = Problem(version=1, buffers=buffers)
    drawing = Drawing(svg(problem, _plan(problem, {"x": ("memory", 0), "y": ("memory", (1 << 62) - 1)})))
    assert len(drawing.of("box")) == 1
    assert drawing.says(f"1e{digits}")
    assert all(shape.left >= LEFT and shape.right <= RIGHT for shape in drawing.of("box", "shade", "summit"))


def test_an_empty_plan_is_an_empty_picture() -> None:
    problem = Problem(version=1, buffers=())
    drawing = Drawing(svg(problem, stacked(problem)))
    assert drawing.titles() == []
    assert drawing.says("nothing is placed")
    lost = Plan(status=Status.FEASIBLE, placements=(Placement(buffer="x", pool="memory", offset=0),))
    assert _boxes(problem, lost) == []


def test_of_very_many_pools_those_of_the_highest_peaks_are_drawn() -> None:
    count = MOST_POOLS + 6
    problem = Problem(
        version=1,
        pools=tuple(Pool(id=f"p{i}") for i in range(count)),
        buffers=tuple(Buffer(id=f"b{i}", size=10 + i, lifetime=(0, 1)) for i in range(count)),
    )
    drawing = Drawing(svg(problem, _plan(problem, {f"b{i}": (f"p{i}", 0) for i in range(count)})))
    assert [title.split(":")[0] for title in drawing.titles()] == [f"b{i}" for i in range(6, count)]
    assert drawing.says("6 more pools")


def test_a_thumbnail_is_light_and_shows_the_fullest_pool() -> None:
    problem, plan = _cyclic(5_000, 40, 9)
    small = thumbnail(problem, plan)
    assert len(small) < 12_000
    drawing = Drawing(small)
    wide, tall = THUMBNAIL
    shapes = [shape for shape in drawing.shapes if shape.kind in ("shade", "boxes", "box")]
    assert min(shape.left for shape in shapes) >= 0
    assert wide - 2 < max(shape.right for shape in shapes) <= wide + 0.1
    assert tall - 2 < max(shape.bottom for shape in shapes) <= tall + 0.1
    buffers = tuple(Buffer(id=name, size=size, lifetime=(0, 1)) for name, size in (("a", 1), ("b", 9)))
    two = Problem(version=1, buffers=buffers, pools=(Pool(id="low"), Pool(id="high")))
    full = thumbnail(two, _plan(two, {"a": ("low", 0), "b": ("high", 0)}))
    (box,) = (shape for shape in Drawing(full).shapes if shape.kind == "boxes")
    assert box.bottom - box.top > tall * 0.8


def test_in_the_dark_every_colour_of_a_picture_is_another() -> None:
    problem, plan = _cyclic(600, 12, 5)
    picture = svg(problem, plan)
    start, _, rest = in_both_lights(picture).partition("<style>")
    sheet, _, rest = rest.partition("</style>\n")
    assert start + rest == picture
    assert sheet.startswith("@media(prefers-color-scheme:dark){")
    rules = dict(re.findall(r'\[fill="(#\w{6})"\]:not\(\[paint-order\]\)\{fill:(#\w{6})\}', sheet))
    fills = {*re.findall(r'fill="(#\w{6})"', picture)}
    assert fills <= rules.keys()
    assert rules["#ffffff"] == DARK["#ffffff"]
    assert {rules[light] for light in fills & {*RAMP}} <= {*DARK_RAMP}
    # Words on boxes are on the colour of their rim.
    assert {*re.findall(r'text\[stroke="(#\w{6})"\]', sheet)} == {
        *re.findall(r'<text[^>]* stroke="(#\w{6})"', picture)
    }
