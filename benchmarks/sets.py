"""What solvers reach on sets of problems: each set is some runs of `memstow bench`, and a part of the page.

Published problems are read from the shared data; a set that needs some that are not there is skipped. The
results stay in `build/bench/NAME`, for `memstow bench report`, `compare` and `run --resume`.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from statistics import mean, median
from typing import Final

from benchmarks.page import DATA, MISSED, ROOT, table
from benchmarks.problems import (
    LETTERS,
    end_of,
    life_of,
    minimalloc_problems,
    one_after_the_other,
    three_pools,
)
from memstow.api.cli.main import main as memstow
from memstow.planner import formats
from memstow.planner.bench.analysis import geometric
from memstow.planner.bench.instances import SETS
from memstow.planner.bench.journal import Run, read
from memstow.planner.bench.record import Ending
from memstow.planner.formats.usmp_format import objective_of
from memstow.planner.generate.features import FAMILIES
from memstow.planner.model.plan import Explanation
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.reduce import reduce
from memstow.planner.solve.bounds import Bounds

OUTPUT: Final = ROOT / "build" / "bench"
WORKERS: Final = 2


@dataclass(frozen=True, slots=True)
class Effort:
    """What may be lowered from the command line."""

    most_seconds: float | None = None
    """No run gets more than this; None: as each set says."""
    seeds: int = 10


@dataclass(frozen=True, slots=True)
class Batch:
    """One `memstow bench run` of a set: its problems, its time limit, its further options."""

    problems: Callable[[Path, Effort], Sequence[str]]
    """The arguments of `bench run`; what has to be written first goes into the folder."""
    seconds: float
    options: tuple[str, ...] = ("--workers", str(WORKERS))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the runs of an instance are to reach."""

    of_bound: float = float("inf")
    """The first term of the objective as a multiple of its bound."""
    seconds: float = float("inf")


@dataclass(frozen=True, slots=True)
class ProblemSet:
    """Batches whose results are shown together."""

    about: str
    batches: tuple[Batch, ...]
    needs: tuple[str, ...] = ()
    """Folders of the shared data."""
    wanted: Mapping[str, Wanted] | Wanted | None = None
    """Of some instances, by name, or of all."""


def measure(name: str, problem_set: ProblemSet, effort: Effort) -> str:
    """Run the set and return its tables."""
    if not all((DATA / folder).is_dir() for folder in problem_set.needs):
        return "Skipped: `../shared/data` is not there."
    folder = OUTPUT / name
    shutil.rmtree(folder, ignore_errors=True)
    for batch in problem_set.batches:
        seconds = batch.seconds if effort.most_seconds is None else min(batch.seconds, effort.most_seconds)
        words = [*batch.problems(folder / "problems", effort), "--time-limit", f"{seconds:g}"]
        code = memstow(["bench", "run", *words, *batch.options, "--resume", "--output", str(folder)])
        if code != 0:
            raise RuntimeError(f"the set {name!r}: memstow bench run ends with {code}")
    return f"{problem_set.about}\n\n{tables(read(folder).runs, problem_set.wanted)}"


MOST_INSTANCES: Final = 60


def tables(runs: Sequence[Run], wanted: Mapping[str, Wanted] | Wanted | None = None) -> str:
    """A row for each family and solver; one for each instance, if they are few; what was not reached."""
    families = sorted({(run.instance.family, run.solver) for run in runs})
    solvers = sorted({run.solver for run in runs})
    by_instance: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        by_instance.setdefault((run.instance.family, run.instance.name), []).append(run)
    summary = [
        _summary_row(*key, [run for run in runs if (run.instance.family, run.solver) == key])
        for key in families
    ]
    parts = [table(_SUMMARY, summary, left=2)]
    if len(by_instance) <= MOST_INSTANCES:
        head = ("problem", "buffers", "bound", *solvers)
        parts.append("The first term, `*` where all terms are proven, and seconds; medians over seeds:")
        parts.append(table(head, [_instance_row(*key, solvers, by_instance[key]) for key in by_instance]))
    parts += [f"* {line}" for run in runs if (line := _not_reached(run, wanted))]
    return "\n\n".join(parts)


