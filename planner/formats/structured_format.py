"""The structured JSON of kernel compilers, version 1 of tonibohnlein/dsa-solver: problems and solutions.

The document refers to buffers and pools by number: numbers for names, and names for numbers.
Every field that changes what a good plan is, is honoured or refused; so is what it cannot express. Its peaks
count the end of reserved ranges as well, ours do not: an objective passes where that makes no difference.
"""

import re
from collections.abc import Iterator, Sequence
from math import lcm
from typing import Annotated, Any, Final, Literal, NamedTuple

from memstow.planner.formats.format import Format, Refusals, live_ranges, plan_of_placements
from memstow.planner.formats.native import encode_document
from memstow.planner.model.errors import InputError
from memstow.planner.model.model_class import WITHOUT_NUL, Field, model_class
from memstow.planner.model.plan import Placement, Plan
from memstow.planner.model.printable import shown
from memstow.planner.model.problem import (
    ALWAYS,
    LIMIT,
    MAX_PEAK,
    MOST_BANKS,
    PEAK,
    Alignment,
    Banks,
    Buffer,
    Bytes,
    Count,
    Interval,
    Kind,
    Pair,
    Pool,
    Problem,
    Relative,
    Reserved,
    ReuseCost,
    Term,
    Time,
    Version,
    allowed_pools,
    bank_ranges,
    terms_of,
)
from memstow.planner.reading.json_text import Path
from memstow.planner.reading.parse import check_made
from memstow.planner.reading.sections import Findings, read_whole
from memstow.records import collector_at_rest

Number = Annotated[int, Field(strict=True, ge=0, lt=1 << 32)]
# Together with its number a name must be a valid id.
Name = Annotated[str, Field(strict=True, max_length=1000, pattern=WITHOUT_NUL)]
Text = Annotated[str, Field(strict=True, max_length=1024)]
Metric = Literal["capacity_overflow", "total_peak", "max_peak", "reuse_cost", "bank_cost"]
Profile = Literal[
    "standard_dsa",
    "dsa_rp_v1",
    "pypto_structured",
    "pypto_hard_v1",
    "pypto_research_v1",
    "pypto_core_relaxation",
]


@model_class
class AddressRange:
    """Bytes [begin, end)."""

    begin: Bytes
    end: Bytes


@model_class
class BankGeometry:
    """Equal banks from offset 0 on."""

    bank_size: Annotated[int, Field(strict=True, ge=1, le=LIMIT)]
    num_banks: Annotated[int, Field(strict=True, ge=1, le=MOST_BANKS)]


@model_class
class StructuredPool:
    """A pool."""

    id: Number
    name: Name
    capacity: Bytes | None
    reserved_ranges: tuple[AddressRange, ...]
    bank_geometry: BankGeometry | None = None


@model_class
class LiveInterval:
    """Live in [lower, upper)."""

    lower: Time
    upper: Time


@model_class
class StructuredBuffer:
    """A buffer."""

    id: Number
    name: Name
    size: Bytes
    alignment: Alignment
    live_intervals: Annotated[tuple[LiveInterval, ...], Field(min_length=1)]
    allowed_pools: Annotated[tuple[Number, ...], Field(min_length=1)]


@model_class
class NumberPair:
    """Two buffers that are tied, or exclude each other."""

    first: Number
    second: Number


@model_class
class Separation:
    """Two buffers that may not overlap, and why."""

    first: Number
    second: Number
    reasons: tuple[Text, ...] = ()


@model_class
class Pinned:
    """A fixed place; when exclusive, no other buffer may ever use its bytes."""

    buffer: Number
    pool: Number
    offset: Bytes
    exclusive_for_all_time: Annotated[bool, Field(strict=True)]


@model_class
class Constraints:
    """What a plan must respect beside lives and capacities."""

    colocations: tuple[NumberPair, ...]
    separations: tuple[Separation, ...]
    temporal_exclusions: tuple[NumberPair, ...]
    pinned_allocations: tuple[Pinned, ...]


