"""Every order of a tiny problem, by the rule of docs/shapes.md and nothing of the planner's."""

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain, combinations, permutations, product

from memstow.planner.formulas.sizes import largest_problem, problem_at
from memstow.planner.model.problem import Buffer, Pool, Problem
from memstow.planner.model.symbolic import SymbolicProblem

Pair = frozenset[str]


class Every:
    """All orders of a problem; `least` is the least peak at each of the points."""

    def __init__(self, problem: SymbolicProblem, points: Sequence[Mapping[str, int]]) -> None:
        self.largest, _ = largest_problem(problem)
        self.points = [problem_at(problem, at) for at in points]
        self.size = [
            {buffer.id: buffer.size for buffer in concrete.buffers}
            for concrete in (*self.points, self.largest)
        ]
        self.buffers = {buffer.id: buffer for buffer in self.largest.buffers}
        self.pools = {pool.id: pool for pool in self.largest.pools}
        self.conflicts = set(_conflicts(self.largest))

    def least_ratio(self, least: Sequence[int]) -> Fraction | None:
        """The least worst ratio of an order that fits with the largest sizes."""
        best: Fraction | None = None
        for peaks in self.all_peaks():
            worst = max(
                Fraction(peak, low) if low else Fraction(1 + peak)
                for peak, low in zip(peaks, least, strict=True)
            )
            if best is None or worst < best:
                best = worst
        return best

    def all_peaks(self) -> Iterator[list[int]]:
        """The objective at each point, of every order that fits with the largest sizes."""
        pairs = self.largest.in_place
        for shared in chain.from_iterable(combinations(pairs, n) for n in range(len(pairs) + 1)):
            ties = [(relation.buffer, relation.base, relation.offset) for relation in self.largest.relative]
            ties += [(pair.output, pair.input, 0) for pair in shared]
            units = _units(list(self.buffers), ties)
            together = {frozenset((pair.input, pair.output)) for pair in shared}
            if units is None:
                continue
            # What has no bytes at any value is at no distance; others keep those that they have through it.
            sized = [{entry: at for entry, at in unit.items() if self.size[-1][entry]} for unit in units]
            units = [entry for entry in sized if entry] + [
                {buffer: 0} for buffer in self.buffers if not self.size[-1][buffer]
            ]
            if not all(self._sound(unit, together) for unit in units):
                continue
            for homes in product(*(self._homes(unit) for unit in units)):
                for order in permutations(range(len(units))):
                    peaks = self._peaks([(units[operator], homes[operator]) for operator in order])
                    if peaks is not None:
                        yield peaks

    def _sound(self, unit: Mapping[str, int], shared: set[Pair]) -> bool:
        """Whether members that conflict are apart at the largest sizes, or share their place."""
        for one, two in combinations(unit, 2):
            if frozenset((one, two)) not in self.conflicts:
                continue
            low, high = sorted((one, two), key=lambda entry: unit[entry])
            if frozenset((one, two)) in shared:
                continue
            if self.size[-1][low] and self.size[-1][high] and unit[high] - unit[low] < self.size[-1][low]:
                return False
        return True

    def _homes(self, unit: Mapping[str, int]) -> list[str]:
        allowed = []
        for pool in self.pools:
            buffers = [self.buffers[entry] for entry in unit]
            if all(
                buffer.pool in (None, pool) and (buffer.pools is None or pool in buffer.pools)
                for buffer in buffers
            ):
                allowed.append(pool)
        return allowed

    def _peaks(self, order: Sequence[tuple[Mapping[str, int], str]]) -> list[int] | None:
        result: list[int] = []
        for sizes in self.size:
            offset: dict[str, int] = {}
            home: dict[str, str] = {}
            for unit, pool in order:
                if not self._place(unit, pool, sizes, offset, home):
                    return None
            peak = {
                pool: max(
                    [
                        0,
                        *(
                            offset[entry] + sizes[entry]
                            for entry in offset
                            if home[entry] == pool and sizes[entry]
                        ),
                    ]
                )
                for pool in self.pools
            }
            if sizes is self.size[-1] and any(
                entry.capacity is not None and peak[name] > entry.capacity
                for name, entry in self.pools.items()
            ):
                return None
            term = self.largest.objective[0] if self.largest.objective else "peak"
            named = term.partition(":")[2]
            result.append(
                peak[named] if named else max(peak.values()) if term == "max_peak" else sum(peak.values())
            )
        return result[:-1]

    def _place(
        self,
        unit: Mapping[str, int],
        pool: str,
        sizes: Mapping[str, int],
        offset: dict[str, int],
        home: dict[str, str],
    ) -> bool:
        place = self.pools[pool]
        floor, top = _room(place)
        low = max(floor - at for at in unit.values())
        for name, at in unit.items():
            for other, begin in offset.items():
                if home[other] == pool and frozenset((name, other)) in self.conflicts:
                    low = max(low, begin + sizes[other] - at)
        offsets = ((self.buffers[entry].offset, at) for entry, at in unit.items())
        pins = {pin - at for pin, at in offsets if pin is not None}
        start = low
        while not all(
            (start + at + (place.base or 0)) % self.buffers[entry].alignment == 0
            and (start + at + (place.base or 0)) % place.alignment == 0
            for entry, at in unit.items()
        ):
            start += 1
            if start > low + 1000:
                return False
        if pins:
            if start > min(pins):
                return False
            start = min(pins)
        for name, at in unit.items():
            offset[name], home[name] = start + at, pool
            if sizes is self.size[-1] and sizes[name] and start + at + sizes[name] > top:
                return False
        return True


def _room(pool: Pool) -> tuple[int, int]:
    """From the end of what is reserved at the bottom to the begin of what is reserved at the top."""
    floor, top = 0, 1 << 62 if pool.capacity is None else pool.capacity
    for taken in sorted(pool.reserved, key=lambda stretch: stretch.offset):
        if taken.offset <= floor:
            floor = max(floor, taken.offset + taken.size)
        else:
            top = min(top, taken.offset)
    return floor, top


def _conflicts(problem: Problem) -> Iterator[Pair]:
    free = {frozenset(pair) for pair in problem.exclusive}
    output = {frozenset(conflict) for conflict in problem.conflicts}
    for one, two in combinations(problem.buffers, 2):
        if not one.size or not two.size:
            continue
        pair = frozenset((one.id, two.id))
        meet = any(a[0] < b[1] and b[0] < a[1] for a in _lives(one) for b in _lives(two))
        if pair in output or (meet and pair not in free):
            yield pair


def _lives(buffer: Buffer) -> list[tuple[int, int]]:
    if buffer.lifetimes is not None:
        return list(buffer.lifetimes)
    if buffer.lifetime is None:
        return []
    return [(-(10**9), 10**9)] if isinstance(buffer.lifetime, str) else [buffer.lifetime]


def _units(names: Sequence[str], ties: Sequence[tuple[str, str, int]]) -> list[dict[str, int]] | None:
    """Buffers with their distances in a group; None where ties contradict each other."""
    units: list[dict[str, int]] = []
    left = list(names)
    while left:
        unit = {left[0]: 0}
        grown = True
        while grown:
            grown = False
            for one, base, apart in ties:
                for known, other, at in ((base, one, apart), (one, base, -apart)):
                    if known in unit and other not in unit:
                        unit[other] = unit[known] + at
                        grown = True
                    elif known in unit and unit[other] != unit[known] + at:
                        return None
        units.append(unit)
        left = [entry for entry in left if entry not in unit]
    return units