_SUMMARY: Final = (
    "problems",
    "solver",
    "runs",
    "proven",
    "of these infeasible",
    "value / bound",
    "s, median",
    "s, most",
    "processor, s",
    "million steps a thread",
)


def _summary_row(family: str, solver: str, runs: Sequence[Run]) -> tuple[object, ...]:
    ratios = [ratio for run in runs if (ratio := _of_bound(run)) is not None]
    times = [run.record.seconds for run in runs]
    steps = [run.record.work.get("steps", 0) / _threads(run) for run in runs]
    return (
        family,
        solver,
        len(runs),
        sum(run.proven for run in runs),
        sum(run.record.status is Ending.INFEASIBLE for run in runs),
        f"{geometric(ratios):.4f}" if ratios else "",
        f"{median(times):.3f}",
        f"{max(times):.3f}",
        f"{mean(run.record.cpu_seconds for run in runs):.3f}",
        f"{mean(steps) / 1e6:,.1f}",
    )


def _threads(run: Run) -> int:
    workers = run.record.solver.options.get("workers")
    return workers if isinstance(workers, int) else 1


def _of_bound(run: Run) -> float | None:
    """The first term of the plan as a multiple of its bound; None without a plan or a positive bound."""
    return run.value[0] / run.record.bound if run.value and run.record.bound else None


def _instance_row(family: str, name: str, solvers: Sequence[str], runs: Sequence[Run]) -> tuple[object, ...]:
    bounds = [run.record.bound for run in runs if run.record.bound is not None]
    return (
        f"{family}/{name.removeprefix(family).lstrip(',/')}",
        f"{runs[0].instance.features.get('buffers', 0):,}",
        f"{max(bounds):,}" if bounds else "",
        *(_cell([run for run in runs if run.solver == solver]) for solver in solvers),
    )


def _cell(runs: Sequence[Run]) -> str:
    values = [run.value[0] for run in runs if run.value]
    seconds = f"({median(run.record.seconds for run in runs):.2f})" if runs else ""
    if not values:
        return f"{runs[0].record.status} {seconds}" if runs else ""
    return f"{median(values):,.0f}{'*' if all(run.proven for run in runs) else ''} {seconds}"


def _not_reached(run: Run, wanted: Mapping[str, Wanted] | Wanted | None) -> str:
    """A line for a run that is not as good as was wanted; empty for any other."""
    limit = wanted.get(run.instance.name) if isinstance(wanted, Mapping) else wanted
    if limit is None or run.record.status is Ending.DECLINED:
        return ""
    ratio = _of_bound(run)
    if run.record.seconds > limit.seconds:
        return f"{run.instance.name}: {run.record.seconds:.3f} s of {limit.seconds:g} s {MISSED}"
    if limit.of_bound < float("inf") and (ratio is None or ratio > limit.of_bound):
        reached = "no plan" if ratio is None else f"{ratio:.5f}"
        return f"{run.instance.name}: {reached}, and {limit.of_bound:g} times the bound is wanted {MISSED}"
    return ""


def _shared(*names: str) -> Callable[[Path, Effort], Sequence[str]]:
    """The published sets of these names."""
    patterns = {public.name: public.pattern for public in SETS}
    return lambda _folder, _effort: [str(DATA / name / patterns[name]) for name in names]


def _planted(_folder: Path, effort: Effort) -> list[str]:
    """Perfect tilings, and problems with 1 % slack; of the largest, ten seeds say little about how many."""
    kinds = [(f"n={n}", 1) for n in (100, 200, 500, 1_000, 2_000)] + [("n=5000", 3)]
    kinds += [(f"n={n},slack=0.01", 1) for n in (200, 300)] + [(f"n={n},slack=0.01", 3) for n in (600, 1_000)]
    return [f"generate:planted,{kind},seed=0..{times * effort.seeds - 1}" for kind, times in kinds]


SHUFFLES: Final = 3
FACTOR: Final = 3
IN_A_ROW: Final = ("AKH", "BGI", "CDE", "JA", LETTERS.replace("D", "").replace("J", ""), LETTERS)


