"""CSV, a buffer a line: `id,lower,upper,size[,alignment][,gaps][,offset]`, as MiniMalloc reads and writes it.

A life is half-open, [lower, upper); a column called `end` instead of `upper` holds the last moment, and then
gaps end at their last moment too. A gap `7-9` is a range of the life in which the buffer holds nothing;
`7-9@2:13` one in which it holds only its bytes [2, 13). Such a window becomes a buffer of its own at a fixed
distance from the one it belongs to: what the rigid group holds, moment by moment, is then exactly what the
line says. Its id tells where it comes from: `b@7-9@2:13`.

An offset pins the buffer. Plans are the same lines with the offset of every buffer, or just `id,pool,offset`
where the lines could not hold the buffers, with the absolute `address` if a pool has a base.
"""

import csv
import io
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Final, NamedTuple, TypedDict

from memstow.planner.formats.format import (
    Format,
    Refusals,
    against_moments,
    live_ranges,
    refuse_beyond_buffers,
)
from memstow.planner.model import Status
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.model.plan import REPEATED, Placement, Plan
from memstow.planner.model.printable import printable, shown
from memstow.planner.model.problem import DEFAULT_POOL, LIMIT, Buffer, Interval, Problem, Relative
from memstow.planner.reading.json_text import (
    LONGEST_INTEGER,
    MOST_VALUES,
    Path,
    check_marks,
    not_utf8,
    parse_path,
)
from memstow.planner.reading.parse import parse_problem
from memstow.planner.reading.sections import MOST_REPORTED, without_nul
from memstow.records import collector_at_rest


def open_quote(lines: Iterable[str], first: int) -> int | None:
    """The line of the quote that is open at the end of these lines of a row; None if there is none."""
    opened: int | None = None
    closed: int | None = None
    begins = True
    for number, line in enumerate(lines, first):
        for character in line:
            if opened is not None:
                if character == '"':
                    opened, closed = None, opened
            elif character == '"' and closed is not None:
                # Written twice it is a quote in the cell, which goes on.
                opened, closed = closed, None
            elif character == '"' and begins:
                opened, begins = number, False
            else:
                closed, begins = None, character in ",\r\n"
    return opened


