"""What TensorFlow Lite Micro needs of an arena, before and after, as a table for people."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from memstow.planner.tflm.arena import Arena

_UNKNOWN: Final = "?"
_NO_MORE: Final = "-"
_HEADINGS: Final = ("as it is", "as written")
_ROWS: Final[Sequence[tuple[str, str, "Callable[[Arena], int | None]"]]] = (
    ("head: tensors and scratch", _UNKNOWN, lambda it: it.head),
    ("planning, in its place", _NO_MORE, lambda it: it.planning),
    ("tail: what stays", _UNKNOWN, lambda it: it.tail),
    ("least arena", _UNKNOWN, lambda it: it.least),
)


def arena_table(arenas: "Sequence[Arena]") -> str:
    """The arena of a model as it is, and if it is written, of what is written."""
    names = [f"  {name}" for name, _, _ in _ROWS]
    columns = [
        [heading, *(_figure(pick(arena), otherwise) for _, otherwise, pick in _ROWS)]
        for heading, arena in zip(_HEADINGS, arenas, strict=False)
    ]
    first = max(map(len, ("TensorFlow Lite Micro, bytes", *names)))
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for row, name in enumerate(("TensorFlow Lite Micro, bytes", *names)):
        cells = (column[row].rjust(width) for column, width in zip(columns, widths, strict=True))
        lines.append("  ".join((name.ljust(first), *cells)))
    return "\n".join(lines)


def _figure(value: int | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:,}"