@model_class
class ReusePenalty:
    """The cost of two buffers sharing bytes, with its reason."""

    first: Number
    second: Number
    cost: Count
    reason: Text


@model_class
class CostModel:
    """What plans cost beside their peaks."""

    reuse_penalties: tuple[ReusePenalty, ...]


@model_class
class AliasClass:
    """Names of the values that a buffer stands for: a note, without effect."""

    buffer: Number
    members: tuple[Text, ...]


@model_class
class PipelineMember:
    """A stage of a pipeline: a note, without effect."""

    buffer: Number
    stage: Annotated[int, Field(strict=True)]
    residue: Number


@model_class
class PipelineGroup:
    """A pipeline; a note, since its requirements are in the separations."""

    group: Annotated[int, Field(strict=True)]
    pool: Number
    slot_size: Bytes
    depth: Number
    effective_depth: Number
    members: tuple[PipelineMember, ...]


@model_class
class CompilerStructure:
    """Where the problem comes from."""

    alias_classes: tuple[AliasClass, ...]
    pipeline_groups: tuple[PipelineGroup, ...]
    whole_slot_reuse: Annotated[bool, Field(strict=True)] = False


@model_class
class StructuredObjective:
    """The terms to minimise, in lexicographic order."""

    aggregation: Literal["lexicographic"]
    terms: Annotated[tuple[Metric, ...], Field(min_length=1)]


@model_class
class StructuredProblem:
    """The problem in the envelope: pools, buffers, constraints and objective."""

    pools: Annotated[tuple[StructuredPool, ...], Field(min_length=1)]
    buffers: tuple[StructuredBuffer, ...]
    constraints: Constraints
    objective: StructuredObjective
    cost_model: CostModel | None = None
    pypto_structure: CompilerStructure | None = None


@model_class
class Document:
    """The envelope; only `instance` and `problem` say something of the problem."""

    schema_version: Version
    profile: Profile
    instance: Annotated[str, Field(strict=True, min_length=1, max_length=1024)]
    problem: StructuredProblem
    metadata: dict[str, object] = Field(default_factory=dict)
    relaxed_from: str | None = None
    relaxed_features: tuple[Text, ...] = ()


@model_class
class NumberPlacement:
    """The pool and the offset of a buffer."""

    buffer: Number
    pool: Number
    offset: Bytes


@model_class
class Solution:
    """A plan: the place of each buffer."""

    placements: tuple[NumberPlacement, ...]


_NUMBERED: Final = re.compile(r"(0|[1-9][0-9]{0,9})(?::(.+))?", re.ASCII | re.DOTALL)
_MOST: Final = (1 << 32) - 1


class NumberedName(NamedTuple):
    """A number and the name that goes with it."""

    number: int
    name: str


def id_of(number: int, name: str) -> str:
    """The id of a number with a name."""
    return f"{number}:{name}" if name else str(number)


def number_ids(ids: Sequence[str]) -> list[NumberedName]:
    """A number for each of these ids: their own where all have one, their place in the list otherwise."""
    own = [_own(name) for name in ids]
    if len({one.number for one in own if one is not None}) == len(ids):
        return [one for one in own if one is not None]
    return [NumberedName(index, name) for index, name in enumerate(ids)]


def _own(identity: str) -> NumberedName | None:
    match = _NUMBERED.fullmatch(identity)
    if match is None or int(match[1]) > _MOST:
        return None
    return NumberedName(int(match[1]), match[2] or "")


_PEAKS = (PEAK, MAX_PEAK)


