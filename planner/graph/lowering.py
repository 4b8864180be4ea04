"""The problem that a graph becomes when its operators have an order, and the way back to the graph's fields.

First what is live when (`liveness`). Time 0 is before the first operator, when the inputs are there. Each
operator then takes as many steps of time as it has phases, so the first begins at time 1. A tensor lives
from the first step of its producer to the last step of its last reader; an input from time 0; an output to
the end.

Then the problem (`lower`). Each planned tensor and each temporary is a buffer of the same id, in the group
that its maker names. Views are distances of `relative`. A pair in place counts where the input dies at the
operator.
"""

from array import array
from collections.abc import Sequence
from typing import Final

from memstow.planner.graph.links import NOBODY, links_of, listed_order
from memstow.planner.model.graph import (
    DATA,
    Graph,
    Temporary,
    Tensor,
    columns_of,
    is_planned,
    names_in_views,
    phase_count,
    size_of,
)
from memstow.planner.model.model_class import instances_of
from memstow.planner.model.problem import (
    ALWAYS,
    LIMIT,
    ONE_MEMORY,
    Buffer,
    InPlace,
    Problem,
    Relative,
)
from memstow.records import Memo, Remembered, collector_at_rest, record

Span = tuple[int, int]


@record
class Liveness:
    """The lifetimes of one order."""

    spans: Sequence[Span]
    """By operator (index in the document), when it runs."""
    tensors: Sequence[Span | None]
    """By tensor, its lifetime; None: always."""
    shared: Sequence[tuple[int, int]]
    """The tensors of pairs in place of which the first dies at the operator."""


def liveness(graph: Graph, order: Sequence[int]) -> Liveness:
    """The lifetimes when the operators of these indices run in this order."""
    columns = columns_of(graph)
    begins, ends = [0] * len(graph.operators), [0] * len(graph.operators)
    clock = 1
    for index in order:
        begins[index] = clock
        clock += phase_count(graph.operators[index]) if columns.has_temporaries else 1
        ends[index] = clock
    lives, shared = columns.lives(begins, ends, clock)
    return Liveness(list(zip(begins, ends, strict=True)), lives, shared)


_latest: "Final[Memo[Graph, tuple[array[int], Problem]]]" = Memo()
"""Of a graph, the order that was asked for last, and its problem: most calls are about one order."""


def lowered(graph: Graph, order: Sequence[int]) -> Problem | None:
    """The problem of this order, if it is the one that was lowered last, so that the graph allows it."""
    known = _latest.get(graph)
    return known[1] if known is not None and known[0] == array("q", order) else None


def lower(graph: Graph, order: Sequence[int]) -> Problem:
    """The problem of a valid graph whose operators, by index, run in this order."""
    known = lowered(graph, order)
    if known is not None:
        return known
    with collector_at_rest():
        live = liveness(graph, order)
        in_place = instances_of(
            InPlace,
            len(live.shared),
            input=[graph.tensors[one].id for one, _ in live.shared],
            output=[graph.tensors[other].id for _, other in live.shared],
        )
        problem = _problem(graph, _buffers(graph, live), in_place)
    _latest.note(graph, (array("q", order), problem))
    return problem


@Remembered
def listed_problem(graph: Graph) -> Problem:
    """The problem of a valid graph whose operators run as they are listed, or as near to that as they can."""
    return lower(graph, listed_order(graph))


def timeless_problem(graph: Graph) -> Problem:
    """The same without lifetimes, for checking what does not depend on an order."""
    return _problem(graph, _buffers(graph, None), ())


def _problem(graph: Graph, buffers: tuple[Buffer, ...], in_place: tuple[InPlace, ...]) -> Problem:
    planned = names_in_views(graph)
    if planned:
        planned &= {tensor.id for tensor in graph.tensors if is_planned(tensor)}
    return Problem(
        version=1,
        name=graph.name,
        pools=graph.pools or ONE_MEMORY,
        buffers=buffers,
        in_place=in_place,
        relative=tuple(
            Relative(buffer=view.tensor, base=view.of, offset=view.offset)
            for view in graph.views
            if view.tensor in planned and view.of in planned
        ),
        objective=graph.objective,
    )


def _buffers(graph: Graph, live: Liveness | None) -> tuple[Buffer, ...]:
    """The planned tensors, then the temporaries; without lifetimes and groups where there is no order.

    The fields are those of the graph, which hold what those of a buffer may hold.
    """
    known = columns_of(graph)
    numbers = [i for i, kind in enumerate(known.kinds) if kind == DATA or is_planned(graph.tensors[i])]
    tensors = [graph.tensors[i] for i in numbers]
    inside = [
        (i, temporary)
        for i, operator in enumerate(graph.operators if known.has_temporaries else ())
        for temporary in operator.temporaries
    ]
    elements: Sequence[Tensor | Temporary] = [*tensors, *(entry for _, entry in inside)]
    if known.has_shapes:
        sizes: list[int | None] = [min(size_of(tensor), LIMIT) for tensor in tensors]
    else:
        sizes = [tensor.size for tensor in tensors]
    sizes += [entry.size for _, entry in inside]
    columns: dict[str, object] = {}
    if live is not None:
        lifetimes: list[Span | str] = [live.tensors[i] or ALWAYS for i in numbers]
        lifetimes += [_lifetime(entry, live.spans[i]) for i, entry in inside]
        labels = [
            # What it computes, so that those of one type are together; else which it is. A type may hold a
            # character that no name may hold.
            kind if (kind := operator.type) and "\0" not in kind else operator.id
            for operator in graph.operators
        ]
        makers = links_of(graph).producer
        groups = [None if (maker := makers[i]) == NOBODY else labels[maker] for i in numbers]
        groups += [labels[i] for i, _ in inside]
        columns = {"lifetime": lifetimes, "group": groups}
    return instances_of(
        Buffer,
        len(elements),
        id=[element.id for element in elements],
        size=sizes,
        alignment=[element.alignment for element in elements],
        pools=[element.pools for element in elements],
        **columns,
    )


def _lifetime(temporary: Temporary, span: Span) -> Span:
    begin, end = span
    first, last = temporary.phases or (0, end - begin)
    return begin + first, begin + last


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
