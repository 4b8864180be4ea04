"""Which operators may run again and which tensors may be copied out, and whether a schedule keeps to it."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from memstow.planner.graph.links import NOBODY, Links, links_of
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Tensor, View, is_planned
from memstow.planner.model.plan import Schedule, Spill


def checked_order(graph: Graph, links: Links, schedule: Schedule) -> list[int]:
    """The operators by index, as they run; an InputError where the graph does not allow the schedule."""
    order = _known(links, schedule)
    _check_order(graph, links, order)
    _check_spills(graph, links, schedule.spills, order)
    return order


def runs_once(graph: Graph) -> list[bool]:
    """By operator, whether it must not run again: it writes a state, or makes or reads what is in views."""
    states, fixed = _states(graph), viewed(graph.views)
    return [
        not states.isdisjoint(operator.outputs) or not fixed.isdisjoint(operator.inputs + operator.outputs)
        for operator in graph.operators
    ]


def viewed(views: Sequence[View]) -> set[str]:
    """The tensors that are views or have one."""
    return {name for view in views for name in (view.tensor, view.of)}


def can_spill(graph: Graph, tensor: Tensor) -> bool:
    """Whether the tensor can wait in another pool."""
    return tensor.kind == "data" and is_planned(tensor) and tensor.id not in viewed(graph.views)


def refused(path: str, message: str) -> InputError:
    """The error of a schedule that the graph does not allow."""
    return InputError.single("not_a_schedule", path, message)


def _known(links: Links, schedule: Schedule) -> list[int]:
    """The operators by index."""
    order: list[int] = []
    for at, name in enumerate(schedule.order):
        if name not in links.operator_index:
            raise refused(f"schedule.order[{at}]", f"the graph has no operator {name!r}")
        order.append(links.operator_index[name])
    missing = set(range(len(links.after))) - set(order)
    if missing:
        index = min(missing)
        name = next(name for name, it in links.operator_index.items() if it == index)
        raise refused("schedule.order", f"{name!r} is missing; each operator of the graph runs at least once")
    return order


def _check_order(graph: Graph, links: Links, order: Sequence[int]) -> None:
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, operator in enumerate(order):
        first.setdefault(operator, at)
        last[operator] = at
    once, later = runs_once(graph), set(at_states(graph))
    for operator in first:
        if once[operator] and first[operator] != last[operator]:
            name = graph.operators[operator].id
            raise refused(
                f"schedule.order[{last[operator]}]",
                f"{name!r} cannot run again: it writes a state, or uses a tensor that is a view or has one",
            )
    for operator, them in enumerate(links.after):
        for other in them:
            # Who reads a state has to run for the last time before it is written.
            turn = last if (operator, other) in later else first
            if first[other] < turn[operator]:
                raise _out_of_order(graph, operator, other, first[other])
    for operator, other in links.before:
        if first[other] < last[operator]:
            raise _out_of_order(graph, operator, other, first[other])


def at_states(graph: Graph) -> list[tuple[int, int]]:
    """Operators that use one state, which one writes: no run of the first is after one of the second."""
    states = _states(graph)
    if not states:
        return []
    found: list[tuple[int, int]] = []
    for operator, them in enumerate(links_of(graph).after):
        if not states.isdisjoint(graph.operators[operator].inputs + graph.operators[operator].outputs):
            found += ((operator, other) for other in them if _share(graph, operator, other, states))
    return found


def _states(graph: Graph) -> set[str]:
    return {tensor.id for tensor in graph.tensors if tensor.kind == "state"}


def _share(graph: Graph, operator: int, other: int, states: set[str]) -> bool:
    """Whether both use one state, which one of them writes."""
    one, two = graph.operators[operator], graph.operators[other]
    written = states.intersection(one.outputs + two.outputs)
    return any(it in one.inputs + one.outputs and it in two.inputs + two.outputs for it in written)


def _out_of_order(graph: Graph, operator: int, other: int, at: int) -> InputError:
    names = graph.operators[operator].id, graph.operators[other].id
    return refused(
        f"schedule.order[{at}]", f"{names[1]!r} needs {names[0]!r}, which comes later; put it before"
    )


def _check_spills(graph: Graph, links: Links, spills: Sequence[Spill], order: Sequence[int]) -> None:
    runs: dict[int, list[int]] = {}
    for at, operator in enumerate(order):
        runs.setdefault(operator, []).append(at)
    away: dict[str, list[tuple[int, int, int]]] = {}
    fixed = viewed(graph.views)
    pools = {pool.id for pool in graph.pools}
    for i, spill in enumerate(spills):
        path = f"schedule.spills[{i}]"
        if spill.pool not in pools:
            message = f"the graph has no pool {spill.pool!r}; give the id of one of `pools`"
            raise refused(f"{path}.pool", message)
        if not spill.out < spill.back < len(order):
            message = f"out at {spill.out}, back at {spill.back}: give two places in `order`, ascending"
            raise refused(path, message)
        index = _spilled(graph, links, spill, fixed, path)
        _check_rest(graph, links, spill, index, runs, path)
        away.setdefault(spill.tensor, []).append((spill.out, spill.back, i))
    for name, them in away.items():
        for (_, back, _), (out, _, i) in pairwise(sorted(them)):
            if out < back:
                raise refused(f"schedule.spills[{i}]", f"{name!r} is away already at that time")


def _spilled(graph: Graph, links: Links, spill: Spill, fixed: set[str], path: str) -> int:
    """The tensor, by index."""
    index = links.tensor_index.get(spill.tensor, NOBODY)
    if index == NOBODY:
        raise refused(f"{path}.tensor", f"the graph has no tensor {spill.tensor!r}")
    kind = graph.tensors[index].kind
    if kind != "data" or spill.tensor in fixed:
        what = "is a view or has one" if spill.tensor in fixed else f"is of the kind {kind}"
        message = f"{spill.tensor!r} {what}; only data that stands alone can be copied out"
        raise refused(f"{path}.tensor", message)
    return index


def _check_rest(
    graph: Graph, links: Links, spill: Spill, index: int, runs: dict[int, list[int]], path: str
) -> None:
    """Nobody makes or reads a tensor while it is away, and it is there before."""
    maker = links.producer[index]
    if maker != NOBODY and runs[maker][0] > spill.out:
        raise refused(f"{path}.out", f"{spill.tensor!r} is not there yet")
    for operator in (*links.readers[index], *([maker] if maker != NOBODY else [])):
        after = bisect_right(runs[operator], spill.out)
        if after < len(runs[operator]) and runs[operator][after] < spill.back:
            name = graph.operators[operator].id
            raise refused(path, f"{name!r} makes or reads {spill.tensor!r} while it is away")