def same_optimum(problem: Problem) -> bool:
    """Whether the two notions of a peak lead to the same plans."""
    terms = terms_of(problem)
    reserving = [pool for pool in problem.pools if pool.reserved]
    if not reserving or not any(term in _PEAKS for term in terms):
        return True
    choices = [allowed_pools(problem, buffer) for buffer in problem.buffers if buffer.size]
    bound = {names[0] for names in choices if len(names) == 1}
    if all(_from_the_bottom(pool) and pool.id in bound for pool in reserving):
        return True
    first = next(index for index, term in enumerate(terms) if term in _PEAKS)
    return all(len(names) == 1 for names in choices) and all(term in _PEAKS for term in terms[first:])


def _from_the_bottom(pool: Pool) -> bool:
    """Whether the reserved ranges leave no room below their end."""
    end = 0
    for reserved in sorted(pool.reserved, key=lambda one: one.offset):
        if reserved.offset > end:
            return False
        end = max(end, reserved.offset + reserved.size)
    return True


_KINDS: Final = {
    "total_peak": Kind.PEAK,
    "max_peak": Kind.MAX_PEAK,
    "reuse_cost": Kind.REUSE_COST,
    # The format says of no pair what a common bank costs, so this is always 0.
    "bank_cost": Kind.BANK_COST,
}
_POOL_FIELDS: Final = {"reserved": "reserved_ranges", "banks": "bank_geometry"}
_BUFFER_FIELDS: Final = {
    "lifetime": "live_intervals",
    "lifetimes": "live_intervals",
    "pools": "allowed_pools",
}


