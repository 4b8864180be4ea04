"""One stripe as a nest of loops: its strips, and the steps of each strip with the rows that they read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from memstow.planner.graph.stripes.expand import Cut, cut_of
from memstow.planner.graph.stripes.members import Members, members_of
from memstow.planner.graph.stripes.rows import made_rows, steps
from memstow.planner.loops.program import Program
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator
from memstow.planner.model.loops import RowRing, Scratch, StripeLoops, StripeMember
from memstow.planner.model.plan import Placement, Stripe

# Steps of strips, and columns of operators in strips, that a table holds at most.
_MOST_NUMBERS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Places:
    """Where the plan has put things."""

    placed: Mapping[str, Placement]

    def scratch(self, name: str, size: int, phases: tuple[int, int] | None = None) -> Scratch:
        """The place of a temporary."""
        place = self.placed[name]
        return Scratch(id=name, pool=place.pool, offset=place.offset, size=size, phases=phases)


def nest_of(program: Program, stripe: Stripe, one: Operator, places: Places) -> StripeLoops:
    """The loops of a stripe of what runs; `one` is the operator that it becomes."""
    graph = program.listed
    indices = range(stripe.begin, stripe.end)
    cut = cut_of(graph, indices, stripe.columns)
    if isinstance(cut, str):
        raise InputError.single("bad_stripe", "schedule", cut)
    rings = {place: ring for place, ring in enumerate(cut.rows.rings) if ring and cut.ring_bytes(place)}
    rows = list(_steps(cut.members))
    return StripeLoops(
        id=one.id,
        columns=stripe.columns,
        operators=tuple(_members(program, cut, one, places)),
        rings=tuple(_ring(graph, cut, place, ring.rows, places) for place, ring in rings.items()),
        strips=tuple(_strip(cut, spans) for spans in cut.strips.spans),
        steps=tuple(rows),
        frees=_frees(cut, rows, list(rings)),
    )


def refuse_endless(program: Program) -> None:
    """An InputError where the stripes have more steps, or columns of strips, than a table holds."""
    numbers = 0
    for stripe in program.stripes:
        indices = range(stripe.begin, stripe.end)
        members = members_of(program.listed, indices)
        if isinstance(members, str):
            raise InputError.single("bad_stripe", "schedule", members)
        strips = -(-members.kinds[-1].columns // stripe.columns)
        numbers += sum(made_rows(members)) + strips * members.count
    if numbers > _MOST_NUMBERS:
        message = (
            f"the stripes have {numbers:,} steps and columns of strips, and a table at most "
            f"{_MOST_NUMBERS:,}; take wider strips, or fewer stripes"
        )
        raise InputError.single("too_large", "schedule", message)


def _steps(members: Members) -> Iterator[tuple[int, ...]]:
    for place, row in steps(members):
        axes = (use.rows for use in members.kinds[place].uses)
        yield place, row, *(number for axis in axes for number in _needs(axis.first(row), axis.end(row)))


def _needs(first: int, end: int) -> tuple[int, int]:
    return (first, end) if first < end else (0, 0)


def _strip(cut: Cut, spans: Sequence[tuple[int, int]]) -> tuple[tuple[int, ...], ...]:
    return tuple(_columns(cut, place, span) for place, span in enumerate(spans))


def _columns(cut: Cut, place: int, span: tuple[int, int]) -> tuple[int, ...]:
    """Of one operator in a strip: what it makes, and what it reads of each image."""
    axes = [use.columns for use in cut.members.kinds[place].uses]
    if span[0] >= span[1]:
        return (0, 0) * (1 + len(axes))
    read = (_needs(axis.first(span[0]), axis.end(span[1] - 1)) for axis in axes)
    return (*span, *(number for pair in read for number in pair))


def _frees(cut: Cut, rows: Sequence[tuple[int, ...]], rings: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """By step, pairs of a ring and the first row that a later step reads, where that changes."""
    number_of = {place: number for number, place in enumerate(rings)}
    # From the end: what comes later is known. Only what a step makes or reads can be free after it.
    needed = [cut.rows.made[place] for place in rings]
    after: list[dict[int, int]] = []
    for place, _, *read in reversed(rows):
        sources = [number_of.get(source) for source in cut.members.sources[place]]
        touched = {number for number in (number_of.get(place), *sources) if number is not None}
        after.append({number: needed[number] for number in sorted(touched)})
        for use, number in enumerate(sources):
            first, end = read[2 * use : 2 * use + 2]
            if number is not None and first < end:
                needed[number] = min(needed[number], first)
    after.reverse()
    made = [0] * len(rings)
    free = [0] * len(rings)
    found = []
    for (place, row, *_), keeps in zip(rows, after, strict=True):
        if place in number_of:
            made[number_of[place]] = row + 1
        pairs: list[int] = []
        for number, keep in keeps.items():
            now = min(keep, made[number])
            if now > free[number]:
                free[number] = now
                pairs += number, now
        found.append(tuple(pairs))
    return tuple(found)


def _members(program: Program, cut: Cut, one: Operator, places: Places) -> Iterator[StripeMember]:
    graph = program.listed
    adding = [place for place, kind in enumerate(cut.members.kinds) if kind.reduces]
    sums = dict(zip(adding, one.temporaries[len(one.temporaries) - len(adding) :], strict=True))
    for place, (index, kind) in enumerate(zip(cut.members.operators, cut.members.kinds, strict=True)):
        operator = graph.operators[index]
        spans = [strip[place] for strip in cut.strips.spans]
        yield StripeMember(
            id=operator.id,
            runs=program.runs.get(operator.id),
            inputs=operator.inputs,
            reads=tuple(graph.tensors[use.tensor].id for use in kind.uses),
            makes=graph.tensors[kind.made].id,
            rows=kind.rows,
            columns=kind.columns,
            again=_again(spans),
            sums=places.scratch(sums[place].id, sums[place].size) if place in sums else None,
            temporaries=tuple(places.scratch(it.id, it.size) for it in operator.temporaries),
        )


def _again(spans: Sequence[tuple[int, int]]) -> int:
    """The columns that are in a strip and in one before it, counted in each."""
    twice, end = 0, 0
    for first, last in spans:
        if first < last:
            twice += max(0, min(end, last) - first)
            end = max(end, last)
    return twice


def _ring(graph: Graph, cut: Cut, place: int, rows: int, places: Places) -> RowRing:
    tensor = graph.tensors[cut.members.kinds[place].made].id
    where = places.placed[tensor]
    pixel = cut.members.pixel[place]
    return RowRing(
        tensor=tensor,
        pool=where.pool,
        offset=where.offset,
        rows=rows,
        pitch=cut.strips.widest[place] * pixel,
        pixel=pixel,
    )
