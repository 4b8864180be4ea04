"""From the results of a run to its report: a page, Markdown with pictures, tables for LaTeX and as CSV."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from memstow.planner.bench.analysis import Bench, Row, summary
from memstow.planner.bench.record import RUNS, SUMMARY, Instance
from memstow.planner.bench.report_page import PlanPage, Viewer, page, plan_pages
from memstow.planner.bench.report_pictures import as_pdf, picture, sketches, styles
from memstow.planner.bench.report_tables import latex, markdown, runs_csv, summary_csv
from memstow.planner.bench.report_text import InstanceRow, instance_rows, most_telling, recorded_plan
from memstow.planner.model.errors import InputError
from memstow.planner.model.problem import Problem
from memstow.planner.show.svg_picture import svg

PAGE: Final = "report.html"
MOST_MEMORY_PICTURES: Final = 100

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
) -> dict[str, str]:
    """The files of the report by their names; the page needs none of the others.

    With a viewer, which writes them, each plan of the instances with a picture has a page of its own.
    """
    rows = summary(bench)
    drawn = [picture(sketch) for sketch in sketches(bench, styles(bench.solvers), _pair(bench, rows, pair))]
    files = [(picture, f"report-{picture.name}.svg") for picture in drawn]
    instances = instance_rows(bench)
    chosen = most_telling([row for row in instances if row.best_run], memory_pictures)
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
        PAGE: page(title, bench, rows, drawn, instances, memory_of, links_of),
        "report.md": markdown(title, bench, rows, files, instances),
        "report.tex": latex(title, bench, rows, instances),
        RUNS: runs_csv(bench),
        SUMMARY: summary_csv(rows),
        **{file: picture.in_file for picture, file in files},
    }


def figures(bench: Bench, pair: tuple[str, str] | None = None) -> dict[str, bytes]:
    """The pictures of the report for a paper, as PDF, by the names of their files."""
    drawn = sketches(bench, styles(bench.solvers), _pair(bench, summary(bench), pair))
    return {f"report-{sketch.name}.pdf": as_pdf(sketch) for sketch in drawn}


def _pair(bench: Bench, rows: list[Row], asked: tuple[str, str] | None) -> tuple[str, str] | None:
    """The two solvers of the scatter plot: those requested, or the two best."""
    for solver in asked or ():
        if solver not in bench.solvers:
            message = f"there are no results of {solver!r}; there are: {', '.join(bench.solvers)}"
            raise InputError.single("unknown_solver", "pair", message)
    if asked is not None or len(bench.solvers) < 2:
        return asked
    overall = rows[: len(bench.solvers)]
    first, second = sorted(overall, key=lambda row: (-row.proven, -row.at_best, -row.solved, row.solver))[:2]
    return first.solver, second.solver
