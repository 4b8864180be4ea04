"""CSV, a buffer a line: `id,lower,upper,size[,alignment][,gaps][,offset]`, as MiniMalloc reads and writes it.

A life is half-open, [lower, upper); a column called `end` instead of `upper` holds the last moment, and then
gaps end at their last moment too. A gap `7-9` is a range of the life in which the buffer holds nothing;
`7-9@2:13` one in which it holds only its bytes [2, 13). An offset pins the buffer. Plans are the same lines
with the offset of every buffer, or just `id,pool,offset` where the lines could not hold the buffers, with the
absolute `address` if a pool has a base.
"""

import csv
import io
import re
from array import array
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, TypedDict

from memstow.planner.formats.csv.gaps import (
    Gap,
    GapError,
    Windows,
    check_gaps,
    format_gaps,
    gaps_between,
    lives_between,
    parse_gaps,
    window_id,
)
from memstow.planner.formats.csv.header import Columns
from memstow.planner.formats.csv.lines import CellError, Lines, number
from memstow.planner.formats.csv.plan_reading import read_plan
from memstow.planner.formats.format import Format, Refusals
from memstow.planner.formats.plain_problem import against_moments, live_ranges, refuse_beyond_buffers
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import DEFAULT_POOL, Buffer, Problem
from memstow.planner.model.records import collector_at_rest
from memstow.planner.reading.parse import parse_problem
from memstow.planner.reading.paths import Path, parse_path

_PROBLEM: Final = ("id", "lower", "upper", "size", "alignment", "gaps", "offset")
# How a message ends that names the buffer that has an id already.
_BUFFER: Final = re.compile(r"(?<=is already the id of )buffers\[(\d+)\](?=; give)")
# Of the fields a line is turned into: the column they came from.
_COLUMN_OF: Final = {"lifetime": "lower", "lifetimes": "lower", "pool": "offset"}


def read_problem(data: bytes) -> Problem:
    """The problem of a CSV."""
    with collector_at_rest():
        lines = Lines(data, _PROBLEM, ("id", "lower", "upper", "size"))
        raw, origin = _buffers_of(lines)
        try:
            problem = parse_problem(raw) if not lines.full else None
        except InputError as error:
            for issue in error.issues:
                if issue.code == "more_issues":
                    lines.more = True
                    continue
                line, meaning = _origin_of(parse_path(issue.path), origin)
                lines.add(issue.code, line, meaning, _of_lines(issue, origin))
    if lines.issues or problem is None:
        raise lines.error()
    return problem


class _Buffer(TypedDict, total=False):
    """A buffer as a JSON object."""

    id: str
    size: int
    lifetime: list[int]
    lifetimes: list[list[int]]
    alignment: int
    pool: str
    offset: int


def _buffers_of(lines: Lines) -> "tuple[dict[str, object], array[int]]":
    """The problem as JSON values, and the line of each buffer."""
    buffers: list[_Buffer] = []
    relative: list[dict[str, object]] = []
    origin: array[int] = array("q")
    read = _row_reader(lines.columns)
    for line, row in lines:
        try:
            buffer, windows = read(row)
        except CellError as error:
            lines.add(error.code, line, error.meaning, str(error))
            if lines.full:
                break
            continue
        buffers.append(buffer)
        origin.append(line)
        for gap, (lower, upper) in windows:
            name = window_id(buffer["id"], gap)
            buffers.append({"id": name, "size": upper - lower, "lifetime": [gap.begin, gap.end]})
            relative.append({"buffer": name, "base": buffer["id"], "offset": lower})
            origin.append(line)
    return {"version": 1, "buffers": buffers, "relative": relative}, origin


_Windows = list[tuple[Gap, tuple[int, int]]]


def _row_reader(columns: Columns) -> Callable[[list[str]], tuple[_Buffer, _Windows]]:
    """A function from cells to the fields of a buffer and its windows."""
    where = columns.position
    c_id, c_lower, c_upper, c_size = where["id"], where["lower"], where["upper"], where["size"]
    c_alignment, c_gaps, c_offset = columns.of("alignment"), columns.of("gaps"), columns.of("offset")
    addend = columns.addend
    none: _Windows = []

    def read(row: list[str]) -> tuple[_Buffer, _Windows]:
        size = number(row[c_size], "size")
        life = [number(row[c_lower], "lower"), number(row[c_upper], "upper") + addend]
        reason = against_moments(life[0], life[1] - 1) if addend else None
        if reason is not None:
            raise CellError("reversed_lifetime", "lower", reason)
        buffer: _Buffer = {"id": row[c_id], "size": size, "lifetime": life}
        if c_alignment is not None and row[c_alignment]:
            buffer["alignment"] = number(row[c_alignment], "alignment")
        if c_offset is not None and row[c_offset]:
            buffer["pool"] = DEFAULT_POOL
            buffer["offset"] = number(row[c_offset], "offset")
        if c_gaps is None or not row[c_gaps].strip():
            return buffer, none
        return buffer, _with_gaps(buffer, row[c_gaps], addend)

    return read


