"""Stripes: operators of a run that become one, after every row and column of theirs has been followed.

A stripe has parts (`parts_of`) and is made strip by strip. `rows_of` makes each row when it is needed,
`Keeping` counts how many rows must be kept in a ring, `check_slots` runs the strip in rings of that size,
`strips_of` follows the columns, and `striped` replaces the operators by one with these rings as temporaries.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import lcm
from typing import Final

from memstow.planner.model.graph import (
    Graph,
    Operator,
    Temporary,
    Tensor,
    element_bits,
    index_of,
    names_in_views,
)
from memstow.planner.model.plan import Stripe
from memstow.planner.model.problem import LIMIT, measure, merged
from memstow.planner.verify.graph_replay import FreeNames, Run
from memstow.planner.verify.row_operators import (
    NOTHING,
    Image,
    Kinds,
    Part,
    Rolling,
    cost_of,
    image_of,
    joined,
)
from memstow.planner.verify.untimed_graph import members
from memstow.planner.verify.verdict import Effort, Refused
from memstow.records import record, replace


@record
class Parts:
    """Operators by their place in the stripe."""

    rolling: Sequence[Rolling]
    width: int
    """Columns of a strip of the reference."""
    sources: Sequence[Sequence[tuple[str, int]]]
    """By place, the images that it reads and that are made in the stripe, with the place of their maker."""
    readers: Mapping[str, Sequence[int]]
    """By tensor that is made in the stripe, the places of its readers there."""
    leaving: frozenset[str]
    """Tensors that are made in the stripe and needed elsewhere, or nowhere."""
    images: Mapping[str, Image]
    """By tensor that is made in the stripe, but by no reduction."""

    @property
    def reference(self) -> Image:
        """What strips are counted in: what the last operator makes, or what it takes in."""
        return self.rolling[-1].domain

    def rings(self) -> list[int]:
        """The places of those whose output is kept in part only."""
        return [place for place, entry in enumerate(self.rolling) if entry.output not in self.leaving]

    def is_sink(self, place: int) -> bool:
        """Whether all it makes is wanted by others than the operators of the stripe."""
        return self.rolling[place].output in self.leaving


def parts_of(
    rolling: Sequence[Rolling], width: int, tensors: Mapping[str, Tensor], needed: frozenset[str]
) -> Parts:
    """The parts of a stripe; `needed`: tensors that others read, or the graph keeps. Raises Refused."""
    maker = {entry.output: place for place, entry in enumerate(rolling)}
    readers: dict[str, list[int]] = {name: [] for name in maker}
    for place, entry in enumerate(rolling):
        for name in dict.fromkeys(entry.operator.inputs):
            if name not in maker:
                continue
            if rolling[maker[name]].reduces is not None:
                raise Refused(
                    f"{entry.operator.id!r} reads {name!r}, which has its first element only when "
                    f"{rolling[maker[name]].operator.id!r} has taken in the last row of the stripe"
                )
            readers[name].append(place)
    leaving = frozenset(
        name for name in maker if name in needed or not readers[name] or tensors[name].kind == "external"
    )
    sources = [[(name, maker[name]) for name in entry.reads if name in maker] for entry in rolling]
    images = {
        name: image
        for name, place in maker.items()
        if rolling[place].reduces is None and (image := image_of(tensors[name])) is not None
    }
    return Parts(rolling, width, sources, readers, leaving, images)


@record
class Rows:
    """One strip, row by row."""

    steps: Sequence[int]
    """The places of the operators, each as often as it makes a row, in the order in which they do."""
    row_counts: Sequence[int]
    """By place, how many rows are made."""


def rows_of(parts: Parts, effort: Effort) -> Rows:
    """The rows of a strip: each is made when it is needed, as late as it can be."""
    rolling, last = parts.rolling, len(parts.rolling) - 1
    rows = [0] * len(rolling)
    steps: list[int] = []

    def make(wanted: int) -> None:
        """Make the next row of an operator, after the rows that it needs."""
        waiting = [wanted]
        while waiting:
            place = waiting[-1]
            row, reads, sources = rows[place], rolling[place].reads, parts.sources[place]
            effort.spend(1 + len(sources))
            for name, maker in sources:
                if rows[maker] < reads[name][0].of(row, row + 1)[1]:
                    waiting.append(maker)
                    break
            else:
                waiting.pop()
                rows[place] += 1
                steps.append(place)

    # What a reduction makes leaves the stripe as well.
    sinks = [place for place in range(last) if parts.is_sink(place)]
    height = parts.reference.rows
    for row in range(height):
        effort.spend(1 + len(sinks))
        for place in sinks:
            wanted = (row + 1) * rolling[place].domain.rows // height
            while rows[place] < wanted:
                make(place)
        make(last)
    return Rows(steps, rows)


class Ring:
    """What is kept of the rows of one tensor."""

    __slots__ = ("phases", "rows")

    def __init__(self, rows: int, phases: tuple[int, int]) -> None:
        self.rows = rows
        """The most that are needed at once: one at least, which is made, though nobody may read it."""
        self.phases = phases
        """The first operator that runs while they are needed, and the one after the last."""


class Keeping:
    """Follows the rows of a strip, and says what is needed of each tensor and when."""

    def __init__(self, parts: Parts, rows: Rows, effort: Effort) -> None:
        self.parts = parts
        self.rows = rows
        self.effort = effort
        self.done = [0] * len(parts.rolling)
        self.kept = 0
        """The places whose output has rows that are still needed, a bit for each."""

    def first_needed(self, place: int) -> int:
        """The first row of what it makes that a reader still needs; none: what comes after all rows made."""
        name = self.parts.rolling[place].output
        readers = self.parts.readers[name]
        self.effort.spend(1 + 2 * len(readers))
        needed = [
            self.parts.rolling[reader].reads[name][0].of(row, row + 1)[0]
            for reader in readers
            if (row := self.done[reader]) < self.rows.row_counts[reader]
        ]
        return min(needed, default=self.done[place])

    def rings(self) -> dict[int, Ring]:
        """By place, the ring of what it makes."""
        rings = {place: Ring(0, (place, place + 1)) for place in self.parts.rings()}
        while_running = [0] * len(self.parts.rolling)
        words = len(while_running) // 256
        for place in self.rows.steps:
            self.effort.spend(1 + words + len(self.parts.sources[place]))
            seen = while_running[place] | self.kept
            for _, maker in self.parts.sources[place]:
                if maker in rings:
                    seen |= 1 << maker
            self.done[place] += 1
            if place in rings:
                seen |= 1 << place
                rows = self.done[place] - self.first_needed(place)
                rings[place].rows = max(rings[place].rows, rows, 1)
                self.note(place)
            while_running[place] = seen
            for _, maker in self.parts.sources[place]:
                if maker in rings:
                    self.note(maker)
        for at, first in _first_seen(enumerate(while_running)):
            rings[at].phases = min(rings[at].phases[0], first), rings[at].phases[1]
        for at, last in _first_seen(reversed([*enumerate(while_running)])):
            rings[at].phases = rings[at].phases[0], max(rings[at].phases[1], last + 1)
        return rings

    def note(self, place: int) -> None:
        """Note whether rows of what it makes are still needed."""
        if self.done[place] > self.first_needed(place):
            self.kept |= 1 << place
        else:
            self.kept &= ~(1 << place)


def _first_seen(places: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Each bit that is set at some place, with the first such place."""
    before = 0
    for place, seen in places:
        for at in members(seen & ~before):
            yield at, place
        before |= seen


