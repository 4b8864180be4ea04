"""Layouts for a first term that is a sum of costs: a beam search chooses pools, and each pool is packed.

Where packing fails, the rows about that moment are left emptier when the beam search chooses anew. For a
first layout, items that do not fit also go to dearer pools. Wider beams, of which what is left out is known,
bound what pools cost.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random
from threading import Thread

from memstow.solvers import _native
from memstow.solvers.assign.master import Master
from memstow.solvers.assign.packing import Crowd, Dead, Packer, Pair, join
from memstow.solvers.lexicographic import Best
from memstow.solvers.solver import Task, choice_weights

# The first width of the beam, twice that after so many rounds that lead nowhere, and the most: wider ones
# take too long. With many items so many choices take memory.
_WIDTH = 100
_PATIENCE = 8
_MOST_WIDTH = 3200
_MOST_CHOICES = 4_000_000
# Crowds that did not fit, and their packings, are forgotten when there are so many.
_MOST_MISFITS = 1000
# Steps of a packing: rather than a hard one there is another choice. The second for parts of one that failed.
_EFFORT = 2_000_000
_FIND_EFFORT = 250_000
# Of so many of the fullest rows from this part of the mean life before an item that did not fit until this
# many moments after that begins, one is left emptier, by the least part of its pool. Where that led nowhere,
# this part of the rows has half of its emptiness.
_FULLEST = 4
_BEFORE = 0.5
_AFTER = 2
_PARTS_OF_POOL = 256
# Until there is a layout, all rows are left emptier by so many of these parts: what is full is seldom packed.
_FIRST_PARTS = 8
_EASED = 0.3
# The widths of the beams that bound costs. The first shows what prices alone do, the widest takes seconds for
# some hundreds of items. They go on while they close this part of what prices leave open: where many items
# live at once, others bound more.
_BOUND_WIDTHS = 1, 20_000, 80_000, 160_000, 320_000
_LEAST_CLOSED = 0.1


class Rows:
    """The items of each load that may be too much for its pool, in cells, and what each choice costs."""

    def __init__(self, master: Master) -> None:
        instance, relations = master.task.instance, master.relations
        starts = instance.item_parts
        spans = [
            [span for part in range(starts[i], starts[i + 1]) for span in relations.lives[part]]
            for i in range(instance.item_count)
        ]
        lengths = [end - begin for mine in spans for begin, end in mine]
        self.mean_life = sum(lengths) / max(len(lengths), 1)
        self.begins = [min((begin for begin, _ in mine), default=0) for mine in spans]
        """By item, its first moment."""
        self.pools: list[int] = []
        """By row."""
        self.cells: list[int] = []
        """By row, that its pool has."""
        self.most: list[int] = []
        """By row, the most cells that an item uses."""
        self.moments: list[int] = []
        """By row, the last first moment of an item."""
        uses: list[dict[int, list[Pair]]] = [{choice.pool: [] for choice in mine} for mine in master.choices]
        for pool, load in master.loads:
            room, cells = master.rooms[pool], Counter[int]()
            for item, size in load:
                cells[item] += room.cells_of(size)
            if cells.total() <= room.cells:
                continue
            for item, count in cells.items():
                uses[item][pool].append((len(self.pools), count))
            self.pools.append(pool)
            self.cells.append(room.cells)
            self.most.append(max(cells.values()))
            self.moments.append(max(self.begins[item] for item in cells))
        costs = choice_weights(instance, master.task.terms[0].kind)
        self.ways = [
            [(costs[choice.index], uses[item][choice.pool]) for choice in mine]
            for item, mine in enumerate(master.choices)
        ]
        """By item, of each choice: its cost, and the cells that it uses in which rows."""
        self.order = sorted(range(len(self.ways)), key=self.begins.__getitem__)
        """The items in time."""


class CostBounds:
    """Bounds of a first term that is a sum of costs, in a thread of its own, by wider and wider beams."""

    def __init__(self, rows: Rows, best: Best, seconds: float, budget: _native.Budget) -> None:
        self._rows = rows
        self._best = best
        self._budget = _native.Budget(seconds, -1, budget)
        self.bound: int | None = None
        """The best one so far."""
        self._thread = Thread(target=self._solve, daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it has ended."""
        return not self._thread.is_alive()

    def stop(self) -> None:
        """End it."""
        self._budget.cancel()
        self._thread.join()

    def wait(self) -> None:
        """Wait for its end."""
        self._thread.join()

    def _solve(self) -> None:
        rows = self._rows
        bounds = _native.CostBounds(rows.ways, rows.cells, rows.order)
        first: int | None = None
        for width in _BOUND_WIDTHS:
            values = self._best.values
            # What nothing is known to cost less than is enough.
            enough = sum(max(cost for cost, _ in mine) for mine in rows.ways) if values is None else values[0]
            shown = bounds.widen(width, enough, self._budget)
            if shown is None:
                break
            self.bound, complete = shown
            if complete or self._budget.spent:
                break
            if first is None:
                first = self.bound
            elif values is not None and self.bound - first < _LEAST_CLOSED * (values[0] - first):
                break


