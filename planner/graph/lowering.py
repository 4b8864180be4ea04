"""The problem that a graph becomes when its operators have an order, and the way back to the graph's fields.

Each planned tensor and each temporary is a buffer of the same id, in the group that its maker names.
Views are distances of `relative`. A pair in place counts where the input dies at the operator.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from memstow.planner.graph.links import NOBODY, links_of, listed_order
from memstow.planner.graph.liveness import Liveness, Span, liveness
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor, is_planned, size_of
from memstow.planner.model.memory import collector_at_rest
from memstow.planner.model.plan import Schedule
from memstow.planner.model.problem import DEFAULT_POOL, Buffer, InPlace, Pool, Problem, Relative

_ONE_MEMORY: Final = (Pool(id=DEFAULT_POOL),)


def lower(graph: Graph, order: Sequence[int]) -> Problem:
    """The problem of a valid graph whose operators, by index, run in this order."""
    live = liveness(graph, order)
    with collector_at_rest():
        return replace(
            timeless_problem(graph),
            buffers=tuple(_buffers(graph, live)),
            in_place=tuple(_in_place(graph, live)),
        )


def listed_problem(graph: Graph) -> Problem:
    """The problem of a valid graph whose operators run as they are listed, or as near to that as they can."""
    return lower(graph, listed_order(graph))


def scheduled_problem(graph: Graph, schedule: Schedule | None) -> Problem:
    """The problem that a plan with this schedule is for; InputError where the graph does not allow it."""
    if schedule is None:
        return listed_problem(graph)
    from memstow.planner.graph.schedules import only_orders, scheduled_graph

    if not only_orders(schedule):
        return listed_problem(scheduled_graph(graph, schedule))
    index_of = links_of(graph).operator_index
    order = [index_of.get(name, NOBODY) for name in schedule.order]
    if sorted(order) != list(range(len(graph.operators))):
        message = "it does not have each operator of the graph once; give the order of all, by their ids"
        raise InputError.single("not_a_schedule", "schedule.order", message)
    return lower(graph, order)


def timeless_problem(graph: Graph) -> Problem:
    """The same without lifetimes, for checking what does not depend on an order."""
    planned = {tensor.id for tensor in graph.tensors if is_planned(tensor)}
    return Problem(
        version=1,
        name=graph.name,
        pools=graph.pools or _ONE_MEMORY,
        buffers=tuple(_buffer(element, None, None) for element in _planned(graph)),
        relative=tuple(
            Relative(buffer=view.tensor, base=view.of, offset=view.offset)
            for view in graph.views
            if view.tensor in planned and view.of in planned
        ),
        objective=graph.objective,
    )


def _planned(graph: Graph) -> Iterator[Tensor | Temporary]:
    """What becomes a buffer, in the order of the buffers."""
    yield from filter(is_planned, graph.tensors)
    for operator in graph.operators:
        yield from operator.temporaries


def _buffer(element: Tensor | Temporary, lifetime: Span | str | None, group: str | None) -> Buffer:
    return Buffer(
        id=element.id,
        size=min(size_of(element), 1 << 62) if isinstance(element, Tensor) else element.size,
        lifetime=lifetime,  # type: ignore[arg-type]  # the word is "always"
        alignment=element.alignment,
        pools=element.pools,
        group=group,
    )


def _buffers(graph: Graph, live: Liveness) -> Iterator[Buffer]:
    producer = links_of(graph).producer
    for i, tensor in enumerate(graph.tensors):
        if is_planned(tensor):
            group = None if producer[i] == NOBODY else _group(graph.operators[producer[i]])
            yield _buffer(tensor, live.lifetime(i), group)
    for operator, (begin, end) in zip(graph.operators, live.spans, strict=True):
        for temporary in operator.temporaries:
            first, last = temporary.phases or (0, end - begin)
            yield _buffer(temporary, (begin + first, begin + last), _group(operator))


def _group(operator: Operator) -> str:
    """What the operator computes, so that those of one type are together; else which it is."""
    return operator.type or operator.id


def _in_place(graph: Graph, live: Liveness) -> Iterator[InPlace]:
    """The pairs whose input nobody needs after the operator."""
    links = links_of(graph)
    kept = set(graph.outputs)
    for operator, (_, end) in zip(graph.operators, live.spans, strict=True):
        for source, target in dict.fromkeys(operator.in_place):
            tensors = links.tensor_index[source], links.tensor_index[target]
            life = live.tensors[tensors[0]]
            planned = all(is_planned(graph.tensors[it]) for it in tensors)
            if planned and life is not None and life[1] == end and source not in kept:
                yield InPlace(input=source, output=target)


class Places:
    """The places in a graph's document that the parts of its problem come from."""

    def __init__(self, graph: Graph) -> None:
        self._buffers = [f"$.tensors[{i}]" for i, tensor in enumerate(graph.tensors) if is_planned(tensor)]
        for i, operator in enumerate(graph.operators):
            self._buffers += [f"$.operators[{i}].temporaries[{j}]" for j in range(len(operator.temporaries))]
        planned = {tensor.id for tensor in graph.tensors if is_planned(tensor)}
        self._views = [
            i for i, view in enumerate(graph.views) if view.tensor in planned and view.of in planned
        ]

    def of_issue(self, path: str) -> str:
        """The path in the graph for a path in its problem."""
        field, _, rest = path.removeprefix("$.").partition("[")
        index, _, inside = rest.partition("]")
        if field == "buffers" and index.isdigit():
            return self._buffers[int(index)] + inside
        if field == "relative" and index.isdigit():
            return f"$.views[{self._views[int(index)]}]{inside}"
        return path
