"""Schedules for ways to cut a path through a graph into stripes, with other runs and copies in between.

Bounds of all schedules come from such ways (`planner.graph.path_bounds`): at each cut, what others still read
is there, or is made again, or waits. These are orders that may be as good: what is needed beside the path at
a cut is made by the stripe before; or by runs of its own before that stripe, or after it, from what that one
reads; or in the stripes to come. In the meantime it may wait, and so may what the path hands on while others
run. Stripes are then looked for in these orders.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice, product
from typing import Final

from memstow.planner.graph.links import NOBODY, links_of, topological_order
from memstow.planner.graph.schedules import can_spill
from memstow.planner.model.graph import GIVEN, Graph
from memstow.planner.model.plan import Schedule, Spill

# Those that help at one cut each are tried together, so many at most.
_MOST_TOGETHER: Final = 64


class _Made(Enum):
    """When that is made which is needed beside the path at a cut."""

    WITHIN = auto()
    """By the stripe before the cut, if one makes it."""
    BEFORE = auto()
    """By runs of its own, before that stripe."""
    AFTER = auto()
    """By runs of its own, after that stripe."""
    LATER = auto()
    """Where it is read."""


@dataclass(frozen=True, slots=True)
class Detour:
    """What is done at a cut of the path."""

    made: _Made = _Made.WITHIN
    beside_waits: bool = False
    """Whether what is needed beside the path waits until it is read."""
    path_waits: bool = False
    """Whether what the path hands on waits while others run."""


_NONE: Final = Detour()


def _all_detours(kinds: AbstractSet[str]) -> Iterator[Detour]:
    waiting = (False, True) if "spill" in kinds else (False,)
    for made, beside_waits, path_waits in product(_Made, waiting, waiting):
        is_possible = made is _Made.WITHIN or "recompute" in kinds
        is_of_use = not (path_waits and made is not _Made.AFTER) and not (
            beside_waits and made is _Made.LATER
        )
        detour = Detour(made, beside_waits, path_waits)
        if is_possible and is_of_use and detour != _NONE:
            yield detour


class Along:
    """Schedules of a valid graph without alternatives along a path, from one order of its operators."""

    def __init__(self, graph: Graph, path: Sequence[int], order: Sequence[int], pool: str | None) -> None:
        """`pool`: where tensors wait; None: they do not."""
        self._graph = graph
        self._path = path
        self._order = list(order)
        self._pool = pool
        self._links = links = links_of(graph)
        self._rank = {operator: at for at, operator in enumerate(order)}
        index = links.tensor_index
        self._reads = [[index[name] for name in dict.fromkeys(entry.inputs)] for entry in graph.operators]
        self._makes = [[index[name] for name in entry.outputs] for entry in graph.operators]
        self._beside: dict[int, list[int]] = {}

    def beside(self, cut: int) -> list[int]:
        """What is needed beside the path after this place of it has run, of what others have made by then."""
        if cut not in self._beside:
            end, handed = self._rank[self._path[cut]] + 1, self._makes[self._path[cut]]
            needed = {tensor for operator in self._order[end:] for tensor in self._reads[operator]}
            needed.update(self._links.tensor_index[name] for name in self._graph.outputs)
            made = [tensor for operator in self._order[:end] for tensor in self._makes[operator]]
            self._beside[cut] = [tensor for tensor in made if tensor in needed and tensor not in handed]
        return self._beside[cut]

    def schedule(self, at_cuts: Mapping[int, Detour]) -> Schedule | None:
        """With one detour for each cut, ascending; None where the order that is given does not allow them."""
        run = _Running(self._reads, self._makes, self._links.producer, self._rank)
        inputs, whole = frozenset(run.there), set(run.there)
        begin = 0
        for cut, detour in at_cuts.items():
            last = self._path[cut]
            end, beside, handed = self._rank[last] + 1, self.beside(cut), self._makes[last]
            is_made = detour.made in (_Made.WITHIN, _Made.BEFORE)
            if detour.made is _Made.BEFORE:
                run.make(beside)
                run.there = whole.union(beside)
            if is_made or self._graph.order == GIVEN:
                run.first(self._order[begin:end])
            run.make(handed)
            at_end = len(run.order) - 1
            if not is_made:
                run.there = whole.union(handed)
            if detour.made is _Made.AFTER:
                run.make(beside)
            # Else what that is made of stays.
            if run.there.issuperset(beside):
                whole = {*inputs, *beside}
            whole.update(handed)
            run.there = set(whole)
            run.waits += ((tensor, at_end) for tensor in handed if detour.path_waits)
            run.waits += ((tensor, len(run.order) - 1) for tensor in beside if detour.beside_waits)
            begin = end
        run.first(self._order)
        return self._schedule(run)

    def _schedule(self, run: "_Running") -> Schedule | None:
        if self._graph.order == GIVEN and [*dict.fromkeys(run.order)] != self._order:
            return None
        operators, tensors = self._graph.operators, self._graph.tensors
        gaps = {(tensor, gap) for tensor, at in run.waits if (gap := run.gap(tensor, at)) is not None}
        spills = [
            Spill(tensor=tensors[tensor].id, pool=self._pool, out=out, back=back)
            for tensor, (out, back) in gaps
            if self._pool is not None and can_spill(self._graph, tensors[tensor])
        ]
        spills.sort(key=lambda entry: (entry.out, entry.back, entry.tensor))
        return Schedule(order=tuple(operators[at].id for at in run.order), spills=tuple(spills))


class _Running:
    """An order that is made step by step."""

    def __init__(
        self,
        reads: Sequence[Sequence[int]],
        makes: Sequence[Sequence[int]],
        producer: Sequence[int],
        rank: Mapping[int, int],
    ) -> None:
        self.order: list[int] = []
        self.there = {tensor for tensor, maker in enumerate(producer) if maker == NOBODY}
        """What may be read without running its maker again."""
        self.waits: list[tuple[int, int]] = []
        """Tensors that are to wait, and the place of the order after which they do."""
        self._reads = reads
        self._makes = makes
        self._producer = producer
        self._rank = rank

    def first(self, operators: Iterable[int]) -> None:
        """Run those that have not run yet, in this order."""
        done = set(self.order)
        for operator in operators:
            if operator not in done:
                self._run([operator])

    def make(self, tensors: Collection[int]) -> None:
        """Have these made, where they are not there."""
        self._run([self._producer[tensor] for tensor in tensors if tensor not in self.there])

    def _run(self, last: Sequence[int]) -> None:
        """These, and before them those that make what they need."""
        needed, waiting = set(last), list(last)
        while waiting:
            for tensor in self._reads[waiting.pop()]:
                maker = self._producer[tensor]
                if tensor not in self.there and maker not in needed:
                    needed.add(maker)
                    waiting.append(maker)
        for operator in sorted(needed, key=self._rank.__getitem__):
            self.order.append(operator)
            self.there.update(self._makes[operator])

    def gap(self, tensor: int, at: int) -> tuple[int, int] | None:
        """The uses between which a tensor can wait: the last one up to a place, and the next one."""
        uses = [
            place
            for place, entry in enumerate(self.order)
            if tensor in (*self._reads[entry], *self._makes[entry])
        ]
        out = max((place for place in uses if place <= at), default=-1)
        back = min((place for place in uses if place > at), default=-1)
        is_free = out >= 0 and back > out + 1 and tensor not in self._makes[self.order[back]]
        return (out, back) if is_free else None


def try_detours(
    along: Sequence[Along],
    ways: Iterable[Sequence[int]],
    kinds: AbstractSet[str],
    is_better: Callable[[Schedule], bool],
    is_over: Callable[[], bool],
) -> None:
    """Try schedules for ways to cut a path, by the places after which it is: those that help, together."""
    tried: set[Schedule] = set()

    def helps(way: Along, at_cuts: Mapping[int, Detour]) -> bool:
        schedule = None if is_over() else way.schedule(at_cuts)
        if schedule is None or schedule in tried:
            return False
        tried.add(schedule)
        return is_better(schedule)

    for cuts, way in product(dict.fromkeys(map(tuple, ways)), along):
        none = dict.fromkeys(cuts, _NONE)
        helpful = {
            cut: [detour for detour in _all_detours(kinds) if helps(way, none | {cut: detour})]
            for cut in cuts
            if way.beside(cut)
        }
        for chosen in islice(product(*((_NONE, *them) for them in helpful.values())), _MOST_TOGETHER):
            if sum(detour != _NONE for detour in chosen) > 1:
                helps(way, none | dict(zip(helpful, chosen, strict=True)))


def eager(graph: Graph, path: Sequence[int], order: Sequence[int]) -> list[int]:
    """The order in which all that is not on the path runs as soon as what it reads is there."""
    on_path = set(path)
    preferred = sorted(order, key=on_path.__contains__)
    return topological_order(links_of(graph).successors(), preferred)
