"""The problem that the judge makes of a graph in one order."""

from collections.abc import Iterator, Sequence

from memstow.planner.model.graph import Graph, Temporary, Tensor, size_of
from memstow.planner.model.model_class import instances_of
from memstow.planner.model.objective import COST
from memstow.planner.model.problem import ALWAYS, DEFAULT_POOL, Buffer, InPlace, Pool, Problem, Relative
from memstow.planner.verify.graphs.replay import Replay


def problem_in_order(graph: Graph, replay: Replay) -> Problem:
    """What must be placed where, when operators run in this order."""
    placed = {tensor.id for tensor in graph.tensors if _is_placed(tensor)}
    shared = list(dict.fromkeys(_shared(graph, replay, placed)))
    return Problem(
        version=1,
        name=graph.name,
        pools=graph.pools or (Pool(id=DEFAULT_POOL),),
        buffers=_buffers(graph, replay),
        relative=tuple(
            Relative(buffer=view.tensor, base=view.of, offset=view.offset)
            for view in graph.views
            if view.tensor in placed and view.of in placed
        ),
        in_place=instances_of(
            InPlace, len(shared), input=[one for one, _ in shared], output=[other for _, other in shared]
        ),
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


def _buffers(graph: Graph, replay: Replay) -> tuple[Buffer, ...]:
    """The fields are those of the graph, which hold what those of a buffer may hold."""
    lives = replay.lives
    placed = [tensor for tensor in graph.tensors if _is_placed(tensor)]
    inside = [(replay.runs[it.id], inner) for it in graph.operators for inner in it.temporaries]
    elements: Sequence[Tensor | Temporary] = [*placed, *(inner for _, inner in inside)]
    times: list[tuple[int, int] | str] = [
        lives.get(it.id, (0, 1)) if it.kind == "data" else ALWAYS for it in placed
    ]
    times += [
        run if it.phases is None else (run[0] + it.phases[0], run[0] + it.phases[1]) for run, it in inside
    ]
    return instances_of(
        Buffer,
        len(elements),
        id=[it.id for it in elements],
        size=[*map(size_of, placed), *(inner.size for _, inner in inside)],
        lifetime=times,
        alignment=[it.alignment for it in elements],
        pools=[it.pools for it in elements],
    )


def _shared(graph: Graph, replay: Replay, placed: set[str]) -> Iterator[tuple[str, str]]:
    """Pairs in place whose input is not needed after the operator."""
    kept = {*graph.outputs, *(tensor.id for tensor in graph.tensors if tensor.kind != "data")}
    last_reader = replay.last_reader
    for operator in replay.order:
        for source, target in operator.in_place:
            if source in kept or source not in placed or target not in placed:
                continue
            if last_reader.get(source) == operator.id:
                yield source, target
