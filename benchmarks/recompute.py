"""What a fifth more bytes moved saves on training graphs: `python -m benchmarks.recompute [GRAPH ...]`.

Beside bounds and simple schemes, a row for each graph. Reads the training graphs named, or those of the
shared data, and makes steps of MobileNetV2. Everything is counted in bytes that operators read and write.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.page import DATA, table
from memstow.planner.formats import read_graph
from memstow.planner.generate.graph import training_step
from memstow.planner.graph.links import NOBODY, Links, links_of
from memstow.planner.graph.live_bytes import order_instance
from memstow.planner.graph.operators import operator_costs
from memstow.planner.graph.recompute import Choice, Patience, peak_of, recompute_points
from memstow.planner.graph.schedules import with_runs
from memstow.planner.model.graph import Graph
from memstow.planner.model.options import Callbacks, Options
from memstow.planner.model.plan import Schedule
from memstow.planner.solve.graphs import plan_graph
from memstow.planner.solve.schedules import NOTHING, with_order_bound
from memstow.planner.verify import verify
from memstow.solvers.core import Budget
from memstow.solvers.orders import OrderListeners, OrderTask
from memstow.solvers.registry import order_solver

_SILENT: Final = OrderListeners(lambda *_: None, lambda *_: None)
_HEAD = (
    "graph",
    "operators",
    "no recompute",
    "every k-th layer kept: least peak (cost, k)",
    "the same within the cost",
    "memstow within the cost",
    "placed",
    "bound",
)
_LAYERS: Final = ("convolution", "conv", "depthwise")
_EVERY: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24)


def _graphs(paths: Sequence[Path]) -> Iterator[Graph]:
    for path in paths:
        yield read_graph(path.read_bytes())
    yield training_step(1)
    yield training_step(16)


def _row(graph: Graph, within: float, seconds: float) -> list[str]:
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


def main() -> None:
    """Print a row for each graph, as soon as it is measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recompute", description=__doc__)
    parser.add_argument(
        "graphs", nargs="*", type=Path, default=sorted((DATA / "graphs").glob("train_*.json"))
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--within", type=float, default=1.2, help="cost, as a multiple of that as it is")
    args = parser.parse_args()
    print(table(_HEAD, []))
    for graph in _graphs(args.graphs):
        print("| " + " | ".join(_row(graph, args.within, args.seconds)) + " |", flush=True)


if __name__ == "__main__":
    main()
