"""The space of a pool in cells of the grid that all of its offsets lie on."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import gcd
from typing import Any

from ortools.sat.python import cp_model

from memstow.solvers.assign.packing import Crowd, Cut, Pair
from memstow.solvers.constraints import Choice, Relations, choices, cliques, horizons, look_alikes, rows, tops
from memstow.solvers.cpsat_model import Expr, Literal, peak_expression
from memstow.solvers.instance import Instance
from memstow.solvers.solver import HintPlace, Task, Term, TermKind, choice_weights


@dataclass(frozen=True, slots=True)
class Barrier:
    """A reserved range: items beyond the `below` free cells under it end above `end`."""

    below: int
    taken: int  # cells of this range and those below it
    end: int


class Room:
    """The space of a pool below an end. Items start at `residue` modulo `grid`, so they use whole cells.

    The first byte of a used cell is never reserved, and never used by another item.
    """

    def __init__(self, instance: Instance, pool: int, choices: Sequence[Sequence[Choice]], end: int) -> None:
        self.grid, self.residue = _grid(instance, pool, choices)
        first, last = instance.reserved_start[pool], instance.reserved_start[pool + 1]
        taken = 0
        self.barriers: list[Barrier] = []
        for begin, stop in zip(
            instance.reserved_begin[first:last], instance.reserved_end[first:last], strict=True
        ):
            if begin >= end:
                break
            below = self._starts_below(begin) - taken
            taken += self._starts_below(min(stop, end)) - self._starts_below(begin)
            self.barriers.append(Barrier(below, taken, stop))
        self.cells = self._starts_below(end) - taken

    def cells_of(self, size: int) -> int:
        """The cells that this many bytes use."""
        return -(-size // self.grid)

    def loss(self, size: int) -> int:
        """The unused bytes in the cells of this many bytes."""
        return self.cells_of(size) * self.grid - size

    def _starts_below(self, end: int) -> int:
        return max(-(-(end - self.residue) // self.grid), 0)


def _grid(instance: Instance, pool: int, choices: Sequence[Sequence[Choice]]) -> tuple[int, int]:
    """The widest grid that all parts which may be in the pool start on."""
    grid, residue = 0, -1
    for item, mine in enumerate(choices):
        for choice in mine:
            if choice.pool != pool:
                continue
            for part in range(instance.item_parts[item], instance.item_parts[item + 1]):
                start = choice.residue + instance.part_delta[part]
                residue = start if residue < 0 else residue
                grid = gcd(grid, choice.modulus, start - residue)
    return (grid, residue % grid) if grid else (1, 0)


# With more entries than this the smallest rows are left out; cuts replace them.
_MOST_ENTRIES = 300_000


class Loads:
    """Items live at one time, and cliques of listed conflicts."""

    def __init__(self, relations: Relations) -> None:
        self._relations = relations
        self._rectangles, _ = relations.rectangles()
        self._cliques = cliques(relations)

    def of(self, room: Room, may_go: Callable[[int], bool], *, only_scarce: bool) -> list[list[Pair]]:
        """The sets of the items that may go to a pool, as (item, size).

        `only_scarce`: without those that fit however many of them go there.
        """
        mine = rows([r for r in self._rectangles if may_go(r.item)])
        if only_scarce:
            mine = [row for row in mine if sum(room.cells_of(r.size) for r in row) > room.cells]
        if sum(map(len, mine)) > _MOST_ENTRIES:
            mine.sort(key=lambda row: -sum(r.size for r in row))
        entries, loads = 0, dict[tuple[Pair, ...], None]()
        for row in mine:
            entries += len(row)
            if entries > _MOST_ENTRIES:
                break
            loads[tuple((r.item, r.size) for r in row)] = None
        loads.update(dict.fromkeys(self._clique_loads(may_go)))
        return [list(load) for load in loads]

    def _clique_loads(self, may_go: Callable[[int], bool]) -> list[tuple[Pair, ...]]:
        item_of, sizes = self._relations.item_of, self._relations.instance.part_size
        mine = ([p for p in parts if may_go(item_of[p])] for parts in self._cliques)
        return [tuple((item_of[p], sizes[p]) for p in parts) for parts in mine if len(parts) > 1]


class Terms:
    """An expression for each term, and the literals for reuse costs and moves."""

    def __init__(
        self,
        cp: cp_model.CpModel,
        task: Task,
        relations: Relations,
        choices: Sequence[Sequence[Choice]],
        taken: Sequence[Mapping[int, Literal]],
        peaks: Mapping[int, cp_model.IntVar],
        horizon: Sequence[int],
    ) -> None:
        self._cp = cp
        self._task = task
        self._relations = relations
        self._choices = choices
        self._taken = taken
        self._peaks = peaks
        self._most = max(horizon)
        self.stays: list[tuple[HintPlace, Literal]] = []
        """Places of the hint, and whether the item stays there."""
        self.paid: dict[Pair, Literal] = {}
        """Pairs with a cost of reuse, and whether it is paid."""
        self.expressions = [self._expression(term) for term in task.terms]

    def _expression(self, term: Term) -> Expr:
        instance = self._task.instance
        match term.kind:
            case TermKind.PEAK | TermKind.POOL_PEAK | TermKind.MAX_PEAK:
                return peak_expression(self._cp, term, self._peaks, self._most)
            case TermKind.PLACEMENT_COST | TermKind.PREFERENCE:
                adds = choice_weights(instance, term.kind)
                return sum(
                    adds[choice.index] * self._taken[item][choice.pool]
                    for item, mine in enumerate(self._choices)
                    for choice in mine
                )
            case TermKind.REUSE_COST:
                return self._reuse_cost()
            case TermKind.MOVES:
                return self._moves()

    def _reuse_cost(self) -> Expr:
        pairs, fixed = self._relations.reuse()
        for reuse in pairs:
            pair = (reuse.first, reuse.second)
            self.paid.setdefault(pair, self._cp.new_bool_var(f"paid{pair}"))
        return sum(r.cost * self.paid[r.first, r.second] for r in pairs) + fixed

    def _moves(self) -> Expr:
        for place in self._task.hint_places:
            for choice in self._choices[place.item]:
                if choice.pool == place.pool and choice.step_of(place.offset) is not None:
                    stays = self._cp.new_bool_var(f"stays{place.item}_{place.offset}")
                    self._cp.add_implication(stays, self._taken[place.item][place.pool])
                    self.stays.append((place, stays))
        by_item: dict[int, list[Literal]] = {}
        for place, stays in self.stays:
            by_item.setdefault(place.item, []).append(stays)
        for literals in by_item.values():
            self._cp.add_at_most_one(literals)
        return self._task.hint_buffers - sum(place.count * stays for place, stays in self.stays)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A solution of the master: the items of each pool, and the height that each pool may have."""

    crowds: tuple[Crowd, ...]
    heights: tuple[int, ...]

    @property
    def pools(self) -> list[int]:
        """By item: its pool."""
        return [
            pool for _, pool in sorted((item, crowd.pool) for crowd in self.crowds for item in crowd.items)
        ]


