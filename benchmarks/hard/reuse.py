"""Reuse costs: kernels with a cost on overlaps, and two of A-K with costs, next to the best known."""

import csv
import json
from collections.abc import Iterator

from benchmarks.hard.effort import Effort
from benchmarks.hard.engine_run import WORKERS, EngineRun, solve
from benchmarks.hard.instances import SKIPPED, there
from benchmarks.page import DATA, table
from memstow.planner.formats import read_problem
from memstow.planner.model import Status
from memstow.planner.model.problem import Problem

SECONDS = 1.0
# Seconds for the large ones, and the cost of the best plans known before, from the notes beside the data.
TIMES = (1.0, 5.0, 20.0)
LARGE = {"A": 285, "F": 129}

Key = tuple[str, str, str]


def measure(effort: Effort) -> str:
    """All kernels in a row for each policy, then the large ones."""
    if not (there("pypto") and there("minimalloc-dsa-rp")):
        return SKIPPED
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
    seconds = effort.seconds(SECONDS)
    kernels = [_row(policy, seconds) for policy in ("soft_v1", "hard_v1")]
    large = ("problem", "buffers", "pairs", "limit, s", "cost", "bound", "best known", "found by")
    return "\n\n".join(
        (
            f"Engine alone, {WORKERS} workers; limit: {seconds:g} s each:",
            table(header, kernels),
            "The problems A and F of google/minimalloc with a cost of 1 on pairs of buffers:",
            table(large, list(_large(effort))),
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


def _kernels(policy: str) -> Iterator[tuple[str, Key, Problem]]:
    for path in sorted((DATA / "pypto").glob("**/*.json")):
        data = path.read_bytes()
        notes = json.loads(data)["metadata"]
        if notes.get("dsa_rp_edge_policy") == policy:
            fields = ("corpus_source_path", "dsa_rp_source_instance", "corpus_source_fingerprint_fnv1a64")
            one, two, three = (str(notes[field]) for field in fields)
            yield str(path.relative_to(DATA / "pypto")), (one, two, three), read_problem(data)


def _row(policy: str, seconds: float) -> tuple[object, ...]:
    known = _best_known()
    found: dict[str, EngineRun] = {}
    sum_known = above = 0
    for name, key, problem in _kernels(policy):
        found[name] = solve(problem, seconds)
        best = known[key]
        if best is not None and policy == "soft_v1":
            sum_known += best
            above += _cost(found[name]) > best
    statuses = [solved.plan.status for solved in found.values()]
    slowest = max(found, key=lambda name: found[name].seconds)
    soft = policy == "soft_v1"
    return (
        policy,
        len(found),
        statuses.count(Status.OPTIMAL),
        statuses.count(Status.INFEASIBLE),
        sum(map(_cost, found.values())) if soft else "",
        sum_known if soft else "",
        above if soft else "",
        f"{found[slowest].seconds * 1000:.1f}",
        f"{found[slowest].cpu_seconds * 1000:.1f}",
        slowest,
    )


def _cost(solved: EngineRun) -> int:
    return sum(term.value for term in solved.plan.objective if term.term == "reuse_cost")


def _large(effort: Effort) -> Iterator[tuple[object, ...]]:
    for letter, best in LARGE.items():
        problem = read_problem((DATA / "minimalloc-dsa-rp" / f"{letter}.json").read_bytes())
        for usual in TIMES:
            seconds = effort.seconds(usual)
            found = solve(problem, seconds).plan
            term = found.objective[0]
            yield (
                letter,
                len(problem.buffers),
                f"{len(problem.reuse_costs):,}",
                f"{seconds:g}",
                term.value,
                term.bound,
                best,
                found.solver,
            )
