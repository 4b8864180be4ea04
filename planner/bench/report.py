"""From the results of a run to its report: an HTML page, Markdown with pictures, tables for LaTeX and as CSV.

The page is one file and, where wanted, pages of plans: no script, nothing fetched, foreign names escaped.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Final

from memstow.planner.bench import report_text
from memstow.planner.bench.analysis import Bench, Row, summary
from memstow.planner.bench.compare import Duel, duels
from memstow.planner.bench.journal import Run
from memstow.planner.bench.record import RUNS, SUMMARY, Instance
from memstow.planner.bench.report_pictures import Picture, as_pdf, picture, sketches, styles
from memstow.planner.bench.report_tables import latex, markdown, runs_csv, summary_csv
from memstow.planner.bench.report_text import Cell, InstanceRow, instance_rows, most_telling, recorded_plan
from memstow.planner.model.errors import InputError, MissingBackEndError
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem
from memstow.planner.show.formatting import count
from memstow.planner.show.svg_picture import svg

PAGE: Final = "report.html"
MOST_DRAWN: Final = 2_000
"""Buffers of an instance with a picture: of more a small one would show nothing."""
MOST_MEMORY_PICTURES: Final = 100

FOLDER: Final = "report-plans"
"""Of the pages of plans."""

Viewer = Callable[[str, Problem, Plan, Run], None]
"""Writes the page of the plan that a run gave to a file of this name: one by one, as they may be many."""
ProblemsOf = Callable[[Sequence[Instance]], Mapping[str, Problem]]
"""By digest, the problems of these instances that can still be read."""


def report(
    bench: Bench,
    title: str,
    problems_of: ProblemsOf,
    *,
    pair: tuple[str, str] | None = None,
    memory_pictures: int = MOST_MEMORY_PICTURES,
    viewer: Viewer | None = None,
    against: str | None = None,
) -> dict[str, str]:
    """The files of the report by their names; the page needs none of the others.

    With a viewer, which writes them, each plan of the instances with a picture has a page of its own.
    Each solver is compared with the one that it is `against`, or each two of them.
    """
    rows, compared = summary(bench), _duels(bench, against)
    drawn = [picture(sketch) for sketch in sketches(bench, styles(bench.solvers), _pair(bench, rows, pair))]
    files = [(picture, f"report-{picture.name}.svg") for picture in drawn]
    instances = instance_rows(bench)
    small = [row for row in instances if row.instance.features.get("buffers", 0) <= MOST_DRAWN]
    chosen = most_telling([row for row in small if row.best_run], memory_pictures)
    problems = problems_of([row.instance for row in chosen])

    def memory_of(row: InstanceRow) -> str | None:
        problem = problems.get(row.instance.digest)
        layout = bench.results.plan(row.best_run.run) if problem and row.best_run else None
        return (
            svg(problem, recorded_plan(problem, row.best_run.run, layout))
            if problem and row.best_run and layout
            else None
        )

    pages = {} if viewer is None else plan_pages(bench, chosen, problems, viewer)

    def links_of(row: InstanceRow) -> list[PlanPage]:
        return pages.get(row.instance.digest, [])

    return {
        PAGE: page(title, bench, rows, compared, drawn, instances, memory_of, links_of),
        "report.md": markdown(title, bench, rows, compared, files, instances),
        "report.tex": latex(title, bench, rows, compared, instances),
        RUNS: runs_csv(bench),
        SUMMARY: summary_csv(rows),
        **{file: picture.in_file for picture, file in files},
    }


def figures(bench: Bench, pair: tuple[str, str] | None = None) -> dict[str, bytes]:
    """The pictures of the report for a paper, as PDF, by the names of their files."""
    drawn = sketches(bench, styles(bench.solvers), _pair(bench, summary(bench), pair))
    return {f"report-{sketch.name}.pdf": as_pdf(sketch) for sketch in drawn}


def _duels(bench: Bench, against: str | None) -> tuple[Duel, ...]:
    """The comparisons of solvers; none where what the tests need is not installed."""
    if against is not None:
        _require_solver(bench, against, "against")
    try:
        return duels(bench.results, against)
    except MissingBackEndError:
        return ()


def _require_solver(bench: Bench, solver: str, option: str) -> None:
    if solver not in bench.solvers:
        message = f"there are no results of {solver!r}; there are: {', '.join(bench.solvers)}"
        raise InputError.single("unknown_solver", option, message)


def _pair(bench: Bench, rows: list[Row], named: tuple[str, str] | None) -> tuple[str, str] | None:
    """The two solvers of the scatter plot: those requested, or the two best."""
    for solver in named or ():
        _require_solver(bench, solver, "pair")
    if named is not None or len(bench.solvers) < 2:
        return named
    overall = rows[: len(bench.solvers)]
    first, second = sorted(overall, key=lambda row: (-row.proven, -row.at_best, -row.solved, row.solver))[:2]
    return first.solver, second.solver


_FRAME: Final = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1d1f23; --quiet: #5c6370; --rule: #d8d8d4;
  --wash: #f4f4f2; --alarm: #b3261e; --good: #1f7a3a; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #15171b; --ink: #e6e6e3; --quiet: #a2a8b3; --rule: #3a3e46; --wash: #1e2127;
    --alarm: #ff8a80; --good: #7fd694; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem; max-width: 76rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 1rem; }
"""
STYLE: Final = """
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p, figcaption { color: var(--quiet); max-width: 62rem; margin: .4rem 0 .8rem; }
.report dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
.report dt { color: var(--quiet); }
.report dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid var(--rule); text-align: right;
  vertical-align: top; }
th:first-child, td:first-child { text-align: left; overflow-wrap: anywhere; min-width: 6em; }
thead th { color: var(--quiet); font-weight: 600; }
.alarm { color: var(--alarm); }
figure { margin: 1.2rem 0; break-inside: avoid; }
figure svg { max-width: 100%; height: auto; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(34rem, 100%), 1fr)); gap: 0 2rem; }
.rows { min-width: calc(23rem + (var(--column) + .5rem) * var(--solvers));
  font-variant-numeric: tabular-nums; }
.rows > * { border-bottom: 1px solid var(--rule); content-visibility: auto;
  contain-intrinsic-block-size: auto 2.8rem; }
.rows > div, .rows summary { display: grid;
  grid-template-columns: minmax(8rem, 2fr) 5.5rem 8rem repeat(var(--solvers), minmax(var(--column), 1fr)); }
.rows > .head { color: var(--quiet); font-weight: 600; }
.rows summary { cursor: pointer; list-style: none; }
.rows summary:hover { background: var(--wash); }
.rows summary i::before { content: "\\25B8\\00A0"; font-style: normal; color: var(--quiet); }
.rows details[open] summary i::before { content: "\\25BE\\00A0"; }
.rows span, .rows i { min-width: 0; padding: .25rem .5rem; text-align: right; overflow-wrap: anywhere; }
.rows i { font-style: normal; text-align: left; }
.rows small { display: block; color: var(--quiet); }
.rows b { color: var(--good); }
.rows .memory { padding: .5rem 0 1rem; }
.memory svg { max-width: 100%; height: auto; background: #ffffff; color: #1a1a1a; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  .report dl { display: block; }
  .report dd { margin: 0 0 .4rem; }
}
@page { margin: 14mm; }
@media print {
  :root { --paper: #ffffff; --ink: #000000; --quiet: #444444; --rule: #c8c8c4; --wash: #ffffff;
    --alarm: #8c1d18; --good: #14522a; }
  body { max-width: none; padding: 0; font-size: 9pt; }
  table, .rows { font-size: 6.5pt; }
  .rows { min-width: 0; }
  .rows > div, .rows summary { grid-template-columns: 2fr 6em 8em repeat(var(--solvers), minmax(0, 1fr)); }
  .rows span, .rows i { padding: .2em .5em; }
  th, td { padding: .15rem .3rem; }
  .plots { display: block; }
  h2, h3 { break-after: avoid; }
  .rows > * { break-inside: avoid; content-visibility: visible; }
  .wide { overflow: visible; }
}
"""


