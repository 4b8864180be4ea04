"""Live bytes where everything begins at a multiple of some bytes, the unit.

Nothing else can use the rest of the last unit of a buffer, but for the one that is on top. So the sum of
whole units, less the largest rest, is what the memory is at least as large as.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from math import gcd, lcm
from typing import Final

from memstow.planner.graph.storages import storages
from memstow.planner.model.graph import Graph, Operator, Temporary, Tensor, is_planned, phase_count, size_of

# Rests that add up to more would be too large to count.
_MOST: Final = 1 << 40

Span = tuple[int, int, int]
"""Begin, end and bytes."""


@dataclass(frozen=True, slots=True)
class Load:
    """What is live at once: the bytes of whole units, and the most that one of them leaves of its last."""

    bytes: int = 0
    rest: int = 0

    @property
    def height(self) -> int:
        """No memory that holds all of them is smaller."""
        return self.bytes - self.rest


def unit_of(graph: Graph) -> int:
    """What all that is planned begins at a multiple of, with any alternatives; 1 where there are views.

    The alignment of its pool counts, too. Pieces of a group of views begin anywhere in it.
    """
    if graph.views:
        return 1
    alignments = [it.alignment for it in _planned(graph)]
    pools = {it.alignment for it in graph.pools} or {1}
    many = len(alignments) + len(graph.operators)
    in_pools = gcd(*(lcm(alignment, pool) for alignment in set(alignments) for pool in pools))
    fitting = (it for it in (in_pools, gcd(*alignments)) if 0 < it * many < _MOST)
    return next(fitting, 1)


def _planned(graph: Graph) -> Iterator[Tensor | Temporary]:
    for tensors, operators in (
        (graph.tensors, graph.operators),
        *((it.tensors, it.operators) for it in graph.alternatives),
    ):
        yield from filter(is_planned, tensors)
        for operator in operators:
            yield from operator.temporaries


def whole(size: int, unit: int) -> int:
    """The bytes of the units that it takes."""
    return -(-size // unit) * unit


def load_of(sizes: Iterable[int], unit: int) -> Load:
    """All of them at once."""
    total = rest = 0
    for size in sizes:
        taken = whole(size, unit)
        total += taken
        rest = max(rest, taken - size)
    return Load(total, rest)


def resident_load(graph: Graph, unit: int) -> Load:
    """Planned tensors that are always live."""
    always = (it for it in graph.tensors if is_planned(it) and it.kind in ("state", "constant"))
    return load_of(map(size_of, always), unit)


def start_height(graph: Graph, unit: int) -> int:
    """What is live before the first operator needs at least so much."""
    always = resident_load(graph, unit)
    there = load_of((it.size for it in storages(graph) if it.from_start), unit)
    return Load(always.bytes + there.bytes, max(always.rest, there.rest)).height


def loads(spans: Iterable[Span], unit: int) -> Iterator[tuple[int, Load]]:
    """What is live from each moment at which that changes; spans are half-open, and not empty."""
    changes: dict[int, int] = {}
    begins: dict[int, list[tuple[int, int]]] = {}
    for begin, end, size in spans:
        taken = whole(size, unit)
        changes[begin] = changes.get(begin, 0) + taken
        changes[end] = changes.get(end, 0) - taken
        if taken > size:
            begins.setdefault(begin, []).append((size - taken, end))
    level = 0
    largest: list[tuple[int, int]] = []
    for time in sorted(changes):
        level += changes[time]
        for rest in begins.get(time, ()):
            heappush(largest, rest)
        while largest and largest[0][1] <= time:
            heappop(largest)
        yield time, Load(level, -largest[0][0] if largest else 0)


def temporary_height(operator: Operator, unit: int, rest: int) -> int:
    """What its temporaries add at the fullest moment to what is live and has this rest."""
    if not operator.temporaries:
        return -rest
    end = phase_count(operator)
    spans = ((*(it.phases or (0, end)), it.size) for it in operator.temporaries)
    # There may be a phase without any of them.
    return max([-rest, *(load.bytes - max(load.rest, rest) for _, load in loads(spans, unit))])
