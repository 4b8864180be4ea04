"""Proofs: of how many answers they show that nothing is better, their sizes, and what they take.

Each problem is solved without a proof and with one, in turns, by processes as a user starts them. Then both
checkers read what was written; they share nothing with memstow or with each other. What counts is the time of
processors, of all processes of a run: a machine that does something else as well changes that least.
"""

import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.measuring import MEMSTOW, run
from benchmarks.page import DATA, ROOT, table
from benchmarks.problems import crowded, three_pools
from benchmarks.versions import FailedError
from memstow.api.cli.terminal import Exit
from memstow.planner import formats
from memstow.planner.generate.features import FAMILIES
from memstow.planner.generate.graph import graph
from memstow.planner.generate.planted import planted
from memstow.planner.generate.random_problems import mixed
from memstow.planner.graph.lowering import listed_problem
from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import Problem
from memstow.planner.proofs.check import Outcome
from memstow.planner.proofs.walk import numbers_of

SECONDS: Final = 10.0
_MOST_SECONDS: Final = 120
"""Of a processor, for a checker. What takes longer counts as not checked."""
_WITHIN: Final = ("sh", "-c", f'ulimit -t {_MOST_SECONDS}; exec "$@"', "sh")
_TURNS: Final = 2
"""Without a proof and with one; the least of each counts."""
_CHECKER: Final = ROOT / "checker"


@dataclass(frozen=True, slots=True)
class Named:
    """A problem or a graph."""

    name: str
    document: Problem | Graph


ProblemSet = Callable[[], Iterator[Named]]


