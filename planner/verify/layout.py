"""The placements of a plan by index; notes buffers that are missing, unknown or placed twice."""

from functools import cached_property

from memstow.planner.model.plan import Placement
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
