"""What each operator of an order needs: live bytes, its temporaries, less what it writes over its inputs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from memstow.planner.graph.arrays import in_place_triples
from memstow.planner.graph.savings import Pair, most_saved
from memstow.planner.graph.storages import Storage, storages
from memstow.planner.graph.units import Load, loads, resident_load, temporary_height, whole
from memstow.planner.model.graph import Graph


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of an order."""

    operator: int
    bytes: int
    """What is live while it runs, each byte counted once."""
    saved: int
    """What it saves in place."""


def steps(graph: Graph, order: Sequence[int], unit: int = 1) -> list[Step]:
    """The operators of an order and what each of them needs.

    With a unit: at least that, where all that is planned begins at multiples of it.
    """
    stored = storages(graph)
    position = {operator: at for at, operator in enumerate(order)}
    lives = [_life(storage, position, len(order)) for storage in stored]
    pairs: dict[int, list[Pair]] = {}
    for operator, source, target in in_place_triples(graph, stored):
        at = position[operator]
        if lives[source][1] == at + 1 and not stored[source].to_end and lives[target][0] == at:
            pairs.setdefault(operator, []).append((source, target))
    sizes = [whole(storage.size, unit) for storage in stored]
    spans = [
        (begin, end, storage.size) for storage, (begin, end) in zip(stored, lives, strict=True) if begin < end
    ]
    always, changes = resident_load(graph, unit), dict(loads(spans, unit))
    live = Load()
    found: list[Step] = []
    for at, operator in enumerate(order):
        live = changes.get(at, live)
        saved = most_saved(sizes, pairs.get(operator, []))
        own = temporary_height(graph.operators[operator], unit, max(always.rest, live.rest))
        found.append(Step(operator, always.bytes + live.bytes + own - saved, saved))
    if unit == 1 or not pairs:
        return found
    # On top may be a pair in place, of which less is left than of the smaller one.
    plain = steps(graph, order)
    return [replace(it, bytes=max(it.bytes, one.bytes)) for it, one in zip(found, plain, strict=True)]


def _life(storage: Storage, position: dict[int, int], count: int) -> tuple[int, int]:
    """The first operator of the order that has the storage, and the end of the last."""
    used = [position[it] for it in (*storage.writers, *storage.readers)]
    begin = 0 if storage.from_start else min((position[it] for it in storage.writers), default=0)
    return begin, count if storage.to_end else max(used, default=-1) + 1
