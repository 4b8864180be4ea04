"""For each plan of some instances a page of its own, which the report links to."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from memstow.planner.bench.analysis.ratios import Bench
from memstow.planner.bench.records.results import Run
from memstow.planner.bench.report.instance_table import InstanceRow
from memstow.planner.bench.report.recorded_plan import recorded_plan
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem

FOLDER = "report-plans"

Viewer = Callable[[str, Problem, Plan, Run], None]
"""Writes the page of the plan that a run gave to a file of this name: one by one, as they may be many."""


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
