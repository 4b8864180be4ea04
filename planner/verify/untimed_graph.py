"""The judge's own reading of a graph without times: storages, what comes before what, pairs in place, chains.

Sets of operators are numbers with a bit for each. A storage begins with the first operator of `begins`, and
ends with the last of `ends`. In a chain of storages one is live in every set of operators between two.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Final

from memstow.planner.model.graph import Graph, Operator, index_of, size_of
from memstow.planner.model.plan import StorageName
from memstow.planner.verify.verdict import Effort, TooMuch
from memstow.records import field, record

Ops = int
"""A set of operators."""


@record
class Stored:
    """Bytes that live as one."""

    __slots__ = ("__dict__",)
    size: int
    begins_at: Collection[int]
    ends_at: Collection[int]
    from_start: bool
    to_end: bool

    # A set has a bit for each operator of the graph: a proof about one operator makes those of few storages.
    @cached_property
    def begins(self) -> Ops:
        """The operators with the first of which it begins."""
        return set_of(self.begins_at)

    @cached_property
    def ends(self) -> Ops:
        """The operators with the last of which it ends."""
        return set_of(self.ends_at)


@record
class Untimed:
    """Operators, by their number, and what they begin and end."""

    __slots__ = ("__dict__",)
    extra: Sequence[int]
    storages: Sequence[Stored]
    preceding: Sequence[Collection[int]]
    """By operator, the numbers of those right before it."""
    pairs: Sequence[Sequence[tuple[int, int]]]
    """By operator, the storages of its pairs in place."""
    base: int
    effort: Effort = field(default_factory=Effort)

    @cached_property
    def _reached(self) -> dict[tuple[bool, int], Ops]:
        """The closures of single operators: by whether they come after, and the operator."""
        return {}

    @property
    def count(self) -> int:
        """How many operators there are."""
        return len(self.extra)

    @cached_property
    def sizes(self) -> list[int]:
        """The bytes of each storage."""
        return [storage.size for storage in self.storages]

    @cached_property
    def everything(self) -> Ops:
        """The set of all operators."""
        return (1 << self.count) - 1

    @cached_property
    def before(self) -> list[Ops]:
        """By operator, those right before it."""
        return list(map(set_of, self.preceding))

    @cached_property
    def following(self) -> list[list[int]]:
        """By operator, the numbers of those right after it."""
        after: list[list[int]] = [[] for _ in range(self.count)]
        for then, earlier in enumerate(self.preceding):
            for first in earlier:
                after[first].append(then)
        return after

    @cached_property
    def after(self) -> list[Ops]:
        """By operator, those right after it."""
        return list(map(set_of, self.following))

    @cached_property
    def all_before(self) -> list[Ops]:
        """By operator, all that come before it."""
        return _closures(self.before, self.preceding)

    @cached_property
    def all_after(self) -> list[Ops]:
        """By operator, all that come after it."""
        return _closures(self.after, self.following)

    def all_before_one(self, op: int) -> Ops:
        """All operators that come before this one."""
        return self._all_next_to_one(op, after=False)

    def all_after_one(self, op: int) -> Ops:
        """All operators that come after this one."""
        return self._all_next_to_one(op, after=True)

    def _all_next_to_one(self, op: int, *, after: bool) -> Ops:
        """A proof about one operator asks for few of these: to find those of all takes much longer."""
        reached = self._reached.get((after, op))
        if reached is None:
            if len(self._reached) >= _MOST_ALONE:
                return (self.all_after if after else self.all_before)[op]
            reached = _reached_from(op, self.following if after else self.preceding)
            self._reached[after, op] = reached
        return reached

    @cached_property
    def uses(self) -> list[list[int]]:
        """By operator, the storages that it may begin or end."""
        used: list[list[int]] = [[] for _ in range(self.count)]
        for number, storage in enumerate(self.storages):
            for op in members(storage.begins | storage.ends):
                used[op].append(number)
        return used

    def closure(self, ops: Ops) -> Ops:
        """The operators and all that come before them."""
        self.effort.spend(1 + ops.bit_count())
        closed = ops
        for op in members(ops):
            closed |= self.all_before_one(op)
        return closed

    def begun(self, number: int, done: Ops) -> bool:
        """Whether a storage has begun."""
        storage = self.storages[number]
        return storage.from_start or bool(storage.begins & done)

    def ended(self, number: int, done: Ops) -> bool:
        """Whether a storage has ended."""
        storage = self.storages[number]
        return not storage.to_end and not storage.ends & ~done

    def live(self, done: Ops) -> int:
        """What is live between operators."""
        self.effort.spend(len(self.storages))
        return self.base + sum(
            storage.size
            for number, storage in enumerate(self.storages)
            if self.begun(number, done) and not self.ended(number, done)
        )

    def backwards(self) -> "Untimed":
        """The graph with time reversed: what begins ends, and what comes before comes after."""
        turned = [
            Stored(storage.size, storage.ends_at, storage.begins_at, storage.to_end, storage.from_start)
            for storage in self.storages
        ]
        pairs = [[(target, source) for source, target in of_operator] for of_operator in self.pairs]
        return Untimed(self.extra, turned, self.following, pairs, self.base, self.effort)


def members(ops: Ops) -> Iterator[int]:
    """The operators of a set, ascending."""
    while ops:
        lowest = ops & -ops
        yield lowest.bit_length() - 1
        ops ^= lowest


def set_of(numbers: Iterable[int]) -> Ops:
    """The set of the operators of these numbers."""
    ops: Ops = 0
    for number in numbers:
        ops |= 1 << number
    return ops


def is_member(ops: Ops, count: int) -> bytes:
    """By operator, of so many, 1 where the set has it."""
    return f"{ops:0{count}b}".encode()[::-1].translate(_TRUTHS)


# So many closures of single operators take no longer than those of all.
_MOST_ALONE: Final = 16


def _reached_from(root: int, next_to: Sequence[Collection[int]]) -> Ops:
    """All that can be reached from one operator. There is no circle."""
    seen = bytearray(len(next_to))
    stack = list(next_to[root])
    while stack:
        op = stack.pop()
        if not seen[op]:
            seen[op] = 1
            stack += next_to[op]
    # As binary digits, of which the first is that of the last operator.
    return int(bytes(seen[::-1]).translate(_DIGITS) or b"0", 2)


_DIGITS: Final = bytes.maketrans(b"\0\1", b"01")
_TRUTHS: Final = bytes.maketrans(b"01", b"\0\1")


def _closures(next_to: Sequence[Ops], numbers: Sequence[Collection[int]]) -> list[Ops]:
    """By operator, all that can be reached; `numbers` has those of `next_to`. There is no circle."""
    closures: list[Ops | None] = [None] * len(next_to)
    for root in range(len(next_to)):
        stack = [root]
        while stack:
            op = stack[-1]
            missing = [number for number in numbers[op] if closures[number] is None]
            if missing and closures[op] is None:
                stack += missing
                continue
            stack.pop()
            if closures[op] is None:
                reached = next_to[op]
                for number in numbers[op]:
                    reached |= closures[number] or 0
                closures[op] = reached
    return [entry or 0 for entry in closures]


Pair = tuple[int, int]


@record
class ChainOf:
    """Storages by number; `saving`: instead of a storage before them, that a pair does not save."""

    bytes: int
    storages: Sequence[int]
    saving: int | None = None


@record
class Between:
    """Sets that have all of `inside` and none of `outside`; `running`: an operator that runs then."""

    inside: Ops
    outside: Ops
    running: Ops = 0


class ProofError(Exception):
    """A proof does not show what it should; the message says why."""


def always_live(graph: Untimed, between: Between, number: int) -> bool:
    """Whether a storage is live in all of the sets."""
    storage = graph.storages[number]
    begun = storage.from_start or bool(storage.begins & (between.inside | between.running))
    return begun and never_ended(graph, between, number)


def never_ended(graph: Untimed, between: Between, number: int) -> bool:
    """Whether a storage has ended in none of the sets."""
    storage = graph.storages[number]
    return storage.to_end or bool(storage.ends & between.outside)


def chained_bytes(
    graph: Untimed, between: Between, chains: Iterable[ChainOf], pairs: Sequence[Pair] = ()
) -> int:
    """What the chains add to the storages that are always live. Raises ProofError where one does not hold."""
    total = 0
    used: Counter[int] = Counter()
    saved: Counter[int] = Counter()
    for chain in chains:
        if chain.bytes <= 0:
            raise ProofError("a chain has no bytes")
        graph.effort.spend(1 + len(chain.storages))
        _check_chain(graph, between, chain, pairs)
        for number in chain.storages:
            used[number] += chain.bytes
        if chain.saving is not None:
            saved[chain.saving] += chain.bytes
        total += chain.bytes
    for number, bytes_used in used.items():
        if bytes_used > graph.storages[number].size or always_live(graph, between, number):
            raise ProofError("a storage is in chains with more bytes than it has")
    for index, bytes_saved in saved.items():
        if bytes_saved > saving_of(graph, pairs[index]):
            raise ProofError("a pair is in chains with more bytes than it saves")
    return total


def saving_of(graph: Untimed, pair: Pair) -> int:
    """The most that a pair saves."""
    return min(graph.storages[entry].size for entry in pair)


def _check_chain(graph: Untimed, between: Between, chain: ChainOf, pairs: Sequence[Pair]) -> None:
    """As long as no storage so far is live, each has begun and ended, and the next has begun."""
    done = between.inside
    ended = True
    if chain.saving is not None:
        if not 0 <= chain.saving < len(pairs):
            raise ProofError("a chain names a pair that is not granted")
        source = graph.storages[pairs[chain.saving][0]]
        others = source.ends & ~between.running
        ended = not source.to_end and not others & between.outside
        done |= graph.closure(others)
    for number in chain.storages:
        if not graph.begun(number, done | between.running):
            raise ProofError("a storage of a chain need not have begun where the one before it has ended")
        ended = not never_ended(graph, between, number)
        done |= graph.closure(graph.storages[number].ends & ~between.outside)
    if ended:
        raise ProofError("all storages of a chain may have ended")


def possible_pairs(graph: Untimed, op: int) -> list[Pair]:
    """The pairs of an operator that save something in some order."""
    before, after = graph.all_before_one(op), graph.all_after_one(op)
    return [
        (source, target)
        for source, target in dict.fromkeys(graph.pairs[op])
        if not graph.storages[source].to_end
        and not graph.storages[source].ends & after
        and not graph.storages[target].from_start
        and not graph.storages[target].begins & before
    ]


def fixed_bytes(graph: Untimed, op: int) -> int:
    """What an operator needs whatever ran before it, nothing saved."""
    between = around(graph, op)
    graph.effort.spend(len(graph.storages))
    # `always_live` of all storages, without a set of operators for each.
    begun, unfinished = (
        is_member(ops, graph.count) for ops in (between.inside | between.running, between.outside)
    )
    return (
        graph.base
        + graph.extra[op]
        + sum(
            storage.size
            for storage in graph.storages
            if (storage.from_start or any(map(begun.__getitem__, storage.begins_at)))
            and (storage.to_end or any(map(unfinished.__getitem__, storage.ends_at)))
        )
    )


def around(graph: Untimed, op: int) -> Between:
    """The sets after which an operator can run."""
    return Between(graph.all_before_one(op), graph.all_after_one(op) | 1 << op, 1 << op)


def touched(graph: Untimed, ops: Ops) -> set[int]:
    """The storages that some of these operators may begin or end."""
    graph.effort.spend(sum(1 + len(graph.uses[op]) for op in members(ops)))
    return {number for op in members(ops) for number in graph.uses[op]}


# Each operator has a few sets of operators, with a bit for each.
_MOST_OPERATORS: Final = 20_000


@record
class NamedGraph:
    """Operators and storages by number, and the numbers of their names."""

    untimed: Untimed
    operators: dict[str, int]
    storages: dict[StorageName, int]


def named_graph(graph: Graph, effort: Effort | None = None) -> NamedGraph:
    """The graph without times. Raises ProofError for views that the judge cannot follow."""
    if len(graph.operators) > _MOST_OPERATORS:
        raise TooMuch
    return _Reading(graph, effort or Effort()).result()


class _Reading:
    def __init__(self, graph: Graph, effort: Effort) -> None:
        self.graph = graph
        self.effort = effort
        self.operators = {operator.id: number for number, operator in enumerate(graph.operators)}
        self.tensors = index_of(graph).tensors
        self.views = {view.tensor: view for view in graph.views}
        self.there, self.kept = set(graph.inputs), set(graph.outputs)
        self.writers: dict[str, list[int]] = {name: [] for name in self.tensors}
        self.readers: dict[str, list[int]] = {name: [] for name in self.tensors}
        for number, operator in enumerate(graph.operators):
            for name in operator.outputs:
                self.writers[name].append(number)
            for name in operator.inputs:
                self.readers[name].append(number)

    def result(self) -> NamedGraph:
        graph = self.graph
        stored = dict(self.stored())
        numbers = {name: number for number, name in enumerate(stored)}
        pairs = [
            [
                (numbers[source], numbers[target])
                for source, target in operator.in_place
                if source in numbers and target in numbers
            ]
            for operator in graph.operators
        ]
        extra = [_most_at_once(operator) if operator.temporaries else 0 for operator in graph.operators]
        resident = sum(
            size_of(tensor)
            for tensor in graph.tensors
            if tensor.kind == "state" or (tensor.kind == "constant" and tensor.pools is not None)
        )
        untimed = Untimed(extra, list(stored.values()), self.before(), pairs, resident, self.effort)
        return NamedGraph(untimed, self.operators, numbers)

    def stored(self) -> Iterator[tuple[StorageName, Stored]]:
        """Tensors that are no views and have none, and the pieces of the others."""
        groups: dict[str, list[tuple[str, int]]] = {}
        for view in self.graph.views:
            outer, begin = self.outermost(view.tensor)
            groups.setdefault(outer, [(outer, 0)]).append((view.tensor, begin))
        inside = {name for group in groups.values() for name, _ in group}
        for tensor in self.graph.tensors:
            if tensor.id in groups:
                yield from self.pieces(tensor.id, groups[tensor.id])
            elif tensor.id not in inside and tensor.kind == "data":
                writers = self.writers[tensor.id]
                ends = [*writers, *self.readers[tensor.id]]
                here = tensor.id in self.there, tensor.id in self.kept
                yield tensor.id, Stored(size_of(tensor), writers, ends, *here)

    def outermost(self, name: str) -> tuple[str, int]:
        views, begin = self.views, 0
        for _ in views:
            if name not in views:
                break
            self.effort.spend(1)
            begin += views[name].offset
            name = views[name].of
        if name in views:
            raise ProofError("views lie in each other")
        return name, begin

    def pieces(self, outer: str, group: list[tuple[str, int]]) -> Iterator[tuple[StorageName, Stored]]:
        """A storage for each range of bytes over which the same tensors lie."""
        ranges = [(begin, begin + size_of(self.tensors[name]), name) for name, begin in group]
        cuts = sorted({cut for begin, end, _ in ranges for cut in (begin, end)})
        for begin, end in pairwise(cuts):
            self.effort.spend(len(ranges))
            names = [name for first, last, name in ranges if first <= begin and end <= last]
            if any(self.tensors[name].kind != "data" for name in names) or not self.connected(names):
                raise ProofError("tensors that share bytes need not be live one right after the other")
            if names:
                yield (outer, begin), self.over(end - begin, names)

    def connected(self, names: list[str]) -> bool:
        """Whether their lives leave no gap: whoever makes one reads another, or both are there at first."""
        reached, left = set(names[:1]), names[:1]
        while left:
            self.effort.spend(len(names))
            name = left.pop()
            for other in names:
                fed = not set(self.writers[other]).isdisjoint(self.readers[name])
                fed = fed or not set(self.writers[name]).isdisjoint(self.readers[other])
                fed = fed or self.there.issuperset((name, other))
                if other not in reached and fed:
                    reached.add(other)
                    left.append(other)
        return len(reached) == len(set(names))

    def over(self, size: int, names: list[str]) -> Stored:
        begins = [number for name in names for number in self.writers[name]]
        ends = [*begins, *(number for name in names for number in self.readers[name])]
        from_start = not self.there.isdisjoint(names)
        return Stored(size, begins, ends, from_start, not self.kept.isdisjoint(names))

    def before(self) -> list[set[int]]:
        """By operator, the numbers of those right before it."""
        before: list[set[int]] = [set() for _ in self.operators]
        maker = {
            name: number
            for number, operator in enumerate(self.graph.operators)
            for name in operator.outputs
            if self.tensors[name].kind != "state"
        }
        has_states = any(tensor.kind == "state" for tensor in self.graph.tensors)
        latest: dict[str, tuple[list[int], list[int]]] = {}  # by state: the last writer, readers since
        for number, operator in enumerate(self.graph.operators):
            for name in operator.inputs:
                if name in maker and maker[name] != number:
                    before[number].add(maker[name])
            for name in dict.fromkeys((*operator.outputs, *operator.inputs)) if has_states else ():
                if self.tensors[name].kind == "state":
                    writer, readers = latest.setdefault(name, ([], []))
                    before[number].update(writer)
                    if name in operator.outputs:
                        before[number].update(readers)
                        latest[name] = [number], []
                    else:
                        readers.append(number)
        for first, then in self.graph.before:
            before[self.operators[then]].add(self.operators[first])
        if len(in_order(before)) < len(before):
            raise ProofError("operators wait for each other")
        return before


def in_order(before: Sequence[Collection[int]]) -> list[int]:
    """The operators, each after those before it, as Kahn sorts them; those in a circle are left out."""
    waits = list(map(len, before))
    after: list[list[int]] = [[] for _ in before]
    for then, earlier in enumerate(before):
        for first in earlier:
            after[first].append(then)
    ready = [op for op, count in enumerate(waits) if not count]
    for op in ready:
        for then in after[op]:
            waits[then] -= 1
            if not waits[then]:
                ready.append(then)
    return ready


def _most_at_once(operator: Operator) -> int:
    """The most bytes of temporaries in one phase."""
    throughout = sum(temporary.size for temporary in operator.temporaries if temporary.phases is None)
    phased = [
        (temporary.phases, temporary.size)
        for temporary in operator.temporaries
        if temporary.phases is not None
    ]
    begins = ((phases[0], size) for phases, size in phased)
    ends = ((phases[1], -size) for phases, size in phased)
    # What ends in a moment is gone before what begins in it.
    changes = sorted((*begins, *ends))
    return throughout + max(accumulate((size for _, size in changes), initial=0))