@dataclass(frozen=True, slots=True)
class PlanPage:
    """A page, and the words of the link to it."""

    file: str
    words: str


def plan_pages(
    bench: Bench, rows: Iterable[InstanceRow], problems: Mapping[str, Problem], viewer: Viewer
) -> dict[str, list[PlanPage]]:
    """By digest of the instance, the pages of all plans that the results hold."""
    runs: dict[str, list[Run]] = {}
    for one in bench.rated:
        runs.setdefault(one.run.instance.digest, []).append(one.run)
    return {
        row.instance.digest: list(
            _pages(bench, runs[row.instance.digest], problems[row.instance.digest], viewer)
        )
        for row in rows
        if row.instance.digest in problems
    }


def _pages(bench: Bench, runs: Sequence[Run], problem: Problem, viewer: Viewer) -> Iterable[PlanPage]:
    several = len({run.record.seed for run in runs}) > 1
    for number, run in enumerate(runs, 1):
        layout = bench.results.plan(run)
        if layout is not None and run.valid:
            file = f"{FOLDER}/{run.instance.digest[:16]}-{number}.html"
            viewer(file, problem, recorded_plan(problem, run, layout), run)
            yield PlanPage(file, f"{run.solver}, seed {run.record.seed}" if several else run.solver)


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
    compared: Sequence[Duel],
    pictures: Sequence[Picture],
    rows: Sequence[InstanceRow],
    memory_of: MemoryOf,
    links_of: LinksOf,
) -> str:
    """The page."""
    return framed(title, _sections(bench, summary, compared, pictures, rows, memory_of, links_of))


