"""A symbolic problem as arrays: items with a size for each point, and the way back to an order."""

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memstow.planner.model.errors import DeclinedError
from memstow.planner.model.objective import Kind, Term, terms_of
from memstow.planner.model.plan import Explanation, Placement
from memstow.planner.model.problem import LIMIT, Problem, end_of
from memstow.planner.model.ranges import merged
from memstow.planner.model.symbolic import Order, OrderedPlacement, SymbolicProblem
from memstow.planner.reduce import Reduction, reduce
from memstow.planner.shapes.solve.ties import Ties, shared_places, tied
from memstow.solvers.instance import Instance
from memstow.solvers.shapes import PeakMeasure, Shaped, shape

# Offsets are sums of sizes and alignments, at the most above each other all of them.
_MOST_BYTES = LIMIT // 2
# As the native code has it: who has more is told before the work, not after it.
_MOST_BUFFERS = 20_000
_TOO_MANY = "more than 20,000 buffers or 16 million pairs of buffers that conflict"


@dataclass(frozen=True, slots=True)
class Found:
    """Items in the order in which they are put above each other, and the pool of each, as a choice."""

    sequence: tuple[int, ...]
    choices: tuple[int, ...]


class ShapedArrays:
    """One set of tied pairs as arrays; `sizes` are those at the points, by buffer, the largest last."""

    def __init__(
        self, largest: Problem, reduction: Reduction, ties: Ties, sizes: Sequence[Sequence[int]]
    ) -> None:
        self.problem = largest
        self.reduction = reduction
        self.ties = ties
        self._sizes = sizes

    @property
    def instance(self) -> Instance:
        """The items at their largest."""
        return self.reduction.instance

    def shaped(self, points: Sequence[int]) -> Shaped:
        """The same with sizes at these points, for the native search; DeclinedError for too much."""
        flat = array("q")
        rows = [*points, len(self._sizes) - 1]
        for buffer in self.reduction.part_buffer:
            flat.extend([self._sizes[row][buffer] for row in rows])
        found = shape(self.instance, flat, points)
        if found is None:
            raise declined(_TOO_MANY)
        return found

    def order(self, shaped: Shaped, found: Found) -> Order:
        """The sequence as an order, without what follows from the rest."""
        buffers, pools = self.problem.buffers, self.problem.pools
        above: dict[int, list[str]] = {}
        part_buffer = self.reduction.part_buffer
        for upper, lower in shaped.arcs(found.sequence, found.choices):
            above.setdefault(part_buffer[upper], []).append(buffers[part_buffer[lower]].id)
        instance = self.instance
        pool_of = {index: place.pool for index, place in self.reduction.alone}
        for item, choice in enumerate(found.choices):
            pool = pools[instance.choice_pool[instance.choice_start[item] + choice]].id
            for part in range(instance.item_parts[item], instance.item_parts[item + 1]):
                pool_of[part_buffer[part]] = pool
        shares = shared_places(self.ties)
        tied_ids = {name for tie in self.problem.relative for name in (tie.buffer, tie.base)}
        return Order(
            placements=[
                OrderedPlacement(
                    buffer=buffer.id,
                    pool=pool_of[index],
                    above=above.get(index, ()),
                    shares=shares.get(buffer.id),
                    empty=not buffer.size and buffer.id in tied_ids,
                )
                for index, buffer in enumerate(buffers)
            ]
        )

    def start(self, placements: Sequence[Placement]) -> Found:
        """Items from the lowest to the highest, as these places have them."""
        offset = {it.buffer: it.offset for it in placements}
        pool = {it.buffer: it.pool for it in placements}
        return self.by_height(offset, pool)

    def by_height(self, height: Mapping[str, float], pool: Mapping[str, str]) -> Found:
        """Items from the lowest to the highest."""
        instance, buffers = self.instance, self.problem.buffers
        number = {it.id: index for index, it in enumerate(self.problem.pools)}
        keys: list[tuple[float, int]] = []
        choices: list[int] = []
        for item in range(instance.item_count):
            parts = range(instance.item_parts[item], instance.item_parts[item + 1])
            ids = [buffers[self.reduction.part_buffer[part]].id for part in parts]
            keys.append((min(height.get(it, 0) for it in ids), item))
            allowed = instance.choice_pool[instance.choice_start[item] : instance.choice_start[item + 1]]
            wanted = number.get(pool.get(ids[0], ""), -1)
            choices.append(allowed.index(wanted) if wanted in allowed else 0)
        return Found(tuple(item for _, item in sorted(keys)), tuple(choices))

    def measure(self, shaped: Shaped, least: Sequence[int], weights: Sequence[int]) -> None:
        """Say what is counted, and what the least of it is at each point."""
        term: Term = terms_of(self.problem)[0]
        kind, pool = PeakMeasure.SUM, 0
        if term.kind is Kind.MAX_PEAK:
            kind = PeakMeasure.LARGEST
        elif term.kind is Kind.POOL_PEAK:
            kind = PeakMeasure.ONE_POOL
            pool = next(index for index, it in enumerate(self.problem.pools) if it.id == term.pool)
        shaped.set_measure(kind, pool, list(least), [float(it) for it in weights])


