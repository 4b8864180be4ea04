"""A plan as an SVG picture: time across, addresses up, a map for each pool on one time axis.

A map has boxes for large items and shade for the rest.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import nlargest
from math import floor
from typing import Final

from memstow.planner.model.plan import Plan, PoolUse
from memstow.planner.model.problem import ALWAYS, Pool, Problem, bank_ranges
from memstow.planner.show.drawing import (
    CAPACITY,
    FRAME,
    HOLE,
    INK,
    LEVELS,
    MET,
    OPEN,
    QUIET,
    RAMP,
    RESERVED,
    Axis,
    Columns,
    Life,
    Scene,
    columns_of,
    grade,
    ink_on,
    scene_of,
    shade,
    shade_runs,
    skyline,
)
from memstow.planner.show.formatting import (
    address_ticks,
    count,
    fit_text,
    human,
    percent,
    plain,
    short_name,
    time_text,
    time_ticks,
)
from memstow.planner.show.svg import escape, page, px, text

LEFT: Final = 80
ACROSS: Final = 800
RIGHT: Final = LEFT + ACROSS

_NEAR: Final = 1.5
"""A capacity up to this many times the peak is drawn; a larger one is only named."""


@dataclass(frozen=True, slots=True)
class Box:
    """A life in pixels, with its colour's place on the ramp."""

    life: Life
    left: float
    high: float
    wide: float
    tall: float
    grade: int

    @property
    def thinner(self) -> float:
        """The smaller side, in pixels."""
        return min(self.wide, self.tall)

    @property
    def area(self) -> float:
        """The area in square pixels."""
        return self.wide * self.tall