class Reading:
    """One document on its way, and where in it everything came from."""

    def __init__(self, document: Document, findings: Findings) -> None:
        self._name = document.instance
        self._source = document.problem
        self._findings = findings
        self._pools = {pool.id: id_of(pool.id, pool.name) for pool in self._source.pools}
        self._buffers = {buffer.id: id_of(buffer.id, buffer.name) for buffer in self._source.buffers}
        self._class_of = self._classes()
        self._pins: dict[int, tuple[int, Pinned]] = {}
        self._origins: dict[str, list[int]] = {}
        """Of the parts of a list that were made from another list: from which elements."""

    def problem(self) -> Problem:
        """The problem; what cannot be understood or honoured is added to the findings."""
        # One number with two names; one name twice is one id twice, as of buffers: the checks find that.
        name_of: dict[int, str] = {}
        for index, pool in enumerate(self._source.pools):
            if name_of.setdefault(pool.id, pool.name) != pool.name:
                message = f"{pool.id} is the id of another pool already; give each pool an id of its own"
                self._findings.add("duplicate_pool", ("problem", "pools", index, "id"), message)
        self._refuse_unsupported()
        self._gather_pins()
        sizes = self._block_sizes()
        problem = Problem(
            version=1,
            name=self._name,
            pools=tuple(map(_pool, self._source.pools)),
            buffers=tuple(self._buffer(buffer, sizes) for buffer in self._source.buffers),
            conflicts=self._made("conflicts", self._separations()),
            exclusive=self._made("exclusive", self._exclusions()),
            relative=self._made("relative", self._ties()),
            reuse_costs=self._made("reuse_costs", self._penalties()),
            objective=self._made("objective", self._terms()),
        )
        if not self._findings and not same_optimum(problem):
            index = next(i for i, pool in enumerate(problem.pools) if pool.reserved)
            self._findings.add(
                "unsupported",
                ("problem", "pools", index, "reserved_ranges"),
                "peaks count the end of reserved ranges here, unlike in memstow, and with this objective "
                "other plans would be best; ask for peaks last, with one allowed pool a buffer",
            )
        return problem

    def place(self, path: Path) -> Path:
        """Where in the document a part of the problem was made from."""
        field, index, rest = path[0] if path else "", path[1] if len(path) > 1 else 0, path[2:]
        if not isinstance(index, int):
            return ("problem",)
        if field == "buffers":
            if rest[:1] in (("pool",), ("offset",)):
                pin = self._pins.get(self._source.buffers[index].id)
                if pin is not None:
                    return ("problem", "constraints", "pinned_allocations", pin[0], *rest)
            renamed = tuple(_BUFFER_FIELDS.get(str(step), step) for step in rest[:1])
            return ("problem", "buffers", index, *renamed, *rest[1:2])
        if field == "pools":
            list_there = _POOL_FIELDS.get(str(rest[0]) if rest else "")
            return ("problem", "pools", index, *(rest if list_there is None else (list_there,)))
        origin = self._origins.get(str(field), [])
        source = origin[index] if index < len(origin) else 0
        return ("problem", *_LISTS.get(str(field), ()), source)

    def _made(self, field: str, parts: Iterator[tuple[int, Any]]) -> tuple[Any, ...]:
        indexed = list(parts)
        self._origins[field] = [index for index, _ in indexed]
        return tuple(part for _, part in indexed)

    def _buffer_id(self, number: int) -> str:
        # A number that there is not becomes an id that there is not, which the checks will find.
        return self._buffers.get(number, str(number))

    def _pool_id(self, number: int) -> str:
        return self._pools.get(number, str(number))

    def _pair(self, first: int, second: int) -> Pair:
        return self._buffer_id(first), self._buffer_id(second)

    def _refuse_unsupported(self) -> None:
        for index, pool in enumerate(self._source.pools):
            for position, one in enumerate(pool.reserved_ranges):
                if one.begin >= one.end:
                    place = ("problem", "pools", index, "reserved_ranges", position)
                    self._findings.add("empty_range", place, f"[{one.begin}, {one.end}) holds no byte")
        structure = self._source.pypto_structure
        if structure is not None and structure.whole_slot_reuse:
            self._findings.add(
                "unsupported",
                ("problem", "pypto_structure", "whole_slot_reuse"),
                "reusing whole slots only is not supported; set it to false to let buffers share any bytes",
            )

    def _classes(self) -> dict[int, int]:
        """By buffer: the buffer that stands for those it is colocated with."""
        leader = {buffer.id: buffer.id for buffer in self._source.buffers}

        def find(number: int) -> int:
            while leader[number] != number:
                leader[number] = leader[leader[number]]
                number = leader[number]
            return number

        for pair in self._source.constraints.colocations:
            for number in (pair.first, pair.second):
                leader.setdefault(number, number)
            one, two = find(pair.first), find(pair.second)
            leader[max(one, two)] = min(one, two)
        return {number: find(number) for number in leader}

    def _block_sizes(self) -> dict[int, int]:
        sizes: dict[int, int] = {}
        for buffer in self._source.buffers:
            leader = self._class_of[buffer.id]
            sizes[leader] = max(sizes.get(leader, 0), buffer.size)
        return sizes

    def _gather_pins(self) -> None:
        for index, pin in enumerate(self._source.constraints.pinned_allocations):
            place = ("problem", "constraints", "pinned_allocations", index, "buffer")
            if pin.buffer not in self._buffers:
                self._findings.add("unknown_buffer", place, f"there is no buffer {pin.buffer}")
            elif pin.buffer in self._pins:
                self._findings.add("repeated_pin", place, f"buffer {pin.buffer} is pinned already")
            else:
                self._pins[pin.buffer] = (index, pin)

    def _buffer(self, source: StructuredBuffer, sizes: dict[int, int]) -> Buffer:
        allowed = [self._pool_id(number) for number in source.allowed_pools]
        lives = tuple((interval.lower, interval.upper) for interval in source.live_intervals)
        pin = self._pins[source.id][1] if source.id in self._pins else None
        always = pin is not None and pin.exclusive_for_all_time
        one = lives[0] if len(lives) == 1 else None
        return Buffer(
            id=self._buffers[source.id],
            size=sizes[self._class_of[source.id]],
            lifetime=ALWAYS if always else one,
            lifetimes=None if always or one is not None else lives,
            alignment=source.alignment,
            pools=None if allowed == list(self._pools.values()) else tuple(allowed),
            pool=None if pin is None else self._pool_id(pin.pool),
            offset=None if pin is None else pin.offset,
        )

    def _separations(self) -> Iterator[tuple[int, Pair]]:
        for index, one in enumerate(self._source.constraints.separations):
            yield index, self._pair(one.first, one.second)

    def _exclusions(self) -> Iterator[tuple[int, Pair]]:
        for index, one in enumerate(self._source.constraints.temporal_exclusions):
            # Bytes that are exclusive for all time are not shared with the buffers of other paths either.
            if not (self._is_exclusive(one.first) or self._is_exclusive(one.second)):
                yield index, self._pair(one.first, one.second)

    def _is_exclusive(self, number: int) -> bool:
        return number in self._pins and self._pins[number][1].exclusive_for_all_time

    def _ties(self) -> Iterator[tuple[int, Relative]]:
        """Each member tied to the leader of its class: pairs may form rings, which ties must not."""
        named_in: dict[int, int] = {}
        for index, pair in enumerate(self._source.constraints.colocations):
            named_in.setdefault(pair.first, index)
            named_in.setdefault(pair.second, index)
        for number, leader in self._class_of.items():
            if leader != number:
                tie = Relative(buffer=self._buffer_id(number), base=self._buffer_id(leader), offset=0)
                yield named_in[number], tie

    def _penalties(self) -> Iterator[tuple[int, ReuseCost]]:
        model = self._source.cost_model
        for index, one in enumerate(model.reuse_penalties if model is not None else ()):
            # Sharing is what colocated buffers are for: the format does not charge it.
            classes = {self._class_of.get(number, number) for number in (one.first, one.second)}
            if len(classes) == 2:
                yield index, ReuseCost(buffers=self._pair(one.first, one.second), cost=one.cost)

    def _terms(self) -> Iterator[tuple[int, str]]:
        for index, metric in enumerate(self._source.objective.terms):
            if metric in _KINDS:
                yield index, str(Term(_KINDS[metric]))
            # Nothing to do for capacity_overflow: no plan is accepted whose overflow is not 0.