def make_arrays(largest: Problem, ties: Ties, sizes: Sequence[Sequence[int]]) -> "ShapedArrays | Explanation":
    """The arrays, or why some buffer has no place even alone."""
    reduction = reduce(tied(largest, ties), in_bytes=True)
    if isinstance(reduction, Explanation):
        return reduction
    _limit_places(largest, reduction.instance)
    return ShapedArrays(largest, reduction, ties, sizes)


def _limit_places(problem: Problem, instance: Instance) -> None:
    """Lowest and highest offsets: an order knows the bottom and the top of a pool, and nothing between."""
    spaces = [usable(problem, number) for number in range(len(problem.pools))]
    for item in range(instance.item_count):
        parts = range(instance.item_parts[item], instance.item_parts[item + 1])
        top = max(instance.part_delta[part] + instance.part_size[part] for part in parts)
        bottom = min(instance.part_delta[part] for part in parts)
        for choice in range(instance.choice_start[item], instance.choice_start[item + 1]):
            low, high = spaces[instance.choice_pool[choice]]
            if instance.choice_low[choice] != instance.choice_high[choice]:
                instance.choice_low[choice] = max(instance.choice_low[choice], low - bottom)
                instance.choice_high[choice] = min(instance.choice_high[choice], high - top)


def usable(problem: Problem, number: int) -> tuple[int, int]:
    """The bytes of a pool from its reserved bottom to its reserved top; DeclinedError for a hole between."""
    pool = problem.pools[number]
    low, high = 0, end_of(pool)
    for begin, end in merged([(it.offset, it.offset + it.size) for it in pool.reserved]):
        if begin <= low:
            low = max(low, end)
        elif end >= high:
            high = min(high, begin)
        else:
            raise declined(
                f"the reserved range at {begin:,} of pool {pool.id!r}: it keeps free only what is at the "
                "bottom or at the top of a pool"
            )
    return low, high


def require_few(problem: SymbolicProblem) -> None:
    """DeclinedError where there are too many buffers, whatever their formulas are."""
    if len(problem.buffers) - [it.size for it in problem.buffers].count(0) > _MOST_BUFFERS:
        raise declined(_TOO_MANY)


def require_room(problem: Problem) -> None:
    """DeclinedError where offsets could grow beyond what is counted."""
    alignment = max(pool.alignment for pool in problem.pools)
    total = sum(it.size + it.alignment * alignment + (it.offset or 0) for it in problem.buffers)
    total += sum(abs(it.offset) for it in problem.relative)
    total += sum(usable(problem, number)[0] for number in range(len(problem.pools)))
    if total > _MOST_BYTES:
        raise declined("sizes, distances and alignments that add up to more than 2^61 bytes")


def declined(what: str) -> DeclinedError:
    """What an order cannot honour, by name."""
    return DeclinedError(f"an order cannot honour {what}; use --shapes fixed")