Strip = list[Part]
"""By place in the stripe, the columns that the operator makes; or takes in, where it is a reduction."""


def strips_of(parts: Parts, effort: Effort) -> Iterator[Strip]:
    """The strips from left to right, each checked: every column that is read is made in the same strip."""
    by_place: list[list[Part]] = [[] for _ in parts.rolling]
    whole = parts.reference.columns
    each = 1 + len(parts.rolling) + 2 * sum(map(len, parts.sources))
    for begin in range(0, whole, parts.width):
        effort.spend(each)
        strip = _strip(parts, begin, min(begin + parts.width, whole))
        for place, sources in enumerate(parts.sources):
            reader = parts.rolling[place]
            for name, maker in sources:
                first, last = reader.reads[name][1].of(*strip[place])
                there = strip[maker]
                if first < last and not there[0] <= first < last <= there[1]:
                    raise Refused(
                        f"{reader.operator.id!r} reads columns {first:,} to {last:,} of {name!r}, "
                        f"and the strip has {there[0]:,} to {there[1]:,}"
                    )
        for place, columns in enumerate(strip):
            by_place[place].append(columns)
        yield strip
    for place, entry in enumerate(parts.rolling):
        wanted, covered = entry.domain.columns, measure(merged(by_place[place]))
        if entry.reduces is not None and sum(end - begin for begin, end in by_place[place]) != wanted:
            raise Refused(f"{entry.operator.id!r} does not take in each column once")
        if parts.is_sink(place) and covered != wanted:
            raise Refused(f"{entry.operator.id!r} makes {covered:,} of {wanted:,} columns")


