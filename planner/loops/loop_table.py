"""The table of a plan: where all is, and what runs one after the other; and the table as JSON.

First the operators as the schedule lets them run (`program_of`): each run on its own, and what of the graph
it is. Then each stripe as a nest of loops (`nest_of`): its strips, and the steps of each strip with the
rows that they read.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memstow.planner.formats.native import encode_document, plain
from memstow.planner.graph.check import require_valid
from memstow.planner.graph.links import links_of, listed_order
from memstow.planner.graph.lowering import lower
from memstow.planner.graph.schedules import with_chosen, with_runs
from memstow.planner.graph.stripes import Cut, Members, cut_of, made_rows, members_of, row_steps, with_stripes
from memstow.planner.model.digest import digest
from memstow.planner.model.errors import InputError
from memstow.planner.model.graph import Graph, Operator, is_planned, size_of
from memstow.planner.model.loops import (
    Copy,
    Loops,
    RowRing,
    Scratch,
    StripeLoops,
    StripeMember,
    UsedPool,
    WholeOperator,
    WholeTensor,
)
from memstow.planner.model.plan import Placement, Plan, Schedule, Stripe, peaks
from memstow.planner.verify import require_valid_plan


@dataclass(frozen=True, slots=True)
class Program:
    """A graph as its plan runs it: each operator in its order, and where it comes from."""

    listed: Graph
    """Each operator that runs, in its order; stripes are not yet one operator."""
    striped: Graph
    """The same with each stripe as one operator, of the id of its last."""
    stripes: tuple[Stripe, ...]
    """Their places among the operators that are listed."""
    runs: Mapping[str, str]
    """By operator that has another id than in the graph, that id; a copy has none."""
    copies: frozenset[str]
    """The operators that only copy a tensor."""
    versions: Mapping[str, str]
    """By tensor that has another id than in the graph, that id."""


def program_of(graph: Graph, schedule: Schedule | None) -> Program:
    """What runs, as the schedule says; without one, the operators as they are listed."""
    if schedule is None:
        schedule = Schedule(order=tuple(graph.operators[entry].id for entry in listed_order(graph)))
    graph = with_chosen(graph, schedule.alternatives)
    schedule = replace(schedule, alternatives=())
    listed, moved = with_runs(graph, schedule)
    striped = with_stripes(listed, moved.stripes) if moved.stripes else listed
    origins = _Origins(graph, schedule, listed)
    return Program(listed, striped, moved.stripes, origins.runs, frozenset(origins.copies), origins.versions)


class _Origins:
    """Goes through what runs beside the schedule, which has it in the same order."""

    def __init__(self, graph: Graph, schedule: Schedule, listed: Graph) -> None:
        self.runs: dict[str, str] = {}
        self.copies: set[str] = set()
        self.versions: dict[str, str] = {}
        operators, known = iter(listed.operators), links_of(graph).operator_index
        back = _by_place((spill.back, spill.tensor) for spill in schedule.spills)
        out = _by_place((spill.out, spill.tensor) for spill in schedule.spills)
        for at, name in enumerate(schedule.order):
            for tensor in back.get(at, ()):
                self._copy(next(operators), tensor)
            here, there = next(operators), graph.operators[known[name]]
            if here.id != name:
                self.runs[here.id] = name
                self.versions.update(zip(here.outputs, there.outputs, strict=True))
            for tensor in out.get(at, ()):
                self._copy(next(operators), tensor)

    def _copy(self, copy: Operator, tensor: str) -> None:
        self.copies.add(copy.id)
        self.versions[copy.outputs[0]] = tensor


def _by_place(pairs: Iterable[tuple[int, str]]) -> dict[int, list[str]]:
    tensors: dict[int, list[str]] = {}
    for place, tensor in pairs:
        tensors.setdefault(place, []).append(tensor)
    return tensors


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
        strips=tuple(
            tuple(_columns(cut, place, span) for place, span in enumerate(spans))
            for spans in cut.strips.spans
        ),
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
    for place, row in row_steps(members):
        axes = (use.rows for use in members.kinds[place].uses)
        yield place, row, *(number for axis in axes for number in _needs(axis.first(row), axis.end(row)))


def _needs(first: int, end: int) -> tuple[int, int]:
    return (first, end) if first < end else (0, 0)


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
    needed = [cut.rows.produced[place] for place in rings]
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
    rows_made = [0] * len(rings)
    free = [0] * len(rings)
    frees = []
    for (place, row, *_), keeps in zip(rows, after, strict=True):
        if place in number_of:
            rows_made[number_of[place]] = row + 1
        pairs: list[int] = []
        for number, keep in keeps.items():
            now = min(keep, rows_made[number])
            if now > free[number]:
                free[number] = now
                pairs += number, now
        frees.append(tuple(pairs))
    return tuple(frees)


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
            makes=graph.tensors[kind.output].id,
            rows=kind.rows,
            columns=kind.columns,
            again=_again(spans),
            sums=places.scratch(sums[place].id, sums[place].size) if place in sums else None,
            temporaries=tuple(
                places.scratch(temporary.id, temporary.size) for temporary in operator.temporaries
            ),
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
    tensor = graph.tensors[cut.members.kinds[place].output].id
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


def table_of(graph: Graph, plan: Plan) -> Loops:
    """The table; an InputError if the plan is not valid for the graph."""
    require_valid(graph)
    require_valid_plan(graph, plan)
    program = program_of(graph, plan.schedule)
    refuse_endless(program)
    problem = lower(program.striped, listed_order(program.striped))
    if plan.digest not in (None, digest(problem)):
        message = "the plan is for another problem, as its digest says; give the options it was made with"
        raise InputError.single("other_problem", "digest", message)
    places = Places({place.buffer: place for place in plan.placements})
    used = peaks(problem, plan.placements)
    return Loops(
        version=1,
        name=graph.name,
        digest=digest(problem),
        pools=tuple(UsedPool(id=pool.id, size=used.get(pool.id, 0)) for pool in problem.pools),
        tensors=tuple(_tensors(program, places)),
        segments=tuple(_segments(program, places)),
    )


def _tensors(program: Program, places: Places) -> Iterator[WholeTensor]:
    graph = program.striped
    end = len(graph.operators)
    first = {name: number for number, operator in enumerate(graph.operators) for name in operator.outputs}
    last = {name: number for number, operator in enumerate(graph.operators) for name in operator.inputs}
    outputs, inputs = set(graph.outputs), set(graph.inputs)
    for tensor in graph.tensors:
        if not is_planned(tensor):
            continue
        always = tensor.kind != "data"
        first_segment = -1 if always or tensor.id in inputs else first.get(tensor.id, -1)
        where = places.placed[tensor.id]
        yield WholeTensor(
            id=tensor.id,
            of=program.versions.get(tensor.id),
            pool=where.pool,
            offset=where.offset,
            size=size_of(tensor),
            shape=tensor.shape,
            type=tensor.type,
            first=first_segment,
            last=end if always or tensor.id in outputs else last.get(tensor.id, first_segment),
        )


def _segments(program: Program, places: Places) -> Iterator[WholeOperator | Copy | StripeLoops]:
    stripe_of = {program.listed.operators[stripe.end - 1].id: stripe for stripe in program.stripes}
    for operator in program.striped.operators:
        stripe = stripe_of.get(operator.id)
        if stripe is not None:
            yield nest_of(program, stripe, operator, places)
        elif operator.id in program.copies:
            yield Copy(id=operator.id, source=operator.inputs[0], target=operator.outputs[0])
        else:
            yield WholeOperator(
                id=operator.id,
                runs=program.runs.get(operator.id),
                inputs=operator.inputs,
                outputs=operator.outputs,
                temporaries=tuple(
                    places.scratch(temporary.id, temporary.size, temporary.phases)
                    for temporary in operator.temporaries
                ),
            )


def loops_json(table: Loops) -> bytes:
    """Write the table as the JSON document of docs/loops.md."""
    return encode_document(plain(table))
