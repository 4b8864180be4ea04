"""The page of results: each benchmark rewrites its own part, with tables; figures are held against limits."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from memstow.planner.show.formatting import markdown_table

MISSED: Final = "**missed**"


def held(text: str, figure: float, limit: float) -> str:
    """The figure as it is shown, with a word where it is above its limit."""
    return text if figure <= limit else f"{text} {MISSED}"


ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benchmarks" / "results.md"
DATA = ROOT.parent / "shared" / "data"
"""Instances from elsewhere; they are read there where they are, and never copied."""


def table(header: Sequence[str], rows: Iterable[Sequence[object]], left: int = 1) -> str:
    """A Markdown table, the first columns flush left."""
    return "\n".join(markdown_table(header, [[*map(str, row)] for row in rows], left))


def stamp() -> str:
    """When and on what, in a line."""
    # What describes the machine of a record: slow to import, and only needed at the end.
    from memstow.planner.bench.judgement import this_machine
    from memstow.planner.bench.report_text import machine_text

    return f"_Measured on {datetime.now(UTC).date().isoformat()}: {machine_text(this_machine())}._"


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
    return table(
        (of, unit, "share"), [(name, format(part, form), f"{part / whole:.0%}") for name, part in rows]
    )
