"""The report as one HTML file: no script, nothing fetched, every name from outside escaped."""

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final

from memstow.planner.bench.analysis.ratios import Bench
from memstow.planner.bench.analysis.summary import Row
from memstow.planner.bench.report import text
from memstow.planner.bench.report.canvas import Picture
from memstow.planner.bench.report.instance_table import Cell, InstanceRow, most_telling
from memstow.planner.bench.report.plan_pages import PlanPage
from memstow.planner.bench.report.stylesheet import STYLE
from memstow.planner.show.formatting import count

MOST_ROWS: Final = 2_000
"""Instances on the page; more would take a browser minutes. The CSV has them all."""
MOST_CLAIMS: Final = 100
# Of a name, the letters that a column is made for, and the width of a bold one in rem.
_LONGEST_PART: Final = 24
_LETTER: Final = 0.62

MemoryOf = Callable[[InstanceRow], str | None]
"""The memory picture of an instance, where there is one."""
LinksOf = Callable[[InstanceRow], Sequence[PlanPage]]
"""The pages of the plans of an instance."""


def page(
    title: str,
    bench: Bench,
    summary: Sequence[Row],
    pictures: Sequence[Picture],
    rows: Sequence[InstanceRow],
    memory_of: MemoryOf,
    links_of: LinksOf,
) -> str:
    """The page."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{_text(title)}</h1>",
        "<dl>",
        *(f"<dt>{_text(what)}</dt><dd>{_text(fact)}</dd>" for what, fact in text.facts(bench)),
        "</dl>",
        *_claims(bench),
        *_summary(summary),
        '<h2>Pictures</h2><div class="plots">',
        *map(_figure, pictures),
        "</div>",
        *_instances(bench.solvers, rows, memory_of, links_of),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _claims(bench: Bench) -> Iterator[str]:
    if not bench.contradictions:
        return
    yield '<h2 class="alarm">Claims that are not true</h2><ul>'
    for one in bench.contradictions[:MOST_CLAIMS]:
        yield f'<li class="alarm">{_text(one.sentence)}</li>'
    yield "</ul>"
    if len(bench.contradictions) > MOST_CLAIMS:
        yield f"<p>and {count(len(bench.contradictions) - MOST_CLAIMS)} more</p>"


def _summary(summary: Sequence[Row]) -> Iterator[str]:
    yield f"<h2>Summary</h2><p>{_text(text.SUMMARY_NOTE)}</p>"
    for family, rows in groupby(summary, key=lambda row: row.family):
        yield f'<h3>{_text(text.name(family))}</h3><div class="wide"><table><thead><tr>'
        yield "".join(f'<th scope="col">{_text(head)}</th>' for head in text.SUMMARY_HEAD)
        yield "</tr></thead><tbody>"
        for row in rows:
            yield f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in text.summary_cells(row))}</tr>"
        yield "</tbody></table></div>"


def _figure(picture: Picture) -> str:
    return (
        f"<figure><h3>{_text(picture.title)}</h3>{picture.on_page}"
        f"<figcaption>{_text(picture.caption)}</figcaption></figure>"
    )


def _instances(
    solvers: Sequence[str], rows: Sequence[InstanceRow], memory_of: MemoryOf, links_of: LinksOf
) -> Iterator[str]:
    shown = most_telling(rows, MOST_ROWS)
    yield f"<h2>Instances</h2><p>{text.INSTANCES_NOTE} A row with a mark before its name opens the picture "
    yield f"of its best plan. {text.how_many(len(shown), len(rows))}</p>"
    for family, inside in groupby(shown, key=lambda row: row.instance.family):
        yield f'<h3>{_text(text.name(family))}</h3><div class="wide">'
        yield f'<div class="rows" style="--solvers: {len(solvers)}; --column: {_column(solvers)}rem">'
        yield '<div class="head">'
        yield "<i>instance</i><span>buffers</span><span>best known<small>bound</small></span>"
        yield "".join(f"<span>{_text(text.name(solver))}</span>" for solver in solvers)
        yield "</div>"
        for row in inside:
            drawn = memory_of(row)
            cells = f"{_instance(row)}{''.join(map(_cell, row.cells))}"
            if drawn is None:
                yield f"<div>{cells}</div>"
            else:
                yield f"<details><summary>{cells}</summary>{_links(links_of(row))}"
                yield f'<div class="memory">{drawn}</div></details>'
        yield "</div></div>"


def _column(solvers: Sequence[str]) -> float:
    """The least width of a column, in which no name has to break but at a hyphen or a space."""
    longest = max((len(part) for name in solvers for part in re.split(r"[-\s]+", text.name(name))), default=0)
    return max(4.5, round(min(longest, _LONGEST_PART) * _LETTER + 1, 2))


def _links(pages: Sequence[PlanPage]) -> str:
    """To the pages of plans; they are files beside the report."""
    if not pages:
        return ""
    links = ", ".join(f'<a href="{_text(it.file)}">{_text(it.words)}</a>' for it in pages)
    return f'<p class="plans">Look at the plans: {links}</p>'


def _instance(row: InstanceRow) -> str:
    best = text.best_known(row.best)
    bound = text.NONE if row.bound is None else count(row.bound)
    buffers = count(row.instance.features.get("buffers", 0))
    name = _text(text.instance_name(row.instance))
    return f"<i>{name}</i><span>{buffers}</span><span>{best}<small>{bound}</small></span>"


def _cell(cell: Cell) -> str:
    value = f"{_text(cell.value)}{' ✓' if cell.proven else ''}"
    return f"<span>{f'<b>{value}</b>' if cell.at_best else value}<small>{_text(cell.time)}</small></span>"


def _text(text: str) -> str:
    return escape(text)
