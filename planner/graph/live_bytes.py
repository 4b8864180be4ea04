"""Live bytes of a graph: storages, what each operator of an order needs, arrays to search for orders.

A storage is memory that lives as one. A tensor that is no view and has none is a storage. A group of views
is cut where one of them begins or ends; each piece is a storage, written by whoever makes a tensor over it
and read by whoever reads one.

What an operator needs (`steps`): live bytes and its temporaries, less what it writes over its inputs.
`most_saved` is a matching of inputs and outputs that grows by the path that adds the most, until none adds
any: so it is the best one of each size in turn. Where everything begins at a multiple of some bytes, the
unit, nothing else can use the rest of the last unit of a buffer, but for the one that is on top: the sum of
whole units, less the largest rest, is what the memory is at least as large as (`Load`).

`order_instance` makes the arrays of `solvers.orders`; `certificate_of` writes its proofs in the names of the
graph.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import accumulate, chain, pairwise
from math import gcd, lcm
from typing import Final, NamedTuple

from memstow.planner.graph.links import NOBODY, Links, links_of, listed_order, roots
from memstow.planner.model.graph import (
    Graph,
    Operator,
    Temporary,
    Tensor,
    is_planned,
    is_resident,
    phase_count,
    size_of,
)
from memstow.planner.model.plan import Chain, Cut, DeadSet, RefutedOrders, StorageName, Way
from memstow.planner.model.records import Memo, Remembered
from memstow.solvers import orders
from memstow.solvers.orders import MOST_BYTES, OrderInstance

Counts = Callable[[Tensor | Temporary], bool]
"""Whether the bytes of a tensor or a temporary count: those of one pool may be asked for alone."""


def everything(_: Tensor | Temporary) -> bool:
    """Counts all that is planned, whichever pool it is in."""
    return True


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


@Remembered
def storages(graph: Graph) -> tuple[Storage, ...]:
    """The storages of planned data that is not always live."""
    links = links_of(graph)
    there = {links.tensor_index[name] for name in graph.inputs}
    kept = {links.tensor_index[name] for name in graph.outputs}
    members = _members(graph, links)
    inside = {tensor for group in members.values() for tensor, _, _ in group}
    result: list[Storage] = []
    for tensor, entry in enumerate(graph.tensors):
        if tensor in members:
            result += _pieces(links, members[tensor], there, kept)
        elif tensor not in inside and entry.kind == "data":
            maker = links.producer[tensor]
            writers = () if maker == NOBODY else (maker,)
            readers = tuple(links.readers[tensor])
            ends = tensor in there, tensor in kept
            result.append(Storage(size_of(entry), writers, readers, *ends, tensor, tensor, None))
    return tuple(result)


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


def lives_of(stored: Iterable[Storage], position: Mapping[int, int]) -> list[tuple[int, int]]:
    """By storage, its life in an order, given by the position of each operator: half-open.

    One that is there from the start begins at 0, one that is kept ends after all operators. What no operator
    writes or reads, and is not kept, ends at 0.
    """
    lives: list[tuple[int, int]] = []
    for storage in stored:
        written = [position[writer] for writer in storage.writers]
        used = [*written, *(position[reader] for reader in storage.readers)]
        begin = 0 if storage.from_start else min(written, default=0)
        lives.append((begin, len(position) if storage.to_end else max(used, default=-1) + 1))
    return lives


Pair = tuple[int, int]


# With more pairs in one part, no set saves more than what is counted, and maybe none as much.
_MOST_MATCHED: Final = 1_000


def most_saved(size: Sequence[int], pairs: Sequence[Pair]) -> int:
    """The most bytes that pairs save, each input and each output in one of them at most."""
    if len(pairs) < 2:
        # Nearly all operators have no more.
        return _saves(size, pairs[0]) if pairs else 0
    return sum(_saved_in_part(size, part) for part in _parts(pairs))


def _saved_in_part(size: Sequence[int], pairs: Sequence[Pair]) -> int:
    if len(pairs) == 1:
        return _saves(size, pairs[0])
    if len(pairs) > _MOST_MATCHED:
        return min(_best_of_each(size, pairs, 0), _best_of_each(size, pairs, 1))
    matching = _Matching(size, pairs)
    total = 0
    while gain := matching.grow():
        total += gain
    return total


def _best_of_each(size: Sequence[int], pairs: Sequence[Pair], end: int) -> int:
    """What is saved if each input (0) or output (1) has the best of its pairs."""
    best: dict[int, int] = {}
    for pair in pairs:
        best[pair[end]] = max(best.get(pair[end], 0), _saves(size, pair))
    return sum(best.values())


def _parts(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """The pairs that compete with each other, together."""
    of_end: dict[tuple[str, int], list[Pair]] = {}
    for pair in pairs:
        ends = ("in", pair[0]), ("out", pair[1])
        lists = [entry for entry in (of_end.get(end) for end in ends) if entry is not None]
        part = max(lists, key=len, default=[])
        for other in lists:
            if other is not part:
                part.extend(other)
                for source, target in other:
                    of_end["in", source] = of_end["out", target] = part
        part.append(pair)
        for end in ends:
            of_end[end] = part
    return list({id(part): part for part in of_end.values()}.values())


def _saves(size: Sequence[int], pair: Pair) -> int:
    return min(size[pair[0]], size[pair[1]])


class _Matching:
    def __init__(self, size: Sequence[int], pairs: Sequence[Pair]) -> None:
        self._worth = {pair: _saves(size, pair) for pair in pairs}
        self._sources = {source for source, _ in pairs}
        self._chosen: dict[int, int] = {}
        """By output, the input in whose place it is."""

    def grow(self) -> int:
        """Take the path from a free input to a free output that adds the most; returns what it adds."""
        used = set(self._chosen.values())
        at_source = {source: 0 for source in self._sources if source not in used}
        at_target: dict[int, int] = {}
        came: dict[int, int] = {}
        changed = True
        while changed:
            changed = False
            for (source, target), worth in self._worth.items():
                there = at_source.get(source)
                if there is None or self._chosen.get(target) == source:
                    continue
                if target in at_target and at_target[target] >= there + worth:
                    continue
                at_target[target], came[target], changed = there + worth, source, True
                owner = self._chosen.get(target)
                if owner is not None:
                    at_source[owner] = there + worth - self._worth[owner, target]
        ends = {target: value for target, value in at_target.items() if target not in self._chosen}
        best = max(ends, key=ends.__getitem__, default=None)
        if best is None or ends[best] <= 0:
            return 0
        self._turn(best, came)
        return ends[best]

    def _turn(self, target: int, came: dict[int, int]) -> None:
        """Along the path, what was chosen is not, and the other way round."""
        target_of = {source: chosen for chosen, source in self._chosen.items()}
        end: int | None = target
        while end is not None:
            source = came[end]
            before = target_of.get(source)
            self._chosen[end] = source
            end = before


# Rests that add up to more would be too large to count.
_MOST: Final = 1 << 40

Span = tuple[int, int, int]
"""Begin, end and bytes."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is live at once: the bytes of whole units, and the most that one of them leaves of its last."""

    bytes: int = 0
    rest: int = 0

    @property
    def height(self) -> int:
        """No memory that holds all of them is smaller."""
        return self.bytes - self.rest


