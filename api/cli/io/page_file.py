"""The page of a plan: written as one file, and shown in the browser."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from memstow.api.cli.io.output import replace_file, write_out
from memstow.api.cli.io.problem_input import problem_of
from memstow.api.cli.io.terminal import print_error
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.api.page.alone import Ordered, SearchStep
    from memstow.planner.bench.records.results import Run
    from memstow.planner.model.graph import Graph
    from memstow.planner.model.options import Event
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem


class SearchRecord:
    """What a run found when: the steps of the search that the page draws."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def hear(self, event: "Event") -> None:
        """Note what the run tells."""
        self._events.append(event)

    def steps(self) -> "list[SearchStep]":
        """Each better plan and each better bound."""
        from memstow.api.page.alone import SearchStep
        from memstow.planner.model.options import Bound, Incumbent

        steps: list[SearchStep] = []
        for event in self._events:
            match event:
                case Incumbent(value, solver, seconds):
                    steps.append(SearchStep(seconds, value, None, solver))
                case Bound(value, solver, seconds):
                    steps.append(SearchStep(seconds, None, value, solver))
        return steps


def page_of(
    document: "Problem | Graph", plan: "Plan", source: str, search: "Iterable[SearchStep]" = ()
) -> bytes:
    """The page; `source` is the file of the problem, whose name it has if the problem has none."""
    from memstow.api.page.alone import page_alone
    from memstow.api.page.shortfalls import shortfalls_of
    from memstow.planner.formats import write_plan, write_problem

    problem = problem_of(document, plan)
    return page_alone(
        write_problem(problem),
        write_plan(problem, plan),
        _title(problem, source),
        search,
        ordered=_ordered(document, plan),
        shortfalls=shortfalls_of(problem, plan),
    )


def page_of_run(problem: "Problem", plan: "Plan", run: "Run") -> bytes:
    """The page of a plan that a benchmark has recorded, with the course of the run."""
    from memstow.api.page.alone import SearchStep, page_alone
    from memstow.api.page.shortfalls import shortfalls_of
    from memstow.planner.formats import write_plan, write_problem

    title = plain(f"{run.instance.name}: {run.solver}", most=200)
    steps = [SearchStep(it.seconds, it.incumbent, it.bound, run.solver) for it in run.record.events]
    return page_alone(
        write_problem(problem),
        write_plan(problem, plan),
        title,
        steps,
        shortfalls=shortfalls_of(problem, plan),
    )


def comparison_of(
    document: "Problem | Graph", plans: "Sequence[Plan]", files: "Sequence[str]", source: str
) -> bytes:
    """The page of two plans of one problem, from these files."""
    from memstow.api.page.alone import Comparison, page_alone
    from memstow.planner.formats import write_plan, write_problem

    problem = problem_of(document, plans[0])
    first, second = (write_plan(problem, plan) for plan in plans)
    names = tuple(plain(os.path.basename(file), most=200) for file in files)
    return page_alone(
        write_problem(problem),
        first,
        _title(problem, source),
        other=Comparison(second, (names[0], names[1])),
        ordered=_ordered(document, plans[0]),
    )


def _ordered(document: "Problem | Graph", plan: "Plan") -> "Ordered | None":
    """The graph with what the judge says of all of its orders; a problem has none."""
    from memstow.api.page.alone import Ordered
    from memstow.planner.model.problem import Problem

    if isinstance(document, Problem):
        return None
    from memstow.planner.formats.graph.native import to_bytes
    from memstow.planner.verify import Standing, Subject, judge

    claims = judge(document, plan).claims
    judged = (it.name for it in claims if it.subject is Subject.BOUND and it.standing is Standing.CHECKED)
    return Ordered(to_bytes(document), tuple(name for name in judged if name is not None))


def _title(problem: "Problem", source: str) -> str:
    return plain(problem.name or os.path.basename(source), most=200)


def show_page(page: bytes, output: str | None) -> None:
    """Write the page to the file; without one to a temporary file, which the browser then shows."""
    if output is not None:
        write_out(page, output)
        return
    import hashlib
    import tempfile
    import webbrowser
    from pathlib import Path

    # The same page has the same name: looking at it again leaves no further file behind.
    name = f"memstow-{os.getuid()}-{hashlib.sha256(page).hexdigest()[:16]}.html"
    path = Path(tempfile.gettempdir()) / name
    replace_file(path, page)
    if not webbrowser.open(path.as_uri()):
        print_error(f"no browser could be started; the page is in {path}")
