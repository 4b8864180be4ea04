"""Problems with figures published by others: the ExecuTorch exports and TVM's USMP cases."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.page import DATA, table
from memstow.planner.formats import read_problem
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Plan
from memstow.planner.solve.engine import plan

# What ExecuTorch's own greedy planner reaches, from the notes beside the data.
EXECUTORCH = {
    "mobilenet_v2": 9_936_896,
    "resnet50": 14_614_528,
    "transformer": 12_419_072,
    "efficientnet_b0": 14_753_792,
    "unet": 8_388_608,
}


# Conflicts of the cases whose file gives sizes only, as in TVM's test_tir_usmp_algo.py: those that both sides
# name, since its planners overlook the others.
EDGES = {"linear": "ab bc cd de ef", "fanout": "ab ac bc be cd ce de df ef"}


def measure() -> str:
    """A row for each problem."""
    if not DATA.exists():
        return "Skipped: `../shared/data` is not there."
    header = ("problem", "buffers", "peak", "bound", "published", "status", "found by", "ms")
    return table(header, [*_executorch(), *_usmp()])


def _executorch() -> Iterator[tuple[object, ...]]:
    for name, published in EXECUTORCH.items():
        data = (DATA / "executorch" / f"{name}.json").read_bytes()
        yield _row(f"executorch/{name}", data, f"{published:,}")


def _usmp() -> Iterator[tuple[object, ...]]:
    facts = json.loads((DATA / "usmp" / "facts.json").read_text())
    for name, case in facts.items():
        if isinstance(case, dict) and "sizes" in case:
            if name in EDGES:
                case["edges"] = [list(pair) for pair in EDGES[name].split()]
            yield _row(f"usmp/{name}", json.dumps(case).encode(), _best(case))
    for name, rows in facts["intervals_inclusive"].items():
        lowest = facts["interval_lower_bound"][name]
        yield _row(f"usmp/intervals/{name}", json.dumps(rows).encode(), f"{lowest:,}")


def _best(case: dict[str, Any]) -> str:
    """The best the case's authors expect of any of their planners: the least in the last pool first."""
    expected = case.get("expected")
    if expected is None:
        return f"{case['memory_pressure']:,} (pressure)"
    figures = expected.values() if isinstance(expected, dict) else [expected]
    pools: list[list[int]] = [f if isinstance(f, list) else [f] for f in figures]
    return _together(min(pools, key=_last_first))


def _last_first(figures: Iterable[int]) -> list[int]:
    return list(figures)[::-1]


def _together(figures: Iterable[int]) -> str:
    """What each pool takes, in their order."""
    return " + ".join(f"{figure:,}" for figure in figures)


def _row(name: str, data: bytes, published: str) -> tuple[object, ...]:
    problem = read_problem(data)
    found: Plan = plan(problem, Options())
    proven = {term.term: term.bound for term in found.objective}
    alone = proven.get("peak", 0) if len(found.pools) == 1 else 0
    bound = _together(max(use.bound, alone, proven.get(f"peak:{use.pool}", 0)) for use in found.pools)
    said = (found.status.value, found.solver, f"{found.seconds * 1000:.1f}")
    return (name, len(problem.buffers), _together(use.peak for use in found.pools), bound, published, *said)