_MEANINGS: Final = {
    "id": "id",
    "buffer": "id",
    "buffer_id": "id",
    "lower": "lower",
    "begin": "lower",
    "start": "lower",
    "upper": "upper",
    "end": "upper",
    "size": "size",
    "alignment": "alignment",
    "gaps": "gaps",
    "pool": "pool",
    "offset": "offset",
    "address": "address",
}
# A column of this name holds the last moment of a life, not the first after it.
_INCLUSIVE: Final = "end"
_SEPARATORS: Final = "separate columns with commas"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns that a header names, by their meaning."""

    position: dict[str, int]
    """By meaning."""
    names: dict[str, str]
    """By meaning, as the header has them."""
    addend: int
    """Added to an end to make it the first moment after the life."""
    width: int

    def of(self, meaning: str) -> int | None:
        return self.position.get(meaning)

    def name(self, meaning: str) -> str:
        return self.names.get(meaning, meaning)


def header_columns(
    header: list[str], line: int, allowed: tuple[str, ...], required: tuple[str, ...]
) -> Columns:
    """The columns of the header; InputError with all of its issues."""
    issues: list[Issue] = []
    position: dict[str, int] = {}
    names: dict[str, str] = {}
    cells = [cell.strip() for cell in header]
    while cells and not cells[-1]:
        cells.pop()  # a comma at the end of the line
    for index, cell in enumerate(cells):
        meaning = _MEANINGS.get(cell.lower())
        place = f"line {line}, column {index + 1}"
        if meaning is None or meaning not in allowed:
            issues.append(Issue("unknown_column", place, _unknown(cell, allowed)))
        elif meaning in position:
            first = names[meaning]
            message = f"{shown(cell)} says again what the column {shown(first)} says; keep one of them"
            issues.append(Issue("duplicate_column", place, message))
        else:
            position[meaning] = index
            names[meaning] = cell
    if not position and not any(_joined(cell) for cell in cells):
        example = ",".join(required)
        message = f"this is not a header: a CSV begins with a line such as {example}, JSON with {{ or ["
        raise InputError.single("no_header", f"line {line}", message)
    separated = len(cells) > 1 or not any(issue.message.endswith(_SEPARATORS) for issue in issues)
    for meaning in required if separated else ():
        if meaning not in position:
            message = f"there is no column {meaning!r}; the first line must name {', '.join(required)}"
            issues.append(Issue("missing_column", f"line {line}", message))
    if issues:
        raise InputError(issues[:50])
    addend = 1 if names.get("upper", "").lower() == _INCLUSIVE else 0
    return Columns(position, names, addend, len(cells))


def _joined(cell: str) -> bool:
    """Whether these are several columns, with something else than commas between."""
    return ";" in cell or "\t" in cell


def _unknown(cell: str, allowed: tuple[str, ...]) -> str:
    if _joined(cell):
        return f"{shown(cell)} is not a column; {_SEPARATORS}"
    if not cell:
        return f"the column has no name; use {', '.join(allowed)}"
    return f"there is no column {printable(cell)!r} in this format; use {', '.join(allowed)}"


_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_LONGEST_CELL: Final = 1 << 20


class CellError(Exception):
    """An error in a cell, with the meaning of its column."""

    def __init__(self, code: str, meaning: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.meaning = meaning


class Lines:
    """The lines of a CSV after its header, and their issues."""

    def __init__(self, data: bytes, allowed: tuple[str, ...], required: tuple[str, ...]) -> None:
        check_marks(data)
        # A line is an object, a list and its numbers: refuse what would need too much memory.
        lines = max(data.count(b"\n"), data.count(b"\r"))
        if data.count(b",") + 4 * lines > MOST_VALUES:
            raise InputError.single(
                "too_large", "$", f"more than {MOST_VALUES:,} values, the most that is read"
            )
        self._data = data
        self._rows = self._read()
        first = next(self._rows, None)
        if first is None:
            raise InputError.single("empty", "$", "the input is empty")
        self.columns = header_columns(first[1], first[0], allowed, required)
        self.issues: list[tuple[int, Issue]] = []
        self.more = False
        """Whether there are issues that are not in the list."""

    @property
    def full(self) -> bool:
        return len(self.issues) > MOST_REPORTED

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        """Line numbers and cells, as many as there are columns."""
        width = self.columns.width
        for line, row in self._rows:
            if len(row) != width:
                # Commas at the end of a line, as spreadsheets write them, say nothing.
                if any(row[width:]) or len(row) < width:
                    message = f"expected {width} cells, as in the first line, found {len(row)}"
                    self.add("wrong_width", line, None, message)
                    if self.full:
                        return
                    continue
                del row[width:]
            yield line, row

    def add(self, code: str, line: int, meaning: str | None, message: str) -> None:
        """Something is wrong with a line or with one of its cells."""
        column = "" if meaning is None else f", column {printable(self.columns.name(meaning))}"
        self.issues.append((line, Issue(code, f"line {line}{column}", message)))

    def error(self) -> InputError:
        """An error with all issues, in the order of the lines."""
        ordered = [issue for _, issue in sorted(self.issues, key=lambda entry: entry[0])]
        if len(ordered) > MOST_REPORTED or self.more:
            del ordered[MOST_REPORTED:]
            ordered.append(Issue("more_issues", "$", "more issues are not shown"))
        return InputError(ordered)

    def _read(self) -> Iterator[tuple[int, list[str]]]:
        csv.field_size_limit(_LONGEST_CELL)
        reader = csv.reader(self._text(), strict=True)
        read = 0
        try:
            for row in reader:
                read = reader.line_num
                if len(row) > 1 or (row and row[0].strip()):
                    yield reader.line_num, row
        except UnicodeDecodeError:
            raise not_utf8(self._data) from None
        except csv.Error as error:
            # The reader is at the end of what it took for one row, which may be the end of the text.
            row_lines = islice(self._text(), read, reader.line_num)
            line = open_quote(row_lines, read + 1) or reader.line_num
            raise InputError.single("malformed_csv", f"line {line}", _in_words(str(error))) from None

    def _text(self) -> io.TextIOWrapper:
        return io.TextIOWrapper(io.BytesIO(self._data), encoding="utf-8-sig", newline="")


def number(cell: str, meaning: str) -> int:
    """The integer in a cell."""
    if cell.isdigit() and cell.isascii() and len(cell) < 20:
        return int(cell)
    text = cell.strip()
    if not text:
        raise CellError("missing_field", meaning, "the cell is empty; expected an integer")
    if not _INTEGER.fullmatch(text):
        raise CellError("not_an_integer", meaning, f"expected an integer, given {shown(text)}{_hint(text)}")
    if len(text) > LONGEST_INTEGER:
        raise CellError("integer_too_long", meaning, f"an integer of more than {LONGEST_INTEGER:,} digits")
    return int(text)


def _hint(text: str) -> str:
    from memstow.planner.reading.sections import size_in_full

    whole, point, fraction = text.partition(".")
    if point and _INTEGER.fullmatch(whole) and not fraction.strip("0") and len(whole) < 20:
        return f"; write {whole}"
    return size_in_full(text)


def _in_words(message: str) -> str:
    """Errors of quotes that do not close, in words about the file."""
    if message == "unexpected end of data":
        return "a quote is opened and never closed"
    if message.endswith("expected after '\"'"):
        return "a cell in quotes goes on after the closing quote; write a quote in a cell twice"
    if message.startswith("field larger"):
        return f"a cell of more than {_LONGEST_CELL:,} characters; a quote may not be closed"
    return printable(message, 200)


_GAP: Final = re.compile(r"(-?\d{1,4000})-(-?\d{1,4000})(?:@(\d{1,19}):(\d{1,19}))?", re.ASCII)


class Gap(NamedTuple):
    """A range of time, half-open, and the bytes of the buffer that are held in it."""

    begin: int
    end: int
    window: tuple[int, int] | None


class GapError(Exception):
    """A gap that cannot be read or that contradicts its line; says why."""


def parse_gaps(text: str, addend: int) -> list[Gap]:
    """The gaps of one cell, in order; `addend` is 1 where ends are last moments."""
    gaps: list[Gap] = []
    for part in text.split():
        match = _GAP.fullmatch(part)
        if match is None:
            raise GapError(f"{part[:48]!r} is not a gap; write 7-9 or, for a window of bytes, 7-9@2:13")
        begin, end, lower, upper = (None if group is None else int(group) for group in match.groups())
        if begin is None or end is None:
            raise GapError(f"{part[:48]!r} is not a gap")
        window = None if lower is None or upper is None else (lower, upper)
        gaps.append(Gap(begin, end + addend, window))
    return sorted(gaps, key=_times)


def check_gaps(gaps: list[Gap], life: Interval, size: int) -> None:
    """Refuse gaps outside the life, empty, overlapping, or with a window outside the buffer."""
    free_from = life[0]
    for gap in gaps:
        name = f"the gap [{gap.begin}, {gap.end})"
        if gap.begin >= gap.end:
            raise GapError(f"{name} is empty or reversed")
        if gap.begin < life[0] or gap.end > life[1]:
            raise GapError(f"{name} is not inside the life [{life[0]}, {life[1]})")
        if gap.begin < free_from:
            raise GapError(f"{name} overlaps the gap before it")
        free_from = gap.end
        if gap.window is not None and not gap.window[0] < gap.window[1] <= size:
            raise GapError(
                f"the window {gap.window[0]}:{gap.window[1]} is empty or outside the {size:,} bytes"
            )


def lives_between(life: Interval, gaps: list[Gap]) -> list[Interval]:
    """When the whole buffer is held: the life without its gaps."""
    lives: list[Interval] = []
    begin = life[0]
    for gap in gaps:
        if gap.begin > begin:
            lives.append((begin, gap.begin))
        begin = gap.end
    if begin < life[1]:
        lives.append((begin, life[1]))
    return lives


def window_id(buffer: str, gap: Gap) -> str:
    """The id of the buffer that stands for a window."""
    lower, upper = gap.window or (0, 0)
    return f"{buffer}@{gap.begin}-{gap.end}@{lower}:{upper}"


class Windows:
    """The buffers of a problem that stand for windows of others, recognised by all that makes them so."""

    def __init__(self, problem: Problem) -> None:
        by_id = {buffer.id: buffer for buffer in problem.buffers} if problem.relative else {}
        self.gaps: dict[str, list[Gap]] = {}
        """By the id of the buffer that has them."""
        self.ids: set[str] = set()
        """Of the buffers that stand for windows."""
        self.others: list[Relative] = []
        """Entries of `relative` that are not windows."""
        for tie in problem.relative:
            gap = _window_of(by_id, tie)
            if gap is None:
                self.others.append(tie)
            else:
                self.gaps.setdefault(tie.base, []).append(gap)
                self.ids.add(tie.buffer)


def _window_of(by_id: Mapping[str, Buffer], tie: Relative) -> Gap | None:
    child, base = by_id.get(tie.buffer), by_id.get(tie.base)
    if child is None or base is None or not isinstance(child.lifetime, tuple) or "@" not in child.id:
        return None
    begin, end = child.lifetime
    gap = Gap(begin, end, (tie.offset, tie.offset + child.size))
    # A group is a label, which the format does not have.
    plain = Buffer(id=window_id(base.id, gap), size=child.size, lifetime=child.lifetime, group=child.group)
    inside = tie.offset >= 0 and child.size > 0 and tie.offset + child.size <= base.size
    apart = all(end <= b or e <= begin for b, e in live_ranges(base) or ())
    return gap if child == plain and inside and apart and base.lifetime != "always" else None


def gaps_between(lives: Iterable[Interval], windows: list[Gap]) -> tuple[Interval, list[Gap]]:
    """The whole life and its gaps, from when the buffer is held and in which windows."""
    held = sorted([*(Gap(b, e, None) for b, e in lives), *windows], key=_times)
    gaps: list[Gap] = list(windows)
    for before, after in pairwise(held):
        if before.end < after.begin:
            gaps.append(Gap(before.end, after.begin, None))
    return (held[0].begin, max(part.end for part in held)), sorted(gaps, key=_times)


def format_gaps(gaps: Iterable[Gap]) -> str:
    """The gaps as a cell."""
    return " ".join(map(_written, gaps))


def _written(gap: Gap) -> str:
    window = "" if gap.window is None else f"@{gap.window[0]}:{gap.window[1]}"
    return f"{gap.begin}-{gap.end}{window}"


def _times(gap: Gap) -> Interval:
    return gap.begin, gap.end


_COLUMNS: Final = ("id", "lower", "upper", "size", "alignment", "gaps", "pool", "offset", "address")
_HEXADECIMAL: Final = re.compile(r"0x[0-9a-f]{1,16}", re.ASCII | re.IGNORECASE)


def read_plan(data: bytes, problem: Problem) -> Plan:
    """The plan of a CSV: what else its lines say of the buffers is for the problem to say."""
    placements: list[Placement] = []
    line_of: dict[str, int] = {}
    with collector_at_rest():
        lines = Lines(data, _COLUMNS, ("id", "offset"))
        where = lines.columns.position
        c_pool = lines.columns.of("pool")
        if c_pool is None and len(problem.pools) > 1:
            message = "there is no column 'pool', and the problem has several pools"
            raise InputError.single("missing_column", "line 1", message)
        c_address = lines.columns.of("address")
        bases = {pool.id: pool.base for pool in problem.pools}
        for line, row in lines:
            pool = problem.pools[0].id if c_pool is None else row[c_pool]
            try:
                place = _placement(row[where["id"]], pool, row[where["offset"]])
                if c_address is not None:
                    _check_address(row[c_address].strip(), place, bases.get(pool))
                placements.append(place)
                before = line_of.setdefault(place.buffer, line)
                if before != line:
                    again = f"{place.buffer!r} has a place already, in line {before}"
                    raise CellError(REPEATED, "id", f"{again}; give each buffer one place")
            except CellError as error:
                lines.add(error.code, line, error.meaning, str(error))
                if lines.full:
                    break
    if lines.issues:
        raise lines.error()
    at = {placement.buffer: placement for placement in placements}
    placements.extend(_windows_placed(problem, at))
    return Plan(status=Status.FEASIBLE, placements=tuple(placements))


def _placement(name: str, pool: str, cell: str) -> Placement:
    offset = number(cell, "offset")
    if not 0 <= offset <= LIMIT:
        code, limit = ("too_small", "at least 0") if offset < 0 else ("too_large", "at most 2^62")
        raise CellError(code, "offset", f"expected {limit}, given {shown(offset)}")
    for text, meaning in ((name, "id"), (pool, "pool")):
        if not text:
            raise CellError("empty", meaning, "expected at least one character")
        if len(text) > 1024:
            message = f"expected at most 1,024 characters, given {len(text):,}"
            raise CellError("too_long", meaning, message)
        if "\0" in text:
            raise CellError("not_text", meaning, without_nul(text))
    return Placement(buffer=name, pool=pool, offset=offset)


def _check_address(cell: str, place: Placement, base: int | None) -> None:
    """Refuse an address that is not that of the offset."""
    if not cell:
        return
    if base is None:
        message = f"the pool {place.pool!r} has no base, so there are no addresses; leave the cell empty"
        raise CellError("no_base", "address", message)
    address = int(cell, 16) if _HEXADECIMAL.fullmatch(cell) else number(cell, "address")
    if address != base + place.offset:
        message = f"the offset {place.offset:,} in {place.pool!r} is the address {base + place.offset:#x}"
        raise CellError("contradiction", "address", f"{message}, not {address:#x}")


def _windows_placed(problem: Problem, at: dict[str, Placement]) -> Iterator[Placement]:
    """Where the windows of gaps are: they have no line of their own, but a fixed place in their buffer."""
    windows = Windows(problem).ids if problem.relative else set()
    for tie in problem.relative:
        base = at.get(tie.base)
        if tie.buffer not in windows or tie.buffer in at or base is None:
            continue
        if base.offset + tie.offset <= LIMIT:
            yield Placement(buffer=tie.buffer, pool=base.pool, offset=base.offset + tie.offset)


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
        begin, end = buffer.pop("lifetime")
        try:
            gaps = parse_gaps(row[c_gaps], addend)
            check_gaps(gaps, (begin, end), buffer["size"])
        except GapError as error:
            raise CellError("malformed_gap", "gaps", str(error)) from None
        lives = lives_between((begin, end), gaps)
        # A buffer that is never held as a whole has no life of its own: its windows have.
        if lives:
            buffer["lifetimes"] = [list(life) for life in lives]
        return buffer, [(gap, gap.window) for gap in gaps if gap.window is not None]

    return read


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
    return _BUFFER.sub(lambda match: f"line {origin[int(match[1])]}", issue.message)


def write_problem(problem: Problem) -> bytes:
    """The problem as CSV."""
    refusals = Refusals("csv", problem)
    windows = Windows(problem)
    refuse_beyond_buffers(replace(problem, relative=tuple(windows.others)), refusals)
    header, rows = _rows(problem, windows, refusals)
    refusals.raise_any()
    return _text(header, rows)


def write_plan(problem: Problem, plan: Plan) -> bytes:
    """The plan as CSV: the problem's lines with offsets where they can hold its buffers."""
    refusals = Refusals("csv", problem)
    windows = Windows(problem)
    header, rows = _rows(problem, windows, refusals)
    at = {placement.buffer: placement.offset for placement in plan.placements}
    whole = len(at) == len(plan.placements) == len(problem.buffers)
    if refusals or len(problem.pools) > 1 or not whole or not all(b.id in at for b in problem.buffers):
        placed = [[placement.buffer, placement.pool, str(placement.offset)] for placement in plan.placements]
        return _text(*_with_addresses(problem, plan, ["id", "pool", "offset"], placed))
    if header[-1] == "offset":
        header, rows = header[:-1], [row[:-1] for row in rows]
    rows = [[*row, str(at[row[0]])] for row in rows]
    return _text(*_with_addresses(problem, plan, [*header, "offset"], rows))


def _with_addresses(
    problem: Problem, plan: Plan, header: list[str], rows: list[list[str]]
) -> tuple[list[str], list[list[str]]]:
    """Append a column of absolute addresses where a pool has a base; a row begins with its buffer's id."""
    bases = {pool.id: pool.base for pool in problem.pools if pool.base is not None}
    if not bases:
        return header, rows
    addresses = {
        placement.buffer: f"{bases[placement.pool] + placement.offset:#x}"
        for placement in plan.placements
        if placement.pool in bases
    }
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
