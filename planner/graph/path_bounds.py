"""What all schedules of a graph need and cost at least: in any order, in any stripes, whatever runs again.

Take a path of operators, each of which reads what the one before makes. In each schedule there is a run of
the last one; the version that it reads was made by a run of the one before, and so on. These runs come one
after the other, whatever else runs. Where the next one of them is in another stripe, or runs alone, what lies
between them is there as a whole at the end of the one and at the begin of the other. A stripe in the middle
of which something is left as a whole is as bad as the two that end and begin there. In all others, those of
the path keep the rows that one needs after the other; where somebody else reads them as well, and may have
them made sooner, at least what `solvers/native/stripes/segment.cpp` shows. So each schedule is as bad in
bytes and cost as some way to cut the path into stripes, and what is beside it costs what it costs in any
schedule. Of a graph that is a single path, no bounds are better.

Between two stripes, what somebody still reads is there as a whole, or what it is made of, and then others run
again; or it waits elsewhere, and is copied twice. So beside what the path hands on there is at least a cut of
all ways to what is still to be read, less what waits, and that and what is behind the cut and has run before
add to the cost (`cuts_beside`). What each run makes at least is what one of its readers needs
(`reruns_in_stripes`). What a stripe has read is there until the next one of the path runs; or it is there for
the last time before, when all that is still to be read is there beside it, and nothing of that is made of it
any more (`beside_gone`). Where a stripe is only as bad as two, nothing is said of the moment between these
(`_may_stay`).

Where less is there than a tensor that one of the path reads, it is made anew, and so is what several of the
path read something of. That needs room as well, and costs what strips cost (`remade`, `shared`). Where
tensors may wait, this is known of those of a stripe from some place on, which make only rows in that one, and
of the one before that place.

In a stripe with both ends of what goes around a part of the path, that has rows as well, since no stripe runs
an operator twice: or one of its tensors is there as a whole (`solvers/native/stripes/branches.hpp`). So has
what comes to it from what an earlier stripe has read, where that has stayed, and runs again in this one.

Where operators run in parts of channels, there is such a path through each part, whose rows are of its
channels; who reads what is before may have rows of that made sooner for another part. All parts cost what
each costs of its path's share. So they cost no less than the cheapest way to cut one of these paths, if one
part cost as much as all: then nothing is known of what is beside it (`InParts.beside` is None).
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Final

from memstow.planner.graph.channel_parts import InParts
from memstow.planner.graph.links import NOBODY, links_of, listed_order
from memstow.planner.graph.live_bytes import (
    Load,
    load_of,
    most_saved,
    pairs_among,
    resident_load,
    start_height,
    temporary_height,
    unit_of,
)
from memstow.planner.graph.live_bytes import whole as rounded_up
from memstow.planner.graph.operators import (
    image_of,
    kinds_if_unbound,
    operator_costs,
)
from memstow.planner.graph.recompute_search import Archive
from memstow.planner.graph.remade import Remade, remade, shared, with_remade
from memstow.planner.graph.schedules import COPIES, can_spill
from memstow.planner.graph.shares import LaterRun, later_runs, made_before, reruns_in_stripes
from memstow.planner.graph.stripe_front import Corner, axis_numbers, stripe_program
from memstow.planner.model.graph import (
    Graph,
    Operator,
    index_of,
    is_planned,
    size_of,
)
from memstow.records import Remembered
from memstow.solvers.core import Budget
from memstow.solvers.graph_programs import (
    EVERYTHING,
    MOST,
    CutLevel,
    PathCut,
    Room,
    StripeProgram,
    Wires,
    cuts_beside,
    stripe_front,
)

# What describing an operator counts as.
_WORK_OF_AN_OPERATOR: Final = 100


_WHOLE: Final = InParts()
# Paths of at most so many operators are looked at closely: of one graph, or of many.
_SHORT: Final = 120
_SHORT_OF_MANY: Final = 40
# A tensor is small beside one that is so many times as large.
_SMALL: Final = 4
# Of stripes before a tensor is made anew.
_MOST_BEGINS: Final = 4
_NO_CUT: Final = PathCut([CutLevel(0, 0, 0, NOBODY, NOBODY, (), (), ())], False)


@dataclass(frozen=True, slots=True)
class PathCorner(Corner):
    """As bad as one way to cut the path into stripes."""

    ends: tuple[int, ...]
    """Places of the path after which something is there as a whole, ascending."""


def path_corners(
    graph: Graph,
    budget: Budget,
    *,
    kinds: AbstractSet[str],
    unit: int | None = None,
    in_parts: InParts = _WHOLE,
    room: Room = EVERYTHING,
    is_one_of_many: bool = False,
) -> list[PathCorner] | None:
    """Corners of which each schedule is as bad as one in both terms.

    Of a valid graph without alternatives whose numbers can be added up, in which all begins at multiples of a
    unit. `kinds`: whether operators run again (recompute), or tensors wait elsewhere (spill).
    `is_one_of_many`: less time is taken for it. None where the budget ends first, or there are views.
    """
    if graph.views or not graph.operators:
        return None
    path = widest_path(graph)
    budget.count(_WORK_OF_AN_OPERATOR * len(graph.operators))
    unit = unit_of(graph) if unit is None else unit
    always = {step: resident_load(graph, step) for step in (unit, 1)}
    if "spill" in kinds and in_parts.beside:
        in_parts = replace(in_parts, beside=())  # Other parts may wait elsewhere.
    is_quick = is_one_of_many or in_parts.beside is None
    wires = _wires(graph, set(path), in_parts, kinds, _SHORT_OF_MANY if is_quick else _SHORT)
    cuts = cuts_beside(wires, path, budget)
    if budget.spent:
        return None
    whole = _Path(graph, path, kinds, unit, in_parts, always, cuts, operator_costs(graph))
    if "recompute" in kinds and in_parts.beside is not None and len(path) <= _SHORT:
        whole = replace(whole, cuts=whole.cuts_with_remade(budget, room, only_shared=is_quick))
    program = whole.program()
    counted = set(path) if in_parts.beside is None else set(path).difference(in_parts.own)
    beside = in_parts.least_cost(graph, set(range(len(graph.operators))) - counted)
    front = stripe_front(program, MOST - beside, len(path), budget, room)
    if not front.complete:
        return None
    return [
        PathCorner(point.bytes, point.cost + beside, tuple(choice.end - 1 for choice in point.choices[:-1]))
        for point in front.points
    ]


def _begins(
    path: Sequence[int], to_maker: Sequence[int], entry: Remade, cuts: Sequence[PathCut]
) -> list[int]:
    """A few places on both paths, before which nothing else need be there.

    None where the maker reads what is not on the path: that may be there instead of the tensor.
    """
    if [*to_maker[:-1]] != [*path[: entry.begin]]:
        return []
    return [at for at in range(entry.begin) if not at or not cuts[at - 1].levels[0].after][-_MOST_BEGINS:]


def _wires(
    graph: Graph, path: AbstractSet[int], in_parts: InParts, kinds: AbstractSet[str], short_path: int
) -> Wires:
    links, outputs = links_of(graph), set(graph.outputs)
    read_start, reads = array("q", [0]), array("q")
    for operator in graph.operators:
        reads.extend(links.tensor_index[name] for name in dict.fromkeys(operator.inputs))
        read_start.append(len(reads))
    again = array("q", [-1]) * len(graph.operators)
    part_again = array("q", again)
    later = array("q")
    if "recompute" in kinds:
        costs = operator_costs(graph)
        of_all = [in_parts.again.get(at, (cost, cost)) for at, cost in enumerate(costs)]
        for at, (rerun, (whole, part)) in enumerate(zip(reruns_in_stripes(graph), of_all, strict=True)):
            # Beside the path, what is made in any case is counted already.
            added = rerun.each.cost if at in path else rerun.adds
            again[at], part_again[at] = added(whole), added(part)
        for run in _later_runs(graph):
            later.extend((run.place, run.operator, *map(run.made.cost, of_all[run.operator])))
    makers = zip(graph.tensors, links.producer, strict=True)
    pieces = (
        min(size_of(tensor), in_parts.own.get(maker, MOST))
        if "spill" in kinds and can_spill(graph, tensor)
        else 0
        for tensor, maker in makers
    )
    return Wires(
        size=array("q", (size_of(tensor) if tensor.kind == "data" else 0 for tensor in graph.tensors)),
        maker=array("q", links.producer),
        to_end=array("q", (tensor.id in outputs for tensor in graph.tensors)),
        piece=array("q", pieces),
        read_start=read_start,
        reads=reads,
        again=again,
        part_again=part_again,
        later=later,
        short_path=short_path,
    )


@Remembered
def _later_runs(graph: Graph) -> list[LaterRun]:
    return [*later_runs(graph, widest_path(graph))]


def widest_path(graph: Graph, last: int | None = None) -> list[int]:
    """The path that makes the most bytes, from who reads nothing that is made to this one, or any."""
    links, tensors = links_of(graph), index_of(graph).tensors
    most: dict[int, int] = {}
    before: dict[int, int] = {}
    for operator in listed_order(graph):
        made = (tensors[name] for name in graph.operators[operator].outputs)
        own = 1 + sum(size_of(tensor) for tensor in made if is_planned(tensor))
        makers = {links.producer[links.tensor_index[name]] for name in graph.operators[operator].inputs}
        best = max(sorted(makers - {NOBODY}), key=most.__getitem__, default=None)
        most[operator] = own + (0 if best is None else most[best])
        if best is not None:
            before[operator] = best
    path = [max(most, key=most.__getitem__) if last is None else last]
    while path[-1] in before:
        path.append(before[path[-1]])
    return path[::-1]


@dataclass(frozen=True, slots=True)
class _Path:
    graph: Graph
    path: Sequence[int]
    kinds: AbstractSet[str]
    unit: int
    in_parts: InParts
    always: Mapping[int, Load]
    """What is always live, by unit: this one, and single bytes."""
    cuts: Sequence[PathCut]
    costs: Sequence[int]
    """By operator."""

    def cuts_with_remade(self, budget: Budget, room: Room, *, only_shared: bool) -> Sequence[PathCut]:
        """The same cuts where a tensor that is not there needs and costs what making it anew does."""
        cuts, path = self.cuts, self.path
        for entry in self._remade(only_shared):
            budget.count(_WORK_OF_AN_OPERATOR * len(self.graph.operators))
            places = range(entry.begin, entry.end)
            if any(self._may_stay(at) for at in places):
                continue
            to_maker = entry.way or widest_path(self.graph, entry.maker)
            # In a stripe with its reader are those of the path up to one that hands on something as a whole.
            part = [*to_maker, *path[entry.end :]]
            must_run = to_maker.index(entry.maker)
            handed = min(sum(map(self._size, self._handed(at))) for at in places)
            for last in _begins(path, to_maker, entry, cuts) if "spill" in self.kinds else [None]:
                beside = [(handed, 0)]
                if last is None:
                    # What runs for the first time is counted already.
                    first, counted = must_run, set(path).intersection(to_maker[: must_run + 1])
                else:
                    # In a stripe that begins up to this place, all from there on only make rows, and run
                    # again for the tensor; others may run again for something else as well, which counts
                    # them. That may be before the stripe, and then the tensor waits elsewhere; or what is
                    # handed on does. The one before this place runs again as well in a stripe with the next
                    # one; unless it leaves what it makes as a whole, when one that reads that is no worse.
                    first, counted = last, set(path[max(last - 1, 0) : entry.begin])
                    beside.append((0, COPIES * min(entry.sizes[0], handed)))
                # All of those beside the path are counted already.
                costs = [cost if at in counted else 0 for at, cost in enumerate(self.costs)]
                ways = replace(self, path=part, cuts=[_NO_CUT] * len(part), costs=costs)
                program = ways.program(must_run=(first, must_run), apart=path[entry.begin : entry.end])
                # What is live before all is there at no other moment.
                within = replace(room, least=max(room.least - handed, 0))
                front = stripe_front(replace(program, start=0), MOST, len(part), budget, within)
                if not front.complete:
                    return cuts
                known = [
                    replace(point, bytes=max(point.bytes + there, program.start), cost=point.cost + more)
                    for point in front.points
                    for there, more in beside
                ]
                cuts = [*with_remade(cuts, entry, Archive(known).items, last)]
        return cuts

    def _remade(self, only_shared: bool) -> Iterator[Remade]:
        """What is shared does not wait elsewhere, and is not there in parts."""
        chains: set[int] = set()
        in_parts = {operator for operator, size in self.in_parts.own.items() if size < MOST}
        for entry in shared(self.graph, self.path, self.cuts) if "spill" not in self.kinds else ():
            if in_parts.isdisjoint((entry.maker, *entry.chains)):
                chains |= entry.chains
                yield entry
        others = [*remade(self.graph, self.path, self.cuts)] if not only_shared else []
        others = [entry for entry in others if entry.maker not in chains and entry.maker not in in_parts]
        # What is small beside others adds little to what is needed, and takes as long.
        least = max((entry.sizes[0] for entry in others), default=0) / _SMALL
        yield from (entry for entry in others if entry.sizes[0] >= least)

    def program(self, *, must_run: tuple[int, int] | None = None, apart: Sequence[int] = ()) -> StripeProgram:
        """The path as if nothing else were there; where it is alone, an operator has all that it uses.

        `must_run`: those before these places may have run, and those after them need not. `apart`: these are
        on no branch of a stripe, as what they make is there.
        """
        graph, path, unit = self.graph, self.path, self.unit
        links, known = links_of(graph), kinds_if_unbound(graph)
        always = self.always[unit]
        names = ("can", "reduces", "kept", "shared", "rows", "columns", "pixel", "extra", "extra_rest")
        columns: dict[str, array[int]] = {
            name: array("q", [0]) * len(path) for name in (*names, "sums", "cost", "may_stay")
        }
        alone: list[list[int]] = []
        beside: list[list[int]] = []
        beside_read: list[list[Sequence[int]]] = []
        beside_next: list[list[Sequence[int]]] = []
        beside_gone: list[Sequence[int]] = []
        alone_beside: list[list[int]] = []
        last_reader = array("q", [*range(1, len(path)), NOBODY])
        use_start, uses, wholes = array("q", [0]), array("q"), array("q")
        for size in self._sizes(graph.operators[path[0]].inputs, maker=NOBODY):
            wholes.extend((NOBODY, 0, size, NOBODY))
        for at, operator in enumerate(path):
            is_last = at + 1 == len(path)
            then = [] if is_last else graph.operators[path[at + 1]].inputs
            made = graph.operators[operator].outputs
            handed = self._sizes(made if is_last else [name for name in made if name in then], operator)
            kind = known[operator]
            for size in handed:
                wholes.extend((at, at if is_last else at + 1, size, at if kind is not None else NOBODY))
            columns["cost"][at] = self._cost(operator, self.costs[operator])
            cut = self.cuts[at]
            alone.append([self._alone(operator, level.running) for level in cut.levels])
            if not is_last:
                columns["may_stay"][at] = self._may_stay(at)
            stays = columns["may_stay"][at]
            beside.append([0 if stays else level.after for level in cut.levels])
            beside_read.append([() if stays else level.beside_read for level in cut.levels])
            beside_gone += ([] if stays else self._gone(at, level) for level in cut.levels)
            alone_beside.append(self._alone_beside(at))
            beside_next.append([() if stays else level.beside_next for level in cut.levels])
            if kind is not None:
                before = path[at - 1] if at else NOBODY
                uses_of_path = [use for use in kind.uses if at and links.producer[use.tensor] == before]
                columns["can"][at] = not at or bool(uses_of_path)
                output = graph.tensors[kind.output]
                external = output.kind == "external"
                image = None if external else image_of(output)
                columns["reduces"][at] = kind.reduces
                columns["shared"][at] = not is_last and (
                    len(links.readers[kind.output]) > 1 or path[at + 1] in self.in_parts.makes
                )
                is_kept = is_last or external or (not self.kinds and output.id in graph.outputs)
                columns["kept"][at] = is_kept
                columns["rows"][at], columns["columns"][at] = kind.rows, kind.columns
                if not kind.reduces and image is not None:
                    columns["pixel"][at] = self._pixel(operator, kind.rows, kind.columns, image.pixel)
                columns["sums"][at] = 0 if operator in self.in_parts.own else kind.sums
                temporaries = [entry.size for entry in graph.operators[operator].temporaries]
                extra = load_of(temporaries, unit)
                columns["extra"][at], columns["extra_rest"][at] = extra.bytes, extra.rest
                # In a stripe with others, nothing else need be there as a whole.
                read = self._sizes(graph.operators[operator].inputs, before)
                own = [*handed, *temporaries, self._beside(operator), columns["sums"][at]]
                for number, level in enumerate(cut.levels):
                    same = number if cut.continues else -1
                    # If it is a stripe of its own.
                    earlier = next(iter(beside_next[-2][same]), beside[-2][same]) if at else 0
                    at_begin = load_of([*read, *own, earlier], unit)
                    is_apart = not level.begin < at <= level.end
                    at_end = load_of([*own, *(read if is_apart else ()), beside[-1][number]], unit)
                    moments = [at_begin, at_end]
                    if at < len(beside_read[-1][number]):
                        moments.append(load_of([*own, *read, beside_read[-1][number][at]], unit))
                    height = max(
                        always.bytes + there.bytes - max(always.rest, there.rest) for there in moments
                    )
                    alone[-1][number] = min(alone[-1][number], height)
                for use in uses_of_path:
                    uses.extend((at - 1, *axis_numbers(use.rows), *axis_numbers(use.columns)))
            use_start.append(len(uses) // 11)
        place = {operator: at for at, operator in enumerate(path)}
        for entry in self.in_parts.beside or ():
            if entry.makes in place and entry.adds in place:
                wholes.extend((place[entry.makes], place[entry.adds], entry.bytes, place[entry.last]))
        levels = [level for cut in self.cuts for level in cut.levels]
        return StripeProgram(
            **columns,
            last_reader=last_reader,
            level_start=array("q", accumulate((len(cut.levels) for cut in self.cuts), initial=0)),
            level_cost=array("q", (level.cost for level in levels)),
            level_peak=array("q", (level.peak for level in levels)),
            alone=array("q", chain.from_iterable(alone)),
            beside=array("q", chain.from_iterable(beside)),
            beside_range=array("q", chain.from_iterable((level.begin, level.end) for level in levels)),
            beside_read_start=array("q", accumulate(map(len, chain.from_iterable(beside_read)), initial=0)),
            beside_read=array("q", chain.from_iterable(chain.from_iterable(beside_read))),
            beside_gone=array("q", chain.from_iterable(beside_gone)),
            alone_beside_start=array("q", accumulate(map(len, alone_beside), initial=0)),
            alone_beside=array("q", chain.from_iterable(alone_beside)),
            beside_next_start=array("q", accumulate(map(len, chain.from_iterable(beside_next)), initial=0)),
            beside_next=array("q", chain.from_iterable(chain.from_iterable(beside_next))),
            continues=array("q", (cut.continues for cut in self.cuts)),
            use_start=use_start,
            uses=uses,
            wholes=wholes,
            unit=unit,
            base=always.bytes,
            base_rest=always.rest,
            start=start_height(graph, unit),
            is_path=True,
            must_run=must_run,
            around=self._around(apart),
            off_path=array("q", chain.from_iterable(set(self._off_path()))),
        )

    def _gone(self, at: int, level: CutLevel) -> list[int]:
        """What others need beside what each of the path hands on where that is there for the last time.

        That is before the one after this place runs, whose input is there. No more is known where it may be
        in place of that input, or is not one tensor.
        """
        if self.in_parts.own or not level.beside_gone:
            return [*level.beside_read]
        gone = [*level.beside_read]
        for number, least in enumerate(level.beside_gone):
            handed = self._handed(number - 1)
            if len(handed) == 1:
                gone[number] = max(gone[number], self._at_last_read(handed[0], at, max(least, level.after)))
        return gone

    def _at_last_read(self, tensor: int, at: int, after: int) -> int:
        """What is beside a tensor and what is handed on, where that much is there once it has gone."""
        graph, links = self.graph, links_of(self.graph)
        handed_on, own = graph.operators[self.path[at]].outputs, graph.tensors[tensor].id
        least = after
        for operator in (graph.operators[reader] for reader in links.readers[tensor]):
            # Who reads it last may make something in its place, and has what else it reads.
            others = {*operator.inputs}.difference(handed_on, (own,))
            there = sum(self._size(links.tensor_index[name]) for name in others)
            for source, target in operator.in_place:
                if source == own:
                    rest = 0 if target in handed_on else after - self._size(links.tensor_index[target])
                    least = min(least, max(rest, there))
        return least

    def _alone_beside(self, at: int) -> list[int]:
        """What is live while one runs by itself and what another hands on is there, by that one from -1 on.

        As far as that may be: those before the one before. 0: nothing is known.
        """
        levels = self.cuts[at - 1].levels if at and not self.in_parts.own else ()
        own, index = self.graph.operators[self.path[at]], links_of(self.graph).tensor_index
        used = {name: self._size(index[name]) for name in (*own.inputs, *own.outputs)}
        live: list[int] = []
        for first in range(-1, max((len(level.beside_gone) for level in levels), default=0) - 1):
            handed = self._handed(first)
            is_used = any(self.graph.tensors[tensor].id in used for tensor in handed)
            live.append(0 if is_used else self._live(own, used, sum(map(self._size, handed))))
        return live

    def _handed(self, at: int) -> list[int]:
        """The data that an operator of the path makes for the next one; at -1, what is there before."""
        read = self.graph.operators[self.path[at + 1]].inputs
        made = self._made_by(read, NOBODY if at < 0 else self.path[at])
        return [tensor for tensor in made if self._size(tensor)]

    def _around(self, apart: Sequence[int]) -> tuple[StripeProgram, Sequence[int], Sequence[int]] | None:
        """All operators; None where the path has no branches."""
        graph, readers = self.graph, links_of(self.graph).readers
        if all(len(them) <= 1 for them in readers):
            return None
        order = listed_order(graph)
        place = {operator: at for at, operator in enumerate(order)}
        before = made_before(graph, self.path)
        on_path = [place[operator] for operator in self.path]
        program = stripe_program(graph, order, self.unit)
        beside = set(self.in_parts.own).difference(self.path)
        for operator, at in place.items():
            program.cost[at] = self._cost(operator, self.costs[operator])
            program.can[at] *= operator not in apart and operator not in beside
            if program.pixel[at]:
                program.pixel[at] = self._pixel(
                    operator, program.rows[at], program.columns[at], program.pixel[at]
                )
        for operator, then in pairwise(self.path):
            # Other parts may have rows made sooner.
            program.kept[place[operator]] |= then in self.in_parts.makes
        return (
            program,
            on_path,
            [before.get(operator, len(self.path)) for operator in order],
        )

    def _off_path(self) -> Iterator[tuple[int, int, int, int, int]]:
        """What else may be in stripes, as `StripeProgram` has it."""
        graph, links = self.graph, links_of(self.graph)
        known, count = kinds_if_unbound(graph), len(self.path)
        place = {operator: at for at, operator in enumerate(self.path)}
        # Nothing is known of when what runs again does.
        after, before = [NOBODY] * len(known), [count] * len(known)
        if not self.kinds:
            for operator, at in place.items():
                after[operator] = before[operator] = at
            order = listed_order(graph)
            for operator in order:
                for then in links.after[operator]:
                    after[then] = max(after[then], after[operator])
            for operator in reversed(order):
                for then in links.after[operator]:
                    before[operator] = min(before[operator], before[then])
            for at, operator in enumerate(self.path):
                # There are other parts of it beside the path, which are made of what is before all of them.
                if operator in self.in_parts.own:
                    after[operator] = after[self.path[at - 1]] if at else NOBODY
            for operator, then in reversed([*pairwise(self.path)]):
                if operator in self.in_parts.own and then in self.in_parts.own:
                    before[operator] = before[then]
        again = zip(operator_costs(graph), reruns_in_stripes(graph), strict=True)
        for operator, (kind, (cost, rerun)) in enumerate(zip(known, again, strict=True)):
            if kind is None:
                continue
            made = self._size(kind.output)
            if operator in self.in_parts.own:
                # What other parts of it make may be counted beside this one.
                yield kind.columns, after[operator], before[operator], 0, 0
            elif operator not in place:
                yield kind.columns, after[operator], before[operator], 0, made
            elif self.kinds:
                yield kind.columns, NOBODY, count, rerun.each.cost(cost), made

    def _sizes(self, names: Sequence[str], maker: int) -> list[int]:
        """The bytes of the tensors of these that this operator makes."""
        return [self._size(tensor) for tensor in self._made_by(names, maker)]

    def _made_by(self, names: Sequence[str], maker: int) -> list[int]:
        """The tensors of these that this operator makes, and that are planned."""
        links, tensors = links_of(self.graph), self.graph.tensors
        numbers = [links.tensor_index[name] for name in dict.fromkeys(names)]
        return [
            number for number in numbers if tensors[number].kind == "data" and links.producer[number] == maker
        ]

    def _size(self, tensor: int) -> int:
        """Its bytes, or those of a part of it; none if it is not planned."""
        if self.graph.tensors[tensor].kind != "data":
            return 0
        maker, size = links_of(self.graph).producer[tensor], size_of(self.graph.tensors[tensor])
        own = self.in_parts.own.get(maker, MOST)
        # A part and what is beside it, rounded up each, may be more than both of them as a whole.
        return min(own - own % self.unit, size)

    def _pixel(self, operator: int, rows: int, columns: int, whole: int) -> int:
        """The bytes of one row in one column of what an operator makes, or of a part of it."""
        return min(whole, self.in_parts.own.get(operator, MOST) // (rows * columns))

    def _cost(self, operator: int, cost: int) -> int:
        """What is counted by stripes. Parts of it cost what they are of the whole, if nothing is rounded."""
        if operator not in self.in_parts.own:
            return cost
        if self.in_parts.beside is not None:
            # They are counted beside the path.
            return 0
        kind, cost = kinds_if_unbound(self.graph)[operator], self.in_parts.costs[operator]
        return cost if kind is None else cost - cost % (kind.rows * kind.columns)

    def _may_stay(self, at: int) -> bool:
        """Whether what this place of the path hands on may be left as a whole in the middle of a stripe."""
        graph, (operator, then) = self.graph, self.path[at : at + 2]
        links, known = links_of(graph), kinds_if_unbound(graph)
        if known[operator] is None or known[then] is None:
            return False
        numbers = [links.tensor_index[name] for name in graph.operators[operator].outputs]
        return (
            then in self.in_parts.makes
            or not set(graph.outputs).isdisjoint(graph.operators[operator].outputs)
            or any(graph.tensors[number].kind != "data" for number in numbers)
            or any(len(links.readers[number]) > 1 for number in numbers)
        )

    def _beside(self, operator: int) -> int:
        """What other parts need at least while this one works on a part."""
        among = (entry.bytes for entry in self.in_parts.beside or () if operator in (entry.makes, entry.last))
        return max(among, default=0)

    def _alone(self, operator: int, beside: int) -> int:
        """What is live at least while an operator runs by itself, as a whole or for a part."""
        graph, index = self.graph, links_of(self.graph).tensor_index
        own = graph.operators[operator]
        numbers = {name: index[name] for name in (*own.inputs, *own.outputs)}
        data = {name: at for name, at in numbers.items() if graph.tensors[at].kind == "data"}
        whole = self._live(own, {name: size_of(graph.tensors[at]) for name, at in data.items()}, beside)
        if operator not in self.in_parts.own:
            return whole
        parts = {name: self._size(at) for name, at in data.items()}
        return min(whole, self._live(own, parts, beside + self._beside(operator)))

    def _live(self, operator: Operator, used: Mapping[str, int], beside: int) -> int:
        """What is live while an operator runs, from the bytes of what it uses and of what is beside."""
        pairs = pairs_among(operator, list(used))
        least = 0
        # On top may be a pair in place, of which less is left than of the smaller one.
        for unit in {self.unit, 1} if pairs else {self.unit}:
            always = self.always[unit]
            there = load_of((*used.values(), beside), unit)
            saved = most_saved([rounded_up(size, unit) for size in used.values()], pairs)
            own = temporary_height(operator, unit, max(always.rest, there.rest))
            least = max(least, always.bytes + there.bytes + own - saved)
        return least