def framed(title: str, body: Iterable[str], head: Iterable[str] = (), style: str = "") -> str:
    """A page of one file, with what else is in its head, and a style of its own after that of reports."""
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        *head,
        f"<title>{_text(title)}</title><style>{_FRAME}{STYLE}{style}</style></head><body>",
        f"<h1>{_text(title)}</h1>",
        *body,
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def sections(bench: Bench) -> str:
    """What the page says, without pictures of plans, for a page with another frame.

    That has `STYLE` and the variables `--paper`, `--ink`, `--quiet`, `--rule`, `--wash`, `--alarm`, `--good`.
    """
    rows = summary(bench)
    drawn = [picture(sketch) for sketch in sketches(bench, styles(bench.solvers), _pair(bench, rows, None))]
    parts = _sections(bench, rows, _duels(bench, None), drawn, instance_rows(bench), None, lambda _: ())
    return "\n".join(parts) + "\n"


def _sections(
    bench: Bench,
    summary: Sequence[Row],
    compared: Sequence[Duel],
    pictures: Sequence[Picture],
    rows: Sequence[InstanceRow],
    memory_of: MemoryOf | None,
    links_of: LinksOf,
) -> Iterator[str]:
    yield '<div class="report"><dl>'
    for what, fact in report_text.facts(bench):
        yield f"<dt>{_text(what)}</dt><dd>{_text(fact)}</dd>"
    yield "</dl>"
    yield from _claims(bench)
    yield from _summary(summary)
    yield from _statistics(compared)
    yield '<h2>Pictures</h2><div class="plots">'
    yield from map(_figure, pictures)
    yield "</div>"
    yield from _instances(bench.solvers, rows, memory_of, links_of)
    yield "</div>"


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
    yield f"<h2>Summary</h2><p>{_text(report_text.SUMMARY_NOTE)}</p>"
    for family, rows in groupby(summary, key=lambda row: row.family):
        yield f'<h3>{_text(report_text.name(family))}</h3><div class="wide"><table><thead><tr>'
        yield "".join(f'<th scope="col">{_text(head)}</th>' for head in report_text.SUMMARY_HEAD)
        yield "</tr></thead><tbody>"
        for row in rows:
            yield f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in report_text.summary_cells(row))}</tr>"
        yield "</tbody></table></div>"


