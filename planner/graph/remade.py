"""What is made anew while a path waits: it needs room, and costs what stripes cost.

A tensor beside a path, of which one of the path reads all, is there between two others of it, or it is made
between that moment and the end of its reader's stripe. Until then, what the path hands on at some place is
there as a whole: between two stripes, and in a stripe that reads it. What makes the tensor are stripes as
well. So they need and cost no less than the cheapest way to cut a path to its maker into stripes beside what
is handed on, from any place of that path on, since something of it may still be there.

Some of the path run by themselves, and read the ends of chains beside it, which begin at one of the path.
Between these, what that one makes is there, or something of each chain that is still to be read; or it runs
again, in a stripe that ends with something of a chain at the latest (`shared`).

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
    """A tensor that is made of what the path makes, and not on it; or for chains beside it."""

    sizes: tuple[int, ...]
    """By place from `begin` to the end, the bytes that are there if it is not made anew."""
    maker: int
    begin: int
    """The first place of the path after all of those that it is made of."""
    end: int
    """A place that reads all of it."""
    used: frozenset[int]
    """Places before the end that read some of it."""
    way: tuple[int, ...] = ()
    """Operators one after the other, among them its maker, to one that the end reads; empty: any.

    Those after the maker need no more than others in their place.
    """
    handed_on: int | None = None
    """The place of the path that hands it on, where something of each chain may be there instead."""
    chains: frozenset[int] = frozenset()
    """Operators that make those."""


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
        if tensor.kind == "data" and size_of(tensor):
            readers = {place.get(reader, end) for reader in links.readers[kind.output]}
            used = frozenset(reader for reader in readers if reader < end)
            yield Remade((size_of(tensor),) * (end - begin), maker, begin, end, used)


@dataclass(frozen=True, slots=True)
class _Chain:
    """Operators beside a path, each of which reads only what the one before makes, the first of the path."""

    begin: int
    """The place of that one."""
    end: int
    """The place that reads what the last one makes."""
    operators: tuple[int, ...]
    sizes: tuple[int, ...]
    """By operator, of what it makes."""


def shared(graph: Graph, path: Sequence[int], cuts: Sequence[PathCut]) -> Iterator[Remade]:
    """What operators of the path make for chains beside it, the ends of which others of the path read."""
    chains: dict[int, list[_Chain]] = {}
    for chain in _chains(graph, path):
        chains.setdefault(chain.begin, []).append(chain)
    links = links_of(graph)
    for place, known in chains.items():
        tensor, last = _made_alone(graph, path[place]), known[-1]
        begin = known[0].end - 1
        if tensor is None or begin <= place:
            continue
        readers = {path[place + 1], *(chain.operators[0] for chain in known)}
        if (
            not readers.issuperset(links.readers[tensor])
            or not all(cut.continues for cut in cuts[begin + 1 : last.end])
            or not all(_stands_for(graph, last, chain) for chain in known)
            # Those that run by themselves have all of a chain there.
            or any(kinds_if_unbound(graph)[path[chain.end]] for chain in known)
        ):
            continue
        size = size_of(graph.tensors[tensor])
        sizes = tuple(
            min(size, sum(min(chain.sizes) for chain in known if chain.end > at))
            for at in range(begin, last.end)
        )
        way = (*path[: place + 1], *last.operators)
        chained = frozenset(operator for chain in known for operator in chain.operators)
        yield Remade(sizes, path[place], begin, last.end, frozenset(), way, place, chained)


def _chains(graph: Graph, path: Sequence[int]) -> Iterator[_Chain]:
    """Ascending by their ends, each of which reads all of what the last one makes, whose readers are one."""
    links, place = links_of(graph), {operator: at for at, operator in enumerate(path)}
    ends = made_before(graph, path, all_of_it=True)
    for maker, end in sorted(ends.items(), key=lambda pair: pair[1]):
        operators: list[int] = []
        sizes: list[int] = []
        operator = maker
        while operator != NOBODY and operator not in place:
            tensor, read = _made_alone(graph, operator), _only_read(graph, operator)
            if tensor is None or read is None or len(links.readers[tensor]) != 1:
                break
            operators.insert(0, operator)
            sizes.insert(0, size_of(graph.tensors[tensor]))
            operator = links.producer[read]
        if operator in place and operators:
            yield _Chain(place[operator], end, tuple(operators), tuple(sizes))


def _made_alone(graph: Graph, operator: int) -> int | None:
    """The tensor that is all that an operator makes, in rows, if nobody keeps it."""
    kind = kinds_if_unbound(graph)[operator]
    if kind is None or kind.reduces:
        return None
    tensor = graph.tensors[kind.output]
    return kind.output if tensor.kind == "data" and tensor.id not in graph.outputs else None


def _only_read(graph: Graph, operator: int) -> int | None:
    """The tensor that is all that an operator reads, beside constants."""
    index = links_of(graph).tensor_index
    read = {index[name] for name in graph.operators[operator].inputs}
    read = {tensor for tensor in read if graph.tensors[tensor].kind != "constant"}
    return read.pop() if len(read) == 1 else None


def _stands_for(graph: Graph, chain: _Chain, other: _Chain) -> bool:
    """Whether its operators read as those of another do, and need no more."""
    known = kinds_if_unbound(graph)

    def shapes(operators: Sequence[int]) -> list[tuple[object, ...]]:
        """What each makes, and what it needs for that."""
        kinds = (kind for operator in operators if (kind := known[operator]) is not None)
        return [(kind.rows, kind.columns, *((use.rows, use.columns) for use in kind.uses)) for kind in kinds]

    return (
        shapes(chain.operators) == shapes(other.operators)
        and all(own <= size for own, size in zip(chain.sizes, other.sizes, strict=True))
        and not any(graph.operators[operator].temporaries for operator in chain.operators)
    )


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
    size = entry.sizes[place - entry.begin]
    if last is not None:
        read = [max(least, size) if at <= last else least for at, least in enumerate(level.beside_read)]
        return level._replace(beside_read=read)
    if entry.handed_on is not None:
        level = _may_be_among(level, entry.handed_on)

    def beside(known: Sequence[int]) -> list[int]:
        """From place -1 on; beside what may be there instead, nothing more need be."""
        return [least if at == entry.handed_on else max(least, size) for at, least in enumerate(known, -1)]

    return level._replace(
        running=level.running if place in entry.used else max(level.running, size),
        after=max(level.after, size),
        beside_read=beside(level.beside_read),
        beside_gone=beside(level.beside_gone),
    )


def _may_be_among(level: CutLevel, place: int) -> CutLevel:
    """The same where what is handed on at an earlier place may be among what is needed."""
    end = max(level.end, place + 1)

    def up_to_end(known: Sequence[int]) -> list[int]:
        return [*known, *[level.after] * (end + 1 - len(known))]

    return level._replace(
        begin=min(level.begin, place),
        end=end,
        beside_read=up_to_end(level.beside_read),
        beside_gone=up_to_end(level.beside_gone) if level.beside_gone else level.beside_gone,
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
