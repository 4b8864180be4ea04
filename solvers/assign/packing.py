"""Packs the items of one pool below a height, or finds a few of them that do not fit."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from memstow.solvers import _native
from memstow.solvers.assign.crowd import Crowd, instance_of
from memstow.solvers.greedy import layout_from
from memstow.solvers.instance import UNBOUNDED, Layout
from memstow.solvers.solver import Task, Term, TermKind

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
            others=None,
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
            others=None,
        ),
        share,
        _ignore,
    )
    budget.count(share.work)
    return _pack(result.placed, result.height)


def _ignore(*_: object) -> None:
    pass
