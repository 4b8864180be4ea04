"""Parts of a whole, as a table: most first, and what is small in one line."""

from collections.abc import Mapping

from benchmarks.page import table

REST = "all else"
_MOST = 8


def shares(of: str, parts: Mapping[str, float], whole: float, unit: str = "s", form: str = ".2f") -> str:
    """A line for each of the largest parts, then what is left of the whole, then the whole."""
    largest = sorted(parts.items(), key=lambda part: -part[1])[:_MOST]
    rest = whole - sum(figure for _, figure in largest)
    rows = [*largest, *([(REST, rest)] if rest > 0 else []), ("in all", whole)]
    return table((of, unit, "share"), [(name, format(it, form), f"{it / whole:.0%}") for name, it in rows])