class Master:
    """The pools of a task as a CP-SAT model."""

    def __init__(self, task: Task, relations: Relations, first_value: int | None) -> None:
        self.task = task
        self.relations = relations
        self.cp = cp_model.CpModel()
        self.horizon = horizons(task, relations, first_value)
        self.choices = choices(task.instance, self.horizon)
        self._tops = tops(task.instance)
        self._always = self.cp.new_constant(1)
        self._locks: dict[int, int] = {}
        self._active = 0  # terms that count so far
        pools = range(task.instance.pool_count)
        self.taken: list[dict[int, Literal]] = [self._literals(item) for item in range(len(self.choices))]
        self.rooms = [Room(task.instance, pool, self.choices, self.horizon[pool]) for pool in pools]
        self._peaks = {
            pool: self.cp.new_int_var(0, self.horizon[pool], f"peak{pool}") for pool in self._peak_pools()
        }
        self._margins = [self.cp.new_int_var(0, 0, f"margin{pool}") for pool in pools]
        self.loads: list[tuple[int, list[Pair]]] = []
        """The pool of each row, and its items with their sizes."""
        self._make_ends()
        self._make_loads()
        self._break_symmetry()
        self._terms = Terms(self.cp, task, relations, self.choices, self.taken, self._peaks, self.horizon)

    def ask(self, term: int | None, locks: Sequence[int]) -> None:
        """Make one term the objective, with locks on the ones before."""
        for at, value in enumerate(locks):
            if value < self._locks.get(at, value + 1):
                self.cp.add(self._terms.expressions[at] <= value)
                self._locks[at] = value
        self._active = 0 if term is None else term + 1
        self.cp.clear_objective()
        if term is not None:
            self.cp.minimize(self._terms.expressions[term])

    def hint(self, pools: Sequence[int]) -> None:
        """Start from the items in these pools."""
        self.cp.clear_hints()
        for item, mine in enumerate(self.taken):
            if len(mine) > 1:
                for pool, literal in mine.items():
                    self.cp.add_hint(literal, pools[item] == pool)

    def follow(self, values: Sequence[int]) -> None:
        """Start from these values of all variables, which need not be a solution."""
        self.cp.clear_hints()
        for index, value in enumerate(values):
            self.cp.add_hint(self.cp.get_int_var_from_proto_index(index), value)

    def hold(self, pools: Sequence[int], free: Collection[int]) -> None:
        """Keep all items but the free ones in these pools, until `release`."""
        for item, mine in enumerate(self.taken):
            if len(mine) > 1:
                for pool, literal in mine.items():
                    here = int(pools[item] == pool)
                    self._narrow(literal, *((0, 1) if item in free else (here, here)))

    def release(self) -> None:
        """Let all items go where they may."""
        self.hold([-1] * len(self.taken), range(len(self.taken)))

    def leave(self, margins: Sequence[int]) -> None:
        """Keep this many cells of each pool empty, for proposals that pack more easily and prove nothing."""
        for margin, cells in zip(self._margins, margins, strict=True):
            self._narrow(margin, cells, cells)

    def below(self, term: int, value: int) -> cp_model.IntVar:
        """Allow only solutions with the term below the value, until `drop`."""
        condition = self.cp.new_bool_var("condition")
        self.cp.add(self._terms.expressions[term] < value).only_enforce_if(condition)
        self._narrow(condition, 1, 1)
        return condition

    def drop(self, condition: cp_model.IntVar) -> None:
        """Remove the condition of `below`."""
        self._narrow(condition, 0, 0)

    def cells(self, pool: int) -> int:
        """The number of cells of the pool."""
        return self.rooms[pool].cells

    def add(self, cut: Cut) -> None:
        """Add a cut."""
        ways: list[Literal] = [
            self.taken[item][cut.pool].negated() for item in cut.alone if not self._only(item)
        ]
        stays = {(place.item, place.pool, place.offset): literal for place, literal in self._terms.stays}
        ways += [stays[item, cut.pool, offset].negated() for item, offset in cut.stays]
        ways += [self._terms.paid[pair] for pair in cut.apart]
        for items, count in cut.classes:
            fewer = self.cp.new_bool_var("fewer")
            some = sum(self.taken[item][cut.pool] for item in items)
            self.cp.add(some < count).only_enforce_if(fewer)
            ways.append(fewer)
        peak = self._peaks.get(cut.pool)
        if cut.height <= self.horizon[cut.pool] and peak is not None:
            higher = self.cp.new_bool_var("higher")
            self.cp.add(peak >= cut.height).only_enforce_if(higher)
            ways.append(higher)
        self.cp.add_bool_or(ways)

    def read(self, value: Any) -> Proposal:
        """The proposal of a solution, given a function for the value of an expression."""
        pools = range(self.task.instance.pool_count)
        crowds: list[list[int]] = [[] for _ in pools]
        for item, mine in enumerate(self.taken):
            crowds[next(pool for pool, literal in mine.items() if value(literal))].append(item)
        kinds = {term.kind for term in self.task.terms[: self._active]}
        stays: list[Pair] = []
        if TermKind.MOVES in kinds:
            stays = [(place.item, place.offset) for place, literal in self._terms.stays if value(literal)]
        apart: list[Pair] = []
        if TermKind.REUSE_COST in kinds:
            apart = [pair for pair, paid in self._terms.paid.items() if not value(paid)]
        item_of = self.relations.item_of
        whole = [Crowd(pool, tuple(crowds[pool]), tuple(stays), tuple(apart)) for pool in pools]
        return Proposal(
            tuple(crowd.among(crowd.items, item_of) for crowd in whole),
            tuple(self._height(pool, value) for pool in pools),
        )

    def _narrow(self, variable: cp_model.IntVar, least: int, most: int) -> None:
        domain = self.cp.proto.variables[variable.index].domain
        domain[0], domain[1] = least, most

    def _height(self, pool: int, value: Any) -> int:
        """The height that the pool may have without changing the value of a term that counts."""
        height = self.horizon[pool]
        for at, term in enumerate(self.task.terms[: self._active]):
            if term.kind is TermKind.PEAK:
                height = min(height, value(self._peaks[pool]))
            elif term.kind is TermKind.MAX_PEAK or (term.kind is TermKind.POOL_PEAK and term.pool == pool):
                most = self._locks.get(at)
                height = min(height, value(self._terms.expressions[at]) if most is None else most)
        return height

    def _literals(self, item: int) -> dict[int, Literal]:
        mine = self.choices[item]
        if len(mine) == 1:
            return {mine[0].pool: self._always}
        literals = {choice.pool: self.cp.new_bool_var(f"in{item}_{choice.pool}") for choice in mine}
        self.cp.add_exactly_one(literals.values())
        return literals

    def _only(self, item: int) -> bool:
        return len(self.choices[item]) == 1

    def _peak_pools(self) -> Iterable[int]:
        """Pools whose peaks are part of the objective."""
        if any(term.kind in (TermKind.PEAK, TermKind.MAX_PEAK) for term in self.task.terms):
            return range(self.task.instance.pool_count)
        return sorted({term.pool for term in self.task.terms if term.kind is TermKind.POOL_PEAK})

    def _make_ends(self) -> None:
        """No peak is below the lowest end of an item."""
        for item, mine in enumerate(self.choices):
            for choice in mine:
                if choice.pool in self._peaks:
                    end = choice.least() + self._tops[item]
                    literal = self.taken[item][choice.pool]
                    self.cp.add(self._peaks[choice.pool] >= end).only_enforce_if(literal)

    def _make_loads(self) -> None:
        loads = Loads(self.relations)
        for pool, room in enumerate(self.rooms):
            passed = [self.cp.new_bool_var(f"passed{pool}") for _ in room.barriers]
            self._order_barriers(pool, passed)
            may_go = partial(self._may_go, pool)
            for row in loads.of(room, may_go, only_scarce=pool not in self._peaks):
                self._add_load(pool, row, passed)
                self.loads.append((pool, row))

    def _may_go(self, pool: int, item: int) -> bool:
        return pool in self.taken[item]

    def _order_barriers(self, pool: int, passed: list[Literal]) -> None:
        peak = self._peaks.get(pool)
        for barrier, literal in zip(self.rooms[pool].barriers, passed, strict=True):
            if peak is not None:
                self.cp.add(peak > barrier.end).only_enforce_if(literal)
        for lower, higher in pairwise(passed):
            self.cp.add_implication(higher, lower)

    def _add_load(self, pool: int, row: list[Pair], passed: list[Literal]) -> None:
        """Items that are live together need their cells, wherever they are."""
        room, margin, peak = self.rooms[pool], self._margins[pool], self._peaks.get(pool)
        cells = sum(room.cells_of(size) * self.taken[item][pool] for item, size in row)
        self.cp.add(cells + margin <= room.cells)
        if peak is None:
            return
        start = room.residue - max(room.loss(size) for _, size in row)
        self.cp.add(peak >= room.grid * (cells + margin) + min(start, 0))
        for barrier, literal in zip(room.barriers, passed, strict=True):
            self.cp.add(cells <= barrier.below).only_enforce_if(literal.negated())
            self.cp.add(peak >= room.grid * (cells + barrier.taken) + start).only_enforce_if(literal)

    def _break_symmetry(self) -> None:
        """Interchangeable items go to pools in one order."""
        for alike in look_alikes(self.task, self.relations):
            pools = [choice.pool for choice in self.choices[alike[0]]]
            if len(pools) > 1:
                ranks = [
                    sum(rank * self.taken[item][pool] for rank, pool in enumerate(pools)) for item in alike
                ]
                for one, two in pairwise(ranks):
                    self.cp.add(one <= two)