def _altered(folder: Path, effort: Effort) -> list[str]:
    """A-K with buffers in another order, time mirrored and sizes multiplied; some one after the other."""
    problems = dict(minimalloc_problems())
    for letter, problem in problems.items():
        for seed in range(min(SHUFFLES, effort.seeds)):
            buffers = list(problem.buffers)
            Random(seed).shuffle(buffers)
            _write(folder / f"shuffled {seed}" / letter, replace(problem, buffers=tuple(buffers)))
        _write(folder / "mirrored" / letter, _mirrored(problem))
        larger = tuple(replace(buffer, size=buffer.size * FACTOR) for buffer in problem.buffers)
        _write(folder / f"sizes x {FACTOR}" / letter, replace(problem, buffers=larger))
    for letters in IN_A_ROW:
        together = one_after_the_other((letter, problems[letter]) for letter in letters)
        _write(folder / "one after the other" / letters, together)
    return [str(folder)]


def _mirrored(problem: Problem) -> Problem:
    end = end_of(problem)

    def turned(buffer: Buffer) -> Buffer:
        begin, until = life_of(buffer)
        return replace(buffer, lifetime=(end - until, end - begin))

    return replace(problem, buffers=tuple(map(turned, problem.buffers)))


def _write(path: Path, problem: Problem) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_suffix(".json").write_bytes(formats.write_problem(problem))


# Conflicts of the cases whose file gives sizes only, as in TVM's test_tir_usmp_algo.py: those that both sides
# name, since its planners overlook the others.
EDGES: Final = {"linear": "ab bc cd de ef", "fanout": "ab ac bc be cd ce de df ef"}


def _usmp_cases() -> Iterator[tuple[str, Problem]]:
    facts = json.loads((DATA / "usmp" / "facts.json").read_text())
    for name, case in facts.items():
        if isinstance(case, dict) and "sizes" in case:
            if name in EDGES:
                case["edges"] = [list(pair) for pair in EDGES[name].split()]
            yield name, formats.read_problem(json.dumps(case).encode())
    for name, rows in facts["intervals_inclusive"].items():
        yield f"intervals-{name}", formats.read_problem(json.dumps(rows).encode())


def _published(folder: Path, _effort: Effort) -> list[str]:
    for name, problem in _usmp_cases():
        _write(folder / "usmp" / name, problem)
    return [str(DATA / "executorch" / "*.json"), str(folder)]


SHARES: Final = ((3, 4), (1, 2), (1, 4))
"""Of the most live bytes: the capacity of the fast memory."""
ALIGNMENT: Final = 16


def _pools(folder: Path, _effort: Effort) -> list[str]:
    for above, below in SHARES:
        for path in sorted((DATA / "executorch").glob("*.json")):
            problem = two_memories(formats.read_problem(path.read_bytes()), above, below)
            _write(folder / f"{above} of {below} fast" / path.stem, problem)
    pools = (Pool(id="fast_memory", capacity=200_704), Pool(id="slow_memory"))
    for name, problem in _usmp_cases():
        if name in ("mobilenet", "resnet", "inception"):
            _write(folder / "one pool" / name, replace(problem, pools=(Pool(id="memory"),), objective=None))
            two = replace(problem, pools=pools, objective=objective_of(pools))
            _write(folder / "two pools" / name, two)
    for n in (20, 60, 200):
        for seed in range(2):
            _write(folder / "three pools" / f"{n}-{seed}", three_pools(Random(seed), n))
    return [str(folder)]


def two_memories(problem: Problem, above: int, below: int) -> Problem:
    """The buffers over a fast memory with a share of their bound, and a slow one that is to be small."""
    reduction = reduce(problem)
    assert not isinstance(reduction, Explanation)
    capacity = Bounds(reduction).of_pool(0).value * above // below
    pools = (Pool(id="fast", capacity=capacity, alignment=ALIGNMENT), Pool(id="slow", alignment=ALIGNMENT))
    return replace(problem, pools=pools, objective=("peak:slow",))


def _graphs(_folder: Path, _effort: Effort) -> list[str]:
    if (DATA / "graphs").is_dir():
        return [str(DATA / "graphs" / "*.json")]
    return [f"generate:graph,n=200,seed=1..2,family={family}" for family in FAMILIES]


