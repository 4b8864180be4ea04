"""Stripes: operators that run together, in strips of columns and in each row by row (docs/stripes.md).

`members_of` says which tensors the operators of a stripe have to themselves, or why they make none.
`strips_of` says which columns of each tensor are made in each strip. `replay_rows` goes through the rows by
demand: who makes which row when, and how many must be kept for others; that is the same in each strip,
since what a row needs does not depend on the columns. `with_stripes` makes each stripe one operator: its
rings are temporaries, its phases the places inside.
"""

from collections.abc import Iterator, Sequence
from math import lcm

from memstow.planner.graph.links import NOBODY, links_of
from memstow.planner.graph.operators import Kind, image_of, kinds, operator_costs
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor, free_id
from memstow.planner.model.plan import Stripe
from memstow.records import record, replace


@record
class Reader:
    """An operator of the stripe that reads what another of it makes."""

    place: int
    use: int
    """Which of its uses."""


@record
class Members:
    """Operators that run together, by their place in the stripe; what each makes has the same place."""

    operators: tuple[int, ...]
    kinds: tuple[Kind, ...]
    sources: tuple[tuple[int, ...], ...]
    """By place and use, the place of who makes what is read; `NOBODY` where that comes from outside."""
    readers: tuple[tuple[Reader, ...], ...]
    """By place, those inside that read what it makes."""
    leaves: tuple[bool, ...]
    """Whether what it makes is there as a whole: it is needed outside, or by nobody."""
    pixel: tuple[int, ...]
    """The bytes that what it makes has in one row of one column."""

    @property
    def count(self) -> int:
        """How many operators there are."""
        return len(self.operators)


def members_of(graph: Graph, operators: Sequence[int]) -> Members | str:
    """The stripe of these operators in this order; or why they make none."""
    links, known = links_of(graph), kinds(graph)
    place_of = {operator: place for place, operator in enumerate(operators)}
    members: list[Kind] = []
    for operator in operators:
        kind = known[operator]
        if kind is None:
            return f"{graph.operators[operator].id!r} cannot run row by row"
        members.append(kind)
    maker = {kind.output: place for place, kind in enumerate(members)}
    readers: list[list[Reader]] = [[] for _ in members]
    sources: list[tuple[int, ...]] = []
    for place, kind in enumerate(members):
        sources.append(tuple(maker.get(use.tensor, NOBODY) for use in kind.uses))
        for i, source in enumerate(sources[-1]):
            if source == NOBODY:
                continue
            if members[source].reduces:
                names = graph.operators[operators[place]].id, graph.operators[operators[source]].id
                return f"{names[0]!r} needs all of what {names[1]!r} adds up; end the stripe there"
            readers[source].append(Reader(place, i))
    kept = {links.tensor_index[name] for name in graph.outputs}
    leaves, pixel = [], []
    for kind in members:
        tensor = graph.tensors[kind.output]
        reading = links.readers[kind.output]
        outside = any(entry not in place_of for entry in reading) or not reading
        leaves.append(outside or kind.output in kept or tensor.kind == "external")
        image = image_of(tensor)
        pixel.append(0 if kind.reduces or image is None or tensor.kind == "external" else image.pixel)
    return Members(
        tuple(operators),
        tuple(members),
        tuple(sources),
        tuple(tuple(them) for them in readers),
        tuple(leaves),
        tuple(pixel),
    )


Span = tuple[int, int]


@record
class Strips:
    """By strip and place, the columns that are made there (half-open)."""

    spans: tuple[tuple[Span, ...], ...]
    widest: tuple[int, ...]
    """By place, the most columns in one strip."""
    total: tuple[int, ...]
    """By place, the columns made in all strips; more than there are where strips overlap."""


def strips_of(members: Members, columns: int) -> Strips:
    """The strips of so many columns of what the last operator makes."""
    reference = members.kinds[-1].columns
    spans = [
        _spans(members, begin, min(begin + columns, reference), reference)
        for begin in range(0, reference, columns)
    ]
    by_place = list(zip(*spans, strict=True))
    return Strips(
        tuple(tuple(them) for them in spans),
        tuple(max(_width(entry) for entry in them) for them in by_place),
        tuple(sum(_width(entry) for entry in them) for them in by_place),
    )


def _width(span: Span) -> int:
    return span[1] - span[0]


