"""The problem that the judge makes of a graph in one order."""

from collections.abc import Iterator

from memstow.planner.model.graph import Graph, Tensor, size_of
from memstow.planner.model.objective import COST
from memstow.planner.model.problem import ALWAYS, DEFAULT_POOL, Buffer, InPlace, Pool, Problem, Relative
from memstow.planner.verify.graphs.replay import Replay


def problem_in_order(graph: Graph, replay: Replay) -> Problem:
    """What must be placed where, when operators run in this order."""
    placed = {tensor.id for tensor in graph.tensors if _is_placed(tensor)}
    return Problem(
        version=1,
        name=graph.name,
        pools=graph.pools or (Pool(id=DEFAULT_POOL),),
        buffers=tuple(_buffers(graph, replay)),
        relative=tuple(
            Relative(buffer=view.tensor, base=view.of, offset=view.offset)
            for view in graph.views
            if view.tensor in placed and view.of in placed
        ),
        in_place=tuple(dict.fromkeys(_shared(graph, replay, placed))),
        objective=_terms_of_places(graph),
    )


def _terms_of_places(graph: Graph) -> tuple[str, ...] | None:
    """The objective without the cost of the schedule, which no place changes."""
    if graph.objective is None:
        return None
    return tuple(term for term in graph.objective if term != COST)


def _is_placed(tensor: Tensor) -> bool:
    if tensor.kind == "constant":
        return tensor.pools is not None
    return tensor.kind != "external"


def _buffers(graph: Graph, replay: Replay) -> Iterator[Buffer]:
    for tensor in graph.tensors:
        if not _is_placed(tensor):
            continue
        life = replay.lives.get(tensor.id, (0, 1))
        yield Buffer(
            id=tensor.id,
            size=size_of(tensor),
            lifetime=life if tensor.kind == "data" else ALWAYS,
            alignment=tensor.alignment,
            pools=tensor.pools,
        )
    for operator in graph.operators:
        begin, end = replay.runs[operator.id]
        for temporary in operator.temporaries:
            phases = temporary.phases
            yield Buffer(
                id=temporary.id,
                size=temporary.size,
                lifetime=(begin, end) if phases is None else (begin + phases[0], begin + phases[1]),
                alignment=temporary.alignment,
                pools=temporary.pools,
            )


def _shared(graph: Graph, replay: Replay, placed: set[str]) -> Iterator[InPlace]:
    """Pairs in place whose input is not needed after the operator."""
    kept = {*graph.outputs, *(tensor.id for tensor in graph.tensors if tensor.kind != "data")}
    for operator in replay.order:
        for source, target in operator.in_place:
            if not {source, target} <= placed or source in kept:
                continue
            if replay.last_reader.get(source) == operator.id:
                yield InPlace(input=source, output=target)
