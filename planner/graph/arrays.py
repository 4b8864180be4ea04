"""The arrays that the search for an order reads: `solvers.order.instance`, made of a graph."""

from array import array
from collections.abc import Iterable, Sequence

from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.storages import Storage, resident_bytes, storages
from memstow.planner.model.graph import Graph, Operator, is_planned, phase_count
from memstow.solvers.order.instance import OrderInstance


def order_instance(graph: Graph) -> OrderInstance:
    """The instance of a valid graph: all of its planned bytes, as if in one pool."""
    stored = storages(graph)
    links = links_of(graph)
    before = array("q")
    for first, them in enumerate(links.successors()):
        for then in sorted(set(them)):
            before.extend((first, then))
    writer_start, writers = _flat(storage.writers for storage in stored)
    reader_start, readers = _flat(storage.readers for storage in stored)
    return OrderInstance(
        extra=array("q", map(phase_bytes, graph.operators)),
        size=array("q", (storage.size for storage in stored)),
        writer_start=writer_start,
        writers=writers,
        reader_start=reader_start,
        readers=readers,
        from_start=array("q", (storage.from_start for storage in stored)),
        to_end=array("q", (storage.to_end for storage in stored)),
        before=before,
        in_place=array("q", (number for triple in in_place_triples(graph, stored) for number in triple)),
        base=resident_bytes(graph),
        given=array("q", listed_order(graph)),
    )


def phase_bytes(operator: Operator) -> int:
    """The most bytes of temporaries in one phase of the operator."""
    if not operator.temporaries:
        return 0
    changes: dict[int, int] = {}
    for it in operator.temporaries:
        begin, end = it.phases or (0, phase_count(operator))
        changes[begin] = changes.get(begin, 0) + it.size
        changes[end] = changes.get(end, 0) - it.size
    most = level = 0
    for time in sorted(changes):
        level += changes[time]
        most = max(most, level)
    return most


def start_bytes(graph: Graph) -> int:
    """The bytes live before the first operator: whatever the order, there are no fewer at that time."""
    return resident_bytes(graph) + sum(storage.size for storage in storages(graph) if storage.from_start)


def in_place_triples(graph: Graph, stored: Sequence[Storage]) -> list[tuple[int, int, int]]:
    """(operator, storage of the input, storage of the output) of each pair that counts in some order."""
    links = links_of(graph)
    storage_of = {storage.tensor: i for i, storage in enumerate(stored)}
    triples: list[tuple[int, int, int]] = []
    for i, operator in enumerate(graph.operators):
        if not operator.in_place:
            continue
        for pair in dict.fromkeys(operator.in_place):
            source, target = (links.tensor_index[name] for name in pair)
            if all(is_planned(graph.tensors[it]) for it in (source, target)):
                triples.append((i, storage_of[source], storage_of[target]))
    return triples


def _flat(lists: Iterable[Sequence[int]]) -> "tuple[array[int], array[int]]":
    starts, values = array("q", [0]), array("q")
    for them in lists:
        values.extend(them)
        starts.append(len(values))
    return starts, values
