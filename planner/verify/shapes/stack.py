"""One order of a plan as the judge reads it: what is in which pool, and above what.

Notes what is wrong with its structure: buffers without a place, pools, ties, pins, circles. Only where there
is nothing wrong it can be laid out (`heights.py`).
"""

from collections.abc import Iterable
from math import lcm

from memstow.planner.model.symbolic import Order, OrderedPlacement
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.layout import NOWHERE, check_pool
from memstow.planner.verify.problem_index import Grid, ProblemIndex, both
from memstow.planner.verify.shapes.units import Units

_SHOWN = 6


class Stack:
    """`pool[i]` of buffer i, `above[i]` the buffers that it is above of, its units and their sequence."""

    def __init__(self, index: ProblemIndex, order: Order, findings: Findings) -> None:
        self.index = index
        self.pool = [NOWHERE] * len(index.buffers)
        self.above: list[list[int]] = [[] for _ in index.buffers]
        self._findings = findings
        before = findings.total
        self._empty: set[int] = set()
        shared = self._read(order.placements)
        ties = [*index.relative, *((a, b, 0) for a, b in shared)]
        self.units = Units(len(index.buffers), ties, self._empty)
        self.grid: list[Grid] = []
        """Where the first member of each unit may begin."""
        self.pinned: list[int | None] = []
        """Where the first member of each unit must begin."""
        self.sequence: list[int] = []
        """The units, each after all that it is above of."""
        if findings.total == before:
            self._check_ties(shared)
            self._check_arcs()
        if findings.total == before:
            self._sort()
        self.sound = findings.total == before
        """Whether it can be laid out."""

    def _name(self, buffer: int) -> str:
        return self.index.id_of(buffer)

    def _read(self, placements: Iterable[OrderedPlacement]) -> list[tuple[int, int]]:
        """Read all placements; which buffer shares the offset of which."""
        index, findings = self.index, self._findings
        seen: set[int] = set()
        shared = []
        for place in placements:
            i = self._buffer(place.buffer)
            if i is None:
                continue
            if i in seen:
                findings.add(Code.REPEATED, "{!r} has several places", place.buffer, buffers=(place.buffer,))
                continue
            seen.add(i)
            pool = index.pool_index.get(place.pool)
            if pool is None:
                text = "{!r} is in {!r}, which is not a pool of the problem"
                findings.add(
                    Code.UNKNOWN_POOL,
                    text,
                    place.buffer,
                    place.pool,
                    buffers=(place.buffer,),
                    pool=place.pool,
                )
                continue
            self.pool[i] = pool
            check_pool(index, index.buffers[i], pool, findings)
            named = (self._buffer(name) for name in dict.fromkeys(place.above))
            self.above[i] = [other for other in named if other is not None]
            if place.empty:
                self._empty.add(i)
                if index.buffers[i].size:
                    text = "{!r} is said to be empty, and may have bytes at some value"
                    findings.add(Code.EMPTY, text, place.buffer, buffers=(place.buffer,))
            if place.shares is not None and (other := self._buffer(place.shares)) is not None:
                shared.append((i, other))
        for i, buffer in enumerate(index.buffers):
            if i not in seen:
                findings.add(Code.MISSING, "{!r} has no place", buffer.id, buffers=(buffer.id,))
        return shared

    def _buffer(self, name: str) -> int | None:
        found = self.index.buffer_index.get(name)
        if found is None:
            text = "{!r} is named but is not a buffer of the problem"
            self._findings.add(Code.UNKNOWN_BUFFER, text, name, buffers=(name,))
        return found

    def _check_ties(self, shared: list[tuple[int, int]]) -> None:
        """What keeps its distance must be a pair in place or tied, in one pool, aligned, and pinned alike."""
        index, findings, units = self.index, self._findings, self.units
        for one, other in shared:
            if (min(one, other), max(one, other)) not in index.in_place:
                text = "{!r} shares the offset of {!r}, and the two are no pair in place"
                names = (self._name(one), self._name(other))
                findings.add(Code.SHARES, text, *names, buffers=names)
        for one, other, distance in units.contradicted:
            names = (self._name(one), self._name(other))
            text = "{!r} cannot be {} above {!r}: other ties put it elsewhere"
            findings.add(Code.RELATIVE_DISTANCE, text, names[0], distance, names[1], buffers=names)
        for members in units.members:
            elsewhere = next((i for i in members if self.pool[i] != self.pool[members[0]]), None)
            if elsewhere is not None:
                names = (self._name(elsewhere), self._name(members[0]))
                text = "{!r} and {!r} keep their distance, and are in two pools"
                findings.add(Code.RELATIVE_POOL, text, *names, buffers=names)
            self._find_start(members, self.pool[members[0]])

    def _find_start(self, members: list[int], pool: int) -> None:
        """Where the first member may begin so that all are aligned, and where the pins put it."""
        index, at = self.index, self.units.at
        names = tuple(self._name(i) for i in members[:_SHOWN])
        grid: Grid | None = Grid(1, 0)
        base = index.pools[pool].base or 0
        for i in members:
            step = lcm(index.buffers[i].alignment, index.pools[pool].alignment)
            grid = grid and both(grid, Grid(step, -(base + at[i]) % step))
        if grid is None:
            text = "{} cannot all be aligned at the distances that they keep"
            self._findings.add(Code.MISALIGNED, text, ", ".join(map(repr, names)), buffers=names)
            grid = Grid(1, 0)
        pins = {offset - at[i] for i in members if (offset := index.buffers[i].offset) is not None}
        if len(pins) > 1:
            text = "{} are pinned to offsets that are not at the distances that they keep"
            self._findings.add(Code.PINNED_OFFSET, text, ", ".join(map(repr, names)), buffers=names)
        pin = min(pins, default=None)
        if pin is not None and (pin - grid.first) % grid.step:
            text = "{} are not aligned where the pin puts them"
            self._findings.add(Code.MISALIGNED, text, ", ".join(map(repr, names)), buffers=names)
        self.grid.append(Grid(grid.step, grid.first % grid.step))
        self.pinned.append(pin)

    def _check_arcs(self) -> None:
        """Note what is above something in another pool, or at a fixed distance."""
        unit = self.units.unit
        for i, below in enumerate(self.above):
            for other in below:
                if unit[i] == unit[other]:
                    text = "{!r} is above {!r}, and the two begin at a fixed distance"
                elif self.pool[i] != self.pool[other]:
                    text = "{!r} is above {!r}, which is in another pool"
                else:
                    continue
                names = (self._name(i), self._name(other))
                self._findings.add(Code.ABOVE, text, *names, buffers=names)

    def _sort(self) -> None:
        """Put the units in sequence, or note a circle."""
        unit, members = self.units.unit, self.units.members
        follow: list[list[int]] = [[] for _ in members]
        waits = [0] * len(members)
        for i, below in enumerate(self.above):
            for other in below:
                follow[unit[other]].append(unit[i])
                waits[unit[i]] += 1
        self.sequence = [u for u, count in enumerate(waits) if not count]
        for u in self.sequence:
            for other in follow[u]:
                waits[other] -= 1
                if not waits[other]:
                    self.sequence.append(other)
        if len(self.sequence) < len(members):
            self._note_circle(waits)

    def _note_circle(self, waits: list[int]) -> None:
        """Each unit that still waits is above another that waits: walk down until one comes again."""
        unit, members = self.units.unit, self.units.members
        u = next(u for u, count in enumerate(waits) if count)
        trail: dict[int, int] = {}
        names: list[str] = []
        while u not in trail:
            trail[u] = len(names)
            i, other = next((i, p) for i in members[u] for p in self.above[i] if waits[unit[p]])
            names.append(self._name(i))
            u = unit[other]
        circle = names[trail[u] :]
        shown = " above ".join(map(repr, (*circle, circle[0]) if len(circle) < _SHOWN else circle[:_SHOWN]))
        text = "a circle of {}: {}" + ("" if len(circle) < _SHOWN else " and so on")
        self._findings.add(Code.ABOVE, text, len(circle), shown, buffers=tuple(circle[:_SHOWN]))
