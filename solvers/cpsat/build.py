"""The constraint model of a task: boxes in time and memory, and disjunctions for other pairs."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from ortools.sat.python import cp_model

from memstow.solvers.cpsat.peaks import Expr, Literal, peak_expression
from memstow.solvers.instance import Layout
from memstow.solvers.models.places import Choice, choices, horizons, look_alikes, tops
from memstow.solvers.models.relations import Pair, Rectangle, Relations, rows
from memstow.solvers.solver import Task, Term, TermKind, choice_weights

# Load rows help the linear relaxation with several pools; more of them than this cost more than they help.
_MOST_LOAD_ENTRIES = 200_000


class Model:
    """A task as a CP-SAT model."""

    def __init__(self, task: Task, relations: Relations, first_value: int | None) -> None:
        self.task = task
        self.relations = relations
        self.cp = cp_model.CpModel()
        self._always = self.cp.new_constant(1)
        self._tops = tops(task.instance)
        self.horizon = horizons(task, relations, first_value)
        self.choices = choices(task.instance, self.horizon)
        self.rectangles, self.pairs = relations.rectangles()
        self._sides: dict[tuple[int, int, int], tuple[Literal, Literal]] = {}
        self._over: dict[tuple[int, int], Literal] = {}
        self._reuse, self._fixed_reuse = relations.reuse()
        self.taken: list[list[Literal]] = []
        self.steps: list[list[Expr]] = []
        self._kept: list[tuple[int, Literal]] = []
        self._locks: dict[int, int] = {}
        kinds = {term.kind for term in task.terms}
        self._reuse_counts = TermKind.REUSE_COST in kinds
        self._make_items()
        self._make_peaks(kinds)
        self._make_boxes()
        for pair in self.pairs:
            self._keep_apart(pair)
        if self._reuse_counts:
            self._make_reuse()
        if TermKind.MOVES in kinds:
            self._make_moves()
        self._break_symmetry()
        self._expressions = [self._expression(term) for term in task.terms]

    def layout(self, value: Any) -> Layout:
        """The layout of a solution, given a function for the value of an expression."""
        found = Layout()
        for mine, taken, steps in zip(self.choices, self.taken, self.steps, strict=True):
            for choice, literal, step in zip(mine, taken, steps, strict=True):
                if value(literal):
                    found.pool.append(choice.pool)
                    found.offset.append(choice.residue + choice.modulus * value(step))
                    break
        return found

    def ask(self, term: int | None, locks: Sequence[int], start: Layout | None) -> None:
        """Make one term the objective, with locks on the ones before."""
        for at, value in enumerate(locks):
            if value < self._locks.get(at, value + 1):
                self.cp.add(self._expressions[at] <= value)
                self._locks[at] = value
        self.cp.clear_objective()
        if term is not None:
            self.cp.minimize(self._expressions[term])
        self.cp.clear_hints()
        if start is not None:
            self._hint(start)

    def _make_items(self) -> None:
        for item, mine in enumerate(self.choices):
            steps, taken = [], []
            for choice in mine:
                domain = cp_model.Domain.from_intervals([list(r) for r in choice.steps])
                steps.append(self.cp.new_int_var_from_domain(domain, f"step{item}_{choice.pool}"))
                alone = len(mine) == 1
                taken.append(self._always if alone else self.cp.new_bool_var(f"in{item}_{choice.pool}"))
            self.steps.append(steps)
            self.taken.append(taken)
            if len(mine) != 1:
                self.cp.add_exactly_one(taken)

    def _offset(self, item: int, at: int) -> Expr:
        choice = self.choices[item][at]
        return self.steps[item][at] * choice.modulus + choice.residue

    def _in_pool(self, item: int, pool: int) -> int | None:
        for at, choice in enumerate(self.choices[item]):
            if choice.pool == pool:
                return at
        return None

    def _make_peaks(self, kinds: set[TermKind]) -> None:
        """The peaks of pools that are part of the objective."""
        instance = self.task.instance
        wanted: set[int] = set()
        if kinds & {TermKind.PEAK, TermKind.MAX_PEAK}:
            wanted = set(range(instance.pool_count))
        wanted |= {term.pool for term in self.task.terms if term.kind is TermKind.POOL_PEAK}
        self.peaks = {p: self.cp.new_int_var(0, self.horizon[p], f"peak{p}") for p in sorted(wanted)}
        for item, mine in enumerate(self.choices):
            for at, choice in enumerate(mine):
                if choice.pool in self.peaks:
                    end = self._offset(item, at) + self._tops[item]
                    above = self.cp.add(self.peaks[choice.pool] >= end)
                    if len(mine) > 1:
                        above.only_enforce_if(self.taken[item][at])

    def _make_boxes(self) -> None:
        for pool in range(self.task.instance.pool_count):
            mine = [r for r in self.rectangles if self._in_pool(r.item, pool) is not None]
            if len(mine) < 2:
                continue
            times, bytes_ = [], []
            for r in mine:
                at = self._in_pool(r.item, pool)
                assert at is not None  # noqa: S101
                low = self._offset(r.item, at) + r.delta
                name = f"{r.item}_{r.begin}_{r.delta}_{pool}"
                literal = self.taken[r.item][at]
                length = r.end - r.begin
                if len(self.choices[r.item]) == 1:
                    times.append(self.cp.new_fixed_size_interval_var(r.begin, length, "t" + name))
                    bytes_.append(self.cp.new_fixed_size_interval_var(low, r.size, "b" + name))
                else:
                    times.append(
                        self.cp.new_optional_fixed_size_interval_var(r.begin, length, literal, "t" + name)
                    )
                    bytes_.append(
                        self.cp.new_optional_fixed_size_interval_var(low, r.size, literal, "b" + name)
                    )
            self.cp.add_no_overlap_2d(times, bytes_)
            self._add_load(pool, mine, times)

    def _add_load(self, pool: int, mine: list[Rectangle], times: list[Any]) -> None:
        """Items that live together fit below the end of a pool, whatever their offsets."""
        height = self.peaks.get(pool, self.horizon[pool])
        self.cp.add_cumulative(times, [r.size for r in mine], height)
        if all(len(self.choices[r.item]) == 1 for r in mine):
            return
        entries = 0
        for row in rows(mine):
            entries += len(row)
            if entries > _MOST_LOAD_ENTRIES:
                break
            load = [(r.size, self.taken[r.item][self._in_pool(r.item, pool) or 0]) for r in row]
            self.cp.add(sum(size * literal for size, literal in load) <= height)

    def _between(self, first: int, second: int, pool: int) -> tuple[Literal, Literal] | None:
        """Literals for one part being below the other in the pool; None if they cannot both be there."""
        key = (first, second, pool)
        if key in self._sides:
            return self._sides[key]
        instance, item_of = self.task.instance, self.relations.item_of
        one, two = self._in_pool(item_of[first], pool), self._in_pool(item_of[second], pool)
        if one is None or two is None:
            return None
        a = self._offset(item_of[first], one) + instance.part_delta[first]
        b = self._offset(item_of[second], two) + instance.part_delta[second]
        below = self.cp.new_bool_var(f"below{first}_{second}_{pool}")
        above = self.cp.new_bool_var(f"above{first}_{second}_{pool}")
        self.cp.add(a + instance.part_size[first] <= b).only_enforce_if(below)
        self.cp.add(b + instance.part_size[second] <= a).only_enforce_if(above)
        self._sides[key] = (below, above)
        return below, above

    def _not_both(self, first: int, second: int, pool: int) -> list[Literal]:
        """Literals of which one is true if the two parts are not both in the pool."""
        item_of = self.relations.item_of
        found = []
        for item in (item_of[first], item_of[second]):
            at = self._in_pool(item, pool)
            if at is not None and len(self.choices[item]) > 1:
                found.append(self.taken[item][at].negated())
        return found

    def _keep_apart(self, pair: Pair) -> None:
        for pool in range(self.task.instance.pool_count):
            sides = self._between(pair.first, pair.second, pool)
            if sides is None:
                continue
            ways = [*sides, *self._not_both(pair.first, pair.second, pool)]
            if pair.shared:
                ways.append(self._start_together(pair, pool))
            self.cp.add_bool_or(ways)

    def _start_together(self, pair: Pair, pool: int) -> Literal:
        instance, item_of = self.task.instance, self.relations.item_of
        together = self.cp.new_bool_var(f"together{pair.first}_{pair.second}_{pool}")
        starts = []
        for part in (pair.first, pair.second):
            at = self._in_pool(item_of[part], pool)
            assert at is not None  # noqa: S101
            starts.append(self._offset(item_of[part], at) + instance.part_delta[part])
        self.cp.add(starts[0] == starts[1]).only_enforce_if(together)
        return together

    def _make_reuse(self) -> None:
        for reuse in self._reuse:
            over = self.cp.new_bool_var(f"over{reuse.first}_{reuse.second}")
            self._over[reuse.first, reuse.second] = over
            for pool in range(self.task.instance.pool_count):
                sides = self._between(reuse.first, reuse.second, pool)
                if sides is not None:
                    not_both = self._not_both(reuse.first, reuse.second, pool)
                    self.cp.add_bool_or([over, *sides, *not_both])

    def _make_moves(self) -> None:
        for place in self.task.hint_places:
            at = self._in_pool(place.item, place.pool)
            step = None if at is None else self.choices[place.item][at].step_of(place.offset)
            if at is None or step is None:
                continue
            stays = self.cp.new_bool_var(f"stays{place.item}_{place.offset}")
            self.cp.add_implication(stays, self.taken[place.item][at])
            self.cp.add(self.steps[place.item][at] == step).only_enforce_if(stays)
            self._kept.append((place.count, stays))

    def _break_symmetry(self) -> None:
        """Interchangeable items have one order. They live together, so they do not overlap."""
        for alike in look_alikes(self.task, self.relations):
            if len(self.choices[alike[0]]) == 1:
                for one, two in pairwise(alike):
                    self.cp.add(self.steps[one][0] < self.steps[two][0])

    def _expression(self, term: Term) -> Expr:
        instance = self.task.instance
        match term.kind:
            case TermKind.PEAK | TermKind.POOL_PEAK | TermKind.MAX_PEAK:
                return peak_expression(self.cp, term, self.peaks, max(self.horizon))
            case TermKind.PLACEMENT_COST | TermKind.PREFERENCE:
                adds = choice_weights(instance, term.kind)
                return sum(
                    adds[choice.index] * literal
                    for mine, taken in zip(self.choices, self.taken, strict=True)
                    for choice, literal in zip(mine, taken, strict=True)
                )
            case TermKind.REUSE_COST:
                paid = (pair.cost * self._over[pair.first, pair.second] for pair in self._reuse)
                return sum(paid) + self._fixed_reuse
            case TermKind.MOVES:
                return self.task.hint_buffers - sum(count * stays for count, stays in self._kept)

    def _hint(self, start: Layout) -> None:
        start = self._in_order(start)
        for item, mine in enumerate(self.choices):
            for at, choice in enumerate(mine):
                here = choice.pool == start.pool[item]
                if len(mine) > 1:
                    self.cp.add_hint(self.taken[item][at], here)
                step = choice.step_of(start.offset[item]) if here else None
                self.cp.add_hint(self.steps[item][at], choice.steps[0][0] if step is None else step)
        ends = [0] * self.task.instance.pool_count
        for item, (pool, offset) in enumerate(zip(start.pool, start.offset, strict=True)):
            ends[pool] = max(ends[pool], offset + self._tops[item])
        for pool, peak in self.peaks.items():
            self.cp.add_hint(peak, min(ends[pool], self.horizon[pool]))
        self._hint_sides(start)

    def _hint_sides(self, start: Layout) -> None:
        instance, item_of = self.task.instance, self.relations.item_of
        for (first, second, pool), (below, above) in self._sides.items():
            both = start.pool[item_of[first]] == pool == start.pool[item_of[second]]
            a = start.offset[item_of[first]] + instance.part_delta[first]
            b = start.offset[item_of[second]] + instance.part_delta[second]
            self.cp.add_hint(below, both and a + instance.part_size[first] <= b)
            self.cp.add_hint(above, both and b + instance.part_size[second] <= a)
        for (first, second), over in self._over.items():
            a = start.offset[item_of[first]] + instance.part_delta[first]
            b = start.offset[item_of[second]] + instance.part_delta[second]
            same = start.pool[item_of[first]] == start.pool[item_of[second]]
            over_now = a < b + instance.part_size[second] and b < a + instance.part_size[first]
            self.cp.add_hint(over, same and over_now)

    def _in_order(self, start: Layout) -> Layout:
        """The layout with interchangeable items in the order of the model."""
        pools, offsets = start.pool[:], start.offset[:]
        for alike in look_alikes(self.task, self.relations):
            if len(self.choices[alike[0]]) == 1:
                for item, offset in zip(alike, sorted(start.offset[i] for i in alike), strict=True):
                    offsets[item] = offset
        return Layout(pools, offsets)


__all__ = ["Choice", "Model"]