_LISTS: Final[dict[str, Path]] = {
    "conflicts": ("constraints", "separations"),
    "exclusive": ("constraints", "temporal_exclusions"),
    "relative": ("constraints", "colocations"),
    "reuse_costs": ("cost_model", "reuse_penalties"),
    "objective": ("objective", "terms"),
}


def _pool(source: StructuredPool) -> Pool:
    return Pool(
        id=id_of(source.id, source.name),
        capacity=source.capacity,
        reserved=tuple(
            Reserved(offset=one.begin, size=one.end - one.begin)
            for one in source.reserved_ranges
            if one.end > one.begin
        ),
        banks=()
        if source.bank_geometry is None
        else (Banks(size=source.bank_geometry.bank_size, count=source.bank_geometry.num_banks),),
    )


_METRICS: Final = {kind: metric for metric, kind in _KINDS.items()}


def document_of(problem: Problem) -> dict[str, object]:
    """The structured document of the problem."""
    return _Writing(problem).document()


class _Writing:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._refusals = Refusals("structured", problem, ("banks",))
        pools, buffers = [pool.id for pool in problem.pools], [buffer.id for buffer in problem.buffers]
        self._pools = dict(zip(pools, number_ids(pools), strict=True))
        self._buffers = dict(zip(buffers, number_ids(buffers), strict=True))
        self._alignment_of = {pool.id: pool.alignment for pool in problem.pools}
        self._all_time = _hull(problem)

    def document(self) -> dict[str, object]:
        problem = self._problem
        self._refuse()
        inner = {
            "pools": [self._pool(index) for index in range(len(problem.pools))],
            "buffers": [self._buffer(f"$.buffers[{i}]", b) for i, b in enumerate(problem.buffers)],
            "constraints": {
                "colocations": [self._pair(tie.buffer, tie.base) for tie in problem.relative],
                "separations": [self._pair(*pair) for pair in problem.conflicts],
                "temporal_exclusions": [self._pair(*pair) for pair in problem.exclusive],
                "pinned_allocations": [self._pin(b) for b in problem.buffers if b.offset is not None],
            },
            "objective": {"aggregation": "lexicographic", "terms": self._terms()},
        }
        if problem.reuse_costs:
            inner["cost_model"] = {
                "reuse_penalties": [
                    {**self._pair(*one.buffers), "cost": one.cost, "reason": "generic"}
                    for one in problem.reuse_costs
                ]
            }
        self._refusals.raise_any()
        return {
            "schema_version": 1,
            "profile": "pypto_structured",
            "instance": problem.name or "memstow",
            "metadata": {},
            "problem": inner,
        }

    def _refuse(self) -> None:
        problem, refusals = self._problem, self._refusals
        size_of = {buffer.id: buffer.size for buffer in problem.buffers}
        for index, tie in enumerate(problem.relative):
            if tie.offset != 0 or size_of[tie.buffer] != size_of[tie.base]:
                refusals.add(f"$.relative[{index}]", "it ties buffers of one size at one offset only")
        if problem.relative and problem.reuse_costs:
            refusals.add("$.reuse_costs", "it does not charge reuse between colocated buffers")
        refusals.add_fields("$", problem, in_place=())
        for index, pool in enumerate(problem.pools):
            refusals.add_fields(f"$.pools[{index}]", pool, base=None, cost=0)
            if len(self._pools[pool.id].name) > 1000:
                refusals.add(f"$.pools[{index}].id", "a name may have 1,000 characters")
            if pool.banks and _geometry(pool) is None:
                refusals.add(f"$.pools[{index}].banks", "its banks are equal, and begin at offset 0")
            if pool.reserved and not same_optimum(problem):
                why = "its peaks count the end of reserved ranges, which changes what is best here"
                refusals.add(f"$.pools[{index}].reserved", why)

    def _pool(self, index: int) -> dict[str, object]:
        pool = self._problem.pools[index]
        geometry = _geometry(pool)
        return {
            **_identity(self._pools[pool.id]),
            "capacity": pool.capacity,
            "reserved_ranges": [{"begin": r.offset, "end": r.offset + r.size} for r in pool.reserved],
            **({} if geometry is None else {"bank_geometry": geometry}),
        }

    def _buffer(self, path: str, buffer: Buffer) -> dict[str, object]:
        allowed = allowed_pools(self._problem, buffer)
        alignments = {lcm(buffer.alignment, self._alignment_of[name]) for name in allowed}
        if len(alignments) > 1:
            self._refusals.add(f"{path}.pools", "a buffer's alignment is one, whatever its pool")
        if buffer.size == 0:
            self._refusals.add(f"{path}.size", "a buffer must have a size")
        if buffer.accesses is not None:
            self._refusals.add(f"{path}.accesses")
        if len(self._buffers[buffer.id].name) > 1000:
            self._refusals.add(f"{path}.id", "a name may have 1,000 characters")
        lives = [self._all_time] if buffer.lifetime == ALWAYS else live_ranges(buffer)
        if lives is None:
            self._refusals.add(f"{path}.lifetime", "every buffer must live at some time")
        return {
            **_identity(self._buffers[buffer.id]),
            "size": buffer.size,
            "alignment": max(alignments, default=1),
            "live_intervals": [{"lower": begin, "upper": end} for begin, end in lives or ()],
            "allowed_pools": [self._pools[name].number for name in allowed],
        }

    def _pair(self, first: str, second: str) -> dict[str, int]:
        return {"first": self._buffers[first].number, "second": self._buffers[second].number}

    def _pin(self, buffer: Buffer) -> dict[str, object]:
        pool = allowed_pools(self._problem, buffer)[0]
        return {
            "buffer": self._buffers[buffer.id].number,
            "pool": self._pools[pool].number,
            "offset": buffer.offset,
            "exclusive_for_all_time": False,
        }

    def _terms(self) -> list[str]:
        metrics: list[str] = []
        for index, term in enumerate(terms_of(self._problem)):
            if term.kind in _METRICS:
                metrics.append(_METRICS[term.kind])
            elif len(self._problem.pools) == 1 and term.kind is Kind.POOL_PEAK:
                metrics.append("total_peak")
            # Without costs, which are refused, every plan has the same placement cost.
            elif term.kind is not Kind.PLACEMENT_COST:
                self._refusals.add(f"$.objective[{index}]")
        return list(dict.fromkeys(metrics)) or ["capacity_overflow"]


