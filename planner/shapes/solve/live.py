"""What any layout of a point needs, by the bytes that live together: for points without time for a plan.

Only buffers that surely share no byte with others count: those in no rigid group, pair in place or exclusive
pair. A plan of the point has better bounds.
"""

from array import array
from collections.abc import Sequence

from memstow.planner.model.objective import Kind, parse_term
from memstow.planner.model.problem import ALWAYS, LIMIT
from memstow.planner.model.symbolic import SymbolicProblem
from memstow.solvers.shapes import LiveEvents


class LiveBytes:
    """The same for any sizes of a problem."""

    def __init__(self, problem: SymbolicProblem) -> None:
        loose = {name for tie in problem.relative for name in (tie.buffer, tie.base)}
        loose.update(name for pair in problem.exclusive for name in pair)
        loose.update(name for share in problem.in_place for name in (share.input, share.output))
        # Of a buffer with several lifetimes none counts.
        counted = [
            (index, buffer.lifetime)
            for index, buffer in enumerate(problem.buffers)
            if buffer.lifetime is not None and not (loose and buffer.id in loose)
        ]
        self._always = [index for index, lifetime in counted if lifetime == ALWAYS]
        self._events = _events([(index, *it) for index, it in counted if isinstance(it, tuple)])
        term = parse_term(problem.objective[0])
        self._kind = term.kind if term is not None else None
        self._pools = len(problem.pools)

    def at(self, sizes: Sequence[int]) -> int:
        """No layout with these sizes has a smaller objective."""
        live = self._events.most(array("q", sizes))
        total = (LIMIT if live is None else live) + sum(sizes[index] for index in self._always)
        if self._pools == 1 or self._kind is Kind.PEAK:
            return total
        return -(-total // self._pools) if self._kind is Kind.MAX_PEAK else 0


def _events(lives: Sequence[tuple[int, int, int]]) -> LiveEvents:
    """Times that are too large for native code are replaced by their ranks."""
    indices, begins, ends = zip(*lives, strict=True) if lives else ((), (), ())
    try:
        return LiveEvents(array("q", indices), array("q", begins), array("q", ends))
    except OverflowError:
        rank = {time: number for number, time in enumerate(sorted({*begins, *ends}))}
        ranks = (array("q", map(rank.__getitem__, times)) for times in (begins, ends))
        return LiveEvents(array("q", indices), *ranks)
