"""The tables of the report in LaTeX, for papers: with booktabs and longtable, to be read by `\\input`."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from memstow.planner.bench.analysis.ratios import Bench
from memstow.planner.bench.analysis.summary import Row
from memstow.planner.bench.report import text
from memstow.planner.bench.report.instance_table import InstanceRow, most_telling
from memstow.planner.show.formatting import count

MOST_ROWS: Final = 200
# What fits the width of a page.
_COLUMNS: Final = ("solver", "runs", "solved", "proven", "best known", "ratio", "time", "memory")
# The end of a row would take what begins with one of these as its argument.
_GUARD: Final = "{}"
_SPECIAL: Final = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        '"': r"\textquotedbl{}",
        "–": "--",
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    }
)


def latex(title: str, bench: Bench, summary: Sequence[Row], rows: Sequence[InstanceRow]) -> str:
    """A table of solvers for all and for each family, and one of the instances."""
    parts = [f"% {line}" for line in (title, *(f"{what}: {fact}" for what, fact in text.facts(bench)))]
    parts.append(r"% needs \usepackage[T1]{fontenc}, \usepackage{booktabs} and \usepackage{longtable}")
    for family, inside in groupby(summary, key=lambda row: row.family):
        parts += _summary(family, list(inside))
    shown = most_telling(rows, MOST_ROWS)
    left_out = text.how_many(len(shown), len(rows))
    note = f"Ratios to the best known, medians over the seeds. *: proven with every seed. {left_out}".rstrip()
    parts += _instances(bench.solvers, shown, note)
    return "\n".join(parts) + "\n"


def _summary(family: str, rows: Sequence[Row]) -> Iterator[str]:
    yield from ("", r"\begin{table}", r"\centering\small", f"\\caption{{{_text(text.name(family))}}}")
    yield f"\\begin{{tabular}}{{l{'r' * (len(_COLUMNS) - 1)}}}"
    yield from (r"\toprule", _row(_COLUMNS), r"\midrule")
    for row in rows:
        cells = dict(zip(text.SUMMARY_HEAD, text.summary_cells(row), strict=True))
        yield _row([cells[column] for column in _COLUMNS])
    yield from (r"\bottomrule", r"\end{tabular}", r"\end{table}")


def _instances(solvers: Sequence[str], rows: Sequence[InstanceRow], note: str) -> Iterator[str]:
    head = ("instance", "buffers", "best known", *map(text.name, solvers))
    yield from ("", r"{\small", f"\\begin{{longtable}}{{l{'r' * (len(head) - 1)}}}")
    yield f"\\caption{{{_text(note)}}}\\\\"
    yield from (r"\toprule", _row(head), r"\endhead")
    for family, inside in groupby(rows, key=lambda row: row.instance.family):
        yield f"\\midrule \\multicolumn{{{len(head)}}}{{l}}{{{_text(text.name(family))}}} \\\\"
        for row in inside:
            name, buffers = text.instance_name(row.instance), row.instance.features.get("buffers", 0)
            cells = (f"{cell.value}{'*' if cell.proven else ''}" for cell in row.cells)
            yield _row((name, count(buffers), text.best_known(row.best), *cells))
    yield from (r"\bottomrule", r"\end{longtable}}")


def _row(cells: Sequence[str]) -> str:
    return f"{_GUARD if cells[0][:1] in ('[', '*') else ''}{' & '.join(map(_text, cells))} \\\\"


def _text(text: str) -> str:
    """Nothing in it is a command."""
    return text.translate(_SPECIAL)
