"""Orders of operators: the order given, rules of thumb, CP-SAT, and the search, with the time to the proof.

Reads the graph documents named, or those of the shared data, as they are and without pairs in place;
`--generated N` adds graphs of N operators. CP-SAT takes part with `--cpsat SECONDS`; where it finds nothing,
its order is the one given.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.page import DATA, table
from memstow.planner.formats import read_graph
from memstow.planner.generate import FAMILIES
from memstow.planner.generate.graph import graph as generated
from memstow.planner.graph.changes import without_in_place
from memstow.planner.graph.live_bytes import order_instance
from memstow.planner.model.graph import Graph
from memstow.solvers.core import Budget
from memstow.solvers.orders import MODEL, OrderInstance, OrderListeners, OrderOutcome, OrderTask, order_solver

SHARED = DATA / "graphs"
CPSAT_SECONDS = 2.0
"""In `make bench`, for each graph."""
_HEAD = ("graph", "operators", "given", "lpmf", "dfs", "order", "bound", "seconds", "proof", "CP-SAT")
_RULES = ("given", "lpmf", "dfs")
_IGNORED = OrderListeners(lambda *_: None, lambda *_: None)


def measure() -> str:
    """The table of the shared graphs, or of generated ones where those are missing."""
    args = _parser().parse_args(["--cpsat", f"{CPSAT_SECONDS}"])
    graphs = _graphs(args.graphs, None if args.graphs else 200)
    shown = table(_HEAD, [_row(name, graph, args) for name, graph in graphs])
    return (
        "Peaks in bytes: of the order given, of rules, and of the search on one thread, with its bound and "
        f"the median seconds to its end; CP-SAT has {CPSAT_SECONDS:g} s and two threads.\n\n{shown}"
    )


def main() -> None:
    """Print a row for each graph."""
    args = _parser().parse_args()
    print(table(_HEAD, []))
    for name, graph in _graphs(args.graphs, args.generated):
        print("| " + " | ".join(_row(name, graph, args)) + " |", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", type=Path, default=sorted(SHARED.glob("*.json")))
    parser.add_argument("--seconds", type=float, default=1.0, help="limit of the search")
    parser.add_argument("--repeat", type=int, default=3, help="runs, of which the median time is shown")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--generated", type=int, help="operators of graphs of each family")
    parser.add_argument("--cpsat", type=float, default=0.0, help="seconds of CP-SAT for each graph; 0: none")
    return parser


def _graphs(paths: Sequence[Path], count: int | None) -> Iterator[tuple[str, Graph]]:
    for path in paths:
        graph = read_graph(path.read_bytes())
        plain = without_in_place(graph)
        yield path.stem, plain
        if plain != graph:
            yield f"{path.stem}, in place", graph
    for family in FAMILIES if count else ():
        for seed in (1, 2):
            yield f"{family} {count} {seed}", generated(count or 0, seed, family=family)


def _row(name: str, graph: Graph, args: argparse.Namespace) -> list[str]:
    instance = order_instance(graph)
    # No time for a bound: only the order is of interest.
    peaks = [_solved(rule, instance, 0.0, 1)[0].peak for rule in _RULES]
    runs = [_solved("order", instance, args.seconds, args.workers) for _ in range(args.repeat)]
    best = runs[-1][0]
    kind = type(best.proof).__name__.removesuffix("Proof").lower() if best.peak == best.bound else "open"
    model = _modelled(instance, args.cpsat) if args.cpsat else "-"
    seconds = median(took for _, took in runs)
    figures = [f"{it:,}" for it in (instance.operator_count, *peaks, best.peak, best.bound)]
    return [name, *figures, f"{seconds:.3f}", kind, model]


def _solved(name: str, instance: OrderInstance, seconds: float, workers: int) -> tuple[OrderOutcome, float]:
    task = OrderTask(instance, workers=workers)
    start = time.perf_counter()
    outcome = order_solver(name).solve(task, Budget(seconds, -1), _IGNORED)
    return outcome, time.perf_counter() - start


def _modelled(instance: OrderInstance, seconds: float) -> str:
    found, took = _solved(MODEL, instance, seconds, 2)
    return f"{found.peak:,} (bound {found.bound:,}, {took:.1f} s)"


if __name__ == "__main__":
    main()
