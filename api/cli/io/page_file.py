"""The page of a plan: written as one file, and shown in the browser."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from memstow.api.cli.io.output import replace_file, write_out
from memstow.api.cli.io.terminal import print_error
from memstow.planner.show.formatting import plain

if TYPE_CHECKING:
    from memstow.api.page.alone import SearchStep
    from memstow.planner.model.events import Event
    from memstow.planner.model.plan import Plan
    from memstow.planner.model.problem import Problem


class SearchRecord:
    """What a run found when: the steps of the search that the page draws."""

    def __init__(self) -> None:
        self.steps: list[SearchStep] = []

    def hear(self, event: "Event") -> None:
        """Note a better plan or a better bound."""
        from memstow.api.page.alone import SearchStep
        from memstow.planner.model.events import Bound, Incumbent

        match event:
            case Incumbent(value, solver, seconds):
                self.steps.append(SearchStep(seconds, value, None, solver))
            case Bound(value, solver, seconds):
                self.steps.append(SearchStep(seconds, None, value, solver))


def page_of(problem: "Problem", plan: "Plan", source: str, search: "Iterable[SearchStep]" = ()) -> bytes:
    """The page; `source` is the file of the problem, whose name it has if the problem has none."""
    from memstow.api.page.alone import page_alone
    from memstow.planner.formats import write_plan, write_problem

    title = plain(problem.name or Path(source).name, most=200)
    return page_alone(write_problem(problem), write_plan(problem, plan), title, search)


def show_page(page: bytes, output: str | None) -> None:
    """Write the page to the file; without one to a temporary file, which the browser then shows."""
    if output is not None:
        write_out(page, output)
        return
    import hashlib
    import tempfile
    import webbrowser

    # The same page has the same name: looking at it again leaves no further file behind.
    name = f"memstow-{os.getuid()}-{hashlib.sha256(page).hexdigest()[:16]}.html"
    path = Path(tempfile.gettempdir()) / name
    replace_file(path, page)
    if not webbrowser.open(path.as_uri()):
        print_error(f"no browser could be started; the page is in {path}")
