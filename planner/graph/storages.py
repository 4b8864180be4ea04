"""Memory that lives as one: the storages of a graph, by index, as the search for an order counts them.

A tensor that is no view and has none is a storage. A group of views is cut where one of them begins or ends;
each piece is a storage, written by whoever makes a tensor over it and read by whoever reads one.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from memstow.planner.graph.links import NOBODY, Links, links_of
from memstow.planner.graph.view_groups import roots
from memstow.planner.model.graph import Graph, is_planned, size_of
from memstow.planner.model.records import Memo


class Storage(NamedTuple):
    """Bytes that live as one, from their first writer to their last reader."""

    size: int
    writers: tuple[int, ...]
    readers: tuple[int, ...]
    from_start: bool
    to_end: bool
    tensor: int
    """A tensor that lies there; the only one where there are no views."""
    outer: int
    """The tensor around it."""
    begin: int | None
    """Of a piece of a group of views: its first byte there."""


def resident_bytes(graph: Graph) -> int:
    """The bytes of planned tensors that are always live."""
    return sum(
        size_of(tensor)
        for tensor in graph.tensors
        if is_planned(tensor) and tensor.kind in ("state", "constant")
    )


_storages: Final = Memo[Graph, tuple[Storage, ...]]()


def storages(graph: Graph) -> tuple[Storage, ...]:
    """The storages of planned data that is not always live."""
    known = _storages.get(graph)
    if known is None:
        known = tuple(_make(graph))
        _storages.note(graph, known)
    return known


def _make(graph: Graph) -> list[Storage]:
    links = links_of(graph)
    there = {links.tensor_index[name] for name in graph.inputs}
    kept = {links.tensor_index[name] for name in graph.outputs}
    members = _members(graph, links)
    inside = {tensor for group in members.values() for tensor, _, _ in group}
    found: list[Storage] = []
    for tensor, it in enumerate(graph.tensors):
        if tensor in members:
            found += _pieces(links, members[tensor], there, kept)
        elif tensor not in inside and it.kind == "data":
            maker = links.producer[tensor]
            writers = () if maker == NOBODY else (maker,)
            readers = tuple(links.readers[tensor])
            ends = tensor in there, tensor in kept
            found.append(Storage(size_of(it), writers, readers, *ends, tensor, tensor, None))
    return found


def _members(graph: Graph, links: Links) -> dict[int, list[tuple[int, int, int]]]:
    """By the tensor around a group of views: each of the group, with the first byte and the end."""
    groups: dict[int, list[tuple[int, int, int]]] = {}
    for name, (root, offset) in roots(graph).items():
        index, outer = links.tensor_index[name], links.tensor_index[root]
        group = groups.setdefault(outer, [(outer, 0, size_of(graph.tensors[outer]))])
        group.append((index, offset, offset + size_of(graph.tensors[index])))
    return groups


def _pieces(
    links: Links, group: list[tuple[int, int, int]], there: set[int], kept: set[int]
) -> Iterator[Storage]:
    """A storage for each range of bytes over which the same tensors lie."""
    events: dict[int, tuple[list[int], list[int]]] = {}
    for tensor, begin, end in group:
        events.setdefault(begin, ([], []))[0].append(tensor)
        events.setdefault(end, ([], []))[1].append(tensor)
    over: dict[int, None] = {}
    cuts = sorted(events)
    for begin, end in pairwise(cuts):
        opened, closed = events[begin]
        over.update(dict.fromkeys(opened))
        for tensor in closed:
            over.pop(tensor, None)
        if over:
            yield _storage(links, end - begin, over, there, kept, group[0][0], begin)


def _storage(
    links: Links,
    size: int,
    tensors: Iterable[int],
    there: set[int],
    kept: set[int],
    outer: int,
    begin: int,
) -> Storage:
    over = list(tensors)
    writers = {links.producer[tensor] for tensor in over} - {NOBODY}
    readers = {reader for tensor in over for reader in links.readers[tensor]}
    return Storage(
        size,
        tuple(sorted(writers)),
        tuple(sorted(readers)),
        any(tensor in there for tensor in over),
        any(tensor in kept for tensor in over),
        over[0],
        outer,
        begin,
    )
