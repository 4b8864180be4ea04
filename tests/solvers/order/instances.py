"""Tiny instances with every feature, the best peak of all their orders, and graphs of the shared data."""

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final

import pytest

from memstow.solvers.orders import OrderInstance

GRAPHS: Final = Path(__file__).parents[4] / "shared" / "data" / "graphs"


def flat(lists: Iterable[Iterable[int]]) -> "tuple[array[int], array[int]]":
    """Starts and values of a list of lists."""
    starts, values = array("q", [0]), array("q")
    for them in lists:
        values.extend(them)
        starts.append(len(values))
    return starts, values


def instance_of(
    operators: int,
    storages: Sequence[tuple[int, Sequence[int], Sequence[int]]],
    *,
    before: Iterable[tuple[int, int]] = (),
    in_place: Iterable[tuple[int, int, int]] = (),
    inputs: Iterable[int] = (),
    outputs: Iterable[int] = (),
    extra: Sequence[int] | None = None,
    base: int = 0,
    given: Iterable[int] | None = None,
) -> OrderInstance:
    """An instance of storages, each (size, writers, readers); an edge from each writer to each reader."""
    writer_start, writers = flat(writers for _, writers, _ in storages)
    reader_start, readers = flat(readers for _, _, readers in storages)
    edges = {(w, r) for _, writing, reading in storages for w in writing for r in reading if w != r}
    kept, there = set(outputs), set(inputs)
    return OrderInstance(
        extra=array("q", extra or [0] * operators),
        size=array("q", (size for size, _, _ in storages)),
        writer_start=writer_start,
        writers=writers,
        reader_start=reader_start,
        readers=readers,
        from_start=array("q", (i in there for i in range(len(storages)))),
        to_end=array("q", (i in kept for i in range(len(storages)))),
        before=array("q", (entry for edge in sorted(edges | set(before)) for entry in edge)),
        in_place=array("q", (entry for triple in in_place for entry in triple)),
        base=base,
        listed=array("q", range(operators) if given is None else given),
    )


def random_instance(rng: Random, most: int) -> OrderInstance:
    """An instance of every feature: groups with several writers, temporaries, pairs, side effects."""
    count = rng.randint(1, most)
    order = rng.sample(range(count), count)
    edges, storages, inputs, outputs = set[tuple[int, int]](), [], set[int](), set[int]()
    dense = rng.choice((0.3, 0.6, 0.9))
    for storage in range(rng.randint(1, 2 * count)):
        places = range(count)
        writers = sorted(rng.sample(places, min(count, rng.choice((0, 1, 1, 1, 1, 2, 3)))))
        if not writers or rng.random() < 0.1:
            inputs.add(storage)
        first = writers[0] + 1 if writers and storage not in inputs else 0
        readers = [place for place in places[first:] if rng.random() < dense / 2]
        readers = sorted(rng.sample(readers, min(len(readers), rng.randint(0, 4))))
        edges |= {
            (w, r) for w in writers for r in readers if w < r and (w == writers[0] or rng.random() < 0.7)
        }
        if rng.random() < 0.15:
            outputs.add(storage)
        storages.append((rng.choice((1, 2, 3, 5, 8, 13)) * rng.choice((1, 1, 10)), writers, readers))
    for _ in range(rng.choice((0, 0, 1, 3))):
        a, b = rng.randrange(count), rng.randrange(count)
        edges.add((min(a, b), max(a, b)))
    edges = {(a, b) for a, b in edges if a != b}
    return _relabelled(rng, order, storages, edges, inputs, outputs)


def _relabelled(
    rng: Random,
    order: list[int],
    storages: list[tuple[int, list[int], list[int]]],
    edges: set[tuple[int, int]],
    inputs: set[int],
    outputs: set[int],
) -> OrderInstance:
    named = [
        (size, sorted(order[writer] for writer in writers), sorted(order[reader] for reader in readers))
        for size, writers, readers in storages
    ]
    pairs = [
        (v, source, target)
        for v in range(len(order))
        for source, (_, written, read) in enumerate(named)
        for target, (_, made, _) in enumerate(named)
        if v in read and v not in written and v in made
    ]
    writer_start, writers = flat(writers for _, writers, _ in named)
    reader_start, readers = flat(readers for _, _, readers in named)
    share = rng.choice((0.0, 0.5, 1.0))
    return OrderInstance(
        extra=array("q", (rng.choice((0, 0, 0, 1, 4, 20)) for _ in order)),
        size=array("q", (size for size, _, _ in named)),
        writer_start=writer_start,
        writers=writers,
        reader_start=reader_start,
        readers=readers,
        from_start=array("q", (i in inputs for i in range(len(named)))),
        to_end=array("q", (i in outputs for i in range(len(named)))),
        before=array("q", (order[entry] for edge in sorted(edges) for entry in edge)),
        in_place=array("q", (entry for triple in pairs if rng.random() < share for entry in triple)),
        base=rng.choice((0, 0, 7)),
        listed=array("q", order),
    )


def edges_of(instance: OrderInstance) -> Iterator[tuple[int, int]]:
    """What must come before what."""
    return zip(instance.before[::2], instance.before[1::2], strict=True)


def closed_sets(instance: OrderInstance) -> list[frozenset[int]]:
    """All sets of operators that have with each operator those before it."""
    result = {frozenset[int]()}
    left = [frozenset[int]()]
    waits = [{a for a, b in edges_of(instance) if b == v} for v in range(instance.operator_count)]
    while left:
        done = left.pop()
        for v in range(instance.operator_count):
            more = done | {v}
            if v not in done and waits[v] <= done and more not in result:
                result.add(more)
                left.append(more)
    return sorted(result, key=lambda entry: (len(entry), sorted(entry)))


def shared_graph(name: str, in_place: bool) -> OrderInstance:
    """A graph of the shared data, which has neither views nor temporaries."""
    path = GRAPHS / f"{name}.json"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    document = json.loads(path.read_text())
    tensors = [tensor for tensor in document["tensors"] if tensor.get("kind", "data") == "data"]
    index = {tensor["id"]: i for i, tensor in enumerate(tensors)}
    operators = document["operators"]
    lists: list[tuple[int, list[int], list[int]]] = [(tensor["size"], [], []) for tensor in tensors]
    for v, operator in enumerate(operators):
        for names, where in ((operator["outputs"], 1), (operator["inputs"], 2)):
            for entry in {index[name] for name in names if name in index}:
                lists[entry][where].append(v)  # type: ignore[union-attr]
    return instance_of(
        len(operators),
        lists,
        in_place=[
            (v, index[a], index[b])
            for v, operator in enumerate(operators)
            for a, b in (operator.get("in_place", ()) if in_place else ())
        ],
        inputs=[index[name] for name in document["inputs"] if name in index],
        outputs=[index[name] for name in document["outputs"] if name in index],
    )
