"""Pictures in text: a plan as time across and addresses up, and live bytes over time as a chart.

Both have a fixed size whatever the problem's: a column stands for a stretch of moments, the same in every
pool, and shows the busiest of them. Stretches hold equally many changes, not equally much time, so that one
long life does not hide the rest.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest
from itertools import accumulate
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from memstow.planner.model.plan import Plan, PoolUse
from memstow.planner.model.problem import Buffer, Pool, Problem, Profile, bank_ranges
from memstow.planner.show.drawing import LEVELS, Axis, Columns, Life, scene_of, shade_runs
from memstow.planner.show.formatting import (
    address_ticks,
    breadth,
    count,
    fit_text,
    human,
    plain,
    shown_label,
    time_text,
    time_ticks,
)
from memstow.records import record

if TYPE_CHECKING:
    from memstow.planner.graph.graph_document import Label

MOST_POOLS: Final = 4
"""Maps at most; a plan of more pools is not read in a terminal."""


@record
class Glyphs:
    """The characters a picture is drawn with."""

    shades: str
    """From an empty cell to a full one."""
    bars: str
    """From an empty cell to a full one, filling from below."""
    reserved: str
    bank: str
    """Where a bank begins."""
    across: str
    bound: str
    capacity: str


UNICODE: Final = Glyphs(" ░▒▓█", " ▁▂▃▄▅▆▇█", reserved="╱", bank="┈", across="─", bound="╌", capacity="━")
ASCII: Final = Glyphs(" .:+#", " ._:#", reserved="/", bank="-", across="-", bound="~", capacity="=")

_MARGIN: Final = 11
# Of buffers; `string` takes longer to import than a small solve.
_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LONGEST_NAME: Final = 24
_LONGEST_LABEL: Final = 72
_LARGEST: Final = 12
"""Of buffers with labels and without letters, so many are told."""
_BETWEEN: Final = 3
_MOST_TIMES: Final = 8
_NEAR: Final = 3
"""A capacity at most this many rows above the peak is drawn."""


def chart(steps: Profile, width: int, height: int, glyphs: Glyphs) -> list[str]:
    """Live bytes over time as bars."""
    if not steps.live:
        return []
    peak = max(steps.peak, 1)
    values = [max(steps.live[first:last]) for first, last in _stretches(len(steps.live), width - _MARGIN)]
    shades = len(glyphs.bars) - 1
    # Rounded up, so that every live byte is visible.
    filled = [-(-value * height * shades // peak) for value in values]
    labels = _address_labels(peak, height)
    lines = []
    for row in reversed(range(height)):
        cells = "".join(glyphs.bars[max(0, min(shades, level - row * shades))] for level in filled)
        lines.append(_line(labels.get(row, ""), cells))
    return [*lines, _time_line(steps.times, width, glyphs)]


@record
class _Sheet:
    """The layout that all maps of a picture share."""

    axis: Axis
    times: Sequence[int]
    """All at which anything changes in any pool."""
    width: int
    rows: int
    glyphs: Glyphs


def maps(
    problem: Problem,
    plan: Plan,
    width: int,
    rows: int,
    glyphs: Glyphs,
    labels: "Mapping[str, Label] | None" = None,
) -> list[str]:
    """A memory map of each pool on one axis; few buffers are named by letters.

    `labels` say by id what buffers are, where that is known.
    """
    scene = scene_of(problem, plan)
    uses = {use.pool: use for use in plan.pools}
    used = [pool for pool in problem.pools if scene.pools[pool.id] and pool.id in uses]
    if not used:
        return []
    ends = {time for life in scene.lives() for time in (life.begin, life.end)}
    sheet = _Sheet(scene.axis, sorted(ends), width, rows, glyphs)
    lines: list[str] = []
    free = _LETTERS
    signs: set[str] = set()
    nameless = 0
    for pool in used[:MOST_POOLS]:
        lives = scene.pools[pool.id]
        buffers = {life.buffer.id: life.buffer for life in lives}
        letters = free[: len(buffers)] if len(buffers) <= len(free) else ""
        free = free[len(letters) :]
        drawn = list(_map(sheet, pool, uses[pool.id], lives, letters))
        if len(problem.pools) > 1:
            use = uses[pool.id]
            limit = "" if use.capacity is None else f" of {human(use.capacity)}"
            figures = f": {human(use.peak)}{limit}"
            lines += [*([""] if lines else []), plain(use.pool, most=width - len(figures)) + figures]
        lines += [*drawn, _axis_line(sheet)]
        if letters:
            lines += _names(list(zip(letters, buffers.values(), strict=True)), labels or {}, sheet)
        else:
            nameless += len(buffers)
            lines += _largest(buffers.values(), labels or {}, sheet)
        signs.update(glyph for line in drawn for glyph in line[_MARGIN:])
    lines += _key(signs, nameless, sheet)
    if len(used) > MOST_POOLS:
        lines += ["", f"({len(used) - MOST_POOLS} more pools are not pictured)"]
    return lines


def shaded_map(
    use: PoolUse,
    buffers: int,
    times: Sequence[int],
    levels: Sequence[Sequence[int]],
    width: int,
    glyphs: Glyphs,
) -> list[str]:
    """The map of the only pool of so many buffers, from how full each spot is, row by row from the lowest.

    For plans as columns, `plain/native/picture.cpp` has found how full the spots are, by the rules of
    `_columns` below and `drawing.shade_runs`. It is a second way on purpose: of 200,000 buffers it takes
    0.1 s, objects and `maps` take 9 s. It knows neither letters nor several pools, so `maps` stays.
    """
    axis = Axis(times[0], times[-1], "time")
    sheet = _Sheet(axis, times, width, len(levels), glyphs)
    cells = [[glyphs.shades[level] for level in row] for row in levels]
    drawn = list(_drawn(sheet, use, use.peak, cells, {}))
    signs = {glyph for line in drawn for glyph in line[_MARGIN:]}
    return [*drawn, _axis_line(sheet), *_key(signs, buffers, sheet)]


def columns_in(width: int) -> int:
    """How many columns a map in a picture of this width has."""
    return width - _MARGIN


def _map(sheet: _Sheet, pool: Pool, use: PoolUse, lives: Sequence[Life], letters: str) -> Iterator[str]:
    """The rows of one pool, from the top."""
    glyphs = sheet.glyphs
    top = max(life.top for life in lives)
    rows = min(sheet.rows, top)
    width = sheet.width - _MARGIN
    columns = _columns(lives, sheet.times, width)
    places = {buffer: place for place, buffer in enumerate(dict.fromkeys(life.buffer.id for life in lives))}
    # The grade of a cell is the buffer that has most of it, where letters tell them apart.
    graded = [(life, places[life.buffer.id] if letters else 0) for life in lives]
    cells = [[" "] * width for _ in range(rows)]
    for run in shade_runs(graded, columns, rows, top):
        glyph = letters[run.grade] if letters else glyphs.shades[run.level]
        cells[run.row][run.first : run.last] = glyph * (run.last - run.first)
    banks = _bank_rows(pool, rows, top)
    blanks = dict.fromkeys(banks, glyphs.bank)
    blanks.update({row: glyphs.reserved for row in range(rows) if _is_reserved(pool, row, rows, top)})
    return _drawn(sheet, use, top, cells, blanks, banks)


def _drawn(
    sheet: _Sheet,
    use: PoolUse,
    top: int,
    cells: Sequence[Sequence[str]],
    blanks: dict[int, str],
    banks: Mapping[int, str] = MappingProxyType({}),
) -> Iterator[str]:
    """The rows from the top, with what they are called and the lines of banks, bound and capacity."""
    glyphs, rows = sheet.glyphs, len(cells)
    width = sheet.width - _MARGIN
    labels = _address_labels(top, rows)
    labels.update(banks)
    bound = (use.bound - 1) * rows // top
    if 0 <= bound < rows - 1:
        labels[bound] = "bound"
        blanks[bound] = glyphs.bound
    if use.capacity is not None and (above := round((use.capacity - top) * rows / top)) <= _NEAR:
        yield _line("capacity", glyphs.capacity * width)
        yield from [""] * above
    for row in reversed(range(rows)):
        yield _line(labels.get(row, ""), "".join(cells[row]).replace(" ", blanks.get(row, " ")))


def _line(label: str, cells: str) -> str:
    return f"{label:>{_MARGIN - 1}} {cells}".rstrip()


def _columns(lives: Iterable[Life], times: Sequence[int], width: int) -> Columns:
    """For each column the moment to show: of its stretch the one at which this pool has most in use."""
    changes = dict.fromkeys(times, 0)
    for life in lives:
        changes[life.begin] += life.buffer.size
        changes[life.end] -= life.buffer.size
    in_use = list(accumulate(changes[time] for time in times))
    stretches = _stretches(len(times) - 1, width)
    moments = [times[max(range(first, last), key=in_use.__getitem__)] for first, last in stretches]
    return Columns(_begins(times, width), moments)


def _stretches(steps: int, width: int) -> list[tuple[int, int]]:
    """For each column its steps, from the one until the other; a step may be in several."""
    return [
        (column * steps // width, max(column * steps // width + 1, (column + 1) * steps // width))
        for column in range(width)
    ]


def _begins(times: Sequence[int], width: int) -> list[int]:
    """For each column when it begins; those that share a step have equal parts of it."""
    begins: list[int] = []
    stretches = _stretches(len(times) - 1, width)
    firsts = [first for first, _ in stretches]
    for column, first in enumerate(firsts):
        same = firsts.count(first) if len(times) <= width else 1
        part = column - firsts.index(first) if same > 1 else 0
        begins.append(times[first] + (times[first + 1] - times[first]) * part // same)
    return begins


def _address_labels(top: int, rows: int) -> dict[int, str]:
    """Labels of rows: the top, and round addresses at the upper ends of others."""
    labels = {
        (2 * at * rows + top) // (2 * top) - 1: text for at, text in address_ticks(top, max(2, rows // 3))
    }
    labels.pop(-1, None)
    return {**labels, rows - 1: human(top)}


_LEAST_ROWS: Final = 2
"""Of a bank that is named: of lower ones there would be nothing but names."""


def _bank_rows(pool: Pool, rows: int, top: int) -> dict[int, str]:
    """By row in which a bank begins, its name."""
    return {
        begin * rows // top: f"bank {number}"
        for number, (begin, end) in enumerate(bank_ranges(pool))
        if begin * rows // top < rows - 1 and (end - begin) * rows >= _LEAST_ROWS * top
    }


def _is_reserved(pool: Pool, row: int, rows: int, top: int) -> bool:
    middle = top * (2 * row + 1) // (2 * rows)
    return any(r.offset <= middle < r.offset + r.size for r in pool.reserved)


def _axis_line(sheet: _Sheet) -> str:
    match sheet.axis.kind:
        case "time":
            return _time_line(sheet.times, sheet.width, sheet.glyphs)
        case "buffers":
            return " " * _MARGIN + "no lifetimes: side by side"
        case "always":
            return " " * _MARGIN + "always live"


def _time_line(times: Sequence[int], width: int, glyphs: Glyphs) -> str:
    """Both ends, and round times between them, each where its column begins."""
    room = width - _MARGIN
    begins = _begins(times, room)
    end = time_text(times[-1])
    line = f"{time_text(times[0])} "
    for time, text in time_ticks(times[0], times[-1], _MOST_TIMES):
        # The first of those that begin at the same time.
        column = bisect_left(begins, begins[bisect_right(begins, time) - 1])
        if len(line) < column and column + len(text) + len(end) + 3 <= room:
            line = f"{line:{glyphs.across}<{column - 1}} {text} "
    line = f"{line:{glyphs.across}<{room - len(end) - 1}} {end}"
    return f"{'time':>{_MARGIN - 1}} {line}"


def _names(named: Sequence[tuple[str, Buffer]], labels: "Mapping[str, Label]", sheet: _Sheet) -> list[str]:
    """What each letter stands for, in columns, from one letter to the next as they are read: downwards."""
    room = sheet.width - _MARGIN
    longest = min(_LONGEST_NAME, room - 11)
    ids = [fit_text(buffer.id, longest) for _, buffer in named]
    sizes = [human(buffer.size) for _, buffer in named]
    widest = max(map(breadth, ids)), max(map(len, sizes))
    left = room - sum(widest) - 5
    entries = []
    for (letter, buffer), name, size in zip(named, ids, sizes, strict=True):
        label = labels.get(buffer.id)
        shown = "" if label is None else shown_label(label, min(left, _LONGEST_LABEL))
        entries.append(f"{letter} {_padded(name, widest[0])} {size:>{widest[1]}}  {shown}".strip())
    # Entries in columns as wide as the widest, each read downwards.
    width = max(map(breadth, entries))
    columns = max(1, (room + _BETWEEN) // (width + _BETWEEN))
    lines = -(-len(entries) // columns)
    between = " " * _BETWEEN
    return [
        (" " * _MARGIN + between.join(_padded(entry, width) for entry in entries[line::lines])).rstrip()
        for line in range(lines)
    ]


def _padded(text: str, width: int) -> str:
    return text + " " * (width - breadth(text))


def _largest(buffers: Collection[Buffer], labels: "Mapping[str, Label]", sheet: _Sheet) -> list[str]:
    """Of buffers without letters the largest, where more than their ids is known."""
    if not labels:
        return []
    largest = nlargest(_LARGEST, buffers, key=lambda buffer: buffer.size)
    lines = _names([("", buffer) for buffer in largest], labels, sheet)
    return [f"{'largest':>{_MARGIN - 1}} {lines[0][_MARGIN:]}", *lines[1:]]


def _key(signs: Collection[str], nameless: int, sheet: _Sheet) -> list[str]:
    """The legend of the signs in the picture, and where to find the buffers that have no letter."""
    shades = sheet.glyphs.shades[1:]
    entries = []
    if any(shade in signs for shade in shades):
        shares = [f"to {100 * level // LEVELS} %" for level in range(1, LEVELS)]
        parts = ", ".join(f"{glyph} {share}" for glyph, share in zip(shades, [*shares, "more"], strict=True))
        entries.append(f"in use at a column's busiest moment: {parts}")
    if sheet.glyphs.reserved in signs:
        entries.append(f"{sheet.glyphs.reserved} reserved")
    if sheet.glyphs.bank in signs:
        entries.append(f"{sheet.glyphs.bank} a bank begins")
    if nameless:
        entries.append(f"{count(nameless)} buffers without a letter: --output plan.csv lists them")
    if not entries:
        return []
    # Imported late: most pictures of small problems need no legend.
    from textwrap import wrap

    return [" " * _MARGIN + line for line in wrap("; ".join(entries), sheet.width - _MARGIN)]