def _free_graphs(_folder: Path, effort: Effort) -> list[str]:
    """Published graphs and models, where they are there, and generated ones of each family."""
    shared = [DATA / folder for folder in ("graphs", "tflite")]
    patterns = ("*.json", "*.tflite")
    there = [str(folder / name) for folder, name in zip(shared, patterns, strict=True) if folder.is_dir()]
    return there + [
        f"generate:graph,n={n},seed=0..{effort.seeds - 1},family={family}"
        for n in (25, 50, 100, 200)
        for family in FAMILIES
    ]


_SEVERAL: Final = ("--workers", str(WORKERS), "--solvers")
ALL: Final = {
    "published": ProblemSet(
        "Problems with published figures, ten seconds each:",
        (Batch(_published, 10.0),),
        ("executorch", "usmp"),
    ),
    "models": ProblemSet(
        "The exact search and models beside greedy, ten seconds each; problems of kernels 4 s:",
        tuple(
            Batch(_shared(*names), seconds, (*_SEVERAL, "greedy,exact,cpsat,highs,cbc"))
            for names, seconds in (
                (("minimalloc", "idealloc", "executorch", "minimalloc-dsa-rp"), 10.0),
                (("pypto",), 4.0),
            )
        ),
        ("minimalloc", "idealloc", "executorch", "minimalloc-dsa-rp", "pypto"),
    ),
    "orders": ProblemSet(
        "Orders of operators: as listed, by rules, the best that is found, and by a model; each is then "
        "placed. Two seconds for both:",
        (Batch(_graphs, 2.0, (*_SEVERAL, "auto", "--orders", "given,lpmf,dfs,free,cpsat")),),
    ),
    "pools": ProblemSet(
        "A fast memory of a share of the most live bytes and an unbounded slow one; USMP's cases in one and "
        "two pools; three pools by cost. Ten seconds each:",
        (Batch(_pools, 10.0, (*_SEVERAL, "greedy,cpsat,assign,auto")),),
        ("executorch", "usmp"),
    ),
}
HARD: Final = {
    "minimalloc": ProblemSet(
        "A-K without a height, ten seconds each:", (Batch(_shared("minimalloc"), 10.0),), ("minimalloc",)
    ),
    "altered": ProblemSet(
        "A-K with buffers in another order, time mirrored, sizes multiplied, and several one after the other "
        "as one problem; five seconds each:",
        (Batch(_altered, 5.0),),
        ("minimalloc",),
    ),
    "graphs": ProblemSet(
        "The order and the places of graphs, proven together; one thread and twenty seconds each:",
        (Batch(_free_graphs, 20.0, ("--workers", "1", "--orders", "free")),),
    ),
    "idealloc": ProblemSet(
        "Twenty seconds each:",
        (Batch(_shared("idealloc"), 20.0),),
        ("idealloc",),
        {"resnet50": Wanted(1.0, 5.0), "G_1": Wanted(1.0, 5.0), "S_1": Wanted(1.002, 20.0)},
    ),
    "planted": ProblemSet(
        "Planted problems, without slack and with 1 %, ten seconds each:", (Batch(_planted, 10.0),)
    ),
    "kernels": ProblemSet(
        "Networks and kernels, with their reuse costs, a second each; limit: 50 ms each:",
        (Batch(_shared("executorch", "pypto"), 1.0),),
        ("executorch", "pypto"),
        Wanted(seconds=0.05),
    ),
    "reuse": ProblemSet(
        "A and F of MiniMalloc with a cost of 1 on pairs of buffers; 1, 5 and 20 seconds each:",
        tuple(Batch(_shared("minimalloc-dsa-rp"), seconds) for seconds in (1.0, 5.0, 20.0)),
        ("minimalloc-dsa-rp",),
    ),
    "cores": ProblemSet(
        "`exact` alone on 1 to 8 threads, six seeds, at most 2 billion steps each:",
        tuple(
            Batch(
                lambda _folder, _effort: [str(DATA / "minimalloc" / f"[{letter}].*.csv") for letter in "DIK"],
                300.0,  # what ends a run is work
                (
                    *("--solvers", "exact", "--seeds", "6"),
                    *("--work-limit", "2000000000", "--workers", str(workers)),
                ),
            )
            for workers in (1, 2, 4, 8)
        ),
        ("minimalloc",),
    ),
}
