"""Packs the items of one pool below a height; makes cuts of a few of them that do not fit.

A crowd is the items of one pool in a proposal of the master, with conditions on their offsets. A cut is
extended to items that are at least as large.
"""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from memstow.solvers import _native
from memstow.solvers.constraints import Choice, Relations, Span, restrict_to
from memstow.solvers.greedy import layout_from
from memstow.solvers.instance import UNBOUNDED, Instance, Layout
from memstow.solvers.solver import Task, Term, TermKind

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Crowd:
    """Items of one pool, ascending; those that stay where the hint has them; pairs that must not overlap."""

    pool: int
    items: tuple[int, ...]
    stays: tuple[Pair, ...] = ()  # (item, offset)
    apart: tuple[Pair, ...] = ()  # parts (first, second), the lower one first

    def among(self, items: Iterable[int], item_of: list[int]) -> "Crowd":
        """The crowd of some of the items."""
        chosen = set(items)
        return Crowd(
            self.pool,
            tuple(sorted(chosen)),
            tuple(stay for stay in self.stays if stay[0] in chosen),
            tuple(pair for pair in self.apart if item_of[pair[0]] in chosen and item_of[pair[1]] in chosen),
        )


def instance_of(instance: Instance, crowd: Crowd) -> Instance:
    """The crowd as an instance in which each item has this pool as its only choice."""
    part = narrow(
        restrict_to(_with_conflicts(instance, crowd.apart), crowd.items), [crowd.pool] * len(crowd.items)
    )
    at = {item: k for k, item in enumerate(crowd.items)}
    stays = {at[item]: offset for item, offset in crowd.stays}
    pin(part, (stays.get(k, -1) for k in range(len(crowd.items))))
    return part


def narrow(instance: Instance, pools: Iterable[int]) -> Instance:
    """The instance in which each item has only its pool in `pools`, or all choices where that is -1."""
    choices: list[int] = []
    starts = array("q", [0])
    for item, pool in enumerate(pools):
        choices += [
            c
            for c in range(instance.choice_start[item], instance.choice_start[item + 1])
            if pool in (-1, instance.choice_pool[c])
        ]
        starts.append(len(choices))

    def of(values: "array[int]") -> "array[int]":
        return array("q", [values[c] for c in choices])

    return replace(
        instance,
        choice_start=starts,
        choice_pool=of(instance.choice_pool),
        choice_modulus=of(instance.choice_modulus),
        choice_residue=of(instance.choice_residue),
        choice_low=of(instance.choice_low),
        choice_high=of(instance.choice_high),
        choice_cost=of(instance.choice_cost),
        choice_rank=of(instance.choice_rank),
    )


def pin(instance: Instance, offsets: Iterable[int]) -> None:
    """Allow each item of a narrowed instance only this offset, where that is not -1."""
    for item, offset in enumerate(offsets):
        if offset >= 0:
            at = instance.choice_start[item]
            instance.choice_low[at] = instance.choice_high[at] = offset


def _with_conflicts(instance: Instance, pairs: tuple[Pair, ...]) -> Instance:
    """The instance in which these pairs conflict and are not exempt, without reuse costs."""
    new_conflicts = set(pairs)
    conflicts, exempt = instance.conflicts, instance.exempt
    if new_conflicts:
        listed = set(zip(conflicts[::2], conflicts[1::2], strict=True))
        conflicts = array("q", [part for pair in sorted(listed | new_conflicts) for part in pair])
        exempt = array(
            "q", [value for entry in _entries(exempt) if entry[:2] not in new_conflicts for value in entry]
        )
    return replace(instance, conflicts=conflicts, exempt=exempt, reuse=array("q"))


def _entries(exempt: "array[int]") -> Iterator[tuple[int, int, int]]:
    for at in range(0, len(exempt), 3):
        yield exempt[at], exempt[at + 1], exempt[at + 2]


# Steps of greedy for each item: its first passes find most.
_GREEDY_PASSES = 40
# Steps for shrinking a set that does not fit, and for the height that it needs.
_SHRINK_STEPS = 40_000_000
# The most of the time left that one packing may take.
_SHARE = 0.25


@dataclass(frozen=True, slots=True)
class Packing:
    """The offsets of a crowd's items, and the highest end."""

    offsets: tuple[int, ...]
    height: int


@dataclass(frozen=True, slots=True)
class Dead:
    """Items of a crowd that cannot all end below `height`."""

    crowd: Crowd
    height: int


@dataclass(frozen=True, slots=True)
class Answer:
    """The lowest layout of a crowd, and sets of its items that are proven not to fit."""

    packing: Packing | None
    dead: tuple[Dead, ...] = ()  # no item in two of them

    def fits(self, height: int) -> bool:
        """Whether the layout is at most this high."""
        return self.packing is not None and self.packing.height <= height


def join(packings: Iterable[tuple[Crowd, Packing]], items: int) -> Layout:
    """The layout of these crowds, which have all items."""
    layout = Layout(array("q", [-1]) * items, array("q", [-1]) * items)
    for crowd, packing in packings:
        for item, offset in zip(crowd.items, packing.offsets, strict=True):
            layout.pool[item], layout.offset[item] = crowd.pool, offset
    return layout


