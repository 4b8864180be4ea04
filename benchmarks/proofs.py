"""Proofs: of how many answers they show that nothing is better, their sizes, and what they take.

Each problem is solved without a proof and with one, by processes as a user starts them. Then both checkers
read what was written; they share nothing with memstow or with each other.
"""

import json
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.measuring import MEMSTOW, run
from benchmarks.page import DATA, ROOT, table
from benchmarks.problems import three_pools
from memstow.api.cli.terminal import Exit
from memstow.planner import formats
from memstow.planner.generate.features import FAMILIES
from memstow.planner.generate.graph import graph
from memstow.planner.generate.planted import planted
from memstow.planner.generate.random_problems import mixed
from memstow.planner.model.graph import Graph
from memstow.planner.model.problem import Problem
from memstow.planner.proofs.check import Outcome
from memstow.planner.proofs.walk import numbers_of

SECONDS: Final = 10.0
_MOST_SECONDS: Final = 120.0
"""Of a checker. What takes longer counts as not checked."""
_CHECKER: Final = ROOT / "checker"


@dataclass(frozen=True, slots=True)
class Named:
    """A problem or a graph."""

    name: str
    document: Problem | Graph


@dataclass(slots=True)
class Figures:
    """Of the problems of a set."""

    problems: int = 0
    proven: int = 0
    """Whose run without a proof ends with a plan of which each term is proven, or knows that nothing fits."""
    shown: int = 0
    """Whose proof shows that, as memstow-check says."""
    agreed: int = 0
    """Whose proof the second checker says the same of."""
    alone: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """The seconds of a run with a proof, for each of a run without, where both have one."""
    sizes: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    checks: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    """Of the second checker."""


def measure() -> str:
    """A row for each set; the problems of others are left out where they are not."""
    sets = {name: measured(name, problems()) for name, problems in SETS.items()}
    rows = [_row(name, figures) for name, figures in sets.items() if figures.problems]
    return (
        f"At most {SECONDS:g} s each, two threads; medians, and the most in brackets. A checker that takes "
        f"{_MOST_SECONDS:g} s is stopped:\n\n{table(_HEADER, rows)}"
    )


_HEADER: Final = (
    "problems",
    "number",
    "proven",
    "by a proof",
    "by both checkers",
    "s without",
    "with / without",
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
        _middle(figures.sizes, ",.0f"),
        _middle(figures.steps, ",.0f"),
        _middle(figures.checks, ".3f"),
        _middle(figures.seconds, ".2f"),
    )


def _middle(figures: Sequence[float], form: str) -> str:
    return f"{median(figures):{form}} ({max(figures):{form}})" if figures else ""


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
    code, alone = _solved(source, *words, "--output", plan)
    proven = code is Exit.INFEASIBLE or (
        code is Exit.DONE and json.loads(plan.read_bytes())["status"] == "optimal"
    )
    figures.proven += proven
    figures.alone.append(alone)
    plan.unlink(missing_ok=True)  # that beside the proof is another run's
    _, seconds = _solved(source, *words, "--output", plan, "--proof", proof)
    if not proof.exists():
        return
    first, second = (
        run(*checker, source, plan, proof, folder=folder, most_seconds=_MOST_SECONDS) for checker in checkers
    )
    if first.code == Outcome.WRONG:
        raise RuntimeError(f"memstow-check: {first.out.decode()}")
    figures.checks.append(first.usage.seconds)
    figures.seconds.append(second.usage.seconds)
    data = proof.read_bytes()
    figures.sizes.append(len(data))
    # The last number of a file.
    figures.steps.append(deque(numbers_of(data), maxlen=1).pop())
    if first.code == Outcome.VERIFIED:
        figures.shown += 1
        figures.agreed += second.code == Outcome.VERIFIED
        if proven:
            figures.times.append(seconds / alone)


def _solved(*words: str | Path) -> tuple[Exit, float]:
    """The exit code of `memstow solve`, and its seconds; it may end without a plan."""
    ran = run(MEMSTOW, "solve", *words)
    code = Exit(ran.code)
    if code not in (Exit.DONE, Exit.INFEASIBLE, Exit.UNKNOWN):
        raise RuntimeError(f"memstow solve ends with {code}")
    return code, ran.usage.seconds


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


def _three_pools() -> Iterator[Named]:
    for n in (12, 25, 50, 100):
        for seed in range(5):
            yield Named(f"{n}, {seed}", three_pools(Random(seed), n))


def _graphs(n: int) -> Iterator[Named]:
    for family in FAMILIES:
        for seed in range(3):
            yield Named(f"{family}, {n}, {seed}", graph(n, seed, family=family))


SETS: Final[dict[str, Callable[[], Iterator[Named]]]] = {
    "MiniMalloc's A-K": partial(_files, "minimalloc/[A-K].*.csv"),
    "idealloc": partial(_files, "idealloc/*.csv"),
    "training steps": partial(_files, "torch/*.csv"),
    "networks": partial(_files, "executorch/*.json"),
    "TensorFlow Lite, as listed": partial(_files, "tflite/problems/*.csv"),
    "reuse costs of kernels": _with_reuse_costs,
    "planted, full and with 1 % slack": _planted,
    "random, 20 buffers": partial(_random, 20, 20, "alignments", "reserved", "relative"),
    "random, 18 buffers, in place": partial(_random, 20, 18, "in_place"),
    "three pools by cost, 12 to 100 buffers": _three_pools,
    "graphs, orders": partial(_files, "graphs/*.json"),
    "TensorFlow Lite, orders": partial(_files, "tflite/*.tflite"),
    "random graphs of 40 operators, orders": partial(_graphs, 40),
    "random graphs of 100 operators, orders": partial(_graphs, 100),
}
