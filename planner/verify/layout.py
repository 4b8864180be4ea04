"""The placements of a plan by index, and the rules for a single buffer or rigid group.

Notes buffers that are missing, unknown or placed twice, then places that break a rule: pools, pins,
alignments, capacities, reserved ranges and distances.
"""

from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from math import lcm

from memstow.planner.model.plan import Placement
from memstow.planner.model.problem import Buffer
from memstow.planner.verify.findings import Code, Findings
from memstow.planner.verify.problem_index import ProblemIndex

NOWHERE = -1


class Layout:
    """`pool[i]` (or `NOWHERE`) and `offset[i]` of buffer i; a repeated buffer counts where it comes first."""

    def __init__(self, index: ProblemIndex) -> None:
        self.index = index
        self.pool = [NOWHERE] * len(index.buffers)
        self.offset = [0] * len(index.buffers)

    def read(self, placements: tuple[Placement, ...], findings: Findings) -> None:
        """Read the placements of a plan; note unknown, repeated and missing buffers."""
        buffers, pools = self.index.buffer_index, self.index.pool_index
        seen = bytearray(len(self.index.buffers))
        for placement in placements:
            buffer = buffers.get(placement.buffer)
            if buffer is None:
                findings.add(
                    Code.UNKNOWN_BUFFER,
                    "{!r} has a place but is not a buffer of the problem",
                    placement.buffer,
                    buffers=(placement.buffer,),
                )
                continue
            if seen[buffer]:
                findings.add(
                    Code.REPEATED, "{!r} has several places", placement.buffer, buffers=(placement.buffer,)
                )
                continue
            seen[buffer] = 1
            pool = pools.get(placement.pool)
            if pool is None:
                findings.add(
                    Code.UNKNOWN_POOL,
                    "{!r} is in {!r}, which is not a pool of the problem",
                    placement.buffer,
                    placement.pool,
                    buffers=(placement.buffer,),
                    pool=placement.pool,
                )
                continue
            self.pool[buffer] = pool
            self.offset[buffer] = placement.offset
        self._note_missing(seen, findings)

    def by_pool(self) -> list[list[int]]:
        """The placed buffers that have a size, of each pool."""
        placed: list[list[int]] = [[] for _ in self.index.pools]
        for i, (buffer, pool) in enumerate(zip(self.index.buffers, self.pool, strict=True)):
            if pool != NOWHERE and buffer.size:
                placed[pool].append(i)
        return placed

    def _note_missing(self, seen: bytearray, findings: Findings) -> None:
        missing = seen.find(0)
        while missing >= 0:
            name = self.index.id_of(missing)
            findings.add(Code.MISSING, "{!r} has no place", name, buffers=(name,))
            missing = seen.find(0, missing + 1)

    def overlapping(self, one: int, other: int) -> bool:
        """Whether the two share a byte."""
        if self.pool[one] != self.pool[other] or self.pool[one] == NOWHERE:
            return False
        return max(self.offset[one], self.offset[other]) < min(self.ends[one], self.ends[other])

    @cached_property
    def ends(self) -> list[int]:
        """Where each buffer ends, once all are placed."""
        placed = zip(self.offset, self.index.buffers, strict=True)
        return [offset + buffer.size for offset, buffer in placed]


def check_places(index: ProblemIndex, layout: Layout, findings: Findings) -> None:
    """Note every buffer that may not be where it is, or not at its distance from those it is tied to."""
    for i, (buffer, pool, offset) in enumerate(zip(index.buffers, layout.pool, layout.offset, strict=True)):
        if pool == NOWHERE:
            continue
        if buffer.pools is not None or buffer.pool is not None:
            check_pool(index, buffer, pool, findings)
        if buffer.offset is not None and buffer.offset != offset:
            _note_wrong_offset(index, buffer, pool, offset, findings)
        if (offset + (index.pools[pool].base or 0)) % lcm(buffer.alignment, index.pools[pool].alignment):
            _note_misaligned(index, buffer, pool, offset, findings)
        if offset + buffer.size > index.ends[pool]:
            _note_beyond_capacity(index, buffer, pool, offset, findings)
        if index.reserved[pool] and buffer.size:
            _check_reserved(index, layout, i, findings)
    _check_distances(index, layout, findings)


