"""What is made anew while a path waits: it needs room, and costs what stripes cost.

A tensor beside a path, of which one of the path reads all, is there between two others of it, or it is made
between that moment and the end of its reader's stripe. Until then, what the path hands on at some place is
there as a whole: between two stripes, and in a stripe that reads it. What makes the tensor are stripes as
well. So they need and cost no less than the cheapest way to cut a path to its maker into stripes beside what
is handed on, from any place of that path on, since something of it may still be there.

Where tensors may wait elsewhere, this is known of the end of a stripe with what the tensor is made of, of
which only rows were there: if the tensor is not there, all of that runs again for it, before or after.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from memstow.planner.graph.links import NOBODY, links_of, listed_order
from memstow.planner.graph.operators import kinds_if_unbound
from memstow.planner.graph.shares import made_before
from memstow.planner.model.graph import Graph, size_of
from memstow.solvers.graph_programs import CutLevel, PathCut, StripePoint

_MOST_WAYS: Final = 8
_MOST_LEVELS: Final = 64


@dataclass(frozen=True, slots=True)
class Remade:
    """A tensor that is made of what the path makes, and not on it."""

    size: int
    maker: int
    begin: int
    """The first place of the path after all of those that it is made of."""
    end: int
    """A place that reads all of it."""
    used: frozenset[int]
    """Places before the end that read some of it."""


def remade(graph: Graph, path: Sequence[int], cuts: Sequence[PathCut]) -> Iterator[Remade]:
    """Those that may be bounded like that, by makers."""
    links, place = links_of(graph), {operator: at for at, operator in enumerate(path)}
    last = [NOBODY] * len(graph.operators)
    """By operator, the last of the path that it depends on, or that it is."""
    for operator in listed_order(graph):
        last[operator] = max(last[operator], place.get(operator, NOBODY))
        for then in links.after[operator]:
            last[then] = max(last[then], last[operator])
    for maker, end in sorted(made_before(graph, path, all_of_it=True).items()):
        kind = kinds_if_unbound(graph)[maker]
        begin = last[maker] + 1
        if kind is None or not 0 < begin < end or not all(cut.continues for cut in cuts[begin + 1 : end]):
            continue
        tensor = graph.tensors[kind.output]
        if tensor.kind == "data" and len(graph.operators[maker].outputs) == 1 and size_of(tensor):
            readers = {place.get(reader, end) for reader in links.readers[kind.output]}
            used = frozenset(reader for reader in readers if reader < end)
            yield Remade(size_of(tensor), maker, begin, end, used)


def with_remade(
    cuts: Sequence[PathCut], entry: Remade, ways: Sequence[StripePoint], last: int | None = None
) -> Iterator[PathCut]:
    """The same cuts where a tensor is there, or needs and costs no less than one of these ways.

    `last`: only at the end of stripes that begin up to this place.
    """
    first = entry.begin
    while first > 0 and cuts[first].continues:
        first -= 1
    end = first + 1 + len([*takewhile(lambda cut: cut.continues, cuts[first + 1 :])])
    few = _few(ways)
    levels: list[tuple[CutLevel, ...]] = []
    for level in zip(*(cut.levels for cut in cuts[first:end]), strict=True):
        there = tuple(
            _where_there(one, entry, first + at, last) if entry.begin <= first + at < entry.end else one
            for at, one in enumerate(level)
        )
        levels.append(there)
        if there != level:
            levels += _made_anew(level, few)
    chosen = sorted(_best(levels), key=lambda level: level[0].cost)
    if len(chosen) > _MOST_LEVELS:
        yield from cuts
        return
    yield from cuts[:first]
    for at in range(first, end):
        yield PathCut([level[at - first] for level in chosen], cuts[at].continues)
    yield from cuts[end:]


def _few(ways: Sequence[StripePoint]) -> list[tuple[int, int]]:
    """Bytes and cost of these, ascending in bytes: where there are too many, each stands for some."""
    few = [(way.bytes, way.cost) for way in ways]
    while len(few) > _MOST_WAYS:
        at = min(range(len(few) - 1), key=lambda at: few[at][1] - few[at + 1][1])
        few[at : at + 2] = [(few[at][0], few[at + 1][1])]
    return few


def _where_there(level: CutLevel, entry: Remade, place: int, last: int | None) -> CutLevel:
    size = entry.size
    if last is not None:
        read = [max(least, size) if at <= last else least for at, least in enumerate(level.beside_read)]
        return level._replace(beside_read=read)
    return level._replace(
        running=level.running if place in entry.used else max(level.running, size),
        after=max(level.after, size),
        beside_read=[max(least, size) for least in level.beside_read],
        beside_gone=[max(least, size) for least in level.beside_gone],
    )


def _made_anew(
    level: tuple[CutLevel, ...], ways: Sequence[tuple[int, int]]
) -> Iterator[tuple[CutLevel, ...]]:
    for needs, adds in ways:
        cost, peak = max(level[0].cost, adds), max(level[0].peak, needs)
        yield tuple(one._replace(cost=cost, peak=peak) for one in level)
        if adds <= level[0].cost:
            return  # The others need more.


def _best(levels: Sequence[tuple[CutLevel, ...]]) -> list[tuple[CutLevel, ...]]:
    """Without those as bad as which another one is in all."""
    best: list[tuple[CutLevel, ...]] = []
    for level in sorted(levels, key=lambda level: (level[0].cost, level[0].peak)):
        if not any(_is_as_bad(level, known) for known in best):
            best = [known for known in best if not _is_as_bad(known, level)] + [level]
    return best


def _is_as_bad(level: tuple[CutLevel, ...], known: tuple[CutLevel, ...]) -> bool:
    return all(_says_no_less(own, other) for own, other in zip(level, known, strict=True))


def _says_no_less(own: CutLevel, other: CutLevel) -> bool:
    return (
        own.cost >= other.cost
        and own.peak >= other.peak
        and own.running >= other.running
        and own.after >= other.after
        and own.begin >= other.begin
        and own.end <= other.end
        and _are_at_least(own.beside_read, own.after, other.beside_read, other.after)
        and _are_at_least(own.beside_gone, own.after, other.beside_gone, other.after)
        and _are_at_least(own.beside_next, own.after, other.beside_next, other.after)
    )


def _are_at_least(own: Sequence[int], rest: int, others: Sequence[int], other_rest: int) -> bool:
    """By place; of those beyond the end, the rest is known."""
    count = max(len(own), len(others))
    return all(
        (own[at] if at < len(own) else rest) >= (others[at] if at < len(others) else other_rest)
        for at in range(count)
    )
