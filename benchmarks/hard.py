"""The problems that greedy and the bound do not decide: `make bench-hard`, some minutes on two cores."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random
from statistics import geometric_mean, mean, median

from benchmarks.measuring import MEMSTOW, WORKERS, Effort, EngineRun, ProcessRun, run, solve
from benchmarks.page import DATA, held, table
from benchmarks.problems import (
    HEIGHT,
    LETTERS,
    end_of,
    life_of,
    minimalloc_path,
    minimalloc_problems,
    needs,
    one_after_the_other,
    problems_of,
)
from memstow.planner.formats import read_problem
from memstow.planner.generate.planted import planted
from memstow.planner.model import Status
from memstow.planner.model.options import Options
from memstow.planner.model.problem import Buffer, Problem
from memstow.planner.solve.engine import plan

MINIMALLOC_SECONDS = 10.0

# Known before memstow, from the notes in ../shared/design/search.md; none of it is measured again here. Their
# multiples are of the best plans known then: D's was 999,424.
OTHERS = (
    ("size-ordered first fit", "1.22 x the best known, geometric mean"),
    ("OpenXLA's heap policy", "1.23 x"),
    ("TVM USMP hill climb, 2,000 attempts, best of 3", "1.08 x"),
    ("CP-SAT `no_overlap_2d`, 2 workers, 50 s, without a start", "1.04-1.21 x, none proven"),
    ("CP-SAT, given the height 1,048,576", "K in 0.5 s, G in 21 s, the rest not in 25 s"),
    ("MiniMalloc, given the height 1,048,576", "all: 0.6-4.7 s each, 26.8 s in total"),
    ("MiniMalloc, minimising, 5 s", "proves only C"),
    ("MiniMalloc, given D's or J's maximum of live bytes", "nothing in 60 s"),
)


@needs("minimalloc")
def minimalloc(effort: Effort) -> str:
    """A row for each problem, then what others reach."""
    seconds = effort.seconds(MINIMALLOC_SECONDS)
    runs = {
        letter: (len(problem.buffers), solve(problem, seconds)) for letter, problem in minimalloc_problems()
    }
    header = (
        "problem",
        "buffers",
        "peak",
        "bound",
        "peak / bound",
        "status",
        "found by",
        "s",
        "processor, s",
    )
    rows = [_minimalloc_row(letter, count, solved) for letter, (count, solved) in runs.items()]
    return "\n\n".join(
        (
            f"No height given, {seconds:g} s each, {WORKERS} workers, engine alone:",
            table(header, rows),
            "What others reach: measured earlier (July to November 2026) on 2 cores, and not repeated by "
            "this benchmark.",
            table(("planner", "result"), [*OTHERS, _ours(seconds, [s for _, s in runs.values()])], left=2),
        )
    )


def _minimalloc_row(letter: str, count: int, solved: EngineRun) -> tuple[str, ...]:
    return (
        letter,
        f"{count}",
        f"{solved.peak:,}",
        f"{solved.bound:,}",
        f"{solved.ratio:.4f}",
        solved.plan.status.value,
        solved.plan.solver or "",
        f"{solved.usage.seconds:.2f}",
        f"{solved.usage.cpu_seconds:.2f}",
    )


def _ours(seconds: float, runs: list[EngineRun]) -> tuple[str, str]:
    mean = geometric_mean(solved.ratio for solved in runs)
    proven = sum(solved.proven for solved in runs)
    return (
        f"memstow, no height given, {seconds:g} s",
        f"{mean:.4f} x the bound, geometric mean; {proven} of {len(runs)} proven",
    )


FITTING_SECONDS = 10.0
FITTING_LIMIT = 2.5


@needs("minimalloc")
def fitting(effort: Effort) -> str:
    """A row for each problem, and all of them together."""
    seconds = effort.seconds(FITTING_SECONDS)
    _fitting_run(LETTERS[0], seconds)  # from the disk into memory, and bytecode written
    runs = {letter: _fitting_run(letter, seconds) for letter in LETTERS}
    rows = [
        (letter, _fitting_told(ran), f"{ran.usage.seconds:.2f}", f"{ran.usage.cpu_seconds:.2f}")
        for letter, ran in runs.items()
    ]
    clock, processor = (
        sum(getattr(ran.usage, field) for ran in runs.values()) for field in ("seconds", "cpu_seconds")
    )
    fit = sum(ran.code == 0 for ran in runs.values())
    rows.append(
        ("in all", f"{fit} of {len(runs)}", held(f"{clock:.2f}", clock, FITTING_LIMIT), f"{processor:.2f}")
    )
    return (
        f"`memstow solve FILE --capacity {HEIGHT} --fit-only`, whole processes; "
        f"limit for all eleven: {FITTING_LIMIT} s:\n\n"
        + table(("problem", "fits", "s", "processor, s"), rows)
    )


def _fitting_run(letter: str, seconds: float) -> ProcessRun:
    words = ("--capacity", str(HEIGHT), "--fit-only", "--time-limit", f"{seconds}", "--json")
    return run(MEMSTOW, "solve", minimalloc_path(letter), *words)


def _fitting_told(ran: ProcessRun) -> str:
    return f"by {json.loads(ran.out)['solver']}" if ran.code == 0 else f"no: exit code {ran.code}"


ALTERED_SECONDS = 5.0
SHUFFLES = 3
FACTOR = 3
IN_A_ROW = ("AKH", "BGI", "CDE", "JA", "".join(letter for letter in LETTERS if letter not in "DJ"), LETTERS)


@needs("minimalloc")
def altered(effort: Effort) -> str:
    """A row for each of A-K, a column for each way of telling it; then several of them in a row."""
    seconds = effort.seconds(ALTERED_SECONDS)
    problems = dict(minimalloc_problems())
    shuffles = min(SHUFFLES, effort.seeds)
    header = (
        "problem",
        "as it is",
        *(f"shuffled {k}" for k in range(shuffles)),
        "mirrored",
        f"sizes x {FACTOR}",
    )
    rows = [
        (letter, *(solve(changed, seconds).cell() for changed in _ways(problem, shuffles)))
        for letter, problem in problems.items()
    ]
    return "\n\n".join(
        (
            f"Seconds where proven optimal; else the peak as a multiple of the bound. {seconds:g} s each, "
            f"{WORKERS} workers, engine alone. Buffers in another order, time mirrored, sizes multiplied:",
            table(header, rows),
            "Several one after the other in time, as one problem:",
            table(("problems", "buffers", "s, or peak / bound"), list(_in_a_row(problems, seconds))),
        )
    )


def _ways(problem: Problem, shuffles: int) -> Iterator[Problem]:
    yield problem
    for seed in range(shuffles):
        yield _shuffled(problem, seed)
    yield _mirrored(problem)
    yield _multiplied(problem)


def _shuffled(problem: Problem, seed: int) -> Problem:
    buffers = list(problem.buffers)
    Random(seed).shuffle(buffers)
    return replace(problem, buffers=tuple(buffers))


def _mirrored(problem: Problem) -> Problem:
    end = end_of(problem)

    def turned(buffer: Buffer) -> Buffer:
        begin, until = life_of(buffer)
        return replace(buffer, lifetime=(end - until, end - begin))

    return replace(problem, buffers=tuple(map(turned, problem.buffers)))


def _multiplied(problem: Problem) -> Problem:
    return replace(problem, buffers=tuple(replace(b, size=b.size * FACTOR) for b in problem.buffers))


def _in_a_row(problems: dict[str, Problem], seconds: float) -> Iterator[tuple[object, ...]]:
    for letters in IN_A_ROW:
        whole = one_after_the_other((letter, problems[letter]) for letter in letters)
        yield " + ".join(letters), len(whole.buffers), solve(whole, seconds).cell()


# Seconds, and the multiple of the bound that is to be reached in them; the bound itself is to be proven.
IDEALLOC_LIMITS = {"resnet50": (5.0, 1.0), "G_1": (5.0, 1.0), "S_1": (20.0, 1.002)}


@needs("idealloc")
def idealloc(effort: Effort) -> str:
    """A row for each."""
    header = (
        "problem",
        "buffers",
        "peak",
        "peak / bound",
        "wanted",
        "status",
        "found by",
        "s",
        "processor, s",
        "limit, s",
    )
    rows = [
        _idealloc_row(name, effort.seconds(usual), wanted)
        for name, (usual, wanted) in IDEALLOC_LIMITS.items()
    ]
    return f"Engine alone, {WORKERS} workers:\n\n" + table(header, rows)


def _idealloc_row(name: str, seconds: float, wanted: float) -> tuple[object, ...]:
    problem = read_problem((DATA / "idealloc" / f"{name}.csv").read_bytes())
    solved = solve(problem, seconds)
    return (
        name,
        f"{len(problem.buffers):,}",
        f"{solved.peak:,}",
        held(f"{solved.ratio:.5f}", solved.ratio, wanted),
        "the bound, proven" if wanted == 1 else f"{wanted:g}",
        solved.plan.status.value,
        solved.plan.solver,
        f"{solved.usage.seconds:.2f}",
        f"{solved.usage.cpu_seconds:.2f}",
        f"{seconds:g}",
    )


TILING_SECONDS = 10.0
SIZES = (100, 200, 500, 1_000, 2_000, 5_000)
SLACK = 0.01
SIZES_WITH_SLACK = (200, 300, 600)
# Not all of the largest are solved, and ten of them say little about how many.
MORE_SEEDS = 3


def tilings(effort: Effort) -> str:
    """A row for each size."""
    seconds = effort.seconds(TILING_SECONDS)
    header = (
        "buffers",
        "solved to optimality",
        "median of these, s",
        "mean peak / bound of the others",
        "worst",
    )
    more = MORE_SEEDS * effort.seeds
    rows = [_tiling_row(n, seconds, more if n == SIZES[-1] else effort.seeds) for n in SIZES]
    nearly = [
        _tiling_row(n, seconds, more if n == SIZES_WITH_SLACK[-1] else effort.seeds, SLACK)
        for n in SIZES_WITH_SLACK
    ]
    return (
        f"Planted without slack, seeds 0 to {effort.seeds - 1}, of the largest 0 to {more - 1}, "
        f"{seconds:g} s each, {WORKERS} workers, engine alone:\n\n"
        + table(header, rows)
        + f"\n\nWith {SLACK:.0%} slack:\n\n"
        + table(header, nearly)
    )


def _tiling_row(n: int, seconds: float, seeds: int, slack: float = 0.0) -> tuple[object, ...]:
    runs = [solve(planted(n, seed, slack=slack), seconds) for seed in range(seeds)]
    took = [solved.usage.seconds for solved in runs if solved.proven]
    ratios = [solved.ratio for solved in runs if not solved.proven]
    return (
        f"{n:,}",
        f"{len(took)} of {seeds}",
        f"{median(took):.2f}" if took else "",
        f"{mean(ratios):.4f}" if ratios else "",
        f"{max(ratios):.4f}" if ratios else "",
    )


KERNEL_SECONDS = 10.0
KERNEL_LIMIT_MS = 50


@needs("executorch", "pypto")
def kernels(effort: Effort) -> str:
    """A row for each set of problems."""
    seconds = effort.seconds(KERNEL_SECONDS)
    executorch = dict(problems_of("executorch"))
    pypto = dict(problems_of("pypto"))
    sets = {
        "executorch": executorch,
        "pypto without reuse costs": {name: p for name, p in pypto.items() if not p.reuse_costs},
        "pypto with reuse costs, these left out": {
            name: _without_reuse(p) for name, p in pypto.items() if p.reuse_costs
        },
    }
    solve(next(iter(executorch.values())), seconds)  # what is loaded at the first run is not what is measured
    header = (
        "problems",
        "how many",
        "optimal",
        "infeasible",
        "median, ms",
        "most, ms",
        "of a processor, ms",
        "the slowest",
    )
    rows = [_kernel_row(name, problems, seconds) for name, problems in sets.items() if problems]
    return f"Engine alone, {WORKERS} workers; limit: {KERNEL_LIMIT_MS} ms each:\n\n" + table(header, rows)


def _without_reuse(problem: Problem) -> Problem:
    terms = tuple(term for term in problem.terms() if term != "reuse_cost")
    return replace(problem, reuse_costs=(), objective=terms)


def _kernel_row(name: str, problems: dict[str, Problem], seconds: float) -> tuple[object, ...]:
    runs: dict[str, EngineRun] = {which: solve(problem, seconds) for which, problem in problems.items()}
    slowest = max(runs, key=lambda which: runs[which].usage.seconds)
    statuses = Counter(solved.plan.status for solved in runs.values())
    times = [solved.usage.seconds * 1000 for solved in runs.values()]
    return (
        name,
        len(runs),
        statuses[Status.OPTIMAL],
        statuses[Status.INFEASIBLE],
        f"{median(times):.1f}",
        held(f"{max(times):.1f}", max(times), KERNEL_LIMIT_MS),
        f"{runs[slowest].usage.cpu_seconds * 1000:.1f}",
        f"{slowest} ({runs[slowest].plan.status})",
    )


REUSE_SECONDS = 1.0
# Seconds for the large ones, and the cost of the best plans known before, from the notes beside the data.
REUSE_TIMES = (1.0, 5.0, 20.0)
REUSE_LARGE = {"A": 285, "F": 129}

Key = tuple[str, str, str]


@needs("pypto", "minimalloc-dsa-rp")
def reuse(effort: Effort) -> str:
    """All kernels in a row for each policy, then the large ones."""
    header = (
        "kernels",
        "how many",
        "proven optimal",
        "proven infeasible",
        "sum of costs",
        "best known",
        "cost above it",
        "most, ms",
        "of a processor, ms",
        "the slowest",
    )
    seconds = effort.seconds(REUSE_SECONDS)
    kernels = [_reuse_row(policy, seconds) for policy in ("soft_v1", "hard_v1")]
    large = ("problem", "buffers", "pairs", "limit, s", "cost", "bound", "best known", "found by")
    return "\n\n".join(
        (
            f"Engine alone, {WORKERS} workers; limit: {seconds:g} s each:",
            table(header, kernels),
            "The problems A and F of google/minimalloc with a cost of 1 on pairs of buffers:",
            table(large, list(_reuse_large(effort))),
        )
    )


def _best_known() -> dict[Key, int | None]:
    with (DATA / "pypto" / "best_known.csv").open() as file:
        return {
            (row["source_path"], row["source_instance"], row["source_fingerprint"]): int(cost)
            if cost
            else None
            for row in csv.DictReader(file)
            if (cost := row["best_known_cost"]) is not None
        }


def _reuse_kernels(policy: str) -> Iterator[tuple[str, Key, Problem]]:
    for path in sorted((DATA / "pypto").glob("**/*.json")):
        data = path.read_bytes()
        notes = json.loads(data)["metadata"]
        if notes.get("dsa_rp_edge_policy") == policy:
            fields = ("corpus_source_path", "dsa_rp_source_instance", "corpus_source_fingerprint_fnv1a64")
            one, two, three = (str(notes[field]) for field in fields)
            yield str(path.relative_to(DATA / "pypto")), (one, two, three), read_problem(data)


def _reuse_row(policy: str, seconds: float) -> tuple[object, ...]:
    best_costs = _best_known()
    runs: dict[str, EngineRun] = {}
    sum_known = above = 0
    for name, key, problem in _reuse_kernels(policy):
        runs[name] = solve(problem, seconds)
        best = best_costs[key]
        if best is not None and policy == "soft_v1":
            sum_known += best
            above += runs[name].reuse_cost > best
    statuses = [solved.plan.status for solved in runs.values()]
    slowest = max(runs, key=lambda name: runs[name].usage.seconds)
    soft = policy == "soft_v1"
    return (
        policy,
        len(runs),
        statuses.count(Status.OPTIMAL),
        statuses.count(Status.INFEASIBLE),
        sum(solved.reuse_cost for solved in runs.values()) if soft else "",
        sum_known if soft else "",
        above if soft else "",
        f"{runs[slowest].usage.seconds * 1000:.1f}",
        f"{runs[slowest].usage.cpu_seconds * 1000:.1f}",
        slowest,
    )


def _reuse_large(effort: Effort) -> Iterator[tuple[object, ...]]:
    for letter, best in REUSE_LARGE.items():
        problem = read_problem((DATA / "minimalloc-dsa-rp" / f"{letter}.json").read_bytes())
        for usual in REUSE_TIMES:
            seconds = effort.seconds(usual)
            result = solve(problem, seconds).plan
            # There is none without a plan, which very little time may not be enough for.
            first = next(iter(result.objective), None)
            yield (
                letter,
                len(problem.buffers),
                f"{len(problem.reuse_costs):,}",
                f"{seconds:g}",
                "" if first is None else first.value,
                "" if first is None else first.bound,
                best,
                result.solver,
            )


CORES_WORKERS = (1, 2, 4, 8)
CORES_STEPS = 2_000_000_000
CORES_SECONDS = 300.0  # what ends a run is work
CORES_SEEDS = 6
# Those in which the search has most to do until it is at an end.
SEARCHED = "DIK"


@needs("minimalloc")
def cores(effort: Effort) -> str:
    """A row for each problem and number of threads."""
    seeds = min(CORES_SEEDS, effort.seeds)
    rows = []
    for letter, problem in minimalloc_problems():
        if letter not in SEARCHED:
            continue
        alone = 0.0
        for workers in CORES_WORKERS:
            plans = [plan(problem, _options(seed, workers)) for seed in range(seeds)]
            proven = sum(result.status is Status.OPTIMAL for result in plans)
            steps = mean(result.work for result in plans)
            alone = alone or steps
            faster = alone / (steps / workers)
            rows.append((letter, workers, f"{proven} of {seeds}", f"{steps / 1e6:,.1f}", f"{faster:.1f}"))
    header = (
        "problem",
        "threads",
        "proven",
        "steps of all threads, millions",
        "times as fast with as many cores",
    )
    return f"`exact` alone, at most {CORES_STEPS / 1e9:g} billion steps each:\n\n" + table(header, rows)


def _options(seed: int, workers: int) -> Options:
    return Options(
        solver="exact", seed=seed, workers=workers, work_limit=CORES_STEPS, time_limit=CORES_SECONDS
    )


PARTS = {
    "minimalloc": minimalloc,
    "fitting": fitting,
    "altered": altered,
    "idealloc": idealloc,
    "planted": tilings,
    "kernels": kernels,
    "reuse": reuse,
    "cores": cores,
}
