"""Orders of operators: which one needs the fewest bytes at once, and the proof that none needs fewer.

The arrays that every solver of orders reads: operators, storages and what must come before what. Why no order
needs fewer bytes: proofs as plain data, which a judge can check without searching. Then the solvers.
"""

from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Final, Protocol

from memstow.solvers import _native
from memstow.solvers.known import KnownOrders

MOST_BYTES: Final = 1 << 61
"""All bytes of an instance together are less than this, so that no sum overflows."""

_ints: "Callable[[], array[int]]" = partial(array, "q")
_starts: "Callable[[], array[int]]" = partial(array, "q", [0])


@dataclass(frozen=True, kw_only=True)
class OrderInstance:
    """Operators to be ordered, as arrays.

    Lists of lists are flat: entries of list i are `values[start[i]:start[i + 1]]`.
    """

    # by operator
    extra: "array[int]" = field(default_factory=_ints)  # bytes while it runs: the most over its phases

    # by storage
    size: "array[int]" = field(default_factory=_ints)
    writer_start: "array[int]" = field(default_factory=_starts)
    writers: "array[int]" = field(default_factory=_ints)
    reader_start: "array[int]" = field(default_factory=_starts)
    readers: "array[int]" = field(default_factory=_ints)
    from_start: "array[int]" = field(default_factory=_ints)  # 1 if live from the start
    to_end: "array[int]" = field(default_factory=_ints)  # 1 if live to the end

    # pairs and triples, flat
    before: "array[int]" = field(default_factory=_ints)  # (first, then): all edges, those of the data as well
    in_place: "array[int]" = field(default_factory=_ints)  # (operator, input storage, output storage)

    base: int = 0  # bytes that are always live
    listed: "array[int]" = field(default_factory=_ints)  # the order that the program has

    @property
    def operator_count(self) -> int:
        """How many operators there are."""
        return len(self.extra)

    @property
    def storage_count(self) -> int:
        """How many storages there are."""
        return len(self.size)

    def writers_of(self, storage: int) -> "array[int]":
        """The operators that write a storage."""
        return self.writers[self.writer_start[storage] : self.writer_start[storage + 1]]

    def readers_of(self, storage: int) -> "array[int]":
        """The operators that read a storage."""
        return self.readers[self.reader_start[storage] : self.reader_start[storage + 1]]

    @cached_property
    def native(self) -> "_native.OrderInstance":
        """The instance of the native core. Built once; a ValueError says what is wrong with the arrays."""

        return _native.OrderInstance(self)


def live_bytes(instance: OrderInstance, done: Collection[int]) -> int:
    """The bytes that are live between operators, when these are done."""
    return instance.base + sum(
        instance.size[storage]
        for storage in range(instance.storage_count)
        if _has_begun(instance, storage, done) and not _has_ended(instance, storage, done)
    )


def bytes_while(instance: OrderInstance, operator: int, done: Collection[int]) -> int:
    """The bytes that an operator needs while it runs, when these are done."""
    then = {*done, operator}
    live = sum(
        instance.size[storage]
        for storage in range(instance.storage_count)
        if _has_begun(instance, storage, then) and not _has_ended(instance, storage, done)
    )
    return instance.base + live + instance.extra[operator] - _saved(instance, operator, done)


def bytes_by_step(instance: OrderInstance, order: Collection[int]) -> list[int]:
    """What each operator of an order needs. A ValueError says why it is not an order of the operators."""
    done: set[int] = set()
    needs = []
    edges = list(zip(instance.before[::2], instance.before[1::2], strict=True))
    if sorted(order) != list(range(instance.operator_count)):
        raise ValueError("an order has each operator once")
    for operator in order:
        for first, then in edges:
            if then == operator and first not in done:
                raise ValueError(f"operator {first} must come before operator {operator}")
        needs.append(bytes_while(instance, operator, done))
        done.add(operator)
    return needs


def peak(instance: OrderInstance, order: Collection[int]) -> int:
    """The most bytes that an operator of the order needs; without operators, what is live anyway."""
    return max(bytes_by_step(instance, order), default=live_bytes(instance, ()))


def _has_begun(instance: OrderInstance, storage: int, done: Collection[int]) -> bool:
    return bool(instance.from_start[storage]) or any(
        writer in done for writer in instance.writers_of(storage)
    )


def _has_ended(instance: OrderInstance, storage: int, done: Collection[int]) -> bool:
    users = (*instance.writers_of(storage), *instance.readers_of(storage))
    return not instance.to_end[storage] and all(user in done for user in users)


def _saved(instance: OrderInstance, operator: int, done: Collection[int]) -> int:
    """The most that pairs of an operator save in place."""
    then = {*done, operator}
    pairs = [
        (source, target)
        for owner, source, target in zip(*(instance.in_place[k::3] for k in range(3)), strict=True)
        if owner == operator
        and _has_ended(instance, source, then)
        and not _has_ended(instance, source, done)
        and _has_begun(instance, target, then)
        and not _has_begun(instance, target, done)
    ]
    return _most_saved(instance.size, pairs)


