"""The page of results: each benchmark rewrites its own part, with tables; figures are held against limits."""

import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from os import cpu_count
from pathlib import Path
from typing import Final

MISSED: Final = "**missed**"


def held(text: str, figure: float, limit: float) -> str:
    """The figure as it is shown, with a word where it is above its limit."""
    return text if figure <= limit else f"{text} {MISSED}"


ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benchmarks" / "results.md"
DATA = ROOT.parent / "shared" / "data"
"""Instances from elsewhere; they are read there where they are, and never copied."""


def table(header: Sequence[str], rows: Sequence[Sequence[object]], left: int = 1) -> str:
    """A Markdown table, the first columns flush left."""
    rule = ["---"] * left + ["---:"] * (len(header) - left)
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in (header, rule, *rows))


def stamp() -> str:
    """When and on what, in a line."""
    when = datetime.now(UTC).date().isoformat()
    where = f"{cpu_count()} cores, Python {platform.python_version()}, {platform.system()}"
    return f"_Measured on {when}: {where}._"


def put(name: str, text: str) -> None:
    """Put the text between the markers of this name."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    page = PAGE.read_text()
    if begin not in page or end not in page:
        raise RuntimeError(f"{PAGE.name} has no markers for {name!r}")
    before, rest = page.split(begin, 1)
    _, after = rest.split(end, 1)
    PAGE.write_text(f"{before}{begin}\n{text.strip()}\n\n{stamp()}\n{end}{after}")


REST = "all else"
_MOST = 8


def shares(of: str, parts: Mapping[str, float], whole: float, unit: str = "s", form: str = ".2f") -> str:
    """A line for each of the largest parts, then what is left of the whole, then the whole."""
    largest = sorted(parts.items(), key=lambda part: -part[1])[:_MOST]
    rest = whole - sum(figure for _, figure in largest)
    rows = [*largest, *([(REST, rest)] if rest > 0 else []), ("in all", whole)]
    return table((of, unit, "share"), [(name, format(it, form), f"{it / whole:.0%}") for name, it in rows])
