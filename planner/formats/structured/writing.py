"""Writes a problem as a structured document; refuses fields that it cannot express."""

from math import lcm
from typing import Final

from memstow.planner.formats.format import Refusals
from memstow.planner.formats.plain_problem import live_ranges
from memstow.planner.formats.reserved_peaks import same_optimum
from memstow.planner.formats.structured.numbering import NumberedName, number_ids
from memstow.planner.model.problem import ALWAYS, Buffer, Interval, Kind, Problem, allowed_pools, terms_of

_METRICS: Final = {Kind.PEAK: "total_peak", Kind.MAX_PEAK: "max_peak", Kind.REUSE_COST: "reuse_cost"}


def document_of(problem: Problem) -> dict[str, object]:
    """The structured document of the problem."""
    return _Writing(problem).document()


class _Writing:
    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._refusals = Refusals("structured")
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
        if problem.in_place:
            refusals.add("$.in_place")
        for index, pool in enumerate(problem.pools):
            for field, default in (("base", None), ("cost", 0)):
                if getattr(pool, field) != default:
                    refusals.add(f"$.pools[{index}].{field}")
            if len(self._pools[pool.id].name) > 1000:
                refusals.add(f"$.pools[{index}].id", "a name may have 1,000 characters")
            if pool.reserved and not same_optimum(problem):
                why = "its peaks count the end of reserved ranges, which changes what is best here"
                refusals.add(f"$.pools[{index}].reserved", why)

    def _pool(self, index: int) -> dict[str, object]:
        pool = self._problem.pools[index]
        return {
            **_identity(self._pools[pool.id]),
            "capacity": pool.capacity,
            "reserved_ranges": [{"begin": r.offset, "end": r.offset + r.size} for r in pool.reserved],
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


def _identity(one: NumberedName) -> dict[str, object]:
    return {"id": one.number, "name": one.name}


def _hull(problem: Problem) -> Interval:
    """From the first moment at which something lives to the last."""
    lives = [life for buffer in problem.buffers for life in live_ranges(buffer) or ()]
    if not lives:
        return (0, 1)
    return min(begin for begin, _ in lives), max(end for _, end in lives)
