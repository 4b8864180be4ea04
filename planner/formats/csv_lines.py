"""The lines of a CSV: its header, cells and integers, and their issues by line and column."""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from memstow.planner.model.errors import InputError, Issue
from memstow.planner.reading.json_text import LONGEST_INTEGER, MOST_VALUES, check_marks, not_utf8
from memstow.planner.reading.printable import printable, shown
from memstow.planner.reading.sections import MOST_REPORTED


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
    """Where the columns are."""

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
                    found = f"expected {width} cells, as in the first line, found {len(row)}"
                    self.add("wrong_width", line, None, found)
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
        """All of it, in the order of the lines."""
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
    whole, point, fraction = text.partition(".")
    if point and _INTEGER.fullmatch(whole) and not fraction.strip("0") and len(whole) < 20:
        return f"; write {whole}"
    return ""


def _in_words(message: str) -> str:
    """Errors of quotes that do not close, in words about the file."""
    if message == "unexpected end of data":
        return "a quote is opened and never closed"
    if message.endswith("expected after '\"'"):
        return "a cell in quotes goes on after the closing quote; write a quote in a cell twice"
    if message.startswith("field larger"):
        return f"a cell of more than {_LONGEST_CELL:,} characters; a quote may not be closed"
    return printable(message, 200)