def _note_wrong_offset(
    index: ProblemIndex, buffer: Buffer, pool: int, offset: int, findings: Findings
) -> None:
    findings.add(
        Code.PINNED_OFFSET,
        "{!r} is pinned to offset {} but is at {}",
        buffer.id,
        buffer.offset,
        offset,
        buffers=(buffer.id,),
        pool=index.pools[pool].id,
    )


def _note_misaligned(index: ProblemIndex, buffer: Buffer, pool: int, offset: int, findings: Findings) -> None:
    it = index.pools[pool]
    findings.add(
        Code.MISALIGNED,
        "{!r} is at offset {} of {!r} (base {}): the address must be a multiple of {}",
        buffer.id,
        offset,
        it.id,
        it.base or 0,
        lcm(buffer.alignment, it.alignment),
        buffers=(buffer.id,),
        pool=it.id,
    )


def _note_beyond_capacity(
    index: ProblemIndex, buffer: Buffer, pool: int, offset: int, findings: Findings
) -> None:
    it = index.pools[pool]
    findings.add(
        Code.BEYOND_CAPACITY,
        "{!r} ends at {} but {!r} ends at {}",
        buffer.id,
        offset + buffer.size,
        it.id,
        index.ends[pool],
        buffers=(buffer.id,),
        pool=it.id,
    )


def check_pool(index: ProblemIndex, buffer: Buffer, pool: int, findings: Findings) -> None:
    """Note where the buffer may not be in this pool."""
    name = index.pools[pool].id
    if buffer.pool is not None and buffer.pool != name:
        findings.add(
            Code.PINNED_POOL,
            "{!r} is pinned to {!r} but is in {!r}",
            buffer.id,
            buffer.pool,
            name,
            buffers=(buffer.id,),
            pool=name,
        )
    if buffer.pools is not None and name not in buffer.pools:
        findings.add(
            Code.POOL_NOT_ALLOWED,
            "{!r} is in {!r} but may only be in {}",
            buffer.id,
            name,
            ", ".join(map(repr, buffer.pools[:8])) + (", ..." if len(buffer.pools) > 8 else ""),
            buffers=(buffer.id,),
            pool=name,
        )


def _check_reserved(index: ProblemIndex, layout: Layout, buffer: int, findings: Findings) -> None:
    pool, end = layout.pool[buffer], layout.ends[buffer]
    ranges = index.reserved[pool]
    position = bisect_right(ranges, layout.offset[buffer], key=lambda it: it[1])
    if position < len(ranges) and ranges[position][0] < end:
        name = index.id_of(buffer)
        findings.add(
            Code.RESERVED,
            "{!r} is at [{:d}, {:d}) of {!r}, where [{:d}, {:d}) is reserved",
            name,
            layout.offset[buffer],
            end,
            index.pools[pool].id,
            *ranges[position],
            buffers=(name,),
            pool=index.pools[pool].id,
        )


def _check_distances(index: ProblemIndex, layout: Layout, findings: Findings) -> None:
    """Note every member of a rigid group that is not where the entries of `relative` put it."""
    for buffer, base, distance in _tied(index):
        if NOWHERE in (layout.pool[buffer], layout.pool[base]):
            continue
        names = (index.id_of(buffer), index.id_of(base))
        if layout.pool[buffer] != layout.pool[base]:
            findings.add(
                Code.RELATIVE_POOL,
                "{!r} is in {!r} but must be in one pool with {!r}, which is in {!r}",
                names[0],
                index.pools[layout.pool[buffer]].id,
                names[1],
                index.pools[layout.pool[base]].id,
                buffers=names,
            )
        elif layout.offset[buffer] - layout.offset[base] != distance:
            findings.add(
                Code.RELATIVE_DISTANCE,
                "{!r} is at {} and {!r} at {}: the distance must be {}",
                names[0],
                layout.offset[buffer],
                names[1],
                layout.offset[base],
                distance,
                buffers=names,
                pool=index.pools[layout.pool[base]].id,
            )


def _tied(index: ProblemIndex) -> Iterator[tuple[int, int, int]]:
    """(member, first, distance) of each rigid group."""
    delta = index.rigid.delta
    for members in index.rigid.members:
        for member in members[1:]:
            yield member, members[0], delta[member] - delta[members[0]]
