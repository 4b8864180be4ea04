"""Rows of figures of one version of the project, or of two in turns: what they are is in `cases.py`.

Another version is a checkout with an environment of its own:
`git worktree add ../before COMMIT && make -C ../before install`. What is measured uses only commands, options
and names of the library that both have.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.measuring import IN_PROCESS, ProcessRun, run
from benchmarks.page import DATA, MISSED, ROOT, table
from benchmarks.problems import three_pools, write_random_csv
from memstow.planner import formats
from memstow.planner.generate.network import network
from memstow.planner.generate.planted import planted

_WHERE: Final = "import memstow; print(memstow.__file__)"
# A process that does not end is not waited for all night.
LONGEST: Final = 900.0
# Of the words of a process that failed, a table has room for so many characters.
_MOST_SAID: Final = 150


class FailedError(Exception):
    """A checkout cannot do what is to be measured; the text says why."""


@dataclass(frozen=True)
class Checkout:
    """One of the two versions."""

    folder: Path

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / ".venv" / "bin" / "python")

    @property
    def memstow(self) -> str:
        """Its command."""
        return str(self.folder / ".venv" / "bin" / "memstow")

    def check(self) -> None:
        """FailedError unless it is installed, and what it imports is its own code."""
        if not Path(self.python).exists():
            raise FailedError(f"{self.folder} is not installed; run `make -C {self.folder} install`")
        imported = Path(self.run(self.python, "-P", "-c", _WHERE).out.decode().strip())
        if not imported.resolve().is_relative_to(self.folder.resolve()):
            raise FailedError(f"the Python of {self.folder} imports another memstow: {imported}")

    def commit(self) -> str:
        """What is checked out, and of when."""
        command = ["git", "-C", str(self.folder), "log", "-1", "--format=%h of %cs"]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        return text or "no commit"

    def run(
        self, *words: str | Path, most_seconds: float = LONGEST, codes: Collection[int] = (0,)
    ) -> ProcessRun:
        """Run a program of this checkout; FailedError unless it ends in time with one of these exit codes."""
        ran = run(*words, folder=self.folder, most_seconds=most_seconds)
        if ran.code not in codes:
            raise FailedError(_why(ran, most_seconds))
        return ran

    def solve(self, *words: str | Path) -> ProcessRun:
        """`memstow solve` as a process."""
        return self.run(self.memstow, "solve", *words)

    def plan(self, problem: Path, **options: object) -> dict[str, Any]:
        """What `memstow.plan` finds with these options, in a process of its own: see in_process.py."""
        # Without its folder before others on the path: there are modules with common names.
        ran = self.run(self.python, "-P", IN_PROCESS, "plan", problem, json.dumps(options))
        result: dict[str, Any] = json.loads(ran.out)
        return result


def _why(ran: ProcessRun, most_seconds: float) -> str:
    if ran.usage.seconds >= most_seconds:
        return f"not done in {most_seconds:g} s"
    lines = [line.strip() for line in ran.err.decode(errors="replace").splitlines() if line.strip()]
    said = lines[-1] if lines else "without a word"
    return f"exit code {ran.code}: {said[:_MOST_SAID]}"


@dataclass(frozen=True, slots=True)
class Inputs:
    """The problems in a folder; each is made when it is first asked for."""

    folder: Path

    def random_csv(self, n: int) -> Path:
        """Random buffers, as in the benchmark of files."""
        path = self.folder / f"random-{n}.csv"
        if not path.exists():
            write_random_csv(path, n)
        return path

    def network(self, n: int) -> Path:
        """The tensors of a small network."""
        return self.made(f"network-{n}.json", lambda: formats.write_problem(network(n, 0)))

    def planted(self, n: int, seed: int, slack: float) -> Path:
        """A problem that is full, or nearly, at all times."""
        name = f"planted-{n}-{seed}-{slack}.json"
        return self.made(name, lambda: formats.write_problem(planted(n, seed, slack=slack)))

    def three_pools(self, n: int, seed: int) -> Path:
        """Buffers with a cost in each of three pools."""
        name = f"pools-{n}-{seed}.json"
        return self.made(name, lambda: formats.write_problem(three_pools(Random(seed), n)))

    def published(self, path: str) -> Path:
        """A problem of the shared data."""
        file = DATA / path
        if not file.exists():
            raise FailedError("`../shared/data` is not there")
        return file.resolve()

    def output(self, name: str) -> Path:
        """Where to write something that another run reads."""
        return self.folder / name

    def made(self, name: str, make: Callable[[], bytes]) -> Path:
        """The file of this name; what it holds is made when it is first asked for."""
        path = self.folder / name
        if not path.exists():
            path.write_bytes(make())
        return path


Figures = Mapping[str, float]
"""By the name of the row. One that is not there was not reached, such as the seconds to a proof."""

Measure = Callable[[Checkout, Inputs, int], Figures]
"""Of a checkout, with these problems, in the run of this number; FailedError where it cannot be measured."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: the median of a figure over the runs, or how often it was reached."""

    name: str
    title: str
    form: str = ".2f"
    wanted: float | None = None
    more_is_better: bool = False
    counted: bool = False
    """Figures are 1 where something was reached and else 0, and all were wanted if any was."""

    def reached(self, figure: float) -> bool:
        """Whether the figure is what was wanted, as far as something was."""
        if self.wanted is None:
            return True
        return figure >= self.wanted if self.more_is_better else figure <= self.wanted