def _with_gaps(buffer: _Buffer, cell: str, addend: int) -> _Windows:
    begin, end = buffer.pop("lifetime")
    try:
        gaps = parse_gaps(cell, addend)
        check_gaps(gaps, (begin, end), buffer["size"])
    except GapError as error:
        raise CellError("malformed_gap", "gaps", str(error)) from None
    lives = lives_between((begin, end), gaps)
    # A buffer that is never held as a whole has no life of its own: its windows have.
    if lives:
        buffer["lifetimes"] = [list(life) for life in lives]
    return [(gap, gap.window) for gap in gaps if gap.window is not None]


def _origin_of(path: Path, origin: "array[int]") -> tuple[int, str | None]:
    match path[:3]:
        case ("buffers", int(index), str(name)) if index < len(origin):
            return origin[index], _COLUMN_OF.get(name, name)
        case ("buffers", int(index)) if index < len(origin):
            return origin[index], None
        case _:
            return 1, None


def _of_lines(issue: Issue, origin: "array[int]") -> str:
    """The message, with the line of another buffer that it names by its number."""
    if issue.code != "duplicate_buffer":
        return issue.message
    return _BUFFER.sub(lambda found: f"line {origin[int(found[1])]}", issue.message)


def write_problem(problem: Problem) -> bytes:
    """The problem as CSV."""
    refusals = Refusals("csv")
    windows = Windows(problem)
    refuse_beyond_buffers(replace(problem, relative=tuple(windows.others)), refusals)
    header, rows = _rows(problem, windows, refusals)
    refusals.raise_any()
    return _text(header, rows)


def write_plan(problem: Problem, plan: Plan) -> bytes:
    """The plan as CSV: the problem's lines with offsets where they can hold its buffers."""
    refusals = Refusals("csv")
    windows = Windows(problem)
    header, rows = _rows(problem, windows, refusals)
    at = {placement.buffer: placement.offset for placement in plan.placements}
    whole = len(at) == len(plan.placements) == len(problem.buffers)
    if refusals or len(problem.pools) > 1 or not whole or not all(b.id in at for b in problem.buffers):
        placed = [[it.buffer, it.pool, str(it.offset)] for it in plan.placements]
        return _text(*_with_addresses(problem, plan, ["id", "pool", "offset"], placed))
    if header[-1] == "offset":
        header, rows = header[:-1], [row[:-1] for row in rows]
    rows = [[*row, str(at[row[0]])] for row in rows]
    return _text(*_with_addresses(problem, plan, [*header, "offset"], rows))


def _with_addresses(
    problem: Problem, plan: Plan, header: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """The same with absolute addresses, if there are any; a row begins with the id of its buffer."""
    bases = {pool.id: pool.base for pool in problem.pools if pool.base is not None}
    if not bases:
        return header, rows
    addresses = {it.buffer: f"{bases[it.pool] + it.offset:#x}" for it in plan.placements if it.pool in bases}
    return [*header, "address"], [[*row, addresses.get(row[0], "")] for row in rows]


def _rows(problem: Problem, windows: Windows, refusals: Refusals) -> tuple[list[str], list[list[str]]]:
    header = ["id", "lower", "upper", "size"]
    lines: list[list[str]] = []
    for index, buffer in enumerate(problem.buffers):
        if buffer.id not in windows.ids:
            line = _line(index, buffer, windows, refusals)
            if line is not None:
                lines.append(line)
    rows = [line[:4] for line in lines]
    for index, (name, default) in enumerate((("alignment", "1"), ("gaps", ""), ("offset", "")), 4):
        if any(line[index] != default for line in lines):
            header.append(name)
            for row, line in zip(rows, lines, strict=True):
                row.append(line[index])
    return header, rows


def _line(index: int, buffer: Buffer, windows: Windows, refusals: Refusals) -> list[str] | None:
    """All the cells a buffer may need."""
    alignment = str(buffer.alignment)
    offset = "" if buffer.offset is None else str(buffer.offset)
    if type(buffer.lifetime) is tuple and not windows.gaps:
        begin, end = buffer.lifetime
        return [buffer.id, str(begin), str(end), str(buffer.size), alignment, "", offset]
    lives = live_ranges(buffer)
    own = windows.gaps.get(buffer.id, [])
    if lives is None and not own:
        refusals.add(f"$.buffers[{index}].lifetime", "a buffer must have a begin and an end")
        return None
    (begin, end), gaps = gaps_between(lives or (), own)
    try:
        check_gaps(gaps, (begin, end), buffer.size)
    except GapError as error:
        refusals.add(f"$.buffers[{index}].lifetimes", str(error))
    return [buffer.id, str(begin), str(end), str(buffer.size), alignment, format_gaps(gaps), offset]


def _text(header: list[str], rows: Iterable[list[str]]) -> bytes:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue().encode()


FORMAT: Final = Format(
    name="csv",
    is_json=False,
    read_problem=read_problem,
    write_problem=write_problem,
    read_plan=read_plan,
    write_plan=write_plan,
)
