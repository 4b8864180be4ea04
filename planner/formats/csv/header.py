"""The header of a CSV: which column holds what, by any of the names in use, in any order."""

from dataclasses import dataclass
from typing import Final

from memstow.planner.model.errors import InputError, Issue
from memstow.planner.reading.printable import printable, shown

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