def _geometry(pool: Pool) -> dict[str, int] | None:
    """The banks of the pool, where they are equal ones from offset 0 on."""
    ranges = bank_ranges(pool)
    if not ranges:
        return None
    size = ranges[0][1]
    if ranges != [(at * size, (at + 1) * size) for at in range(len(ranges))]:
        return None
    return {"bank_size": size, "num_banks": len(ranges)}


def _identity(one: NumberedName) -> dict[str, object]:
    return {"id": one.number, "name": one.name}


def _hull(problem: Problem) -> Interval:
    """From the first moment at which something lives to the last."""
    lives = [life for buffer in problem.buffers for life in live_ranges(buffer) or ()]
    if not lives:
        return (0, 1)
    return min(begin for begin, _ in lives), max(end for _, end in lives)


def read_problem(raw: Any) -> Problem:
    """The problem of a structured document."""
    findings = Findings(raw)
    with collector_at_rest():
        document = read_whole(Document, raw, findings)
        if document is None:
            raise findings.error()
        reading = Reading(document, findings)
        problem = reading.problem()
        check_made(problem, findings, reading.place)
    if findings:
        raise findings.error()
    return problem


def write_problem(problem: Problem) -> bytes:
    """The problem as a structured document."""
    return encode_document(document_of(problem))


