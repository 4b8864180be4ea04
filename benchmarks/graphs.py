"""Graphs: the order of operators, and recompute; both print a row for each graph.

`python -m benchmarks.graphs order [GRAPH ...]`: the order given, rules of thumb, CP-SAT, and the search, with
the time to the proof. Reads the graph documents named, or those of the shared data, as they are and without
pairs in place; `--generated N` adds graphs of N operators. CP-SAT takes part with `--cpsat SECONDS`; where it
finds nothing, its order is the one given.

`python -m benchmarks.graphs recompute [GRAPH ...]`: what a fifth more bytes moved saves on training graphs,
beside bounds and simple schemes. Reads the training graphs named, or those of the shared data, and makes
steps of MobileNetV2. Everything is counted in bytes that operators read and write.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

from benchmarks.page import DATA, table
from memstow.planner.formats import read_graph
from memstow.planner.generate import FAMILIES
from memstow.planner.generate.graph import graph as generated
from memstow.planner.generate.graph import training_step
from memstow.planner.graph.changes import without_in_place
from memstow.planner.graph.links import NOBODY, Links, links_of
from memstow.planner.graph.live_bytes import order_instance
from memstow.planner.graph.operators import operator_costs
from memstow.planner.graph.recompute import Choice, Patience, peak_of, recompute_points
from memstow.planner.graph.schedules import with_runs
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Options
from memstow.planner.model.plan import Schedule
from memstow.planner.solve.graphs import NOTHING, Callbacks, plan_graph, with_order_bound
from memstow.planner.verify import verify
from memstow.solvers.core import Budget
from memstow.solvers.orders import MODEL, OrderInstance, OrderListeners, OrderOutcome, OrderTask, order_solver

SHARED = DATA / "graphs"
CPSAT_SECONDS = 2.0
"""In `make bench`, for each graph."""
_ORDER_HEAD = ("graph", "operators", "given", "lpmf", "dfs", "order", "bound", "seconds", "proof", "CP-SAT")
_RULES = ("given", "lpmf", "dfs")
_SILENT = OrderListeners(lambda *_: None, lambda *_: None)


def orders() -> str:
    """The table of the shared graphs, or of generated ones where those are missing."""
    args = _parser().parse_args(["order", "--cpsat", f"{CPSAT_SECONDS}"])
    graphs = _order_graphs(args.graphs, None if args.graphs else 200)
    shown = table(_ORDER_HEAD, [_order_row(name, graph, args) for name, graph in graphs])
    return (
        "Peaks in bytes: of the order given, of rules, and of the search on one thread, with its bound and "
        f"the median seconds to its end; CP-SAT has {CPSAT_SECONDS:g} s and two threads.\n\n{shown}"
    )


def print_orders(args: argparse.Namespace) -> None:
    """Print a row for each graph, as soon as it is measured."""
    print(table(_ORDER_HEAD, []))
    for name, graph in _order_graphs(args.graphs, args.generated):
        print("| " + " | ".join(_order_row(name, graph, args)) + " |", flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.graphs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    kinds = parser.add_subparsers(required=True)
    order = kinds.add_parser("order")
    order.set_defaults(print_rows=print_orders)
    order.add_argument("graphs", nargs="*", type=Path, default=sorted(SHARED.glob("*.json")))
    order.add_argument("--seconds", type=float, default=1.0, help="limit of the search")
    order.add_argument("--repeat", type=int, default=3, help="runs, of which the median time is shown")
    order.add_argument("--workers", type=int, default=1)
    order.add_argument("--generated", type=int, help="operators of graphs of each family")
    order.add_argument("--cpsat", type=float, default=0.0, help="seconds of CP-SAT for each graph; 0: none")
    recompute = kinds.add_parser("recompute")
    recompute.set_defaults(print_rows=print_recompute)
    recompute.add_argument("graphs", nargs="*", type=Path, default=sorted(SHARED.glob("train_*.json")))
    recompute.add_argument("--seconds", type=float, default=10.0)
    recompute.add_argument("--within", type=float, default=1.2, help="cost, as a multiple of that as it is")
    return parser


def _order_graphs(paths: Sequence[Path], count: int | None) -> Iterator[tuple[str, Graph]]:
    for path in paths:
        graph = read_graph(path.read_bytes())
        plain = without_in_place(graph)
        yield path.stem, plain
        if plain != graph:
            yield f"{path.stem}, in place", graph
    for family in FAMILIES if count else ():
        for seed in (1, 2):
            yield f"{family} {count} {seed}", generated(count or 0, seed, family=family)


def _order_row(name: str, graph: Graph, args: argparse.Namespace) -> list[str]:
    instance = order_instance(graph)
    # No time for a bound: only the order is of interest.
    peaks = [_solved(rule, instance, 0.0, 1)[0].peak for rule in _RULES]
    runs = [_solved("order", instance, args.seconds, args.workers) for _ in range(args.repeat)]
    best = runs[-1][0]
    kind = type(best.proof).__name__.removesuffix("Proof").lower() if best.peak == best.bound else "open"
    model = _modelled(instance, args.cpsat) if args.cpsat else "-"
    seconds = median(took for _, took in runs)
    figures = [f"{entry:,}" for entry in (instance.operator_count, *peaks, best.peak, best.bound)]
    return [name, *figures, f"{seconds:.3f}", kind, model]


def _solved(name: str, instance: OrderInstance, seconds: float, workers: int) -> tuple[OrderOutcome, float]:
    task = OrderTask(instance, workers=workers)
    start = time.perf_counter()
    outcome = order_solver(name).solve(task, Budget(seconds, -1), _SILENT)
    return outcome, time.perf_counter() - start


def _modelled(instance: OrderInstance, seconds: float) -> str:
    outcome, took = _solved(MODEL, instance, seconds, 2)
    return f"{outcome.peak:,} (bound {outcome.bound:,}, {took:.1f} s)"


_RECOMPUTE_HEAD = (
    "graph",
    "operators",
    "no recompute",
    "every k-th layer kept: least peak (cost, k)",
    "the same within the cost",
    "memstow within the cost",
    "placed",
    "bound",
)
_LAYERS = ("convolution", "conv", "depthwise")
_EVERY = (1, 2, 3, 4, 6, 8, 12, 16, 24)


def print_recompute(args: argparse.Namespace) -> None:
    """Print a row for each graph, as soon as it is measured."""
    print(table(_RECOMPUTE_HEAD, []))
    for graph in _recompute_graphs(args.graphs):
        print("| " + " | ".join(_recompute_row(graph, args.within, args.seconds)) + " |", flush=True)


def _recompute_graphs(paths: Sequence[Path]) -> Iterator[Graph]:
    for path in paths:
        yield read_graph(path.read_bytes())
    yield training_step(1)
    yield training_step(16)


def _recompute_row(graph: Graph, within: float, seconds: float) -> list[str]:
    outcome = order_solver("order").solve(
        OrderTask(order_instance(graph), workers=1), Budget(2.0, -1), _SILENT
    )
    order = list(outcome.order)
    base = sum(operator_costs(graph, "bytes"))
    simple = [(*_cost_and_peak(graph, every_kth(graph, order, k)), k) for k in _EVERY]
    cost, peak, k = min(simple, key=lambda scheme: scheme[1])
    cheap = min(
        (scheme for scheme in simple if scheme[0] <= within * base),
        default=None,
        key=lambda scheme: scheme[1],
    )
    choice = Choice(unit="bytes", within=within)
    points = list(recompute_points(graph, order, choice, Patience(seconds=seconds)))
    first, best = points[0], min(points, key=lambda point: (point.bytes, point.cost))
    top = first.bytes

    def share(size: int) -> str:
        return f"{size:,} ({size / top:.1%})"

    return [
        str(graph.name),
        f"{len(order)}",
        f"{top:,}",
        f"{share(peak)}, cost {cost / base:.2f}, k = {k}",
        "none" if cheap is None else f"{share(cheap[1])}, cost {cheap[0] / base:.2f}, k = {cheap[2]}",
        f"{share(best.bytes)}, cost {1 + best.cost / base:.3f}",
        share(_placed(graph, best.schedule)),
        share(best.bound_bytes),
    ]


def _cost_and_peak(graph: Graph, schedule: Schedule) -> tuple[int, int]:
    index, costs = links_of(graph).operator_index, operator_costs(graph, "bytes")
    return sum(costs[index[name]] for name in schedule.order), peak_of(graph, schedule)


def _placed(graph: Graph, schedule: Schedule) -> int:
    """The peak of a plan of the schedule, accepted by the judge."""
    expanded, _ = with_runs(graph, schedule)
    plan = plan_graph(expanded, Options(time_limit=5.0), Callbacks())
    # Judged as a plan of the graph, with the schedule: the judge expands it by itself. A proof is one of this
    # schedule alone, so none is claimed.
    violations = verify(graph, replace(with_order_bound(graph, plan, NOTHING), schedule=schedule))
    if violations:
        raise AssertionError(violations)
    return plan.pools[0].peak


def every_kth(graph: Graph, order: Sequence[int], k: int) -> Schedule:
    """Keep what every k-th convolution is given; the way back runs the layers between again."""
    links = links_of(graph)
    forward = max(
        (at for at, operator in enumerate(order) if graph.operators[operator].type in _LAYERS), default=-1
    )
    segment: dict[int, int] = {}
    layers = 0
    for operator in order[: forward + 1]:
        layers += graph.operators[operator].type in _LAYERS
        segment[operator] = layers // k
    dropped = {
        tensor for tensor, maker in enumerate(links.producer) if _inside(links, segment, tensor, maker)
    }
    runs: list[int] = []
    again: set[int] = set()
    for operator in order:
        if operator not in segment:
            inputs = (links.tensor_index[name] for name in graph.operators[operator].inputs)
            for part in sorted({segment[links.producer[tensor]] for tensor in inputs if tensor in dropped}):
                if part not in again:
                    again.add(part)
                    runs += _needed(graph, links, order, segment, dropped, part)
        runs.append(operator)
    return Schedule(order=tuple(graph.operators[operator].id for operator in runs))


def _inside(links: Links, segment: dict[int, int], tensor: int, maker: int) -> bool:
    """Whether the way forward reads the tensor in its segment alone."""
    return maker != NOBODY and all(
        segment.get(reader, segment.get(maker)) == segment.get(maker, -1) for reader in links.readers[tensor]
    )


def _needed(
    graph: Graph,
    links: Links,
    order: Sequence[int],
    segment: dict[int, int],
    dropped: set[int],
    part: int,
) -> list[int]:
    """The operators of a segment without which the way back lacks something."""
    inside = [operator for operator in order if segment.get(operator) == part]
    wanted = {
        tensor
        for tensor in dropped
        if segment.get(links.producer[tensor]) == part
        and any(reader not in segment for reader in links.readers[tensor])
    }
    needed: list[int] = []
    for operator in reversed(inside):
        outputs = {links.tensor_index[name] for name in graph.operators[operator].outputs}
        if outputs & wanted:
            needed.append(operator)
            inputs = {links.tensor_index[name] for name in graph.operators[operator].inputs}
            wanted |= inputs & dropped
    return needed[::-1]


if __name__ == "__main__":
    arguments = _parser().parse_args()
    arguments.print_rows(arguments)
