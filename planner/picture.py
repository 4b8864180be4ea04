"""Pictures in text: a plan as time across and addresses up, and live bytes over time as a chart.

Both have a fixed size whatever the problem's: a column stands for a stretch of moments, and shows the
busiest of them. Stretches hold equally many changes, not equally much time, so that one long life does not
hide the rest.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import Final

from planner.figures import human, plain
from planner.plan import Plan
from planner.pressure import Profile, profile, spans
from planner.problem import ALWAYS, Buffer, Pool, Problem


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The characters a picture is drawn with."""

    shades: str
    """From an empty cell to a full one."""
    bars: str
    """From an empty cell to a full one, filling from below."""
    reserved: str
    across: str
    more: str


UNICODE: Final = Glyphs(shades=" ░▒▓█", bars=" ▁▂▃▄▅▆▇█", reserved="╱", across="─", more="…")
ASCII: Final = Glyphs(shades=" .:#", bars=" ._:#", reserved="/", across="-", more="...")

_MARGIN = 11
_LEGEND_LINES = 4


def chart(steps: Profile, width: int, height: int, glyphs: Glyphs) -> list[str]:
    """Live bytes over time as bars."""
    if not steps.live:
        return []
    peak = max(steps.peak, 1)
    values = [steps.live[step] for step in _busiest(steps.live, width - _MARGIN)]
    shades = len(glyphs.bars) - 1
    # Rounded up: what is live at all can be seen.
    filled = [-(-value * height * shades // peak) for value in values]
    lines = []
    for row in reversed(range(height)):
        cells = "".join(glyphs.bars[max(0, min(shades, level - row * shades))] for level in filled)
        label = human(peak * (row + 1) // height) if row in (height - 1, height // 2 - 1) else ""
        lines.append(f"{label:>{_MARGIN - 1}} {cells}".rstrip())
    return [*lines, *_time_axis(steps, width, glyphs)]


def layout(problem: Problem, plan: Plan, pool: Pool, width: int, height: int, glyphs: Glyphs) -> list[str]:
    """What lies where in one pool over time; letters name the buffers when they are few."""
    places = {p.buffer: p.offset for p in plan.placements if p.pool == pool.id}
    inside = [b for b in problem.buffers if b.size and b.id in places]
    steps = profile(inside)
    top = max((places[b.id] + b.size for b in inside), default=0)
    if not top or not steps.live:
        return []
    rows = min(height, top)
    columns = _busiest(steps.live, width - _MARGIN)
    # A step drawn in several columns is worked out once.
    sampled = sorted(set(columns))
    named = len(inside) <= len(ascii_letters)
    canvas = _Canvas(len(sampled), rows, top)
    times = [steps.times[step] for step in sampled]
    for index, buffer in enumerate(inside):
        offset = places[buffer.id]
        for first, last in _columns_of(buffer, times):
            canvas.add(range(first, last), offset, offset + buffer.size, index)
    column_of = {step: column for column, step in enumerate(sampled)}
    lines = []
    for row in reversed(range(rows)):
        cells = [
            _letter(canvas, column, row) if named else _shade(canvas, column, row, glyphs.shades)
            for column in range(len(sampled))
        ]
        blank = glyphs.reserved if _is_reserved(pool, row, rows, top) else " "
        text = "".join(cells[column_of[step]] for step in columns).replace(" ", blank)
        label = human(top * (row + 1) // rows) if row in (rows - 1, rows // 2 - 1) else ""
        lines.append(f"{label:>{_MARGIN - 1}} {text}".rstrip())
    lines += _time_axis(steps, width, glyphs)
    return lines + (_legend(inside, width, glyphs) if named else [])


class _Canvas:
    """How full each cell is, in bytes, and which buffer has the most of it."""

    def __init__(self, columns: int, rows: int, top: int) -> None:
        self.bounds = [top * row // rows for row in range(rows + 1)]
        self.filled = [[0] * rows for _ in range(columns)]
        self.owner = [[-1] * rows for _ in range(columns)]
        self.most = [[0] * rows for _ in range(columns)]

    def add(self, columns: range, begin: int, end: int, index: int) -> None:
        """A buffer from one address to another."""
        first = max(0, bisect_left(self.bounds, begin + 1) - 1)
        for row in range(first, len(self.bounds) - 1):
            low, high = self.bounds[row], self.bounds[row + 1]
            if low >= end:
                return
            part = min(end, high) - max(begin, low)
            for column in columns:
                self.filled[column][row] += part
                if part > self.most[column][row]:
                    self.most[column][row] = part
                    self.owner[column][row] = index


def _letter(canvas: _Canvas, column: int, row: int) -> str:
    owner = canvas.owner[column][row]
    return " " if owner < 0 else ascii_letters[owner]


def _shade(canvas: _Canvas, column: int, row: int, shades: str) -> str:
    size = canvas.bounds[row + 1] - canvas.bounds[row]
    # Members of a rigid group may share bytes, so a cell can be more than full.
    level = -(-canvas.filled[column][row] * (len(shades) - 1) // size)
    return shades[min(level, len(shades) - 1)]


def _is_reserved(pool: Pool, row: int, rows: int, top: int) -> bool:
    middle = top * (2 * row + 1) // (2 * rows)
    return any(r.offset <= middle < r.offset + r.size for r in pool.reserved)


def _busiest(live: Sequence[int], width: int) -> list[int]:
    """For each column the step it shows: of its stretch of steps the one with the most live bytes."""
    count = len(live)
    chosen = []
    for column in range(width):
        first = column * count // width
        last = max(first + 1, (column + 1) * count // width)
        chosen.append(max(range(first, last), key=live.__getitem__))
    return chosen


def _columns_of(buffer: Buffer, times: Sequence[int]) -> list[tuple[int, int]]:
    if buffer.lifetime == ALWAYS:
        return [(0, len(times))]
    found = ((bisect_left(times, begin), bisect_left(times, end)) for begin, end in spans(buffer))
    return [(first, last) for first, last in found if first < last]


def _time_axis(steps: Profile, width: int, glyphs: Glyphs) -> list[str]:
    begin, end = str(steps.times[0]), str(steps.times[-1])
    room = width - _MARGIN
    line = f"{begin} " + glyphs.across * max(0, room - len(begin) - len(end) - 2) + f" {end}"
    return [f"{'time':>{_MARGIN - 1}} {line}"]


def _legend(buffers: Sequence[Buffer], width: int, glyphs: Glyphs) -> list[str]:
    """Which letter is which buffer, the largest first, for as far as a few lines go."""
    ranked = sorted(range(len(buffers)), key=lambda index: (-buffers[index].size, index))
    lines: list[str] = []
    line = ""
    for index in ranked:
        name = plain(buffers[index].id, most=24)
        entry = f"{ascii_letters[index]} {name} {human(buffers[index].size)}"
        if line and len(line) + len(entry) + 3 > width - _MARGIN:
            if len(lines) + 1 == _LEGEND_LINES:
                return [*lines, f"{' ' * _MARGIN}{line} {glyphs.more}"]
            lines.append(" " * _MARGIN + line)
            line = ""
        line += ("   " if line else "") + entry
    return [*lines, " " * _MARGIN + line] if line else lines