def _strip(parts: Parts, begin: int, end: int) -> Strip:
    """From the readers back to what they read."""
    whole = parts.reference.columns
    needs: dict[str, Part] = {}
    strip: Strip = [NOTHING] * len(parts.rolling)
    for place in range(len(parts.rolling) - 1, -1, -1):
        entry = parts.rolling[place]
        share = begin * entry.domain.columns // whole, end * entry.domain.columns // whole
        if entry.reduces is not None:
            columns = share
        else:
            columns = needs.get(entry.output, NOTHING)
            if parts.is_sink(place):
                columns = joined(columns, share)
        strip[place] = columns if columns[0] < columns[1] else NOTHING
        for name, _ in parts.sources[place]:
            needs[name] = joined(needs.get(name, NOTHING), entry.reads[name][1].of(*strip[place]))
    return strip


_EMPTY = -1


def check_slots(parts: Parts, rows: Rows, ring_rows: Mapping[int, int], effort: Effort) -> None:
    """Raises Refused where a row is not there when it is read, or is overwritten while it is needed."""
    effort.spend(sum(ring_rows.values()))
    slots = {place: [_EMPTY] * count for place, count in ring_rows.items()}
    keeping = Keeping(parts, rows, effort)
    for place in rows.steps:
        effort.spend(1 + len(parts.sources[place]))
        row, runs = keeping.done[place], parts.rolling[place]
        for name, maker in parts.sources[place]:
            begin, end = runs.reads[name][0].of(row, row + 1)
            effort.spend(max(end - begin, 0))
            held = slots.get(maker)
            for wanted in range(begin, end):
                if held is None:
                    there = wanted < keeping.done[maker]
                else:
                    there = bool(held) and held[wanted % len(held)] == wanted
                if not there:
                    raise Refused(
                        f"row {wanted:,} of {name!r} is not there when {runs.operator.id!r} reads it"
                    )
        held = slots.get(place)
        if held:
            old = held[row % len(held)]
            if old != _EMPTY and old >= keeping.first_needed(place):
                raise Refused(
                    f"row {row:,} of {runs.output!r} is written over row {old:,}, which is still needed"
                )
            held[row % len(held)] = row
        keeping.done[place] += 1
    for place, entry in enumerate(parts.rolling):
        if parts.is_sink(place) and keeping.done[place] != entry.domain.rows:
            raise Refused(
                f"{entry.operator.id!r} makes {keeping.done[place]:,} of {entry.domain.rows:,} rows"
            )


_SUM: Final = 4
"""Bytes in which a reduction of integers adds up an element, at the least."""


@record
class Striped:
    """The graph with an operator for each stripe."""

    graph: Graph
    rows: int
    """Rows that were followed, over all strips."""


class _Followed:
    """What came out of following all strips of a stripe."""

    def __init__(
        self, rings: dict[int, Ring], heights: Sequence[int], columns: list[int], all_columns: list[int]
    ) -> None:
        self.rings = rings
        """By place."""
        self.heights = heights
        """By place, the rows that are made in each strip."""
        self.columns = columns
        """By place, the most columns of a strip."""
        self.all_columns = all_columns
        """By place, the columns that are made, over all strips."""
        self.rows = 0


def check_stripes(stripes: Sequence[Stripe], before: Sequence[tuple[str, str]], order: Sequence[str]) -> None:
    """Raises Refused where stripes overlap, or have operators with effects that no tensor shows."""
    end = 0
    ordered = {name for pair in before for name in pair}
    for stripe in stripes:
        if not end <= stripe.begin < stripe.end <= len(order):
            raise Refused(
                f"a stripe is at places {stripe.begin:,} to {stripe.end:,}: stripes follow each other, and "
                f"lie within the {len(order):,} places of the order"
            )
        end = stripe.end
        for name in order[stripe.begin : stripe.end]:
            if name in ordered:
                raise Refused(f"{name!r} cannot run in a stripe: the graph orders it by `before`")


def striped(run: Run, stripes: Sequence[Stripe], effort: Effort) -> Striped:
    """The run with its stripes. Raises Refused where one cannot run."""
    return _Striping(run, effort).result(stripes)