def _spans(members: Members, begin: int, end: int, reference: int) -> Sequence[Span]:
    """Of one strip: what is needed as a whole has a share in it; the rest is made as far as it is read."""
    spans: list[Span] = [(0, 0)] * members.count
    for place in reversed(range(members.count)):
        kind = members.kinds[place]
        parts: list[Span] = []
        if members.leaves[place] or kind.reduces:
            parts.append((begin * kind.columns // reference, end * kind.columns // reference))
        if not kind.reduces:
            for reader in members.readers[place]:
                low, high = spans[reader.place]
                if low < high:
                    axis = members.kinds[reader.place].uses[reader.use].columns
                    parts.append((axis.first(low), axis.end(high - 1)))
        parts = [span for span in parts if span[0] < span[1]]
        if parts:
            spans[place] = min(entry[0] for entry in parts), max(entry[1] for entry in parts)
    return spans


@record
class Ring:
    """The rows of a tensor that are kept at a time, and while which operators."""

    rows: int
    first: int
    """The first place that runs while it holds a row, or makes or reads one."""
    last: int


@record
class Rows:
    """What comes of a replay."""

    produced: tuple[int, ...]
    """By place, the rows that it makes in a strip."""
    rings: tuple[Ring | None, ...]
    """By place, of what it makes; None where that is there as a whole."""


def made_rows(members: Members) -> tuple[int, ...]:
    """By place, how many rows it makes in a strip: all, if they are needed as a whole."""
    rows = [0] * members.count
    for place in reversed(range(members.count)):
        kind = members.kinds[place]
        if members.leaves[place] or kind.reduces:
            rows[place] = kind.rows
            continue
        for reader in members.readers[place]:
            if rows[reader.place]:
                axis = members.kinds[reader.place].uses[reader.use].rows
                rows[place] = max(rows[place], axis.end(rows[reader.place] - 1))
    return tuple(rows)


def row_steps(members: Members) -> Iterator[tuple[int, int]]:
    """(place, row), in the order in which rows are made."""
    done = [0] * members.count
    last = members.count - 1
    sinks = [place for place in range(last) if members.leaves[place] or members.kinds[place].reduces]
    reference = members.kinds[last].rows
    for row in range(reference):
        for place in sinks:
            until = (row + 1) * members.kinds[place].rows // reference
            while done[place] < until:
                yield from _make(members, place, done)
        yield from _make(members, last, done)


def _make(members: Members, place: int, done: list[int]) -> Iterator[tuple[int, int]]:
    """The next row at a place, after what it needs."""
    waiting = [place]
    while waiting:
        here = waiting[-1]
        kind = members.kinds[here]
        for use, source in zip(kind.uses, members.sources[here], strict=True):
            if source != NOBODY and done[source] < use.rows.end(done[here]):
                waiting.append(source)
                break
        else:
            yield here, done[here]
            done[here] += 1
            waiting.pop()


def replay_rows(members: Members) -> Rows:
    """Goes through all rows of a strip once, and counts."""
    rows = made_rows(members)
    done = [0] * members.count
    most = [0] * members.count
    first = [members.count] * members.count
    last = [-1] * members.count
    inside = [place for place in range(members.count) if not members.leaves[place]]
    inside = [place for place in inside if not members.kinds[place].reduces]

    def needed_from(place: int) -> int:
        """The first row that is still needed of what is made at a place."""
        least = done[place]
        for reader in members.readers[place]:
            if done[reader.place] < rows[reader.place]:
                axis = members.kinds[reader.place].uses[reader.use].rows
                least = min(least, axis.first(done[reader.place]))
        return least

    for here, _ in row_steps(members):
        touched = {here, *members.sources[here]}
        for place in inside:
            if place in touched or needed_from(place) < done[place]:
                first[place], last[place] = min(first[place], here), max(last[place], here)
        done[here] += 1
        if not members.leaves[here] and not members.kinds[here].reduces:
            # The row is there before it is known that nobody needs it.
            most[here] = max(most[here], done[here] - min(needed_from(here), done[here] - 1))
    rings = [
        Ring(most[place], first[place], last[place]) if place in inside and most[place] else None
        for place in range(members.count)
    ]
    return Rows(rows, tuple(rings))


@record
class Cut:
    """One stripe, gone through."""

    members: Members
    rows: Rows
    strips: Strips

    def ring_bytes(self, place: int) -> int:
        """The bytes that are kept of what is made at a place; 0 where that is there as a whole."""
        ring = self.rows.rings[place]
        return 0 if ring is None else ring.rows * self.strips.widest[place] * self.members.pixel[place]

    def cost(self, costs: Sequence[int]) -> int:
        """What running it costs, given the cost of each operator of the graph."""
        total = 0
        for place, (operator, kind) in enumerate(
            zip(self.members.operators, self.members.kinds, strict=True)
        ):
            if kind.reduces:
                total += costs[operator]
                continue
            rows = self.rows.produced[place] * self.strips.total[place]
            total += -(-costs[operator] * rows // (kind.rows * kind.columns))
        return total


def cut_of(graph: Graph, operators: Sequence[int], columns: int) -> Cut | str:
    """The stripe of these operators with so many columns; or why there is none."""
    members = members_of(graph, operators)
    if isinstance(members, str):
        return members
    if columns > members.kinds[-1].columns:
        return f"a strip has {columns:,} columns, and there are {members.kinds[-1].columns:,}; take that many"
    return Cut(members, replay_rows(members), strips_of(members, columns))


def with_stripes(graph: Graph, stripes: Sequence[Stripe]) -> Graph:
    """A graph whose operators run as they are listed, with these runs of them as one operator each."""
    operators: list[Operator] = []
    gone: set[str] = set()
    costs = operator_costs(graph)
    at = 0
    for number, stripe in enumerate(stripes):
        if not at <= stripe.begin < stripe.end <= len(graph.operators):
            message = "stripes name operators in ascending order, each at most once, of those that run"
            raise InputError.single("bad_stripe", f"$.schedule.stripes[{number}]", message)
        cut = cut_of(graph, range(stripe.begin, stripe.end), stripe.columns)
        if isinstance(cut, str):
            raise InputError.single("bad_stripe", f"$.schedule.stripes[{number}]", cut)
        operators += graph.operators[at : stripe.begin]
        rolled, inside = _as_one(graph, cut, costs)
        operators.append(rolled)
        gone |= inside
        at = stripe.end
    operators += graph.operators[at:]
    tensors = tuple(tensor for tensor in graph.tensors if tensor.id not in gone)
    return replace(graph, tensors=tensors, operators=tuple(operators), order="given")


def _as_one(graph: Graph, cut: Cut, costs: Sequence[int]) -> tuple[Operator, set[str]]:
    """The operator that a stripe becomes, and the tensors that only it has."""
    members = cut.members
    inside = [graph.operators[operator] for operator in members.operators]
    outputs = [graph.tensors[kind.output] for kind in members.kinds]
    own = {tensor.id for tensor, leaves in zip(outputs, members.leaves, strict=True) if not leaves}
    written = {tensor.id for tensor in outputs}
    inputs = dict.fromkeys(name for entry in inside for name in entry.inputs if name not in written)
    place_of = {tensor.id: place for place, tensor in enumerate(outputs)}
    rings = sorted((name for name in own), key=links_of(graph).tensor_index.__getitem__)
    temporaries = [entry for name in rings for entry in _ring(cut, place_of[name], outputs[place_of[name]])]
    for place, operator in enumerate(inside):
        temporaries += [replace(temporary, phases=(place, place + 1)) for temporary in operator.temporaries]
    everything = (0, members.count)
    taken = {tensor.id for tensor in graph.tensors}
    taken |= {temporary.id for operator in graph.operators for temporary in operator.temporaries}
    for kind, tensor in zip(members.kinds, outputs, strict=True):
        if kind.reduces:
            name = free_id(f"{tensor.id}.sums", taken)
            temporaries.append(
                Temporary(
                    id=name,
                    size=kind.sums,
                    phases=everything,
                    alignment=lcm(tensor.alignment, kind.sum_width),
                    pools=tensor.pools,
                )
            )
    return (
        Operator(
            id=inside[-1].id,
            type="stripe",
            inputs=tuple(inputs),
            outputs=tuple(tensor.id for tensor in outputs if tensor.id not in own),
            temporaries=tuple(temporaries),
            cost=cut.cost(costs),
        ),
        own,
    )


def _ring(cut: Cut, place: int, tensor: Tensor) -> Iterator[Temporary]:
    """The ring of a tensor; none where nothing of it is made."""
    ring, size = cut.rows.rings[place], cut.ring_bytes(place)
    if ring is not None and size:
        phases = ring.first, ring.last + 1
        yield Temporary(
            id=tensor.id, size=size, phases=phases, alignment=tensor.alignment, pools=tensor.pools
        )
