"""docs/constraints.md: its examples, the drawings of their plans, and the table of who honours them.

`python -m tests.constraints_page` makes the drawings and the table anew.
"""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from memstow.planner.formats import read_problem
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.model.problem import Problem, terms_of
from memstow.planner.reading.parse import parse_options
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.show.svg_picture import svg
from memstow.planner.solve.bounds import Bounds
from memstow.planner.solve.engine import plan
from memstow.planner.solve.problem_plans import task_of
from memstow.solvers.registry import BACK_ENDS, model, names, native_solver
from memstow.solvers.solver import Task
from tests.waiting import PATIENCE

DOCS: Final = Path(__file__).parents[1] / "docs"
PAGE: Final = DOCS / "constraints.md"
_BEGIN, _END = "<!-- honoured: begin -->\n", "<!-- honoured: end -->\n"


@dataclass(frozen=True, slots=True)
class Example:
    """One section of the page that shows a constraint."""

    title: str
    problem: Problem
    options: Options

    @property
    def name(self) -> str:
        """As in the name of its drawing."""
        return re.sub(r"[^a-z]+", "-", self.title.lower())

    @property
    def drawing(self) -> Path:
        """Where it is committed."""
        return DOCS / "constraints" / f"{self.name}.svg"

    def drawn(self) -> str:
        """The plan as a picture. Greedy in deterministic mode finds the same plan everywhere."""
        return svg(replace(self.problem, name=self.title), self.plan(self.drawn_by))

    @property
    def drawn_by(self) -> str:
        """The solver whose plan is drawn."""
        return "greedy" if "greedy" in self.honoured_by() else "banks"

    def plan(self, solver: str, work_limit: int | None = None) -> Plan:
        """The plan of this solver. One that proves little goes on for 40 s where no limit is given."""
        deterministic = solver not in BACK_ENDS and solver != "auto"
        limits = replace(
            self.options,
            solver=solver,
            deterministic=deterministic,
            time_limit=PATIENCE,
            work_limit=work_limit,
        )
        return plan(self.problem, limits)

    def honoured_by(self) -> list[str]:
        """The solvers that do not decline it."""
        task = self._task()
        return [name for name in names() if self._solver_declines(name, task) is None]

    @staticmethod
    def _solver_declines(name: str, task: Task) -> str | None:
        return model(name).declines(task) if name in BACK_ENDS else native_solver(name).declines(task)

    def _task(self) -> Task:
        reduction = reduce(self.problem)
        assert isinstance(reduction, Reduction)
        bounds = Bounds(reduction)
        terms = {term: bounds.of_term(term).value for term in terms_of(self.problem)}
        return task_of(reduction, terms, self.options)[0]


def text() -> str:
    """The page as it is committed."""
    return PAGE.read_text(encoding="utf-8")


def examples() -> list[Example]:
    """Those of the page, in its order."""
    result = []
    for title, section in re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", text(), re.MULTILINE | re.DOTALL):
        problems = re.findall(r"```json problem\n(.*?)```", section, re.DOTALL)
        options = re.findall(r"```json options\n(.*?)```", section, re.DOTALL)
        if problems:
            (one,) = problems
            chosen = parse_options(json.loads(options[0])) if options else Options()
            result.append(Example(title, read_problem(one.encode()), chosen))
    return result


def table() -> str:
    """Who declines what, as the page has it."""
    lines = ["| constraint | declined by |", "| --- | --- |"]
    for example in examples():
        honoured = example.honoured_by()
        declined = ", ".join(f"`{name}`" for name in names() if name not in honoured)
        lines.append(f"| [{example.title}](#{example.name}) | {declined or 'none'} |")
    return "\n".join(lines) + "\n"


def with_table() -> str:
    """The page with the table as it is now."""
    before, rest = text().split(_BEGIN)
    _, after = rest.split(_END)
    return f"{before}{_BEGIN}\n{table()}\n{_END}{after}"


def main() -> None:
    """Write the drawings and the table anew."""
    for example in examples():
        example.drawing.parent.mkdir(exist_ok=True)
        example.drawing.write_text(example.drawn(), encoding="utf-8")
    PAGE.write_text(with_table(), encoding="utf-8")


if __name__ == "__main__":
    main()