def _most_saved(size: "array[int]", pairs: list[tuple[int, int]]) -> int:
    """The best of all sets of pairs that share no storage: with the first pair, or without it."""
    if not pairs:
        return 0
    source, target = pairs[0]
    apart = [pair for pair in pairs[1:] if pair[0] != source and pair[1] != target]
    with_it = min(size[source], size[target]) + _most_saved(size, apart)
    return max(with_it, _most_saved(size, pairs[1:]))


LARGEST: Final = 100_000
"""A refutation of more numbers than this is told, not written out."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Storages of which one is live, whatever the set: so they add `bytes`.

    In each set looked at the first has begun; where one has ended, some writer of the next is done; the
    last has not ended. `saving` is the number of a pair, -1 for none: then either that pair does not save,
    or the other operators that end its input are done, and so some writer of the first storage is.
    """

    bytes: int
    storages: tuple[int, ...]
    saving: int = -1


@dataclass(frozen=True, slots=True)
class Way:
    """One way to save in place while an operator runs: the pairs granted to it, and chains."""

    pairs: tuple[tuple[int, int], ...]
    chains: tuple[Chain, ...]


@dataclass(frozen=True, slots=True)
class CutProof:
    """An operator needs at least `bytes`, whatever ran before it.

    Looked at are the sets that have all operators that come before it, and neither it nor any that comes
    after. For each way: base + extra + storages that are live in all of these sets while it runs, less what
    the pairs save (the smaller size of each), plus the chains, is at least `bytes`. A storage has at most
    its size in chains, and nothing if it is live in all sets; a pair has at most what it saves.

    The ways cover all sets of pairs that the operator can save with: every such set is within the pairs of
    some way. Or there is one way, with the best pair of every output; then inputs may be in several pairs.

    Without an operator (-1) and ways: what is live before the first or after the last one.
    """

    bytes: int
    operator: int
    ways: tuple[Way, ...] = ()


@dataclass(frozen=True, slots=True)
class DeadSet:
    """A set of operators from which no order reaches the end within the limit.

    `changes` are the operators in this set or in the one before it, not in both.
    `commit`: more operators, such that no set in between has fewer live bytes than both together, which the
    chains prove; then the two together are dead, and that is why this one is. Empty: each operator that can
    run next needs more than the limit, or leads to a dead set.
    """

    changes: tuple[int, ...]
    commit: tuple[int, ...] = ()
    chains: tuple[Chain, ...] = ()


@dataclass(frozen=True, slots=True)
class RefutedProof:
    """No order needs less than `bytes`: the set without operators is dead.

    It is told of the operators without the `late` ones: nothing can end at these, and they need nothing
    else while they run. What a late operator begins, begins with the first that waits for it. `backwards`:
    time runs backwards.

    A set leads to a dead set when that is what becomes of it after running, as long as there is one, any
    operator that needs no more than the limit (`bytes` - 1) and leaves no more than was live before it.
    """

    bytes: int
    backwards: bool
    late: tuple[int, ...]
    dead: tuple[DeadSet, ...]


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No order needs less than `bytes`: a search says so, with too many dead sets to write out. A claim."""

    bytes: int
    sets: int


Proof = CutProof | RefutedProof | Exhausted


def prove_cut(instance: OrderInstance, operator: int, bound: int) -> CutProof:
    """The proof that this operator needs this many bytes."""
    if operator < 0:
        return CutProof(bound, -1)
    ways = _native.prove_cut(instance.native, operator)
    return CutProof(bound, operator, tuple(Way(tuple(way.pairs), _chains(way.chains)) for way in ways))


def prove_refuted(instance: OrderInstance, refuted: _native.RefutedOrders) -> RefutedProof | Exhausted:
    """The proof of a search that ran dry; a claim where it would be too large."""
    bound = refuted.limit + 1
    if refuted.kept == 0:
        return Exhausted(bound, refuted.sets)
    sets = _native.refuted_sets(instance.native, refuted)
    dead = tuple(
        DeadSet(tuple(changes), tuple(commit), _chains(chains))
        for changes, commit, chains in zip(sets.changes, sets.commits, sets.chains, strict=True)
    )
    proof = RefutedProof(bound, refuted.backwards, tuple(sets.late), dead)
    return proof if _numbers(proof) <= LARGEST else Exhausted(bound, refuted.sets)


def _numbers(proof: RefutedProof) -> int:
    """The numbers of a refutation."""
    return len(proof.late) + sum(
        len(entry.changes) + len(entry.commit) + sum(1 + len(chain.storages) for chain in entry.chains)
        for entry in proof.dead
    )


def _chains(chains: list[_native.Chain]) -> tuple[Chain, ...]:
    return tuple(Chain(chain.bytes, tuple(chain.storages), chain.credit) for chain in chains)


DEAD_SETS_MEMORY: Final = 1 << 28
"""Bytes for the sets that a search remembers, unless told otherwise."""

_MOST_KEPT: Final = 20_000


@dataclass(frozen=True, slots=True)
class OrderTask:
    """Operators to be ordered, and what is known of it."""

    instance: OrderInstance
    enough: int | None = None  # an order that needs no more ends the search
    bound: int = 0  # no order needs less
    workers: int = 1
    deterministic: bool = False  # the same order, byte for byte, in each run with the same limit of work
    memory: int = DEAD_SETS_MEMORY


@dataclass(frozen=True, slots=True)
class OrderListeners:
    """Callbacks for better orders, if anybody asks for them, and better bounds, with the solver's name."""

    order: Callable[[str, int, Sequence[int]], None] | None
    bound: Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class OrderOutcome:
    """An order, what it needs, and the bound that is proven; optimal where both are equal."""

    order: list[int]
    peak: int
    bound: int
    solver: str
    proof: Proof | None = None  # of the bound; None where it was given
    prover: str | None = None  # who has proven the bound; None: the solver
    known: KnownOrders | None = field(default=None, compare=False)


