"""The report in Markdown, with its pictures beside it: for places that show no HTML."""

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final

from memstow.planner.bench.analysis.ratios import Bench
from memstow.planner.bench.analysis.summary import Row
from memstow.planner.bench.report import text
from memstow.planner.bench.report.canvas import Picture
from memstow.planner.bench.report.instance_table import Cell, InstanceRow, most_telling
from memstow.planner.show.formatting import count

MOST_ROWS: Final = 200
MOST_CLAIMS: Final = 20


def markdown(
    title: str,
    bench: Bench,
    summary: Sequence[Row],
    pictures: Sequence[tuple[Picture, str]],
    rows: Sequence[InstanceRow],
) -> str:
    """The text; each picture comes with the name of its file."""
    parts = [f"# {_text(title)}", ""]
    parts += [f"- {what}: {_text(fact)}" for what, fact in text.facts(bench)]
    parts += _claims(bench)
    parts += ["", "## Summary", "", _text(text.SUMMARY_NOTE)]
    for family, inside in groupby(summary, key=lambda row: row.family):
        parts += ["", f"### {_text(text.name(family))}", ""]
        parts += _table(text.SUMMARY_HEAD, [text.summary_cells(row) for row in inside])
    for picture, file in pictures:
        parts += [
            "",
            f"## {_text(picture.title)}",
            "",
            f"![{_text(picture.title)}]({file})",
            "",
            _text(picture.caption),
        ]
    parts += ["", "## Instances", "", *_instances(bench.solvers, rows)]
    return "\n".join(parts) + "\n"


def _claims(bench: Bench) -> Iterator[str]:
    found = bench.contradictions
    if found:
        yield from ("", "## Claims that are not true", "")
        yield from (f"- {_text(one.sentence)}" for one in found[:MOST_CLAIMS])
        if len(found) > MOST_CLAIMS:
            yield f"- and {count(len(found) - MOST_CLAIMS)} more"


def _instances(solvers: Sequence[str], rows: Sequence[InstanceRow]) -> Iterator[str]:
    shown = most_telling(rows, MOST_ROWS)
    yield f"{text.INSTANCES_NOTE} {text.how_many(len(shown), len(rows))}".rstrip()
    yield ""
    yield from _table(
        ("instance", "family", "buffers", "best known", *map(text.name, solvers)),
        [
            (
                text.instance_name(row.instance),
                text.name(row.instance.family),
                count(row.instance.features.get("buffers", 0)),
                text.best_known(row.best),
                *map(_cell, row.cells),
            )
            for row in shown
        ],
    )


def _cell(cell: Cell) -> str:
    return f"{cell.value}{' ✓' if cell.proven else ''}{f', {cell.time}' if cell.time else ''}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_text, head))} |"
    yield f"| --- |{' ---: |' * (len(head) - 1)}"
    for row in rows:
        yield f"| {' | '.join(map(_text, row))} |"


def _text(text: str) -> str:
    """Nothing in it is markup."""
    return escape(re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", text), quote=False)
