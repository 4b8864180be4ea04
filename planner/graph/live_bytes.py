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
from heapq import heappop, heappush
from itertools import pairwise
from math import gcd, lcm
from typing import Final, NamedTuple

from memstow.planner.graph.links import links_of, listed_order, roots
from memstow.planner.model._instances import Storages
from memstow.planner.model.graph import (
    DATA,
    Graph,
    Operator,
    Temporary,
    Tensor,
    columns_of,
    is_planned,
    is_resident,
    phase_count,
    size_of,
)
from memstow.planner.model.plan import Chain, Cut, DeadSet, RefutedOrders, StorageName, Way
from memstow.records import Memo, Remembered, record, replace
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
def storage_columns(graph: Graph) -> Storages:
    """The storages of planned data that is not always live, as arrays."""
    columns = columns_of(graph)
    tensors = graph.tensors
    sizes = list(map(size_of, tensors)) if columns.has_shapes else [tensor.size or 0 for tensor in tensors]
    return Storages(columns, sizes, list(_members(graph).items()))


@Remembered
def storages(graph: Graph) -> tuple[Storage, ...]:
    """The same, each by itself."""
    columns = storage_columns(graph)
    return tuple(
        Storage(size, writers, readers, bool(from_start), bool(to_end), tensor, outer, begin)
        for size, writers, readers, from_start, to_end, tensor, outer, begin in zip(
            columns.size,
            _nested(*columns.writers),
            _nested(*columns.readers),
            columns.from_start,
            columns.to_end,
            columns.tensor,
            columns.outer,
            (None if begin < 0 else begin for begin in columns.begin),
            strict=True,
        )
    )


def _nested(starts: "array[int]", members: "array[int]") -> Iterator[tuple[int, ...]]:
    return (tuple(members[first:last]) for first, last in pairwise(starts))


def _members(graph: Graph) -> dict[int, list[tuple[int, int, int]]]:
    """By the tensor around a group of views: each of the group, with the first byte and the end."""
    links = links_of(graph)
    groups: dict[int, list[tuple[int, int, int]]] = {}
    for name, (root, offset) in roots(graph).items():
        index, outer = links.tensor_index[name], links.tensor_index[root]
        group = groups.setdefault(outer, [(outer, 0, size_of(graph.tensors[outer]))])
        group.append((index, offset, offset + size_of(graph.tensors[index])))
    return groups


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


def pairs_among(operator: Operator, names: Sequence[str]) -> list[Pair]:
    """The pairs in place of an operator, by places in these tensors."""
    return [
        (names.index(source), names.index(target))
        for source, target in operator.in_place
        if source in names and target in names
    ]


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


@record
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


def load_of(sizes: Iterable[int], unit: int, beside: Load | None = None) -> Load:
    """All of them at once, and what is there beside them."""
    total, rest = (0, 0) if beside is None else (beside.bytes, beside.rest)
    for size in sizes:
        taken = whole(size, unit)
        total += taken
        rest = max(rest, taken - size)
    return Load(total, rest)


def resident_load(graph: Graph, unit: int = 1, counts: Counts = everything) -> Load:
    """Planned tensors that are always live."""
    if not set(columns_of(graph).kinds) - {DATA}:
        return Load()
    return load_of(map(size_of, filter(counts, filter(is_resident, graph.tensors))), unit)


def start_height(graph: Graph, unit: int = 1, counts: Counts = everything) -> int:
    """What is live before the first operator needs at least so much, whatever the order."""
    always = resident_load(graph, unit, counts)
    tensors, stored = graph.tensors, storage_columns(graph)
    there = load_of(
        (
            size
            for size, from_start, tensor in zip(stored.size, stored.from_start, stored.tensor, strict=True)
            if from_start and counts(tensors[tensor])
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
    stored = storage_columns(graph)
    (writer_start, writers), (reader_start, readers) = stored.writers, stored.readers
    return OrderInstance(
        extra=array(
            "q",
            [
                min(temporary_height(operator), MOST_BYTES) if operator.temporaries else 0
                for operator in graph.operators
            ],
        ),
        size=stored.size,
        writer_start=writer_start,
        writers=writers,
        reader_start=reader_start,
        readers=readers,
        from_start=stored.from_start,
        to_end=stored.to_end,
        before=links_of(graph).edges(),
        in_place=stored.in_place,
        base=resident_load(graph).bytes,
        listed=array("q", listed_order(graph)),
    )


def in_place_triples(graph: Graph) -> Iterator[tuple[int, int, int]]:
    """(operator, storage of the input, storage of the output) of each pair that counts in some order."""
    numbers = storage_columns(graph).in_place
    return zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)


@record
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
    for operator, source, target in in_place_triples(graph):
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
        stored = storage_columns(graph)
        self._tensor_of, self._outer_of, self._begin_of = stored.tensor, stored.outer, stored.begin

    def _storage(self, storage: int) -> StorageName:
        begin = self._begin_of[storage]
        outer = self._graph.tensors[self._outer_of[storage]].id
        return outer if begin < 0 else (outer, begin)

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
                storages=tuple(self._storage(number) for number in chain.storages),
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