@dataclass(frozen=True)
class Panel:
    """One pool, and where on the page its map is."""

    pool: Pool
    use: PoolUse
    lives: Sequence[Life]
    axis: Axis
    lengths: tuple[int, int]
    """The shortest and the longest life of the whole picture."""
    top: int
    tall: int
    beside: int = 1
    """The number of maps in the picture, which share the limit of boxes in a file."""
    left: int = LEFT
    wide: int = ACROSS

    @property
    def bottom(self) -> int:
        """The pixel of the address 0, from the top of the page."""
        return self.top + self.tall

    @cached_property
    def height(self) -> int:
        """Bytes from bottom to top, with some room above the highest line."""
        capacity = self.near_capacity or 0
        highest = max(self.use.peak, self.use.bound, capacity, *(life.top for life in self.lives))
        return highest + max(1, highest // 25)

    @property
    def near_capacity(self) -> int | None:
        """The capacity, where it can be shown to scale."""
        capacity = self.use.capacity
        return capacity if capacity is not None and capacity <= self.use.peak * _NEAR else None

    def across(self, time: int) -> float:
        """Pixels from the left."""
        # Differences first: times may be larger than a float can tell apart.
        return self.left + self.wide * ((time - self.axis.begin) / (self.axis.end - self.axis.begin))

    def up(self, address: int) -> float:
        """Pixels from the top of the page."""
        return self.top + self.tall * (1 - address / self.height)

    @cached_property
    def boxes(self) -> list[Box]:
        """Every life where it is, in the order of the problem."""
        grades: dict[int, int] = {}
        boxes = []
        for life in self.lives:
            length = life.end - life.begin
            on_ramp = grades.get(length)
            if on_ramp is None:
                on_ramp = grades[length] = grade(length, *self.lengths)
            left, high = self.across(life.begin), self.up(life.top)
            wide, tall = self.across(life.end) - left, self.up(life.offset) - high
            boxes.append(Box(life, left, high, wide, tall, on_ramp))
        return boxes


MOST_RUNS: Final = 50_000
"""In one picture: more than that makes a file that is slow to open."""


def spots(panel: Panel, thin: Sequence[Box], most_runs: int | None = None) -> Iterator[str]:
    """The shade of items too thin for a box, grouped by colour."""
    if not thin:
        return
    graded = [(box.life, box.grade) for box in thin]
    most = (most_runs or MOST_RUNS) // panel.beside
    size = 1
    while True:
        columns = columns_of(panel.lives, panel.axis, max(1, panel.wide // size))
        # A map of few bytes has no more rows than bytes.
        rows = max(1, min(panel.tall // size, panel.height))
        runs = shade_runs(graded, columns, rows, panel.height, most + 1)
        if len(runs) <= most:
            break
        size *= 2
    paths: dict[tuple[int, int], list[str]] = {}
    for run in runs:
        # Whole pixels: no seams between neighbours, and no column too narrow to be seen.
        left = min(panel.left + panel.wide - 1, floor(panel.across(columns.edges[run.first]) + 0.5))
        right = floor(panel.across(columns.edges[run.last]) + 0.5)
        wide = max(1, right - left)
        low = panel.bottom - run.row * panel.tall // rows
        tall = low - (panel.bottom - (run.row + 1) * panel.tall // rows)
        paths.setdefault((run.grade, run.level), []).append(f"M{left} {low}h{wide}v-{tall}h-{wide}z")
    for (on_ramp, level), path in sorted(paths.items()):
        yield (
            f'<path class="shade" fill="{shade(RAMP[on_ramp], level)}" shape-rendering="crispEdges" '
            f'd="{"".join(path)}"/>'
        )


MOST_TOOLTIPS: Final = 1_500
"""The most boxes of a picture with tooltips."""
READABLE: Final = 4
"""The least width and height in pixels of a box with a rim and a tooltip; a rim would hide a thinner box."""

_RIM: Final = ' stroke="#ffffff" stroke-width="0.6"'
_LETTER: Final = 6.8
"""About the width of a letter of a name."""
_LINE: Final = 13
_ONE_LINE: Final = 11
_TWO_LINES: Final = 30


def plain_boxes(boxes: Iterable[Box]) -> Iterator[str]:
    """Boxes without words, those of one colour together."""
    paths: dict[tuple[int, bool], list[str]] = {}
    for box in boxes:
        paths.setdefault((box.grade, box.thinner >= READABLE), []).append(_box_outline(box))
    for (on_ramp, rimmed), path in sorted(paths.items()):
        rim = _RIM if rimmed else ""
        yield f'<path class="boxes" fill="{RAMP[on_ramp]}"{rim} d="{"".join(path)}"/>'


def boxes_with_tooltips(panel: Panel, boxes: Iterable[Box]) -> Iterator[str]:
    """Boxes one by one, each with a tooltip that says what it is."""
    for box in boxes:
        yield (
            f'<rect class="box" x="{px(box.left)}" y="{px(box.high)}" width="{px(box.wide)}" '
            f'height="{px(box.tall)}" fill="{RAMP[box.grade]}"{_RIM}>'
            f"<title>{escape(_tooltip(panel, box))}</title></rect>"
        )


def readable(boxes: Sequence[Box], most: int) -> set[int]:
    """The indices of the largest boxes, which get tooltips."""
    large = [index for index, box in enumerate(boxes) if box.thinner >= READABLE]
    return set(nlargest(most, large, key=lambda index: boxes[index].area))


def summits(panel: Panel, thin: Iterable[Box]) -> Iterator[str]:
    """Of what has no box of its own that which reaches the peak: one a pixel, never too small to see."""
    by_pixel: dict[int, Box] = {}
    for box in thin:
        if box.life.top == panel.use.peak:
            by_pixel.setdefault(floor(box.left), box)
    for box in by_pixel.values():
        seen = Box(
            box.life, min(box.left, RIGHT - 1), box.high, max(1.0, box.wide), max(1.0, box.tall), box.grade
        )
        yield f'<path class="summit" fill="{RAMP[box.grade]}" d="{_box_outline(seen)}"/>'


def names(boxes: Iterable[Box]) -> Iterator[str]:
    """Their names and sizes, where there is room; a rim of the box's colour keeps lines off the letters."""
    taken: dict[int, list[float]] = {}
    for box in boxes:
        room = int((box.wide - 6) / _LETTER)
        name = fit_text(box.life.buffer.id, room)
        if box.tall < _ONE_LINE or not name:
            continue
        size = human(box.life.buffer.size)
        lines = [name, size] if box.tall >= _TWO_LINES and len(size) <= room else [name]
        x, y = box.left + box.wide / 2, box.high + box.tall / 2 + 4 - _LINE / 2 * (len(lines) - 1)
        # Buffers that share bytes: their names do not lie on each other.
        above = taken.setdefault(floor(x / _LINE), [])
        while y + _LINE * len(lines) < box.high + box.tall and any(
            other - _LINE * len(lines) < y < other + _LINE for other in above
        ):
            y += 1
        colour = RAMP[box.grade]
        for line, words in enumerate(lines):
            above.append(y + _LINE * line)
            yield text(
                px(x),
                px(y + _LINE * line),
                words,
                text_anchor="middle",
                font_size=10 if line else None,
                font_weight=None if line else "bold",
                fill=ink_on(colour),
                stroke=colour,
                stroke_width=2,
                paint_order="stroke",
                pointer_events="none",
            )


def _box_outline(box: Box) -> str:
    wide = px(box.wide)
    return f"M{px(box.left)} {px(box.high)}h{wide}v{px(box.tall)}h-{wide}z"


def _tooltip(panel: Panel, box: Box) -> str:
    buffer = box.life.buffer
    words = f"{plain(buffer.id, most=80)}: {count(buffer.size)} bytes at {count(box.life.offset)}"
    if buffer.lifetime == ALWAYS:
        words += ", always live"
    elif panel.axis.kind == "time" and (buffer.lifetime is not None or buffer.lifetimes is not None):
        words += f", live from {time_text(box.life.begin)} until {time_text(box.life.end)}"
    return words + (", pinned" if buffer.offset is not None else "")


HEAD: Final = 48
"""Pixels above the map."""
FOOT: Final = 30
"""And below."""

_THIN: Final = 4
_TALL_PANEL: Final = 200
_TICK_LETTER: Final = 6.4
_BESIDE: Final = 24
"""How far a word on the axis may go beyond the map."""


def heading(panel: Panel) -> str:
    """The pool, its peak, its capacity and its bound."""
    use = panel.use
    limit = "no limit"
    if use.capacity is not None:
        limit = f"of {human(use.capacity)}"
        limit += f", {percent(use.peak / use.capacity)} used" if use.capacity else ""
    spans = [
        f'<tspan font-weight="bold">{escape(short_name(panel.pool.id))}</tspan>',
        f'<tspan dx="8">{count(use.peak)} bytes ({human(use.peak)})</tspan>',
        f'<tspan dx="8" fill="{QUIET}">{limit}</tspan>',
    ]
    if use.bound:
        met = use.bound >= use.peak
        words = "least possible" if met else f"at least {count(use.bound)} ({human(use.bound)})"
        spans.append(f'<tspan dx="8" fill="{MET if met else OPEN}">{words}</tspan>')
    return f'<text x="{LEFT}" y="{panel.top - 26}" font-size="13" fill="{INK}">{"".join(spans)}</text>'


def ground(panel: Panel, columns: Columns) -> Iterator[str]:
    """The background: paper, free bytes below the skyline, and reserved ranges."""
    yield (
        f'<rect class="map" x="{LEFT}" y="{panel.top}" width="{ACROSS}" height="{panel.tall}" '
        f'fill="#ffffff" stroke="{FRAME}"/>'
    )
    if panel.axis.kind != "buffers":
        yield _holes(panel, columns)
    thin: set[int] = set()
    for entry in panel.pool.reserved:
        end = min(entry.offset + entry.size, panel.height)
        if entry.offset >= end:
            continue
        high, low = panel.up(end), panel.up(entry.offset)
        if low - high < _THIN:
            thin.update(range(floor(high), max(floor(high) + 1, floor(low))))
            continue
        tooltip = f"reserved: {count(entry.size)} bytes at {count(entry.offset)}"
        yield (
            f'<rect class="reserved" x="{LEFT}" y="{px(high)}" width="{ACROSS}" height="{px(low - high)}" '
            f'fill="{RESERVED}"><title>{tooltip}</title></rect>'
        )
    if thin:
        path = "".join(f"M{LEFT} {y}h{ACROSS}v1h-{ACROSS}z" for y in sorted(thin))
        yield f'<path class="reserved" fill="{RESERVED}" d="{path}"/>'


def _holes(panel: Panel, columns: Columns) -> str:
    path = [f"M{LEFT} {panel.bottom}"]
    before = 0
    for edge, height in zip(columns.edges, skyline(panel.lives, columns), strict=False):
        if height != before:
            path.append(f"H{px(panel.across(edge))}V{px(panel.up(height))}")
            before = height
    return f'<path class="holes" fill="{HOLE}" d="{"".join(path)}H{RIGHT}V{panel.bottom}z"/>'


def moment(panel: Panel) -> Iterator[str]:
    """When the most is live."""
    live = panel.use.live
    if live.time is None or panel.axis.kind != "time":
        return
    x = panel.across(live.time)
    caption = f"t = {time_text(live.time)}: {human(live.bytes)} live, the most"
    yield (
        f'<path class="moment" d="M{px(x)} {panel.top - 6}V{panel.bottom}" stroke="{INK}" '
        'stroke-dasharray="1.5 2.5" fill="none"/>'
    )
    yield _under(x, panel.top - 9, caption, INK, beside=0)


_LEAST_BANK: Final = 3
"""The least height in pixels of a bank whose border is drawn."""


def bank_borders(panel: Panel) -> Iterator[str]:
    """A line where each bank begins that is not too thin to be seen."""
    for number, (begin, end) in enumerate(bank_ranges(panel.pool)):
        y = panel.up(begin)
        if not 0 < begin < panel.height or panel.up(begin) - panel.up(end) < _LEAST_BANK:
            continue
        yield (
            f'<path class="bank" d="M{LEFT} {px(y)}h{ACROSS}" stroke="{QUIET}" stroke-dasharray="1 3" '
            f'fill="none"><title>bank {number}, from {count(begin)}</title></path>'
        )


def levels(panel: Panel) -> Iterator[str]:
    """The lines of capacity, peak and bound, named on the right."""
    use = panel.use
    lines = [(use.peak, "peak", INK, "")]
    if panel.near_capacity is not None:
        lines.insert(0, (panel.near_capacity, "capacity", CAPACITY, ""))
    if use.bound:
        met = use.bound >= use.peak
        lines.append((use.bound, "bound", MET if met else OPEN, ' stroke-dasharray="5 3"'))
    below = float(panel.top - 12)
    for address, name, colour, dashes in lines:
        y = panel.up(address)
        yield (
            f'<path class="{name}" d="M{LEFT} {px(y)}h{ACROSS}" stroke="{colour}" stroke-width="1.5"'
            f'{dashes} fill="none"><title>{name}: {count(address)} bytes</title></path>'
        )
        below = max(y, below + 11)
        yield text(RIGHT + 6, px(below + 4), name, fill=colour)


def axes(panel: Panel) -> Iterator[str]:
    """Round addresses on the left; below, round times, or why there are none."""
    for address, words in address_ticks(panel.height, 8 if panel.tall > _TALL_PANEL else 4):
        y = panel.up(address)
        yield f'<path class="address" d="M{LEFT - 4} {px(y)}h4" stroke="{QUIET}"/>'
        yield text(LEFT - 8, px(y + 4), words, text_anchor="end", fill=QUIET)
    y = panel.bottom + 16
    if panel.axis.kind != "time":
        caption = "always live" if panel.axis.kind == "always" else "no lifetimes: the buffers side by side"
        yield text(LEFT + ACROSS / 2, y, caption, text_anchor="middle", fill=QUIET)
        return
    yield text(RIGHT + _BESIDE + 10, y, "time", fill=QUIET)
    begin, end = panel.axis.begin, panel.axis.end
    longest = max(len(time_text(begin)), len(time_text(end)))
    before = ""
    for time, words in time_ticks(begin, end, max(1, int(ACROSS / (longest * _TICK_LETTER + 30)))):
        x = panel.across(time)
        yield f'<path class="time" d="M{px(x)} {panel.bottom}v4" stroke="{QUIET}"/>'
        # Times of many digits may look alike.
        if words != before:
            yield _under(x, y, words, QUIET, beside=_BESIDE)
            before = words


def _under(x: float, y: int, words: str, colour: str, *, beside: int) -> str:
    """A word centred at x as far as the page allows."""
    half = len(words) * _TICK_LETTER / 2 - beside
    middle = min(max(x, LEFT + half), RIGHT - half)
    return text(px(middle), y, words, text_anchor="middle", fill=colour)


MOST_BOXES: Final = 10_000
"""Drawn one by one in one picture; the rest is shade."""


@dataclass(frozen=True, slots=True)
class MapDrawing:
    """The SVG of a map, and the number of items that are not drawn as boxes."""

    lines: list[str]
    shaded: int
    """Buffers that are part of the shade."""
    unseen: int
    """Buffers that live at no moment that is shown."""


def draw_map(panel: Panel) -> MapDrawing:
    """Everything of one pool, from the back to the front."""
    columns = columns_of(panel.lives, panel.axis, ACROSS)
    own, thin = _by_size(panel.boxes, MOST_BOXES // panel.beside)
    with_tooltip = readable(own, MOST_TOOLTIPS // panel.beside)
    tooltip_boxes = [own[index] for index in sorted(with_tooltip)]
    lines = [
        heading(panel),
        *ground(panel, columns),
        *spots(panel, thin),
        *plain_boxes(box for index, box in enumerate(own) if index not in with_tooltip),
        *boxes_with_tooltips(panel, tooltip_boxes),
        *summits(panel, thin),
        *moment(panel),
        *bank_borders(panel),
        *levels(panel),
        *names(tooltip_boxes),
        *axes(panel),
    ]
    seen = {box.life.buffer.id for box in own}
    shaded = {box.life.buffer.id for box in thin if columns.of(box.life)} - seen
    unseen = {box.life.buffer.id for box in thin} - shaded - seen
    return MapDrawing(lines, len(shaded), len(unseen))


def _by_size(boxes: list[Box], most: int) -> tuple[list[Box], list[Box]]:
    """The boxes to draw one by one, and those that are too thin or too many for it."""
    wide = [index for index, box in enumerate(boxes) if box.thinner >= 1]
    own = set(nlargest(most, wide, key=lambda index: boxes[index].area))
    return (
        [box for index, box in enumerate(boxes) if index in own],
        [box for index, box in enumerate(boxes) if index not in own],
    )


WIDTH: Final = 960
MOST_POOLS: Final = 24
"""Maps in one picture; those of the highest peaks."""

_TITLE: Final = 26
_CAPTION: Final = 18
_MAP_TALL: Final = ((1, 320), (3, 240))
"""The height of a map in pixels, by the number of maps."""
_LEAST_TALL: Final = 160
_SWATCH: Final = 10
_CAPTION_LETTER: Final = 5.8


def svg(problem: Problem, plan: Plan) -> str:
    """The picture, a map for each pool that holds something."""
    scene = scene_of(problem, plan)
    panels, left_out = _panels(problem, plan, scene)
    maps = [draw_map(panel) for panel in panels]
    bottom = max((panel.bottom + FOOT for panel in panels), default=_TITLE)
    captions = _captions(maps, left_out) if panels else ["nothing is placed"]
    height = bottom + _CAPTION * len(captions)
    title = plain(problem.name or "memory plan", most=200)
    lines = [
        text(LEFT, 17, plain(title, most=60), fill=QUIET),
        *_legend(panels, any(one.shaded for one in maps)),
        *(line for one in maps for line in one.lines),
    ]
    for place, caption in enumerate(captions):
        lines.append(text(LEFT, bottom + _CAPTION * place + 10, caption, kind="caption", fill=QUIET))
    return page(WIDTH, height, title, _description(panels), lines)


def _panels(problem: Problem, plan: Plan, scene: Scene) -> tuple[list[Panel], int]:
    """The maps to draw, one below the other, and how many pools have none."""
    uses = {use.pool: use for use in plan.pools}
    used = [pool for pool in problem.pools if scene.pools[pool.id] and pool.id in uses]
    highest = {pool.id for pool in sorted(used, key=lambda pool: -uses[pool.id].peak)[:MOST_POOLS]}
    shown = [pool for pool in used if pool.id in highest]
    lengths = [life.end - life.begin for life in scene.lives()]
    ends = (min(lengths, default=1), max(lengths, default=1))
    tall = next((tall for most, tall in _MAP_TALL if len(shown) <= most), _LEAST_TALL)
    every = HEAD + tall + FOOT
    panels = []
    for place, pool in enumerate(shown):
        top = _TITLE + place * every + HEAD
        inside, use = scene.pools[pool.id], uses[pool.id]
        panels.append(Panel(pool, use, inside, scene.axis, ends, top, tall, len(shown)))
    return panels, len(used) - len(shown)


THUMBNAIL: Final = (120, 48)
"""Pixels across and up."""
_MOST_OF_THUMBNAIL: Final = 120
"""Boxes, and as many runs of shade: some kilobytes."""


def thumbnail(problem: Problem, plan: Plan) -> str:
    """The map of the pool with the highest peak, small: its large boxes, and shade for the rest."""
    wide, tall = THUMBNAIL
    panels, _ = _panels(problem, plan, scene_of(problem, plan))
    lines: list[str] = []
    for highest in sorted(panels, key=lambda panel: -panel.use.peak)[:1]:
        panel = replace(highest, top=0, tall=tall, beside=1, left=0, wide=wide)
        own, thin = _by_size(panel.boxes, _MOST_OF_THUMBNAIL)
        lines = [*spots(panel, thin, _MOST_OF_THUMBNAIL), *plain_boxes(own)]
    title = plain(problem.name or "memory plan", most=200)
    return page(wide, tall, title, None, lines)


def _captions(maps: Sequence[MapDrawing], left_out: int) -> list[str]:
    """A note on what is not drawn box by box."""
    notes = []
    shaded, unseen = sum(one.shaded for one in maps), sum(one.unseen for one in maps)
    if shaded:
        noun = "buffer" if shaded == 1 else "buffers"
        notes.append(
            f"{count(shaded)} thin {noun} drawn as shade, each column at the moment when most is live in it"
        )
    if unseen:
        noun = "buffer is" if unseen == 1 else "buffers are"
        notes.append(
            f"{count(unseen)} thin {noun} not seen: more is live at other moments of the same columns"
        )
    if left_out:
        notes.append(f"{count(left_out)} more pools, of lower peaks, are not drawn")
    return notes


def _description(panels: Sequence[Panel]) -> str:
    """The figures in words, for those who cannot see the picture."""
    peaks = [
        f"{short_name(panel.pool.id)}: peak {count(panel.use.peak)} bytes"
        + (f", bound {count(panel.use.bound)}" if panel.use.bound else "")
        for panel in panels
    ]
    return "Time across, addresses up, a box for each buffer. " + "; ".join(peaks)


def _legend(panels: Sequence[Panel], shaded: bool) -> Iterator[str]:
    """The legend of the colours, from the right."""
    right = RIGHT
    entries: list[tuple[str, Sequence[str]]] = []
    if any(panel.pool.reserved for panel in panels):
        entries.append(("reserved", (RESERVED,)))
    if any(panel.axis.kind != "buffers" for panel in panels):
        entries.append(("hole", (HOLE,)))
    if shaded:
        levels = [shade(RAMP[len(RAMP) // 2], level + 1) for level in range(LEVELS)]
        entries.append(("a quarter to all of a spot in use", levels))
    if panels and panels[0].lengths[0] != panels[0].lengths[1]:
        entries.append(("short to long life", RAMP))
    for words, colours in entries:
        right -= int(len(words) * _CAPTION_LETTER)
        yield text(right, 17, words, fill=QUIET)
        right -= 6 + _SWATCH * len(colours)
        for place, colour in enumerate(colours):
            x = right + _SWATCH * place
            yield f'<rect class="legend" x="{x}" y="8" width="{_SWATCH}" height="10" fill="{colour}"/>'
        right -= 16