class _Striping:
    def __init__(self, run: Run, effort: Effort) -> None:
        graph = run.graph
        self.run = run
        self.effort = effort
        self.tensors = index_of(graph).tensors
        viewed = names_in_views(graph)
        outputs = frozenset(name for operator in graph.operators for name in operator.outputs)
        self.kinds = Kinds(self.tensors, viewed, outputs)
        self.place = {tensor.id: at for at, tensor in enumerate(graph.tensors)}
        self.last_use: dict[str, int] = {}
        for at, operator in enumerate(graph.operators):
            self.last_use.update(dict.fromkeys(operator.inputs, at))
        self.kept = frozenset(graph.outputs)
        temporaries = (temporary.id for operator in graph.operators for temporary in operator.temporaries)
        self.names = FreeNames((*self.tensors, *temporaries), effort)
        self.inside: set[str] = set()
        self.rows = 0

    def result(self, stripes: Sequence[Stripe]) -> Striped:
        graph = self.run.graph
        operators: list[Operator] = []
        done = 0
        for stripe in stripes:
            first, last = self.run.places[stripe.begin], self.run.places[stripe.end - 1]
            if last - first != stripe.end - 1 - stripe.begin:
                copy = next(at for at in range(first, last) if at in self.run.copies)
                raise Refused(f"{graph.operators[copy].id!r} would copy in the middle of a stripe")
            operators += graph.operators[done:first]
            done = last + 1
            operators.append(self.merged(graph.operators[first:done], last, stripe.columns))
        operators += graph.operators[done:]
        tensors = tuple(tensor for tensor in graph.tensors if tensor.id not in self.inside)
        return Striped(replace(graph, tensors=tensors, operators=tuple(operators)), self.rows)

    def merged(self, operators: Sequence[Operator], last: int, width: int) -> Operator:
        """One operator in the place of these, of which the last is at this place."""
        rolling = [self.kinds.rolling(operator) for operator in operators]
        needed = frozenset(
            entry.output
            for entry in rolling
            if entry.output in self.kept or self.last_use.get(entry.output, -1) > last
        )
        parts = parts_of(rolling, width, self.tensors, needed)
        followed = self.follow(parts)
        inside = [(rolling[at].output, at) for at in parts.rings()]
        inside.sort(key=lambda entry: self.place[entry[0]])
        self.inside.update(name for name, _ in inside)
        self.rows += followed.rows
        # Of what no window reads, nothing is made.
        temporaries = [
            self.ring(parts, followed, at)
            for _, at in inside
            if followed.all_columns[at] and followed.heights[at]
        ]
        for at, operator in enumerate(operators):
            temporaries += (replace(temporary, phases=(at, at + 1)) for temporary in operator.temporaries)
        temporaries += (
            self.sums(self.tensors[entry.output], len(rolling))
            for entry in rolling
            if entry.reduces is not None
        )
        outputs = {entry.output for entry in rolling}
        read = (name for operator in operators for name in operator.inputs if name not in outputs)
        return Operator(
            id=operators[-1].id,
            type=operators[-1].type,
            inputs=tuple(dict.fromkeys(read)),
            outputs=tuple(entry.output for entry in rolling if entry.output in parts.leaving),
            temporaries=temporaries,
            cost=_within(self.cost(parts, followed)),
        )

    def follow(self, parts: Parts) -> _Followed:
        """Go through all strips, and the rows of one: those of all are made in the same order.

        An operator that has no column in a strip makes its rows all the same, with nothing in them.
        """
        rows = rows_of(parts, self.effort)
        rings = Keeping(parts, rows, self.effort).rings()
        check_slots(parts, rows, {at: ring.rows for at, ring in rings.items()}, self.effort)
        count = len(parts.rolling)
        followed = _Followed(rings, rows.row_counts, [0] * count, [0] * count)
        for strip in strips_of(parts, self.effort):
            for at, (begin, end) in enumerate(strip):
                followed.columns[at] = max(followed.columns[at], end - begin)
                followed.all_columns[at] += end - begin
                followed.rows += rows.row_counts[at] if begin < end else 0
        return followed

    def ring(self, parts: Parts, followed: _Followed, at: int) -> Temporary:
        """The temporary in which the rows of a tensor roll."""
        name = parts.rolling[at].output
        tensor, image, ring = self.tensors[name], parts.images[name], followed.rings[at]
        return Temporary(
            id=name,
            size=_within(ring.rows * followed.columns[at] * image.channels * image.element),
            phases=ring.phases,
            alignment=tensor.alignment,
            pools=tensor.pools,
        )

    def sums(self, tensor: Tensor, count: int) -> Temporary:
        """What a reduction adds up its elements in, while all of so many operators run."""
        elements = 1
        for extent in tensor.shape or ():
            elements *= extent
        kind = tensor.type or "int8"
        each = -(-element_bits(kind) // 8)
        if "int" in kind or kind == "bool":
            each = max(each, _SUM)
        return Temporary(
            id=self.names.take(f"{tensor.id}.sums"),
            size=_within(elements * each),
            phases=(0, count),
            alignment=lcm(tensor.alignment, each),
            pools=tensor.pools,
        )

    def cost(self, parts: Parts, followed: _Followed) -> int:
        """What all strips cost: columns that several of them make are paid for several times."""
        total = 0
        for at, entry in enumerate(parts.rolling):
            cost = cost_of(entry.operator, self.tensors)
            if entry.reduces is None:
                area = followed.heights[at] * followed.all_columns[at]
                cost = -(-cost * area // (entry.domain.rows * entry.domain.columns))
            total += cost
        return total


def _within(value: int) -> int:
    if value > LIMIT:
        raise Refused(f"a stripe has {value:,} bytes or costs, above 2^62")
    return value
