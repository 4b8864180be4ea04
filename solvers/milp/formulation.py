"""Columns and rows of an integer program, and the value of every column in a layout."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import gcd

from memstow.solvers.constraints import (
    BankPair,
    Choice,
    Pair,
    Relations,
    bank_pairs,
    choices,
    cliques,
    horizons,
    look_alikes,
    rows,
    tops,
)
from memstow.solvers.instance import Layout
from memstow.solvers.solver import Task, Term, TermKind, choice_weights

ColumnValue = Callable[[Layout], int]
Coefficients = Sequence[tuple[int, int]]  # (column, factor)


@dataclass(frozen=True, slots=True)
class Row:
    """low <= sum of factor x column <= high; None: no limit."""

    entries: Coefficients
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class Expression:
    """constant + scale x (sum of factor x column): the factors have no common divisor."""

    entries: Coefficients
    constant: int = 0
    scale: int = 1

    @classmethod
    def of(cls, entries: Coefficients, constant: int = 0) -> "Expression":
        """The expression with the common divisor of its factors taken out."""
        scale = gcd(*(factor for _, factor in entries)) or 1
        return cls([(column, factor // scale) for column, factor in entries if factor], constant, scale)


@dataclass(slots=True)
class Linear:
    """An integer program under construction."""

    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    integer: list[bool] = field(default_factory=list)
    worth: list[ColumnValue] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)

    def column(self, low: int, high: int, worth: ColumnValue, *, integer: bool = True) -> int:
        """A new variable within [low, high]; `worth` is its value in a layout."""
        self.low.append(low)
        self.high.append(high)
        self.integer.append(integer)
        self.worth.append(worth)
        return len(self.low) - 1

    def row(self, entries: Coefficients, low: int | None = None, high: int | None = None) -> None:
        """A new constraint. A column may come more than once."""
        factors: dict[int, int] = {}
        for column, factor in entries:
            factors[column] = factors.get(column, 0) + factor
        self.rows.append(Row([entry for entry in factors.items() if entry[1]], low, high))

    def values(self, layout: Layout) -> list[int]:
        """The value of every column in this layout."""
        return [value_in(layout) for value_in in self.worth]


Values = Mapping[int, float] | Sequence[float]


# Load rows tighten the relaxation of a choice among pools; with more entries they cost more than they help.
_MOST_LOAD_ENTRIES = 200_000


@dataclass(slots=True)
class _Item:
    """Columns of one item."""

    start: int
    end: int
    taken: list[Coefficients]  # by choice: an expression that is 1 when it is taken
    choices: list[Choice]
    low: int  # of the start
    high: int

    @property
    def fixed_pool(self) -> int | None:
        return self.choices[0].pool if len(self.choices) == 1 else None


class Formulation:
    """The program of a task. `possible` is false if some item has no place at all."""

    def __init__(self, task: Task, relations: Relations, first_value: int | None) -> None:
        self.task = task
        self.relations = relations
        self.linear = Linear()
        self._tops = tops(task.instance)
        self.horizon = horizons(task, relations, first_value)
        choices_of = choices(task.instance, self.horizon)
        self.possible = all(choices_of)
        if not self.possible:
            return
        self._alike: dict[int, tuple[int, int]] = {}
        self._sets: list[list[int]] = []
        for mark, alike in enumerate(look_alikes(task, relations)):
            if len(choices_of[alike[0]]) == 1:
                self._sets.append(alike)
                self._alike |= {item: (mark, place) for place, item in enumerate(alike)}
        self._items = [self._make_item(item, mine) for item, mine in enumerate(choices_of)]
        kinds = {term.kind for term in task.terms}
        self._make_peaks(kinds)
        reuse, self._fixed_reuse = relations.reuse()
        costs = {(r.first, r.second): r.cost for r in reuse} if TermKind.REUSE_COST in kinds else {}
        self._paid: list[tuple[int, int]] = []
        self.pairs = list(relations.all_pairs())
        must = {(pair.first, pair.second) for pair in self.pairs}
        for pair in self.pairs:
            self._separate(pair, costs.get((pair.first, pair.second), 0))
        for (first, second), cost in costs.items():
            if (first, second) not in must:
                self._separate(Pair(first, second), cost, must=False)
        self._touching: dict[tuple[int, int, int], int | None] = {}
        self._in_one_bank: list[tuple[int, int]] = []
        for bank_pair in bank_pairs(task.instance):
            if bank_pair.cost is None or TermKind.BANK_COST in kinds:
                self._make_bank_pair(bank_pair)
        self._add_loads()
        self._stays: list[tuple[int, int]] = []
        if TermKind.MOVES in kinds:
            self._make_moves()
        self.terms = [self._expression(term) for term in task.terms]
        for term, least in zip(self.terms, task.lower_bounds, strict=True):
            if least > term.constant and term.entries:
                self.linear.row(term.entries, low=-(-(least - term.constant) // term.scale))

    def in_model_order(self, layout: Layout) -> Layout:
        """The layout with interchangeable items in the order of the program."""
        offsets = layout.offset[:]
        for alike in self._sets:
            for item, offset in zip(alike, sorted(layout.offset[i] for i in alike), strict=True):
                offsets[item] = offset
        return Layout(layout.pool[:], offsets)

    def guess(self, values: Values) -> tuple[list[int], list[float]]:
        """Pool and unrounded offset of each item in a solution."""
        pools, offsets = [], []
        for item in self._items:
            taken = [sum(factor * values[column] for column, factor in entries) for entries in item.taken]
            best = max(range(len(taken)), key=taken.__getitem__) if len(taken) > 1 else 0
            pools.append(item.choices[best].pool)
            offsets.append(values[item.start])
        return pools, offsets

    def _make_item(self, item: int, mine: list[Choice]) -> _Item:
        """(2), (3), (5), (6): start, end, the choice among pools and free ranges, alignment."""
        low, high = min(c.least() for c in mine), max(c.most() for c in mine)

        def offset(layout: Layout) -> int:
            return layout.offset[item]

        top = self._tops[item]
        start = self.linear.column(low, high, offset, integer=False)
        end = self.linear.column(
            low + top, high + top, lambda layout: layout.offset[item] + top, integer=False
        )
        self.linear.row([(end, 1), (start, -1)], top, top)
        columns = _Item(start, end, [[] for _ in mine], mine, low, high)
        if len(mine) == 1 and len(mine[0].steps) == 1:
            if mine[0].modulus > 1:
                self._align(columns, item, 0)
            return columns
        lows: list[tuple[int, int]] = []
        highs: list[tuple[int, int]] = []
        for at, choice in enumerate(mine):
            ranges = []
            for first, last in choice.steps:
                bottom = choice.residue + choice.modulus * first
                top_start = choice.residue + choice.modulus * last
                column = self.linear.column(0, 1, partial(_within, item, choice.pool, bottom, top_start))
                ranges.append((column, 1))
                lows.append((column, bottom))
                highs.append((column, top_start))
            columns.taken[at] = ranges
        self.linear.row([(column, 1) for column, _ in lows], 1, 1)
        self.linear.row([(start, 1), *((column, -bottom) for column, bottom in lows)], low=0)
        self.linear.row([(start, 1), *((column, -last) for column, last in highs)], high=0)
        if len({(c.modulus, c.residue) for c in mine}) == 1:
            if mine[0].modulus > 1:
                self._align(columns, item, 0)
        else:
            self._align_by_choice(columns, item)
        if len(mine) == 1:
            columns.taken[0] = []
        return columns

    def _align(self, columns: _Item, item: int, at: int) -> None:
        """start = residue + modulus x step, whatever the pool."""
        modulus, residue = columns.choices[at].modulus, columns.choices[at].residue
        step = self.linear.column(
            -(-(columns.low - residue) // modulus),
            (columns.high - residue) // modulus,
            lambda layout: (layout.offset[item] - residue) // modulus,
        )
        self.linear.row([(columns.start, 1), (step, -modulus)], residue, residue)

    def _align_by_choice(self, columns: _Item, item: int) -> None:
        """start = the sum over choices of residue x taken + modulus x step, where step is 0 unless taken."""
        entries = [(columns.start, 1)]
        for choice, taken in zip(columns.choices, columns.taken, strict=True):
            first, last = choice.steps[0][0], choice.steps[-1][1]
            step = self.linear.column(
                min(first, 0), max(last, 0), partial(_step, item, choice), integer=choice.modulus > 1
            )
            self.linear.row([(step, 1), *((column, -first) for column, _ in taken)], low=0)
            self.linear.row([(step, 1), *((column, -last) for column, _ in taken)], high=0)
            entries.append((step, -choice.modulus))
            entries += [(column, -choice.residue) for column, _ in taken]
        self.linear.row(entries, 0, 0)

    def _make_peaks(self, kinds: set[TermKind]) -> None:
        """(1): a pool's peak is not below the end of any item in it."""
        wanted: set[int] = set()
        if kinds & {TermKind.PEAK, TermKind.MAX_PEAK}:
            wanted = set(range(self.task.instance.pool_count))
        wanted |= {term.pool for term in self.task.terms if term.kind is TermKind.POOL_PEAK}
        self._peaks = {
            pool: self.linear.column(0, self.horizon[pool], partial(self._peak, pool), integer=False)
            for pool in sorted(wanted)
        }
        for number, item in enumerate(self._items):
            for at, choice in enumerate(item.choices):
                if choice.pool not in self._peaks:
                    continue
                peak = self._peaks[choice.pool]
                if item.fixed_pool is not None:
                    self.linear.row([(peak, 1), (item.end, -1)], low=0)
                    continue
                elsewhere = max(c.most() for c in item.choices if c.pool != choice.pool)
                slack = elsewhere + self._tops[number]
                taken = [(column, -slack) for column, _ in item.taken[at]]
                self.linear.row([(peak, 1), (item.end, -1), *taken], low=-slack)

    def _peak(self, pool: int, layout: Layout) -> int:
        ends = (
            offset + self._tops[item]
            for item, (where, offset) in enumerate(zip(layout.pool, layout.offset, strict=True))
            if where == pool
        )
        return max(ends, default=0)

    def _separate(self, pair: Pair, cost: int, *, must: bool = True) -> None:
        """(4), (8), (9): below, above, elsewhere; or starting together; or overlapping at a cost."""
        instance, item_of = self.task.instance, self.relations.item_of
        one, two = item_of[pair.first], item_of[pair.second]
        a, b = self._items[one], self._items[two]
        common = {c.pool for c in a.choices} & {c.pool for c in b.choices}
        if not common:
            return
        first = _Ends(a, instance.part_delta[pair.first], instance.part_size[pair.first])
        second = _Ends(b, instance.part_delta[pair.second], instance.part_size[pair.second])
        if first.latest <= second.earliest or second.latest <= first.earliest:
            return
        always = a.fixed_pool is not None and a.fixed_pool == b.fixed_pool
        plain = always and not pair.shared and not cost
        below_worth = partial(_is_below, one, first, two, second)
        above_worth = partial(_is_below, two, second, one, first)
        mark_one, mark_two = self._alike.get(one), self._alike.get(two)
        if plain and mark_one and mark_two and mark_one[0] == mark_two[0]:
            # Exchangeable items stand in their order: no choice is left.
            lower, upper = (first, second) if mark_one[1] < mark_two[1] else (second, first)
            self.linear.row(
                [(upper.item.start, 1), (lower.item.start, -1)], low=lower.delta + lower.size - upper.delta
            )
            return
        below = self.linear.column(0, int(first.can_be_below(second)), below_worth)
        self._order(first, second, [(below, 1)], 0)
        if plain:
            if not second.can_be_below(first):
                self.linear.low[below] = 1
                self.possible = self.possible and first.can_be_below(second)
            self._order(second, first, [(below, -1)], 1)
            return
        above = self.linear.column(0, int(second.can_be_below(first)), above_worth)
        self._order(second, first, [(above, 1)], 0)
        apart = [(below, 1), (above, 1)]
        if must:
            together = [(self._together(one, first, two, second), 1)] if pair.shared else []
            self._where_both(a, b, common, [*apart, *together])
        if cost:
            over = self.linear.column(0, 1, partial(_overlap, one, first, two, second), integer=False)
            self._paid.append((over, cost))
            self._where_both(a, b, common, [*apart, (over, 1)])

    def _where_both(self, a: _Item, b: _Item, common: set[int], ways: Coefficients) -> None:
        """One of the ways holds in each pool that both items are in."""
        for pool in common:
            both, needed = list(ways), 1
            for item in (a, b):
                if item.fixed_pool is None:
                    at = next(i for i, c in enumerate(item.choices) if c.pool == pool)
                    both += [(column, -1) for column, _ in item.taken[at]]
                    needed -= 1
            self.linear.row(both, low=needed)

    def _order(self, lower: "_Ends", upper: "_Ends", when: Coefficients, constant: int) -> None:
        """end of the lower <= start of the upper where `constant + when` is 1; else with the least slack."""
        slack = lower.latest - upper.earliest
        apart = lower.delta + lower.size - upper.delta
        entries = [(lower.item.start, 1), (upper.item.start, -1)]
        entries += [(column, factor * slack) for column, factor in when]
        self.linear.row(entries, high=slack - apart - constant * slack)

    def _together(self, one: int, first: "_Ends", two: int, second: "_Ends") -> int:
        """A column that is 1 only where both parts start at one offset."""
        column = self.linear.column(0, 1, partial(_start_together, one, first, two, second))
        for lower, upper in ((first, second), (second, first)):
            slack = lower.item.high + lower.delta - upper.earliest
            entries = [(lower.item.start, 1), (upper.item.start, -1), (column, slack)]
            self.linear.row(entries, high=slack + upper.delta - lower.delta)
        return column

    def _make_bank_pair(self, pair: BankPair) -> None:
        """(11): in each bank one of the two at most, or both at a cost."""
        both: list[tuple[int, int]] = []
        if pair.cost is not None:
            column = self.linear.column(
                0, 1, partial(self._share_bank, pair.first, pair.second), integer=False
            )
            self._in_one_bank.append((column, pair.cost))
            both = [(column, -1)]
        for pool in range(self.task.instance.pool_count):
            for bank in range(len(self.task.instance.banks_of(pool))):
                first, second = (self._touches(part, pool, bank) for part in (pair.first, pair.second))
                if first is not None and second is not None:
                    self.linear.row([(first, 1), (second, 1), *both], high=1)

    def _touches(self, part: int, pool: int, bank: int) -> int | None:
        """A column that is 1 where the part touches the bank; None: it never does."""
        key = (part, pool, bank)
        if key not in self._touching:
            self._touching[key] = self._make_touching(part, pool, bank)
        return self._touching[key]

    def _make_touching(self, part: int, pool: int, bank: int) -> int | None:
        number = self.relations.item_of[part]
        item = self._items[number]
        at = next((i for i, choice in enumerate(item.choices) if choice.pool == pool), None)
        if at is None:
            return None
        delta, size = self.task.instance.part_delta[part], self.task.instance.part_size[part]
        begin, end = self.task.instance.banks_of(pool)[bank]
        choice = item.choices[at]
        if choice.most() + delta + size <= begin or end <= choice.least() + delta:
            return None

        def is_below(layout: Layout) -> int:
            return int(layout.pool[number] == pool and layout.offset[number] + delta + size <= begin)

        def is_above(layout: Layout) -> int:
            return int(layout.pool[number] == pool and end <= layout.offset[number] + delta)

        def touches(layout: Layout) -> int:
            return int(layout.pool[number] == pool and not is_below(layout) and not is_above(layout))

        # The most that the start may be where it is below, and the least where it is above.
        highest, lowest = begin - delta - size, end - delta
        below = self.linear.column(0, int(highest >= item.low), is_below)
        above = self.linear.column(0, int(lowest <= item.high), is_above)
        column = self.linear.column(0, 1, touches, integer=False)
        slack = max(item.high - highest, 0)
        self.linear.row([(item.start, 1), (below, slack)], high=highest + slack)
        slack = max(lowest - item.low, 0)
        self.linear.row([(item.start, 1), (above, -slack)], low=lowest - slack)
        ways, needed = [(column, 1), (below, 1), (above, 1)], 1
        if item.fixed_pool is None:
            ways += [(taken, -1) for taken, _ in item.taken[at]]
            needed = 0
        self.linear.row(ways, low=needed)
        return column

    def _share_bank(self, first: int, second: int, layout: Layout) -> int:
        instance, item_of = self.task.instance, self.relations.item_of
        pool = layout.pool[item_of[first]]
        if layout.pool[item_of[second]] != pool:
            return 0
        (a, a_end), (b, b_end) = (
            (low, low + instance.part_size[part])
            for part in (first, second)
            for low in (layout.offset[item_of[part]] + instance.part_delta[part],)
        )
        banks = instance.banks_of(pool)
        return int(any(a < end and begin < a_end and b < end and begin < b_end for begin, end in banks))

    def _add_loads(self) -> None:
        """(7): items that live together or conflict pairwise add up."""
        rectangles, _ = self.relations.rectangles()
        sets = [[(r.item, r.size) for r in row] for row in rows(rectangles)]
        sets += [
            [(self.relations.item_of[p], self.task.instance.part_size[p]) for p in clique]
            for clique in cliques(self.relations)
        ]
        entries = 0
        for pool in range(self.task.instance.pool_count):
            constant = 0
            for load in sets:
                fixed, chosen = self._load(load, pool)
                entries += len(chosen)
                if not chosen:
                    constant = max(constant, fixed)
                elif entries <= _MOST_LOAD_ENTRIES:
                    peak = self._peaks.get(pool)
                    if peak is None:
                        self.linear.row(chosen, high=self.horizon[pool] - fixed)
                    else:
                        self.linear.row([(peak, -1), *chosen], high=-fixed)
            if pool in self._peaks:
                self.linear.low[self._peaks[pool]] = constant
                if constant > self.linear.high[self._peaks[pool]]:
                    self.possible = False

    def _load(self, load: list[tuple[int, int]], pool: int) -> tuple[int, list[tuple[int, int]]]:
        """Bytes that must be in the pool, and the columns of those that may be."""
        fixed, chosen = 0, []
        for number, size in load:
            item = self._items[number]
            if item.fixed_pool == pool:
                fixed += size
                continue
            for choice, taken in zip(item.choices, item.taken, strict=True):
                if choice.pool == pool:
                    chosen += [(column, size) for column, _ in taken]
        return fixed, chosen

    def _make_moves(self) -> None:
        """(10): a column that is 1 only where the item is at the place of the hint."""
        for place in self.task.hint_places:
            item = self._items[place.item]
            for choice, taken in zip(item.choices, item.taken, strict=True):
                if choice.pool != place.pool or choice.step_of(place.offset) is None:
                    continue
                here = partial(_within, place.item, place.pool, place.offset, place.offset)
                stays = self.linear.column(0, 1, here)
                if item.fixed_pool is None:
                    self.linear.row([(stays, 1), *((column, -1) for column, _ in taken)], high=0)
                up, down = place.offset - item.low, item.high - place.offset
                self.linear.row([(item.start, 1), (stays, -up)], low=item.low)
                self.linear.row([(item.start, 1), (stays, down)], high=item.high)
                self._stays.append((stays, place.count))

    def _max_peak(self) -> Expression:
        most = self.linear.column(
            0,
            max(self.horizon),
            lambda layout: max((self._peak(p, layout) for p in self._peaks), default=0),
            integer=False,
        )
        for peak in self._peaks.values():
            self.linear.row([(most, 1), (peak, -1)], low=0)
        return Expression.of([(most, 1)])

    def _summed(self, kind: TermKind) -> Expression:
        """The weights of the choices."""
        adds, constant = choice_weights(self.task.instance, kind), 0
        entries: list[tuple[int, int]] = []
        for item in self._items:
            for choice, taken in zip(item.choices, item.taken, strict=True):
                cost = adds[choice.index]
                constant += cost if item.fixed_pool is not None else 0
                entries += [(column, cost) for column, _ in taken if item.fixed_pool is None]
        return Expression.of(entries, constant)

    def _expression(self, term: Term) -> Expression:
        match term.kind:
            case TermKind.PEAK:
                return Expression.of([(peak, 1) for peak in self._peaks.values()])
            case TermKind.POOL_PEAK:
                return Expression.of([(self._peaks[term.pool], 1)])
            case TermKind.MAX_PEAK:
                return self._max_peak()
            case TermKind.PLACEMENT_COST | TermKind.PREFERENCE:
                return self._summed(term.kind)
            case TermKind.REUSE_COST:
                return Expression.of(self._paid, self._fixed_reuse)
            case TermKind.BANK_COST:
                return Expression.of(self._in_one_bank)
            case TermKind.MOVES:
                return Expression.of(
                    [(column, -count) for column, count in self._stays], self.task.hint_buffers
                )


