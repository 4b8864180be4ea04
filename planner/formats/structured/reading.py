"""From a structured document to a problem: every field that changes what a good plan is, honoured or refused.

Colocated buffers are one block, as large as the largest of them: each takes that size, and they start
together. Each keeps its own life, so that the block is held whenever one of them lives, and a temporal
exclusion lifts the conflict of the one member it names, as the format's own validator has it.
"""

from collections.abc import Iterator
from typing import Any, Final

from memstow.planner.formats.reserved_peaks import same_optimum
from memstow.planner.formats.structured.document import Document, Pinned, StructuredBuffer, StructuredPool
from memstow.planner.formats.structured.numbering import id_of
from memstow.planner.model.problem import (
    ALWAYS,
    Buffer,
    Kind,
    Pair,
    Pool,
    Problem,
    Relative,
    Reserved,
    ReuseCost,
    Term,
)
from memstow.planner.reading.issues import Findings
from memstow.planner.reading.paths import Path

_KINDS: Final = {"total_peak": Kind.PEAK, "max_peak": Kind.MAX_PEAK, "reuse_cost": Kind.REUSE_COST}
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
        self._refuse_repeated_pools()
        self._refuse_unsupported()
        self._gather_pins()
        sizes = self._block_sizes()
        made = Problem(
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
        if not self._findings and not same_optimum(made):
            index = next(i for i, pool in enumerate(made.pools) if pool.reserved)
            self._findings.add(
                "unsupported",
                ("problem", "pools", index, "reserved_ranges"),
                "peaks count the end of reserved ranges here, unlike in memstow, and with this objective "
                "other plans would be best; ask for peaks last, with one allowed pool a buffer",
            )
        return made

    def place(self, path: Path) -> Path:
        """Where in the document a part of the problem was made from."""
        field, index, rest = path[0] if path else "", path[1] if len(path) > 1 else 0, path[2:]
        if not isinstance(index, int):
            return ("problem",)
        if field == "buffers":
            return self._place_in_buffer(index, rest)
        if field == "pools":
            return ("problem", "pools", index, *(("reserved_ranges",) if rest[:1] == ("reserved",) else rest))
        origin = self._origins.get(str(field), [])
        source = origin[index] if index < len(origin) else 0
        return ("problem", *_LISTS.get(str(field), ()), source)

    def _place_in_buffer(self, index: int, rest: Path) -> Path:
        if rest[:1] in (("pool",), ("offset",)):
            pin = self._pins.get(self._source.buffers[index].id)
            if pin is not None:
                return ("problem", "constraints", "pinned_allocations", pin[0], *rest)
        renamed = tuple(_BUFFER_FIELDS.get(str(step), step) for step in rest[:1])
        return ("problem", "buffers", index, *renamed, *rest[1:2])

    def _made(self, field: str, parts: Iterator[tuple[int, Any]]) -> tuple[Any, ...]:
        found = list(parts)
        self._origins[field] = [index for index, _ in found]
        return tuple(part for _, part in found)

    def _buffer_id(self, number: int) -> str:
        # A number that there is not becomes an id that there is not, which the checks will find.
        return self._buffers.get(number, str(number))

    def _pool_id(self, number: int) -> str:
        return self._pools.get(number, str(number))

    def _pair(self, first: int, second: int) -> Pair:
        return self._buffer_id(first), self._buffer_id(second)

    def _refuse_repeated_pools(self) -> None:
        """One number with two names; one name twice is one id twice, as of buffers: the checks find that."""
        name_of: dict[int, str] = {}
        for index, pool in enumerate(self._source.pools):
            if name_of.setdefault(pool.id, pool.name) != pool.name:
                message = f"{pool.id} is the id of another pool already; give each pool an id of its own"
                self._findings.add("duplicate_pool", ("problem", "pools", index, "id"), message)

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
            elif metric == "bank_cost":
                at = ("problem", "objective", "terms", index)
                self._findings.add("unsupported", at, "bank_cost is not supported; leave it out")
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
    )
