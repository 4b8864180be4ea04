"""The lines of a CSV: cells and integers, and their issues by line and column."""

import csv
import io
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from memstow.planner.formats.csv.header import header_columns
from memstow.planner.formats.csv.quotes import open_quote
from memstow.planner.model.errors import InputError, Issue
from memstow.planner.reading.issues import MOST_REPORTED
from memstow.planner.reading.json_text import LONGEST_INTEGER, MOST_VALUES, check_marks, not_utf8
from memstow.planner.reading.printable import printable, shown

_INTEGER: Final = re.compile(r"[+-]?\d+", re.ASCII)
_LONGEST_CELL: Final = 1 << 20


class CellError(Exception):
    """An error in a cell, with the meaning of its column."""

    def __init__(self, code: str, meaning: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.meaning = meaning


def _check_count(data: bytes) -> None:
    """Refuse what would need too much memory: a line is an object, a list and its numbers."""
    lines = max(data.count(b"\n"), data.count(b"\r"))
    if data.count(b",") + 4 * lines > MOST_VALUES:
        raise InputError.single("too_large", "$", f"more than {MOST_VALUES:,} values, the most that is read")


class Lines:
    """The lines of a CSV after its header, and their issues."""

    def __init__(self, data: bytes, allowed: tuple[str, ...], required: tuple[str, ...]) -> None:
        check_marks(data)
        _check_count(data)
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
