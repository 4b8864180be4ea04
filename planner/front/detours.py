"""Schedules for ways to cut a path through a graph into stripes, with other runs and copies in between.

Bounds of all schedules come from such ways (`planner.graph.path_bounds`): at each cut, what others still read
is there, or is made again, or waits. These are orders that may be as good: what is needed beside the path at
a cut is made by the stripe before; or by runs of its own before that stripe, or after it, from what that one
reads; or in the stripes to come. In the meantime it may wait, and so may what the path hands on while others
run, and what these read. Stripes are then looked for in these orders. Where operators first run in the order
of the document, those that are listed before have their turn before, once more than they are read.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice, product
from typing import Final

from memstow.planner.graph.links import NOBODY, links_of, listed_order, topological_order
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
        self._listed = listed_order(graph) if graph.order == GIVEN else ()
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

    def schedule(self, at_cuts: Mapping[int, Detour]) -> Schedule:
        """With one detour for each cut, ascending.

        Where the order is given, an operator that is to run before those listed before it has these run
        first, once more than they are read.
        """
        run = _Running(self._reads, self._makes, self._links.producer, self._rank, self._listed)
        inputs, whole = frozenset(run.there), set(run.there)
        begin = 0
        for cut, detour in at_cuts.items():
            last = self._path[cut]
            end, beside, handed = self._rank[last] + 1, self.beside(cut), self._makes[last]
            is_made = detour.made in (_Made.WITHIN, _Made.BEFORE)
            if detour.made is _Made.BEFORE:
                run.first_before(beside)
                run.make(beside)
                run.there = whole.union(beside)
            if is_made:
                run.first(self._order[begin:end])
            run.make(handed)
            run.ends.append(len(run.order) - 1)
            if not is_made:
                run.there = whole.union(handed)
            if detour.made is _Made.AFTER:
                run.first_before(beside)
                if detour.path_waits:
                    run.waits += ((tensor, len(run.order) - 1, True) for tensor in handed)
                    run.waits += ((tensor, run.end_of_use(tensor), False) for tensor in whole)
                run.make(beside)
            # Else what that is made of stays.
            if run.there.issuperset(beside):
                whole = {*inputs, *beside}
            whole.update(handed)
            run.there = set(whole)
            run.waits += ((tensor, len(run.order) - 1, True) for tensor in beside if detour.beside_waits)
            begin = end
        run.first(self._order)
        return self._schedule(run)

    def _schedule(self, run: "_Running") -> Schedule:
        operators, tensors = self._graph.operators, self._graph.tensors
        gaps: dict[tuple[int, int], int] = {}
        for tensor, at, from_use in run.waits:
            gap = run.gap(tensor, at, from_use)
            if gap is not None:
                gaps[tensor, gap[1]] = min(gap[0], gaps.get((tensor, gap[1]), gap[0]))
        spills = [
            Spill(tensor=tensors[tensor].id, pool=self._pool, out=out, back=back)
            for (tensor, back), out in gaps.items()
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
        listed: Sequence[int],
    ) -> None:
        """`listed`: in which order operators run for the first time; empty: in any."""
        self.order: list[int] = []
        self.there = {tensor for tensor, maker in enumerate(producer) if maker == NOBODY}
        """What may be read without running its maker again."""
        self.waits: list[tuple[int, int, bool]] = []
        """Tensors that are to wait, the place of the order after which they do, and whether from their last
        use before."""
        self.ends: list[int] = []
        """The place of the order at each cut so far."""
        self._reads = reads
        self._makes = makes
        self._producer = producer
        self._rank = {operator: at for at, operator in enumerate(listed)} if listed else rank
        self._listed = listed
        self._done: set[int] = set()

    def first(self, operators: Iterable[int]) -> None:
        """Run those that have not run yet, in this order."""
        for operator in sorted(operators, key=self._rank.__getitem__) if self._listed else operators:
            if operator not in self._done:
                self._run([operator])

    def first_before(self, tensors: Collection[int]) -> None:
        """Run those that are listed before all that makes these for the first time."""
        makers = {self._producer[tensor] for tensor in tensors}.difference(self._done, (NOBODY,))
        if self._listed and makers:
            there = set(self.there)
            self.first(self._listed[: min(map(self._rank.__getitem__, makers))])
            self.there = there

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
            if self._listed and operator not in self._done:
                self.first(self._listed[: self._rank[operator]])
            self.order.append(operator)
            self._done.add(operator)
            self.there.update(self._makes[operator])

    def end_of_use(self, tensor: int) -> int:
        """The first cut after all that has used it, or this moment."""
        last = max((at for at, entry in enumerate(self.order) if tensor in self._used_by(entry)), default=-1)
        return next((end for end in self.ends if end >= last), len(self.order) - 1)

    def _used_by(self, operator: int) -> Iterator[int]:
        yield from self._reads[operator]
        yield from self._makes[operator]

    def gap(self, tensor: int, at: int, from_use: bool) -> tuple[int, int] | None:
        """Where a tensor can wait: from this place, or its last use up to there, to the next use."""
        uses = [place for place, entry in enumerate(self.order) if tensor in self._used_by(entry)]
        out = max((place for place in uses if place <= at), default=-1) if from_use else at
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
    """Try schedules for ways to cut a path, by the places after which it is: those that help, together.

    At the other cuts nothing is done; or where tensors may wait, those beside the path do so at each.
    """
    tried: set[Schedule] = set()

    def helps(way: Along, at_cuts: Mapping[int, Detour]) -> bool:
        if is_over() or (schedule := way.schedule(at_cuts)) in tried:
            return False
        tried.add(schedule)
        return is_better(schedule)

    waiting = [Detour(beside_waits=True)] if "spill" in kinds else []
    for cuts, way, usual in product(dict.fromkeys(map(tuple, ways)), along, [_NONE, *waiting]):
        beside = [cut for cut in cuts if way.beside(cut)]
        at_cuts = dict.fromkeys(cuts, _NONE) | dict.fromkeys(beside, usual)
        if usual != _NONE:
            helps(way, at_cuts)
        helpful = [
            [change for change in _changes(cut, before, kinds) if helps(way, {**at_cuts, **change})]
            for before, cut in zip([None, *beside], beside, strict=False)
        ]
        none: Mapping[int, Detour] = {}
        for chosen in islice(product(*((none, *changes) for changes in helpful)), _MOST_TOGETHER):
            if sum(map(bool, chosen)) > 1:
                changed = dict(at_cuts)
                for change in chosen:
                    changed.update(change)
                helps(way, changed)


def _changes(cut: int, before: int | None, kinds: AbstractSet[str]) -> Iterator[Mapping[int, Detour]]:
    """What may be done at a cut; what is made after it may be missing since the one before."""
    for detour in _all_detours(kinds):
        yield {cut: detour}
        if before is not None and detour.made is _Made.AFTER:
            yield {before: Detour(_Made.LATER), cut: detour}


def eager(graph: Graph, path: Sequence[int], order: Sequence[int]) -> list[int]:
    """The order in which all that is not on the path runs as soon as what it reads is there."""
    on_path = set(path)
    preferred = sorted(order, key=on_path.__contains__)
    return topological_order(links_of(graph).successors(), preferred)