@dataclass(slots=True)
class Figures:
    """Of the problems of a set."""

    problems: int = 0
    proven: int = 0
    """Whose run without a proof ends with a plan of which each term is proven, or knows that nothing fits."""
    shown: int = 0
    """Whose proof shows all of that, as memstow-check says."""
    agreed: int = 0
    """Of these: whose proof the second checker says the same of."""
    alone: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """What a run with a proof takes, for one of a run without, where both end before the limit."""
    bounds: list[float] = field(default_factory=list)
    """What the proof shows of the first term, for one of the bound of a run without, where that ends at the
    limit: search and proof share the limit, so their times say nothing there."""
    sizes: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    checks: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Of the second checker."""


@dataclass(frozen=True, slots=True)
class _Run:
    """What `memstow solve` has written, and the seconds of processors that it took."""

    seconds: float
    terms: int
    """Of its objective; of what fits nowhere 0."""
    bound: int | None
    """Of the first term."""
    proven: bool
    """All that it says."""


def chosen(rows: Sequence[str]) -> Mapping[str, ProblemSet]:
    """The sets with these names; without any, all."""
    unknown = [name for name in rows if name not in SETS]
    if unknown:
        raise FailedError(f"no row is called {unknown[0]!r}; there are: {', '.join(SETS)}")
    return {name: problems for name, problems in SETS.items() if not rows or name in rows}


def measure(sets: Mapping[str, ProblemSet]) -> str:
    """A row for each set; the problems of others are left out where they are not."""
    figures_of = {name: measured(name, problems()) for name, problems in sets.items()}
    lines = [_row(name, figures) for name, figures in figures_of.items() if figures.problems]
    return (
        f"At most {SECONDS:g} s each, two threads; seconds of processors, of runs the least of {_TURNS}; "
        "medians, and in brackets the most, of bounds the least. A checker that takes "
        f"{_MOST_SECONDS} s is stopped:\n\n{table(_HEADER, lines)}"
    )


_HEADER: Final = (
    "problems",
    "number",
    "proven",
    "by a proof",
    "by both checkers",
    "s without",
    "with / without",
    "at the limit: bound with / without",
    "bytes",
    "steps",
    "`memstow-check`, s",
    "`check.py`, s",
)


def _row(name: str, figures: Figures) -> tuple[object, ...]:
    return (
        name,
        figures.problems,
        figures.proven,
        figures.shown,
        figures.agreed,
        _middle(figures.alone, ".2f"),
        _middle(figures.times, ".2f"),
        _middle(figures.bounds, ".2f", min),
        _middle(figures.sizes, ",.0f"),
        _middle(figures.steps, ",.0f"),
        _middle(figures.checks, ".3f"),
        _middle(figures.seconds, ".2f"),
    )


def _middle(figures: Sequence[float], form: str, worst: Callable[[Sequence[float]], float] = max) -> str:
    return f"{median(figures):{form}} ({worst(figures):{form}})" if figures else ""


def measured(name: str, problems: Iterable[Named]) -> Figures:
    """Solve and check the problems of a set."""
    subprocess.run(["make", "-s", "-C", str(_CHECKER)], check=True)
    figures = Figures()
    for one in problems:
        with TemporaryDirectory() as folder:
            _add(one.document, Path(folder), figures)
        print(f"{name}: {one.name}", file=sys.stderr, flush=True)
    return figures


def _add(document: Problem | Graph, folder: Path, figures: Figures) -> None:
    source, plan, proof = folder / "problem.json", folder / "plan.json", folder / "plan.proof"
    checkers = [str(_CHECKER / "memstow-check")], [sys.executable, str(_CHECKER / "check.py")]
    order: tuple[str, ...] = ()
    if isinstance(document, Graph):
        source.write_bytes(formats.write_graph(document))
        checkers = [f"{checkers[0][0]}-order"], [sys.executable, str(_CHECKER / "check_order.py")]
        order = ("--order", "free")
    else:
        source.write_bytes(formats.write_problem(document))
    words = [*order, "--time-limit", f"{SECONDS:g}", "--workers", "2", "--quiet"]
    figures.problems += 1
    alone, beside = list[_Run](), list[_Run]()
    for _ in range(_TURNS):
        alone.append(_solved(source, plan, *words))
        beside.append(_solved(source, plan, *words, "--proof", proof))
    without = min(alone, key=lambda one: one.seconds)
    figures.proven += without.proven
    figures.alone.append(without.seconds)
    if not proof.exists():
        return
    first, second = (run(*_WITHIN, *checker, source, plan, proof, folder=folder) for checker in checkers)
    if first.code == Outcome.WRONG:
        raise RuntimeError(f"memstow-check: {first.out.decode()}")
    figures.checks.append(first.usage.cpu_seconds)
    figures.seconds.append(second.usage.cpu_seconds)
    data = proof.read_bytes()
    figures.sizes.append(len(data))
    # The last number of a file.
    figures.steps.append(deque(numbers_of(data), maxlen=1).pop())
    says = first.out.decode()
    # It names the terms that are least, up to the first that is not shown.
    if first.code == Outcome.VERIFIED and says.count(", then ") + 1 >= beside[-1].terms:
        figures.shown += 1
        figures.agreed += (second.code, second.out) == (first.code, first.out)
        if without.proven:
            figures.times.append(min(one.seconds for one in beside) / without.seconds)
    bound = re.search(r"none is below (\d+)|(\d+) is least", says)
    if not without.proven and without.bound and bound:
        figures.bounds.append(int(bound[1] or bound[2]) / without.bound)


def _solved(source: Path, plan: Path, *words: str | Path) -> _Run:
    """What `memstow solve` says; it may end without a plan."""
    plan.unlink(missing_ok=True)  # that of another run
    ran = run(MEMSTOW, "solve", source, *words, "--output", plan)
    code = Exit(ran.code)
    if code not in (Exit.DONE, Exit.INFEASIBLE, Exit.UNKNOWN):
        raise RuntimeError(f"memstow solve ends with {code}")
    seconds = ran.usage.cpu_seconds
    if code is not Exit.DONE:
        return _Run(seconds, 0, None, code is Exit.INFEASIBLE)
    document = json.loads(plan.read_bytes())
    terms = document["objective"]
    return _Run(seconds, len(terms), terms[0]["bound"] if terms else None, document["status"] == "optimal")


def _files(*patterns: str) -> Iterator[Named]:
    """Problems and graphs of the shared data."""
    for path in sorted(path for pattern in patterns for path in DATA.glob(pattern)):
        yield Named(path.stem, formats.read_document(path.read_bytes()))


def _with_reuse_costs() -> Iterator[Named]:
    for named in _files("pypto/*-tests/**/*.json"):
        if isinstance(named.document, Problem) and named.document.reuse_costs:
            yield named


def _planted() -> Iterator[Named]:
    for n, slack in ((300, 0.0), (300, 0.01), (600, 0.01)):
        for seed in range(5):
            yield Named(f"{n}, {slack}, {seed}", planted(n, seed, slack=slack))


def _random(seeds: int, n: int, *features: str) -> Iterator[Named]:
    for seed in range(seeds):
        yield Named(f"{n}, {seed}", mixed(n, seed, features=features))


def _random_with_reuse_costs() -> Iterator[Named]:
    for seed in range(75):
        n = (12, 18, 24)[seed % 3]
        yield Named(f"one pool, {n}, {seed}", crowded(Random(seed), n))
        problem = mixed(n, seed, features=("alignments", "pools", "capacities", "reuse_costs"))
        yield Named(f"pools, {n}, {seed}", replace(problem, objective=("reuse_cost", "max_peak")))


def _steps_of_training(n: int) -> Iterator[Named]:
    for seed in range(3):
        yield Named(f"{n}, {seed}", listed_problem(graph(n, seed, family="training")))


def _three_pools() -> Iterator[Named]:
    for n in (12, 25, 50, 100):
        for seed in range(5):
            yield Named(f"{n}, {seed}", three_pools(Random(seed), n))


def _graphs(n: int) -> Iterator[Named]:
    for family in FAMILIES:
        for seed in range(3):
            yield Named(f"{family}, {n}, {seed}", graph(n, seed, family=family))


SETS: Final[dict[str, ProblemSet]] = {
    "MiniMalloc's A-K without D": partial(_files, "minimalloc/[A-CE-K].*.csv"),
    "MiniMalloc's D": partial(_files, "minimalloc/D.*.csv"),
    "idealloc's G_1 and resnet50": partial(_files, "idealloc/G_1.csv", "idealloc/resnet50.csv"),
    "idealloc's S_1": partial(_files, "idealloc/S_1.csv"),
    "training steps": partial(_files, "torch/*.csv"),
    "random training steps of 20000 operators": partial(_steps_of_training, 20_000),
    "networks": partial(_files, "executorch/*.json"),
    "TensorFlow Lite as listed": partial(_files, "tflite/problems/*.csv"),
    "kernels with reuse costs": _with_reuse_costs,
    "A and F with reuse costs": partial(_files, "minimalloc-dsa-rp/*.json"),
    "random with reuse costs": _random_with_reuse_costs,
    "planted full and with 1 % slack": _planted,
    "random of 20 buffers": partial(_random, 20, 20, "alignments", "reserved", "relative"),
    "random of 18 buffers with pairs in place": partial(_random, 20, 18, "in_place"),
    "three pools by cost of 12 to 100 buffers": _three_pools,
    "orders of graphs": partial(_files, "graphs/*.json"),
    "orders of TensorFlow Lite": partial(_files, "tflite/*.tflite"),
    "orders of random graphs of 40 operators": partial(_graphs, 40),
    "orders of random graphs of 100 operators": partial(_graphs, 100),
}
