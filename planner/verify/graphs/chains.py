"""Checks chains: storages of which one is live in every set of operators between two."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memstow.planner.verify.graphs.untimed import Ops, Untimed, members

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ChainOf:
    """Storages by number; `saving`: instead of a storage before them, that a pair does not save."""

    bytes: int
    storages: Sequence[int]
    saving: int | None = None


@dataclass(frozen=True, slots=True)
class Between:
    """Sets that have all of `inside` and none of `outside`; `running`: an operator that runs then."""

    inside: Ops
    outside: Ops
    running: Ops = 0


class Broken(Exception):  # noqa: N818
    """Why a proof is none."""


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
    """What the chains add to the storages that are always live. Raises Broken where one does not hold."""
    total = 0
    used: Counter[int] = Counter()
    saved: Counter[int] = Counter()
    for chain in chains:
        if chain.bytes <= 0:
            raise Broken("a chain has no bytes")
        graph.effort.spend(1 + len(chain.storages))
        _check_chain(graph, between, chain, pairs)
        for number in chain.storages:
            used[number] += chain.bytes
        if chain.saving is not None:
            saved[chain.saving] += chain.bytes
        total += chain.bytes
    for number, bytes_used in used.items():
        if bytes_used > graph.storages[number].size or always_live(graph, between, number):
            raise Broken("a storage is in chains with more bytes than it has")
    for index, bytes_saved in saved.items():
        if bytes_saved > saving_of(graph, pairs[index]):
            raise Broken("a pair is in chains with more bytes than it saves")
    return total


def saving_of(graph: Untimed, pair: Pair) -> int:
    """The most that a pair saves."""
    return min(graph.storages[it].size for it in pair)


def _check_chain(graph: Untimed, between: Between, chain: ChainOf, pairs: Sequence[Pair]) -> None:
    """As long as no storage so far is live, each has begun and ended, and the next has begun."""
    done = between.inside
    ended = True
    if chain.saving is not None:
        if not 0 <= chain.saving < len(pairs):
            raise Broken("a chain names a pair that is not granted")
        source = graph.storages[pairs[chain.saving][0]]
        others = source.ends & ~between.running
        ended = not source.to_end and not others & between.outside
        done |= graph.closure(others)
    for number in chain.storages:
        if not graph.begun(number, done | between.running):
            raise Broken("a storage of a chain need not have begun where the one before it has ended")
        ended = not never_ended(graph, between, number)
        done |= graph.closure(graph.storages[number].ends & ~between.outside)
    if ended:
        raise Broken("all storages of a chain may have ended")


def possible_pairs(graph: Untimed, op: int) -> list[Pair]:
    """The pairs of an operator that save something in some order."""
    before, after = graph.all_before[op], graph.all_after[op]
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
    return (
        graph.base
        + graph.extra[op]
        + sum(
            storage.size
            for number, storage in enumerate(graph.storages)
            if always_live(graph, between, number)
        )
    )


def around(graph: Untimed, op: int) -> Between:
    """The sets after which an operator can run."""
    return Between(graph.all_before[op], graph.all_after[op] | 1 << op, 1 << op)


def touched(graph: Untimed, ops: Ops) -> set[int]:
    """The storages that some of these operators may begin or end."""
    graph.effort.spend(sum(1 + len(graph.uses[op]) for op in members(ops)))
    return {number for op in members(ops) for number in graph.uses[op]}