def unit_of(graph: Graph) -> int:
    """What all that is planned begins at a multiple of, with any alternatives; 1 where there are views.

    The alignment of its pool counts, too. Pieces of a group of views begin anywhere in it.
    """
    if graph.views:
        return 1
    alignments = [entry.alignment for entry in _planned(graph)]
    pools = {pool.alignment for pool in graph.pools} or {1}
    many = len(alignments) + len(graph.operators)
    in_pools = gcd(*(lcm(alignment, pool) for alignment in set(alignments) for pool in pools))
    fitting = (entry for entry in (in_pools, gcd(*alignments)) if 0 < entry * many < _MOST)
    return next(fitting, 1)


def _planned(graph: Graph) -> Iterator[Tensor | Temporary]:
    for tensors, operators in (
        (graph.tensors, graph.operators),
        *((alternative.tensors, alternative.operators) for alternative in graph.alternatives),
    ):
        yield from filter(is_planned, tensors)
        for operator in operators:
            yield from operator.temporaries


def whole(size: int, unit: int) -> int:
    """The bytes of the units that it takes."""
    return -(-size // unit) * unit


def load_of(sizes: Iterable[int], unit: int) -> Load:
    """All of them at once."""
    total = rest = 0
    for size in sizes:
        taken = whole(size, unit)
        total += taken
        rest = max(rest, taken - size)
    return Load(total, rest)


def resident_load(graph: Graph, unit: int = 1, counts: Counts = everything) -> Load:
    """Planned tensors that are always live."""
    return load_of(map(size_of, filter(counts, filter(is_resident, graph.tensors))), unit)


def start_height(graph: Graph, unit: int = 1, counts: Counts = everything) -> int:
    """What is live before the first operator needs at least so much, whatever the order."""
    always = resident_load(graph, unit, counts)
    tensors = graph.tensors
    there = load_of(
        (
            storage.size
            for storage in storages(graph)
            if storage.from_start and counts(tensors[storage.tensor])
        ),
        unit,
    )
    return Load(always.bytes + there.bytes, max(always.rest, there.rest)).height


def loads(spans: Iterable[Span], unit: int) -> Iterator[tuple[int, Load]]:
    """What is live from each moment at which that changes; spans are half-open, and not empty."""
    changes: dict[int, int] = {}
    begins: dict[int, list[tuple[int, int]]] = {}
    for begin, end, size in spans:
        taken = whole(size, unit)
        changes[begin] = changes.get(begin, 0) + taken
        changes[end] = changes.get(end, 0) - taken
        if taken > size:
            begins.setdefault(begin, []).append((size - taken, end))
    level = 0
    largest: list[tuple[int, int]] = []
    for time in sorted(changes):
        level += changes[time]
        for rest in begins.get(time, ()):
            heappush(largest, rest)
        while largest and largest[0][1] <= time:
            heappop(largest)
        yield time, Load(level, -largest[0][0] if largest else 0)


def temporary_height(operator: Operator, unit: int = 1, rest: int = 0, counts: Counts = everything) -> int:
    """What its temporaries add at the fullest moment to what is live and has this rest."""
    if not operator.temporaries:
        return -rest
    end = phase_count(operator)
    spans = (
        (*(temporary.phases or (0, end)), temporary.size)
        for temporary in operator.temporaries
        if counts(temporary)
    )
    # There may be a phase without any of them.
    return max([-rest, *(load.bytes - max(load.rest, rest) for _, load in loads(spans, unit))])


def order_instance(graph: Graph) -> OrderInstance:
    """The instance of a valid graph: all of its planned bytes, as if in one pool.

    Temporaries of one operator may add up to more than an array holds; then they are `MOST_BYTES`, which are
    too many for any search of orders.
    """
    stored = storages(graph)
    links = links_of(graph)
    # What runs after an operator by its data is ascending, each once.
    after = links.after if not links.before else [sorted(set(them)) for them in links.successors()]
    before = array(
        "q", [entry for first, them in enumerate(after) for then in them for entry in (first, then)]
    )
    writer_start, writers = _flat(storage.writers for storage in stored)
    reader_start, readers = _flat(storage.readers for storage in stored)
    return OrderInstance(
        extra=array(
            "q",
            [
                min(temporary_height(operator), MOST_BYTES) if operator.temporaries else 0
                for operator in graph.operators
            ],
        ),
        size=array("q", (storage.size for storage in stored)),
        writer_start=writer_start,
        writers=writers,
        reader_start=reader_start,
        readers=readers,
        from_start=array("q", (storage.from_start for storage in stored)),
        to_end=array("q", (storage.to_end for storage in stored)),
        before=before,
        in_place=array("q", (number for triple in in_place_triples(graph, stored) for number in triple)),
        base=resident_load(graph).bytes,
        listed=array("q", listed_order(graph)),
    )


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
            if all(is_planned(graph.tensors[entry]) for entry in (source, target)):
                triples.append((i, storage_of[source], storage_of[target]))
    return triples


def _flat(lists: Iterable[Sequence[int]]) -> "tuple[array[int], array[int]]":
    each = list(lists)
    starts = array("q", accumulate(map(len, each), initial=0))
    return starts, array("q", list(chain.from_iterable(each)))


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of an order."""

    operator: int
    bytes: int
    """What is live while it runs, each byte counted once."""
    saved: int
    """What it saves in place."""


_latest: "Final[Memo[Graph, tuple[array[int], int, Sequence[Step]]]]" = Memo()
"""Of a graph, the order and the unit whose steps were counted last, and these steps: of all planned bytes."""


def steps(graph: Graph, order: Sequence[int], unit: int = 1, counts: Counts = everything) -> Sequence[Step]:
    """The operators of an order and what each of them needs of what counts.

    With a unit: at least that, where all that is planned begins at multiples of it.
    """
    if counts is not everything:
        return _steps(graph, order, unit, counts)
    wanted = array("q", order)
    latest = _latest.get(graph)
    if latest is not None and latest[:2] == (wanted, unit):
        return latest[2]
    counted = _steps(graph, order, unit, counts)
    _latest.note(graph, (wanted, unit, counted))
    return counted


def _steps(graph: Graph, order: Sequence[int], unit: int, counts: Counts) -> Sequence[Step]:
    stored = storages(graph)
    position = {operator: at for at, operator in enumerate(order)}
    lives = lives_of(stored, position)
    pairs: dict[int, list[Pair]] = {}
    for operator, source, target in in_place_triples(graph, stored):
        at = position[operator]
        if lives[source][1] == at + 1 and not stored[source].to_end and lives[target][0] == at:
            pairs.setdefault(operator, []).append((source, target))
    counted = [storage.size if counts(graph.tensors[storage.tensor]) else 0 for storage in stored]
    sizes = [whole(size, unit) for size in counted]
    spans = [(begin, end, size) for size, (begin, end) in zip(counted, lives, strict=True) if begin < end]
    always, changes = resident_load(graph, unit, counts), dict(loads(spans, unit))
    live = Load()
    taken: list[Step] = []
    for at, operator in enumerate(order):
        live = changes.get(at, live)
        saved = most_saved(sizes, pairs.get(operator, []))
        own = temporary_height(graph.operators[operator], unit, max(always.rest, live.rest), counts)
        taken.append(Step(operator, always.bytes + live.bytes + own - saved, saved))
    if unit == 1 or not pairs:
        return taken
    # On top may be a pair in place, of which less is left than of the smaller one.
    plain = steps(graph, order, counts=counts)
    return [
        replace(entry, bytes=max(entry.bytes, one.bytes)) for entry, one in zip(taken, plain, strict=True)
    ]


def certificate_of(graph: Graph, proof: orders.Proof | None) -> Cut | RefutedOrders | None:
    """The certificate of a proof; None where there is only a claim."""
    names = _Names(graph)
    match proof:
        case orders.CutProof():
            operator = None if proof.operator < 0 else graph.operators[proof.operator].id
            return Cut(operator=operator, ways=tuple(names.way(way) for way in proof.ways))
        case orders.RefutedProof():
            return RefutedOrders(
                height=proof.bytes - 1,
                backwards=proof.backwards,
                late=names.operators(proof.late),
                sets=tuple(names.sets(proof.dead)),
            )
    return None


class _Names:
    """What numbers of the arrays stand for."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        stored = storages(graph)
        self._tensor_of = [storage.tensor for storage in stored]
        self._storage = [self._name(storage) for storage in stored]

    def _name(self, storage: Storage) -> StorageName:
        if storage.begin is None:
            return self._graph.tensors[storage.tensor].id
        return self._graph.tensors[storage.outer].id, storage.begin

    def operators(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """Their ids, in the order of the document."""
        return tuple(self._graph.operators[number].id for number in sorted(numbers))

    def way(self, way: orders.Way) -> Way:
        """A way to save in place."""
        return Way(
            pairs=tuple((self._tensor(source), self._tensor(target)) for source, target in way.pairs),
            chains=self._chains(way.chains),
        )

    def _tensor(self, storage: int) -> str:
        return self._graph.tensors[self._tensor_of[storage]].id

    def _chains(self, chains: Sequence[orders.Chain]) -> tuple[Chain, ...]:
        return tuple(
            Chain(
                bytes=chain.bytes,
                storages=tuple(self._storage[number] for number in chain.storages),
                saving=None if chain.saving < 0 else chain.saving,
            )
            for chain in chains
        )

    def sets(self, dead: Iterable[orders.DeadSet]) -> Iterable[DeadSet]:
        """Dead sets."""
        return (
            DeadSet(
                changes=self.operators(entry.changes),
                commit=self.operators(entry.commit),
                chains=self._chains(entry.chains),
            )
            for entry in dead
        )
