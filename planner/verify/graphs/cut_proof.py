"""Checks that an operator needs its bytes in any order: for each way to save in place, chains."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.verify.graphs.chains import (
    Broken,
    ChainOf,
    Pair,
    around,
    chained_bytes,
    fixed_bytes,
    possible_pairs,
    saving_of,
)
from memstow.planner.verify.graphs.untimed import Untimed

_MOST_CHOICES: Final = 4096


@dataclass(frozen=True, slots=True)
class WayOf:
    """Pairs that are granted to the operator, and chains."""

    pairs: Sequence[Pair]
    chains: Sequence[ChainOf]


def needed_by(graph: Untimed, op: int, ways: Sequence[WayOf]) -> int:
    """The bytes that the operator needs according to the ways. Raises Broken where they show nothing."""
    possible = possible_pairs(graph, op)
    if not _best_for_each_output(graph, possible, ways):
        _check_all_ways(graph, possible, ways)
    between, fixed = around(graph, op), fixed_bytes(graph, op)
    return min(
        fixed
        - sum(saving_of(graph, pair) for pair in way.pairs)
        + chained_bytes(graph, between, way.chains, way.pairs)
        for way in ways
    )


def at_the_ends(graph: Untimed) -> int:
    """What is live before the first operator, also what nobody reads, or after the last."""
    start = graph.base + sum(storage.size for storage in graph.storages if storage.from_start)
    return max(start, graph.live(graph.everything))


def _best_for_each_output(graph: Untimed, possible: Sequence[Pair], ways: Sequence[WayOf]) -> bool:
    """Whether there is one way that grants the best pair of every output: no set of pairs saves more.

    Where a chain rests on a pair that does not save, no other pair may save in its stead: all are granted.
    """
    if len(ways) != 1:
        return False
    pairs = frozenset(ways[0].pairs)
    rested_on = {
        ways[0].pairs[chain.saving][1]
        for chain in ways[0].chains
        if chain.saving is not None and 0 <= chain.saving < len(ways[0].pairs)
    }
    if any(pair[1] in rested_on and pair not in pairs for pair in possible):
        return False
    granted: dict[int, int] = {}
    for source, target in ways[0].pairs:
        granted[target] = max(granted.get(target, 0), saving_of(graph, (source, target)))
    return all(granted.get(target, 0) >= saving_of(graph, (source, target)) for source, target in possible)


def _check_all_ways(graph: Untimed, possible: Sequence[Pair], ways: Sequence[WayOf]) -> None:
    granted = [frozenset(way.pairs) for way in ways]
    choices = [frozenset[Pair]()]
    for pair in possible:
        graph.effort.spend(len(choices))
        for choice in list(choices):
            if all(pair[0] != source and pair[1] != target for source, target in choice):
                choices.append(choice | {pair})
        if len(choices) > _MOST_CHOICES:
            raise Broken("there are too many ways to save in place to count")
    graph.effort.spend(len(choices) * len(granted))
    if not all(any(choice <= pairs for pairs in granted) for choice in choices):
        raise Broken("a way to save in place is missing")
