"""The judge's own account of a graph without an order: what lives as one, and what must run before what."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from memstow.planner.model.graph import Graph, Operator, Tensor, size_of

Name = tuple[str, int]
"""A tensor, and the first byte of the piece of it."""


@dataclass(slots=True)
class Piece:
    """Bytes that live from their first writer to their last user."""

    size: int
    writers: set[str] = field(default_factory=set)
    users: set[str] = field(default_factory=set)
    """Who writes or reads them."""
    from_start: bool = False
    to_end: bool = False


def pieces(graph: Graph) -> dict[Name, Piece]:
    """All pieces of the data of a graph that are placed."""
    around = {view.tensor: (view.of, view.offset) for view in graph.views}
    inside: dict[str, list[tuple[Tensor, int]]] = {}
    for tensor in graph.tensors:
        if tensor.kind == "data":
            root, offset = tensor.id, 0
            while root in around:
                root, more = around[root]
                offset += more
            inside.setdefault(root, []).append((tensor, offset))
    users = _users(graph)
    found: dict[Name, Piece] = {}
    for root, group in inside.items():
        if len(group) == 1:
            found[root, 0] = _piece(graph, size_of(group[0][0]), [group[0][0].id], users)
            continue
        for begin, end, names in _ranges(group):
            found[root, begin] = _piece(graph, end - begin, names, users)
    return found


def _ranges(group: list[tuple[Tensor, int]]) -> Iterator[tuple[int, int, list[str]]]:
    """The ranges of bytes over which the same tensors lie."""
    cuts = sorted({at for tensor, begin in group for at in (begin, begin + size_of(tensor))})
    begins: dict[int, list[str]] = {}
    ends: dict[int, list[str]] = {}
    for tensor, begin in group:
        if size_of(tensor):
            begins.setdefault(begin, []).append(tensor.id)
            ends.setdefault(begin + size_of(tensor), []).append(tensor.id)
    here: dict[str, None] = {}
    for at, until in zip(cuts, [*cuts[1:], None], strict=True):
        for name in ends.get(at, ()):
            del here[name]
        here.update(dict.fromkeys(begins.get(at, ())))
        if until is not None and here:
            yield at, until, list(here)


def _users(graph: Graph) -> dict[str, tuple[set[str], set[str]]]:
    """By tensor, who writes it and who reads it."""
    users: dict[str, tuple[set[str], set[str]]] = {}
    for operator in graph.operators:
        for name in operator.outputs:
            users.setdefault(name, (set(), set()))[0].add(operator.id)
        for name in operator.inputs:
            users.setdefault(name, (set(), set()))[1].add(operator.id)
    return users


def _piece(
    graph: Graph, size: int, names: Iterable[str], users: dict[str, tuple[set[str], set[str]]]
) -> Piece:
    piece = Piece(size)
    for name in names:
        writers, readers = users.get(name, (set(), set()))
        piece.writers |= writers
        piece.users |= writers | readers
        piece.from_start |= name in graph.inputs
        piece.to_end |= name in graph.outputs
    return piece


def predecessors(graph: Graph) -> dict[str, set[str]]:
    """By operator, those that must have run: makers of what it reads, `before`, earlier ones at a state."""
    states = {tensor.id for tensor in graph.tensors if tensor.kind == "state"}
    maker = {name: it.id for it in graph.operators for name in it.outputs if name not in states}
    needs = {
        operator.id: {maker[name] for name in operator.inputs if name in maker}
        for operator in graph.operators
    }
    for first, then in graph.before:
        needs[then].add(first)
    for state in states:
        _at_state(graph.operators, state, needs)
    return needs


def _at_state(operators: Iterable[Operator], state: str, needs: dict[str, set[str]]) -> None:
    writer: str | None = None
    readers: list[str] = []
    for operator in operators:
        writes = state in operator.outputs
        if not writes and state not in operator.inputs:
            continue
        if writer is not None:
            needs[operator.id].add(writer)
        if writes:
            needs[operator.id].update(readers)
            writer, readers = operator.id, []
        else:
            readers.append(operator.id)
