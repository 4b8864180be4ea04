"""How much of what operators make is made at least, in any stripes: also by each of several runs.

A stripe makes no more of an image than who reads it needs, in rows from the first on and in columns. So an
operator makes what its readers need together, of what they make themselves; and where it runs again, what one
of those needs for whom it does.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache, reduce
from heapq import heappop, heappush
from itertools import pairwise
from operator import and_, or_
from typing import Final

from memstow.planner.graph.links import NOBODY, links_of, listed_order
from memstow.planner.graph.operators import Axis, Kind, kinds_if_unbound, operator_costs
from memstow.planner.model.graph import Graph
from memstow.records import Remembered, record

Ranges = tuple[tuple[int, int], ...]
"""Columns from each of these on and up to its end, ascending; no two meet."""

_MOST_RANGES: Final = 1 << 12


@record
class Made:
    """What an operator makes in stripes: the first so many rows, in these columns."""

    rows: int
    columns: Ranges

    @property
    def count(self) -> int:
        return self.rows * sum(end - begin for begin, end in self.columns)

    def __or__(self, other: "Made") -> "Made":
        ranges: list[tuple[int, int]] = []
        for begin, end in sorted((*self.columns, *other.columns)):
            _append(ranges, begin, end)
        return Made(max(self.rows, other.rows), tuple(ranges))

    def __and__(self, other: "Made") -> "Made":
        mine, others = list(self.columns), list(other.columns)
        ranges: list[tuple[int, int]] = []
        while mine and others:
            begin, end = max(mine[0][0], others[0][0]), min(mine[0][1], others[0][1])
            if begin < end:
                ranges.append((begin, end))
            (mine if mine[0][1] < others[0][1] else others).pop(0)
        return Made(min(self.rows, other.rows), tuple(ranges))


_NOTHING: Final = Made(0, ())


@record
class Share:
    """A part of what an operator makes."""

    made: int
    of: int

    def cost(self, cost: int) -> int:
        """What it costs, where all costs this."""
        return -(-cost * self.made // self.of)


_ALL: Final = Share(1, 1)


@record
class Rerun:
    """Of an operator that runs twice or more, each time for some of its readers."""

    each: Share
    """What each run makes at least."""
    more: Share
    """What all of them make at least beside what is made in any case."""

    def adds(self, cost: int) -> int:
        """What is added to the cost of what is made in any case, where all costs this."""
        return cost * self.more.made // self.more.of


@Remembered
def shares_in_stripes(graph: Graph) -> list[Share]:
    """By operator of a valid graph, how much is made at least of what it makes, in any stripes."""
    return shares_of_decided(graph, frozenset())


def shares_of_decided(graph: Graph, undecided: AbstractSet[str]) -> list[Share]:
    """The same whoever takes the place of the undecided ones, of which nothing is known.

    What nobody reads may be read in part by one of those that are not known.
    """
    cut, made = kinds_if_unbound(graph), _made_for_all(graph, undecided)
    return [
        Share(0, 1) if operator.id in undecided else _share(kind, None if own is None else own.count)
        for operator, kind, own in zip(graph.operators, cut, made, strict=True)
    ]


def least_cost_in_stripes(graph: Graph, undecided: AbstractSet[str] = frozenset()) -> int:
    """What the other operators cost at least, also where a stripe makes no more of a tensor than is read."""
    shares = shares_of_decided(graph, undecided)
    return sum(share.cost(cost) for cost, share in zip(operator_costs(graph), shares, strict=True))


@Remembered
def reruns_in_stripes(graph: Graph) -> list[Rerun]:
    """By operator of a valid graph, what its runs make in any stripes if there are several."""
    cut, readers_of = kinds_if_unbound(graph), links_of(graph).readers
    together = _made_for_all(graph, frozenset())
    each: list[Made | None] = [None] * len(graph.operators)
    reruns: list[Rerun] = [Rerun(_ALL, _ALL)] * len(graph.operators)
    for operator in reversed(listed_order(graph)):
        kind = cut[operator]
        if kind is None or kind.reduces or not readers_of[kind.output]:
            continue
        needs = [_needed(kind, cut[entry], each[entry]) for entry in readers_of[kind.output]]
        each[operator] = reduce(and_, needs)
        counts = [need.count for need in needs]
        all_ = _count(kind, together[operator])
        # One of two runs is for the reader that needs most.
        more = max(max(counts) + min(counts) - all_, 0)
        reruns[operator] = Rerun(_share(kind, min(counts)), _share(kind, more))
    return reruns


@record
class LaterRun:
    """A run of an operator of a path that has run, for some of the path that are still to run."""

    place: int
    """The first of the path that is still to run; also of those after it, up to the next of this operator."""
    operator: int
    made: Share
    """What it makes at least."""


def later_runs(graph: Graph, path: Sequence[int]) -> Iterator[LaterRun]:
    """By operator of a path, what other runs of it make at least, the more of the path has run; by place.

    Each of the path reads what the one before makes, and there is a run of each that makes what the run of
    the next one needs. Other runs are for one of these that is still to run, or for another run that is.
    """
    cut, links = kinds_if_unbound(graph), links_of(graph)
    place = {operator: at for at, operator in enumerate(path)}
    order = listed_order(graph)
    rank = {operator: at for at, operator in enumerate(order)}
    made = dict[int, Made | None].fromkeys(order) | made_along(graph, path)
    """By operator, of its next run: of one of the path, up to where it has run, of that run."""

    def least(operator: int) -> Made | None:
        kind = cut[operator]
        readers = () if kind is None or kind.reduces else links.readers[kind.output]
        if kind is None or not readers:
            return None
        return reduce(and_, (_needed(kind, cut[reader], made[reader]) for reader in readers))

    for operator in reversed(order):
        if operator not in place:
            made[operator] = least(operator)
    for first, operator in enumerate(path, 1):
        waiting = [(-rank[operator], operator)]
        while waiting:
            _, changed = heappop(waiting)
            now, before = least(changed), made[changed]
            if changed == operator or (changed in place and now != before):
                yield LaterRun(first, changed, _share(cut[changed], None if now is None else now.count))
            if now == before:
                continue
            made[changed] = now
            for name in graph.operators[changed].inputs:
                maker = links.producer[links.tensor_index[name]]
                if maker != NOBODY and place.get(maker, NOBODY) < first:
                    heappush(waiting, (-rank[maker], maker))


def made_along(graph: Graph, path: Sequence[int]) -> dict[int, Made | None]:
    """By operator of a path, what the run of it makes at least that the next one reads; None: all."""
    cut = kinds_if_unbound(graph)
    made: dict[int, Made | None] = {path[-1]: None}
    for operator, then in reversed([*pairwise(path)]):
        if (kind := cut[operator]) is None or kind.reduces:
            made[operator] = None
        else:
            made[operator] = _needed(kind, cut[then], made[then])
    return made


def made_before(graph: Graph, path: Sequence[int], *, all_of_it: bool = False) -> dict[int, int]:
    """By operator beside a path, the first place of it whose run reads all that is counted of that operator.

    Or all that it can make, where that run makes all as well. Where no run of the path alone needs as much,
    the operator is left out.
    """
    cut, links = kinds_if_unbound(graph), links_of(graph)
    along, together = made_along(graph, path), _made_for_all(graph, frozenset())
    first: dict[int, int] = {}
    for place, reader in enumerate(path):
        makers = {links.producer[links.tensor_index[name]] for name in graph.operators[reader].inputs}
        if all_of_it and not _is_all(cut[reader], along[reader]):
            continue
        for operator in makers - {NOBODY, *along}:
            kind, counted = cut[operator], None if all_of_it else together[operator]
            if kind is None or _needed(kind, cut[reader], along[reader]).count >= _count(kind, counted):
                first.setdefault(operator, place)
    return first


def _is_all(kind: Kind | None, made: Made | None) -> bool:
    return kind is None or made is None or made.count == _count(kind, None)


def _count(kind: Kind, made: Made | None) -> int:
    return kind.rows * kind.columns if made is None else made.count


def _made_for_all(graph: Graph, undecided: AbstractSet[str]) -> list[Made | None]:
    """By operator, what its runs make together at least; None: all of it, or it is not decided."""
    cut, readers_of = kinds_if_unbound(graph), links_of(graph).readers
    kept = {links_of(graph).tensor_index[name] for name in graph.outputs}
    made: list[Made | None] = [None] * len(graph.operators)
    for operator in reversed(listed_order(graph)):
        kind = cut[operator]
        if kind is None or kind.reduces or graph.operators[operator].id in undecided:
            continue
        readers = readers_of[kind.output]
        is_whole = kind.output in kept or graph.tensors[kind.output].kind == "external"
        if is_whole or not (readers or undecided):
            continue
        known = [entry for entry in readers if graph.operators[entry].id not in undecided]
        made[operator] = reduce(or_, (_needed(kind, cut[entry], made[entry]) for entry in known), _NOTHING)
    return made


def _share(kind: Kind | None, count: int | None) -> Share:
    """Of all that it makes, where count is None."""
    return _ALL if kind is None or count is None else Share(count, kind.rows * kind.columns)


def _needed(kind: Kind, reader: Kind | None, made: Made | None) -> Made:
    """What a reader that makes this needs of what an operator of a kind makes; None: all of it."""
    if reader is None:
        return Made(kind.rows, ((0, kind.columns),))
    own = Made(reader.rows, ((0, reader.columns),)) if made is None else made
    uses = (use for use in reader.uses if use.tensor == kind.output)
    return reduce(
        or_, (Made(_rows_read(use.rows, own.rows), _read(use.columns, own.columns)) for use in uses)
    )


def _rows_read(axis: Axis, rows: int) -> int:
    return axis.end(rows - 1) if rows else 0


@lru_cache(maxsize=1 << 12)
def _read(axis: Axis, ranges: Ranges) -> Ranges:
    """What of an input so many places need; nothing where that is too many ranges."""
    needed: list[tuple[int, int]] = []
    for begin, end in ranges:
        for place in range(begin, end):
            _append(needed, axis.first(place), axis.end(place))
    return tuple(needed) if len(needed) <= _MOST_RANGES else ()


def _append(ranges: list[tuple[int, int]], begin: int, end: int) -> None:
    """Add a range to those that begin before."""
    if begin >= end:
        return
    if ranges and begin <= ranges[-1][1]:
        ranges[-1] = ranges[-1][0], max(end, ranges[-1][1])
    else:
        ranges.append((begin, end))