class Packer:
    """Packs crowds, and caches the lowest layout of each."""

    def __init__(self, task: Task, item_of: list[int]) -> None:
        self._task = task
        self._item_of = item_of
        self._packings: dict[Crowd, Packing] = {}

    def pack(self, crowd: Crowd, height: int, effort: int, budget: _native.Budget) -> Answer:
        """A layout no higher than `height`, or items that have none, or neither."""
        if not crowd.items:
            return Answer(Packing((), 0))
        cached = self._packings.get(crowd)
        if cached is not None and cached.height <= height:
            return Answer(cached)
        part = replace(
            self._task,
            instance=instance_of(self._task.instance, crowd),
        )
        best = cached
        if best is None:
            best = self._keep(crowd, None, _greedily(part, crowd.pool, height, budget))
        if best is None or best.height > height:
            placed, dead = _exactly(part, best, crowd.pool, height, effort, budget)
            best = self._keep(crowd, best, placed)
            if dead is not None:
                return Answer(best, tuple(self._dead_sets(part, crowd, dead, height, effort, budget)))
        if best is not None and best.height > height:
            best = self._keep(crowd, best, _improve(part, best, crowd.pool, height, effort, budget))
        return Answer(best)

    def _dead_sets(
        self,
        part: Task,
        crowd: Crowd,
        dead: list[int] | None,
        height: int,
        effort: int,
        budget: _native.Budget,
    ) -> Iterator[Dead]:
        """A set without a layout, then another one among the remaining items, and so on."""
        while dead is not None:
            few = self._shrink(part, crowd, dead, height, budget)
            yield few
            crowd = crowd.among(set(crowd.items).difference(few.crowd.items), self._item_of)
            if not crowd.items or budget.spent:
                return
            part = replace(self._task, instance=instance_of(self._task.instance, crowd))
            _, dead = _exactly(part, None, crowd.pool, height, effort, budget)

    def _keep(self, crowd: Crowd, best: Packing | None, result: Packing | None) -> Packing | None:
        if result is None or (best is not None and best.height <= result.height):
            return best
        self._packings[crowd] = result
        return result

    def _shrink(self, part: Task, crowd: Crowd, dead: list[int], height: int, budget: _native.Budget) -> Dead:
        """As few items as possible, and a lower bound of their height."""
        among = dead or list(range(len(crowd.items)))
        share = _share(budget, _SHRINK_STEPS)
        few = _native.dead_set(part.instance.native, among, height, share).items
        budget.count(share.work)
        small = crowd.among([crowd.items[k] for k in few], self._item_of)
        core = replace(self._task, instance=instance_of(self._task.instance, small))
        return Dead(small, max(height + 1, _least_height(core, budget)))


def _share(budget: _native.Budget, steps: int) -> _native.Budget:
    """A part of the budget of at most this many steps."""
    seconds, work = budget.seconds_left, budget.work_left
    limit = steps if work is None else min(steps, work)
    return _native.Budget(-1.0 if seconds is None else seconds * _SHARE, limit, budget)


def _pack(placed: _native.Placed | None, height: int) -> Packing | None:
    if placed is None or height >= UNBOUNDED:
        return None
    offsets = tuple(layout_from(placed).offset)
    return None if -1 in offsets else Packing(offsets, height)


def _layout(packing: Packing | None, pool: int) -> Layout | None:
    if packing is None:
        return None
    layout = Layout()
    layout.pool.extend([pool] * len(packing.offsets))
    layout.offset.extend(packing.offsets)
    return layout


def _greedily(part: Task, pool: int, height: int, budget: _native.Budget) -> Packing | None:
    """A layout within the capacity by the greedy's first passes."""
    share = _share(budget, _GREEDY_PASSES * part.instance.item_count)
    options = _native.GreedyOptions(lower_bounds=[height], seed=part.seed)
    result = _native.greedy(
        part.instance.native, [Term(TermKind.POOL_PEAK, pool)], None, options, share, None
    )
    budget.count(share.work)
    values = result.values
    return None if values is None else _pack(result.placed, values[0])


def _exactly(
    part: Task, start: Packing | None, pool: int, height: int, effort: int, budget: _native.Budget
) -> tuple[Packing | None, list[int] | None]:
    """A layout, or items that are proven to have none below the height (empty: all of them)."""
    result = _search(part, _layout(start, pool), True, height, effort, budget)
    return _pack(result.placed, result.height), result.dead if _infeasible(result) else None


def _least_height(part: Task, budget: _native.Budget) -> int:
    """A lower bound of the height of these items."""
    capacity = part.instance.capacity[part.instance.choice_pool[0]]
    result = _search(part, None, False, capacity, _SHRINK_STEPS, budget)
    return UNBOUNDED if _infeasible(result) else result.bound


def _infeasible(result: _native.ExactResult) -> bool:
    return result.status is _native.ExactStatus.INFEASIBLE


