"""What any layout of a point needs, by the bytes that live together: for points without time for a plan.

Only buffers that surely share no byte with others count: those in no rigid group, pair in place or exclusive
pair. A plan of the point has better bounds.
"""

from collections.abc import Sequence
from itertools import accumulate

from memstow.planner.model.objective import Kind, parse_term
from memstow.planner.model.problem import ALWAYS
from memstow.planner.model.symbolic import SymbolicProblem


class LiveBytes:
    """The same for any sizes of a problem."""

    def __init__(self, problem: SymbolicProblem) -> None:
        loose = {name for tie in problem.relative for name in (tie.buffer, tie.base)}
        loose.update(name for pair in problem.exclusive for name in pair)
        loose.update(name for share in problem.in_place for name in (share.input, share.output))
        # Of a buffer with several lifetimes each counts alone. Ends come before begins of the same time.
        events: list[tuple[int, int, int]] = []
        self._always: list[int] = []
        for index, buffer in enumerate(problem.buffers):
            if buffer.id in loose:
                continue
            if buffer.lifetime == ALWAYS:
                self._always.append(index)
            elif buffer.lifetime is not None and not isinstance(buffer.lifetime, str):
                begin, end = buffer.lifetime
                if begin < end:
                    events += ((begin, 1, index), (end, -1, index))
        self._events = [(sign, index) for _, sign, index in sorted(events)]
        term = parse_term(problem.objective[0])
        self._kind = term.kind if term is not None else None
        self._pools = len(problem.pools)

    def at(self, sizes: Sequence[int]) -> int:
        """No layout with these sizes has a smaller objective."""
        live = max(accumulate((sign * sizes[index] for sign, index in self._events), initial=0))
        total = live + sum(sizes[index] for index in self._always)
        if self._pools == 1 or self._kind is Kind.PEAK:
            return total
        return -(-total // self._pools) if self._kind is Kind.MAX_PEAK else 0
