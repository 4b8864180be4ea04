"""The tables of a report: Markdown with pictures beside it, LaTeX for papers, and CSV."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from html import escape
from itertools import groupby
from typing import Final

from memstow.planner.bench import report_text
from memstow.planner.bench.analysis import Bench, RatedRun, Row
from memstow.planner.bench.compare import Duel
from memstow.planner.bench.report_pictures import Picture
from memstow.planner.bench.report_text import Cell, InstanceRow, most_telling
from memstow.planner.show.formatting import count, latex_text, markdown_table

MOST_ROWS: Final = 200
MOST_CLAIMS: Final = 20


def markdown(
    title: str,
    bench: Bench,
    summary: Sequence[Row],
    duels: Sequence[Duel],
    pictures: Sequence[tuple[Picture, str]],
    rows: Sequence[InstanceRow],
) -> str:
    """The text; each picture comes with the name of its file."""
    parts = [f"# {_markdown_text(title)}", ""]
    parts += [f"- {what}: {_markdown_text(fact)}" for what, fact in report_text.facts(bench)]
    parts += _claims(bench)
    parts += ["", "## Summary", "", _markdown_text(report_text.SUMMARY_NOTE)]
    for family, inside in groupby(summary, key=lambda row: row.family):
        parts += ["", f"### {_markdown_text(report_text.name(family))}", ""]
        parts += _table(report_text.SUMMARY_HEAD, [report_text.summary_cells(row) for row in inside])
    parts += _statistics(duels)
    for picture, file in pictures:
        parts += [
            "",
            f"## {_markdown_text(picture.title)}",
            "",
            f"![{_markdown_text(picture.title)}]({file})",
            "",
            _markdown_text(picture.caption),
        ]
    parts += ["", "## Instances", "", *_markdown_instances(bench.solvers, rows)]
    return "\n".join(parts) + "\n"


def _statistics(duels: Sequence[Duel]) -> Iterator[str]:
    if duels:
        yield from ("", "## Statistics", "", _markdown_text(report_text.STATISTICS_NOTE), "")
        yield from (f"- {_markdown_text(sentence)}" for sentence in report_text.duel_sentences(duels))
        yield ""
        yield from _table(report_text.STATISTICS_HEAD, [report_text.duel_cells(duel) for duel in duels])


def _claims(bench: Bench) -> Iterator[str]:
    contradictions = bench.contradictions
    if contradictions:
        yield from ("", "## Claims that are not true", "")
        yield from (f"- {_markdown_text(one.sentence)}" for one in contradictions[:MOST_CLAIMS])
        if len(contradictions) > MOST_CLAIMS:
            yield f"- and {count(len(contradictions) - MOST_CLAIMS)} more"


def _markdown_instances(solvers: Sequence[str], rows: Sequence[InstanceRow]) -> Iterator[str]:
    shown = most_telling(rows, MOST_ROWS)
    yield f"{report_text.INSTANCES_NOTE} {report_text.how_many(len(shown), len(rows))}".rstrip()
    yield ""
    yield from _table(
        ("instance", "family", "buffers", "best known", *map(report_text.name, solvers)),
        [
            (
                report_text.instance_name(row.instance),
                report_text.name(row.instance.family),
                count(row.instance.features.get("buffers", 0)),
                report_text.best_known(row.best),
                *map(_cell, row.cells),
            )
            for row in shown
        ],
    )


def _cell(cell: Cell) -> str:
    return f"{cell.value}{' ✓' if cell.proven else ''}{f', {cell.time}' if cell.time else ''}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return markdown_table([*map(_markdown_text, head)], [[*map(_markdown_text, row)] for row in rows])


def _markdown_text(text: str) -> str:
    """Nothing in it is markup."""
    return escape(re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", text), quote=False)


# What fits the width of a page.
_COLUMNS: Final = ("solver", "runs", "solved", "proven", "checked", "best known", "ratio", "time", "memory")
# The end of a row would take what begins with one of these as its argument.
_GUARD: Final = "{}"


_RULES: Final = (
    r"% needs \usepackage[T1]{fontenc} and \usepackage{longtable}; \usepackage{booktabs} is optional",
    r"\providecommand{\toprule}{\hline}",
    r"\providecommand{\midrule}{\hline}",
    r"\providecommand{\bottomrule}{\hline}",
)


def latex(
    title: str, bench: Bench, summary: Sequence[Row], duels: Sequence[Duel], rows: Sequence[InstanceRow]
) -> str:
    """A table of solvers for all and for each family, how they compare, and a table of the instances."""
    parts = [f"% {line}" for line in (title, *(f"{what}: {fact}" for what, fact in report_text.facts(bench)))]
    parts += _RULES
    for family, inside in groupby(summary, key=lambda row: row.family):
        parts += _summary(family, list(inside))
    parts += _latex_statistics(duels)
    shown = most_telling(rows, MOST_ROWS)
    left_out = report_text.how_many(len(shown), len(rows))
    note = f"Ratios to the best known, medians over the seeds. *: proven with every seed. {left_out}".rstrip()
    parts += _latex_instances(bench.solvers, shown, note)
    return "\n".join(parts) + "\n"


def _summary(family: str, rows: Sequence[Row]) -> Iterator[str]:
    yield from (
        "",
        r"\begin{table}",
        r"\centering\small",
        f"\\caption{{{latex_text(report_text.name(family))}}}",
    )
    yield f"\\begin{{tabular}}{{l{'r' * (len(_COLUMNS) - 1)}}}"
    yield from (r"\toprule", _row(_COLUMNS), r"\midrule")
    for row in rows:
        cells = dict(zip(report_text.SUMMARY_HEAD, report_text.summary_cells(row), strict=True))
        yield _row([cells[column] for column in _COLUMNS])
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")


def _latex_statistics(duels: Sequence[Duel]) -> Iterator[str]:
    if not duels:
        return
    yield from ("", *(latex_text(sentence) for sentence in report_text.duel_sentences(duels)), "")
    yield r"{\small"
    yield f"\\begin{{longtable}}{{ll{'r' * (len(report_text.STATISTICS_HEAD) - 2)}}}"
    yield f"\\caption{{{latex_text(report_text.STATISTICS_NOTE)}}}\\\\"
    yield from (r"\toprule", _row(report_text.STATISTICS_HEAD), r"\midrule", r"\endhead")
    yield from (_row(report_text.duel_cells(duel)) for duel in duels)
    yield from (r"\bottomrule", r"\end{longtable}}")


def _latex_instances(solvers: Sequence[str], rows: Sequence[InstanceRow], note: str) -> Iterator[str]:
    head = ("instance", "buffers", "best known", *map(report_text.name, solvers))
    yield from ("", r"{\small", f"\\begin{{longtable}}{{l{'r' * (len(head) - 1)}}}")
    yield f"\\caption{{{latex_text(note)}}}\\\\"
    yield from (r"\toprule", _row(head), r"\endhead")
    for family, inside in groupby(rows, key=lambda row: row.instance.family):
        yield f"\\midrule \\multicolumn{{{len(head)}}}{{l}}{{{latex_text(report_text.name(family))}}} \\\\"
        for row in inside:
            name, buffers = report_text.instance_name(row.instance), row.instance.features.get("buffers", 0)
            cells = (f"{cell.value}{'*' if cell.proven else ''}" for cell in row.cells)
            yield _row((name, count(buffers), report_text.best_known(row.best), *cells))
    yield from (r"\bottomrule", r"\end{longtable}}")


def _row(cells: Sequence[str]) -> str:
    return f"{_GUARD if cells[0][:1] in ('[', '*') else ''}{' & '.join(map(latex_text, cells))} \\\\"


WORK = ("nodes", "steps")


def runs_csv(bench: Bench) -> str:
    """A line for each run."""
    head = [
        "family",
        "instance",
        "digest",
        "buffers",
        "solver",
        "version",
        "seed",
        "status",
        "valid",
        "value",
        "bound",
        "best",
        "ratio",
        "proven",
        "checked",
        "repeats",
        "seconds",
        "cpu_seconds",
        "reported_seconds",
        "limit",
        "peak_memory",
        "primal_integral",
        "dual_integral",
    ]
    return _written((*head, *WORK, "error"), map(_run, bench.rated))


def summary_csv(rows: Sequence[Row]) -> str:
    """A line for each solver and family."""
    return _written([field.name for field in fields(Row)], (asdict(row).values() for row in rows))


def _run(one: RatedRun) -> tuple[object, ...]:
    run, record = one.run, one.run.record
    return (
        run.instance.family,
        run.instance.name,
        run.instance.digest,
        run.instance.features.get("buffers"),
        run.solver,
        record.solver.version,
        record.seed,
        record.status.value,
        int(run.valid),
        " ".join(map(str, run.value)) if run.value is not None else None,
        record.bound,
        " ".join(map(str, one.best.value)) if one.best is not None else None,
        one.ratio,
        int(one.proven),
        one.checked,
        record.repeats,
        record.seconds,
        record.cpu_seconds,
        record.reported_seconds,
        run.limit,
        record.peak_memory,
        round(one.primal_integral, 6),
        round(one.dual_integral, 6),
        *(record.work.get(kind) for kind in WORK),
        record.error,
    )


def _written(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return text.getvalue()