def _search(
    part: Task, start: Layout | None, fit_only: bool, limit: int, effort: int, budget: _native.Budget
) -> _native.ExactResult:
    share = _share(budget, effort)
    result = _native.exact(
        part.instance.native,
        start,
        _native.ExactOptions(
            limit=limit,
            fit_only=fit_only,
            bound=0,
            workers=part.workers,
            deterministic=part.deterministic,
            seed=part.seed,
        ),
        share,
        _ignore,
        _ignore,
    )
    budget.count(share.work)
    return result


def _improve(
    part: Task, start: Packing, pool: int, height: int, effort: int, budget: _native.Budget
) -> Packing | None:
    """A lower layout by local search, for crowds too large for the exact search."""
    layout = _layout(start, pool)
    if layout is None:
        return None
    share = _share(budget, effort)
    result = _native.improve(
        part.instance.native,
        layout,
        _native.ImproveOptions(
            limit=height,
            fit_only=True,
            bound=0,
            workers=part.workers,
            deterministic=part.deterministic,
            seed=part.seed,
        ),
        share,
        _ignore,
    )
    budget.count(share.work)
    return _pack(result.placed, result.height)


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Cut:
    """A constraint: at least one of these holds.

    The pool is as high as `height`; an item of `alone` is elsewhere; a stay or a pair of `apart` is given up;
    fewer items of a class than its count are in the pool.
    """

    pool: int
    height: int
    alone: tuple[int, ...]
    stays: tuple[Pair, ...]
    apart: tuple[Pair, ...]
    classes: tuple[tuple[tuple[int, ...], int], ...]


class Lifter:
    """Extends cuts to as many items as they hold for."""

    def __init__(self, relations: Relations, choices: list[list[Choice]]) -> None:
        self._relations = relations
        self._choices = choices
        instance, item_of = relations.instance, relations.item_of
        self._special = {item_of[part] for part in instance.conflicts}
        self._special |= {item_of[part] for i, part in enumerate(instance.exempt) if i % 3 != 2}

    def cut(self, dead: Dead) -> Cut:
        """The cut of a dead set."""
        crowd = dead.crowd
        bound = {item for item, _ in crowd.stays}
        bound |= {self._relations.item_of[part] for pair in crowd.apart for part in pair}
        alone = tuple(item for item in crowd.items if item not in bound and not self._is_plain(item))
        plain = [item for item in crowd.items if item not in bound and self._is_plain(item)]
        tied = tuple(item for item in bound if item not in {item for item, _ in crowd.stays})
        classes = self._classes(crowd, plain)
        singles = tuple(items[0] for items, _ in classes if len(items) == 1)
        return Cut(
            crowd.pool,
            dead.height,
            tuple(sorted((*alone, *tied, *singles))),
            crowd.stays,
            crowd.apart,
            tuple((items, count) for items, count in classes if len(items) > 1),
        )

    def _classes(self, crowd: Crowd, plain: list[int]) -> list[tuple[tuple[int, ...], int]]:
        """The items in disjoint classes, each with others that could replace any item of the class."""
        left = list(plain)
        taken = set(crowd.items)
        classes = []
        while left:
            first, *rest = left
            alike = [
                first,
                *(
                    i
                    for i in rest
                    if self._covers(i, first, crowd.pool) and self._covers(first, i, crowd.pool)
                ),
            ]
            left = [item for item in left if item not in alike]
            more = [
                item
                for item in range(len(self._choices))
                if item not in taken and self._is_plain(item) and self._covers(item, first, crowd.pool)
            ]
            taken.update(more)
            classes.append((tuple(sorted((*alike, *more))), len(alike)))
        return classes

    def _is_plain(self, item: int) -> bool:
        parts = self._relations.instance.item_parts
        return item not in self._special and parts[item + 1] - parts[item] == 1

    def _covers(self, large: int, small: int, pool: int) -> bool:
        """Whether every place of the large item in this pool would also be one for the small item."""
        instance = self._relations.instance
        one, two = self._choice(large, pool), self._choice(small, pool)
        if one is None or two is None:
            return False
        a, b = instance.item_parts[large], instance.item_parts[small]
        aligned = one.modulus % two.modulus == 0 and (one.residue - two.residue) % two.modulus == 0
        if not aligned or instance.part_size[a] < instance.part_size[b]:
            return False
        if instance.choice_low[one.index] < instance.choice_low[two.index]:
            return False
        high = instance.choice_high[two.index]
        if high < UNBOUNDED and instance.choice_high[one.index] > high:
            return False
        return _within(self._relations.lives[b], self._relations.lives[a])

    def _choice(self, item: int, pool: int) -> Choice | None:
        return next((choice for choice in self._choices[item] if choice.pool == pool), None)


def _within(inner: list[Span], outer: list[Span]) -> bool:
    """Whether the sorted spans lie within the outer ones."""
    at = 0
    for begin, end in inner:
        while at < len(outer) and outer[at][1] < end:
            at += 1
        if at == len(outer) or begin < outer[at][0]:
            return False
    return True
