"""Two versions of the project on one machine, in turns: `python -m benchmarks versions ../before`.

The other version is a checkout with an environment of its own:
`git worktree add ../before COMMIT && make -C ../before install`. What is measured uses only commands, options
and names of the library that both have.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

from benchmarks.load import closed_loop
from benchmarks.measuring import IN_PROCESS, ProcessRun, run
from benchmarks.page import DATA, MISSED, ROOT, table
from benchmarks.problems import HEIGHT, LETTERS, three_pools, write_random_csv
from benchmarks.servers import bodies, free_port, running, service
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

    def run(self, *words: str | Path, most_seconds: float = LONGEST) -> ProcessRun:
        """Run a program of this checkout to its end; FailedError where it fails or takes too long."""
        ran = run(*words, folder=self.folder, most_seconds=most_seconds)
        if ran.code != 0:
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
        return self._made(f"network-{n}.json", lambda: formats.write_problem(network(n, 0)))

    def planted(self, n: int, seed: int, slack: float) -> Path:
        """A problem that is full, or nearly, at all times."""
        name = f"planted-{n}-{seed}-{slack}.json"
        return self._made(name, lambda: formats.write_problem(planted(n, seed, slack=slack)))

    def three_pools(self, n: int, seed: int) -> Path:
        """Buffers with a cost in each of three pools."""
        name = f"pools-{n}-{seed}.json"
        return self._made(name, lambda: formats.write_problem(three_pools(Random(seed), n)))

    def published(self, path: str) -> Path:
        """A problem of the shared data."""
        file = DATA / path
        if not file.exists():
            raise FailedError("`../shared/data` is not there")
        return file.resolve()

    def output(self, name: str) -> Path:
        """Where to write something that another run reads."""
        return self.folder / name

    def _made(self, name: str, make: Callable[[], bytes]) -> Path:
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
    """A case with both sides."""

    case: Case
    before: Side
    now: Side


def measured(case: Case, before: Checkout, now: Checkout, inputs: Inputs, runs: int | None = None) -> Result:
    """The case, run by one and the other checkout in turns; one that fails has no more turns."""
    result = Result(case, Side(), Side())
    sides = ((before, result.before), (now, result.now))
    times = case.runs if runs is None else runs
    for number in range(-1 if case.warm else 0, times):
        for checkout, side in sides:
            if side.failure is not None:
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


HEADER = ("row", "before", "now", "now / before", "wanted", "runs")
MISSING = "-"


def report(results: Sequence[Result]) -> str:
    """A line for each row, and below them the reasons of what is missing."""
    rows = [_line(row, result) for result in results for row in result.case.rows]
    reasons = [line for result in results for line in _reasons(result)]
    return "\n\n".join([table(HEADER, rows), *(["\n".join(reasons)] if reasons else [])])


def _line(row: Row, result: Result) -> tuple[str, ...]:
    before, now = result.before, result.now
    return (
        row.title,
        _shown(row, before),
        _shown(row, now) + _missed(row, now),
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
        if side.failure is not None:
            reason = " ".join(side.failure.split()).replace("|", "/")
            yield f"* {result.case.name}, {when}: {reason}"


REQUEST_SECONDS: Final = 4.0
_WARM_SECONDS: Final = 0.5
# A server that does not answer is not waited for all night.
_MOST_SECONDS: Final = 120.0
# More than any server answers in this time, so that no problem comes twice.
_BODIES: Final = int(2500 * REQUEST_SECONDS)


def requests(checkout: Checkout, _inputs: Inputs, _: int) -> Figures:
    """Of the service, each with another problem; and as a multiple of those of the bare route."""
    problems = bodies(_BODIES)
    port = free_port()
    # The route of this checkout with the models of that one.
    with running([checkout.python, "-P", str(IN_PROCESS), "route", str(port)], port):
        bare = _rate(port, "/echo", problems)
    with service((checkout.memstow,), checkout.folder) as (port, _):
        rate = _rate(port, "/v1/plan", problems)
    return {"rate": rate, "of-bare": rate / bare}


def _rate(port: int, path: str, problems: list[bytes]) -> float:
    async def load() -> float:
        async with asyncio.timeout(_MOST_SECONDS):
            await closed_loop(port, path, lambda i: problems[-i % len(problems)], _WARM_SECONDS)
            rate, statuses = await closed_loop(
                port, path, lambda i: problems[i % len(problems)], REQUEST_SECONDS
            )
        if statuses.keys() != {200}:
            raise FailedError(f"{path} answers {dict(statuses)}")
        return rate

    try:
        return asyncio.run(load())
    except (OSError, EOFError, TimeoutError) as error:
        raise FailedError(f"{path}: {error!r}") from None


MILLION: Final = 1_000_000
MANY: Final = 100_000
LATE_LIMIT: Final = 1.0
CALLED: Final = 60_000
CALL_LIMIT: Final = 0.05
SMALL: Final = 10
_MIB: Final = 1 << 20
# 32 of a process that does nothing, 27 of the CSV, and 200 bytes for each buffer.
MEMORY_OF_MILLION: Final = 32.0 + 27.0 + 200 * MILLION / _MIB


def million(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """From a CSV to a plan, and then the verdict on it."""
    problem, plan = inputs.random_csv(MILLION), inputs.output("million.plan.json")
    plan.unlink(missing_ok=True)
    solved = checkout.solve(problem, "--solver", "greedy", "--output", plan)
    verified = checkout.run(checkout.memstow, "verify", problem, plan)
    return {
        "solve": solved.usage.seconds,
        "memory": solved.peak_memory / _MIB,
        "verify": verified.usage.seconds,
        "verify-memory": verified.peak_memory / _MIB,
    }


def one_pass(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """The same with as much work as there are buffers."""
    plan = inputs.output("pass.plan.json")
    words = ("--solver", "greedy", "--work-limit", f"{MILLION}", "--output", plan)
    ran = checkout.solve(inputs.random_csv(MILLION), *words)
    return {"pass": ran.usage.seconds, "pass-memory": ran.peak_memory / _MIB}


def late(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """How long a process takes beyond its limit."""
    ran = checkout.solve(inputs.random_csv(MANY), "--time-limit", f"{LATE_LIMIT:g}", "--quiet")
    return {"late": ran.usage.seconds - LATE_LIMIT}


def call(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """A call of the library with a short limit."""
    return {"call": checkout.plan(inputs.random_csv(CALLED), time_limit=CALL_LIMIT)["seconds"]}


def small(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """A small problem, from the start of the command to its end."""
    return {"small": checkout.solve(inputs.network(SMALL)).usage.seconds}


def fitting(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """A-K of MiniMalloc, only to fit, one process after the other."""
    words = ("--capacity", f"{HEIGHT}", "--fit-only", "--time-limit", "10", "--json")
    paths = [inputs.published(f"minimalloc/{letter}.{HEIGHT}.csv") for letter in LETTERS]
    return {"fitting": sum(checkout.solve(path, *words).usage.seconds for path in paths)}


def imports(checkout: Checkout, _inputs: Inputs, _: int) -> Figures:
    """An interpreter that imports the library, and one that uses a class of it as well."""
    alone, used = (
        checkout.run(checkout.python, "-P", "-c", code).usage.seconds
        for code in ("import memstow", "import memstow; memstow.Problem")
    )
    return {"import": alone, "import-problem": used}


COMMAND_CASES: Final = (
    Case(
        "million",
        (
            Row("solve", "1,000,000 buffers, `solve --solver greedy`, s", wanted=8.0),
            Row("memory", "the same: memory, MiB", ".0f", wanted=MEMORY_OF_MILLION),
            Row("verify", "`verify` of its plan, s", wanted=3.0),
            Row("verify-memory", "`verify`: memory, MiB", ".0f", wanted=MEMORY_OF_MILLION),
        ),
        million,
        runs=3,
    ),
    Case(
        "pass",
        (
            Row("pass", "1,000,000 buffers, one pass of greedy (`--work-limit 1000000`), s"),
            Row("pass-memory", "one pass: memory, MiB", ".0f", wanted=MEMORY_OF_MILLION),
        ),
        one_pass,
        runs=3,
    ),
    Case(
        "late",
        (Row("late", "100,000 buffers at a limit of 1 s: beyond the limit, s", wanted=0.1),),
        late,
        runs=5,
    ),
    Case(
        "call",
        (Row("call", "60,000 buffers at a limit of 50 ms: a call of `memstow.plan`, s", ".3f", wanted=0.15),),
        call,
        runs=5,
    ),
    Case(
        "small",
        (Row("small", "10 buffers, `memstow solve`, s", ".3f", wanted=0.12),),
        small,
        runs=15,
        warm=True,
    ),
    Case(
        "fitting",
        (Row("fitting", "A-K of MiniMalloc, `--fit-only`, all eleven, s", wanted=1.6),),
        fitting,
        runs=5,
        warm=True,
    ),
    Case(
        "import",
        (
            Row("import", "`import memstow`, s", ".3f", wanted=0.08),
            Row("import-problem", "`import memstow; memstow.Problem`, s", ".3f"),
        ),
        imports,
        runs=15,
        warm=True,
    ),
    Case(
        "service",
        (
            Row(
                "rate", "the service, nothing cached, requests/s", ",.0f", wanted=1000.0, more_is_better=True
            ),
            Row(
                "of-bare", "share of the requests of a plain FastAPI route", wanted=0.35, more_is_better=True
            ),
        ),
        requests,
        runs=3,
    ),
)


ENGINE_SECONDS: Final = 10.0
LONG_ENGINE_SECONDS: Final = 20.0
ENGINE_WORKERS: Final = 2
SLACK: Final = 0.01
LOW_PEAK_OF_J: Final = 1_003_520


def one_of_minimalloc(letter: str, checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """One of A-K."""
    path = inputs.published(f"minimalloc/{letter}.{HEIGHT}.csv")
    figures = _minimised(checkout.plan(path, time_limit=ENGINE_SECONDS, workers=ENGINE_WORKERS))
    return {**figures, "low": float("peak" in figures and figures["peak"] <= LOW_PEAK_OF_J)}


def full(n: int, slack: float, checkout: Checkout, inputs: Inputs, seed: int) -> Figures:
    """A planted problem; each run has another one."""
    return _minimised(
        checkout.plan(inputs.planted(n, seed, slack), time_limit=ENGINE_SECONDS, workers=ENGINE_WORKERS)
    )


def largest_of_idealloc(checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """S_1, the largest of them."""
    path = inputs.published("idealloc/S_1.csv")
    return _minimised(checkout.plan(path, time_limit=LONG_ENGINE_SECONDS, workers=ENGINE_WORKERS))


def reuse(letter: str, checkout: Checkout, inputs: Inputs, _: int) -> Figures:
    """One of the two with costs on pairs: the cost is to be low, and its bound near it."""
    path = inputs.published(f"minimalloc-dsa-rp/{letter}.json")
    result = checkout.plan(path, time_limit=LONG_ENGINE_SECONDS, workers=ENGINE_WORKERS)
    if result["value"] is None:
        return {}
    return {"cost": result["value"], "of-cost": result["bound"] / result["value"] if result["value"] else 1.0}


def by_three_pools(checkout: Checkout, inputs: Inputs, seed: int) -> Figures:
    """Three pools by cost; each run has another problem."""
    result = checkout.plan(inputs.three_pools(200, seed), time_limit=ENGINE_SECONDS, workers=ENGINE_WORKERS)
    return {} if result["value"] is None else {"gap": result["value"] / result["bound"] - 1.0}


def _minimised(result: dict[str, Any]) -> Figures:
    """Of a problem whose peak is to be low."""
    proven = result["status"] == "optimal"
    figures = {"proven": float(proven)}
    if result["value"] is not None:
        figures |= {"peak": result["value"], "of-bound": result["value"] / result["bound"]}
    return figures | ({"seconds": result["seconds"]} if proven else {})


def _full(n: int, slack: float, *, proven: float | None = None, of_bound: float | None = None) -> Case:
    kind = f"planted, {n:,} buffers" + (f", {slack:.0%} slack" if slack else "")
    rows = (
        Row(
            "proven",
            f"{kind}, {ENGINE_SECONDS:g} s: proven",
            wanted=proven,
            more_is_better=True,
            counted=True,
        ),
        Row("seconds", f"{kind}: s to the proof, where there is one"),
        Row("of-bound", f"{kind}: peak / bound", ".4f", wanted=of_bound),
    )
    return Case(f"{'slack' if slack else 'tiling'}-{n}", rows, partial(full, n, slack), runs=5)


def _reuse(letter: str) -> Case:
    kind = f"reuse costs of {letter}, {LONG_ENGINE_SECONDS:g} s"
    rows = (
        Row("cost", f"{kind}: cost", ".0f"),
        Row("of-cost", f"{kind}: bound / cost", wanted=0.5, more_is_better=True),
    )
    return Case(f"reuse-{letter}", rows, partial(reuse, letter), runs=3)


ENGINE_CASES: Final = (
    Case(
        "D",
        (
            Row(
                "proven",
                f"D of MiniMalloc, {ENGINE_SECONDS:g} s: proven",
                wanted=1.0,
                more_is_better=True,
                counted=True,
            ),
            Row("seconds", "D: s to the proof, where there is one"),
        ),
        partial(one_of_minimalloc, "D"),
        runs=5,
    ),
    Case(
        "J",
        (
            Row("peak", f"J of MiniMalloc, {ENGINE_SECONDS:g} s: peak", ",.0f"),
            Row("low", f"J: at most {LOW_PEAK_OF_J:,}", wanted=1.0, more_is_better=True, counted=True),
            Row("proven", "J: proven", counted=True),
        ),
        partial(one_of_minimalloc, "J"),
        runs=5,
    ),
    _full(200, SLACK, proven=1.0),
    _full(300, SLACK, of_bound=1.03),
    _full(600, SLACK, of_bound=1.06),
    _full(2_000, 0.0, proven=1.0),
    _full(5_000, 0.0, proven=1.0),
    Case(
        "S_1",
        (
            Row(
                "of-bound", f"S_1 of idealloc, {LONG_ENGINE_SECONDS:g} s: peak / bound", ".5f", wanted=1.0005
            ),
            Row("proven", "S_1: proven", counted=True),
            Row("seconds", "S_1: s to the proof, where there is one"),
        ),
        largest_of_idealloc,
        runs=3,
    ),
    _reuse("A"),
    _reuse("F"),
    Case(
        "pools",
        (
            Row(
                "gap",
                f"three pools of 200 buffers by cost, {ENGINE_SECONDS:g} s: above the bound",
                ".2%",
                wanted=0.01,
            ),
        ),
        by_three_pools,
        runs=4,
    ),
)


PARTS: Final = {"commands": COMMAND_CASES, "engine": ENGINE_CASES}
ROWS: Final = {case.name: case for cases in PARTS.values() for case in cases}


def parts(other: Path, rows: Sequence[str] = (), runs: int | None = None) -> dict[str, Callable[[], str]]:
    """What measures each part, or only these rows of it, as often as each says or so many times."""
    unknown = [name for name in rows if name not in ROWS]
    if unknown:
        raise FailedError(f"no row is called {unknown[0]!r}; there are: {', '.join(ROWS)}")
    before, now = Checkout(other.absolute()), Checkout(ROOT)
    for checkout in (before, now):
        checkout.check()
    chosen = {
        name: [case for case in cases if not rows or case.name in rows] for name, cases in PARTS.items()
    }
    return {name: partial(measure, cases, before, now, runs) for name, cases in chosen.items() if cases}


def measure(cases: Sequence[Case], before: Checkout, now: Checkout, runs: int | None) -> str:
    """The table of these cases, after a word on what was measured."""
    load, commits = os.getloadavg()[1], [checkout.commit() for checkout in (before, now)]
    with TemporaryDirectory() as folder:
        results = [measured(case, before, now, Inputs(Path(folder)), runs) for case in cases]
    return (
        f"Before: {commits[0]}; now: {commits[1]}. Medians; the two versions took turns, each run in "
        f"a process of its own. The load of the machine was {load:.1f} at the start:\n\n{report(results)}"
    )
