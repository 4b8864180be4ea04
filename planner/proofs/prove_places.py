"""A proof of what every plan costs by the pools that buffers are in, and by the pairs that share bytes.

Limits say how much of some buffers may be in some pools: rows what fits into the cells of one at a time, or
is too much where pairs share none, others which buffers have no layout there together, and which costs are
spent. A tree over the pools of buffers, and over pairs, shows with prices for what limits give room for that
no layout is cheaper.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import gcd, lcm
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from memstow.planner.model.problem import (
    LIMIT,
    Kind,
    Problem,
    access_count,
    allowed_pools,
    end_of,
    merged,
)
from memstow.planner.proofs.questions import (
    COST_TERMS,
    Heights,
    OpenPair,
    Space,
    conflicts_of,
    costs_of,
    crowds_of,
    groups_of,
    lives_of,
    pose,
    provable_terms,
    sharing_pairs,
    size_of_moments,
    ties_to_try,
)
from memstow.records import record, replace
from memstow.solvers.core import AddressPrices, Budget, PlaceProgram, ProofFile, ProofSteps, chain_limits

if TYPE_CHECKING:
    from memstow.solvers.known import KnownPrices

PLACEMENT_TERMS: Final = COST_TERMS[:2]
_DEEPEST: Final = 300
_MOST_UNITS: Final = 4096
_MOST_PAIRS: Final = 8192
_MOST_MEMBERS: Final = 1_000_000
"""Of all sets of buffers that are live at one time: they are not made within a limit."""
_MOST_ENTRIES: Final = 2_000_000
"""Of a tree."""
_BYTES_OF_AN_ENTRY: Final = 64
"""Of a row, here and in the program."""
_FIRST_EFFORT: Final = 200_000
"""Work of a search for a layout; later ones may take more."""
_COVER_EFFORT: Final = 10_000
_ROOT_ROUNDS, _ROUNDS = 6, 2
"""In which covers may gain nothing."""
_SHARE_OF_CHAINS: Final = 0.8
SHARE_OF_KNOWN: Final = 0.95
"""Of the budget where prices are known: there is no better use for it."""
_MOST_KEPT: Final = 256 << 20
_MOST_FITTING: Final = 1_000
_TOLERANCE: Final = 1e-6
"""Of what is counted in floating point: the program that finds a solution has it as well."""
_MOST_EXTENDED: Final = 400
"""Of more buffers no rows of pairs that may share are looked for."""
_MOST_ROW_PAIRS: Final = 1 << 19
"""Checkers read rows with four times as many."""
_CHEAPEST, _BRANCH, _WEIGHED = range(3)
APART, SHARED = range(2)
"""Where a pair may be."""


@record
class Unit:
    """Buffers with bytes that are in one pool: their indices, the pools, and what they cost in each.

    Or a pair that may share bytes, without members.
    """

    name: int
    """In a proof."""
    members: tuple[int, ...]
    pools: tuple[int, ...]
    costs: tuple[int, ...]


@record
class Row:
    """What fits into a pool."""

    pool: int
    divisor: int
    buffers: tuple[int, ...]


@record
class Rows:
    """What fits below the sum of all peaks: buffers in each pool."""

    divisor: int
    buffers: tuple[tuple[int, ...], ...]


@record
class Chains:
    """What cells of a pool hold."""

    pool: int
    worth: int
    """Of no cell is it more."""
    prices: tuple[tuple[int, int], ...]
    """Of buffers, and tolls of pairs, by their numbers in a proof."""
    tree: tuple[int, ...]


@record
class _Crowd:
    """Units that have no layout together in a pool, with some pairs apart, and the steps that show it."""

    pool: int
    units: tuple[int, ...]
    steps: ProofSteps


@record
class _Spent:
    """What is spent of another cost."""

    term: int


class Draft:
    """A proof while it is written: how many statements it has, and the heights named in it."""

    def __init__(self, file: ProofFile, statements: int = 0) -> None:
        self.file = file
        self.statements = statements
        self.heights: list[Heights] = []


def units_of(problem: Problem, term: str) -> list[Unit]:
    """The units of a problem but pairs, with what they cost in this term; what is no term costs nothing."""
    tied = [tuple(sorted(index for index, _ in group)) for group in groups_of(problem)]
    groups = {group[0]: group for group in tied}
    others = {index for group in tied for index in group[1:]}
    number_of = {pool.id: number for number, pool in enumerate(problem.pools)}
    counts = term in PLACEMENT_TERMS and term in provable_terms(problem)
    units = list[Unit]()
    for first, buffer in enumerate(problem.buffers):
        if not buffer.size or first in others:
            continue
        members = groups.get(first, (first,))
        costs = [_costs_of(problem, index, term, number_of) for index in members]
        pools = sorted(set.intersection(*(set(mine) for mine in costs)))
        total = tuple(sum(mine[pool] for mine in costs) if counts else 0 for pool in pools)
        units.append(Unit(first, members, tuple(pools), total))
    return units


def pair_unit(pair: OpenPair, term: str) -> Unit:
    """What a pair costs, apart or not."""
    return Unit(pair.number, (), (APART, SHARED), (0, pair.cost if term == Kind.REUSE_COST else 0))


def floor_and_step(problem: Problem, term: str) -> tuple[int, int]:
    """What all units cost at least by themselves, and what divides all that more costs; 0: nothing does."""
    units, fixed = units_of(problem, term), 0
    if term == Kind.REUSE_COST:
        fixed, pairs = costs_of(problem)
        units += [pair_unit(pair, term) for pair in pairs]
    step = gcd(*(cost - unit.costs[0] for unit in units for cost in unit.costs))
    return fixed + sum(min(unit.costs, default=0) for unit in units), step


def most_cost(problem: Problem, term: str) -> int:
    """What no layout costs more than: all buffers in their dearest pools."""
    if term == Kind.REUSE_COST:
        return sum(entry.cost for entry in problem.reuse_costs)
    number_of = {pool.id: number for number, pool in enumerate(problem.pools)}
    counts = term in provable_terms(problem)
    sized = (index for index, buffer in enumerate(problem.buffers) if buffer.size and counts)
    return sum(max(_costs_of(problem, index, term, number_of).values(), default=0) for index in sized)


def _costs_of(problem: Problem, index: int, term: str, number_of: dict[str, int]) -> dict[int, int]:
    buffer = problem.buffers[index]
    numbers = [number_of[name] for name in allowed_pools(problem, buffer)]
    if term == Kind.PLACEMENT_COST:
        return {number: access_count(buffer) * problem.pools[number].cost for number in numbers}
    return {number: buffer.size * place for place, number in enumerate(numbers)}


Parts = list[tuple[int, int, int]]
"""What is in some pool: the number of a buffer or a pair in a proof, the pool, and what it weighs there."""


def _among(pairs: Sequence[OpenPair], some: Sequence[int]) -> list[OpenPair]:
    """The pairs of two of these buffers."""
    inside = {*some} if pairs else set[int]()
    return [pair for pair in pairs if pair.first in inside and pair.second in inside]


def _relieved(parts: Parts, apart: Parts, room: int, divisor: int = 1) -> tuple[Parts, int]:
    """What is in some pool, and the room for it, where pairs that share make up for some of it.

    None makes up for more than is too much of all. Nothing where checkers would refuse the sums.
    """
    taken = sum(weight for _, _, weight in parts)
    excess = max(taken - room, 0)
    parts = parts + [(name, pool, min(weight, excess)) for name, pool, weight in apart]
    room += sum(min(weight, excess) for _, _, weight in apart)
    if max(taken, room) > LIMIT:
        return [], 0
    return [(name, pool, weight // divisor) for name, pool, weight in parts], room // divisor


def filled(
    problem: Problem,
    rows: Sequence[tuple[int, tuple[int, ...]]],
    room: int,
    pairs: Sequence[OpenPair],
    divisor: int,
    cell: int = 1,
) -> tuple[Parts, int]:
    """What buffers take of the cells of pools, and the room for them."""
    cells = {i: -(-problem.buffers[i].size // cell) for _, some in rows for i in some}
    parts = [(i, pool, cells[i]) for pool, some in rows for i in some]
    both = [pair for _, some in rows for pair in _among(pairs, some)]
    apart = [(pair.number, APART, min(cells[pair.first], cells[pair.second])) for pair in both]
    return _relieved(parts, apart, room, divisor)


def _cells_of(problem: Problem, number: int, buffers: Sequence[int], height: int) -> tuple[int, int]:
    """What a cell of these buffers has, and how many there are in layouts up to a height of their pool."""
    pool = problem.pools[number]
    end, base = min(height, end_of(pool)), pool.base or 0
    grid = lcm(pool.alignment, gcd(*(problem.buffers[i].alignment for i in buffers)))

    def below(offset: int) -> int:
        return max(-(-(min(offset, end) - -base % grid) // grid), 0)

    ranges = merged((one.offset, one.offset + one.size) for one in pool.reserved)
    return grid, below(end) - sum(below(stop) - below(begin) for begin, stop in ranges)


def measured(problem: Problem, row: Row, height: int, pairs: Sequence[OpenPair]) -> tuple[Parts, int]:
    """The parts of a row, and its room, in layouts up to a height of its pool."""
    grid, room = _cells_of(problem, row.pool, row.buffers, height)
    return filled(problem, [(row.pool, row.buffers)], room, pairs, row.divisor, grid)


def chained(problem: Problem, chains: Chains, height: int, pairs: Sequence[OpenPair]) -> tuple[Parts, int]:
    """The same of what cells hold by prices."""
    first, price = len(problem.buffers), dict(chains.prices)
    buffers = [i for i in price if i < first]
    grid, room = _cells_of(problem, chains.pool, buffers, height)
    cells = {i: -(-problem.buffers[i].size // grid) for i in buffers}
    apart = [
        (pair.number, APART, price[pair.number] * min(cells[pair.first], cells[pair.second]))
        for pair in pairs
        if price.keys() >= {pair.number, pair.first, pair.second}
    ]
    return _relieved([(i, chains.pool, price[i] * cells[i]) for i in buffers], apart, chains.worth * room)


def spending(problem: Problem, term: str, most: int, pairs: Sequence[OpenPair]) -> tuple[Parts, int] | None:
    """What units cost in their pools more than they must, in steps, and the room for that; None: any may."""
    floor, step = floor_and_step(problem, term)
    if not floor <= most < LIMIT or not step:
        return None
    units = [*units_of(problem, term), *(pair_unit(pair, term) for pair in pairs)]
    parts = [
        (unit.name, pool, (cost - min(unit.costs)) // step)
        for unit in units
        for pool, cost in zip(unit.pools, unit.costs, strict=True)
    ]
    return [part for part in parts if part[2]], (most - floor) // step


class PlacementProof:
    """What layouts within heights cost at least in a term: a tree, and the limits that it uses.

    The number is what stands for the heights in the file; the places, by buffer its pool and offset, are a
    layout that is known, and the prices what shows the reuse costs of pools.
    """

    def __init__(
        self,
        problem: Problem,
        term: str,
        heights: Heights,
        number: int,
        budget: Budget,
        places: Mapping[int, tuple[int, int]] | None = None,
        prices: "KnownPrices" = (),
    ) -> None:
        self._problem, self._term, self._budget = problem, term, budget
        self._places, self._prices = places or {}, prices
        self._heights, self._number = heights, number
        self._units = units_of(problem, term)
        self._unit_of = {index: number for number, unit in enumerate(self._units) for index in unit.members}
        counts = term == Kind.REUSE_COST or heights.costs[COST_TERMS.index(Kind.REUSE_COST)] < LIMIT
        # Of more pairs, which would take long to look at, no limit says anything.
        counts = counts and len(problem.reuse_costs) <= _MOST_PAIRS
        self._pairs = sharing_pairs(problem) if counts else []
        self._first_pair = len(self._units)
        self._unit_of |= {pair.number: len(self._units) + k for k, pair in enumerate(self._pairs)}
        self._units += [pair_unit(pair, term) for pair in self._pairs]
        self._limits = list[Row | Rows | Chains | _Crowd | _Spent]()
        self._rows = dict[Row | Rows, int]()
        """With their numbers among the limits."""
        self._row_pairs = 0
        self._first = list[Row]()
        """The first of the limits, from which others follow."""
        self.floor, step = floor_and_step(problem, term)
        self._step = step or 1
        # What is paid in any case is another unit.
        fixed = self.floor - sum(min(unit.costs, default=0) for unit in self._units)
        self._program = PlaceProgram([*(list(unit.costs) for unit in self._units), [fixed]])
        self._allowed = [list(range(len(unit.pools))) for unit in self._units]
        self._fitting = set[tuple[int, tuple[int, ...]]]()
        self._crowded = set[tuple[int, tuple[int, ...]]]()
        """Units that a limit says have no layout together in a pool."""
        self._effort = _FIRST_EFFORT
        self._ties = ties_to_try(problem)
        self._wants_chains = term == Kind.REUSE_COST and bool(self._pairs)
        self._kept = 0
        self._tree = list[int | tuple[int, int]]()
        self._root: tuple[int, list[int | tuple[int, int]]] = 0, []
        """The best that a leaf shows of all, and that leaf."""
        self.example: dict[int, tuple[int, ...]] | None = None
        """By pool, units that may be there, where less was shown because of that."""

    def raise_bound(self, wanted: int) -> int:
        """Find why layouts cost so much, or as much as can be shown; what they cost at least."""
        is_large = self._first_pair > _MOST_UNITS or size_of_moments(self._problem.buffers) > _MOST_MEMBERS
        has_choice = len(self._problem.pools) > 1 or self._pairs
        if wanted <= self.floor or not has_choice or is_large:
            return min(self.floor, wanted)
        if not Space(self._problem, self._heights).is_read:
            return self.floor
        self._add_first_rows()
        self._add_spent()
        wanted = self._rounded(wanted)
        # Any more than the value before it is this one.
        target = wanted - self._step + 1
        if not self._is_known(target) and not self._node(target, 1):
            bound, self._tree = self._root
            if bound <= self.floor:
                self._tree = []
                return self.floor
            wanted = min(wanted, self._rounded(bound))
        return wanted

    def write(self, draft: Draft) -> None:
        """Write what was shown, unless that is clear without a step."""
        if not self._tree:
            return
        used = sorted({entry[0] for entry in self._tree if isinstance(entry, tuple)})
        draft.file.lay(self._number)
        for number in used:
            self._write_limit(self._limits[number], draft.file)
        term = COST_TERMS.index(Kind(self._term))
        draft.file.cost(term, self._number, self._numbers(used, draft.file.limits - len(used)))
        draft.statements += 1

    def _rounded(self, bound: int) -> int:
        return bound + (self.floor - bound) % self._step

    def _add_first_rows(self) -> None:
        pools_of = {index: unit.pools for unit in self._units for index in unit.members}
        self._crowds = [list[tuple[tuple[int, ...], list[int]]]() for _ in self._problem.pools]
        """By pool, with the units of the pairs among them, where the sum of peaks counts."""
        counted = self._pairs if self._heights.total < LIMIT else []
        self._members = [
            [
                (index, self._problem.buffers[index].size, number, unit.pools.index(pool))
                for number, unit in enumerate(self._units)
                if pool in unit.pools
                for index in unit.members
            ]
            for pool in range(len(self._problem.pools))
        ]
        crowds = crowds_of(self._problem, sorted(pools_of))
        near = self._neighbours(sorted(pools_of))
        for pool in range(len(self._problem.pools)):
            some = {tuple(i for i in crowd if pool in pools_of[i]) for crowd in crowds}
            some |= self._extended(near, pool, [*some, *((i,) for i in near if pool in pools_of[i])])
            for mine in sorted(some - {()}):
                self._budget.count(len(mine))
                if not self._budget.spent and self._kept <= _MOST_KEPT:
                    pairs = [self._unit_of[pair.number] for pair in _among(counted, mine)]
                    self._kept += _BYTES_OF_AN_ENTRY * len(pairs)
                    self._crowds[pool].append((mine, pairs))
                    height = self._heights.peaks[pool]
                    parts, _ = measured(self._problem, Row(pool, 1, mine), height, self._pairs)
                    row = Row(pool, gcd(*(weight for _, _, weight in parts)) or 1, mine)
                    if self._add_row(row):
                        self._first.append(row)

    def _is_known(self, target: int) -> bool:
        """Write a leaf that shows the target by what is known, without a search; whether there is one."""
        if not self._prices or not self._wants_chains or not self._add_chains(target):
            return False
        bound = self._leaf(target)
        if bound < target:
            self._root, self._tree = (bound, self._tree), []
        return bound >= target

    def _add_chains(self, target: int) -> bool:
        """Keep what cells of each pool hold, by prices and tolls; whether that is anything new."""
        self._wants_chains, any_new = False, False
        members = [list[int]() for _ in self._problem.pools]
        for unit in self._units[: self._first_pair]:
            if len(unit.pools) == 1 and self._heights.peaks[unit.pools[0]] < LIMIT:
                members[unit.pools[0]] += unit.members
        paying = [pool for pool, mine in enumerate(members) if _among(self._pairs, mine)]
        # What each of several pools has to show is not known.
        wanted = target - self.floor if len(paying) == 1 else None
        suggested = list[tuple[int, Counter[int]]]()
        for pool in paying:
            if not self._budget.spent:
                scale, prices, is_new = self._add_chains_of(pool, members[pool], wanted)
                suggested.append((scale, prices))
                any_new = any_new or is_new
        # Of several pools all together show more than each.
        common = lcm(*(scale for scale, _ in suggested))
        together = Counter[int]()
        for scale, prices in suggested:
            together.update({number: price * (common // scale) for number, price in prices.items()})
        if len(suggested) > 1:
            suggested.append((common, together))
        for scale, prices in suggested:
            if max([scale, *prices.values()]) <= LIMIT:
                self._program.suggest(scale, sorted(prices.items()))
        return any_new

    def _add_chains_of(
        self, pool: int, members: list[int], wanted: int | None
    ) -> tuple[int, Counter[int], bool]:
        """The same of these buffers: the scale, the prices of limits, and whether there are new ones."""
        height = self._heights.peaks[pool]
        kept = sorted(
            members, key=lambda i: (min(lives_of(self._problem.buffers[i]), default=(-LIMIT, 0)), i)
        )
        grid, room = _cells_of(self._problem, pool, kept, height)
        at = {index: number for number, index in enumerate(kept)}
        together = conflicts_of(self._problem, [self._problem.buffers[i] for i in kept])
        apart = [(a, b) for a, b in together if self._unit_of[kept[a]] != self._unit_of[kept[b]]]
        pairs = _among(self._pairs, kept)
        costs = [(at[pair.first], at[pair.second], pair.cost) for pair in pairs]
        there = [self._places.get(i, (-1, 0)) for i in kept]
        spans = [
            (offset, offset + self._problem.buffers[i].size if where == pool else offset)
            for i, (where, offset) in zip(kept, there, strict=True)
        ]
        within = self._budget.share(SHARE_OF_KNOWN if self._prices else _SHARE_OF_CHAINS)
        prices, tolls, worth, tree, crowds, scale = chain_limits(
            [(i, -(-self._problem.buffers[i].size // grid)) for i in kept],
            room,
            grid,
            apart,
            [(min(one, other), max(one, other), cost) for one, other, cost in costs],
            spans,
            wanted,
            self._known_of(at),
            within,
        )
        self._budget.count(within.work)
        any_new, suggested = False, Counter[int]()
        for crowd, price in crowds:
            row = Row(pool, 1, tuple(sorted(kept[link] for link in crowd)))
            any_new = self._add_row(row) or any_new
            if price and row in self._rows:
                # Its cells may be larger.
                cell, _ = _cells_of(self._problem, pool, row.buffers, height)
                suggested[self._rows[row]] += price * (cell // grid)
        if not tree or not any(prices):  # Sets alone may show all.
            return scale, suggested, any_new
        both = [(i, price) for i, price in zip(kept, prices, strict=True) if price]
        both += [(pair.number, toll) for pair, toll in zip(pairs, tolls, strict=True) if toll]
        # The tree has places among those with a price.
        places = {i: place for place, i in enumerate(sorted(i for i, _ in both if i in at))}
        nodes = [n for link in tree for n in ((_CHEAPEST,) if link < 0 else (_BRANCH, places[kept[link]]))]
        chains = Chains(pool, worth, tuple(sorted(both)), tuple(nodes))
        parts, room = chained(self._problem, chains, height, self._pairs)
        if not parts or sum(weight for _, _, weight in parts) > LIMIT:
            return scale, suggested, any_new
        suggested[len(self._limits)] = 1
        self._add_limit(chains, parts, room)
        return scale, suggested, True

    def _known_of(self, at: Mapping[int, int]) -> AddressPrices | None:
        """The prices that are known of these buffers, by their places among them."""
        for known in self._prices:
            links = [(at[index], price) for index, price in known.links if index in at]
            crowds = [([at[i] for i in some if i in at], price) for some, price in known.crowds]
            if links or any(some for some, _ in crowds):
                return AddressPrices(links, crowds, known.scale, known.unit, known.worth)
        return None

    def _neighbours(self, kept: Sequence[int]) -> dict[int, set[int]]:
        """What shares no byte with each of these buffers, or pays for it; nothing if pairs do not count."""
        if not self._pairs or len(kept) > _MOST_EXTENDED:
            return {}
        near = {i: set[int]() for i in kept}
        together = conflicts_of(self._problem, [self._problem.buffers[i] for i in kept])
        pairs = [(kept[one], kept[other]) for one, other in together]
        pairs += [(pair.first, pair.second) for pair in self._pairs]
        self._budget.count(len(pairs))
        for i, j in pairs:
            if self._unit_of[i] != self._unit_of[j]:
                near[i].add(j)
                near[j].add(i)
        return near

    def _extended(
        self, near: dict[int, set[int]], pool: int, seeds: Sequence[tuple[int, ...]]
    ) -> set[tuple[int, ...]]:
        """Each of these with all more that may be in the pool and are near all of it, large ones first."""
        by_size = sorted(near, key=lambda i: (-self._problem.buffers[i].size, i))
        by_size = [i for i in by_size if pool in self._units[self._unit_of[i]].pools]
        some = set[tuple[int, ...]]()
        for seed in seeds if near else ():
            self._budget.count(len(by_size))
            if self._budget.spent:
                break
            mine = [*seed]
            rest = set.intersection(*(near[i] for i in mine)) if mine else {*by_size}
            for i in by_size:
                if i in rest:
                    mine.append(i)
                    rest &= near[i]
            some.add(tuple(sorted(mine)))
        return some

    def _add_spent(self) -> None:
        for number, (term, most) in enumerate(zip(COST_TERMS, self._heights.costs, strict=True)):
            spent = None if term == self._term else spending(self._problem, term, most, self._pairs)
            if spent is not None:
                self._add_limit(_Spent(number), *spent)

    def _add_limit(self, limit: "Row | Rows | Chains | _Spent", parts: Parts, room: int) -> None:
        units = [(self._unit_of[name], pool, weight) for name, pool, weight in parts if weight]
        self._kept += _BYTES_OF_AN_ENTRY * len(units)
        places = ((unit, [self._units[unit].pools.index(pool)], weight) for unit, pool, weight in units)
        self._program.add(list(places), room)
        self._limits.append(limit)

    def _add_row(self, row: Row) -> bool:
        """Keep a row, without buffers that weigh nothing there; whether it is a new one."""
        height, count = self._heights.peaks[row.pool], -1
        parts, room = list[tuple[int, int, int]](), 0
        while row.buffers and len(row.buffers) != count:  # Of fewer buffers the cells may be others.
            count = len(row.buffers)
            parts, room = measured(self._problem, row, height, self._pairs)
            heavy = tuple(name for name, _, weight in parts[:count] if weight)
            row = replace(row, buffers=heavy)
        total = sum(weight for _, _, weight in parts)
        if not row.buffers or row in self._rows or total <= room or total > LIMIT:
            return False
        if self._row_pairs + len(parts) > _MOST_ROW_PAIRS + len(row.buffers):
            return False
        self._row_pairs += len(parts) - len(row.buffers)
        self._rows[row] = len(self._limits)
        self._add_limit(row, parts, room)
        return True

    def _add_peaks(self) -> bool:
        """Keep that peaks are no less than what is in each pool, where the solution has more; whether so."""
        total = self._heights.total
        if total == LIMIT:
            return False
        shares = self._program.shares()
        taken = [
            {index: size * shares[unit][place] for index, size, unit, place in members}
            for members in self._members
        ]
        saved = {
            unit: max(self._smaller(pair) * shares[unit][SHARED], 0.0)
            for unit, pair in enumerate(self._pairs, self._first_pair)
        }

        def least(mine: dict[int, float], crowd: tuple[int, ...], pairs: list[int]) -> float:
            return sum(map(mine.__getitem__, crowd)) - sum(map(saved.__getitem__, pairs))

        heaviest = [
            max(((least(mine, crowd, pairs), crowd) for crowd, pairs in crowds), default=(0.0, ()))
            for mine, crowds in zip(taken, self._crowds, strict=True)
        ]
        buffers = tuple(crowd for _, crowd in heaviest)
        divisor = gcd(*(self._problem.buffers[index].size for crowd in buffers for index in crowd)) or 1
        rows = Rows(divisor, buffers)
        room = total // divisor
        if sum(taken for taken, _ in heaviest) <= room * divisor * (1 + _TOLERANCE) or rows in self._rows:
            return False
        parts, room = filled(self._problem, list(enumerate(buffers)), total, self._pairs, divisor)
        if not parts or sum(weight for _, _, weight in parts) > LIMIT:
            return False
        self._rows[rows] = len(self._limits)
        self._add_limit(rows, parts, room)
        return True

    def _smaller(self, pair: OpenPair) -> int:
        return min(self._problem.buffers[pair.first].size, self._problem.buffers[pair.second].size)

    def _node(self, target: int, depth: int) -> bool:
        """Write a tree below the node at hand that shows the target; whether there is one."""
        if depth > _DEEPEST:
            return False
        rounds, before = _ROOT_ROUNDS if depth == 1 else _ROUNDS, -1
        while True:
            is_large = self._kept > _MOST_KEPT or len(self._tree) > _MOST_ENTRIES
            if self._budget.spent or is_large:
                return False
            self._program.solve(target, self._budget)
            mark = len(self._tree)
            bound = self._leaf(target)
            if bound >= target:
                return True
            if depth == 1:
                self._root = max(self._root, (bound, self._tree[mark:]), key=itemgetter(0))
            del self._tree[mark:]
            if self._add_peaks():
                continue
            divided = self._program.divided(self._first_pair)
            if divided is not None:
                if self._wants_chains and self._add_chains(target):
                    continue
                # What covers gain is worth some more rounds.
                rounds = rounds - 1 if bound <= before else rounds
                before = max(before, bound)
                if rounds and self._add_covers():
                    continue
                return self._branch(*divided, target, depth)
            answer = self._find_crowd()
            if answer is None:
                return False
            if not answer:
                unit = next((u for u, places in enumerate(self._allowed) if len(places) > 1), None)
                return unit is not None and self._branch(unit, self._allowed[unit][0], target, depth)

    def _branch(self, unit: int, place: int, target: int, depth: int) -> bool:
        before = self._allowed[unit]
        self._tree += [_BRANCH, self._units[unit].name, self._units[unit].pools[place]]
        for places in ([place], [one for one in before if one != place]):
            self._allowed[unit] = places
            self._program.restrict_to(unit, places)
            shown = self._node(target, depth + 1)
            if not shown:
                break
        self._allowed[unit] = before
        self._program.restrict_to(unit, before)
        return shown

    def _leaf(self, target: int) -> int:
        """Write a leaf; what it shows."""
        bound, scale, prices = self._program.leaf(target)
        if prices:
            self._tree += [_WEIGHED, scale, len(prices), *prices]
        else:
            self._tree.append(_CHEAPEST)
        return bound

    def _numbers(self, used: Sequence[int], first: int) -> list[int]:
        """The tree, by the numbers of limits in the file."""
        number_of = {limit: number for number, limit in enumerate(used, first)}
        numbers, following = list[int](), 0
        for entry in self._tree:
            if isinstance(entry, int):
                numbers.append(entry)
                following = 0
            else:
                number = number_of[entry[0]]
                numbers += [number - following, entry[1]]
                following = number + 1
        return numbers

    def _write_limit(self, limit: "Row | Rows | Chains | _Crowd | _Spent", file: ProofFile) -> None:
        if isinstance(limit, Row):
            file.row(limit.pool, limit.divisor, list(limit.buffers))
        elif isinstance(limit, Chains):
            file.chains(limit.pool, limit.worth, list(limit.prices), list(limit.tree))
        elif isinstance(limit, Rows):
            file.rows(limit.divisor, [list(some) for some in limit.buffers])
        elif isinstance(limit, _Spent):
            file.spent(limit.term)
        else:
            where = [(self._units[unit].name, [self._place_of(unit, limit.pool)]) for unit in limit.units]
            file.keep_within(self._number, sorted(where), limit.steps)

    def _place_of(self, unit: int, pool: int) -> int:
        return pool if unit < self._first_pair else APART

    def _find_crowd(self) -> bool | None:
        """Find a new limit that the solution at hand breaks; None if that has a layout, or may have one."""
        places = self._program.places()
        by_pool = dict[int, list[int]]()
        for number, (unit, place) in enumerate(zip(self._units, places, strict=False)):
            if not unit.pools:
                return None
            if place not in self._allowed[number]:
                return False
            if number < self._first_pair:
                by_pool.setdefault(unit.pools[place], []).append(number)
                continue
            pair = self._pairs[number - self._first_pair]
            first, second = self._unit_of[pair.first], self._unit_of[pair.second]
            pool = self._units[first].pools[places[first]]
            if place == APART and pool == self._units[second].pools[places[second]]:
                by_pool[pool].append(number)
        is_known = True
        for pool, units in sorted(by_pool.items()):
            key = (pool, tuple(units))
            if key in self._fitting or self._heights.peaks[pool] == LIMIT:
                continue
            steps, has_layout = self._refuted(pool, units, self._effort)
            if steps is not None:
                return self._add_crowd(pool, units, steps)
            if has_layout:
                if len(self._fitting) == _MOST_FITTING:
                    self._fitting.clear()
                self._fitting.add(key)
            else:
                is_known = False
        if is_known:
            self.example = {pool: tuple(units) for pool, units in by_pool.items()}
            return None
        self._effort *= 4
        return None if self._budget.spent or self._effort > 1 << 40 else self._find_crowd()

    def _refuted(
        self, pool: int, units: Sequence[int], effort: int, heights: Heights | None = None
    ) -> tuple[ProofSteps | None, bool]:
        """Steps that these have no layout in the pool, or whether they have one."""
        name = (self._problem.pools[pool].id,)
        members = sorted(index for unit in units for index in self._units[unit].members)
        inside = {*members}
        pairs = [self._pairs[unit - self._first_pair] for unit in units if unit >= self._first_pair]
        apart = [(p.first, p.second) for p in pairs if p.first in inside and p.second in inside]
        if not members:
            return None, True
        buffers = list(self._problem.buffers)
        for index in members:
            if buffers[index].pool is None:
                buffers[index] = replace(buffers[index], pools=name)
        fewer = replace(self._problem, buffers=tuple(buffers))
        answer: tuple[ProofSteps | None, bool] = None, False
        heights = self._heights if heights is None else heights
        for ties_count in self._ties:
            posed = pose(fewer, heights, members, ties_count, apart)
            if posed is None:
                return None, False
            question, end = posed
            end = end if len(self._problem.pools) > 1 else min(heights.peaks[0], end)
            within = self._budget.share(0.5, effort)
            answer = question.kept_steps(end, self._number, within)
            self._budget.count(within.work)
            if answer[0] is not None:
                break
        return answer

    def peak_of_example(self, pool: int) -> int:
        """A peak that the units of the example have room below, and the least as far as that is known."""
        units = () if self.example is None else self.example.get(pool, ())
        high = self._heights.peaks[pool] if units else 0
        members = {index for unit in units for index in self._units[unit].members}
        sizes = (
            sum(self._problem.buffers[i].size for i in members.intersection(crowd))
            for crowd, _ in self._crowds[pool]
        )
        low = min(max(sizes, default=0), high)
        tried = low
        while low < high:
            peaks = [min(tried, peak) if k == pool else 0 for k, peak in enumerate(self._heights.peaks)]
            steps, has_layout = self._refuted(pool, units, _FIRST_EFFORT, Heights(tuple(peaks)))
            if has_layout:
                high = tried
            elif steps is not None:
                low = tried + 1
            else:
                break
            tried = (low + high) // 2
        return high

    def _add_covers(self) -> bool:
        """Keep limits that follow from one row each, and that the solution breaks; whether there are any."""
        any_new = False
        for number, divisor in self._program.divisors(len(self._first)):
            row = self._first[number]
            any_new = self._add_row(replace(row, divisor=row.divisor * divisor)) or any_new
        for number, units in self._program.covers(len(self._first)):
            steps = None
            if not self._budget.spent:
                steps = self._refuted(self._first[number].pool, units, _COVER_EFFORT)[0]
            if steps is not None:
                any_new = self._keep(self._first[number].pool, units, steps) or any_new
        return any_new

    def _add_crowd(self, pool: int, units: list[int], steps: ProofSteps) -> bool:
        """Keep that these have no layout, without those that it does not take; whether that is new."""
        chunk, until = (len(units) + 1) // 2, self._budget.work + 8 * _FIRST_EFFORT
        while chunk and len(units) > 1:
            begin = 0
            while begin < len(units) and self._budget.work < until and not self._budget.spent:
                fewer = units[:begin] + units[begin + chunk :]
                shown = self._refuted(pool, fewer, _FIRST_EFFORT)[0] if fewer else None
                if shown is None:
                    begin += chunk
                else:
                    units, steps = fewer, shown
            chunk = 0 if chunk == 1 else (chunk + 1) // 2
        return self._keep(pool, units, steps)

    def _keep(self, pool: int, units: Sequence[int], steps: ProofSteps) -> bool:
        key = (pool, tuple(units))
        if key in self._crowded:
            # Where numbers are large, or nothing fits, the solution may break it still.
            return False
        self._crowded.add(key)
        self._kept += steps.size
        self._limits.append(_Crowd(pool, tuple(units), steps))
        parts = [(unit, [self._units[unit].pools.index(self._place_of(unit, pool))], 1) for unit in units]
        self._program.add(parts, len(parts) - 1)
        return True