class OrderSolver(Protocol):
    """One way to order operators."""

    @property
    def name(self) -> str:
        """What it is called."""

    @property
    def summary(self) -> str:
        """What it does, in a line."""

    def solve(self, task: OrderTask, budget: _native.Budget, listeners: OrderListeners) -> OrderOutcome:
        """The best order within the budget."""


class LeastPeak:
    """Bounds from cuts, beams, and a search with commits in both directions, in native code."""

    name: Final = "order"
    summary: Final = "the order of operators with the least peak, and the proof that none has less"

    def solve(self, task: OrderTask, budget: _native.Budget, listeners: OrderListeners) -> OrderOutcome:
        """The best order found, and the bound proven; what was stopped early proves nothing."""
        tell = listeners.order
        result = _native.least_peak(
            task.instance.native,
            _native.LeastPeakOptions(
                enough=-1 if task.enough is None else task.enough,
                bound=task.bound,
                workers=1 if task.deterministic else task.workers,
                memory=task.memory,
                most_kept=_MOST_KEPT,
            ),
            budget,
            None if tell is None else lambda peak, order: tell(self.name, peak, order),
            lambda bound: listeners.bound(self.name, bound),
        )
        proof = _proof_of(task, result)
        return OrderOutcome(result.order, result.peak, result.bound, self.name, proof, known=result)


def _proof_of(task: OrderTask, result: _native.LeastPeak) -> Proof | None:
    refuted = result.refuted
    if refuted is not None and refuted.limit + 1 == result.bound:
        return prove_refuted(task.instance, refuted)
    if result.cut_bytes == result.bound:
        return prove_cut(task.instance, result.cut, result.bound)
    return None


def peak_of(instance: OrderInstance, order: list[int]) -> int:
    """The most that a step of the order needs."""
    return max(_native.order_needs(instance.native, order), default=live_bytes(instance, ()))


@dataclass(frozen=True, slots=True)
class Classic:
    """A published or plain rule, for comparison: its order is what it is, and the bound that of cuts."""

    name: str
    summary: str
    rule: Callable[[OrderInstance], list[int]]

    def solve(self, task: OrderTask, budget: _native.Budget, listeners: OrderListeners) -> OrderOutcome:
        """The order of the rule, whatever the budget; cuts as long as there is time."""
        instance = task.instance
        order = self.rule(instance)
        peak = peak_of(instance, order)
        if listeners.order is not None:
            listeners.order(self.name, peak, order)
        bound, operator = live_bytes(instance, ()), -1
        if order:
            bound, operator = _native.cut_bound(instance.native, order, budget)
        proven = max(bound, task.bound)
        listeners.bound(LeastPeak.name, proven)
        proof = prove_cut(instance, operator, bound) if bound == proven else None
        return OrderOutcome(order, peak, proven, self.name, proof, LeastPeak.name)


ORDER_SOLVERS: Final[Mapping[str, OrderSolver]] = MappingProxyType(
    {
        entry.name: entry
        for entry in (
            LeastPeak(),
            Classic("given", "the order that the program has", lambda entry: list(entry.listed)),
            Classic(
                "lpmf", "least peak memory first, as in PyTorch", lambda entry: _native.lpmf(entry.native)
            ),
            Classic(
                "dfs",
                "depth first from the results: topological by depth",
                lambda entry: _native.depth_first(entry.native),
            ),
        )
    }
)


def order_within(
    instance: OrderInstance, limit: int, seed: int, budget: _native.Budget
) -> "array[int] | None":
    """An order within the limit, another for each seed; None where none was found in time."""
    order = _native.order_within(instance.native, limit, seed, budget)
    return array("q", order) if order or not instance.operator_count else None


def write_order_proof(
    instance: OrderInstance,
    order: Sequence[int],
    height: int,
    path: str,
    digest: bytes,
    memory: int,
    budget: _native.Budget,
    known: KnownOrders | None = None,
) -> _native.WrittenOrderProof:
    """Write why no order keeps to the height, or to the greatest below for which that can be shown.

    `order`: any one of the operators, best one that needs little; `digest`: of the graph's file; `known`:
    what a run has proven of the same graph.
    """
    return _native.write_order_proof(
        instance.native, list(order), height, path, digest, memory, known, budget
    )