def read_plan(raw: Any, problem: Problem) -> Plan:
    """The plan of a solution, numbers resolved; one that the problem does not know is kept as it is."""
    findings = Findings(raw)
    with collector_at_rest():
        solution = read_whole(Solution, raw, findings)
    if solution is None:
        raise findings.error()
    buffers = _ids([buffer.id for buffer in problem.buffers])
    pools = _ids([pool.id for pool in problem.pools])
    placements = tuple(
        Placement(
            buffer=buffers.get(one.buffer, str(one.buffer)),
            pool=pools.get(one.pool, str(one.pool)),
            offset=one.offset,
        )
        for one in solution.placements
    )
    return plan_of_placements(placements, findings, "placements")


def write_plan(problem: Problem, plan: Plan) -> bytes:
    """The placements of a plan as a solution."""
    buffers = _numbers([buffer.id for buffer in problem.buffers])
    pools = _numbers([pool.id for pool in problem.pools])
    for one in plan.placements:
        if one.buffer not in buffers or one.pool not in pools:
            message = f"{shown(one.buffer)} in {shown(one.pool)} is not of this problem: it has no numbers"
            raise InputError.single("unknown_buffer", "$.placements", message)
    return encode_document(
        {
            "placements": [
                {"buffer": buffers[one.buffer], "pool": pools[one.pool], "offset": one.offset}
                for one in plan.placements
            ]
        }
    )


def _ids(ids: list[str]) -> dict[int, str]:
    return {one.number: name for one, name in zip(number_ids(ids), ids, strict=True)}


def _numbers(ids: list[str]) -> dict[str, int]:
    return {name: one.number for one, name in zip(number_ids(ids), ids, strict=True)}


FORMAT: Final = Format(
    name="structured",
    is_json=True,
    read_problem=read_problem,
    write_problem=write_problem,
    read_plan=read_plan,
    write_plan=write_plan,
)
