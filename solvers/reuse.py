"""Minimises reuse costs where no buffer can change its pool, term by term and pool by pool.

Layouts that are optimal in the terms so far are optimal in each pool by itself, since no term can trade one
pool for another. So each term only lowers, for each pool, the height and the reuse cost that are allowed.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType

from memstow.solvers import _native
from memstow.solvers.instance import Layout
from memstow.solvers.one_pool import too_high
from memstow.solvers.solver import (
    SUM_TERMS,
    Listeners,
    ModelBound,
    Outcome,
    Task,
    Term,
    TermKind,
    choice_weights,
)

# Tables of overlap costs grow with the square of this.
_MOST_ITEMS = 2000
# Sums of costs must stay below 2^63; a factor of four is left.
_MOST_COST = 1 << 61
# The share of the time left for a term that is not the last.
_LEVEL_SHARE = 0.8
# Steps of a turn where several pools take turns; four times as many in the next round.
_FIRST_TURN = 2_000_000
_LONGER_TURNS = 4
_LONGEST_TURN = 1 << 60

_OnValue = Callable[[int, Sequence[int]], None]
_OnBound = Callable[[int], None]


class Reuse:
    """Cores of pairs that cannot all be apart, hitting sets, and a local search, in native code."""

    name = "reuse"
    summary = "least reuse cost: local search, and proofs from pairs that cannot all be kept apart"
    supports = "pools of up to 2,000 buffers that have no choice of pool; every term but moves"

    def declines(self, task: Task) -> str | None:
        """It handles pools that no buffer can leave."""
        instance = task.instance
        if len(instance.choice_pool) > instance.item_count:
            return "buffers that have a choice of pool"
        if any(term.kind is TermKind.MOVES for term in task.terms):
            return "moves"
        counts = [0] * instance.pool_count
        for pool in instance.choice_pool:
            counts[pool] += 1
        if max(counts, default=0) > _MOST_ITEMS:
            return f"more than {_MOST_ITEMS} buffers in a pool"
        if sum(instance.reuse[2::3]) >= _MOST_COST:
            return "reuse costs that add up to 2^61 or more"
        return too_high(instance)

    def solve(self, task: Task, budget: _native.Budget, listeners: Listeners) -> Outcome:
        """The best layout found, and bounds on its terms."""
        return _Run(self.name, task, budget, listeners).outcome()


class _Pool:
    """One pool: the limits that the terms so far put on its layout, and the best layout."""

    def __init__(self, task: Task, number: int, items: list[int]) -> None:
        self.number = number
        self.items = items
        self.height = task.instance.capacity[number]
        self.cost = _MOST_COST
        self.offsets: list[int] | None = None
        self.paid = self.top = 0  # of its layout
        self.bound = 0  # on the term at hand
        self.searches = 0  # complete ones
        self.by_addresses = False  # the bound on its costs is of no search
        self.dead: list[int] | None = None  # items that have no layout within the height
        two_threads = task.workers > 1 and not task.deterministic
        self._search = _native.Cheapest(task.instance.native, items, task.seed, two_threads)

    def offer(self, layout: Layout) -> None:
        """Start from a layout; it may be too high."""
        self._search.offer([layout.offset[item] for item in self.items])

    def fit(self, budget: _native.Budget) -> None:
        """Find any layout within the height."""
        options = _native.CheapestOptions(height=self.height, enough=_MOST_COST)
        self._take(self._search.cheapest(options, budget, _ignore, _ignore))

    def lower_cost(self, budget: _native.Budget, on_cost: _OnValue, on_bound: _OnBound) -> None:
        """Find the cheapest layout within the height."""
        options = _native.CheapestOptions(height=self.height, enough=None)
        self._take(self._search.cheapest(options, budget, on_cost, on_bound))

    def lower_top(self, budget: _native.Budget, on_top: _OnValue, on_bound: _OnBound) -> None:
        """Find the lowest layout within the cost."""
        options = _native.LowestOptions(height=self.height, cost=self.cost, bound=self.bound)
        self._take(self._search.lowest(options, budget, on_top, on_bound))

    def _take(self, result: _native.CheapestResult) -> None:
        self.dead = result.dead if result.infeasible else None
        self.searches = result.refuted
        self.by_addresses = result.by_addresses
        self.bound = max(self.bound, result.bound)
        offsets = result.offsets
        if offsets is not None:
            self.offsets, self.paid, self.top = offsets, result.cost, result.top


class _Run:
    """One solve: the terms in their order, each under the limits of the ones before."""

    def __init__(self, name: str, task: Task, budget: _native.Budget, listeners: Listeners) -> None:
        self._name = name
        self._task = task
        self._budget = budget
        self._listeners = listeners
        items: list[list[int]] = [[] for _ in range(task.instance.pool_count)]
        for item, number in enumerate(task.instance.choice_pool):
            items[number].append(item)
        self._pools = [_Pool(task, number, mine) for number, mine in enumerate(items) if mine]
        if task.start is not None and -1 not in task.start.offset:
            for pool in self._pools:
                pool.offer(task.start)
        self._bounds: list[ModelBound] = []
        self._locks: list[int] = []
        self._separate = True  # whether the pools are independent of each other

    def outcome(self) -> Outcome:
        """Solve, and return the outcome."""
        self._take_turns(self._budget, self._without_layout, _Pool.fit)
        for pool in self._pools:
            if pool.dead is not None:
                return self._misfit(pool.dead or pool.items)
        if any(pool.offsets is None for pool in self._pools):
            return Outcome(None, False, (), self._name)
        for at, term in enumerate(self._task.terms):
            self._minimise_term(at, term)
        layout = self._layout()
        values = _native.score(self._task.instance.native, self._task.terms, None, layout)
        fits = values is not None
        return Outcome(layout, fits, tuple(values or ()), self._name, bounds=tuple(self._bounds))

    def _without_layout(self) -> list[_Pool]:
        """Pools that have no layout yet; none if one of them is proven to have none."""
        if any(pool.dead is not None for pool in self._pools):
            return []
        return [pool for pool in self._pools if pool.offsets is None]

    def _misfit(self, dead: list[int]) -> Outcome:
        instance = self._task.instance
        capacity = instance.capacity[instance.choice_pool[dead[0]]]
        few = _native.dead_set(instance.native, dead, capacity, self._budget)
        return Outcome(None, False, (), self._name, misfit=tuple(few.items))

    @staticmethod
    def _take_turns(
        budget: _native.Budget,
        waiting: Callable[[], list[_Pool]],
        act: Callable[[_Pool, _native.Budget], None],
    ) -> None:
        """Give the waiting pools turns, longer in each round, until none waits."""
        turn = _FIRST_TURN
        while (pools := waiting()) and not budget.spent:
            for pool in pools:
                part = budget if len(pools) == 1 else _native.Budget(-1.0, turn, budget)
                act(pool, part)
                if part is not budget:
                    budget.count(part.work)
            turn = min(turn * _LONGER_TURNS, _LONGEST_TURN)

    def _minimise_term(self, at: int, term: Term) -> None:
        """Minimise one term, and limit the pools by the result."""
        if term.kind in SUM_TERMS:
            value = bound = sum(choice_weights(self._task.instance, term.kind))
        elif term.kind is TermKind.REUSE_COST:
            value, bound = self._minimise(at, self._pools, _Pool.lower_cost, lambda pool: pool.paid, sum)
            for pool in self._pools:
                pool.cost = pool.paid
        else:
            mine = [pool for pool in self._pools if term.pool in (-1, pool.number)]
            together = _largest if term.kind is TermKind.MAX_PEAK else sum
            value, bound = self._minimise(at, mine, _Pool.lower_top, lambda pool: pool.top, together)
            for pool in mine:
                pool.height = min(pool.height, value) if together is _largest else pool.top
        # A bound that needed no search was proven at the root of one; that of addresses by none.
        by_searches = not any(pool.by_addresses for pool in self._pools)
        searches = max(sum(pool.searches for pool in self._pools), 1) if by_searches else 0
        if self._separate:
            self._bounds.append(ModelBound(at, bound, tuple(self._locks), searches))
        self._locks.append(value)
        # Without a proof, an equally good layout could trade one pool for another.
        self._separate = self._separate and (value == bound or len(self._pools) == 1)

    def _minimise(
        self,
        at: int,
        pools: list[_Pool],
        lower: Callable[[_Pool, _native.Budget, _OnValue, _OnBound], None],
        value_of: Callable[[_Pool], int],
        together: Callable[[Iterable[int]], int],
    ) -> tuple[int, int]:
        """The value and the bound of a term after the turns of these pools."""
        budget = self._share(at)
        for pool in pools:
            pool.bound = self._task.lower_bounds[at] if len(self._pools) == 1 else 0

        def bound() -> int:
            return together(pool.bound for pool in pools)

        def waiting() -> list[_Pool]:
            enough = bound() if together is _largest else 0
            return [pool for pool in pools if value_of(pool) > max(pool.bound, enough)]

        def act(pool: _Pool, part: _native.Budget) -> None:
            others = [other for other in pools if other is not pool]

            def on_value(value: int, offsets: list[int]) -> None:
                whole = together([*map(value_of, others), value])
                self._listeners.incumbent(self._name, whole, self._layout({pool.number: offsets}))

            def on_bound(value: int) -> None:
                self._listeners.bound(self._name, together([*(other.bound for other in others), value]))

            lower(pool, part, *((on_value, on_bound) if at == 0 else (_ignore, _ignore)))

        self._take_turns(budget, waiting, act)
        if budget is not self._budget:
            self._budget.count(budget.work)
        return together(map(value_of, pools)), bound()

    def _share(self, at: int) -> _native.Budget:
        """The budget of a term: everything that is left for the last one."""
        if at + 1 == len(self._task.terms):
            return self._budget
        seconds, work = self._budget.seconds_left, self._budget.work_left
        return _native.Budget(
            -1.0 if seconds is None else seconds * _LEVEL_SHARE,
            -1 if work is None else int(work * _LEVEL_SHARE),
            self._budget,
        )

    def _layout(self, instead: Mapping[int, list[int]] = MappingProxyType({})) -> Layout:
        """The layouts of all pools, with these offsets in some."""
        count = self._task.instance.item_count
        layout = Layout(array("q", self._task.instance.choice_pool), array("q", [-1] * count))
        for pool in self._pools:
            for item, offset in zip(pool.items, instead.get(pool.number, pool.offsets or []), strict=True):
                layout.offset[item] = offset
        return layout


def _ignore(*_: object) -> None:
    pass


def _largest(values: Iterable[int]) -> int:
    return max(values, default=0)


def make(_name: str) -> Reuse:
    """The solver."""
    return Reuse()