def _statistics(compared: Sequence[Duel]) -> Iterator[str]:
    if not compared:
        return
    yield f"<h2>Statistics</h2><p>{_text(report_text.STATISTICS_NOTE)}</p><ul>"
    yield from (f"<li>{_text(sentence)}</li>" for sentence in report_text.duel_sentences(compared))
    yield '</ul><div class="wide"><table><thead><tr>'
    yield "".join(f'<th scope="col">{_text(head)}</th>' for head in report_text.STATISTICS_HEAD)
    yield "</tr></thead><tbody>"
    for duel in compared:
        yield f"<tr>{''.join(f'<td>{_text(cell)}</td>' for cell in report_text.duel_cells(duel))}</tr>"
    yield "</tbody></table></div>"


def _figure(picture: Picture) -> str:
    return (
        f"<figure><h3>{_text(picture.title)}</h3>{picture.on_page}"
        f"<figcaption>{_text(picture.caption)}</figcaption></figure>"
    )


def _instances(
    solvers: Sequence[str], rows: Sequence[InstanceRow], memory_of: MemoryOf | None, links_of: LinksOf
) -> Iterator[str]:
    shown = most_telling(rows, MOST_ROWS)
    yield f"<h2>Instances</h2><p>{report_text.INSTANCES_NOTE}"
    if memory_of is not None:
        yield "A row with a mark before its name opens the picture of its best plan."
    yield f"{report_text.how_many(len(shown), len(rows))}</p>"
    for family, inside in groupby(shown, key=lambda row: row.instance.family):
        yield f'<h3>{_text(report_text.name(family))}</h3><div class="wide">'
        yield f'<div class="rows" style="--solvers: {len(solvers)}; --column: {_column(solvers)}rem">'
        yield '<div class="head">'
        yield "<i>instance</i><span>buffers</span><span>best known<small>bound</small></span>"
        yield "".join(f"<span>{_text(report_text.name(solver))}</span>" for solver in solvers)
        yield "</div>"
        for row in inside:
            drawn = None if memory_of is None else memory_of(row)
            cells = f"{_instance(row)}{''.join(map(_cell, row.cells))}"
            if drawn is None:
                yield f"<div>{cells}</div>"
            else:
                yield f"<details><summary>{cells}</summary>{_links(links_of(row))}"
                yield f'<div class="memory">{drawn}</div></details>'
        yield "</div></div>"


def _column(solvers: Sequence[str]) -> float:
    """The least width of a column, in which no name has to break but at a hyphen or a space."""
    longest = max(
        (len(part) for name in solvers for part in re.split(r"[-\s]+", report_text.name(name))), default=0
    )
    return max(4.5, round(min(longest, _LONGEST_PART) * _LETTER + 1, 2))


def _links(pages: Sequence[PlanPage]) -> str:
    """To the pages of plans; they are files beside the report."""
    if not pages:
        return ""
    links = ", ".join(f'<a href="{_text(page.file)}">{_text(page.words)}</a>' for page in pages)
    return f'<p class="plans">Look at the plans: {links}</p>'


def _instance(row: InstanceRow) -> str:
    best = report_text.best_known(row.best)
    bound = report_text.NONE if row.bound is None else count(row.bound)
    buffers = count(row.instance.features.get("buffers", 0))
    name = _text(report_text.instance_name(row.instance))
    return f"<i>{name}</i><span>{buffers}</span><span>{best}<small>{bound}</small></span>"


def _cell(cell: Cell) -> str:
    value = f"{_text(cell.value)}{' ✓' if cell.proven else ''}"
    return f"<span>{f'<b>{value}</b>' if cell.at_best else value}<small>{_text(cell.time)}</small></span>"


def _text(text: str) -> str:
    return escape(text)