@dataclass(frozen=True, slots=True)
class _Ends:
    """A part of an item, with the range of its begin and end."""

    item: _Item
    delta: int
    size: int

    @property
    def earliest(self) -> int:
        """Least offset of its first byte."""
        return self.item.low + self.delta

    @property
    def latest(self) -> int:
        """Greatest offset of its end."""
        return self.item.high + self.delta + self.size

    def can_be_below(self, other: "_Ends") -> bool:
        return self.earliest + self.size <= other.item.high + other.delta


def _begin(number: int, part: _Ends, layout: Layout) -> int:
    return layout.offset[number] + part.delta


def _is_below(lower: int, first: _Ends, upper: int, second: _Ends, layout: Layout) -> int:
    return int(_begin(lower, first, layout) + first.size <= _begin(upper, second, layout))


def _start_together(one: int, first: _Ends, two: int, second: _Ends, layout: Layout) -> int:
    return int(_begin(one, first, layout) == _begin(two, second, layout))


def _overlap(one: int, first: _Ends, two: int, second: _Ends, layout: Layout) -> int:
    if layout.pool[one] != layout.pool[two]:
        return 0
    apart = _is_below(one, first, two, second, layout) or _is_below(two, second, one, first, layout)
    return int(not apart)


def _within(item: int, pool: int, low: int, high: int, layout: Layout) -> int:
    return int(layout.pool[item] == pool and low <= layout.offset[item] <= high)


def _step(item: int, choice: Choice, layout: Layout) -> int:
    if layout.pool[item] != choice.pool:
        return 0
    return (layout.offset[item] - choice.residue) // choice.modulus