class CheapLayouts:
    """Rounds of beam search and packing."""

    def __init__(self, task: Task, master: Master, best: Best) -> None:
        # More threads gain nothing for packings of milliseconds, and others have use for them.
        self._task = replace(task, workers=1)
        self._master = master
        self.rows = rows = Rows(master)
        self._best = best
        self._random = Random(task.seed)  # noqa: S311
        self._empty = [_FIRST_PARTS * max(cells // _PARTS_OF_POOL, 1) for cells in rows.cells]
        """By row, the cells that are to be empty there."""
        costs: list[list[int]] = [[] for _ in master.rooms]
        for choices, ways in zip(master.choices, rows.ways, strict=True):
            for choice, (cost, _) in zip(choices, ways, strict=True):
                costs[choice.pool].append(cost)
        means = [sum(mine) / max(len(mine), 1) for mine in costs]
        self._by_cost = sorted(range(len(means)), key=means.__getitem__)
        self._width = _WIDTH
        self._rounds = self._failures = 0
        self._has_packed = False
        self._forget()

    def _forget(self) -> None:
        self._packer = Packer(self._task, self._master.relations.item_of)
        self._misfits: dict[Crowd, int] = {}

    def run(self, rounds: int, budget: _native.Budget, on_dead: Callable[[Dead], None]) -> None:
        """Offer better and better layouts, and tell sets of items that are proven not to fit."""
        rows = self.rows
        last = self._rounds + rounds
        while self._rounds < last and not budget.spent:
            self._rounds += 1
            if len(self._misfits) >= _MOST_MISFITS:
                self._forget()
            if self._failures >= _PATIENCE:
                self._failures = 0
                most = min(_MOST_WIDTH, max(_MOST_CHOICES // max(len(self.rows.order), 1), 1))
                self._width = min(2 * self._width, most)
            room = [
                max(cells - empty, most)
                for cells, empty, most in zip(rows.cells, self._empty, rows.most, strict=True)
            ]
            chosen = _native.cheap_ways(rows.ways, room, rows.order, self._width, self._rounds, budget)
            if chosen is None or not self._is_better(chosen):
                self._failures += 1
                self._empty = [e // 2 if self._random.random() < _EASED else e for e in self._empty]
            elif self._pack(chosen, budget, on_dead):
                self._failures = 0
                if not self._has_packed:
                    self._has_packed = True
                    self._empty = [0] * len(self._empty)
            budget.count(1)

    def _is_better(self, chosen: Sequence[int]) -> bool:
        values = self._best.values
        return values is None or sum(self.rows.ways[i][way][0] for i, way in enumerate(chosen)) < values[0]

    def _pack(self, chosen: list[int], budget: _native.Budget, on_dead: Callable[[Dead], None]) -> bool:
        """Whether a better layout came of it.

        Where a pool does not fit, rows are left emptier from now on. Until there is a layout, an item then
        goes to a dearer pool.
        """
        choices, height = self._master.choices, self._master.horizon
        packings = []
        for pool in self._by_cost:
            fitting = 0
            while True:
                items = (i for i, way in enumerate(chosen) if choices[i][way].pool == pool)
                crowd = Crowd(pool, tuple(items))
                misfit = self._misfits.get(crowd)
                if misfit is None:
                    answer = self._packer.pack(crowd, height[pool], _EFFORT, budget)
                    for dead in answer.dead:
                        on_dead(dead)
                    if answer.packing is not None and answer.fits(height[pool]):
                        packings.append((crowd, answer.packing))
                        break
                    if budget.spent:
                        return False
                    misfit = self._misfits[crowd] = self._first_misfit(crowd, fitting, budget)
                fitting = self._in_time(crowd).index(misfit)
                self._leave_empty(pool, misfit, chosen)
                dearer = [
                    (costs, way)
                    for way, (costs, _) in enumerate(self.rows.ways[misfit])
                    if self._by_cost.index(choices[misfit][way].pool) > self._by_cost.index(pool)
                ]
                if self._has_packed or not dearer:
                    return False
                chosen[misfit] = min(dearer)[1]
                if not self._is_better(chosen):
                    return False
        return self._best.offer(join(packings, len(chosen)))

    def _in_time(self, crowd: Crowd) -> list[int]:
        return sorted(crowd.items, key=self.rows.begins.__getitem__)

    def _first_misfit(self, crowd: Crowd, fitting: int, budget: _native.Budget) -> int:
        """About the first item in the order of time that no longer fits; so many are known to fit."""
        items = self._in_time(crowd)
        failing = len(items)
        while failing - fitting > max(len(items) // 32, 1) and not budget.spent:
            middle = (fitting + failing) // 2
            part = crowd.among(items[:middle], self._master.relations.item_of)
            height = self._master.horizon[crowd.pool]
            if self._packer.pack(part, height, _FIND_EFFORT, budget).fits(height):
                fitting = middle
            else:
                failing = middle
        return items[failing - 1]

    def _leave_empty(self, pool: int, misfit: int, chosen: Sequence[int]) -> None:
        """Of the fullest rows about this item, one may not be as full as that again."""
        rows = self.rows
        load = Counter[int]()
        for item, way in enumerate(chosen):
            for row, cells in rows.ways[item][way][1]:
                load[row] += cells
        last = rows.begins[misfit] + _AFTER
        first = last - _AFTER - int(_BEFORE * rows.mean_life)
        near = [
            row
            for row, there in enumerate(rows.pools)
            if there == pool and first <= rows.moments[row] <= last
        ]
        near.sort(key=lambda row: -load[row])
        if near:
            row = self._random.choice(near[:_FULLEST])
            self._empty[row] = rows.cells[row] - load[row] + max(rows.cells[row] // _PARTS_OF_POOL, 1)