@dataclass(frozen=True, slots=True)
class Case:
    """Some rows that are filled by the same runs."""

    name: str
    rows: tuple[Row, ...]
    measure: Measure
    runs: int
    warm: bool = False
    """Whether each checkout runs once before: where reading files from the disk would count."""


@dataclass(slots=True)
class Side:
    """What one checkout has done in a case."""

    runs: list[Figures] = field(default_factory=list)
    failure: str | None = None
    """Why there are no more runs."""

    def figures(self, name: str) -> list[float]:
        """All of this row."""
        return [run[name] for run in self.runs if name in run]

    def median(self, name: str) -> float | None:
        """Of this row; None where there is no figure."""
        figures = self.figures(name)
        return median(figures) if figures else None


@dataclass(frozen=True, slots=True)
class Result:
    """A case with what each version has done; `before` is None where only this one is measured."""

    case: Case
    before: Side | None
    now: Side


def measured(
    case: Case, before: Checkout | None, now: Checkout, inputs: Inputs, runs: int | None = None
) -> Result:
    """The case, run by one and the other checkout in turns; one that fails has no more turns."""
    result = Result(case, None if before is None else Side(), Side())
    sides = ((before, result.before), (now, result.now))
    times = case.runs if runs is None else runs
    for number in range(-1 if case.warm else 0, times):
        for checkout, side in sides:
            if checkout is None or side is None or side.failure is not None:
                continue
            try:
                figures = case.measure(checkout, inputs, max(number, 0))
            except FailedError as error:
                side.failure = str(error)
                continue
            if number >= 0:
                side.runs.append(figures)
        print(f"{case.name}: {number + 1} of {times}", file=sys.stderr, flush=True)
    return result


HEADER: Final = ("row", "before", "now", "now / before", "wanted", "runs")
ALONE: Final = ("row", "now", "wanted", "runs")
MISSING: Final = "-"


def report(results: Sequence[Result]) -> str:
    """A line for each row, and below them the reasons of what is missing."""
    rows = [_line(row, result) for result in results for row in result.case.rows]
    header = ALONE if all(result.before is None for result in results) else HEADER
    reasons = [line for result in results for line in _reasons(result)]
    return "\n\n".join([table(header, rows), *(["\n".join(reasons)] if reasons else [])])


def _line(row: Row, result: Result) -> tuple[str, ...]:
    before, now = result.before, result.now
    shown = _shown(row, now) + _missed(row, now)
    if before is None:
        return row.title, shown, _wanted(row), f"{len(now.runs)}"
    return (
        row.title,
        _shown(row, before),
        shown,
        "" if row.counted else _ratio(before.median(row.name), now.median(row.name)),
        _wanted(row),
        _runs(before, now),
    )


def _shown(row: Row, side: Side) -> str:
    figures = side.figures(row.name)
    middle = side.median(row.name)
    if middle is None:
        return MISSING
    return f"{sum(figures):g} of {len(figures)}" if row.counted else format(middle, row.form)


def _missed(row: Row, side: Side) -> str:
    """A word where any run that counts, or else the median, is not what was wanted."""
    figures = (
        side.figures(row.name)
        if row.counted
        else [figure for figure in [side.median(row.name)] if figure is not None]
    )
    return "" if all(map(row.reached, figures)) else f" {MISSED}"


def _wanted(row: Row) -> str:
    if row.wanted is None:
        return ""
    return "all" if row.counted else format(row.wanted, row.form)


def _ratio(before: float | None, now: float | None) -> str:
    return f"{now / before:.2f}" if before and now is not None else ""


def _runs(before: Side, now: Side) -> str:
    counts = [len(side.runs) for side in (before, now)]
    return f"{counts[0]}" if counts[0] == counts[1] else f"{counts[0]} and {counts[1]}"


def _reasons(result: Result) -> Iterator[str]:
    for when, side in (("before", result.before), ("now", result.now)):
        if side is not None and side.failure is not None:
            reason = " ".join(side.failure.split()).replace("|", "/")
            yield f"* {result.case.name}, {when}: {reason}"


def of_versions(
    parts: Mapping[str, Sequence[Case]], other: Path, rows: Sequence[str] = (), runs: int | None = None
) -> dict[str, Callable[[], str]]:
    """What measures each part of another checkout and this one, or only these rows, so many times."""
    names = [case.name for cases in parts.values() for case in cases]
    unknown = [name for name in rows if name not in names]
    if unknown:
        raise FailedError(f"no row is called {unknown[0]!r}; there are: {', '.join(names)}")
    before, now = Checkout(other.absolute()), Checkout(ROOT)
    for checkout in (before, now):
        checkout.check()
    chosen = {
        name: [case for case in cases if not rows or case.name in rows] for name, cases in parts.items()
    }
    return {name: partial(measure, cases, before, now, runs) for name, cases in chosen.items() if cases}


def measure(cases: Sequence[Case], before: Checkout | None, now: Checkout, runs: int | None = None) -> str:
    """The table of these cases, after a word on what was measured."""
    load = os.getloadavg()[1]
    commits = f"Now: {now.commit()}" if before is None else f"Before: {before.commit()}; now: {now.commit()}"
    turns = "" if before is None else "; the two versions took turns"
    with TemporaryDirectory() as folder:
        results = [measured(case, before, now, Inputs(Path(folder)), runs) for case in cases]
    return (
        f"{commits}. Medians{turns}, each run in a process of its own. The load of the machine was "
        f"{load:.1f} at the start:\n\n{report(results)}"
    )
